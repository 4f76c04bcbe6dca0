//! The JSON of AlphaRTC's challenge: conditions of a path, one after another.

use serde::Deserialize;
use serde_json::{Number, Value, json};

use super::formats::{FormatError, KBPS, LONGEST, MILLI, decimal};
use super::series::Series;
use crate::units::{Rate, Span, Time};

/// What AlphaRTC's format says of one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Condition {
    /// How long it lasts.
    pub duration: Span,
    /// The capacity.
    pub capacity: Rate,
    /// The chance of loss, from 0 to 1.
    pub loss: f64,
    /// The round-trip time without queueing.
    pub rtt: Span,
    /// The most that is added to it.
    pub jitter: Span,
}

/// Milliseconds and kbit/s, as the file has them; other keys are ignored.
#[derive(Debug, Deserialize)]
struct Entry {
    duration: f64,
    capacity: f64,
    #[serde(default)]
    loss: f64,
    #[serde(default)]
    rtt: f64,
    #[serde(default)]
    jitter: f64,
}

/// Reads AlphaRTC's JSON whole: a list of entries, or an object whose
/// `uplink.trace_pattern` is that list.
///
/// # Errors
///
/// What is not such JSON, and numbers that mean nothing.
pub fn read(text: &str) -> Result<Vec<Condition>, FormatError> {
    let mut value: Value = serde_json::from_str(text)?;
    if value.is_object() {
        value = value
            .pointer_mut("/uplink/trace_pattern")
            .map(Value::take)
            .ok_or_else(|| {
                FormatError::Whole(
                    "neither a list of entries nor an object with uplink.trace_pattern".into(),
                )
            })?;
    }
    let entries: Vec<Value> = serde_json::from_value(value)?;
    (1..)
        .zip(entries)
        .map(|(number, entry)| {
            let wrong = |what: String| FormatError::Whole(format!("entry {number}: {what}"));
            let entry: Entry =
                serde_json::from_value(entry).map_err(|error| wrong(error.to_string()))?;
            for (name, value, most) in [
                ("duration", entry.duration, LONGEST.millis_f64()),
                ("capacity", entry.capacity, f64::MAX),
                ("loss", entry.loss, 1.0),
                ("rtt", entry.rtt, LONGEST.millis_f64()),
                ("jitter", entry.jitter, LONGEST.millis_f64()),
            ] {
                if !(0.0..=most).contains(&value) {
                    return Err(wrong(format!("{name} = {value} is out of range")));
                }
            }
            Ok(Condition {
                duration: MILLI * entry.duration,
                capacity: KBPS * entry.capacity,
                loss: entry.loss,
                rtt: MILLI * entry.rtt,
                jitter: MILLI * entry.jitter,
            })
        })
        .collect()
}

/// Writes AlphaRTC's JSON; [`read`] reads it back.
#[must_use]
pub fn write(conditions: &[Condition]) -> String {
    let millis = |span: Span| {
        exact(
            (Time::ZERO + span).as_nanos(),
            (Time::ZERO + MILLI).as_nanos(),
        )
    };
    let entries: Vec<Value> = conditions
        .iter()
        .map(|condition| {
            json!({
                "duration": millis(condition.duration),
                "capacity": exact(condition.capacity.as_bps(), KBPS.as_bps()),
                "loss": condition.loss,
                "rtt": millis(condition.rtt),
                "jitter": millis(condition.jitter),
            })
        })
        .collect();
    let whole = json!({ "type": "video", "downlink": {}, "uplink": { "trace_pattern": entries } });
    format!("{whole:#}\n")
}

/// `value / unit` as a JSON number, whole where it is.
fn exact(value: u64, unit: u64) -> Value {
    if value.is_multiple_of(unit) {
        return (value / unit).into();
    }
    let number = decimal(value, unit).parse().ok().and_then(Number::from_f64);
    number.map_or(Value::Null, Value::Number)
}

/// The capacities of conditions.
///
/// # Errors
///
/// As for [`Series::new`].
pub fn series(conditions: &[Condition]) -> Result<Series, FormatError> {
    let mut at = Time::ZERO;
    let intervals = conditions.iter().map(|condition| {
        at += condition.duration;
        (at, condition.capacity)
    });
    Ok(Series::new(intervals.collect())?)
}

/// Conditions of these capacities, without loss or delay.
#[must_use]
pub fn conditions(series: &Series) -> Vec<Condition> {
    let mut begin = Time::ZERO;
    let conditions = series.intervals().iter().map(|(end, rate)| {
        let duration = *end - begin;
        begin = *end;
        Condition {
            duration,
            capacity: *rate,
            ..Condition::default()
        }
    });
    conditions.collect()
}
