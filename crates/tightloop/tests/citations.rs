//! Numbers have sources: every `[Key]` cited is in REFERENCES.md, every key
//! there is cited, and every constant of an algorithm says where it is from.

mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Prose, Source, closing, document, fields, is_name, name_at, sources, words};

const SRC: &str = "crates/tightloop/src";

/// Where algorithms live: their constants and settings need a source.
const ALGORITHMS: &[&str] = &["cc/", "link/", "paths/", "session/", "traffic/", "video/"];

/// Files whose numbers are a format's own definition.
const FORMATS: &[&str] = &["session/wire.rs"];

/// What a comment may say instead of a key.
const SAYINGS: [&str; 2] = ["Ours:", "y definition"];

/// Documents and crates that may cite besides the pure crate.
const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
const OTHER_CRATES: &[&str] = &["crates/tightloop-live/src", "crates/tightloop-lab/src"];

/// The four headings of an algorithm's module text, in this order.
const HEADINGS: [&str; 4] = ["# Idea", "# Signals", "# Law", "# Departures"];

#[test]
fn every_key_cited_is_in_the_references() {
    let known = references();
    let mut faults = Vec::new();
    let in_code = everything().into_iter().flat_map(|file| citations(&file));
    for (place, key) in in_code.chain(in_documents()) {
        if !known.contains_key(&key) {
            faults.push(format!(
                "{place}: [{key}] is not in REFERENCES.md: add its line there, or write \
                 [`{key}`] if it names an item"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_reference_is_cited_or_is_background() {
    let in_code = everything().into_iter().flat_map(|file| citations(&file));
    let used: BTreeSet<String> = in_code.chain(in_documents()).map(|(_, key)| key).collect();
    let faults: Vec<String> = references()
        .into_iter()
        .filter(|(key, place)| place.background == used.contains(key))
        .map(|(key, Listed { line, background })| {
            if background {
                format!("REFERENCES.md:{line}: [{key}] is cited: move the line up from Background")
            } else {
                format!(
                    "REFERENCES.md:{line}: nothing cites [{key}]: cite it where it is used, or \
                     move the line under Background"
                )
            }
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_number_of_an_algorithm_has_a_source() {
    let mut faults = Vec::new();
    for file in sources(SRC) {
        let name = &file.name[SRC.len() + 1..];
        let algorithm = ALGORITHMS.iter().any(|folder| name.starts_with(folder));
        if algorithm && !FORMATS.contains(&name) {
            faults.extend(unsourced(&file));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_controller_explains_itself_under_four_headings() {
    let mut explained = 0;
    for file in sources(&format!("{SRC}/cc")) {
        if !file.shipped.contains(": Algorithm =") {
            continue;
        }
        let mut rest = file.text.as_str();
        for heading in HEADINGS {
            let line = format!("//! {heading}\n");
            let found = rest.find(&line).unwrap_or_else(|| {
                panic!(
                    "{}: its module text lacks `{heading}` or has it out of order: the headings are \
                     {HEADINGS:?}, as in cc/fixed.rs",
                    file.name
                )
            });
            rest = &rest[found + line.len()..];
        }
        explained += 1;
    }
    assert!(explained > 0, "no controller found below {SRC}/cc");
}

#[test]
fn keys_are_told_from_links_code_and_brackets() {
    let found = |text: &str| keys(text).collect::<Vec<_>>();
    assert_eq!(
        found("gain 1/8. [RFC9002] §5.3, see [MPTCP-Scheduling], [genericCC]."),
        ["RFC9002", "MPTCP-Scheduling", "genericCC"]
    );
    for text in [
        "see [`Acked`] and [`Acked`](super::Acked)",
        "see [Acked](super::Acked) and [Acked][super::Acked]",
        "uniform in [0, 1), element a[N] of `x[Key]`, [workspace]",
        "a link's target:\n[Acked]: super::Acked",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn numbers_without_a_source_are_found() {
    let faults = |text: &str| unsourced(&Source::new("x.rs".to_owned(), text.to_owned()));
    for text in [
        "/// The gain.\nconst GAIN: f64 = 0.25;",
        "/// The gain.\npub(super) const GAIN: f64 = 0.25;",
        "fn f() {\n    const GAIN: Span = Span::from_millis(200);\n}",
        "/// Settings.\n#[derive(Deserialize)]\n#[serde(deny_unknown_fields, default)]\n\
         pub struct Params {\n    /// The gain.\n    pub gain: f64,\n}",
        "#[serde(deny_unknown_fields)]\npub struct Params {\n    /// The gain.\n    \
         #[serde(default = \"quarter\")]\n    pub gain: f64,\n}",
    ] {
        assert_eq!(faults(text).len(), 1, "{text}: {:?}", faults(text));
    }
    for text in [
        "/// The gain. [RFC9002] §5.3.\nconst GAIN: f64 = 0.25;",
        "/// Ours: a quarter settles in a second.\nconst GAIN: f64 = 0.25;",
        "// Ours: a quarter settles in a second.\nconst GAIN: f64 = 0.25;",
        "/// Bits in a word, by definition.\nconst WORD: u16 = 64;",
        "/// Twice.\nconst DOUBLE: f64 = GAIN * 2.0;",
        "const fn gain() -> f64 { 0.25 }",
        "const NAME: &str = \"0.25\";",
        "#[cfg(test)]\nmod tests {\n    const GAIN: f64 = 0.25;\n}",
        "#[serde(deny_unknown_fields)]\npub struct Params {\n    /// The gain.\n    \
         pub gain: f64,\n}",
        "/// Settings.\n#[serde(deny_unknown_fields, default)]\npub struct Params {\n    \
         /// The gain. [Copa] §2.2.\n    #[serde(rename = \"g\")]\n    pub gain: f64,\n    \
         /// Not limited by default.\n    pub limit: Option<Rate>,\n}\n\
         impl Default for Params {\n    fn default() -> Self {\n        \
         Self { gain: 0.25, limit: None }\n    }\n}",
    ] {
        assert_eq!(faults(text), [""; 0], "{text}");
    }
}

/// Where a reference is listed.
struct Listed {
    line: usize,
    background: bool,
}

/// The keys of REFERENCES.md.
fn references() -> BTreeMap<String, Listed> {
    let mut listed = BTreeMap::new();
    let mut background = false;
    for (index, line) in document("REFERENCES.md").lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            background = heading == "Background";
        }
        let Some(rest) = line.strip_prefix("- [") else {
            continue;
        };
        let line = index + 1;
        let (key, text) = rest.split_once("] ").unwrap_or_else(|| {
            panic!("REFERENCES.md:{line}: write `- [Key] Authors. \"Title\". …`")
        });
        assert!(
            text.matches('"').count() >= 2,
            "REFERENCES.md:{line}: [{key}] has no \"title\" in quotes"
        );
        let earlier = listed.insert(key.to_owned(), Listed { line, background });
        assert!(
            earlier.is_none(),
            "REFERENCES.md:{line}: [{key}] is listed twice"
        );
    }
    assert!(!listed.is_empty(), "REFERENCES.md lists nothing");
    listed
}

/// Every source file that may cite.
fn everything() -> Vec<Source> {
    let mut files = sources(SRC);
    for folder in OTHER_CRATES {
        files.extend(sources(folder));
    }
    files
}

/// Each key a file cites, in comments, in strings or in an entry's `cites`, with
/// its place.
fn citations(file: &Source) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for Prose { line, text } in file.comments.iter().chain(&file.strings) {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if !fenced {
            found.extend(keys(text).map(|key| (format!("{}:{line}", file.name), key)));
        }
    }
    for at in words(&file.code, "cites") {
        let value = file.code[at..].find(['[', ';', ')', '}']).map(|to| at + to);
        let is_entry = file.code[at + "cites".len()..]
            .trim_start()
            .starts_with(':');
        let Some(open) = value.filter(|open| is_entry && file.code[*open..].starts_with('['))
        else {
            continue;
        };
        let strings = &file.text[open..closing(&file.code, open)];
        for key in strings.split('"').skip(1).step_by(2) {
            found.push((file.at(at), key.to_owned()));
        }
    }
    found
}

/// The same for the documents.
fn in_documents() -> impl Iterator<Item = (String, String)> {
    DOCUMENTS.iter().flat_map(|name| {
        let lines: Vec<String> = document(name).lines().map(str::to_owned).collect();
        let numbered = lines.into_iter().enumerate();
        numbered.flat_map(move |(index, line)| {
            keys(&line)
                .map(|key| (format!("{name}:{}", index + 1), key))
                .collect::<Vec<_>>()
        })
    })
}

/// The keys in a line of text: `[Key]`, not a link, not code, not an index.
fn keys(text: &str) -> impl Iterator<Item = String> {
    let plain: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut found = Vec::new();
    for (open, _) in plain.match_indices('[') {
        let Some(length) = plain[open + 1..].find(']') else {
            continue;
        };
        let key = &plain[open + 1..open + 1 + length];
        let before = plain[..open].bytes().next_back();
        let after = plain[open + length + 2..].bytes().next();
        let named = key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.contains(|c: char| c.is_ascii_uppercase())
            && key.bytes().all(|byte| is_name(byte) || byte == b'-')
            && key.len() > 1;
        let link = matches!(after, Some(b'(' | b'[' | b':')) || before == Some(b']');
        let index = before.is_some_and(is_name);
        if named && !link && !index {
            found.push(key.to_owned());
        }
    }
    found.into_iter()
}

/// Constants and settings of a file whose comment names no source.
fn unsourced(file: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    for at in words(&file.shipped, "const") {
        let name_from = at + "const ".len();
        let name = name_at(&file.shipped, name_from);
        let rest = &file.shipped[name_from..];
        let constant = rest[name.len()..].trim_start().starts_with(':');
        let Some((_, value)) = rest.split_once('=').filter(|_| constant) else {
            continue;
        };
        let value = &value[..end_of_item(value)];
        if has_number(value) && !is_derived(value) && !sourced(file, at) {
            faults.push(fault(file, at, &format!("the constant `{name}`")));
        }
    }
    for (at, _) in file.shipped.match_indices("deny_unknown_fields") {
        let attribute = file.shipped[at..].split(']').next().unwrap_or_default();
        let all = words(attribute, "default").next().is_some();
        let Some(from) = words(&file.shipped, "struct").find(|from| *from > at) else {
            continue;
        };
        let Some(open) = file.shipped[from..].find('{').map(|open| from + open) else {
            continue;
        };
        let body = &file.shipped[open + 1..closing(&file.shipped, open) - 1];
        for field in fields(body) {
            let has_default = (all && !field.empty) || field.default;
            let place = open + 1 + field.at;
            if has_default && !sourced(file, place) && !default_sourced(file, place) {
                let what = format!("the default of the setting `{}`", field.name);
                faults.push(fault(file, place, &what));
            }
        }
    }
    faults
}

fn fault(file: &Source, at: usize, what: &str) -> String {
    format!(
        "{}: {what} has no source: end its comment with `[Key] §section` (a key of REFERENCES.md), \
         `Ours: why this number`, or `by definition` where it could be no other",
        file.at(at)
    )
}

/// Length of an item's value, up to the semicolon that ends it.
fn end_of_item(value: &str) -> usize {
    let mut at = 0;
    while at < value.len() {
        at = match value.as_bytes()[at] {
            b';' => return at,
            b'{' | b'(' | b'[' => closing(value, at),
            _ => at + 1,
        };
    }
    value.len()
}

fn has_number(value: &str) -> bool {
    let bytes = value.as_bytes();
    (0..bytes.len()).any(|at| bytes[at].is_ascii_digit() && (at == 0 || !is_name(bytes[at - 1])))
}

/// True for a value made of other constants of the file.
fn is_derived(value: &str) -> bool {
    let mut at = 0;
    while at < value.len() {
        let name = name_at(value, at);
        let constant = name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && !name.contains(|c: char| c.is_ascii_lowercase());
        if constant && !value[..at].ends_with("::") {
            return true;
        }
        at += name.len().max(1);
        while !value.is_char_boundary(at) {
            at += 1;
        }
    }
    false
}

/// True where the function that gives a field's default names a source.
fn default_sourced(file: &Source, field: usize) -> bool {
    let above = &file.text[..field];
    let Some(from) = above.rfind("default = \"") else {
        return false;
    };
    let function = name_at(above, from + "default = \"".len());
    words(&file.code, function).any(|at| file.code[..at].ends_with("fn ") && sourced(file, at))
}

/// True where the comments just above an item, or on its line, name a source.
fn sourced(file: &Source, at: usize) -> bool {
    let line = source::line_of(&file.text, at);
    let lines: Vec<&str> = file.code.lines().collect();
    let mut first = line;
    // Up over comments and attributes, which leave blank lines or `#[…]` in the code.
    while first > 1 {
        let above = lines[first - 2].trim();
        let comment = file
            .comments
            .iter()
            .any(|comment| comment.line == first - 1);
        if (above.is_empty() && comment) || above.starts_with("#[") {
            first -= 1;
        } else {
            break;
        }
    }
    file.comments
        .iter()
        .filter(|comment| (first..=line).contains(&comment.line))
        .any(|comment| {
            SAYINGS.iter().any(|saying| comment.text.contains(saying))
                || keys(&comment.text).next().is_some()
        })
}
