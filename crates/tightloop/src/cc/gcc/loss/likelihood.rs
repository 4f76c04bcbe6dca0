//! A link that loses a share of everything, and all above its bandwidth:
//! which such link is the likeliest?

use super::fit::Belief;
use super::observed::Observations;
use super::{Beside, Results};
use crate::units::{Rate, Span, Time};

/// The share lost whatever the rate, at first. [Str0m] loss controller.
const FIRST_INHERENT: f64 = 0.01;
/// Bandwidths tried, in times the one believed. [Str0m] loss controller.
const TRIED: [f64; 3] = [1.02, 1.0, 0.95];
/// Below this loss nothing is bounded at once. [Str0m] loss controller.
const BOUND_OFFSET: f64 = 0.05;
/// Above it this rate over the excess is the bound. [Str0m] loss controller.
const BOUND_BALANCE: Rate = Rate::from_kbps(100);
/// Growth within [`WINDOW`] after a loss, as a factor. [Str0m] loss controller.
const GROWTH: f64 = 1.3;
/// How long that growth takes at least. [Str0m] loss controller.
const WINDOW: Span = Span::from_millis(300);
/// While losses limit, the rate is at most so many times what arrives.
/// [Str0m] loss controller.
const MOST_OF_ACKED: f64 = 1.5;
/// And only so many while little more arrives than when losses began.
/// [Str0m] loss controller.
const MOST_OF_ACKED_HELD: f64 = 1.2;
/// What is little more, as a factor. [Str0m] loss controller.
const LITTLE_MORE: f64 = 1.3;
/// How long the rate is held after the first cut. [Str0m] loss controller.
const FIRST_HOLD: Span = Span::from_millis(300);
/// Each hold is so many times as long as the one before. [Str0m] loss controller.
const HOLD_GROWTH: i64 = 2;
/// The longest hold. [Str0m] loss controller.
const LONGEST_HOLD: Span = Span::from_secs(60);
/// The least the growth after a loss is bounded to. [Str0m] loss controller.
const LEAST_BOUND: Rate = Rate::from_kbps(5);
/// Leaves no doubt that the rate grows. [Str0m] loss controller.
const NUDGE: Rate = Rate::from_bps(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Losses limit nothing.
    DelayBased,
    Increasing,
    Decreasing,
}

#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Option<Time>,
    next: Span,
    rate: Rate,
}

impl Hold {
    const NONE: Self = Self {
        until: None,
        next: FIRST_HOLD,
        rate: Rate::MAX,
    };
}

/// The rule and what it believes.
#[derive(Clone, Debug)]
pub(in super::super) struct Likelihood {
    min: Rate,
    max: Rate,
    seen: Observations,
    belief: Belief,
    state: State,
    /// The bound that the average loss sets at once.
    bound: Rate,
    /// When the window of bounded growth began, and the bound.
    window: Option<(Time, Rate)>,
    hold: Hold,
    limited: bool,
}

impl Likelihood {
    pub(super) fn new(start: Rate, min: Rate, max: Rate) -> Self {
        Self {
            min,
            max,
            seen: Observations::default(),
            belief: Belief {
                inherent: FIRST_INHERENT,
                bandwidth: start,
            },
            state: State::DelayBased,
            bound: max,
            window: None,
            hold: Hold::NONE,
            limited: false,
        }
    }

    pub(super) fn set(&mut self, rate: Rate) {
        self.belief.bandwidth = rate;
    }

    pub(super) fn limit(&self) -> Option<Rate> {
        match self.state {
            State::DelayBased => (self.bound < self.max).then_some(self.bound),
            State::Increasing | State::Decreasing => Some(self.belief.bandwidth.min(self.bound)),
        }
    }

    pub(super) fn update(&mut self, results: &Results, beside: &Beside) {
        if self.limited != beside.limited {
            // The loads before and after say nothing of each other.
            self.limited = beside.limited;
            self.seen = Observations::default();
        }
        if !self.seen.push(results) {
            return;
        }
        let Some(now) = self.seen.last_sent() else {
            return;
        };
        let loss = self.seen.loss();
        self.bound = if loss > BOUND_OFFSET {
            let bound = BOUND_BALANCE * (1.0 / (loss - BOUND_OFFSET));
            bound.max(self.min).min(self.max)
        } else {
            self.max
        };
        let mut best = self.likeliest(beside);
        let current = self.belief.bandwidth;
        if loss > best.inherent && best.bandwidth > current {
            best.bandwidth = current;
        }
        if self.state != State::DelayBased {
            self.restrain(&mut best, now, beside);
        }
        self.decide(best, now, beside.delay_based);
    }

    /// The likeliest of the beliefs that are tried.
    fn likeliest(&self, beside: &Beside) -> Belief {
        let current = self.belief.bandwidth;
        let mut most = self.max.min(self.bound).min(beside.delay_based);
        if self.state != State::DelayBased
            && let Some((_, bound)) = self.window
        {
            most = most.min(bound);
        }
        let most = most.max(current);
        let acked = beside.acked.filter(|_| !beside.limited);
        let delay_based = Some(beside.delay_based).filter(|rate| *rate > current);
        let tried = TRIED.iter().map(|times| current * *times);
        let beliefs = tried.chain(delay_based).chain(acked).map(|rate| {
            let belief = Belief {
                bandwidth: rate.min(most),
                ..self.belief
            };
            belief.feasible().refined(&self.seen)
        });
        let merits = beliefs.map(|belief| (belief, belief.merit(&self.seen)));
        let best = merits.fold(None, |best: Option<(Belief, f64)>, tried| match best {
            Some(best) if best.1 >= tried.1 => Some(best),
            _ => Some(tried),
        });
        best.map_or(self.belief, |(belief, _)| belief)
    }

    /// Bounds growth while losses limit.
    fn restrain(&self, best: &mut Belief, now: Time, beside: &Beside) {
        let current = self.belief.bandwidth;
        if let Some((since, bound)) = self.window
            && now - since < WINDOW
        {
            best.bandwidth = best.bandwidth.min(bound);
        }
        if let Some(acked) = beside.acked
            && self.grows(best.bandwidth)
        {
            let held = acked < self.hold.rate * LITTLE_MORE && self.hold.rate < Rate::MAX;
            let times = if held {
                MOST_OF_ACKED_HELD
            } else {
                MOST_OF_ACKED
            };
            best.bandwidth = best.bandwidth.min(acked * times).max(current);
            if self.state == State::Decreasing && best.bandwidth == current {
                best.bandwidth = current + NUDGE;
            }
        }
    }

    fn grows(&self, bandwidth: Rate) -> bool {
        let current = self.belief.bandwidth;
        bandwidth > current || (bandwidth == current && self.state == State::Increasing)
    }

    fn decide(&mut self, best: Belief, now: Time, delay_based: Rate) {
        let below = best.bandwidth < delay_based && best.bandwidth < self.max;
        if self.state == State::Decreasing
            && below
            && self.hold.until.is_some_and(|until| until > now)
        {
            self.belief = best;
            self.belief.bandwidth = best.bandwidth.min(self.hold.rate);
            return;
        }
        let next = if !below {
            self.hold = Hold::NONE;
            State::DelayBased
        } else if self.state != State::DelayBased && self.grows(best.bandwidth) {
            State::Increasing
        } else {
            if self.state != State::Decreasing {
                self.hold = Hold {
                    until: Some(now + self.hold.next),
                    next: (self.hold.next * HOLD_GROWTH).min(LONGEST_HOLD),
                    rate: best.bandwidth,
                };
            }
            State::Decreasing
        };
        self.state = next;
        self.belief = best;
        if next != State::DelayBased && self.window.is_none_or(|(since, _)| now - since > WINDOW) {
            self.window = Some((now, (best.bandwidth * GROWTH).max(LEAST_BOUND)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Bytes;

    const MAX: Rate = Rate::from_mbps(50);

    /// Sends 1000-byte packets for a while, of which every so many is lost.
    fn run(rule: &mut Likelihood, from: &mut Time, secs: i64, rate: Rate, one_in: Option<u64>) {
        let gap = Bytes::new(1_000).at(rate).expect("a rate");
        let end = *from + Span::from_secs(secs);
        let mut number = 0;
        while *from < end {
            let mut results = Results::default();
            for _ in 0..10 {
                number += 1;
                let lost = one_in.is_some_and(|every| number % every == 0);
                results.add(*from, Bytes::new(1_000), lost);
                *from += gap;
            }
            let beside = Beside {
                delay_based: rate,
                target: rate,
                rtt: Span::ZERO,
                acked: Some(rate),
                limited: false,
            };
            rule.update(&results, &beside);
        }
    }

    #[test]
    fn without_losses_there_is_no_limit() {
        let mut rule = Likelihood::new(Rate::from_mbps(1), Rate::from_kbps(5), MAX);
        let mut now = Time::ZERO;
        run(&mut rule, &mut now, 5, Rate::from_mbps(2), None);
        assert_eq!(rule.limit(), None);
    }

    #[test]
    fn a_small_loss_is_the_links_own_and_limits_nothing() {
        let mut rule = Likelihood::new(Rate::from_mbps(2), Rate::from_kbps(5), MAX);
        let mut now = Time::ZERO;
        run(&mut rule, &mut now, 10, Rate::from_mbps(2), Some(50));
        assert_eq!(rule.limit(), None);
        let inherent = rule.belief.inherent;
        assert!((0.015..0.025).contains(&inherent), "{inherent}");
    }

    #[test]
    fn a_large_loss_bounds_at_once() {
        let mut rule = Likelihood::new(Rate::from_mbps(4), Rate::from_kbps(5), MAX);
        let mut now = Time::ZERO;
        run(&mut rule, &mut now, 5, Rate::from_mbps(4), Some(5));
        // 100 kbit/s over 0.2 − 0.05.
        assert!(
            (rule.bound.mbps_f64() - 0.667).abs() < 0.04,
            "{}",
            rule.bound
        );
        assert!(rule.limit().is_some_and(|limit| limit <= rule.bound));
    }

    proptest! {
        #[test]
        fn the_limit_is_sane_whatever_is_lost(
            steps in prop::collection::vec(
                (0u64..3_000, 0u64..60, 0u64..60, 1u64..100_000_000, prop::option::of(0u64..100_000_000)),
                1..100,
            ),
        ) {
            let mut rule = Likelihood::new(Rate::from_kbps(300), Rate::from_kbps(5), MAX);
            let mut now = Time::ZERO;
            for (millis, packets, lost, delay_based, acked) in steps {
                now += Span::from_millis(i64::try_from(millis).expect("short"));
                let mut results = Results::default();
                for nth in 0..packets {
                    results.add(now, Bytes::new(1_200), nth < lost);
                }
                let beside = Beside {
                    delay_based: Rate::from_bps(delay_based),
                    target: Rate::ZERO,
                    rtt: Span::ZERO,
                    acked: acked.map(Rate::from_bps),
                    limited: lost % 7 == 0,
                };
                rule.update(&results, &beside);
                prop_assert!(rule.belief.inherent.is_finite());
                prop_assert!((0.0..=1.0).contains(&rule.belief.inherent));
                prop_assert!(rule.limit().is_none_or(|limit| limit <= MAX.max(Rate::from_bps(delay_based))));
            }
        }
    }
}
