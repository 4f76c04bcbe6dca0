//! Losses observed, in pieces of a quarter of a second.

use std::collections::VecDeque;

use super::Results;
use crate::units::{Rate, Span, Time};

/// An observation lasts longer than this. [Str0m] loss controller.
const LEAST_DURATION: Span = Span::from_millis(250);
/// So many observations are kept. [Str0m] loss controller.
const KEPT: usize = 15;
/// The weight of an observation against the one after it. [Str0m] loss controller.
const AGING: f64 = 0.9;
/// So many observations all count; of more, the best and the worst do not.
/// [LibWebRTC] loss-based estimator.
const COUNTED_WHOLE: usize = 3;
/// Far more sending, in times the usual. [LibWebRTC] loss-based estimator.
const FAR_MORE: f64 = 2.0;
/// Sizes count in these. [Str0m] loss controller: kilobytes.
const UNIT: f64 = 1e3;

/// What became of the packets of some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) arrived: f64,
    pub(super) lost: f64,
    pub(super) sending: Rate,
}

impl Observation {
    pub(super) fn size(&self) -> f64 {
        self.arrived + self.lost
    }
}

/// The latest observations, the newest in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    kept: VecDeque<Observation>,
    partial: Results,
    last_sent: Option<Time>,
}

impl Observations {
    /// News of packets; true where they complete an observation.
    pub(super) fn push(&mut self, results: &Results) -> bool {
        if results.packets == 0 {
            return false;
        }
        self.partial.packets += results.packets;
        self.partial.bytes += results.bytes;
        self.partial.lost_packets += results.lost_packets;
        self.partial.lost_bytes += results.lost_bytes;
        let last = *self.last_sent.get_or_insert(results.last_sent);
        let duration = results.last_sent - last;
        if duration <= LEAST_DURATION {
            return false;
        }
        self.last_sent = Some(results.last_sent);
        let partial = std::mem::take(&mut self.partial);
        let lost = partial.lost_bytes.get_f64() / UNIT;
        self.kept.push_front(Observation {
            arrived: partial.bytes.get_f64() / UNIT - lost,
            lost,
            sending: partial.bytes.per(duration).unwrap_or(Rate::ZERO),
        });
        self.kept.truncate(KEPT);
        true
    }

    /// When the last packet of the last observation left.
    pub(super) const fn last_sent(&self) -> Option<Time> {
        self.last_sent
    }

    /// Each observation and its weight.
    pub(super) fn weighed(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * AGING));
        weights.zip(&self.kept)
    }

    /// The share of bytes lost, recent ones counting more. The best and the
    /// worst observation do not count, unless the worst was one of far more
    /// sending than usual.
    pub(super) fn loss(&self) -> f64 {
        let mut size: f64 = self.weighed().map(|(w, seen)| w * seen.size()).sum();
        let mut lost: f64 = self.weighed().map(|(w, seen)| w * seen.lost).sum();
        let by_loss = |a: &(f64, &Observation), b: &(f64, &Observation)| {
            let loss = |seen: &Observation| seen.lost / seen.size();
            loss(a.1).total_cmp(&loss(b.1))
        };
        if self.kept.len() > COUNTED_WHOLE
            && let Some(worst) = self.weighed().max_by(by_loss)
            && let Some(best) = self.weighed().min_by(by_loss)
            && worst.1.sending < self.usual_sending() * FAR_MORE
        {
            for (weight, seen) in [best, worst] {
                size -= weight * seen.size();
                lost -= weight * seen.lost;
            }
        }
        if size > 0.0 {
            (lost / size).max(0.0)
        } else {
            0.0
        }
    }

    fn usual_sending(&self) -> Rate {
        let mut rates: Vec<Rate> = self.kept.iter().map(|seen| seen.sending).collect();
        rates.sort_unstable();
        rates.get(rates.len() / 2).copied().unwrap_or(Rate::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// Observations of so many packets each second, so many of them lost.
    fn observed(pieces: &[(u64, u64)]) -> Observations {
        let mut seen = Observations::default();
        seen.push(&Results {
            packets: 1,
            ..Results::default()
        });
        for (second, (packets, lost)) in (1..).zip(pieces) {
            let mut results = Results::default();
            for nth in 0..*packets {
                let sent = Time::from_secs(second);
                results.add(sent, Bytes::new(1_000), nth < *lost);
            }
            assert!(seen.push(&results));
        }
        seen
    }

    #[test]
    fn recent_losses_count_more() {
        let loss = observed(&[(100, 10), (100, 0)]).loss();
        // 0.9 · 10 of 1.9 · 100.
        assert!((loss - 0.0474).abs() < 1e-3, "{loss}");
    }

    #[test]
    fn one_bad_moment_does_not_count_unless_more_was_sent_in_it() {
        let loss = observed(&[(100, 0), (100, 0), (100, 60), (100, 0), (100, 0)]).loss();
        assert!(loss.abs() < 1e-9, "{loss}");
        let loss = observed(&[(100, 0), (100, 0), (250, 60), (100, 0), (100, 0)]).loss();
        assert!((0.08..0.12).contains(&loss), "{loss}");
    }
}
