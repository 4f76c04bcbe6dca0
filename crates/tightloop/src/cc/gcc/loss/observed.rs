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

    /// The share of bytes lost, recent ones counting more.
    pub(super) fn loss(&self) -> f64 {
        let sums = self.weighed().fold((0.0, 0.0), |sums, (weight, seen)| {
            (sums.0 + weight * seen.lost, sums.1 + weight * seen.size())
        });
        if sums.1 > 0.0 { sums.0 / sums.1 } else { 0.0 }
    }
}
