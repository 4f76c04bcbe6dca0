//! Which path a packet takes.
//!
//! A [`Scheduler`] sees every path's control and state and picks one for each
//! packet. A flow with one path has the scheduler `single`; nothing else is
//! special about it.

use std::fmt;

use dyn_clone::DynClone;

use crate::cc::{Control, Feedback, Params, PathState, SettingError};
use crate::event::{Kind, PathId};
use crate::units::{Bytes, Time};

pub mod min_rtt;
pub mod round_robin;
pub mod single;

/// Every scheduler of the house.
pub const SCHEDULERS: &[SchedulerKind] =
    &[single::SINGLE, min_rtt::MIN_RTT, round_robin::ROUND_ROBIN];

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
}

impl PathView {
    /// True where a packet of this size fits into the window now.
    #[must_use]
    pub fn has_room(&self, size: Bytes) -> bool {
        self.control
            .window
            .is_none_or(|window| self.state.in_flight + self.state.backlog + size <= window)
    }
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
    /// Keep it in the session's queue; ask again after the next feedback,
    /// timeout or departure on any path.
    Wait,
}

/// Picks a path for each packet.
pub trait Scheduler: DynClone + fmt::Debug + Send {
    /// Which path? `paths` is never empty.
    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice;

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
    use crate::units::Span;

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
                smoothed_rtt: Some(Span::from_millis(rtt_ms)),
                ..PathState::default()
            },
            next_send: Time::ZERO,
        }
    }

    #[test]
    fn a_set_holds_what_was_added() {
        let set = PathSet::default().with(PathId(0)).with(PathId(31));
        let members: Vec<u8> = (0..32).filter(|id| set.contains(PathId(*id))).collect();
        assert_eq!(members, [0, 31]);
    }
}
