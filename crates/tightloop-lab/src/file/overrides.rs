//! `--set key=value`: a scenario's values changed from the command line.
//!
//! Keys are TOML's dotted keys with numbers for places in lists, values are
//! TOML or else plain text: `flow.0.cc=copa`, `link.bottleneck.rate=5 Mbit/s`,
//! `expect."flow.0.loss"=["0", "0.01"]`.

use std::ops::Range;

use anyhow::{Error, Result};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::source::Source;
use crate::diagnostic::Diagnostic;

/// One change, not yet made.
#[derive(Debug)]
pub(super) struct Override<'a> {
    assignment: &'a str,
    path: Vec<String>,
    /// The key in the source's text.
    key: Range<usize>,
    /// Blanks up to this change's place in the text, and the change as TOML:
    /// parsed, its spans point into the text.
    padded: String,
}

fn wrong(assignment: &str, title: impl Into<String>) -> Error {
    Diagnostic::new(title)
        .note(format!("in --set '{assignment}'"))
        .help("write KEY=VALUE, for example --set flow.0.cc=copa or --set link.bottleneck.rate='5 Mbit/s'")
        .into()
}

impl<'a> Override<'a> {
    /// Understands one `key=value`, and gives `source` a line for it.
    pub(super) fn parse(assignment: &'a str, source: &mut Source) -> Result<Self> {
        let Some((key, value)) = split(assignment) else {
            return Err(wrong(
                assignment,
                "there is no `=` between a key and a value",
            ));
        };
        let path = path(key).ok_or_else(|| wrong(assignment, format!("`{key}` is no key")))?;
        let line = line(key, value);
        let offset = source.add_line(&line);
        Ok(Self {
            assignment,
            path,
            key: offset..offset + key.len(),
            padded: " ".repeat(offset) + &line,
        })
    }

    /// Makes the change.
    pub(super) fn apply<'i>(&'i self, root: &mut DeTable<'i>) -> Result<()> {
        let wrong = |title: &str| wrong(self.assignment, title);
        let parsed = DeTable::parse(&self.padded).map_err(|error| wrong(error.message()))?;
        let mut value = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
        for _ in &self.path {
            let inner = match value.into_inner() {
                DeValue::Table(table) => table.into_iter().next(),
                _ => None,
            };
            (_, value) = inner.ok_or_else(|| wrong("the key has no value"))?;
        }
        self.put(root, value).map_err(|title| wrong(&title))
    }

    /// Puts a value where the path leads; the error says what is in the way.
    fn put<'i>(
        &'i self,
        root: &mut DeTable<'i>,
        value: Spanned<DeValue<'i>>,
    ) -> Result<(), String> {
        let Some((first, rest)) = self.path.split_first() else {
            return Err("the key is empty".into());
        };
        let (mut slot, mut name) = (self.slot(root, first), first);
        for next in rest {
            let span = slot.span();
            if let DeValue::String(chosen) = slot.get_mut() {
                // A part chosen by its name alone gets settings.
                let key = if name == "queue" { "kind" } else { "name" };
                let chosen = Spanned::new(span, DeValue::String(std::mem::take(chosen)));
                let key = Spanned::new(self.key.clone(), key.into());
                *slot.get_mut() = DeValue::Table([(key, chosen)].into_iter().collect());
            }
            slot = match slot.get_mut() {
                DeValue::Table(table) => self.slot(table, next),
                DeValue::Array(list) => {
                    let last = list.len().checked_sub(1);
                    let place = next.parse::<usize>().ok();
                    let found = place.and_then(|place| list.get_mut(place));
                    found.ok_or_else(|| match last {
                        Some(0) => format!("`{name}` has one entry, `0`; there is no `{next}`"),
                        Some(last) => {
                            format!("`{name}` has entries `0` to `{last}`; there is no `{next}`")
                        }
                        None => format!("`{name}` is an empty list; there is no `{next}` in it"),
                    })?
                }
                other => {
                    let kind = other.type_str();
                    return Err(format!(
                        "`{name}` is of type {kind}; there is no `{next}` in it"
                    ));
                }
            };
            name = next;
        }
        *slot = value;
        Ok(())
    }

    /// A key's value, made where there is none.
    fn slot<'t, 'i>(
        &'i self,
        table: &'t mut DeTable<'i>,
        name: &'i str,
    ) -> &'t mut Spanned<DeValue<'i>> {
        let empty = || Spanned::new(self.key.clone(), DeValue::Table(DeTable::new()));
        table
            .entry(Spanned::new(self.key.clone(), name.into()))
            .or_insert_with(empty)
    }
}

/// The key and the value, split at the first `=` outside quotes.
fn split(assignment: &str) -> Option<(&str, &str)> {
    let mut quoted = None;
    for (place, letter) in assignment.char_indices() {
        match (letter, quoted) {
            ('=', None) => {
                let (key, value) = assignment.split_at(place);
                return Some((key.trim(), value[1..].trim()));
            }
            ('"' | '\'', None) => quoted = Some(letter),
            (letter, Some(quote)) if letter == quote => quoted = None,
            _ => {}
        }
    }
    None
}

/// The pieces of a dotted key.
fn path(key: &str) -> Option<Vec<String>> {
    let line = format!("{key} = 0");
    let mut value = DeValue::Table(DeTable::parse(&line).ok()?.into_inner());
    let mut path = Vec::new();
    while let DeValue::Table(table) = value {
        let (key, inner) = table.into_iter().next()?;
        path.push(key.into_inner().into_owned());
        value = inner.into_inner();
    }
    Some(path)
}

/// The assignment as a line of TOML; what is no TOML value becomes a text.
fn line(key: &str, value: &str) -> String {
    let line = format!("{key} = {value}");
    if !value.is_empty() && !value.contains('\n') && DeTable::parse(&line).is_ok() {
        return line;
    }
    format!("{key} = {}", toml::Value::String(value.into()))
}
