//! A scenario's text, and where each of its keys stands.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Place;

/// The text of a file, with a line behind it for each override.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    name: String,
    text: String,
    /// Where the file ends.
    end: usize,
}

impl Source {
    pub(super) fn new(name: String, text: String) -> Self {
        let end = text.len();
        Self { name, text, end }
    }

    /// What stands in the file.
    pub(super) fn file(&self) -> &str {
        &self.text[..self.end]
    }

    /// Adds an override's line; returns where it begins.
    pub(super) fn add_line(&mut self, line: &str) -> usize {
        self.text.push('\n');
        let offset = self.text.len();
        self.text.push_str(line);
        offset
    }

    /// What to show for a span.
    pub(super) fn place(&self, span: &Range<usize>) -> Place {
        if span.start <= self.end {
            let file = self.file();
            // The end of a file is the end of its last line.
            let last = file.trim_end().len();
            let end = span.end.min(last).max(span.start.min(last));
            return Place {
                name: self.name.clone(),
                text: file.to_owned(),
                span: span.start.min(last)..end,
            };
        }
        let begin = self.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[begin..].lines().next().unwrap_or_default();
        Place {
            name: "command line".into(),
            text: line.to_owned(),
            span: span.start - begin..(span.end - begin).min(line.len()),
        }
    }
}

/// Where the keys and values of a table stand, by dotted path.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans(BTreeMap<Vec<String>, Entry>);

#[derive(Clone, Debug)]
struct Entry {
    key: Range<usize>,
    value: Range<usize>,
    /// The value, if it is a text.
    text: Option<String>,
}

impl Spans {
    pub(super) fn of(root: &DeTable<'_>) -> Self {
        let mut spans = Self::default();
        spans.table(&mut Vec::new(), root);
        spans
    }

    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        for (key, value) in table {
            path.push(key.get_ref().clone().into_owned());
            self.insert(path, key.span(), value);
            path.pop();
        }
    }

    fn insert(&mut self, path: &mut Vec<String>, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let entry = Entry {
            key,
            value: value.span(),
            text: value.get_ref().as_str().map(str::to_owned),
        };
        self.0.insert(path.clone(), entry);
        self.value(path, value.get_ref());
    }

    fn value(&mut self, path: &mut Vec<String>, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(path, table),
            DeValue::Array(list) => {
                for (place, value) in list.iter().enumerate() {
                    path.push(place.to_string());
                    self.insert(path, value.span(), value);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// Splits a dotted text into the longest known path and the rest; names may
    /// hold dots themselves.
    pub(super) fn find(&self, dotted: &str) -> Vec<String> {
        let mut best: (usize, &[String]) = (0, &[]);
        for path in self.0.keys() {
            let joined = path.join(".");
            let fits = dotted
                .strip_prefix(&joined)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if fits && joined.len() > best.0 {
                best = (joined.len(), path);
            }
        }
        best.1.to_vec()
    }

    /// Where a key stands.
    pub(super) fn key(&self, path: &[String]) -> Option<&Range<usize>> {
        self.0.get(path).map(|entry| &entry.key)
    }

    /// Where a value stands.
    pub(super) fn value_of(&self, path: &[String]) -> Option<&Range<usize>> {
        self.0.get(path).map(|entry| &entry.value)
    }

    /// What lies below a path, and the path itself.
    fn within(&self, path: &[String]) -> impl Iterator<Item = (&Vec<String>, &Entry)> {
        self.0.iter().filter(|(longer, _)| longer.starts_with(path))
    }

    /// The key that is called so below a path, whatever lies between.
    pub(super) fn named(&self, path: &[String], name: &str) -> Option<Vec<String>> {
        let longer = self.within(path).map(|(longer, _)| longer);
        longer
            .filter(|longer| longer.len() > path.len())
            .find(|longer| longer.last().is_some_and(|last| last == name))
            .cloned()
    }

    /// The value at or below a path that is this text.
    pub(super) fn saying(&self, path: &[String], text: &str) -> Option<Vec<String>> {
        let mut entries = self.within(path);
        let found = entries.find(|(_, entry)| entry.text.as_deref() == Some(text));
        found.map(|(path, _)| path.clone())
    }
}
