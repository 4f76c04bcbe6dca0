//! The delay no sender can avoid when capacity drops, and the delay measured.
//!
//! A link's capacity drops from `before` to `after` = `before` / r. Until the
//! news has reached the sender and what was already under way has arrived, a
//! time d later, data comes in r times as fast as it leaves. [SpikeBound]

use super::{SpikeReport, Window};
use crate::units::{Bytes, Rate, Span, Time};

/// How long after a drop its spike is looked for. [SpikeBound], figure 5, counted
/// from the actual drop.
pub const AFTER: Span = Span::from_secs(5);
/// How long before a drop throughput is averaged to correct r for a sender
/// that did not fill the link. Ours: long against frames, short against a ramp.
pub const BEFORE: Span = Span::from_secs(1);

/// The factor by which a sender that got `throughput` before the drop finds
/// itself too fast after it: r of a full link, less of one that was not full.
/// Nothing where no capacity is left.
#[must_use]
pub fn effective_ratio(throughput: Rate, after: Rate) -> Option<f64> {
    (after > Rate::ZERO).then(|| throughput.ratio(after))
}

/// Equation 1: the queue that grows in `time` while data comes in `r` times as
/// fast as it leaves, as waiting time at the new rate.
#[must_use]
pub fn growth(r: f64, time: Span) -> Span {
    (time * (r - 1.0)).max(Span::ZERO)
}

/// Equation 2: the peak of the queue, (r − 1) d, where `signal` is how long the
/// news takes to the sender and `flight` how long what it sends takes to the
/// link: together a round trip where the receiver tells the sender.
#[must_use]
pub fn bound(r: f64, signal: Span, flight: Span) -> Span {
    growth(r, signal + flight)
}

/// Equation 3: what must be lost where the queue holds `limit` at most, as the
/// new rate's bytes, and as a share of all that arrives during `d`.
#[must_use]
pub fn loss(r: f64, d: Span, limit: Span, after: Rate) -> (Bytes, f64) {
    let excess = (growth(r, d) - limit).max(Span::ZERO);
    let arriving = d * r;
    (after.over(excess), excess.ratio(arriving))
}

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

    #[test]
    fn closed_forms_give_the_numbers_of_the_paper() {
        let ms = Span::from_millis;
        // The step 20 → 5 Mbit/s at 40 ms of a sender that uses .9 of the link.
        let r = effective_ratio(Rate::from_mbps(18), Rate::from_mbps(5)).expect("some rate");
        assert!((r - 3.6).abs() < 1e-12);
        assert_eq!(bound(r, ms(15), ms(25)), ms(104));
        assert_eq!(bound(2.0, ms(75), Span::ZERO), ms(75));
        assert_eq!(bound(3.0, ms(75), Span::ZERO), ms(150));
        assert_eq!(growth(3.0, ms(10)), ms(20));
        assert_eq!(growth(0.5, ms(10)), Span::ZERO);
        assert_eq!(effective_ratio(Rate::from_mbps(1), Rate::ZERO), None);
    }

    #[test]
    fn a_limited_queue_loses_the_rest() {
        let d = Span::from_millis(100);
        let rate = Rate::from_mbps(20);
        // (3 − 1) 100 ms − 50 ms at 20 Mbit/s; 1 − 1/3 − 50/300 of what arrives.
        let (bytes, share) = loss(3.0, d, Span::from_millis(50), rate);
        assert_eq!(bytes, Bytes::new(375_000));
        assert!((share - 0.5).abs() < 1e-12, "{share}");
        assert_eq!(
            loss(3.0, d, Span::from_millis(250), rate),
            (Bytes::ZERO, 0.0)
        );
    }

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
