//! BLEST: the slow path only where it will not block the fast one.
//!
//! # Idea
//! What is sent on the slow path holds a place in the send window for a whole
//! slow round trip. If the fast path could meanwhile fill the rest, it will be
//! blocked: then rather wait for it.
//!
//! # Signals
//! Smoothed round trips, windows and bytes in flight.
//!
//! # Law
//! With the fast path `f` full and a slow `s` open, `ρ = RTT_s / RTT_f` and
//! `X = MSS (W_f + (ρ − 1) / 2) ρ`, `W_f` in packets: what `f` can send in one slow
//! round trip. Wait if `λ X > M − (inflight_s + 1) MSS`, `M` the send window.
//! [BLEST] §III. `λ` starts at one, grows when the fast path was blocked all the
//! same, and shrinks with each slow round trip without that.
//!
//! # Departures
//! A call has no send window; what must arrive within the latency budget takes
//! its place: what all paths carry in that time. The fast path is taken for
//! blocked when more than that is under way or waits. The steps of `λ` are ours.

use serde::{Deserialize, Serialize};

use super::ecf::{Unassigned, fastest, has_room, window};
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, SettingError, settings, written};
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const BLEST: SchedulerKind = SchedulerKind {
    name: "blest",
    summary: "the slow path only where it will not block the fast one",
    cites: &["BLEST"],
    defaults: || written(&Params::default()),
    new: |params: &Table| Ok(Box::new(Blest::new(params)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The send window is what all paths carry in this time. Ours: 500 ms, the
    /// send buffer of [DelayBBR].
    pub budget: Span,
    /// Where the scale of the estimate starts. [BLEST] §III: 1.
    pub lambda: f64,
    /// What it grows by when the fast path was blocked. Ours: 0.05, so that
    /// twenty times double it.
    pub grow: f64,
    /// What it shrinks by in a slow round trip without that. Ours: 0.01, slower
    /// than it grows, since blocking costs more than waiting.
    pub shrink: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            budget: Span::from_millis(500),
            lambda: 1.0,
            grow: 0.05,
            shrink: 0.01,
        }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Blest {
    params: Params,
    lambda: f64,
    /// When the slow round trip that is watched began.
    round: Time,
    blocked: bool,
    unassigned: Unassigned,
}

impl Blest {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, a budget that is no time, negative scales.
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        SettingError::unless(params.budget.is_positive(), || {
            format!("budget = {} is no time; use 500 ms", params.budget)
        })?;
        let scales = [params.lambda, params.grow, params.shrink];
        SettingError::unless(scales.iter().all(|scale| *scale >= 0.0), || {
            format!("lambda, grow and shrink are {scales:?}; use 0 or more")
        })?;
        Ok(Self {
            params,
            lambda: params.lambda,
            round: Time::ZERO,
            blocked: false,
            unassigned: Unassigned::default(),
        })
    }

    fn send_window(&self, paths: &[PathView]) -> Option<Bytes> {
        let rates = paths.iter().filter_map(PathView::rate);
        let sum = rates.reduce(|sum: Rate, rate| sum + rate)?;
        Some(sum.over(self.params.budget))
    }

    /// What the fast path can send in a slow round trip.
    fn meanwhile(fast: &PathView, slow: &PathView) -> Option<Bytes> {
        let rho = slow.state.smoothed_rtt?.ratio(fast.state.smoothed_rtt?);
        let mss = fast.state.mss.max(Bytes::new(1));
        let packets = window(fast)?.ratio(mss);
        Some(Bytes::from_f64(
            mss.get_f64() * (packets + (rho - 1.0) / 2.0) * rho,
        ))
    }

    fn learn(&mut self, now: Time, queued: Bytes, all: Bytes, slow: &PathView, paths: &[PathView]) {
        let taken: Bytes = paths
            .iter()
            .map(|path| path.state.in_flight + path.state.backlog)
            .sum();
        if taken + queued > all && !self.blocked {
            self.blocked = true;
            self.lambda += self.params.grow;
        }
        if now - self.round > slow.state.smoothed_rtt.unwrap_or(Span::ZERO) {
            self.round = now;
            if !std::mem::replace(&mut self.blocked, false) {
                self.lambda = (self.lambda - self.params.shrink).max(0.0);
            }
        }
    }

    fn waits(&mut self, now: Time, queued: Bytes, slow: &PathView, paths: &[PathView]) -> bool {
        let (Some(fast), Some(all)) = (fastest(paths.iter()), self.send_window(paths)) else {
            return false;
        };
        self.learn(now, queued, all, slow, paths);
        let Some(meanwhile) = Self::meanwhile(fast, slow) else {
            return false;
        };
        let left = all.saturating_sub(slow.state.in_flight + slow.state.mss);
        meanwhile.get_f64() * self.lambda > left.get_f64()
    }
}

impl Scheduler for Blest {
    fn on_frame(&mut self, _now: Time, size: Bytes, _packets: u64, _paths: &[PathView]) {
        self.unassigned.on_frame(size);
    }

    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let open = |path: &&PathView| has_room(path, packet.size);
        let (Some(fast), Some(slow)) = (fastest(paths.iter()), fastest(paths.iter().filter(open)))
        else {
            return Choice::Wait;
        };
        let queued = self.unassigned.with(packet);
        if fast.id != slow.id && self.waits(now, queued, slow, paths) {
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

    /// A fast path whose window of ten packets is full, and a slow one with room
    /// for as many.
    fn paths(slow_ms: i64) -> [PathView; 2] {
        let mut paths = [view(0, 20, 10), view(1, slow_ms, 10)];
        paths[0].state.in_flight = Bytes::new(15_000);
        for path in &mut paths {
            path.state.mss = Bytes::new(1500);
        }
        paths
    }

    fn blest(budget: &str) -> Blest {
        let mut params = Table::new();
        params.insert("budget".to_owned(), budget.into());
        Blest::new(&params).expect("good settings")
    }

    #[test]
    fn what_the_fast_path_sends_meanwhile_is_the_papers_by_hand() {
        // ρ = 3: 1500·(10 + 1)·3.
        let [fast, slow] = paths(60);
        assert_eq!(Blest::meanwhile(&fast, &slow), Some(Bytes::new(49_500)));
    }

    #[test]
    fn waits_exactly_where_the_fast_path_would_be_blocked() {
        // 6 and 2 Mbit/s carry 1 kB a millisecond: 49.5 kB fit into 51 kB less a
        // packet, and not into 50.9 kB less one.
        let pick = |budget| blest(budget).pick(Time::ZERO, &packet(), &paths(60));
        assert_eq!(pick("52 ms"), Choice::Send(PathId(1)));
        assert_eq!(pick("50 ms"), Choice::Wait);
    }

    #[test]
    fn the_scale_grows_with_blocking_and_shrinks_without() {
        let mut blest = blest("500 ms");
        blest.unassigned.on_frame(Bytes::new(600_000));
        blest.pick(Time::from_millis(1), &packet(), &paths(60));
        assert!((blest.lambda - 1.05).abs() < 1e-9, "{}", blest.lambda);
        blest.unassigned = Unassigned::default();
        for millis in [70, 140, 210] {
            blest.pick(Time::from_millis(millis), &packet(), &paths(60));
        }
        // The round in which it was blocked does not count.
        assert!((blest.lambda - 1.03).abs() < 1e-9, "{}", blest.lambda);
    }
}
