//! The rate that arrives: samples over short windows, weighed by how far they
//! are from what was expected.

use crate::units::{Bytes, Rate, RemoteTime, Span};

/// The window of the first sample. [AlphaRTC] bitrate estimator.
const FIRST_WINDOW: Span = Span::from_millis(500);
/// The window of all others. [AlphaRTC] bitrate estimator.
const WINDOW: Span = Span::from_millis(150);
/// A sample's deviation, in units, when it is as far off as the estimate is
/// large. [AlphaRTC] bitrate estimator.
const UNCERTAINTY: f64 = 10.0;
/// The same for samples below the estimate while the application is the limit.
/// [Str0m] acknowledged rate.
const UNCERTAINTY_WHEN_LIMITED: f64 = 20.0;
/// The estimate's variance at first. [AlphaRTC] bitrate estimator.
const FIRST_VARIANCE: f64 = 50.0;
/// What each sample adds to it, as rates change. [AlphaRTC] bitrate estimator.
const DRIFT: f64 = 5.0;
/// What the end of the application's limit adds to it. [AlphaRTC] bitrate estimator.
const RESTART: f64 = 200.0;
/// What deviations count in. [AlphaRTC] bitrate estimator.
const UNIT: Rate = Rate::from_kbps(1);

/// The acknowledged rate.
#[derive(Clone, Debug)]
pub(super) struct AckedRate {
    last: Option<RemoteTime>,
    /// How much of the window has passed.
    passed: Span,
    arrived: Bytes,
    /// In units.
    estimate: Option<f64>,
    variance: f64,
}

impl Default for AckedRate {
    fn default() -> Self {
        Self {
            last: None,
            passed: Span::ZERO,
            arrived: Bytes::ZERO,
            estimate: None,
            variance: FIRST_VARIANCE,
        }
    }
}

impl AckedRate {
    /// The rate, from the first whole window on.
    #[must_use]
    pub(super) fn rate(&self) -> Option<Rate> {
        self.estimate.map(|estimate| UNIT * estimate)
    }

    /// The rate may be quite another from now on.
    pub(super) fn expect_change(&mut self) {
        self.variance += RESTART;
    }

    /// A packet arrived; `limited` while the application is the limit.
    pub(super) fn push(&mut self, at: RemoteTime, size: Bytes, limited: bool) {
        let window = match self.estimate {
            None => FIRST_WINDOW,
            Some(_) => WINDOW,
        };
        if self.last.is_some_and(|last| at < last) {
            self.last = None;
            self.passed = Span::ZERO;
            self.arrived = Bytes::ZERO;
        }
        if let Some(last) = self.last {
            let gap = at - last;
            self.passed += gap;
            if gap > window {
                self.arrived = Bytes::ZERO;
                self.passed = Span::from_nanos(self.passed.as_nanos() % window.as_nanos());
            }
        }
        self.last = Some(at);
        if self.passed >= window {
            let sample = self.arrived.per(window).unwrap_or(Rate::ZERO);
            self.passed -= window;
            self.arrived = Bytes::ZERO;
            self.learn(sample.ratio(UNIT), limited);
        }
        self.arrived += size;
    }

    fn learn(&mut self, sample: f64, limited: bool) {
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        let scale = if limited && sample < estimate {
            UNCERTAINTY_WHEN_LIMITED
        } else {
            UNCERTAINTY
        };
        let deviation = if estimate > 0.0 {
            scale * (estimate - sample).abs() / estimate
        } else {
            0.0
        };
        let sample_variance = deviation * deviation;
        let variance = self.variance + DRIFT;
        let sum = sample_variance + variance;
        self.estimate = Some((sample_variance * estimate + variance * sample) / sum);
        self.variance = sample_variance * variance / sum;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> RemoteTime {
        RemoteTime::from_nanos(5_000_000_000 + millis * 1_000_000)
    }

    #[test]
    fn the_first_sample_takes_half_a_second_and_is_believed() {
        let mut acked = AckedRate::default();
        for tick in 0..50 {
            acked.push(at(tick * 10), Bytes::new(1_000), false);
        }
        assert_eq!(acked.rate(), None);
        acked.push(at(500), Bytes::new(1_000), false);
        assert_eq!(acked.rate(), Some(Rate::from_kbps(800)));
    }

    #[test]
    fn the_farther_off_a_sample_the_less_it_counts() {
        let mut acked = AckedRate::default();
        for tick in 0..=50 {
            acked.push(at(tick * 10), Bytes::new(1_000), false);
        }
        let mut limited = acked.clone();
        for tick in 51..=66 {
            acked.push(at(tick * 10), Bytes::new(500), false);
            limited.push(at(tick * 10), Bytes::new(500), true);
        }
        // 150 ms at 400 kbit/s, but for the first packet: 426.7. Variances 4.67² and 55.
        let expect = |deviation: f64| {
            let variance = deviation * deviation;
            let kbps = (variance * 800.0 + 55.0 * 426.67) / (variance + 55.0);
            Rate::from_kbps(1) * kbps
        };
        for (acked, deviation) in [(acked, 4.6667), (limited, 9.3333)] {
            let (rate, expected) = (acked.rate().expect("a rate"), expect(deviation));
            assert!(
                (rate.ratio(expected) - 1.0).abs() < 1e-3,
                "{rate} {expected}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_estimate_lies_between_its_samples(
            packets in prop::collection::vec((0u64..400_000_000, 1u64..1_500), 1..300),
        ) {
            let mut acked = AckedRate::default();
            let mut at = RemoteTime::from_nanos(1 << 40);
            let total: u64 = packets.iter().map(|(_, size)| size).sum();
            for (gap, size) in packets {
                at = at + Span::from_nanos(i64::try_from(gap).expect("short"));
                acked.push(at, Bytes::new(size), false);
                let most = Bytes::new(total).per(WINDOW).expect("a rate");
                prop_assert!(acked.rate().is_none_or(|rate| rate <= most));
            }
        }
    }
}
