//! The JSON of netem-trace, the trace library of the emulator rattan.
//!
//! An object with one key, the model's name. Read are `StaticBwConfig` (a rate
//! for a time), `RepeatedBwPatternConfig` (models one after another, some times
//! over; a count of 0 is for ever, of which one round is read) and
//! `TraceBwConfig` (pairs of a duration in ms and a list of rates in Mbit/s
//! that each last that long). Its random models are no recordings and are
//! refused. Rates and durations may be texts ("12Mbps", "1s 500ms") or that
//! library's plain form.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::formats::FormatError;
use super::series::Series;
use crate::units::{Rate, Span, Time, count};

/// Ours: more intervals are a count gone wrong, not a recording.
const MOST: u64 = 10_000_000;

/// The format's own rate of a `StaticBwConfig` without one, by definition.
const DEFAULT_RATE: Rate = Rate::from_mbps(12);

/// The format's own duration of a `StaticBwConfig` without one, by definition.
const DEFAULT_SPAN: Span = Span::from_secs(1);

/// Units above the smallest, for the shortest whole number, by definition.
const SPANS: &[(u64, &str)] = &[
    (Time::from_secs(1).as_nanos(), "s"),
    (Time::from_millis(1).as_nanos(), "ms"),
];

/// The same of rates, by definition.
const RATES: &[(u64, &str)] = &[
    (Rate::from_mbps(1).as_bps(), "Mbps"),
    (Rate::from_kbps(1).as_bps(), "kbps"),
];

/// Rates in order, each with how long it lasts.
type Intervals = Vec<(Span, Rate)>;

pub(super) fn read(text: &str) -> Result<Series, FormatError> {
    let mut intervals = Vec::new();
    model(&serde_json::from_str(text)?, &mut intervals)?;
    let mut at = Time::ZERO;
    let ends = intervals.into_iter().map(|(span, rate)| {
        at += span;
        (at, rate)
    });
    Ok(Series::new(ends.collect())?)
}

pub(super) fn write(series: &Series) -> String {
    let mut begin = Time::ZERO;
    let pattern: Vec<Value> = series
        .intervals()
        .iter()
        .map(|(end, rate)| {
            let span = *end - begin;
            begin = *end;
            let bw = shortest(rate.as_bps(), RATES, "bps");
            let duration = shortest((Time::ZERO + span).as_nanos(), SPANS, "ns");
            json!({ "StaticBwConfig": { "bw": bw, "duration": duration } })
        })
        .collect();
    let whole = json!({ "RepeatedBwPatternConfig": { "pattern": pattern, "count": 0 } });
    format!("{whole:#}\n")
}

#[derive(Deserialize)]
struct Static {
    bw: Option<Value>,
    duration: Option<Value>,
}

#[derive(Deserialize)]
struct Repeated {
    pattern: Vec<Value>,
    #[serde(default)]
    count: u64,
}

fn model(value: &Value, intervals: &mut Intervals) -> Result<(), FormatError> {
    let one = value.as_object().filter(|object| object.len() == 1);
    let Some((name, fields)) = one.and_then(|object: &Map<_, _>| object.iter().next()) else {
        return Err(wrong("a model is an object with one key, its name".into()));
    };
    match name.as_str() {
        "StaticBwConfig" => {
            let Static { bw, duration } = fields_of(name, fields)?;
            intervals.push((
                duration.map_or(Ok(DEFAULT_SPAN), |duration| span(&duration))?,
                bw.map_or(Ok(DEFAULT_RATE), |bw| rate(&bw))?,
            ));
        }
        "RepeatedBwPatternConfig" => {
            let Repeated {
                pattern,
                count: rounds,
            } = fields_of(name, fields)?;
            let mut round = Vec::new();
            for entry in &pattern {
                model(entry, &mut round)?;
            }
            let rounds = rounds.max(1);
            if count(round.len()).saturating_mul(rounds) > MOST {
                return Err(wrong(format!(
                    "a count of {rounds} makes too long a recording"
                )));
            }
            for _ in 0..rounds {
                intervals.extend_from_slice(&round);
            }
        }
        "TraceBwConfig" => {
            let pairs: Vec<(f64, Vec<f64>)> = fields_of(name, fields)?;
            for (millis, rates) in pairs {
                for mbps in rates {
                    if !(millis.is_finite() && mbps.is_finite() && mbps >= 0.0) {
                        return Err(wrong(format!(
                            "{millis} ms at {mbps} Mbit/s is no interval"
                        )));
                    }
                    let span = Span::from_millis(1) * millis;
                    intervals.push((span, Rate::from_mbps(1) * mbps));
                }
            }
        }
        _ => {
            return Err(wrong(format!(
                "the model `{name}` is no recording; StaticBwConfig, RepeatedBwPatternConfig and \
                 TraceBwConfig are read"
            )));
        }
    }
    if count(intervals.len()) > MOST {
        return Err(wrong(format!(
            "more than {MOST} intervals make too long a recording"
        )));
    }
    Ok(())
}

fn fields_of<T: for<'de> Deserialize<'de>>(name: &str, fields: &Value) -> Result<T, FormatError> {
    T::deserialize(fields).map_err(|error| wrong(format!("{name}: {error}")))
}

fn wrong(what: String) -> FormatError {
    FormatError::Whole(what)
}

fn rate(value: &Value) -> Result<Rate, FormatError> {
    let plain = || {
        let part = |name: &str| value.get(name)?.as_u64();
        let gbps = Rate::from_mbps(1_000).as_bps().checked_mul(part("gbps")?)?;
        gbps.checked_add(part("bps")?).map(Rate::from_bps)
    };
    match value.as_str() {
        Some(text) => parts(text).map(|rates: Vec<Rate>| rates.into_iter().sum()),
        None => plain(),
    }
    .ok_or_else(|| wrong(format!("{value} is no rate; write for example \"12Mbps\"")))
}

fn span(value: &Value) -> Result<Span, FormatError> {
    let plain = || {
        let secs = value.get("secs")?.as_i64()?;
        let nanos = value.get("nanos")?.as_i64()?;
        Some(Span::from_secs(1) * secs + Span::from_nanos(nanos))
    };
    match value.as_str() {
        Some(text) => {
            parts(text).map(|spans: Vec<Span>| spans.into_iter().fold(Span::ZERO, |a, b| a + b))
        }
        None => plain(),
    }
    .ok_or_else(|| {
        wrong(format!(
            "{value} is no duration; write for example \"1s 500ms\""
        ))
    })
}

/// A quantity, or several that add up.
fn parts<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    if let Ok(whole) = text.parse() {
        return Some(vec![whole]);
    }
    text.split_whitespace()
        .map(|part| part.parse().ok())
        .collect()
}

/// A whole number of the largest unit that allows it.
fn shortest(value: u64, units: &[(u64, &str)], smallest: &str) -> String {
    for (unit, name) in units {
        if value.is_multiple_of(*unit) {
            return format!("{}{name}", value / unit);
        }
    }
    format!("{value}{smallest}")
}
