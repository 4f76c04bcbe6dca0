//! α: the part of the controller's rate that frames may use so that all but
//! the largest of them leave in time.

use std::collections::VecDeque;

use crate::cc::SettingError;
use crate::filter::Ewma;
use crate::units::{Span, Time, count, float, index, round};

/// What α is chosen by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// P, what the quantile of service times should be.
    pub limit: Span,
    /// λ, which quantile.
    pub quantile: f64,
    /// D, how long a frame is remembered.
    pub memory: Span,
    /// The least α.
    pub least: f64,
    /// The weight of a new α in a moving average; none for α itself.
    pub smoothing: Option<f64>,
}

impl Rule {
    /// Refuses numbers that make no sense.
    ///
    /// # Errors
    ///
    /// Times that are not positive and shares outside (0, 1].
    pub fn check(&self) -> Result<(), SettingError> {
        let (limit, memory) = (self.limit, self.memory);
        SettingError::unless(limit.is_positive() && memory.is_positive(), || {
            format!("the limit of {limit} and the memory of {memory} must be above 0 s")
        })?;
        let shares = [
            ("quantile", Some(self.quantile)),
            ("least_share", Some(self.least)),
            ("smoothing", self.smoothing),
        ];
        for (name, share) in shares {
            let share = share.unwrap_or(1.0);
            SettingError::unless(share > 0.0 && share <= 1.0, || {
                format!("{name} = {share} is no share; use a number above 0, at most 1")
            })?;
        }
        Ok(())
    }
}

/// The frames of the last while, and the α they lead to.
#[derive(Clone, Debug)]
pub struct Share {
    rule: Rule,
    /// When each frame was done, and its time at α = 1, in seconds.
    frames: VecDeque<(Time, f64)>,
    /// Room for sorting.
    sorted: Vec<f64>,
    smoothed: Option<Ewma>,
    alpha: f64,
}

impl Share {
    /// Without frames α is one.
    #[must_use]
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            frames: VecDeque::new(),
            sorted: Vec::new(),
            smoothed: rule.smoothing.map(Ewma::new),
            alpha: 1.0,
        }
    }

    /// A frame took `time`; with all of the rate it would have been
    /// `at_full_rate` times as large. [Vidaptive] eq. 3.
    pub fn push(&mut self, now: Time, time: Span, at_full_rate: f64) {
        self.frames.push_back((now, time.secs_f64() * at_full_rate));
    }

    /// Chooses α anew: P over the quantile, at most one.
    pub fn choose(&mut self, now: Time) -> f64 {
        let old = |&mut (at, _): &mut (Time, f64)| now - at > self.rule.memory;
        while self.frames.pop_front_if(old).is_some() {}
        self.sorted.clear();
        self.sorted
            .extend(self.frames.iter().map(|(_, time)| *time));
        self.sorted.sort_unstable_by(f64::total_cmp);
        let alpha = match quantile(&self.sorted, self.rule.quantile) {
            Some(time) if time > 0.0 => self.rule.limit.secs_f64() / time,
            _ => 1.0,
        };
        let alpha = alpha.clamp(self.rule.least, 1.0);
        self.alpha = self
            .smoothed
            .as_mut()
            .map_or(alpha, |mean| mean.push(alpha));
        self.alpha
    }

    /// α as it was chosen last.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// P.
    #[must_use]
    pub const fn limit(&self) -> Span {
        self.rule.limit
    }
}

/// A quantile of sorted values, interpolated linearly between the two nearest;
/// `None` of none.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = count(sorted.len().checked_sub(1)?);
    let place = share.clamp(0.0, 1.0) * float(last);
    let below = round(libm::floor(place)).min(last);
    let (low, high) = (sorted[index(below)], sorted[index((below + 1).min(last))]);
    Some(low + (high - low) * (place - float(below)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const P: Span = Span::from_millis(33);

    fn share() -> Share {
        Share::new(Rule {
            limit: P,
            quantile: 0.9,
            memory: Span::from_secs(1),
            least: 0.05,
            smoothing: None,
        })
    }

    #[track_caller]
    fn assert_near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9, "{got}, expected {want}");
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        assert_eq!(quantile(&[], 0.9), None);
        let eleven: Vec<f64> = (0..=10).map(float).collect();
        for (share, want) in [
            (0.0, 0.0),
            (0.25, 2.5),
            (0.9, 9.0),
            (0.95, 9.5),
            (1.0, 10.0),
        ] {
            assert_near(quantile(&eleven, share).expect("some"), want);
        }
        assert_near(quantile(&[7.0], 0.3).expect("some"), 7.0);
    }

    #[test]
    fn a_frame_that_took_too_long_at_half_the_rate_would_have_taken_twice_that() {
        let mut share = share();
        share.push(Time::ZERO, Span::from_millis(22), 2.0);
        assert_near(share.choose(Time::ZERO), 0.75);
        // Fast enough is fast enough.
        share = self::share();
        share.push(Time::ZERO, Span::from_millis(16), 2.0);
        assert_near(share.choose(Time::ZERO), 1.0);
    }

    #[test]
    fn frames_are_forgotten_after_a_while_and_alpha_has_a_least_value() {
        let mut share = share();
        assert_near(share.choose(Time::ZERO), 1.0);
        share.push(Time::ZERO, Span::from_secs(9), 1.0);
        assert_near(share.choose(Time::from_millis(1_000)), 0.05);
        assert_near(share.choose(Time::from_millis(1_001)), 1.0);
        assert_near(share.alpha(), 1.0);
    }

    #[test]
    fn a_moving_average_is_an_option() {
        let mut share = Share::new(Rule {
            smoothing: Some(0.25),
            ..share().rule
        });
        assert_near(share.choose(Time::ZERO), 1.0);
        share.push(Time::ZERO, Span::from_millis(66), 1.0);
        assert_near(share.choose(Time::ZERO), 0.875);
    }

    proptest! {
        /// [Vidaptive] Fig. 5: with the α that was chosen, the quantile of the
        /// service times is P exactly.
        #[test]
        fn the_quantile_of_the_times_that_alpha_makes_is_the_limit(
            frames in prop::collection::vec((1i64..400_000, 0.05f64..1.0), 1..60),
            quantile in 0.0f64..=1.0,
        ) {
            let mut share = share();
            share.rule.quantile = quantile;
            share.rule.least = 0.0;
            let mut full: Vec<f64> = vec![];
            for (micros, alpha) in frames {
                let time = Span::from_micros(micros);
                share.push(Time::ZERO, time, 1.0 / alpha);
                full.push(time.secs_f64() / alpha);
            }
            let alpha = share.choose(Time::ZERO);
            let mut made: Vec<f64> = full.iter().map(|time| time * alpha).collect();
            made.sort_unstable_by(f64::total_cmp);
            let at = super::quantile(&made, quantile).expect("frames");
            if alpha < 1.0 {
                prop_assert!((at / P.secs_f64() - 1.0).abs() < 1e-9, "{at}");
            } else {
                prop_assert!(at <= P.secs_f64() * (1.0 + 1e-9), "{at}");
            }
        }
    }
}
