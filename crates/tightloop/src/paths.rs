//! Which path a packet takes.
//!
//! A [`Scheduler`] sees every path's control and state and picks one for each
//! packet. A flow with one path has the scheduler `single`; nothing else is
//! special about it.

use std::fmt;

use dyn_clone::DynClone;

use crate::cc::{Control, Feedback, Params, PathState, SettingError};
use crate::event::{Kind, PathId};
use crate::units::{Bytes, Rate, Span, Time};

pub mod blest;
pub mod deadline;
pub mod ecf;
pub mod edcld;
pub mod min_cost;
pub mod min_rtt;
pub mod round_robin;
pub mod sfl;
mod shares;
pub mod single;
pub mod wrr;

/// Every scheduler of the house.
pub const SCHEDULERS: &[SchedulerKind] = &[
    single::SINGLE,
    min_rtt::MIN_RTT,
    round_robin::ROUND_ROBIN,
    min_cost::MIN_COST,
    wrr::WRR,
    edcld::EDCLD,
    sfl::SFL,
    ecf::ECF,
    blest::BLEST,
    deadline::DEADLINE,
];

/// A packet that has not been given a path yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// What it carries.
    pub kind: Kind,
    /// Its payload.
    pub payload: Bytes,
    /// Its size in IP bytes.
    pub size: Bytes,
    /// When its content was captured; for bulk data, when it was queued.
    pub captured: Time,
    /// When it was queued to be sent.
    pub since: Time,
    /// How many frames back the one lies that its frame refers to; zero where it
    /// can be decoded alone.
    pub refers: u16,
    /// The path on which an earlier copy was lost.
    pub lost_on: Option<PathId>,
}

impl Queued {
    /// True for a part of a frame that can be decoded alone.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.kind.fragment().is_some() && self.refers == 0
    }
}

/// A path, as a scheduler sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathView {
    /// The path.
    pub id: PathId,
    /// What its controller allows.
    pub control: Control,
    /// What the session knows of it; the backlog counts packets already
    /// assigned.
    pub state: PathState,
    /// When its pacer may send next; in the past where it is idle.
    pub next_send: Time,
    /// How long ago the oldest packet in flight left. Known where there are
    /// several paths.
    pub unanswered: Option<Span>,
}

impl PathView {
    /// True where a packet of this size fits into the window now.
    #[must_use]
    pub fn has_room(&self, size: Bytes) -> bool {
        self.control
            .window
            .is_none_or(|window| self.state.in_flight + self.state.backlog + size <= window)
    }

    /// The one-way delay as far as round trips tell: half the last one; nothing
    /// before there is one, so that an unknown path is tried.
    ///
    /// The last and not the smoothed round trip: [DelayBBR] Eq. 12 gives a new
    /// sample nine tenths of the weight.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.state.latest_rtt.unwrap_or(Span::ZERO) / 2
    }

    /// What the path's controller takes it to carry.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.control.video_rate(&self.state)
    }

    /// How long these bytes take at that rate: for ever at zero, no time where
    /// the controller has no opinion yet.
    #[must_use]
    pub fn service(&self, bytes: Bytes) -> Span {
        self.rate()
            .map_or(Span::ZERO, |rate| bytes.at(rate).unwrap_or(FOR_EVER))
    }
}

/// Longer than any packet waits, and small enough to be added up. Ours: a day.
const FOR_EVER: Span = Span::from_secs(86_400);

/// The path of least delay for a packet that goes in front of all others; where
/// it was lost on one path, another if there is one. [DelayBBR]
#[must_use]
pub fn least_delay(now: Time, packet: &Queued, paths: &[PathView]) -> PathId {
    let cost = |path: &&PathView| {
        let waits = (path.next_send.max(now) - now).min(FOR_EVER);
        (
            packet.lost_on == Some(path.id),
            path.control
                .window
                .is_some_and(|window| path.state.in_flight + packet.size > window),
            path.delay() + waits,
            path.id,
        )
    };
    let best = paths.iter().min_by_key(cost);
    best.map_or(paths[0].id, |path| path.id)
}

/// A set of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathSet(u32);

impl PathSet {
    /// The most paths a flow can have.
    pub const CAPACITY: usize = 32;

    /// With a path added.
    #[must_use]
    pub const fn with(self, path: PathId) -> Self {
        Self(self.0 | (1 << path.0))
    }

    /// True where the path is in the set.
    #[must_use]
    pub const fn contains(self, path: PathId) -> bool {
        self.0 & (1 << path.0) != 0
    }
}

/// A scheduler's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Send it on this path.
    Send(PathId),
    /// Send a copy on each of these.
    Copy(PathSet),
    /// Keep it in the session's queue. After the next feedback, timeout or
    /// departure on any path the queue is asked about again in its order, until
    /// one has to wait still.
    Wait,
}

/// Picks a path for each packet.
pub trait Scheduler: DynClone + fmt::Debug + Send {
    /// Which path? `paths` holds those that are up, by rising id; it is never
    /// empty.
    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice;

    /// Which path for a packet that was lost, or was under way on a path that
    /// went down? It goes in front of all others there.
    fn pick_again(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        Choice::Send(least_delay(now, packet, paths))
    }

    /// A frame of this many bytes and packets is about to be scheduled.
    fn on_frame(&mut self, _now: Time, _size: Bytes, _packets: u64, _paths: &[PathView]) {}

    /// News on a path.
    fn on_feedback(&mut self, _now: Time, _path: PathId, _feedback: &Feedback<'_>) {}
}

dyn_clone::clone_trait_object!(Scheduler);

/// An entry of [`SCHEDULERS`].
#[derive(Clone, Copy, Debug)]
pub struct SchedulerKind {
    /// The name scenarios use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Keys of REFERENCES.md.
    pub cites: &'static [&'static str],
    /// The settings that it has where a scenario says nothing.
    pub defaults: fn() -> Params,
    /// Builds one.
    pub new: fn(&Params) -> Result<Box<dyn Scheduler>, SettingError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn packet() -> Queued {
        Queued {
            kind: Kind::Bulk,
            payload: Bytes::new(1444),
            size: Bytes::new(1500),
            captured: Time::ZERO,
            since: Time::ZERO,
            refers: 0,
            lost_on: None,
        }
    }

    /// A path with this smoothed RTT and room for this many packets.
    pub(super) fn view(id: u8, rtt_ms: i64, room: u64) -> PathView {
        PathView {
            id: PathId(id),
            control: Control {
                window: Some(Bytes::new(1500) * room),
                ..Control::default()
            },
            state: PathState {
                latest_rtt: Some(Span::from_millis(rtt_ms)),
                smoothed_rtt: Some(Span::from_millis(rtt_ms)),
                ..PathState::default()
            },
            next_send: Time::ZERO,
            unanswered: None,
        }
    }

    /// A path with this round-trip time and rate, and this much in its pacer.
    pub(super) fn queue(id: u8, rtt_ms: i64, kbps: u64, backlog: u64) -> PathView {
        let mut view = view(id, rtt_ms, 0);
        view.control = Control {
            pacing: Some(Rate::from_kbps(kbps)),
            ..Control::default()
        };
        view.state.backlog = Bytes::new(backlog);
        view
    }

    /// How many of so many packets of 1500 bytes each path gets, as a frame.
    pub(super) fn split(
        scheduler: &mut dyn Scheduler,
        now: Time,
        packets: u64,
        paths: &mut [PathView],
    ) -> Vec<u64> {
        let size = packet().size;
        scheduler.on_frame(now, size * packets, packets, paths);
        let mut got = vec![0; paths.len()];
        for _ in 0..packets {
            let Choice::Send(id) = scheduler.pick(now, &packet(), paths) else {
                continue;
            };
            let at = usize::from(id.0);
            got[at] += 1;
            paths[at].state.backlog += size;
        }
        got
    }

    #[test]
    fn what_was_lost_goes_where_it_is_fastest_and_not_where_it_was_lost() {
        let paths = [view(0, 20, 10), view(1, 60, 10), view(2, 40, 10)];
        let on = |lost_on: Option<u8>, paths: &[PathView]| {
            let packet = Queued {
                lost_on: lost_on.map(PathId),
                ..packet()
            };
            least_delay(Time::ZERO, &packet, paths).0
        };
        assert_eq!([on(None, &paths), on(Some(0), &paths)], [0, 2]);
        assert_eq!(on(Some(0), &paths[..1]), 0, "there is no other");
        let mut full = paths;
        full[2].state.in_flight = Bytes::new(15_000);
        assert_eq!(on(Some(0), &full), 1);
        let mut busy = paths;
        busy[2].next_send = Time::from_millis(11);
        assert_eq!(on(Some(0), &busy), 1, "20 + 11 ms against 30 ms");
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let set = PathSet::default().with(PathId(0)).with(PathId(31));
        let members: Vec<u8> = (0..32).filter(|id| set.contains(PathId(*id))).collect();
        assert_eq!(members, [0, 31]);
    }
}
