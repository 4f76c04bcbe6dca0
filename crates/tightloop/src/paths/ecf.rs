//! ECF: wait for the fast path where that is earlier than the slow one.
//!
//! # Idea
//! A packet on the slow path may arrive after all those that could still have
//! gone by the fast one. Where the fast path is full but would be done earlier,
//! send nothing and wait for it.
//!
//! # Signals
//! Smoothed round trips and their deviation, the windows, and how much of the
//! frame still waits for a path.
//!
//! # Law
//! `f` is the path of least smoothed RTT; if it has room it gets the packet. Else
//! `s` is the fastest that has room, `k` what waits, `σ` the larger of both
//! deviations. Wait for `f` while `(1 + k / W_f) RTT_f < (1 + waiting β)(RTT_s + σ)`
//! and `(k / W_s) RTT_s ≥ 2 RTT_f + σ`; `waiting` is one from then on, until the
//! first test fails. `β = 1/4`. [ECF] §4.
//!
//! # Departures
//! Windows and `k` are in bytes. Where a controller has only a rate the window is
//! what it carries in a round trip. Where no path has room the packet waits too.

use serde::{Deserialize, Serialize};

use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, SettingError, settings, written};
use crate::units::{Bytes, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const ECF: SchedulerKind = SchedulerKind {
    name: "ecf",
    summary: "the fast path, also where that means to wait for it",
    cites: &["ECF"],
    defaults: || written(&Params::default()),
    new: |params: &Table| Ok(Box::new(Ecf::new(params)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much later the fast path may be before waiting ends. [ECF] §4: 0.25.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { beta: 0.25 }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Ecf {
    params: Params,
    waiting: bool,
    unassigned: Unassigned,
}

/// The bytes of frames that have no path yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unassigned(Bytes);

impl Unassigned {
    pub(super) fn on_frame(&mut self, size: Bytes) {
        self.0 += size;
    }

    /// With the packet that is asked about.
    pub(super) fn with(self, packet: &Queued) -> Bytes {
        self.0.max(packet.size)
    }

    /// The packet has a path.
    pub(super) fn assigned(&mut self, packet: &Queued) {
        self.0 = self.0.saturating_sub(packet.size);
    }
}

/// The window: the controller's, or what its rate carries in a round trip;
/// `None` where nothing limits the path yet.
pub(super) fn window(path: &PathView) -> Option<Bytes> {
    let by_rate = || Some(path.rate()?.over(path.state.smoothed_rtt?));
    path.control.window.or_else(by_rate)
}

pub(super) fn has_room(path: &PathView, size: Bytes) -> bool {
    let taken = path.state.in_flight + path.state.backlog;
    // At least one packet can be under way, however small the window.
    taken == Bytes::ZERO || window(path).is_none_or(|window| taken + size <= window)
}

/// The path of least smoothed RTT among some; one without is tried first.
pub(super) fn fastest<'a>(paths: impl Iterator<Item = &'a PathView>) -> Option<&'a PathView> {
    paths.min_by_key(|path| (path.state.smoothed_rtt.unwrap_or(Span::ZERO), path.id))
}

impl Ecf {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, a negative `beta`.
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        SettingError::unless(params.beta >= 0.0, || {
            format!("beta = {} is negative; use 0 or more", params.beta)
        })?;
        Ok(Self {
            params,
            waiting: false,
            unassigned: Unassigned::default(),
        })
    }

    /// Whether to wait for `fast` though `slow` has room.
    fn waits(&mut self, queued: Bytes, fast: &PathView, slow: &PathView) -> bool {
        let rtt = |path: &PathView| path.state.smoothed_rtt.unwrap_or(Span::ZERO);
        let rounds = |path: &PathView| {
            window(path).map_or(0.0, |window| queued.ratio(window.max(Bytes::new(1))))
        };
        let sigma = fast.state.rtt_deviation.max(slow.state.rtt_deviation);
        let patience = if self.waiting { self.params.beta } else { 0.0 };
        if rtt(fast) * (1.0 + rounds(fast)) >= (rtt(slow) + sigma) * (1.0 + patience) {
            self.waiting = false;
            return false;
        }
        let worth_it = rtt(slow) * rounds(slow) >= rtt(fast) * 2 + sigma;
        self.waiting |= worth_it;
        worth_it
    }
}

impl Scheduler for Ecf {
    fn on_frame(&mut self, _now: Time, size: Bytes, _packets: u64, _paths: &[PathView]) {
        self.unassigned.on_frame(size);
    }

    fn pick(&mut self, _now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let open = |path: &&PathView| has_room(path, packet.size);
        let (Some(fast), Some(slow)) = (fastest(paths.iter()), fastest(paths.iter().filter(open)))
        else {
            return Choice::Wait;
        };
        let queued = self.unassigned.with(packet);
        if fast.id != slow.id && self.waits(queued, fast, slow) {
            return Choice::Wait;
        }
        self.unassigned.assigned(packet);
        Choice::Send(slow.id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, view};
    use super::*;
    use crate::event::PathId;

    /// A fast path whose window of ten packets is full, and a slow one with room.
    fn paths(slow_ms: i64, deviation_ms: i64) -> [PathView; 2] {
        let mut fast = view(0, 20, 10);
        fast.state.in_flight = Bytes::new(15_000);
        let mut slow = view(1, slow_ms, 10);
        slow.state.rtt_deviation = Span::from_millis(deviation_ms);
        [fast, slow]
    }

    fn pick(ecf: &mut Ecf, packets: u64, paths: &[PathView]) -> Choice {
        ecf.unassigned = Unassigned(Bytes::new(1500) * packets);
        ecf.pick(Time::ZERO, &packet(), paths)
    }

    #[test]
    fn waits_exactly_where_the_rule_says_so() {
        let mut ecf = Ecf::new(&Table::new()).expect("defaults");
        let slow = Choice::Send(PathId(1));
        // 5 packets: (1 + .5)·20 = 30 < 100, and .5·100 = 50 ≥ 40: wait.
        assert_eq!(pick(&mut ecf, 5, &paths(100, 0)), Choice::Wait);
        // 3 packets: 26 < 100, but .3·100 = 30 < 40: the slow one is early enough.
        assert_eq!(pick(&mut ecf, 3, &paths(100, 0)), slow);
        // 40 packets: (1 + 4)·20 = 100, not below 100; having waited, below 125.
        assert_eq!(pick(&mut ecf, 40, &paths(100, 0)), Choice::Wait);
        ecf.waiting = false;
        assert_eq!(pick(&mut ecf, 40, &paths(100, 0)), slow);
        // 5 packets and a deviation of 20 ms: 50 < 40 + 20.
        assert_eq!(pick(&mut ecf, 5, &paths(100, 20)), slow);
    }

    #[test]
    fn the_fast_path_is_taken_where_it_has_room_and_nothing_where_none_has() {
        let mut ecf = Ecf::new(&Table::new()).expect("defaults");
        let mut both = paths(100, 0);
        both[0].state.in_flight = Bytes::ZERO;
        assert_eq!(pick(&mut ecf, 5, &both), Choice::Send(PathId(0)));
        let mut full = paths(100, 0);
        full[1].state.in_flight = Bytes::new(15_000);
        assert_eq!(pick(&mut ecf, 5, &full), Choice::Wait);
    }
}
