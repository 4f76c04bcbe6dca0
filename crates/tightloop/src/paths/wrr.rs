//! Weighted round robin: packets in proportion to the paths' rates.
//!
//! # Idea
//! A path that carries twice as much gets twice as many packets of each frame,
//! interleaved.
//!
//! # Signals
//! The rate each path's controller takes it to carry.
//!
//! # Law
//! `w_p = c_p / Σ c`. [DelayBBR] Eq. 16. For a frame of `N` packets the integer
//! weights are `round(N w_p)`, served in the usual rounds: a path has a turn
//! while its weight is not below the current level, which falls by the greatest
//! common divisor of all weights. Frames of one packet take the paths in turn.
//!
//! # Departures
//! Where all weights round to nothing the path of the highest rate has weight
//! one. Packets that belong to no frame take the paths in turn.

use smallvec::SmallVec;

use super::single::NoSettings;
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params, settings};
use crate::event::PathId;
use crate::units::{Bytes, Rate, Time, count, float, round};

/// The entry in [`super::SCHEDULERS`].
pub const WRR: SchedulerKind = SchedulerKind {
    name: "wrr",
    summary: "packets in proportion to the paths' rates",
    cites: &["DelayBBR"],
    defaults: Params::new,
    new: |params: &Params| {
        settings::<NoSettings>(params)?;
        Ok(Box::new(Wrr::default()))
    },
};

/// The scheduler.
#[derive(Clone, Debug, Default)]
pub struct Wrr {
    /// Each path's weight in this frame.
    weights: SmallVec<[(PathId, u64); 4]>,
    at: usize,
    level: u64,
    /// Packets of this frame still to come.
    left: u64,
    /// Whose turn it is where there are no weights.
    turn: usize,
}

impl Wrr {
    fn in_turn(&mut self, paths: &[PathView]) -> PathId {
        let at = self.turn % paths.len();
        self.turn = at + 1;
        paths[at].id
    }

    fn by_weight(&mut self) -> Option<PathId> {
        let step = self
            .weights
            .iter()
            .fold(0, |all, (_, weight)| gcd(all, *weight));
        let most = self.weights.iter().map(|(_, weight)| *weight).max()?;
        // Each level is met by at least one path, so two rounds find one.
        for _ in 0..=2 * self.weights.len() {
            if self.at >= self.weights.len() {
                self.at = 0;
                self.level = self.level.saturating_sub(step);
            }
            if self.level == 0 {
                self.level = most;
            }
            let (path, weight) = self.weights[self.at];
            self.at += 1;
            if weight >= self.level {
                return Some(path);
            }
        }
        None
    }
}

impl Scheduler for Wrr {
    fn on_frame(&mut self, _now: Time, _size: Bytes, packets: u64, paths: &[PathView]) {
        self.left = packets;
        self.at = 0;
        self.level = 0;
        self.weights.clear();
        if packets < 2 {
            return;
        }
        let rates = || paths.iter().map(|path| path.rate().unwrap_or(Rate::ZERO));
        let sum = rates().fold(Rate::ZERO, |sum, rate| sum + rate);
        for (path, rate) in paths.iter().zip(rates()) {
            let share = match sum {
                Rate::ZERO => 1.0 / float(count(paths.len())),
                sum => rate.ratio(sum),
            };
            self.weights.push((path.id, round(float(packets) * share)));
        }
        if self.weights.iter().all(|(_, weight)| *weight == 0) {
            let best = paths.iter().max_by_key(|path| path.rate());
            for (path, weight) in &mut self.weights {
                *weight = u64::from(best.is_some_and(|best| best.id == *path));
            }
        }
    }

    fn pick(&mut self, _now: Time, _packet: &Queued, paths: &[PathView]) -> Choice {
        let framed = self.left > 0 && !self.weights.is_empty();
        self.left = self.left.saturating_sub(1);
        let chosen = if framed { self.by_weight() } else { None };
        Choice::Send(chosen.unwrap_or_else(|| self.in_turn(paths)))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{packet, queue, split};
    use super::*;

    fn order(wrr: &mut Wrr, packets: u64, paths: &[PathView]) -> Vec<u8> {
        wrr.on_frame(Time::ZERO, Bytes::new(1500) * packets, packets, paths);
        let pick = |_| match wrr.pick(Time::ZERO, &packet(), paths) {
            Choice::Send(id) => id.0,
            other => panic!("{other:?}"),
        };
        (0..packets).map(pick).collect()
    }

    #[test]
    fn a_frame_is_divided_by_rate_and_interleaved() {
        // 9 packets over 2 and 1 Mbit/s: weights 6 and 3, divisor 3.
        let paths = [queue(0, 40, 2_000, 0), queue(1, 40, 1_000, 0)];
        let mut wrr = Wrr::default();
        assert_eq!(order(&mut wrr, 9, &paths), [0, 0, 1, 0, 0, 1, 0, 0, 1]);
        assert_eq!(split(&mut wrr, Time::ZERO, 9, &mut paths.clone()), [6, 3]);
        // 5 packets: round(3.33) and round(1.67), that is 3 and 2.
        assert_eq!(split(&mut wrr, Time::ZERO, 5, &mut paths.clone()), [3, 2]);
    }

    #[test]
    fn frames_of_one_packet_take_turns() {
        let paths = [queue(0, 40, 2_000, 0), queue(1, 40, 1_000, 0)];
        let mut wrr = Wrr::default();
        let turns: Vec<u8> = (0..4).flat_map(|_| order(&mut wrr, 1, &paths)).collect();
        assert_eq!(turns, [0, 1, 0, 1]);
    }

    proptest::proptest! {
        #[test]
        fn every_path_has_its_share_to_one_packet(packets in 2u64..200, a in 1u64..9_000, b in 1u64..9_000) {
            let mut paths = [queue(0, 40, a, 0), queue(1, 40, b, 0)];
            let got = split(&mut Wrr::default(), Time::ZERO, packets, &mut paths);
            let share = float(packets) * float(a) / float(a + b);
            proptest::prop_assert!((float(got[0]) - share).abs() <= 1.0, "{got:?} {share}");
            proptest::prop_assert_eq!(got[0] + got[1], packets);
        }
    }
}
