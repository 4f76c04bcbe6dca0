//! Is the one-way delay growing? A line through it, against a threshold that
//! moves.

use std::collections::VecDeque;

use super::arrivals::Spacing;
use crate::units::{RemoteTime, Span, count, float};

/// What the delay says of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// The delay stays as it is.
    #[default]
    Normal,
    /// It grows: more is sent than the link carries.
    Over,
    /// It shrinks: a queue empties.
    Under,
}

/// Weight of the past in the smoothed delay. [AlphaRTC]
/// trend-line estimator.
const SMOOTHING: f64 = 0.9;
/// The slope counts at most this many groups' worth. [AlphaRTC] trend-line estimator.
const MOST_GROUPS: u32 = 60;
/// From here on groups are no longer counted. [AlphaRTC] trend-line estimator.
const COUNTED_GROUPS: u32 = 1_000;
/// The slope in units of the threshold. [AlphaRTC] trend-line estimator.
const GAIN: f64 = 4.0;
/// The threshold at first, in ms. [GCC-Draft] §5.4.
const FIRST_THRESHOLD: f64 = 12.5;
/// The least threshold, in ms. [GCC-Draft] §5.4.
const LEAST_THRESHOLD: f64 = 6.0;
/// The largest threshold, in ms. [GCC-Draft] §5.4.
const LARGEST_THRESHOLD: f64 = 600.0;
/// How fast the threshold follows a larger trend, per ms. [AlphaRTC] trend-line
/// estimator; [GCC-Draft] §5.4 has 0.01.
const RISE: f64 = 0.0087;
/// How fast the threshold follows a smaller trend, per ms. [AlphaRTC] trend-line
/// estimator; [GCC-Draft] §5.4 has 0.00018.
const FALL: f64 = 0.039;
/// A trend above the threshold by this much, in ms, leaves it alone.
/// [GCC-Draft] §5.4.
const OUTLIER: f64 = 15.0;
/// The threshold moves for at most this long at a time. [AlphaRTC] trend-line
/// estimator.
const LONGEST_STEP: Span = Span::from_millis(100);
/// The trend must stay above the threshold for longer than this. [GCC-Draft] §5.4.
const OVERUSE_TIME: Span = Span::from_millis(10);

/// The trend of the delay and what follows from it.
#[derive(Clone, Debug)]
pub struct Trend {
    /// Groups on the line.
    window: usize,
    /// When each group arrived, in ms from the first, and the smoothed delay then.
    points: VecDeque<(f64, f64)>,
    groups: u32,
    first: Option<RemoteTime>,
    /// The delay against the first group's, in ms.
    delay: f64,
    smoothed: f64,
    slope: f64,
    /// The slope in units of the threshold.
    trend: f64,
    threshold: f64,
    adapted: Option<RemoteTime>,
    /// Since when the trend has been above the threshold, in the sender's time.
    above: Option<Span>,
    above_groups: u32,
    usage: Usage,
}

impl Trend {
    /// A line through so many groups, at least two.
    #[must_use]
    pub fn new(window: usize) -> Self {
        let window = window.max(2);
        Self {
            window,
            points: VecDeque::with_capacity(window + 1),
            groups: 0,
            first: None,
            delay: 0.0,
            smoothed: 0.0,
            slope: 0.0,
            trend: 0.0,
            threshold: FIRST_THRESHOLD,
            adapted: None,
            above: None,
            above_groups: 0,
            usage: Usage::Normal,
        }
    }

    /// What the delay says.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// The slope of the delay in units of the threshold, ms.
    #[must_use]
    pub const fn trend(&self) -> f64 {
        self.trend
    }

    /// The threshold, ms.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// A group has become whole; `arrived` is the arrival after it.
    pub fn push(&mut self, spacing: Spacing, arrived: RemoteTime) {
        self.groups = (self.groups + 1).min(COUNTED_GROUPS);
        let first = *self.first.get_or_insert(arrived);
        self.delay += (spacing.arrived - spacing.sent).millis_f64();
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.delay;
        self.points
            .push_back(((arrived - first).millis_f64(), self.smoothed));
        if self.points.len() > self.window {
            self.points.pop_front();
        }
        let slope = if self.points.len() == self.window {
            self.fit().unwrap_or(self.slope)
        } else {
            self.slope
        };
        self.detect(slope, spacing.sent, arrived);
    }

    /// The slope of the line through all points, by least squares.
    fn fit(&self) -> Option<f64> {
        let points = float(count(self.points.len()));
        let sum = self
            .points
            .iter()
            .fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let mean = (sum.0 / points, sum.1 / points);
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (x, y) in &self.points {
            covariance += (x - mean.0) * (y - mean.1);
            variance += (x - mean.0) * (x - mean.0);
        }
        (variance > 0.0).then(|| covariance / variance)
    }

    fn detect(&mut self, slope: f64, sent: Span, arrived: RemoteTime) {
        if self.groups < 2 {
            return;
        }
        self.trend = f64::from(self.groups.min(MOST_GROUPS)) * slope * GAIN;
        if self.trend > self.threshold {
            // The first time: half of the time since the group before.
            let above = self.above.map_or(sent / 2, |above| above + sent);
            self.above = Some(above);
            self.above_groups += 1;
            if above > OVERUSE_TIME && self.above_groups > 1 && slope >= self.slope {
                self.above = Some(Span::ZERO);
                self.above_groups = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.above = None;
            self.above_groups = 0;
            self.usage = if self.trend < -self.threshold {
                Usage::Under
            } else {
                Usage::Normal
            };
        }
        self.slope = slope;
        self.adapt(arrived);
    }

    fn adapt(&mut self, arrived: RemoteTime) {
        let since = arrived - self.adapted.unwrap_or(arrived);
        self.adapted = Some(arrived);
        let trend = self.trend.abs();
        if trend > self.threshold + OUTLIER {
            return;
        }
        let gain = if trend < self.threshold { FALL } else { RISE };
        let step = since.clamp(Span::ZERO, LONGEST_STEP).millis_f64();
        let threshold = self.threshold + gain * (trend - self.threshold) * step;
        self.threshold = threshold.clamp(LEAST_THRESHOLD, LARGEST_THRESHOLD);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_slope_is_that_of_a_line_and_the_threshold_is_its_unit() {
        let mut trend = Trend::new(20);
        let at = |nth: u64| RemoteTime::from_nanos(7_000_000_000 + nth * 22_000_000);
        for nth in 0..200 {
            let spacing = Spacing {
                sent: Span::from_millis(20),
                arrived: Span::from_millis(22),
            };
            trend.push(spacing, at(nth));
        }
        // 2 ms more with each group of 22 ms, times 60 groups, times 4.
        let expected = 2.0 / 22.0 * 60.0 * 4.0;
        assert!((trend.trend() - expected).abs() < 0.01, "{}", trend.trend());
        assert_eq!(trend.usage(), Usage::Over);
    }

    #[test]
    fn the_threshold_follows_small_trends_and_not_large_ones() {
        let mut trend = Trend::new(20);
        let at = |nth: u64| RemoteTime::from_nanos(nth * 20_000_000);
        let even = Spacing {
            sent: Span::from_millis(20),
            arrived: Span::from_millis(20),
        };
        for nth in 0..100 {
            trend.push(even, at(nth));
        }
        assert!((trend.threshold() - LEAST_THRESHOLD).abs() < 1e-9);
        let late = Spacing {
            sent: Span::from_millis(20),
            arrived: Span::from_millis(40),
        };
        let mut left_at = None;
        for nth in 100..130 {
            let before = trend.threshold();
            trend.push(late, at(nth));
            if trend.trend() > before + OUTLIER {
                let left_at = left_at.get_or_insert(before);
                assert!((trend.threshold() - *left_at).abs() < 1e-9);
            }
        }
        // On the way there it rose, by 0.0087 · 20 ms · what the trend was above it.
        let left_at = left_at.expect("a large trend");
        assert!((7.0..12.5).contains(&left_at), "{left_at}");
    }

    proptest! {
        #[test]
        fn the_threshold_stays_in_its_range_and_all_is_finite(
            spacings in prop::collection::vec((0i64..2_000_000_000, 0i64..2_000_000_000), 1..200),
        ) {
            let mut trend = Trend::new(20);
            let mut at = RemoteTime::from_nanos(1 << 40);
            for (sent, arrived) in spacings {
                let (sent, arrived) = (Span::from_nanos(sent), Span::from_nanos(arrived));
                at = at + arrived;
                trend.push(Spacing { sent, arrived }, at);
                prop_assert!((LEAST_THRESHOLD..=LARGEST_THRESHOLD).contains(&trend.threshold()));
                prop_assert!(trend.trend().is_finite());
                if trend.usage() == Usage::Under {
                    prop_assert!(trend.trend() < 0.0);
                }
            }
        }
    }
}
