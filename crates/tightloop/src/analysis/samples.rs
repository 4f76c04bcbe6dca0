//! Values and how they spread.

use serde::Serialize;

use crate::units::{Rate, Span, count, float, index};

/// The value below which a share `p` of sorted values lies.
///
/// The one definition used everywhere, and numpy's default: the share is a
/// place `p (n − 1)` among `n` values counted from zero, and between two values
/// one interpolates linearly. `None` where there are no values.
#[must_use]
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    percentile_by(sorted.len(), |place| sorted[place], p)
}

/// [`percentile`] of `len` values of which `value` gives the sorted ones.
fn percentile_by(len: usize, value: impl Fn(usize) -> f64, p: f64) -> Option<f64> {
    let last = len.checked_sub(1)?;
    let place = p.clamp(0.0, 1.0) * float(count(last));
    let below = libm::floor(place);
    // A float below `len` is exact as an index.
    let lower = index(crate::units::round(below)).min(last);
    let upper = (lower + 1).min(last);
    Some(value(lower) + (value(upper) - value(lower)) * (place - below))
}

/// How values spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread<T> {
    /// How many values there are.
    pub count: u64,
    /// Their mean.
    pub mean: T,
    /// The smallest.
    pub min: T,
    /// The 10th percentile.
    pub p10: T,
    /// The 25th percentile.
    pub p25: T,
    /// The median.
    pub p50: T,
    /// The 75th percentile.
    pub p75: T,
    /// The 90th percentile.
    pub p90: T,
    /// The 95th percentile.
    pub p95: T,
    /// The 99th percentile.
    pub p99: T,
    /// The largest.
    pub max: T,
}

/// A quantity that a [`Spread`] can be made of.
pub trait Quantity: Copy {
    /// From the smallest unit.
    fn from_float(value: f64) -> Self;
}

impl Quantity for Span {
    fn from_float(nanos: f64) -> Self {
        // Scaling a span rounds to the nanosecond.
        Self::from_nanos(1) * nanos
    }
}

impl Quantity for Rate {
    fn from_float(bps: f64) -> Self {
        Self::from_bps_f64(bps)
    }
}

impl Quantity for f64 {
    fn from_float(value: f64) -> Self {
        value
    }
}

impl<T: Quantity> Spread<T> {
    /// Of plain values in the quantity's smallest unit, in any order.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        Self::by(values.len(), |place| values[place])
    }

    fn by(len: usize, value: impl Fn(usize) -> f64) -> Option<Self> {
        let last = len.checked_sub(1)?;
        let at = |p| percentile_by(len, &value, p).map(T::from_float);
        let sum: f64 = (0..len).map(&value).sum();
        Some(Self {
            count: count(len),
            mean: T::from_float(sum / float(count(len))),
            min: T::from_float(value(0)),
            p10: at(0.10)?,
            p25: at(0.25)?,
            p50: at(0.50)?,
            p75: at(0.75)?,
            p90: at(0.90)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            max: T::from_float(value(last)),
        })
    }
}

/// Every value of a span that was measured: exact, at four bytes a value.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Values below 2^32 ns, that is 4.3 s.
    short: Vec<u32>,
    /// All others. Each is larger than every short one, so the two lists, each
    /// sorted, make one sorted list.
    long: Vec<u64>,
}

impl Samples {
    /// Adds a value; what is below zero counts as zero.
    pub fn push(&mut self, span: Span) {
        match u32::try_from(span.as_nanos()) {
            Ok(nanos) => self.short.push(nanos),
            Err(_) => self.push_long(span),
        }
    }

    #[cold]
    fn push_long(&mut self, span: Span) {
        match u64::try_from(span.as_nanos()) {
            Ok(nanos) => self.long.push(nanos),
            Err(_) => self.short.push(0),
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    /// True where there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds all values of another, each shortened by `less`.
    pub fn append(&mut self, other: &Self, less: Span) {
        if less == Span::ZERO {
            self.short.extend_from_slice(&other.short);
            self.long.extend_from_slice(&other.long);
            return;
        }
        for span in other.iter() {
            self.push(span - less);
        }
    }

    /// Forgets all values but keeps the memory.
    pub fn clear(&mut self) {
        self.short.clear();
        self.long.clear();
    }

    /// The values, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = Span> {
        let long = self.long.iter().map(|nanos| i64::try_from(*nanos));
        let short = self.short.iter().map(|nanos| i64::from(*nanos));
        let long = long.map(|nanos| nanos.unwrap_or(i64::MAX));
        short.chain(long).map(Span::from_nanos)
    }

    /// How they spread; nothing where there are none.
    pub fn spread(&mut self) -> Option<Spread<Span>> {
        let split = self.short.len();
        self.short.sort_unstable();
        self.long.sort_unstable();
        Spread::by(self.len(), |place| match self.short.get(place) {
            Some(nanos) => f64::from(*nanos),
            None => float(self.long[place - split]),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values that numpy's `percentile` gives for this list.
    #[test]
    fn percentiles_interpolate_linearly_as_numpy_does() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        let cases = [
            (0.0, 15.0),
            (0.4, 29.0),
            (0.5, 35.0),
            (0.95, 48.0),
            (1.0, 50.0),
        ];
        for (p, expected) in cases {
            let found = percentile(&values, p).expect("there are values");
            assert!((found - expected).abs() < 1e-9, "{p}: {found}");
        }
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn spread_of_one_to_a_hundred_milliseconds() {
        let mut samples = Samples::default();
        for ms in (1..=100).rev() {
            samples.push(Span::from_millis(ms));
        }
        let spread = samples.spread().expect("there are values");
        assert_eq!(spread.count, 100);
        assert_eq!(spread.mean, Span::from_micros(50_500));
        assert_eq!(spread.p50, Span::from_micros(50_500));
        assert_eq!(spread.p95, Span::from_micros(95_050));
        assert_eq!(spread.p99, Span::from_micros(99_010));
        assert_eq!(
            (spread.min, spread.max),
            (Span::from_millis(1), Span::from_millis(100))
        );
    }

    proptest! {
        /// Long and short values, appended and shortened, are one sorted list.
        #[test]
        fn samples_agree_with_a_sorted_list(
            nanos in proptest::collection::vec(-5i64..20_000_000_000, 1..200),
            split in 0usize..200,
            less in 0i64..5_000_000_000,
        ) {
            let (first, second) = nanos.split_at(split.min(nanos.len()));
            let mut samples = Samples::default();
            first.iter().for_each(|nanos| samples.push(Span::from_nanos(*nanos)));
            let mut other = Samples::default();
            second.iter().for_each(|nanos| other.push(Span::from_nanos(*nanos)));
            samples.append(&other, Span::from_nanos(less));
            let kept = |nanos: &i64| (*nanos).max(0);
            let mut list: Vec<i64> = first.iter().map(kept).collect();
            list.extend(second.iter().map(|nanos| (kept(nanos) - less).max(0)));
            list.sort_unstable();
            let spread = samples.spread().expect("there are values");
            prop_assert_eq!(count(list.len()), spread.count);
            prop_assert_eq!(Some(&spread.min.as_nanos()), list.first());
            prop_assert_eq!(Some(&spread.max.as_nanos()), list.last());
            let place = libm::floor(0.9 * float(count(list.len() - 1)));
            let lower = index(crate::units::round(place));
            let upper = (lower + 1).min(list.len() - 1);
            prop_assert!(list[lower] <= spread.p90.as_nanos() + 1);
            prop_assert!(spread.p90.as_nanos() <= list[upper] + 1);
        }
    }
}
