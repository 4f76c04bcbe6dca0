//! An axis: what it reaches over, and its ticks.

use crate::report::ticks::{linear_ticks, log_ticks};

/// Room beyond what data reach, as a share of them.
const ROOM: f64 = 0.04;

/// An axis: quantity and unit, and at least what it reaches over. What lies
/// beyond makes it longer.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(super) label: String,
    pub(super) low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    pub(crate) fn new(label: &str, low: f64, high: f64) -> Self {
        Self {
            label: label.to_owned(),
            low,
            high,
            log: false,
        }
    }

    /// Logarithmic; its low end must be above zero.
    pub(crate) fn log(label: &str, low: f64, high: f64) -> Self {
        Self {
            log: true,
            ..Self::new(label, low, high)
        }
    }

    /// Lengthened to reach over all of these.
    pub(super) fn over(&self, values: impl Iterator<Item = f64>) -> Self {
        let mut axis = self.clone();
        for value in values.filter(|value| value.is_finite()) {
            if axis.log && value <= 0.0 {
                continue;
            }
            axis.low = axis.low.min(value);
            axis.high = axis.high.max(value);
        }
        if axis.log {
            return axis;
        }
        let room = ROOM * (axis.high - axis.low);
        if axis.high > self.high {
            axis.high += room;
        }
        if axis.low < self.low {
            axis.low -= room;
        }
        axis
    }

    /// Where a value is, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    pub(super) fn ticks(&self, count: f64) -> Vec<f64> {
        if self.log {
            return log_ticks(self.low, self.high);
        }
        let length = self.high - self.low;
        let farthest = self.high.max(-self.low);
        let upward = linear_ticks(farthest, count * farthest / length);
        let both = upward
            .iter()
            .rev()
            .map(|tick| 0.0 - tick)
            .chain(upward.clone());
        let slack = length * 1e-9;
        let inside = self.low - slack..=self.high + slack;
        let mut ticks: Vec<f64> = both.filter(|tick| inside.contains(tick)).collect();
        ticks.dedup_by(|a, b| (*a - *b).abs() < slack);
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_reach_over_what_is_drawn_and_their_ticks_are_round() {
        let axis = Axis::new("x", 0.5, 1.0);
        assert_eq!(axis.ticks(5.0), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(axis.over([0.7, f64::INFINITY].into_iter()).high, 1.0);
        let longer = axis.over([2.5].into_iter());
        assert!((longer.high - 2.58).abs() < 1e-9 && longer.low == 0.5);
        let signed = Axis::new("x", -1.0, 1.0);
        assert_eq!(signed.ticks(4.0), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let log = Axis::log("x", 10.0, 200.0);
        assert_eq!(log.ticks(5.0), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert!((log.place(20.0) - 0.2313).abs() < 1e-3);
    }
}
