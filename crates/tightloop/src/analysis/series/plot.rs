//! What curves are made of: values by bin, and how they become curves.

use super::Curve;
use crate::analysis::{Samples, Unit, percentile, steps};
use crate::units::{Bytes, Rate, Span, Time, count, float};

/// A sum or a largest value for each bin.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins(Vec<u64>);

impl Bins {
    /// True where nothing was ever added.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(super) fn at(&mut self, bin: usize) -> &mut u64 {
        if bin >= self.0.len() {
            self.0.resize(bin + 1, 0);
        }
        &mut self.0[bin]
    }

    #[inline]
    pub(super) fn add(&mut self, bin: usize, size: Bytes) {
        let sum = self.at(bin);
        *sum = sum.saturating_add(size.get());
    }

    #[inline]
    pub(super) fn most(&mut self, bin: usize, size: Bytes) {
        let most = self.at(bin);
        *most = (*most).max(size.get());
    }
}

/// The last value of each bin; it holds until there is another.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    values: Vec<Option<f64>>,
    now: Option<f64>,
}

impl Held {
    #[inline]
    pub(super) fn set(&mut self, bin: usize, value: Option<f64>) {
        if bin >= self.values.len() {
            self.values.resize(bin + 1, self.now);
        }
        self.values[bin] = value;
        self.now = value;
    }
}

/// Mean, 95th percentile and maximum of each bin's delays, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    bin: usize,
    samples: Samples,
    rows: Vec<Option<[f64; 3]>>,
}

impl Delays {
    #[inline]
    pub(super) fn push(&mut self, bin: usize, delay: Span) {
        if bin > self.bin {
            self.close();
            self.bin = bin;
        }
        self.samples.push(delay);
    }

    fn close(&mut self) {
        if self.samples.is_empty() {
            return;
        }
        let mut delays: Vec<f64> = self.samples.iter().map(|delay| delay.secs_f64()).collect();
        delays.sort_unstable_by(f64::total_cmp);
        let mean = delays.iter().sum::<f64>() / float(count(delays.len()));
        let p95 = percentile(&delays, 0.95).unwrap_or_default();
        self.rows.resize(self.bin, None);
        self.rows.push(Some([mean, p95, delays[delays.len() - 1]]));
        self.samples.clear();
    }
}

pub(super) fn bin_start(bin: usize, length: Span) -> Time {
    Time::ZERO + length * i64::try_from(bin).unwrap_or(i64::MAX)
}

/// Curves in the making, all of one length. Those that say nothing are left out.
pub(super) struct Plot {
    pub(super) bin: Span,
    pub(super) end: Time,
    pub(super) curves: Vec<Curve>,
}

impl Plot {
    pub(super) fn push(
        &mut self,
        name: &str,
        what: &str,
        unit: Unit,
        value: impl Fn(usize) -> Option<f64>,
    ) {
        let bins = steps(self.end.since_epoch(), self.bin);
        let bins = bins + usize::from(bin_start(bins, self.bin) < self.end);
        let values: Vec<Option<f64>> = (0..bins).map(value).collect();
        if values.iter().any(Option::is_some) {
            self.curves.push(Curve {
                key: format!("{name}.{what}"),
                unit,
                bin: self.bin,
                values,
            });
        }
    }

    pub(super) fn rate(&mut self, name: &str, what: &str, bins: &Bins) {
        let (bin, end) = (self.bin, self.end);
        self.push(name, what, Unit::Rate, |place| {
            let start = bin_start(place, bin);
            let length = (end - start).min(bin);
            let bytes = Bytes::new(bins.0.get(place).copied().unwrap_or(0));
            bytes.per(length).map(Rate::bps_f64)
        });
    }

    pub(super) fn plain(&mut self, name: &str, what: &str, unit: Unit, bins: &Bins) {
        if !bins.is_empty() {
            self.push(name, what, unit, |place| {
                Some(float(bins.0.get(place).copied().unwrap_or(0)))
            });
        }
    }

    pub(super) fn held(&mut self, name: &str, what: &str, unit: Unit, held: &Held) {
        let value = |place: usize| held.values.get(place).copied().unwrap_or(held.now);
        self.push(name, what, unit, value);
    }

    pub(super) fn delays(&mut self, name: &str, what: &str, delays: &Delays) {
        let mut delays = delays.clone();
        delays.close();
        for (column, statistic) in ["mean", "p95", "max"].iter().enumerate() {
            let what = format!("{what}.{statistic}");
            self.push(name, &what, Unit::Span, |place| {
                delays
                    .rows
                    .get(place)
                    .copied()
                    .flatten()
                    .map(|row| row[column])
            });
        }
    }
}
