//! Minimum RTT: the path with room that answers fastest.
//!
//! The default of MPTCP's reference implementation: among paths whose window
//! has room, the one with the smallest smoothed round-trip time; where none has
//! room, the fastest path's queue. A path without a sample is tried first, or
//! it would never get one.

use super::single::NoSettings;
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params, settings};
use crate::units::{Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const MIN_RTT: SchedulerKind = SchedulerKind {
    name: "min_rtt",
    summary: "the path with room that answers fastest",
    cites: &["MPTCP-Scheduling"],
    defaults: Params::new,
    new: |params: &Params| {
        settings::<NoSettings>(params)?;
        Ok(Box::new(MinRtt))
    },
};

/// The scheduler.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt;

impl Scheduler for MinRtt {
    fn pick(&mut self, _now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let cost = |path: &PathView| {
            (
                !path.has_room(packet.size),
                path.state.smoothed_rtt.unwrap_or(Span::ZERO),
                path.id,
            )
        };
        let best = paths.iter().min_by_key(|path| cost(path));
        Choice::Send(best.map_or(paths[0].id, |path| path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, view};
    use super::*;
    use crate::event::PathId;

    #[test]
    fn picks_the_fastest_with_room_and_tries_the_unknown_first() {
        let pick = |paths: &[PathView]| MinRtt.pick(Time::ZERO, &packet(), paths);
        let send = |id| Choice::Send(PathId(id));
        assert_eq!(pick(&[view(0, 50, 10), view(1, 20, 10)]), send(1));
        assert_eq!(pick(&[view(0, 50, 10), view(1, 20, 0)]), send(0));
        assert_eq!(pick(&[view(0, 50, 0), view(1, 20, 0)]), send(1));
        let mut unknown = view(1, 0, 10);
        unknown.state.smoothed_rtt = None;
        assert_eq!(pick(&[view(0, 5, 10), unknown]), send(1));
    }
}
