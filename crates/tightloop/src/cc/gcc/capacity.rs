//! What the link carried when it was last too little, and how sure that is.

use crate::units::Rate;

/// Weight of a sample taken at an overuse. [AlphaRTC] link capacity estimator.
const GAIN: f64 = 0.05;
/// The variance at first, in units of the estimate (kbit/s). [AlphaRTC] link
/// capacity estimator.
const FIRST_VARIANCE: f64 = 0.4;
/// The least variance. [AlphaRTC] link capacity estimator: 14 kbit/s at 500.
const LEAST_VARIANCE: f64 = 0.4;
/// The largest variance. [AlphaRTC] link capacity estimator: 35 kbit/s at 500.
const LARGEST_VARIANCE: f64 = 2.5;
/// Rates within so many deviations are the same. [AlphaRTC] link capacity estimator.
const DEVIATIONS: f64 = 3.0;
/// What the variance counts in. [AlphaRTC] link capacity estimator.
const UNIT: Rate = Rate::from_kbps(1);

/// The estimate of the link's capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacity {
    /// In units.
    estimate: Option<f64>,
    variance: f64,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            estimate: None,
            variance: FIRST_VARIANCE,
        }
    }
}

impl Capacity {
    /// The estimate, if there is one.
    #[must_use]
    pub(super) fn estimate(&self) -> Option<Rate> {
        self.estimate.map(|estimate| UNIT * estimate)
    }

    /// So much arrived when the link was overused.
    pub(super) fn overused_at(&mut self, rate: Rate) {
        let sample = rate.ratio(UNIT);
        let estimate = self
            .estimate
            .map_or(sample, |old| old + GAIN * (sample - old));
        let error = estimate - sample;
        let seen = error * error / estimate.max(1.0);
        self.variance += GAIN * (seen - self.variance);
        self.variance = self.variance.clamp(LEAST_VARIANCE, LARGEST_VARIANCE);
        self.estimate = Some(estimate);
    }

    /// Forgets the estimate, not its variance.
    pub(super) fn forget(&mut self) {
        self.estimate = None;
    }

    /// A rate that the estimate does not explain, being too high.
    #[must_use]
    pub(super) fn is_below(&self, rate: Rate) -> bool {
        self.bound(DEVIATIONS).is_some_and(|bound| rate > bound)
    }

    /// A rate that the estimate does not explain, being too low.
    #[must_use]
    pub(super) fn is_above(&self, rate: Rate) -> bool {
        self.bound(-DEVIATIONS).is_some_and(|bound| rate < bound)
    }

    fn bound(&self, deviations: f64) -> Option<Rate> {
        let estimate = self.estimate?;
        let deviation = libm::sqrt(self.variance * estimate);
        Some(UNIT * (estimate + deviations * deviation).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_within_three_deviations_are_the_same() {
        let mut capacity = Capacity::default();
        assert!(!capacity.is_below(Rate::MAX) && !capacity.is_above(Rate::ZERO));
        capacity.overused_at(Rate::from_kbps(500));
        assert_eq!(capacity.estimate(), Some(Rate::from_kbps(500)));
        // √(0.4 · 500) = 14.1, three times.
        assert!(!capacity.is_below(Rate::from_kbps(542)));
        assert!(capacity.is_below(Rate::from_kbps(543)));
        assert!(!capacity.is_above(Rate::from_kbps(458)));
        assert!(capacity.is_above(Rate::from_kbps(457)));
        capacity.forget();
        assert_eq!(capacity.estimate(), None);
    }

    #[test]
    fn samples_move_it_by_a_twentieth() {
        let mut capacity = Capacity::default();
        capacity.overused_at(Rate::from_kbps(500));
        capacity.overused_at(Rate::from_kbps(600));
        assert_eq!(capacity.estimate(), Some(Rate::from_kbps(505)));
    }
}
