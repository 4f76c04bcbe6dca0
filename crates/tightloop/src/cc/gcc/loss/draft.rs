//! The sender's rule of old: three zones of loss.

use super::{Beside, Results};
use crate::units::{Rate, Span, Time, float};

/// Below this share of packets lost the rate grows. [GCC-Draft] §6.
const LITTLE: f64 = 0.02;
/// Above this share it shrinks. [GCC-Draft] §6.
const MUCH: f64 = 0.1;
/// By this factor it grows. [GCC-Draft] §6.
const GROWTH: f64 = 1.05;
/// By this share of the loss it shrinks. [GCC-Draft] §6.
const SHRINK: f64 = 0.5;
/// Losses are counted over this time. [AlphaRTC] network control: the interval
/// at which a receiver would report them.
const INTERVAL: Span = Span::from_secs(1);

/// The rule and what it counts.
#[derive(Clone, Debug)]
pub(in super::super) struct DraftRule {
    rate: Rate,
    packets: u64,
    lost: u64,
    due: Option<Time>,
    lossless: bool,
}

impl DraftRule {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            packets: 0,
            lost: 0,
            due: None,
            lossless: true,
        }
    }

    pub(super) fn set(&mut self, rate: Rate) {
        self.rate = rate;
    }

    pub(super) fn limit(&self) -> Option<Rate> {
        (!self.lossless).then_some(self.rate)
    }

    pub(super) fn update(&mut self, now: Time, results: &Results, beside: &Beside) {
        self.packets += results.packets;
        self.lost += results.lost_packets;
        let due = *self.due.get_or_insert(now + INTERVAL);
        if now < due || self.packets == 0 {
            return;
        }
        let loss = float(self.lost) / float(self.packets);
        // It begins to count with the first loss: before, the delay leads.
        if self.lossless {
            self.rate = beside.delay_based;
        }
        self.lossless &= self.lost == 0;
        if loss > MUCH {
            self.rate = self.rate * (1.0 - SHRINK * loss);
        } else if loss < LITTLE {
            self.rate = (self.rate * GROWTH).min(beside.delay_based.max(self.rate));
        }
        (self.packets, self.lost) = (0, 0);
        self.due = Some(now + INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    #[test]
    fn the_zones_are_those_of_the_draft() {
        let rate = |lost: u64, from: Rate| {
            let mut rule = DraftRule::new(from);
            rule.lossless = false;
            let mut results = Results::default();
            for nth in 0..100 {
                results.add(Time::ZERO, Bytes::new(1_000), nth < lost);
            }
            let beside = Beside {
                delay_based: Rate::from_mbps(10),
                target: Rate::ZERO,
                rtt: Span::ZERO,
                acked: None,
                limited: false,
            };
            rule.update(Time::ZERO, &Results::default(), &beside);
            rule.update(Time::from_secs(1), &results, &beside);
            rule.limit().expect("a limit").ratio(from)
        };
        let one = Rate::from_mbps(1);
        let rates = [0, 1, 2, 10, 11, 40].map(|lost| rate(lost, one));
        let expected = [1.05, 1.05, 1.0, 1.0, 0.945, 0.8];
        for (rate, expected) in rates.into_iter().zip(expected) {
            assert!((rate - expected).abs() < 1e-6, "{rates:?}");
        }
    }
}
