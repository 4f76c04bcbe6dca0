//! The crate's own source text, taken apart just enough to check house rules.

#![allow(dead_code)] // Each test binary uses its own part.

use std::fs;
use std::path::{Path, PathBuf};

/// A line of prose: of a comment, or of a string.
pub(crate) struct Prose {
    /// Counted from one.
    pub(crate) line: usize,
    /// Without the marker.
    pub(crate) text: String,
}

/// A source file.
pub(crate) struct Source {
    /// Its path below the workspace, with forward slashes.
    pub(crate) name: String,
    /// As it is on disk.
    pub(crate) text: String,
    /// The text with comments, strings and characters blanked, byte for byte
    /// and line for line.
    pub(crate) code: String,
    /// `code` with items under `#[cfg(test)]` blanked too; empty for a file that
    /// only tests use.
    pub(crate) shipped: String,
    /// Its comments, in order.
    pub(crate) comments: Vec<Prose>,
    /// Its strings, in order.
    pub(crate) strings: Vec<Prose>,
}

/// The workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A text file of the workspace.
pub(crate) fn document(name: &str) -> String {
    let path = workspace().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every Rust file below a folder of the workspace, by name.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let mut names = Vec::new();
    collect(&workspace().join(folder), folder, &mut names);
    names.sort();
    let mut files: Vec<Source> = names
        .into_iter()
        .map(|name| {
            let text = document(&name);
            Source::new(name, text)
        })
        .collect();
    let tests_only: Vec<String> = files.iter().flat_map(test_files).collect();
    for file in &mut files {
        if tests_only.contains(&file.name) {
            file.shipped = String::new();
        }
    }
    files
}

/// The files of modules that a file declares for tests only.
fn test_files(file: &Source) -> Vec<String> {
    let stem = file.name.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "main" | "mod")) => folder,
        _ => stem,
    };
    words(&file.code, "mod")
        .filter(|at| !file.shipped[*at..].starts_with("mod"))
        .flat_map(|at| {
            let name = name_at(&file.code, at + "mod ".len());
            [
                format!("{folder}/{name}.rs"),
                format!("{folder}/{name}/mod.rs"),
            ]
        })
        .collect()
}

fn collect(folder: &Path, name: &str, names: &mut Vec<String>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let entry = entry.expect("a folder that can be read");
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, names);
        } else if name.ends_with(".rs") {
            names.push(name);
        }
    }
}

impl Source {
    /// Takes a file's text apart.
    pub(crate) fn new(name: String, text: String) -> Self {
        let (code, comments, strings) = blank(&text);
        let shipped = without_tests(&code);
        Self {
            name,
            text,
            code,
            shipped,
            comments,
            strings,
        }
    }

    /// Where a byte offset is, as `file:line`.
    pub(crate) fn at(&self, offset: usize) -> String {
        format!("{}:{}", self.name, line_of(&self.text, offset))
    }
}

/// The line of a byte offset, counted from one.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text[..offset].bytes().filter(|byte| *byte == b'\n').count()
}

/// True for a byte that can be part of a name.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The name that starts at an offset; empty where none does.
pub(crate) fn name_at(code: &str, offset: usize) -> &str {
    let rest = &code[offset..];
    &rest[..rest.bytes().take_while(|byte| is_name(*byte)).count()]
}

/// Offsets at which `word` stands as a whole word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code.as_bytes()[..*at].last();
            let after = code.as_bytes().get(at + word.len());
            !before.is_some_and(|byte| is_name(*byte)) && !after.is_some_and(|byte| is_name(*byte))
        })
}

/// The offset after the bracket that closes the one at `open`.
pub(crate) fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

/// A field of a struct.
pub(crate) struct Field<'a> {
    /// Where it stands in the struct's body.
    pub(crate) at: usize,
    pub(crate) name: &'a str,
    /// An option or a list, whose default is none.
    pub(crate) empty: bool,
    /// It has a default function of its own.
    pub(crate) default: bool,
}

/// The fields of a struct's body.
pub(crate) fn fields(body: &str) -> Vec<Field<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < body.len() {
        // To the comma that ends this field, past brackets and generics.
        let (mut end, mut angles) = (start, 0);
        while end < body.len() {
            match body.as_bytes()[end] {
                b',' if angles == 0 => break,
                b'<' => angles += 1,
                b'>' => angles -= 1,
                b'{' | b'(' | b'[' => {
                    end = closing(body, end);
                    continue;
                }
                _ => {}
            }
            end += 1;
        }
        let field = &body[start..end];
        if let Some(colon) = field.rfind(": ") {
            let before = field[..colon].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let from = before.map_or(0, |before| before + 1);
            let kind = field[colon + 2..].trim_start();
            found.push(Field {
                at: start + from,
                name: &field[from..colon],
                empty: kind.starts_with("Option<") || kind.starts_with("Vec<"),
                default: words(&field[..from], "default")
                    .any(|at| field[at + "default".len()..].trim_start().starts_with('=')),
            });
        }
        start = end + 1;
    }
    found
}

/// Blanks comments, strings and characters; gives comments and strings apart.
fn blank(text: &str) -> (String, Vec<Prose>, Vec<Prose>) {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let (mut comments, mut strings) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < bytes.len() {
        if !text.is_char_boundary(at) {
            at += 1;
            continue;
        }
        let rest = &text[at..];
        let end = if rest.starts_with("//") {
            at + rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            at + block_comment(rest)
        } else if let Some(length) = raw_string(text, at) {
            at + length
        } else if rest.starts_with('"') {
            at + quoted(rest, b'"')
        } else if is_character(rest) {
            at + quoted(rest, b'\'')
        } else {
            at += 1;
            continue;
        };
        let comment = rest.starts_with("//") || rest.starts_with("/*");
        let list = if comment { &mut comments } else { &mut strings };
        let first = line_of(text, at);
        for (index, line) in text[at..end].lines().enumerate() {
            list.push(Prose {
                line: first + index,
                text: line
                    .trim_start()
                    .trim_start_matches(['/', '*', '!', '"'])
                    .to_owned(),
            });
        }
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    let code = String::from_utf8(code).expect("only whole tokens were blanked");
    (code, comments, strings)
}

/// Length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a raw string that starts here, if one does.
fn raw_string(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes[..at].last().is_some_and(|byte| is_name(*byte)) {
        return None;
    }
    let rest = &text[at..];
    let inner = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = inner.bytes().take_while(|byte| *byte == b'#').count();
    let body = inner[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = body
        .find(&close)
        .map_or(body.len(), |end| end + close.len());
    Some(rest.len() - body.len() + length)
}

/// Length of a quoted token with escapes, quotes included.
fn quoted(rest: &str, quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        if escaped {
            escaped = false;
        } else if byte == b'\\' {
            escaped = true;
        } else if byte == quote {
            return at + 1;
        }
    }
    rest.len()
}

/// Tells a character from a lifetime.
fn is_character(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('\'')
        && match chars.next() {
            Some('\\') => true,
            Some(_) => chars.next() == Some('\''),
            None => false,
        }
}

/// Blanks each item that follows `#[cfg(test)]`.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut shipped = code.as_bytes().to_vec();
    for (start, _) in code.match_indices(MARK) {
        let mut at = start + MARK.len();
        let end = loop {
            match code.as_bytes().get(at) {
                None => break code.len(),
                Some(b';') => break at + 1,
                Some(b'{') => break closing(code, at),
                Some(b'(' | b'[') => at = closing(code, at),
                Some(_) => at += 1,
            }
        };
        for byte in &mut shipped[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(shipped).expect("only whole tokens were blanked")
}
