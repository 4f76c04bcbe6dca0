//! Deadline: min-cost that mistrusts what it cannot know.
//!
//! # Idea
//! A frame is as late as its last packet, and what makes frames late is not the
//! mean of an estimate but its errors. A wait in a pacer is the least certain of
//! them: it is long whenever the controller backs off. So a fast path must not
//! be loaded until it is as slow as the slow one; what a path's delay varies by
//! counts as delay; an answer that is overdue counts at once; and a path is not
//! left for another that is hardly better. A key frame that might miss its
//! deadline goes twice.
//!
//! # Signals
//! Each path's round trip, its minimum and its deviation, the age of the oldest
//! packet in flight, the rate its controller takes it to carry, and the bytes in
//! its pacer.
//!
//! # Law
//! - outlook: `RTT_min / 2 + queue · (RTT − RTT_min) + jitter · deviation`, and what
//!   the oldest packet in flight is overdue beyond the last round trip
//! - cost: `outlook + caution · Q_p / c_p`, and `margin` for every path but the home
//!   path; the packet takes the path of least cost
//! - with each frame the home path becomes the one of least outlook, if that is
//!   better by more than `margin`
//! - a packet of a key frame whose age and cost exceed `duplicate · budget` also
//!   takes the second-best path, where it arrives within `budget`
//!
//! # Departures
//! None: there is no paper. With `caution = 1`, `queue = 0.5` and neither jitter nor
//! margin this is [DelayBBR] Alg. 6, but for what is overdue.

use serde::{Deserialize, Serialize};

use super::{Choice, PathSet, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, SettingError, settings, written};
use crate::event::PathId;
use crate::units::{Bytes, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const DEADLINE: SchedulerKind = SchedulerKind {
    name: "deadline",
    summary: "min-cost that keeps fast paths from filling up, without flapping",
    cites: &["DelayBBR", "G114"],
    defaults: || written(&Params::default()),
    new: |params: &Table| Ok(Box::new(Deadline::new(params)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// When a frame must have arrived, from its capture. [G114]: 150 ms bother
    /// nobody.
    pub budget: Span,
    /// How many times the expected wait in a pacer counts. Ours: 1.5.
    pub caution: f64,
    /// How much of a round trip above the minimum counts. Ours: half.
    pub queue: f64,
    /// How many mean deviations of the round trip count as delay. Ours: one.
    pub jitter: f64,
    /// How much better another path must be. Ours: 5 ms, the time of a packet or
    /// two at the rates of calls.
    pub margin: Span,
    /// Key frames that would use up more than this part of the budget go twice;
    /// zero for never. Ours: never, since it costs others' room.
    pub duplicate: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            budget: Span::from_millis(150),
            caution: 1.5,
            queue: 0.5,
            jitter: 1.0,
            margin: Span::from_millis(5),
            duplicate: 0.0,
        }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Deadline {
    params: Params,
    home: Option<PathId>,
}

impl Deadline {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, a budget that is no time, negative values.
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        SettingError::unless(params.budget.is_positive(), || {
            format!("budget = {} is no time; use 150 ms", params.budget)
        })?;
        SettingError::unless(params.margin >= Span::ZERO, || {
            format!("margin = {} is negative; use 0 s or more", params.margin)
        })?;
        for (name, value) in [
            ("caution", params.caution),
            ("queue", params.queue),
            ("jitter", params.jitter),
            ("duplicate", params.duplicate),
        ] {
            SettingError::unless(value >= 0.0, || {
                format!("{name} = {value} is negative; use 0 or more")
            })?;
        }
        Ok(Self { params, home: None })
    }

    /// The delay of a packet that leaves now, as bad as it may well be.
    fn outlook(&self, path: &PathView) -> Span {
        let Some(rtt) = path.state.latest_rtt else {
            // Tried, or it would stay unknown.
            return Span::ZERO;
        };
        let min = path.state.min_rtt.unwrap_or(rtt).min(rtt);
        let overdue = path.unanswered.unwrap_or(Span::ZERO) - rtt;
        min / 2
            + (rtt - min) * self.params.queue
            + path.state.rtt_deviation * self.params.jitter
            + overdue.max(Span::ZERO)
    }

    fn cost(&self, path: &PathView) -> Span {
        let away = self.home.is_some_and(|home| home != path.id);
        let margin = if away { self.params.margin } else { Span::ZERO };
        self.outlook(path) + path.service(path.state.backlog) * self.params.caution + margin
    }

    /// Where frames start, unless another path is better by more than the margin.
    fn settle(&mut self, paths: &[PathView]) {
        let Some(best) = paths.iter().min_by_key(|path| (self.outlook(path), path.id)) else {
            return;
        };
        let home = paths.iter().find(|path| Some(path.id) == self.home);
        let least = self.outlook(best) + self.params.margin;
        if home.is_none_or(|home| self.outlook(home) > least) {
            self.home = Some(best.id);
        }
    }
}

impl Scheduler for Deadline {
    fn on_frame(&mut self, _now: Time, _size: Bytes, _packets: u64, paths: &[PathView]) {
        self.settle(paths);
    }

    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        if !paths.iter().any(|path| Some(path.id) == self.home) {
            self.settle(paths);
        }
        let Some(best) = paths.iter().min_by_key(|path| (self.cost(path), path.id)) else {
            return Choice::Wait;
        };
        let spent = |path: &PathView| now - packet.captured + self.cost(path);
        let limit = self.params.budget * self.params.duplicate;
        if !packet.is_key() || !limit.is_positive() || spent(best) <= limit {
            return Choice::Send(best.id);
        }
        let second = paths
            .iter()
            .filter(|path| path.id != best.id && spent(path) <= self.params.budget)
            .min_by_key(|path| (self.cost(path), path.id));
        match second {
            Some(second) => Choice::Copy(PathSet::default().with(best.id).with(second.id)),
            None => Choice::Send(best.id),
        }
    }
}
