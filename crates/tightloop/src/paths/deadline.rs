//! Deadline: each packet where it arrives first, by the true delay and what it
//! may become.
//!
//! # Idea
//! Half a round trip counts a queue on the way there at half its length, and
//! last year's weather. All paths of a flow end at one clock: the difference of
//! their one-way delays is known exactly, whatever that clock reads. So compare
//! those; add what a path's delay varies by, since a frame is as late as its
//! latest packet; notice at once when an answer is overdue; and stay where one
//! is unless another path is clearly better. A key frame that might miss its
//! deadline goes twice.
//!
//! # Signals
//! Arrival times, round trips and their deviation, the age of the oldest packet
//! in flight, each path's rate and the bytes in its pacer.
//!
//! # Law
//! A packet's one-way delay on path `p` is `o_p − o_a + RTT_a / 2`: `o` is the last
//! arrival time less its sending time, `a` the path of least round trip, the
//! only one of which half is taken. Its *outlook* is that, plus `jitter` times
//! the round trip's mean deviation, plus what the oldest packet in flight is
//! overdue beyond the last round trip. The *cost* adds `(Q_p + packet) / c_p`, and
//! `margin` for every path but the home path. The packet takes the least cost.
//! With each frame the home path changes to the path of least outlook if that is
//! better by more than `margin`. With `duplicate`, a packet of a key frame whose
//! age and cost exceed that part of `budget` also takes the second-best path, if
//! it would arrive within `budget` there.
//!
//! # Departures
//! None: there is no paper. The cost without these additions is that of
//! [DelayBBR] Eq. 14.

use serde::{Deserialize, Serialize};

use super::{Choice, PathSet, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Feedback, Params as Table, SettingError, settings, written};
use crate::event::PathId;
use crate::units::{Bytes, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const DEADLINE: SchedulerKind = SchedulerKind {
    name: "deadline",
    summary: "true one-way delays, what they may become, and no flapping",
    cites: &["DelayBBR"],
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
            jitter: 1.0,
            margin: Span::from_millis(5),
            duplicate: 0.0,
        }
    }
}

/// What was last seen of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Arrival by the receiver's clock less departure by ours, and the round trip.
    last: Option<(Span, Span)>,
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Deadline {
    params: Params,
    /// By path id.
    seen: Vec<Seen>,
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
        let parts = [params.jitter, params.duplicate];
        SettingError::unless(parts.iter().all(|part| *part >= 0.0), || {
            format!("jitter and duplicate are {parts:?}; use 0 or more")
        })?;
        Ok(Self {
            params,
            seen: Vec::new(),
            home: None,
        })
    }

    fn last(&self, path: &PathView) -> Option<(Span, Span)> {
        self.seen.get(usize::from(path.id.0))?.last
    }

    /// What an arrival reads for a packet that took no time.
    fn origin(&self, paths: &[PathView]) -> Option<Span> {
        let seen = paths.iter().filter_map(|path| self.last(path));
        let nearest = seen.min_by_key(|(_, rtt)| *rtt);
        nearest.map(|(offset, rtt)| offset - rtt / 2)
    }

    /// The delay of a packet that leaves now and waits nowhere at home.
    fn outlook(&self, path: &PathView, origin: Option<Span>) -> Span {
        let last = self.last(path);
        let delay = match (last, origin) {
            (Some((offset, _)), Some(origin)) => offset - origin,
            _ => path.delay(),
        };
        let rtt = last.map(|(_, rtt)| rtt).or(path.state.latest_rtt);
        let overdue = path.unanswered.zip(rtt).map(|(age, rtt)| age - rtt);
        delay
            + path.state.rtt_deviation * self.params.jitter
            + overdue.unwrap_or(Span::ZERO).max(Span::ZERO)
    }

    /// Where frames start, unless another path is better by more than the margin.
    fn settle(&mut self, paths: &[PathView]) {
        let origin = self.origin(paths);
        let outlook = |path: &PathView| self.outlook(path, origin);
        let Some(best) = paths.iter().min_by_key(|path| (outlook(path), path.id)) else {
            return;
        };
        let home = paths.iter().find(|path| Some(path.id) == self.home);
        let stays = home.is_some_and(|home| outlook(home) <= outlook(best) + self.params.margin);
        if !stays {
            self.home = Some(best.id);
        }
    }
}

impl Scheduler for Deadline {
    fn on_frame(&mut self, _now: Time, _size: Bytes, _packets: u64, paths: &[PathView]) {
        self.settle(paths);
    }

    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let home = |path: &PathView| Some(path.id) == self.home;
        if packet.kind.fragment().is_none() || !paths.iter().any(home) {
            self.settle(paths);
        }
        let origin = self.origin(paths);
        let arrives = |path: &PathView| {
            self.outlook(path, origin) + path.service(path.state.backlog + packet.size)
        };
        let cost = |path: &PathView| {
            let away = Some(path.id) != self.home;
            let margin = if away { self.params.margin } else { Span::ZERO };
            (arrives(path) + margin, path.id)
        };
        let Some(best) = paths.iter().min_by_key(|path| cost(path)) else {
            return Choice::Wait;
        };
        let age = now - packet.captured;
        let share = self.params.budget * self.params.duplicate;
        if packet.is_key() && share.is_positive() && age + arrives(best) > share {
            let others = paths.iter().filter(|path| path.id != best.id);
            let second = others.min_by_key(|path| cost(path));
            if let Some(second) = second
                && age + arrives(second) <= self.params.budget
            {
                return Choice::Copy(PathSet::default().with(best.id).with(second.id));
            }
        }
        Choice::Send(best.id)
    }

    fn on_feedback(&mut self, _now: Time, path: PathId, feedback: &Feedback<'_>) {
        let at = usize::from(path.0);
        if self.seen.len() <= at {
            self.seen.resize(at + 1, Seen::default());
        }
        let newest = feedback.acked.iter().max_by_key(|acked| acked.packet.number);
        if let Some(acked) = newest
            && let (Some(arrived), Some(rtt)) = (acked.arrived, acked.rtt)
        {
            self.seen[at].last = Some((arrived.offset_from(acked.packet.at), rtt));
        }
    }
}
