//! Min-cost: each packet on the path where it is expected to arrive first.
//!
//! # Idea
//! A packet that waits in a pacer is as late as one that waits in the network.
//! Add both up, packet by packet, and take the smaller sum.
//!
//! # Signals
//! Each path's last round-trip time, the rate its controller takes it to carry,
//! and the bytes in its pacer, those already assigned from the same frame
//! included.
//!
//! # Law
//! `C_p = RTT_p / 2 + Q_p / c_p`; the packet takes the path of least `C_p`, the
//! first of equals. [DelayBBR] Eqs. 14 and 15, Alg. 6.
//!
//! # Departures
//! Time is in nanoseconds where the paper's program has whole milliseconds. A
//! path without a round trip or a rate yet costs nothing, so that it is tried.

use super::single::NoSettings;
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params, settings};
use crate::units::{Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const MIN_COST: SchedulerKind = SchedulerKind {
    name: "min_cost",
    summary: "the path where pacer and half a round trip are shortest together",
    cites: &["DelayBBR"],
    defaults: Params::new,
    new: |params: &Params| {
        settings::<NoSettings>(params)?;
        Ok(Box::new(MinCost))
    },
};

/// The scheduler.
#[derive(Clone, Copy, Debug)]
pub struct MinCost;

impl Scheduler for MinCost {
    fn pick(&mut self, _now: Time, _packet: &Queued, paths: &[PathView]) -> Choice {
        let cost = |path: &&PathView| (cost(path), path.id);
        let best = paths.iter().min_by_key(cost);
        Choice::Send(best.map_or(paths[0].id, |path| path.id))
    }
}

fn cost(path: &PathView) -> Span {
    path.delay() + path.service(path.state.backlog)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{queue, split};
    use super::*;

    #[test]
    fn costs_are_the_papers_by_hand() {
        // 60 ms there and back, and 15 kB at 3 Mbit/s: 30 + 40 ms.
        assert_eq!(cost(&queue(0, 60, 3_000, 15_000)), Span::from_millis(70));
        assert_eq!(cost(&queue(0, 60, 3_000, 0)), Span::from_millis(30));
    }

    #[test]
    fn a_frame_fills_the_fast_path_up_to_the_slow_ones_level() {
        // 1500 B take 6 ms and 12 ms, and the second path is 24 ms farther. Five
        // packets bring the first to 50 ms against 44; then the second, at 56,
        // is no cheaper before the end.
        let mut paths = [queue(0, 40, 2_000, 0), queue(1, 88, 1_000, 0)];
        let mut scheduler = MinCost;
        let got = split(&mut scheduler, Time::ZERO, 8, &mut paths);
        assert_eq!(got, [7, 1]);
        let gap = cost(&paths[0]) - cost(&paths[1]);
        assert!(gap.abs() <= Span::from_millis(12), "{gap}");
    }

    #[test]
    fn no_assignment_leaves_a_cheaper_path_by_more_than_a_packet() {
        for (rtts, rates) in [
            ([10, 200], [4_000, 1_000]),
            ([100, 100], [1_000, 3_000]),
            ([30, 90], [700, 2_900]),
        ] {
            let mut paths = [
                queue(0, rtts[0], rates[0], 0),
                queue(1, rtts[1], rates[1], 0),
            ];
            split(&mut MinCost, Time::ZERO, 60, &mut paths);
            let packet = paths.map(|path| path.service(super::super::tests::packet().size));
            let gap = (cost(&paths[0]) - cost(&paths[1])).abs();
            assert!(gap <= packet[0].max(packet[1]), "{rtts:?} {rates:?}: {gap}");
        }
    }
}
