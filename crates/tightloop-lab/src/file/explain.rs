//! From what TOML, serde and the scenario say to a diagnostic that helps.

use std::ops::Range;

use tightloop::analysis::nearest;
use tightloop::scenario::ScenarioError;

use super::source::{Source, Spans};
use crate::diagnostic::Diagnostic;

/// A text that is not TOML.
pub(super) fn syntax(source: &Source, error: &toml::de::Error) -> Diagnostic {
    let span = error.span().unwrap_or(0..0);
    Diagnostic::new(format!("this is not TOML: {}", error.message()))
        .at(source.place(&span))
        .help("texts, times and rates stand in quotes: rate = \"20 Mbit/s\"")
}

/// TOML that is not a scenario.
pub(super) fn shape(
    source: &Source,
    spans: &Spans,
    error: &serde_path_to_error::Error<toml::de::Error>,
) -> Diagnostic {
    // `flow[0].cc` is `flow.0.cc` everywhere else.
    let path = error.path().to_string().replace('[', ".").replace(']', "");
    let inner = error.inner();
    tell(source, spans, &path, inner.message(), inner.span())
}

/// A scenario that makes no sense.
pub(super) fn sense(source: &Source, spans: &Spans, error: &ScenarioError) -> Diagnostic {
    tell(source, spans, &error.at, &error.message, None)
}

fn tell(
    source: &Source,
    spans: &Spans,
    path: &str,
    message: &str,
    given: Option<Range<usize>>,
) -> Diagnostic {
    let mut at = spans.find(path);
    let message = descend(spans, &mut at, message);
    let wording = Wording::of(message);
    let span = match wording.unknown_key {
        Some(key) => {
            // The path may end in the key that is not known.
            if at.last().is_some_and(|last| last == key) {
                at.pop();
            }
            let named = spans.named(&at, key);
            named.and_then(|named| spans.key(&named).cloned())
        }
        None => None,
    };
    // The last key of the path itself may be what is quoted.
    let key = at.last().filter(|key| ticked(message).contains(&&***key));
    let span = span.or_else(|| key.and_then(|_| spans.key(&at)).cloned());
    let pointed = || spans.value_of(&pointed(spans, &at, message)).cloned();
    let span = span.or(given).or_else(pointed);
    let mut diagnostic = Diagnostic::new(wording.title);
    if let Some(span) = span {
        diagnostic = diagnostic.at(source.place(&span));
    }
    if !at.is_empty() {
        diagnostic = diagnostic.note(format!("in `{}`", at.join(".")));
    }
    for help in wording.help {
        diagnostic = diagnostic.help(help);
    }
    diagnostic
}

/// Parts name themselves at the start of their messages: "link `cell`: queue
/// `codel`: …". Where that is seen from the file they need not.
fn descend<'a>(spans: &Spans, at: &mut Vec<String>, message: &'a str) -> &'a str {
    let mut message = message;
    while let Some((name, rest)) = message.split_once("`: ")
        && let Some((kind, name)) = name.split_once(" `")
        && !kind.contains([' ', '`', ':'])
    {
        let here = at.last().is_some_and(|last| last == name);
        at.push(kind.to_owned());
        if spans.key(at).is_none() {
            at.pop();
            if !here {
                break;
            }
        }
        message = rest;
    }
    message
}

/// What a message about a path means in particular: a value that it quotes, or
/// else the first key that it names.
fn pointed(spans: &Spans, at: &[String], message: &str) -> Vec<String> {
    let quoted = ticked(message);
    let said = quoted.iter().find_map(|text| spans.saying(at, text));
    let letters = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let mut words = message.split(letters).filter(|word| !word.is_empty());
    said.or_else(|| words.find_map(|word| spans.named(at, word)))
        .unwrap_or_else(|| at.to_vec())
}

/// A message in words for people.
struct Wording<'a> {
    title: String,
    unknown_key: Option<&'a str>,
    help: Vec<String>,
}

impl<'a> Wording<'a> {
    fn of(message: &'a str) -> Self {
        // As serde says it, and as TOML's own enums do.
        let unknown = |start: &str| {
            let (_, rest) = message.split_once(start)?;
            let (name, rest) = rest.split_once('`')?;
            Some((name, ticked(rest)))
        };
        let unexpected = || {
            let (_, rest) = message.split_once("unexpected keys in table: ")?;
            let (keys, known) = rest.split_once(", available keys: ")?;
            let known = known.split(',').map(str::trim).collect();
            Some((keys.split(',').next()?.trim(), known))
        };
        if let Some((key, known)) = unknown("unknown field `").or_else(unexpected) {
            return Self {
                title: format!("unknown key `{key}`"),
                unknown_key: Some(key),
                help: known_names("keys", key, &known),
            };
        }
        if let Some((value, known)) = unknown("unknown variant `") {
            return Self {
                title: format!("unknown value `{value}`"),
                unknown_key: None,
                help: known_names("values", value, &known),
            };
        }
        if let Some((key, _)) = unknown("missing field `") {
            return Self {
                title: format!("the key `{key}` is missing"),
                unknown_key: None,
                help: vec![format!("add {key} = …")],
            };
        }
        let message = message.trim_end();
        let (title, rest) = message.split_once("; ").unwrap_or((message, ""));
        let mut help = Vec::new();
        if !rest.is_empty() {
            help.push(rest.to_owned());
        }
        Self {
            title: title.replace('\n', "; "),
            unknown_key: None,
            help,
        }
    }
}

/// The nearest of some names, and all of them.
fn known_names(kind: &str, name: &str, known: &[&str]) -> Vec<String> {
    let mut help = Vec::new();
    if let Some(nearest) = nearest(name, known.iter().copied()).first()
        && similar(name, nearest)
    {
        help.push(format!("did you mean `{nearest}`?"));
    }
    match known {
        [] => help.push(format!("there are no {kind} to set here")),
        known => help.push(format!("{kind} here: {}", known.join(", "))),
    }
    help
}

/// Whether a name may be a slip of another: it begins alike, or has most of its
/// letters.
fn similar(name: &str, other: &str) -> bool {
    let same = name
        .chars()
        .zip(other.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let shared = other
        .chars()
        .filter(|letter| name.contains(*letter))
        .count();
    same >= 2 || shared * 3 >= other.chars().count() * 2
}

/// The words of a text between backticks.
fn ticked(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
