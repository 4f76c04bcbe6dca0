//! The delay measured after each drop of a link's capacity, beside the delay
//! that no sender can avoid. [SpikeBound]

use super::bound::{bound, effective_ratio};
use super::{SpikeReport, Window};
use crate::units::{Bytes, Rate, Span, Time};

/// How long after a drop its spike is looked for. [SpikeBound], figure 5, counted
/// from the actual drop.
pub const AFTER: Span = Span::from_secs(5);
/// How long before a drop throughput is averaged to correct r for a sender
/// that did not fill the link. Ours: long against frames, short against a ramp.
pub const BEFORE: Span = Span::from_secs(1);

/// One drop of a link's capacity while it is watched.
#[derive(Clone, Copy, Debug)]
struct Drop {
    at: Time,
    before: Rate,
    after: Rate,
    throughput: Rate,
    until: Time,
    peak: Span,
}

/// Watches a link for drops of its capacity and the queues that follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    drops: Vec<Drop>,
    /// Bytes that left in each of the latest steps of time, in a circle.
    recent: Vec<Bytes>,
    step: usize,
    /// When the link's first packet left.
    since: Option<Time>,
}

/// Throughput is counted in steps this long: the latest, which is not over, and
/// as many whole ones before it as make [`BEFORE`].
const STEP: Span = Span::from_millis(10);
const STEPS: usize = 101;

impl Watch {
    /// A packet left the link.
    #[inline]
    pub(super) fn left(&mut self, at: Time, size: Bytes, waited: Span) {
        self.advance(at);
        self.since.get_or_insert(at);
        self.recent[self.step % STEPS] += size;
        if let Some(drop) = self.drops.last_mut()
            && at < drop.until
        {
            drop.peak = drop.peak.max(waited);
        }
    }

    /// The link's rate changed.
    pub(super) fn changed(&mut self, at: Time, before: Rate, after: Rate) {
        if let Some(drop) = self.drops.last_mut() {
            drop.until = drop.until.min(at);
        }
        if after < before && after > Rate::ZERO {
            self.advance(at);
            let unfinished = self.recent[self.step % STEPS];
            let bytes = self.recent.iter().copied().sum::<Bytes>();
            let bytes = bytes.saturating_sub(unfinished);
            let known = self.since.map_or(Span::ZERO, |since| at - since);
            let throughput = bytes.per(known.min(BEFORE)).unwrap_or_default();
            self.drops.push(Drop {
                at,
                before,
                after,
                throughput: throughput.min(before),
                until: at + AFTER,
                peak: Span::ZERO,
            });
        }
    }

    /// Forgets the steps that are too old.
    #[inline]
    fn advance(&mut self, at: Time) {
        let step = super::steps(at.since_epoch(), STEP);
        if step > self.step || self.recent.is_empty() {
            self.recent.resize(STEPS, Bytes::ZERO);
            for passed in (self.step + 1..=step).rev().take(STEPS) {
                self.recent[passed % STEPS] = Bytes::ZERO;
            }
            self.step = step;
        }
    }

    /// What followed each drop in the window, where the fastest round trip
    /// over the link takes `d`.
    pub(super) fn report(&self, window: &Window, d: Option<Span>) -> Vec<SpikeReport> {
        let drops = self.drops.iter().filter(|drop| window.contains(drop.at));
        let report = drops.map(|drop| {
            let r = effective_ratio(drop.throughput, drop.after).unwrap_or(0.0);
            let bound = d.map(|d| bound(r, d, Span::ZERO));
            let positive = bound.filter(|bound| bound.is_positive());
            SpikeReport {
                at: drop.at,
                before: drop.before,
                after: drop.after,
                ratio: r,
                measured: drop.peak,
                bound,
                over_bound: positive.map(|bound| drop.peak.ratio(bound)),
            }
        });
        report.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1250-byte packets: one a millisecond is 10 Mbit/s.
    fn run(per_ms: f64, outcome: impl Fn(u64) -> Span) -> Vec<SpikeReport> {
        let mut watch = Watch::default();
        let size = Bytes::new(1_250) * per_ms;
        let (from, to) = (Rate::from_mbps(20), Rate::from_mbps(5));
        watch.changed(Time::ZERO, Rate::ZERO, from);
        for ms in 0..12_000 {
            if ms == 2_000 {
                watch.changed(Time::from_millis(ms), from, to);
            }
            if ms == 9_000 {
                watch.changed(Time::from_millis(ms), to, from);
            }
            watch.left(Time::from_millis(ms), size, outcome(ms));
        }
        let window = Window::until(Time::from_secs(12));
        watch.report(&window, Some(Span::from_millis(40)))
    }

    #[test]
    fn a_spike_is_measured_from_the_drop_until_five_seconds_later() {
        let spikes = run(1.8, |ms| match ms {
            0..2_000 => Span::from_millis(500),
            2_100 => Span::from_millis(208),
            7_000.. => Span::from_millis(900),
            _ => Span::from_millis(1),
        });
        let [spike] = spikes[..] else {
            panic!("one drop, not {spikes:?}");
        };
        assert_eq!(spike.at, Time::from_secs(2));
        assert!((spike.ratio - 3.6).abs() < 1e-9, "{}", spike.ratio);
        assert_eq!(spike.bound, Some(Span::from_millis(104)));
        assert_eq!(spike.measured, Span::from_millis(208));
        let over = spike.over_bound.expect("a bound");
        assert!((over - 2.0).abs() < 1e-9, "{over}");
    }

    #[test]
    fn who_used_less_than_is_left_has_no_spike_to_fear() {
        let spikes = run(0.4, |_| Span::ZERO);
        assert_eq!(spikes.len(), 1);
        assert_eq!(
            (spikes[0].bound, spikes[0].over_bound),
            (Some(Span::ZERO), None)
        );
    }
}
