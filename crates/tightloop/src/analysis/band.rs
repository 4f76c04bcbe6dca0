//! Values of metrics, and bands they should lie in.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::units::{Bytes, Rate, Span, count, float, index, round};

/// What a metric is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bits per second.
    Rate,
    /// A length of time.
    Span,
    /// Bytes.
    Bytes,
    /// A whole number of things.
    Count,
    /// A plain number, often a share of one.
    Number,
    /// Frames per second.
    Frames,
}

impl Unit {
    /// What the plain numbers of [`Value::number`] are in.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Span => "s",
            Self::Bytes => "B",
            Self::Count | Self::Number => "1",
            Self::Frames => "fps",
        }
    }

    /// A text that is a value in this unit.
    const fn example(self) -> &'static str {
        match self {
            Self::Rate => "17.6 Mbit/s",
            Self::Span => "40 ms",
            Self::Bytes => "64 kB",
            Self::Count => "12",
            Self::Number => "0.97` or `97 %",
            Self::Frames => "60 fps",
        }
    }
}

/// What a metric says.
///
/// Printed, it has four digits; with `{:#}` it is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A rate.
    Rate(Rate),
    /// A length of time.
    Span(Span),
    /// A size.
    Bytes(Bytes),
    /// A whole number of things.
    Count(u64),
    /// A plain number.
    Number(f64),
    /// Frames per second.
    Frames(f64),
    /// There was nothing to measure.
    Nothing,
}

impl Value {
    /// As a plain number in bits per second, seconds, bytes or one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Rate(rate) => Some(rate.bps_f64()),
            Self::Span(span) => Some(span.secs_f64()),
            Self::Bytes(bytes) => Some(bytes.get_f64()),
            Self::Count(count) => Some(float(*count)),
            Self::Number(number) | Self::Frames(number) => Some(*number),
            Self::Nothing => None,
        }
    }

    /// Reads a value in a unit.
    ///
    /// # Errors
    ///
    /// A text that is no such value.
    pub fn parse(unit: Unit, text: &str) -> Result<Self, BandError> {
        let wrong = |reason: String| BandError::Value {
            text: text.into(),
            reason,
        };
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(wrong(format!("write for example `{}`", unit.example()))),
        };
        match unit {
            Unit::Rate => text
                .parse()
                .map(Self::Rate)
                .map_err(|e| wrong(e.to_string())),
            Unit::Span => text
                .parse()
                .map(Self::Span)
                .map_err(|e| wrong(e.to_string())),
            Unit::Bytes => text
                .parse()
                .map(Self::Bytes)
                .map_err(|e| wrong(e.to_string())),
            Unit::Count => {
                let whole = number(text)?;
                let counted = round(whole);
                if (whole - float(counted)).abs() > 0.0 {
                    return Err(wrong("a whole number of things is wanted".into()));
                }
                Ok(Self::Count(counted))
            }
            Unit::Number => match text.trim().strip_suffix('%') {
                Some(percent) => Ok(Self::Number(number(percent)? / 100.0)),
                None => Ok(Self::Number(number(text)?)),
            },
            Unit::Frames => {
                let plain = text.trim().strip_suffix("fps").unwrap_or(text);
                Ok(Self::Frames(number(plain)?))
            }
        }
    }
}

/// A whole number with all but its first four digits rounded away.
fn four_digits(value: u64) -> u64 {
    let step = 10u64.pow(value.checked_ilog10().unwrap_or(0).saturating_sub(3));
    let below = value - value % step;
    let up = value % step >= step.div_ceil(2) && step > 1;
    below.saturating_add(if up { step } else { 0 })
}

/// A number with four digits that matter, without zeros at the end.
fn number(f: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    let magnitude = libm::floor(libm::log10(value.abs().max(1e-12)));
    let decimals = index(round((3.0 - magnitude).clamp(0.0, 9.0)));
    let text = if f.alternate() {
        value.to_string()
    } else {
        format!("{value:.decimals$}")
    };
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    f.pad(&format!("{text}{unit}"))
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = f.alternate();
        let rounded = |value| if exact { value } else { four_digits(value) };
        match self {
            Self::Rate(rate) => Rate::from_bps(rounded(rate.as_bps())).fmt(f),
            Self::Bytes(bytes) => Bytes::new(rounded(bytes.get())).fmt(f),
            Self::Span(span) => {
                let nanos = rounded(span.as_nanos().unsigned_abs());
                let span_of = i64::try_from(nanos).unwrap_or(i64::MAX);
                let sign = if span.as_nanos() < 0 { -1 } else { 1 };
                (Span::from_nanos(span_of) * sign).fmt(f)
            }
            Self::Count(count) => f.pad(&count.to_string()),
            Self::Number(value) => number(f, *value, ""),
            Self::Frames(value) => number(f, *value, " fps"),
            Self::Nothing => f.pad("–"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rate(rate) => rate.serialize(serializer),
            Self::Span(span) => span.serialize(serializer),
            Self::Bytes(bytes) => bytes.serialize(serializer),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(value) | Self::Frames(value) => serializer.serialize_f64(*value),
            Self::Nothing => serializer.serialize_none(),
        }
    }
}

impl From<Option<Rate>> for Value {
    fn from(rate: Option<Rate>) -> Self {
        rate.map_or(Self::Nothing, Self::Rate)
    }
}

impl From<Option<Span>> for Value {
    fn from(span: Option<Span>) -> Self {
        span.map_or(Self::Nothing, Self::Span)
    }
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

impl From<usize> for Value {
    fn from(things: usize) -> Self {
        Self::Count(count(things))
    }
}

/// Two values of one unit that a metric should lie between, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    low: Value,
    high: Value,
}

impl Band {
    /// Reads a band such as `["17.6 Mbit/s", "18.4 Mbit/s"]`.
    ///
    /// # Errors
    ///
    /// Texts that are no values in this unit, and a lower end above the upper one.
    pub fn parse(unit: Unit, low: &str, high: &str) -> Result<Self, BandError> {
        let band = Self {
            low: Value::parse(unit, low)?,
            high: Value::parse(unit, high)?,
        };
        if band.low.number() > band.high.number() {
            return Err(BandError::Order {
                low: low.into(),
                high: high.into(),
            });
        }
        Ok(band)
    }

    /// Whether a value lies in the band. Nothing lies in no band.
    #[must_use]
    pub fn contains(&self, value: &Value) -> bool {
        match (self.low.number(), value.number(), self.high.number()) {
            (Some(low), Some(value), Some(high)) => low <= value && value <= high,
            _ => false,
        }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#} … {:#}", self.low, self.high)
    }
}

/// Why a pair of texts is no band.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BandError {
    /// One of the texts is no value in the metric's unit.
    #[error("`{text}` is no value of this metric: {reason}")]
    Value {
        /// The text.
        text: String,
        /// Why, and what would do.
        reason: String,
    },
    /// The lower end is above the upper one.
    #[error("the band from `{low}` to `{high}` is empty; write the smaller value first")]
    Order {
        /// The lower end.
        low: String,
        /// The upper end.
        high: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_the_unit_of_the_metric() {
        let read = |unit, text| Value::parse(unit, text).expect("a value");
        assert_eq!(
            read(Unit::Rate, "17.6 Mbit/s"),
            Value::Rate(Rate::from_kbps(17_600))
        );
        assert_eq!(
            read(Unit::Span, "26.5 ms"),
            Value::Span(Span::from_micros(26_500))
        );
        assert_eq!(read(Unit::Bytes, "64 kB"), Value::Bytes(Bytes::new(64_000)));
        assert_eq!(read(Unit::Count, "12"), Value::Count(12));
        assert_eq!(read(Unit::Number, "0.97"), Value::Number(0.97));
        assert_eq!(read(Unit::Number, "97 %"), Value::Number(0.97));
        assert_eq!(read(Unit::Frames, "59.9 fps"), Value::Frames(59.9));
    }

    #[test]
    fn wrong_bands_say_what_to_write() {
        let refused = |unit, low, high| {
            let error = Band::parse(unit, low, high).expect_err("refused");
            error.to_string()
        };
        assert!(refused(Unit::Rate, "0.9", "1").contains("12 Mbit/s"));
        assert!(refused(Unit::Number, "fast", "1").contains("97 %"));
        assert!(refused(Unit::Number, "NaN", "1").contains("97 %"));
        assert!(refused(Unit::Count, "1.5", "2").contains("whole"));
        assert!(refused(Unit::Count, "-1", "2").contains("whole"));
        assert!(refused(Unit::Span, "3 ms", "2 ms").contains("smaller value first"));
    }

    #[test]
    fn a_band_holds_its_ends_and_nothing_holds_nothing() {
        let band = Band::parse(Unit::Rate, "17.6 Mbit/s", "18.4 Mbit/s").expect("a band");
        let contains = |kbps| band.contains(&Value::Rate(Rate::from_kbps(kbps)));
        assert!(contains(17_600) && contains(18_000) && contains(18_400));
        assert!(!contains(17_599) && !contains(18_401));
        assert!(!band.contains(&Value::Nothing));
        assert_eq!(band.to_string(), "17.6 Mbit/s … 18.4 Mbit/s");
    }

    #[test]
    fn values_are_printed_with_four_digits_or_exactly() {
        let rate = Value::Rate(Rate::from_bps(17_986_543));
        assert_eq!(format!("{rate} {rate:#}"), "17.99 Mbit/s 17.986543 Mbit/s");
        let span = Value::Span(Span::from_nanos(-26_504_999));
        assert_eq!(format!("{span} {span:#}"), "-26.5 ms -26.504999 ms");
        let share = Value::Number(2.0 / 3.0);
        assert_eq!(share.to_string(), "0.6667");
        assert_eq!(Value::Number(12_345.678).to_string(), "12346");
        assert_eq!(Value::Number(0.0).to_string(), "0");
        assert_eq!(Value::Frames(59.94).to_string(), "59.94 fps");
        assert_eq!(Value::Count(1_234_567).to_string(), "1234567");
        assert_eq!(format!("{:>3}", Value::Nothing), "  –");
        assert_eq!(four_digits(99_995), 100_000);
        assert_eq!(four_digits(99_994), 99_990);
        assert_eq!(four_digits(1_234), 1_234);
    }
}
