//! The bottleneck's bandwidth: the best delivery rate of the last rounds.

use crate::cc::{DeliveryRate, PathState};
use crate::filter::WindowedMax;
use crate::units::{Bytes, Rate};

/// A windowed maximum over rounds. What an application sent too little to show
/// counts only where it shows more than was known. [BBRv1] §4.1.1.
#[derive(Clone, Debug)]
pub(in crate::cc) struct MaxBandwidth {
    best: WindowedMax<Rate, u64>,
    /// The maximum as of the last sample: time without samples forgets nothing.
    known: Option<Rate>,
    /// Packets sent before this much was delivered were held back by the
    /// controller itself.
    held_until: Option<Bytes>,
}

impl MaxBandwidth {
    /// Over the current round and so many before it.
    pub(in crate::cc) fn new(rounds: u32) -> Self {
        Self {
            best: WindowedMax::new(u64::from(rounds)),
            known: None,
            held_until: None,
        }
    }

    /// Samples of what is in flight now say no more than samples of a sender
    /// that its application limits. [BBRv1] §4.3.5.
    pub(in crate::cc) fn hold(&mut self, path: &PathState) {
        self.held_until = Some(path.delivered + path.in_flight);
    }

    /// A sample, in a round. Tells whether something else than the path limited it.
    pub(in crate::cc) fn on_sample(&mut self, round: u64, sample: &DeliveryRate) -> bool {
        let held = self
            .held_until
            .is_some_and(|until| sample.prior_delivered <= until);
        if !held {
            self.held_until = None;
        }
        let limited = held || sample.app_limited;
        if let Some(rate) = sample.rate().filter(|rate| *rate > Rate::ZERO)
            && (!limited || self.known.is_none_or(|known| rate >= known))
        {
            self.push(round, rate);
        }
        limited
    }

    /// A sample as it is.
    pub(in crate::cc) fn push(&mut self, round: u64, rate: Rate) {
        self.best.push(round, rate);
        self.known = self.best.get(round);
    }

    /// The estimate; `None` before the first sample.
    pub(in crate::cc) const fn get(&self) -> Option<Rate> {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::pipe::MSS;
    use crate::units::Span;

    fn sample(mbps: u64, app_limited: bool, prior: u64) -> DeliveryRate {
        let interval = Span::from_millis(12);
        DeliveryRate {
            delivered: Rate::from_mbps(mbps).over(interval),
            interval,
            app_limited,
            prior_delivered: MSS * prior,
        }
    }

    #[test]
    fn ten_rounds_later_a_rate_is_forgotten_and_not_before() {
        let mut max = MaxBandwidth::new(10);
        assert_eq!(max.get(), None);
        max.on_sample(1, &sample(20, false, 0));
        for round in 2..=11 {
            max.on_sample(round, &sample(5, false, 0));
            assert_eq!(max.get(), Some(Rate::from_mbps(20)), "round {round}");
        }
        max.on_sample(12, &sample(5, false, 0));
        assert_eq!(max.get(), Some(Rate::from_mbps(5)));
    }

    #[test]
    fn what_the_application_limits_can_only_raise_the_estimate() {
        let mut max = MaxBandwidth::new(10);
        max.on_sample(1, &sample(10, false, 0));
        assert!(max.on_sample(40, &sample(5, true, 0)));
        assert_eq!(max.get(), Some(Rate::from_mbps(10)));
        assert!(max.on_sample(41, &sample(12, true, 0)));
        assert_eq!(max.get(), Some(Rate::from_mbps(12)));
    }

    #[test]
    fn packets_it_held_back_itself_count_as_limited_until_they_are_through() {
        let mut max = MaxBandwidth::new(10);
        max.hold(&PathState {
            delivered: MSS * 7,
            in_flight: MSS * 3,
            ..PathState::default()
        });
        assert!(max.on_sample(1, &sample(10, false, 10)));
        assert!(!max.on_sample(2, &sample(10, false, 11)));
        assert!(!max.on_sample(3, &sample(10, false, 5)));
    }
}
