//! Deadline: each packet, at the last moment, on the path where it helps its
//! frame most.
//!
//! # Idea
//! What is assigned early is assigned by guess: rates change while packets wait
//! in a pacer. So packets wait in common, and a path gets one when it can send
//! it. A frame is as late as its last packet; a slow path that is free is used
//! only if it delivers before the others are done with all that waits. Delays
//! are compared by the receiver's clock, which all paths share. An answer that
//! is overdue counts at once; what varies counts as longer than it is; and a
//! path is not left for another that is hardly better.
//!
//! # Signals
//! Arrival times, round trips and their deviation, the age of the oldest packet
//! in flight, each path's rate, window, pacer and backlog; how much of the
//! frames waits.
//!
//! # Law
//! - delay: `o_p − o_a + RTT_a / 2`, `o` being arrival less departure of the packet
//!   acknowledged last, and `a` the path of least round trip: the difference
//!   is exact, and half a round trip is taken where it is shortest. `recent` of
//!   it and the rest its average over `horizon`
//! - outlook: delay + `jitter` · deviation + what the oldest packet in flight is
//!   overdue beyond the last round trip
//! - arrival `A_p`: outlook + time until the pacer is free + backlog / rate; and
//!   `margin` for every path but the home path
//! - of the paths with no backlog and room in the window, the one of least `A_p`
//!   gets the packet if `A_p ≤ ℓ`; else it waits. `ℓ` solves
//!   `Σ_{q ≠ p} c_q max(0, ℓ − A_q) =` all that waits
//! - with each frame the home path becomes the one of least outlook, if that is
//!   better by more than `margin`
//! - a packet of a key frame whose age and `A_p` exceed `duplicate · budget` also
//!   takes the second-best path, where it arrives within `budget`
//!
//! # Departures
//! None: there is no paper. Waiting for a better path is an idea of [ECF], the
//! level one of [DelayBBR] Alg. 7.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::ecf::Unassigned;
use super::{Choice, FOR_EVER, PathSet, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Feedback, Params as Table, SettingError, settings, written};
use crate::event::PathId;
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const DEADLINE: SchedulerKind = SchedulerKind {
    name: "deadline",
    summary: "late choice by true one-way delays and what they may become",
    cites: &["DelayBBR", "ECF", "G114"],
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
    /// What the last delay weighs against its average. Ours: half.
    pub recent: f64,
    /// The time over which delays are averaged. Ours: one second.
    pub horizon: Span,
    /// Paths are used while those before carry the video less than so far used
    /// up. Ours: 0.85, which leaves pacers room to catch up.
    pub fill: f64,
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
            recent: 0.5,
            horizon: Span::from_secs(1),
            fill: 0.85,
            jitter: 1.0,
            margin: Span::from_millis(5),
            duplicate: 0.0,
        }
    }
}

/// What the newest frame weighs in the rate of the frames. Ours: an eighth, so
/// that single large frames change nothing.
const LOAD_GAIN: f64 = 0.125;

/// What was seen of a path.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    /// Arrival by the receiver's clock less departure by ours, of the packet
    /// acknowledged last.
    offset: Span,
    /// Its average.
    average: Span,
    /// The round trip of that packet.
    rtt: Span,
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Deadline {
    params: Params,
    /// By path id.
    seen: Vec<Option<Seen>>,
    home: Option<PathId>,
    unassigned: Unassigned,
    /// When the last frame came.
    framed: Option<Time>,
    /// The rate of the frames.
    load: Option<Rate>,
    /// What each path still has to take of this frame, by path id.
    quota: Vec<Bytes>,
}

impl Deadline {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, times that are none, negative values.
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        for (name, span) in [("budget", params.budget), ("horizon", params.horizon)] {
            SettingError::unless(span.is_positive(), || {
                format!("{name} = {span} is no time; use more than 0 s")
            })?;
        }
        SettingError::unless(params.margin >= Span::ZERO, || {
            format!("margin = {} is negative; use 0 s or more", params.margin)
        })?;
        SettingError::unless((0.0..=1.0).contains(&params.recent), || {
            format!("recent = {} is no weight; use 0 to 1", params.recent)
        })?;
        let parts = [params.jitter, params.duplicate];
        SettingError::unless(parts.iter().all(|part| *part >= 0.0), || {
            format!("jitter and duplicate are {parts:?}; use 0 or more")
        })?;
        Ok(Self {
            params,
            seen: Vec::new(),
            home: None,
            unassigned: Unassigned::default(),
            framed: None,
            load: None,
            quota: Vec::new(),
        })
    }

    fn seen(&self, path: &PathView) -> Option<Seen> {
        self.seen.get(usize::from(path.id.0)).copied().flatten()
    }

    /// What the receiver's clock reads for a packet that took no time.
    fn origin(&self, paths: &[PathView]) -> Option<Span> {
        let seen = paths.iter().filter_map(|path| self.seen(path));
        let nearest = seen.min_by_key(|seen| seen.rtt);
        nearest.map(|seen| seen.offset - seen.rtt / 2)
    }

    /// The delay of a packet that leaves now.
    fn outlook(&self, path: &PathView, origin: Option<Span>) -> Span {
        let seen = self.seen(path);
        let delay = match (seen, origin) {
            (Some(seen), Some(origin)) => {
                seen.average + (seen.offset - seen.average) * self.params.recent - origin
            }
            _ => path.delay(),
        };
        let rtt = seen.map(|seen| seen.rtt).or(path.state.latest_rtt);
        let overdue = path.unanswered.zip(rtt).map(|(age, rtt)| age - rtt);
        delay
            + path.state.rtt_deviation * self.params.jitter
            + overdue.unwrap_or(Span::ZERO).max(Span::ZERO)
    }

    /// When a packet assigned now would arrive, from now.
    fn arrival(&self, now: Time, path: &PathView, origin: Option<Span>) -> Span {
        let away = Some(path.id) != self.home;
        let margin = if away { self.params.margin } else { Span::ZERO };
        let pacer = (path.next_send.max(now) - now).min(FOR_EVER);
        self.outlook(path, origin) + pacer + path.service(path.state.backlog) + margin
    }

    /// The rate of the frames, averaged.
    fn measure(&mut self, now: Time, size: Bytes) {
        let gap = self.framed.replace(now).map(|last| now - last);
        let Some(rate) = gap.and_then(|gap| size.per(gap)) else {
            return;
        };
        let old = self.load.unwrap_or(rate).bps_f64();
        self.load = Some(Rate::from_bps_f64(old + (rate.bps_f64() - old) * LOAD_GAIN));
    }

    /// Each path's part of a frame, in proportion to what they carry, over as
    /// few as carry the load.
    fn ration(&mut self, size: Bytes, paths: &[PathView]) {
        self.quota.clear();
        let Some(load) = self.load else {
            return;
        };
        let origin = self.origin(paths);
        let mut order: SmallVec<[&PathView; 4]> = paths.iter().collect();
        order.sort_by_key(|path| {
            let away = Some(path.id) != self.home;
            (away, self.outlook(path, origin), path.id)
        });
        let rate = |path: &PathView| path.rate().unwrap_or(Rate::ZERO);
        // What each takes where it is used up as far as it may be; then what is
        // left, by rate.
        let part = |path: &PathView| size.get_f64() * rate(path).ratio(load);
        let mut left = size.get_f64();
        let all: f64 = order.iter().map(|path| part(path)).sum();
        let most = order.iter().map(|path| usize::from(path.id.0)).max();
        self.quota.resize(most.unwrap_or(0) + 1, Bytes::ZERO);
        let over = (size.get_f64() - all * self.params.fill).max(0.0);
        for path in order {
            let takes = (part(path) * self.params.fill).min(left);
            left -= takes;
            let more = if all > 0.0 { over * part(path) / all } else { 0.0 };
            let takes = Bytes::from_f64(takes + more);
            let home = Some(path.id) == self.home;
            self.quota[usize::from(path.id.0)] = match home {
                true => Bytes::ZERO,
                false => takes.saturating_sub(path.state.backlog),
            };
        }
    }

    fn quota(&mut self, path: PathId) -> &mut Bytes {
        let at = usize::from(path.0);
        if self.quota.len() <= at {
            self.quota.resize(at + 1, Bytes::ZERO);
        }
        &mut self.quota[at]
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

/// When vessels that begin at `arrival` have taken in so many bytes, each at its
/// rate. Without any vessel, or any rate, that is never.
fn level(bytes: Bytes, vessels: impl Iterator<Item = (Span, Rate)> + Clone) -> Span {
    let filled = |level: Span| -> Bytes {
        vessels
            .clone()
            .map(|(arrival, rate)| rate.over((level - arrival).max(Span::ZERO)))
            .fold(Bytes::ZERO, |sum, more| sum + more)
    };
    // The level is where the vessels that begin below it end together.
    let mut best = FOR_EVER;
    for (highest, _) in vessels.clone() {
        let under = vessels.clone().filter(|(arrival, _)| *arrival <= highest);
        let rate = under.fold(Rate::ZERO, |sum, (_, rate)| sum + rate);
        let missing = bytes.saturating_sub(filled(highest));
        if let Some(more) = missing.at(rate) {
            best = best.min(highest + more);
        }
    }
    best
}

impl Scheduler for Deadline {
    fn on_frame(&mut self, now: Time, size: Bytes, _packets: u64, paths: &[PathView]) {
        self.unassigned.on_frame(size);
        self.measure(now, size);
        self.settle(paths);
        self.ration(size, paths);
    }

    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        if !paths.iter().any(|path| Some(path.id) == self.home) {
            self.settle(paths);
        }
        let owed = |path: &&PathView| {
            let quota = self.quota.get(usize::from(path.id.0));
            let owed = quota.is_some_and(|quota| *quota * 2 >= packet.size);
            owed && path.has_room(packet.size)
        };
        if let Some(path) = paths.iter().find(owed) {
            let quota = self.quota(path.id);
            *quota = quota.saturating_sub(packet.size);
            self.unassigned.assigned(packet);
            return Choice::Send(path.id);
        }
        let origin = self.origin(paths);
        let arrival = |path: &PathView| self.arrival(now, path, origin);
        let free = |path: &&PathView| {
            path.state.backlog == Bytes::ZERO && path.has_room(packet.size)
        };
        let free = paths.iter().filter(free);
        let Some(best) = free.min_by_key(|path| (arrival(path), path.id)) else {
            return Choice::Wait;
        };
        let others = || paths.iter().filter(|path| path.id != best.id);
        let vessels = others().map(|path| (arrival(path), path.rate().unwrap_or(Rate::ZERO)));
        let first = arrival(best);
        if first > level(self.unassigned.with(packet), vessels) {
            return Choice::Wait;
        }
        let age = now - packet.captured;
        let share = self.params.budget * self.params.duplicate;
        let urgent = packet.is_key() && share.is_positive() && age + first > share;
        let second = others()
            .filter(|path| urgent && age + arrival(path) <= self.params.budget)
            .min_by_key(|path| (arrival(path), path.id));
        let choice = match second {
            Some(second) => Choice::Copy(PathSet::default().with(best.id).with(second.id)),
            None => Choice::Send(best.id),
        };
        self.unassigned.assigned(packet);
        choice
    }

    fn on_feedback(&mut self, now: Time, path: PathId, feedback: &Feedback<'_>) {
        let newest = feedback.acked.iter().max_by_key(|acked| acked.packet.number);
        let Some((acked, arrived, rtt)) =
            newest.and_then(|acked| Some((acked, acked.arrived?, acked.rtt?)))
        else {
            return;
        };
        let at = usize::from(path.0);
        if self.seen.len() <= at {
            self.seen.resize(at + 1, None);
        }
        let offset = arrived.offset_from(acked.packet.at);
        let average = self.seen[at].map_or(offset, |seen| {
            let gain = (now - seen.at).ratio(self.params.horizon).min(1.0);
            seen.average + (offset - seen.average) * gain
        });
        self.seen[at] = Some(Seen {
            at: now,
            offset,
            average,
            rtt,
        });
    }
}
