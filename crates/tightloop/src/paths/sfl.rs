//! SFL: a frame as water, poured until it stands equally high on all paths.
//!
//! # Idea
//! A frame is there when its last packet is. Give each path as much as it can
//! deliver until one moment, the same for all, and choose that moment so that
//! the frame just fits.
//!
//! # Signals
//! Each path's one-way delay, as half its last round-trip time, and the rate
//! its controller takes it to carry.
//!
//! # Law
//! The level `ℓ` solves `Σ_i max(0, ℓ − d_i) · c_i = frame`; path `i` gets
//! `(ℓ − d_i) c_i` bytes. Packets go to the path of least delay until it has its
//! bytes, then to the next, and the last takes the rest. A frame of one packet
//! takes the path of least delay. [DelayBBR] Alg. 7.
//!
//! # Departures
//! The level is computed, where the paper raises it packet by packet from the
//! largest delay on. With two paths that is the same to a packet; with more,
//! its small frames all go to the fastest path and ours are level too. What
//! already waits in the pacers is not looked at, as in the paper: a pacer whose
//! rate falls then fills up and is never relieved. `backlog = true` counts that
//! wait as delay.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, settings, written};
use crate::event::PathId;
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const SFL: SchedulerKind = SchedulerKind {
    name: "sfl",
    summary: "each frame poured over the paths until all end together",
    cites: &["DelayBBR"],
    defaults: || written(&Params::default()),
    new: |params: &Table| {
        Ok(Box::new(Sfl {
            params: settings(params)?,
            ..Sfl::default()
        }))
    },
};

/// Settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Count the wait in a path's pacer as delay. [DelayBBR] Alg. 7: no.
    pub backlog: bool,
}

/// The scheduler.
#[derive(Clone, Debug, Default)]
pub struct Sfl {
    params: Params,
    /// What each path still gets of this frame, the fastest first.
    plan: SmallVec<[(PathId, Bytes); 4]>,
}

/// One path as a vessel.
#[derive(Clone, Copy, Debug)]
struct Vessel {
    path: PathId,
    delay: Span,
    rate: Rate,
}

/// How high the water stands. `vessels` come by rising delay; `None` where none
/// of them carries anything.
fn level(frame: Bytes, vessels: &[Vessel]) -> Option<Span> {
    // Bytes per second, and bytes as if each vessel had been filled from zero.
    let (mut width, mut volume) = (0.0, frame.get_f64());
    for (nth, vessel) in vessels.iter().enumerate() {
        let wide = vessel.rate.over(Span::from_secs(1)).get_f64();
        width += wide;
        volume += wide * vessel.delay.secs_f64();
        let next = vessels.get(nth + 1).map(|next| next.delay.secs_f64());
        let level = volume / width;
        if width > 0.0 && next.is_none_or(|next| level <= next) {
            return Some(Span::from_secs_f64(level));
        }
    }
    None
}

impl Scheduler for Sfl {
    fn on_frame(&mut self, _now: Time, size: Bytes, packets: u64, paths: &[PathView]) {
        let waits = |path: &PathView| match self.params.backlog {
            true => path.service(path.state.backlog),
            false => Span::ZERO,
        };
        let vessel = |path: &PathView| Vessel {
            path: path.id,
            delay: path.delay() + waits(path),
            rate: path.rate().unwrap_or(Rate::ZERO),
        };
        let mut vessels: SmallVec<[Vessel; 4]> = paths.iter().map(vessel).collect();
        vessels.sort_by_key(|vessel| (vessel.delay, vessel.path));
        let level = level(size, &vessels).filter(|_| packets > 1);
        let bytes = |vessel: &Vessel| match level {
            Some(level) => vessel.rate.over((level - vessel.delay).max(Span::ZERO)),
            None => Bytes::ZERO,
        };
        self.plan.clear();
        self.plan
            .extend(vessels.iter().map(|vessel| (vessel.path, bytes(vessel))));
        if level.is_none()
            && let Some((_, first)) = self.plan.first_mut()
        {
            *first = size;
        }
    }

    fn pick(&mut self, _now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        let up = |path: PathId| paths.iter().any(|other| other.id == path);
        // A packet belongs where the larger part of it fits.
        let fits = |left: Bytes| left * 2 >= packet.size;
        let planned = self
            .plan
            .iter_mut()
            .find(|(path, left)| fits(*left) && up(*path));
        if let Some((path, left)) = planned {
            *left = left.saturating_sub(packet.size);
            return Choice::Send(*path);
        }
        // The last with any part of the frame takes the rest.
        let last = self
            .plan
            .iter()
            .rev()
            .find(|(path, left)| *left > Bytes::ZERO && up(*path));
        let fastest = paths.iter().min_by_key(|path| (path.delay(), path.id));
        let fastest = fastest.map_or(paths[0].id, |path| path.id);
        Choice::Send(last.map_or(fastest, |(path, _)| *path))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{queue, split};
    use super::*;

    fn vessel(id: u8, delay_ms: i64, kbps: u64) -> Vessel {
        Vessel {
            path: PathId(id),
            delay: Span::from_millis(delay_ms),
            rate: Rate::from_kbps(kbps),
        }
    }

    #[test]
    fn levels_are_equal_by_hand() {
        // 15 kB over 2 Mbit/s after 20 ms and 1 Mbit/s after 44 ms: the first
        // carries 6 kB until 44 ms; 9 kB more at 3 Mbit/s take 24 ms.
        let two = [vessel(0, 20, 2_000), vessel(1, 44, 1_000)];
        assert_eq!(level(Bytes::new(15_000), &two), Some(Span::from_millis(68)));
        // 3 kB stay below the second path's delay.
        assert_eq!(level(Bytes::new(3_000), &two), Some(Span::from_millis(32)));
        assert_eq!(level(Bytes::new(3_000), &[vessel(0, 20, 0)]), None);
        let mut paths = [queue(0, 40, 2_000, 0), queue(1, 88, 1_000, 0)];
        // 12 kB and 3 kB.
        let got = split(&mut Sfl::default(), Time::ZERO, 10, &mut paths);
        assert_eq!(got, [8, 2]);
    }

    #[test]
    fn what_waits_is_delay_only_where_told_so() {
        // 6 kB at 2 Mbit/s are the 24 ms between the two paths.
        let paths = [queue(0, 40, 2_000, 6_000), queue(1, 88, 1_000, 0)];
        let mut literal = Sfl::default();
        assert_eq!(
            split(&mut literal, Time::ZERO, 6, &mut paths.clone()),
            [5, 1]
        );
        let mut with_backlog = Sfl {
            params: Params { backlog: true },
            ..Sfl::default()
        };
        assert_eq!(
            split(&mut with_backlog, Time::ZERO, 6, &mut paths.clone()),
            [4, 2]
        );
    }

    #[test]
    fn a_frame_of_one_packet_takes_the_fastest_path() {
        let mut paths = [queue(0, 40, 9_000, 0), queue(1, 38, 1_000, 0)];
        assert_eq!(
            split(&mut Sfl::default(), Time::ZERO, 1, &mut paths),
            [0, 1]
        );
    }

    proptest! {
        #[test]
        fn the_water_is_all_poured_and_no_vessel_stands_higher(
            frame in 1_000u64..1_000_000,
            vessels in prop::collection::vec((0i64..300, 1u64..20_000), 1..5),
        ) {
            let mut vessels: Vec<Vessel> = (0..).zip(vessels)
                .map(|(id, (delay, kbps))| vessel(id, delay, kbps)).collect();
            vessels.sort_by_key(|vessel| vessel.delay);
            let frame = Bytes::new(frame);
            let level = level(frame, &vessels).expect("all carry something");
            let poured: Bytes = vessels.iter()
                .map(|vessel| vessel.rate.over((level - vessel.delay).max(Span::ZERO))).sum();
            let off = poured.get_f64() - frame.get_f64();
            prop_assert!(off.abs() <= 8.0, "{poured} of {frame}");
        }
    }
}
