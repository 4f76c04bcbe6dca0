//! Mahimahi's trace format: when a link may deliver.
//!
//! A trace is a text of one whole number per line: a time in milliseconds at
//! which one delivery opportunity comes. Lines never decrease; equal lines are
//! several opportunities at one time; there are no blank lines. The last line
//! is the period after which the trace begins again, so it must be more than
//! zero.
//!
//! An opportunity carries [`OPPORTUNITY`] bytes, and a packet costs its IP size
//! plus [`DEVICE_HEADER`]. Rates here count IP bytes: [`FULL_PACKET`] for each
//! opportunity.

use std::fmt::Write as _;

use crate::units::{Bytes, Rate, Span, Time, count, index};

/// What a delivery opportunity carries, device headers included. [Mahimahi].
pub const OPPORTUNITY: Bytes = Bytes::new(1504);

/// What a packet costs besides its IP size: the header of a TUN device. [Mahimahi].
pub const DEVICE_HEADER: Bytes = Bytes::new(4);

/// The largest IP packet that an opportunity carries whole.
pub const FULL_PACKET: Bytes = Bytes::new(OPPORTUNITY.get() - DEVICE_HEADER.get());

/// The width of the bins in which rates are compared, and of the window over
/// which a queue sees the rate of a trace. Ours: a second, as in most papers'
/// plots.
pub const WINDOW: Span = Span::from_secs(1);

/// The times of delivery opportunities, and a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    stamps: Vec<Time>,
}

/// What a trace offers, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Opportunities in a period.
    pub opportunities: u64,
    /// After how long the trace begins again.
    pub period: Span,
    /// The mean rate over a period, in IP bytes.
    pub mean: Rate,
    /// The 5th percentile of the rate in whole seconds of the period (of the
    /// mean rate alone where the period is shorter).
    pub p5: Rate,
    /// The 95th percentile likewise.
    pub p95: Rate,
    /// The longest time without an opportunity, also across the end.
    pub outage: Span,
}

/// Why a text is not a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// No lines at all.
    #[error(
        "the trace is empty; it needs one line per delivery opportunity, its time in milliseconds"
    )]
    Empty,
    /// A blank line.
    #[error("line {line} is blank; remove it: every line is a time in milliseconds")]
    Blank {
        /// Its number, from one.
        line: usize,
    },
    /// A line that is not a whole number.
    #[error(
        "line {line}: `{text}` is not a time in whole milliseconds (digits only, lines ended by \
         a newline)"
    )]
    Number {
        /// Its number, from one.
        line: usize,
        /// The line, cut short.
        text: String,
    },
    /// A time before the one on the line above.
    #[error("line {line}: {stamp} comes before the line above; sort the lines by time")]
    Decreasing {
        /// Its number, from one.
        line: usize,
        /// Its time.
        stamp: Time,
    },
    /// A time that is far too late.
    #[error("line {line} is later than {LATEST}; are its times in milliseconds?")]
    Late {
        /// Its number, from one.
        line: usize,
    },
    /// Nothing but zeros.
    #[error(
        "line {line}, the last, is 0, but the last time is the period of the trace and must be \
         more than zero"
    )]
    NoPeriod {
        /// Its number, from one.
        line: usize,
    },
}

/// Ours: a year is beyond any recording, and keeps the arithmetic of periods
/// far from its bounds.
const LATEST: Time = Time::from_secs(3_600 * 24 * 366);

/// How much of a wrong line an error shows. Ours: half a line of a terminal.
const SHOWN: usize = 40;

impl Trace {
    /// From the times of opportunities.
    ///
    /// # Errors
    ///
    /// As for a text whose lines these are.
    pub fn new(stamps: Vec<Time>) -> Result<Self, TraceError> {
        let mut last = Time::ZERO;
        for (above, stamp) in stamps.iter().enumerate() {
            let line = above + 1;
            if *stamp < last {
                return Err(TraceError::Decreasing {
                    line,
                    stamp: *stamp,
                });
            }
            if *stamp > LATEST {
                return Err(TraceError::Late { line });
            }
            last = *stamp;
        }
        match stamps.len() {
            0 => Err(TraceError::Empty),
            line if last == Time::ZERO => Err(TraceError::NoPeriod { line }),
            _ => Ok(Self { stamps }),
        }
    }

    /// Reads a trace.
    ///
    /// # Errors
    ///
    /// The first thing wrong with the text, with the number of its line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        Self::parse_bytes(text.as_bytes())
    }

    /// Reads a trace from the bytes of a file.
    ///
    /// # Errors
    ///
    /// The first thing wrong with the text, with the number of its line.
    pub fn parse_bytes(text: &[u8]) -> Result<Self, TraceError> {
        // Most lines of a recording have six or seven bytes.
        let mut stamps = Vec::with_capacity(text.len() / 6);
        let body = text.strip_suffix(b"\n").unwrap_or(text);
        if text.is_empty() {
            return Err(TraceError::Empty);
        }
        for (above, line) in body.split(|byte| *byte == b'\n').enumerate() {
            stamps.push(stamp(line, above + 1)?);
        }
        Self::new(stamps)
    }

    /// Writes the trace; [`Trace::parse`] reads it back. Times are rounded down
    /// to the millisecond, which is all the format has.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = String::with_capacity(self.stamps.len() * 7);
        for stamp in &self.stamps {
            // A String never refuses to be written to.
            let _ = writeln!(text, "{}", millis(*stamp));
        }
        text
    }

    /// The times of opportunities in the first period. Never empty.
    #[must_use]
    pub fn stamps(&self) -> &[Time] {
        &self.stamps
    }

    /// After how long the trace begins again.
    #[must_use]
    pub fn period(&self) -> Span {
        self.end().since_epoch()
    }

    fn end(&self) -> Time {
        self.stamps[self.stamps.len() - 1]
    }

    /// The mean rate over a period, in IP bytes.
    #[must_use]
    pub fn mean(&self) -> Rate {
        let carried = FULL_PACKET * count(self.stamps.len());
        carried.per(self.period()).unwrap_or(Rate::ZERO)
    }

    /// Opportunities up to and at `until`, of the trace repeated for ever.
    #[must_use]
    pub fn opportunities(&self, until: Time) -> u64 {
        let period = self.end().as_nanos();
        let (rounds, rest) = (until.as_nanos() / period, until.as_nanos() % period);
        let within = self
            .stamps
            .partition_point(|stamp| stamp.as_nanos() <= rest);
        rounds * count(self.stamps.len()) + count(within)
    }

    /// The mean rate after `from` and up to `until`, of the trace repeated for
    /// ever, in IP bytes; zero where `until` is not later.
    #[must_use]
    pub fn rate_between(&self, from: Time, until: Time) -> Rate {
        let between = self
            .opportunities(until)
            .saturating_sub(self.opportunities(from));
        (FULL_PACKET * between)
            .per(until - from)
            .unwrap_or(Rate::ZERO)
    }

    /// What the trace offers, in numbers.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let whole = self.end().as_nanos() / (Time::ZERO + WINDOW).as_nanos();
        let bins = self.rates(WINDOW).into_iter().take(index(whole));
        let mut rates: Vec<Rate> = bins.map(|(_, rate)| rate).collect();
        if rates.is_empty() {
            rates.push(self.mean());
        }
        rates.sort_unstable();
        let mut outage = Span::ZERO;
        let mut last = Time::ZERO;
        for stamp in &self.stamps {
            outage = outage.max(*stamp - last);
            last = *stamp;
        }
        Statistics {
            opportunities: count(self.stamps.len()),
            period: self.period(),
            mean: self.mean(),
            p5: percentile(&rates, 5),
            p95: percentile(&rates, 95),
            outage,
        }
    }

    /// The mean rate of each bin of this width, with the bin's end; the last
    /// bin ends with the period. A bin contains its end but not its beginning,
    /// only the first contains zero. `width` must be positive.
    #[must_use]
    pub fn rates(&self, width: Span) -> Vec<(Time, Rate)> {
        let mut rates = Vec::new();
        let (mut begin, mut rest) = (Time::ZERO, &self.stamps[..]);
        while begin < self.end() {
            let end = (begin + width).min(self.end());
            let (bin, after) = rest.split_at(rest.partition_point(|stamp| *stamp <= end));
            let carried = FULL_PACKET * count(bin.len());
            rates.push((end, carried.per(end - begin).unwrap_or(Rate::ZERO)));
            (begin, rest) = (end, after);
        }
        rates
    }
}

/// Whole milliseconds since the epoch, rounded down.
pub(super) const fn millis(at: Time) -> u64 {
    at.as_nanos() / Time::from_millis(1).as_nanos()
}

/// The `percent`th percentile by nearest rank, of a sorted list that is not empty.
fn percentile(sorted: &[Rate], percent: u64) -> Rate {
    let rank = (count(sorted.len()) * percent).div_ceil(100).max(1);
    sorted[index(rank - 1)]
}

fn stamp(line: &[u8], number: usize) -> Result<Time, TraceError> {
    if line.is_empty() {
        return Err(TraceError::Blank { line: number });
    }
    let mut value = 0_u64;
    for byte in line {
        if !byte.is_ascii_digit() {
            let shown = &line[..line.len().min(SHOWN)];
            return Err(TraceError::Number {
                line: number,
                text: String::from_utf8_lossy(shown).escape_debug().to_string(),
            });
        }
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(byte - b'0'));
    }
    if value > millis(LATEST) {
        return Err(TraceError::Late { line: number });
    }
    Ok(Time::from_millis(value))
}

#[cfg(test)]
#[path = "trace/tests.rs"]
mod tests;
