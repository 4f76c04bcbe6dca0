//! What goes to the standard output, and how values look there.

use std::io::{self, Write};

use anyhow::Result;
use tightloop::analysis::Value;
use tightloop::units::{Rate, Span};

/// Prints a text. Fails where nobody listens any more; the command then ends
/// without a word.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints JSON, and a new line.
pub(crate) fn json(value: &serde_json::Value) -> Result<()> {
    print(&format!("{value:#}\n"))
}

/// Whether the error is that nobody listens any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A rate with four digits.
pub(crate) fn rate(rate: Rate) -> String {
    Value::Rate(rate).to_string()
}

/// A span with four digits.
pub(crate) fn span(span: Span) -> String {
    Value::Span(span).to_string()
}

/// A name as that of a file: without characters that a file system or a shell
/// minds.
pub(crate) fn file_name(name: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_.=+".contains(letter);
    let letters = name.chars();
    letters
        .map(|letter| if plain(letter) { letter } else { '-' })
        .collect()
}
