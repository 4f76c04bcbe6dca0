//! Round robin: each path in its turn, packet by packet.
//!
//! Paths whose window is full are passed over; where all are full the turn is
//! kept and the packet queues on the path whose turn it is.

use super::single::NoSettings;
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params, settings};
use crate::units::Time;

/// The entry in [`super::SCHEDULERS`].
pub const ROUND_ROBIN: SchedulerKind = SchedulerKind {
    name: "round_robin",
    summary: "each path in its turn, packet by packet",
    cites: &[],
    defaults: Params::new,
    new: |params: &Params| {
        settings::<NoSettings>(params)?;
        Ok(Box::new(RoundRobin::default()))
    },
};

/// The scheduler.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    turn: usize,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, _now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let order = (0..paths.len()).map(|step| (self.turn + step) % paths.len());
        let chosen = order
            .clone()
            .find(|&at| paths[at].has_room(packet.size))
            .unwrap_or(self.turn % paths.len());
        self.turn = chosen + 1;
        Choice::Send(paths[chosen].id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, view};
    use super::*;

    #[test]
    fn takes_turns_and_passes_over_full_windows() {
        let mut scheduler = RoundRobin::default();
        let mut pick = |paths: &[PathView]| match scheduler.pick(Time::ZERO, &packet(), paths) {
            Choice::Send(path) => path.0,
            other => panic!("{other:?}"),
        };
        let free = [view(0, 10, 10), view(1, 10, 10), view(2, 10, 10)];
        assert_eq!(
            [pick(&free), pick(&free), pick(&free), pick(&free)],
            [0, 1, 2, 0]
        );
        let second_full = [view(0, 10, 10), view(1, 10, 0), view(2, 10, 10)];
        assert_eq!([pick(&second_full), pick(&second_full)], [2, 0]);
        let all_full = [view(0, 10, 0), view(1, 10, 0), view(2, 10, 0)];
        assert_eq!([pick(&all_full), pick(&all_full)], [1, 2]);
    }
}
