//! Time, sizes and rates: integers with a unit, never bare numbers.
//!
//! Steps between units have names that read as English
//! ([`Bytes::at`], [`Rate::over`], [`Bytes::per`]); steps that can fail say so
//! in their type. Text forms (`"12 Mbit/s"`, `"40 ms"`, `"64 kB"`) are exact:
//! what is printed parses back to the same value.
//!
//! ```
//! use tightloop::units::{Bytes, Rate, Span};
//!
//! let link: Rate = "12 Mbit/s".parse()?;
//! assert_eq!(Bytes::new(1500).at(link), Some(Span::from_millis(1)));
//! assert_eq!(link.over(Span::from_millis(40)), Bytes::new(60_000));
//! assert_eq!(Bytes::new(60_000).per(Span::from_millis(40)), Some(link));
//! # Ok::<(), tightloop::units::ParseUnitError>(())
//! ```

#![allow(clippy::as_conversions)] // The one file where numbers change their type.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NANOS_PER_SEC: u64 = 1_000_000_000;
const BITS_PER_BYTE: u64 = 8;

/// A moment on the run's own clock, in nanoseconds since its epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A signed length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

/// A moment on the *peer's* clock, in nanoseconds since an epoch nobody knows.
///
/// The peer's clock has an unknown offset and drifts. A difference of two
/// remote times is a [`Span`]; a difference between a remote and a local time
/// exists only as [`RemoteTime::offset_from`], of which only differences mean
/// anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RemoteTime(u64);

/// A size in bytes. On links and in controllers: bytes of IP packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

/// Service still owed: bits, in billionths, so that what any rate carries in
/// any number of nanoseconds is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Work(u128);

/// A count as a float; exact up to 2^53.
#[must_use]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// A count as an index; counts beyond the address space saturate.
#[must_use]
pub const fn index(count: u64) -> usize {
    if count > usize::MAX as u64 {
        usize::MAX
    } else {
        count as usize
    }
}

/// An index or length as a count.
#[must_use]
pub const fn count(index: usize) -> u64 {
    index as u64
}

/// A float as a count, rounded to nearest; negative values and NaN give zero,
/// values beyond the range saturate.
#[must_use]
pub fn round(value: f64) -> u64 {
    // Half is added to the rest, not to the value, whose last bit might not hold it.
    let whole = value as u64;
    whole.saturating_add((value - whole as f64 >= 0.5) as u64)
}

impl Time {
    /// The run's epoch.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds since the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// From whole seconds since the epoch.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SEC)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the epoch.
    #[must_use]
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The span since the epoch.
    #[must_use]
    pub const fn since_epoch(self) -> Span {
        Span(if self.0 > i64::MAX as u64 {
            i64::MAX
        } else {
            self.0 as i64
        })
    }

    /// What a clock with this offset and drift reads at this moment.
    ///
    /// `drift` is in parts per billion of elapsed time.
    #[must_use]
    pub const fn on_clock(self, offset: Span, drift_ppb: i64) -> RemoteTime {
        // Runs of hours fit in 64 bits; the 128-bit division is ten times slower.
        let drifted = match (self.0 as i64).checked_mul(drift_ppb) {
            Some(scaled) if self.0 <= i64::MAX as u64 => scaled / NANOS_PER_SEC as i64,
            _ => ((self.0 as i128 * drift_ppb as i128) / NANOS_PER_SEC as i128) as i64,
        };
        RemoteTime(
            // Offsets are at most hours; an epoch this far away keeps every reading positive.
            (REMOTE_EPOCH + self.0)
                .saturating_add_signed(offset.0)
                .saturating_add_signed(drifted),
        )
    }
}

/// Where a simulated peer's clock starts, before its offset: one day.
const REMOTE_EPOCH: u64 = 86_400 * NANOS_PER_SEC;

impl RemoteTime {
    /// From nanoseconds of the peer's clock.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds of the peer's clock.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This reading minus a local time: the one-way delay plus an unknown
    /// constant (and drift). *Only differences of these mean anything.*
    #[must_use]
    pub const fn offset_from(self, local: Time) -> Span {
        Span(self.0.wrapping_sub(local.0) as i64)
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// From nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From microseconds.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros * 1_000)
    }

    /// From milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }

    /// From whole seconds.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * NANOS_PER_SEC as i64)
    }

    /// From seconds, rounded to the nanosecond; NaN gives zero, values out of
    /// range saturate.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::round(secs * NANOS_PER_SEC as f64) as i64)
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Seconds.
    #[must_use]
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Milliseconds.
    #[must_use]
    pub fn millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The magnitude.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// True for a span longer than zero.
    #[must_use]
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// How many times `other` fits; zero where `other` is not positive.
    #[must_use]
    pub fn ratio(self, other: Self) -> f64 {
        if other.0 > 0 {
            self.0 as f64 / other.0 as f64
        } else {
            0.0
        }
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest size.
    pub const MAX: Self = Self(u64::MAX);

    /// A number of bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The length of a slice or buffer.
    #[must_use]
    pub const fn len_of(bytes: usize) -> Self {
        Self(bytes as u64)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a float.
    #[must_use]
    pub const fn get_f64(self) -> f64 {
        self.0 as f64
    }

    /// From a float, rounded to the byte; negative values and NaN give zero.
    #[must_use]
    pub fn from_f64(bytes: f64) -> Self {
        Self(round(bytes))
    }

    /// How long this takes at a rate, rounded up to the nanosecond; `None` at
    /// rate zero, which is an outage.
    #[must_use]
    pub const fn at(self, rate: Rate) -> Option<Span> {
        const SCALE: u64 = BITS_PER_BYTE * NANOS_PER_SEC;
        if rate.0 == 0 {
            return None;
        }
        // Packets fit in 64 bits; the 128-bit division is five times slower.
        let nanos = match self.0.checked_mul(SCALE) {
            Some(scaled) => scaled.div_ceil(rate.0),
            None => {
                let wide = (self.0 as u128 * SCALE as u128).div_ceil(rate.0 as u128);
                if wide > i64::MAX as u128 {
                    i64::MAX as u64
                } else {
                    wide as u64
                }
            }
        };
        Some(Span(nanos as i64))
    }

    /// The rate that carries this in a span; `None` for a span that is not
    /// positive.
    #[must_use]
    pub const fn per(self, span: Span) -> Option<Rate> {
        const SCALE: u64 = BITS_PER_BYTE * NANOS_PER_SEC;
        if span.0 <= 0 {
            return None;
        }
        // As in `at`: windows fit in 64 bits.
        let bps = match self.0.checked_mul(SCALE) {
            Some(scaled) => scaled / span.0 as u64,
            None => {
                let wide = (self.0 as u128 * SCALE as u128) / span.0 as u128;
                if wide > u64::MAX as u128 {
                    u64::MAX
                } else {
                    wide as u64
                }
            }
        };
        Some(Rate(bps))
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// How many times `other` fits; zero where `other` is zero.
    #[must_use]
    pub const fn ratio(self, other: Self) -> f64 {
        if self.0 == other.0 && other.0 > 0 {
            // Nearly every packet is a full one.
            1.0
        } else if other.0 == 0 {
            0.0
        } else {
            self.0 as f64 / other.0 as f64
        }
    }

    /// The service it takes to carry this.
    #[must_use]
    pub const fn work(self) -> Work {
        Work(self.0 as u128 * (BITS_PER_BYTE * NANOS_PER_SEC) as u128)
    }

    /// How many pieces of at most `piece` bytes this makes; at least one.
    #[must_use]
    pub const fn pieces(self, piece: Self) -> u64 {
        let pieces = self.0.div_ceil(if piece.0 == 0 { 1 } else { piece.0 });
        if pieces == 0 { 1 } else { pieces }
    }
}

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);
    /// The highest rate.
    pub const MAX: Self = Self(u64::MAX);

    /// From bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// From thousands of bits per second.
    #[must_use]
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// From millions of bits per second.
    #[must_use]
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// From bits per second, rounded; negative values and NaN give zero.
    #[must_use]
    pub fn from_bps_f64(bps: f64) -> Self {
        Self(round(bps))
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bits per second as a float.
    #[must_use]
    pub const fn bps_f64(self) -> f64 {
        self.0 as f64
    }

    /// Millions of bits per second.
    #[must_use]
    pub fn mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// What this rate carries in a span, rounded down; zero for a negative span.
    #[must_use]
    pub const fn over(self, span: Span) -> Bytes {
        if span.0 <= 0 {
            return Bytes(0);
        }
        let wide = (self.0 as u128 * span.0 as u128) / (BITS_PER_BYTE * NANOS_PER_SEC) as u128;
        Bytes(if wide > u64::MAX as u128 {
            u64::MAX
        } else {
            wide as u64
        })
    }

    /// The service this rate gives in a span, exactly; none in a negative span.
    #[must_use]
    pub const fn work(self, span: Span) -> Work {
        if span.0 <= 0 {
            return Work(0);
        }
        Work(self.0 as u128 * span.0 as u128)
    }

    /// How many times `other` fits; zero where `other` is zero.
    #[must_use]
    pub const fn ratio(self, other: Self) -> f64 {
        if other.0 == 0 {
            0.0
        } else {
            self.0 as f64 / other.0 as f64
        }
    }

    /// The difference, or zero where `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Work {
    /// How long this takes at a rate, rounded up to the nanosecond; `None` at
    /// rate zero.
    #[must_use]
    pub const fn at(self, rate: Rate) -> Option<Span> {
        if rate.0 == 0 {
            return None;
        }
        let nanos = self.0.div_ceil(rate.0 as u128);
        Some(Span(if nanos > i64::MAX as u128 {
            i64::MAX
        } else {
            nanos as i64
        }))
    }

    /// The mean rate that does this in a span, rounded down; `None` for a span
    /// that is not positive.
    #[must_use]
    pub const fn per(self, span: Span) -> Option<Rate> {
        if span.0 <= 0 {
            return None;
        }
        let rate = self.0 / span.0 as u128;
        Some(Rate(if rate > u64::MAX as u128 {
            u64::MAX
        } else {
            rate as u64
        }))
    }

    /// What remains after some of it is done; zero where `done` is more.
    #[must_use]
    pub const fn less(self, done: Self) -> Self {
        Self(self.0.saturating_sub(done.0))
    }
}

impl Add for Work {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add_signed(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        self + -span
    }
}

impl Sub for Time {
    type Output = Span;
    #[inline]
    fn sub(self, other: Self) -> Span {
        Span(self.0.wrapping_sub(other.0) as i64)
    }
}

impl Add<Span> for RemoteTime {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add_signed(span.0))
    }
}

impl Sub<Span> for RemoteTime {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        self + -span
    }
}

impl Sub for RemoteTime {
    type Output = Span;
    #[inline]
    fn sub(self, other: Self) -> Span {
        Span(self.0.wrapping_sub(other.0) as i64)
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Mul<i64> for Span {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Mul<f64> for Span {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as i64)
    }
}

impl Div<i64> for Span {
    type Output = Self;
    fn div(self, divisor: i64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Panics where the result would be negative: taking out more than was put in
/// is a broken invariant. [`Bytes::saturating_sub`] is for differences.
impl Sub for Bytes {
    type Output = Self;
    #[track_caller]
    #[inline]
    fn sub(self, other: Self) -> Self {
        match self.0.checked_sub(other.0) {
            Some(rest) => Self(rest),
            None => panic!("{} bytes taken out of {}", other.0, self.0),
        }
    }
}

impl SubAssign for Bytes {
    #[track_caller]
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Mul<f64> for Bytes {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(round(self.0 as f64 * factor))
    }
}

impl Div<u64> for Bytes {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

impl Add for Rate {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Rate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        rates.fold(Self::ZERO, Add::add)
    }
}

impl Mul<f64> for Rate {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(round(self.0 as f64 * factor))
    }
}

impl Div<u64> for Rate {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

// --- text -----------------------------------------------------------------

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseUnitError {
    /// No number at the start.
    #[error("`{text}` does not start with a number; write for example \"{example}\"")]
    Number {
        /// The text.
        text: String,
        /// A text that would do.
        example: &'static str,
    },
    /// A number without a unit, or with one that is not known.
    #[error("`{text}` has no known unit; use one of {units}, for example \"{example}\"")]
    Unit {
        /// The text.
        text: String,
        /// The units that are known.
        units: String,
        /// A text that would do.
        example: &'static str,
    },
    /// More digits than the quantity can hold.
    #[error("`{text}` is out of range or finer than the smallest unit ({smallest})")]
    Range {
        /// The text.
        text: String,
        /// The smallest step.
        smallest: &'static str,
    },
    /// A sign where the quantity has none.
    #[error("`{text}` is negative, and this quantity cannot be")]
    Negative {
        /// The text.
        text: String,
    },
}

/// Units of one quantity, as (name, size in smallest units). The first of a
/// given size is the one printed.
struct Units {
    names: &'static [(&'static str, u64)],
    smallest: &'static str,
    example: &'static str,
}

const SPANS: Units = Units {
    names: &[
        ("s", NANOS_PER_SEC),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
        ("µs", 1_000),
        ("min", 60 * NANOS_PER_SEC),
        ("h", 3_600 * NANOS_PER_SEC),
    ],
    smallest: "1 ns",
    example: "40 ms",
};

const RATES: Units = Units {
    names: &[
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("kbps", 1_000),
        ("bps", 1),
    ],
    smallest: "1 bit/s",
    example: "12 Mbit/s",
};

const SIZES: Units = Units {
    names: &[
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
        ("KiB", 1_024),
        ("MiB", 1_048_576),
    ],
    smallest: "1 B",
    example: "64 kB",
};

impl Units {
    /// The sign and magnitude in smallest units.
    fn parse(&self, text: &str) -> Result<(bool, u64), ParseUnitError> {
        let range = || ParseUnitError::Range {
            text: text.into(),
            smallest: self.smallest,
        };
        let trimmed = text.trim();
        let (negative, unsigned) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, trimmed),
        };
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(end);
        let number: String = number.chars().filter(|c| *c != '_').collect();
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(ParseUnitError::Number {
                text: text.into(),
                example: self.example,
            });
        }
        let unit = unit.trim();
        let Some((_, scale)) = self.names.iter().find(|(name, _)| *name == unit) else {
            let mut units = String::new();
            for (name, _) in self.names {
                if !units.is_empty() {
                    units.push_str(", ");
                }
                units.push_str(name);
            }
            return Err(ParseUnitError::Unit {
                text: text.into(),
                units,
                example: self.example,
            });
        };
        let fraction = fraction.trim_end_matches('0');
        let mut scaled = whole
            .parse::<u128>()
            .ok()
            .and_then(|w| w.checked_mul(u128::from(*scale)))
            .ok_or_else(range)?;
        if !fraction.is_empty() {
            let digits = u32::try_from(fraction.len()).map_err(|_| range())?;
            let denominator = 10u128.checked_pow(digits).ok_or_else(range)?;
            let numerator = fraction.parse::<u128>().map_err(|_| range())? * u128::from(*scale);
            if numerator % denominator != 0 {
                return Err(range());
            }
            scaled += numerator / denominator;
        }
        Ok((negative, u64::try_from(scaled).map_err(|_| range())?))
    }

    /// Prints a magnitude in the largest unit of which there is at least one.
    fn print(&self, f: &mut fmt::Formatter<'_>, sign: &str, value: u64) -> fmt::Result {
        let mut chosen = ("", 1);
        for &(name, scale) in self.names.iter().take(4) {
            chosen = (name, scale);
            if value >= scale {
                break;
            }
        }
        if value == 0 {
            // "0 s" rather than "0 ns": the first printed unit that people expect.
            chosen = match self.smallest {
                "1 ns" => ("s", 1),
                _ => chosen,
            };
        }
        let (unit, scale) = chosen;
        let (whole, rest) = (value / scale, value % scale);
        if rest == 0 {
            return f.pad(&format!("{sign}{whole} {unit}"));
        }
        let width = scale.ilog10() as usize;
        let fraction = format!("{rest:0width$}");
        f.pad(&format!(
            "{sign}{whole}.{} {unit}",
            fraction.trim_end_matches('0')
        ))
    }
}

macro_rules! text_form {
    ($type:ident, $units:ident, $visitor:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let value = self.0;
                #[allow(unused_comparisons)]
                let sign = if value < 0 { "-" } else { "" };
                $units.print(f, sign, magnitude(i128::from(value)))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct $visitor;
                impl serde::de::Visitor<'_> for $visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "a text with a unit, for example \"{}\"", $units.example)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str($visitor)
            }
        }
    };
}

fn magnitude(value: i128) -> u64 {
    value.unsigned_abs() as u64
}

text_form!(Span, SPANS, SpanVisitor);
text_form!(Rate, RATES, RateVisitor);
text_form!(Bytes, SIZES, BytesVisitor);
text_form!(Time, SPANS, TimeVisitor);

impl fmt::Debug for RemoteTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "remote {:?}", Span(self.0 as i64))
    }
}

impl FromStr for Span {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let (negative, nanos) = SPANS.parse(text)?;
        let nanos = i64::try_from(nanos).map_err(|_| ParseUnitError::Range {
            text: text.into(),
            smallest: SPANS.smallest,
        })?;
        Ok(Self(if negative { -nanos } else { nanos }))
    }
}

fn unsigned(units: &Units, text: &str) -> Result<u64, ParseUnitError> {
    match units.parse(text)? {
        (true, value) if value > 0 => Err(ParseUnitError::Negative { text: text.into() }),
        (_, value) => Ok(value),
    }
}

impl FromStr for Time {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        unsigned(&SPANS, text).map(Self)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        unsigned(&RATES, text).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        unsigned(&SIZES, text).map(Self)
    }
}

/// The earlier of two moments, where there are any.
#[must_use]
#[inline]
pub fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn printed_text_parses_back_to_the_same_value(value: u64, signed in -i64::MAX..i64::MAX) {
            prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(Time(value).to_string().parse(), Ok(Time(value)));
            prop_assert_eq!(Span(signed).to_string().parse(), Ok(Span(signed)));
            let json = serde_json::to_string(&Rate(value)).expect("a text");
            prop_assert_eq!(serde_json::from_str::<Rate>(&json).ok(), Some(Rate(value)));
        }

        #[test]
        fn any_text_gives_a_value_or_an_error(text: String) {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Bytes>();
        }

        #[test]
        fn service_time_is_rounded_up_and_never_too_fast(bytes in 1u64..1_000_000_000_000, bps in 1u64..1_000_000_000_000) {
            let (bytes, rate) = (Bytes(bytes), Rate(bps));
            let span = bytes.at(rate).expect("a positive rate");
            let exact = u128::from(bytes.0) * 8_000_000_000;
            let nanos = u128::try_from(span.0).expect("positive");
            if span.0 < i64::MAX {
                prop_assert!(nanos * u128::from(bps) >= exact);
                prop_assert!((nanos - 1) * u128::from(bps) < exact);
                prop_assert!(rate.over(span) >= bytes);
            }
        }

        #[test]
        fn work_done_in_parts_takes_as_long_as_work_done_at_once(bytes: u32, bps in 1u64..1_000_000_000_000, nanos: u32) {
            let (size, rate) = (Bytes(u64::from(bytes)), Rate(bps));
            let whole = size.work().at(rate).expect("a positive rate");
            prop_assert_eq!(Some(whole), size.at(rate));
            let part = Span::from_nanos(i64::from(nanos)).min(whole);
            let rest = size.work().less(rate.work(part)).at(rate).expect("a positive rate");
            prop_assert_eq!(part + rest, whole);
            prop_assert_eq!(rate.work(part).per(part), part.is_positive().then_some(rate));
        }

        #[test]
        fn rate_over_a_span_and_size_per_span_are_inverse(bps in 1_000u64..100_000_000_000, ms in 1i64..100_000) {
            let span = Span::from_millis(ms);
            let back = Rate(bps).over(span).per(span).expect("a positive span");
            prop_assert!(back <= Rate(bps));
            // One byte is lost to rounding down at most.
            prop_assert!(bps - back.0 <= 8_000 / u64::try_from(ms).expect("positive") + 1);
        }

        #[test]
        fn adding_and_subtracting_a_span_returns_to_the_start(at in 1u64 << 62..1u64 << 63, span: i32) {
            let (at, span) = (Time(at), Span::from_nanos(i64::from(span)));
            prop_assert_eq!((at + span) - at, span);
            prop_assert_eq!((at + span) - span, at);
        }
    }

    #[test]
    fn texts_people_write_are_read() {
        assert_eq!("12 Mbit/s".parse(), Ok(Rate::from_mbps(12)));
        assert_eq!("2.64Mbps".parse(), Ok(Rate::from_kbps(2_640)));
        assert_eq!("40 ms".parse(), Ok(Span::from_millis(40)));
        assert_eq!("16.666667 ms".parse(), Ok(Span::from_nanos(16_666_667)));
        assert_eq!("-3us".parse(), Ok(Span::from_micros(-3)));
        assert_eq!("64 kB".parse(), Ok(Bytes::new(64_000)));
        assert_eq!("2 min".parse(), Ok(Time::from_secs(120)));
    }

    #[test]
    fn texts_are_printed_in_the_unit_people_expect() {
        assert_eq!(Rate::from_kbps(18_000).to_string(), "18 Mbit/s");
        assert_eq!(Rate::from_kbps(17_999).to_string(), "17.999 Mbit/s");
        assert_eq!(Rate::ZERO.to_string(), "0 bit/s");
        assert_eq!(Span::from_nanos(16_666_667).to_string(), "16.666667 ms");
        assert_eq!(Span::ZERO.to_string(), "0 s");
        assert_eq!(Bytes::new(1_500).to_string(), "1.5 kB");
        assert_eq!(format!("[{:>8}]", Span::from_millis(40)), "[   40 ms]");
    }

    #[test]
    fn wrong_texts_say_what_to_write() {
        let unit = "12 Mb".parse::<Rate>().expect_err("no such unit");
        assert!(unit.to_string().contains("Mbit/s"), "{unit}");
        let number = "fast".parse::<Rate>().expect_err("no number");
        assert!(number.to_string().contains("12 Mbit/s"), "{number}");
        assert!("40".parse::<Span>().is_err());
        assert!("0.5 ns".parse::<Span>().is_err());
        assert!("-5 Mbit/s".parse::<Rate>().is_err());
        assert!("1.2.3 s".parse::<Span>().is_err());
    }

    #[test]
    fn remote_clocks_differ_by_offset_and_drift_only() {
        let (offset, drift_ppb) = (Span::from_secs(-3_600), 50_000);
        let (a, b) = (Time::from_secs(10), Time::from_secs(30));
        let remote = b.on_clock(offset, drift_ppb) - a.on_clock(offset, drift_ppb);
        assert_eq!(remote, Span::from_secs(20) + Span::from_millis(1));
        let delay = Span::from_millis(20);
        let first = (a + delay).on_clock(offset, 0).offset_from(a);
        let second = (b + delay * 2).on_clock(offset, 0).offset_from(b);
        assert_eq!(second - first, delay);
    }

    #[test]
    #[should_panic(expected = "taken out")]
    fn taking_out_more_than_there_is_panics() {
        let _ = Bytes::new(1) - Bytes::new(2);
    }
}
