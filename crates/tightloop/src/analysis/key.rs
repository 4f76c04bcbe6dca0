//! From a dotted key to a metric of a certain flow or link, and to its value.

use super::metrics::{Read, STATISTICS};
use super::{METRICS, Metric, Names, Report, Value, slots};

/// A key that was understood: a metric of a certain flow or link.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The metric.
    pub metric: &'static Metric,
    found: Found,
}

/// What the placeholders of a pattern stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Found {
    flow: usize,
    link: usize,
    part: usize,
    statistic: &'static str,
}

/// A key that no metric has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no metric is called `{key}`{}", meant(nearest))]
pub struct UnknownMetric {
    /// The key.
    pub key: String,
    /// The keys that come nearest to it.
    pub nearest: Vec<String>,
}

fn meant(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        nearest => format!("; did you mean `{}`?", nearest.join("` or `")),
    }
}

impl Key {
    /// Understands a key, for a run whose flows and links have these names (any
    /// number will do where no names are given). Numbers of paths and of
    /// capacity drops are not checked: what does not exist measures nothing.
    ///
    /// # Errors
    ///
    /// A key that no metric has.
    pub fn parse(text: &str, names: &Names) -> Result<Self, UnknownMetric> {
        for metric in METRICS {
            let mut found = Found::default();
            if found.matches(metric.key, text, names) {
                return Ok(Self { metric, found });
            }
        }
        let like: Vec<String> = METRICS
            .iter()
            .flat_map(|metric| keys_like(metric.key, text, names))
            .collect();
        Err(UnknownMetric {
            key: text.into(),
            nearest: nearest(text, like.iter().map(String::as_str)),
        })
    }

    /// What a report says under this key.
    #[must_use]
    pub fn value(&self, report: &Report) -> Value {
        let Found {
            flow,
            link,
            part,
            statistic,
        } = self.found;
        let flow = report.flows.get(flow);
        let link_of = report.links.get(link);
        let reading = match self.metric.read {
            Read::All(read) => Some(read(&report.all)),
            Read::Flow(read) => flow.map(read),
            Read::Frames(read) => flow.and_then(|flow| flow.frames.as_ref()).map(read),
            Read::Path(read) => flow.and_then(|flow| flow.paths.get(part)).map(read),
            Read::Crossing(read) => flow
                .and_then(|flow| flow.crossings.iter().find(|it| it.link == link))
                .map(read),
            Read::Slots(read) => flow
                .and_then(|flow| flow.slots.iter().find(|it| it.slots == part))
                .map(read),
            Read::Link(read) => link_of.map(read),
            Read::Spike(read) => link_of.and_then(|link| link.spikes.get(part)).map(read),
        };
        reading.map_or(Value::Nothing, |reading| reading.value(statistic))
    }
}

impl Report {
    /// What the run's metrics say under a key such as `flow.0.owd.p95`.
    ///
    /// # Errors
    ///
    /// A key that no metric has.
    pub fn get(&self, key: &str) -> Result<Value, UnknownMetric> {
        Ok(Key::parse(key, &self.names)?.value(self))
    }

    /// Every key of this run that measured something, in the order of
    /// [`METRICS`], with names in place of numbers.
    #[must_use]
    pub fn values(&self) -> Vec<(String, &'static Metric, Value)> {
        let mut values = Vec::new();
        for metric in METRICS {
            for (text, found) in self.keys(metric) {
                let value = Key { metric, found }.value(self);
                if value != Value::Nothing {
                    values.push((text, metric, value));
                }
            }
        }
        values
    }

    /// All keys of one metric in this run.
    fn keys(&self, metric: &Metric) -> Vec<(String, Found)> {
        let mut keys = vec![(String::new(), Found::default())];
        for piece in metric.key.split('.') {
            let mut longer = Vec::new();
            for (text, found) in &keys {
                let mut add = |piece: &str, found: Found| {
                    let dot = if text.is_empty() { "" } else { "." };
                    longer.push((format!("{text}{dot}{piece}"), found));
                };
                let flow = self.flows.get(found.flow);
                match piece {
                    "{flow}" => self.flows.iter().enumerate().for_each(|(flow, it)| {
                        add(&it.name, Found { flow, ..*found });
                    }),
                    "{link}" => self.links.iter().enumerate().for_each(|(link, it)| {
                        add(&it.name, Found { link, ..*found });
                    }),
                    "{path}" => (0..flow.map_or(0, |it| it.paths.len())).for_each(|part| {
                        add(&part.to_string(), Found { part, ..*found });
                    }),
                    "{slots}" => slots::GROUPS.into_iter().for_each(|part| {
                        add(&part.to_string(), Found { part, ..*found });
                    }),
                    "{drop}" => {
                        let link = self.links.get(found.link);
                        (0..link.map_or(0, |it| it.spikes.len())).for_each(|part| {
                            add(&part.to_string(), Found { part, ..*found });
                        });
                    }
                    "{stat}" => STATISTICS.into_iter().for_each(|statistic| {
                        add(
                            statistic,
                            Found {
                                statistic,
                                ..*found
                            },
                        );
                    }),
                    word => add(word, *found),
                }
            }
            keys = longer;
        }
        keys
    }
}

impl Found {
    /// Whether a key follows a pattern; if so, notes what placeholders stand for.
    fn matches(&mut self, pattern: &str, text: &str, names: &Names) -> bool {
        let (piece, rest) = match pattern.split_once('.') {
            Some((piece, rest)) => (piece, Some(rest)),
            None => (pattern, None),
        };
        // Names may hold dots, so each one is tried as a whole.
        let of_names = |names: &[String]| {
            let by_name = names.iter().enumerate();
            let mut ends: Vec<(usize, usize)> = by_name
                .filter(|(_, name)| !name.is_empty() && text.starts_with(name.as_str()))
                .map(|(number, name)| (name.len(), number))
                .collect();
            let by_number = number(text).filter(|(_, it)| names.is_empty() || *it < names.len());
            ends.extend(by_number);
            ends
        };
        let ends = match piece {
            "{flow}" => of_names(&names.flows),
            "{link}" => of_names(&names.links),
            "{path}" | "{drop}" => number(text).into_iter().collect(),
            "{slots}" => {
                let known = number(text).filter(|(_, it)| slots::GROUPS.contains(it));
                known.into_iter().collect()
            }
            "{stat}" => match STATISTICS.iter().find(|statistic| **statistic == text) {
                Some(statistic) => {
                    self.statistic = statistic;
                    vec![(text.len(), 0)]
                }
                None => Vec::new(),
            },
            word if text.starts_with(word) => vec![(word.len(), 0)],
            _ => Vec::new(),
        };
        for (end, number) in ends {
            let matches = match (rest, &text[end..]) {
                (None, after) => after.is_empty(),
                (Some(rest), after) => match after.strip_prefix('.') {
                    Some(after) => self.matches(rest, after, names),
                    None => false,
                },
            };
            if matches {
                match piece {
                    "{flow}" => self.flow = number,
                    "{link}" => self.link = number,
                    "{path}" | "{drop}" | "{slots}" => self.part = number,
                    _ => {}
                }
                return true;
            }
        }
        false
    }
}

/// The number a text begins with, and where it ends.
fn number(text: &str) -> Option<(usize, usize)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((end, text[..end].parse().ok()?))
}

/// Keys of a pattern that are as near to a text as they can be: what stands for
/// a placeholder is taken from the text where it fits.
fn keys_like(pattern: &str, text: &str, names: &Names) -> Vec<String> {
    let mut keys = vec![String::new()];
    for (place, piece) in pattern.split('.').enumerate() {
        let given = text.split('.').nth(place).unwrap_or_default();
        let of_names = |names: &[String]| {
            let known = names.iter().any(|name| name == given);
            let known = known || number(given).is_some_and(|(_, it)| it < names.len().max(1));
            match known {
                true => vec![given.to_owned()],
                false => nearest(given, names.iter().map(String::as_str)),
            }
        };
        let mut pieces = match piece {
            "{flow}" => of_names(&names.flows),
            "{link}" => of_names(&names.links),
            "{path}" | "{drop}" | "{slots}" => vec![match number(given) {
                Some((_, number)) if piece != "{slots}" => number.to_string(),
                _ => "1".to_owned(),
            }],
            "{stat}" => STATISTICS.map(str::to_owned).to_vec(),
            word => vec![word.to_owned()],
        };
        if pieces.is_empty() {
            pieces.push("0".to_owned());
        }
        let dot = if place == 0 { "" } else { "." };
        let longer = keys
            .iter()
            .flat_map(|key| pieces.iter().map(move |piece| format!("{key}{dot}{piece}")));
        keys = longer.collect();
    }
    keys
}

/// The few of some names that come nearest to a text, nearest first: those
/// that begin with it, then those that differ in the fewest letters.
#[must_use]
pub fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    /// How many names a person reads.
    const MOST: usize = 3;
    let rank = |name: &'a str| {
        (
            !name.starts_with(text),
            strsim::osa_distance(text, name),
            name,
        )
    };
    let mut ranked: Vec<_> = names.map(rank).collect();
    ranked.sort_unstable();
    ranked.dedup();
    let best = ranked.into_iter().take(MOST);
    best.map(|(_, _, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests;
