//! File formats of recorded capacity, as pure functions on text.
//!
//! | name | a line or entry says | source |
//! | --- | --- | --- |
//! | `mahimahi` | when a full packet may leave, in ms | [Mahimahi] |
//! | `csv` | `end_ms,kbps`: the mean rate over the interval that ends there | this project's own |
//! | `pensieve` | `seconds Mbps`: the same; the first line is the beginning only | [Pensieve] |
//! | `alphartc` | JSON: how long, capacity, loss, round-trip time, jitter | [AlphaRTC] |
//! | `netem` | JSON: rates and durations, nested and repeated | netem-trace, of the emulator rattan |
//!
//! Numbers with more digits than a nanosecond or a bit per second are rounded.
//! What is written reads back the same, but for Mahimahi's format, which has
//! only whole packets and milliseconds.

use std::fmt::Write as _;

use super::series::Series;
use super::trace::{Trace, TraceError, WINDOW};
use super::{alphartc, netem};
use crate::settings::SettingError;
use crate::units::{Rate, Span, Time};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Mahimahi's packet opportunities. Read in bins of [`WINDOW`].
    Mahimahi,
    /// `end_ms,kbps` with that header.
    Csv,
    /// `seconds Mbps`, separated by white space.
    Pensieve,
    /// AlphaRTC's JSON. It has loss and delay too: see [`alphartc`].
    AlphaRtc,
    /// The JSON of netem-trace's fixed and repeated bandwidth models.
    Netem,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A line is wrong.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from one.
        line: usize,
        /// What is wrong and what would do.
        what: String,
    },
    /// Not a trace of Mahimahi's.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The whole is wrong.
    #[error("{0}")]
    Whole(String),
}

impl From<SettingError> for FormatError {
    fn from(error: SettingError) -> Self {
        Self::Whole(error.0)
    }
}

impl From<serde_json::Error> for FormatError {
    fn from(error: serde_json::Error) -> Self {
        let line = error.line();
        let text = error.to_string();
        // The library appends its own position.
        let what = text
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        Self::Line { line, what }
    }
}

/// No recording is longer, and no time of a file may be later. Ours: a year.
pub(super) const LONGEST: Span = Span::from_secs(3_600 * 24 * 366);

/// The header of `csv`.
const HEADER: &str = "end_ms,kbps";

/// Units of the formats, by definition.
pub(super) const MILLI: Span = Span::from_millis(1);
/// By definition.
const SECOND: Span = Span::from_secs(1);
/// By definition.
pub(super) const KBPS: Rate = Rate::from_kbps(1);
/// By definition.
const MBPS: Rate = Rate::from_mbps(1);

impl Format {
    /// Every format.
    pub const ALL: &[Self] = &[
        Self::Mahimahi,
        Self::Csv,
        Self::Pensieve,
        Self::AlphaRtc,
        Self::Netem,
    ];

    /// Its name, as commands take it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mahimahi => "mahimahi",
            Self::Csv => "csv",
            Self::Pensieve => "pensieve",
            Self::AlphaRtc => "alphartc",
            Self::Netem => "netem",
        }
    }

    /// The format of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.name() == name)
    }

    /// The format that a text seems to have, by its beginning.
    #[must_use]
    pub fn guess(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        if text.trim_start().starts_with(['{', '[']) {
            let netem = text.contains("BwPatternConfig") || text.contains("BwConfig");
            return if netem { Self::Netem } else { Self::AlphaRtc };
        }
        if first.trim() == HEADER {
            Self::Csv
        } else if first.split_whitespace().count() == 2 {
            Self::Pensieve
        } else {
            Self::Mahimahi
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The first thing wrong, with its line.
    pub fn read(self, text: &str) -> Result<Series, FormatError> {
        match self {
            Self::Mahimahi => Ok(Series::of_trace(&Trace::parse(text)?, WINDOW)?),
            Self::Csv => read_csv(text),
            Self::Pensieve => read_pensieve(text),
            Self::AlphaRtc => alphartc::series(&alphartc::read(text)?),
            Self::Netem => netem::read(text),
        }
    }

    /// Writes a series; [`Format::read`] reads it back.
    ///
    /// # Errors
    ///
    /// A series that the format cannot hold.
    pub fn write(self, series: &Series) -> Result<String, FormatError> {
        match self {
            Self::Mahimahi => Ok(series.opportunities()?.write()),
            Self::Csv => Ok(write_columns(series, HEADER, ',', MILLI, KBPS)),
            Self::Pensieve => {
                let first = decimal(series.intervals()[0].1.as_bps(), MBPS.as_bps());
                Ok(write_columns(
                    series,
                    &format!("0 {first}"),
                    ' ',
                    SECOND,
                    MBPS,
                ))
            }
            Self::AlphaRtc => Ok(alphartc::write(&alphartc::conditions(series))),
            Self::Netem => Ok(netem::write(series)),
        }
    }
}

fn read_csv(text: &str) -> Result<Series, FormatError> {
    let mut lines = (1..).zip(text.lines());
    if lines
        .next()
        .is_none_or(|(_, header)| header.trim() != HEADER)
    {
        return Err(FormatError::Line {
            line: 1,
            what: format!("the first line must be `{HEADER}`"),
        });
    }
    let mut intervals = Vec::new();
    for (line, row) in lines {
        intervals.push(columns(line, row.split(','), MILLI, KBPS)?);
    }
    Ok(Series::new(intervals)?)
}

fn read_pensieve(text: &str) -> Result<Series, FormatError> {
    let mut rows = (1..).zip(text.lines()).map(|(line, row)| {
        let (at, rate) = columns(line, row.split_whitespace(), SECOND, MBPS)?;
        Ok::<_, FormatError>((line, at, rate))
    });
    let Some(first) = rows.next() else {
        return Err(FormatError::Whole(
            "the file is empty; it needs lines of `seconds Mbps`".into(),
        ));
    };
    let (_, begin, _) = first?;
    let mut intervals = Vec::new();
    let mut last = begin;
    for row in rows {
        let (line, at, rate) = row?;
        if at <= last {
            return Err(FormatError::Line {
                line,
                what: format!("{at} is not after the line above; sort the lines by time"),
            });
        }
        last = at;
        intervals.push((Time::ZERO + (at - begin), rate));
    }
    Ok(Series::new(intervals)?)
}

/// A row of a time and a rate, in these units.
fn columns<'a>(
    line: usize,
    mut cells: impl Iterator<Item = &'a str>,
    time: Span,
    rate: Rate,
) -> Result<(Time, Rate), FormatError> {
    let wrong = |what: String| FormatError::Line { line, what };
    let (Some(at), Some(value), None) = (cells.next(), cells.next(), cells.next()) else {
        return Err(wrong("needs exactly two numbers, a time and a rate".into()));
    };
    let number = |cell: &str| {
        let number = cell.trim().parse().ok();
        let number = number.filter(|n: &f64| n.is_finite() && *n >= 0.0);
        number.ok_or_else(|| wrong(format!("`{}` is not a number of zero or more", cell.trim())))
    };
    let (at, value) = (number(at)?, number(value)?);
    let at = time * at;
    if at > LONGEST {
        return Err(wrong(format!(
            "the time is beyond {LONGEST}; is its unit right?"
        )));
    }
    Ok((Time::ZERO + at, rate * value))
}

fn write_columns(series: &Series, first: &str, between: char, time: Span, rate: Rate) -> String {
    let mut text = format!("{first}\n");
    let (time, unit) = ((Time::ZERO + time).as_nanos(), rate.as_bps());
    for (end, rate) in series.intervals() {
        let (at, rate) = (decimal(end.as_nanos(), time), decimal(rate.as_bps(), unit));
        // A String never refuses to be written to.
        let _ = writeln!(text, "{at}{between}{rate}");
    }
    text
}

/// `value / unit` with as many decimals as it needs; `unit` is a power of ten.
pub(super) fn decimal(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = crate::units::index(unit.ilog10().into());
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
#[path = "formats/tests.rs"]
mod tests;
