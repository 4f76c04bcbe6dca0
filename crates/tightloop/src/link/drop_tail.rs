//! Drop-tail: first come, first served, and who finds no room is dropped.
//!
//! # Idea
//! The queue nearly every link has, and the one emulators give by default.
//!
//! # Signals
//! How much waits, and for limits in time the service's rate.
//!
//! # Law
//! An arrival that does not fit into the [`Limit`] is dropped. What waits is
//! never touched. `infinite` is the same without a limit.
//!
//! # Departures
//! None.

use super::limit::{Limit, LimitSettings, Room};
use super::queue::{Packet, Parcel, Queue, QueueKind, Verdicts, Waiting};
use crate::event::Cause;
use crate::settings::settings;
use crate::units::{Bytes, Rate, Time};

/// The entry in [`super::queues`] of the queue with a limit.
#[must_use]
pub const fn drop_tail<P: Packet>() -> QueueKind<P> {
    QueueKind {
        name: "drop_tail",
        summary: "first in, first out; arrivals beyond a limit are dropped",
        cites: &[],
        defaults: crate::settings::Params::new,
        new: |params| {
            let limit = Limit::try_from(settings::<LimitSettings>(params)?)?;
            Ok(Box::new(DropTail::new(limit)))
        },
    }
}

/// The entry in [`super::queues`] of the queue without a limit.
#[must_use]
pub const fn infinite<P: Packet>() -> QueueKind<P> {
    QueueKind {
        name: "infinite",
        summary: "first in, first out; nothing is ever dropped",
        cites: &["Mahimahi"],
        defaults: crate::settings::Params::new,
        new: |params| {
            settings::<NoSettings>(params)?;
            Ok(Box::new(DropTail::new(Limit::Infinite)))
        },
    }
}

/// `infinite` has nothing to set.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

/// The queue.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    waiting: Waiting<P>,
    room: Room,
}

impl<P: Packet> DropTail<P> {
    /// An empty queue.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            waiting: Waiting::new(),
            room: Room::new(limit),
        }
    }
}

impl<P: Packet> Queue<P> for DropTail<P> {
    fn push(
        &mut self,
        now: Time,
        parcel: Parcel<P>,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> bool {
        let (packets, bytes) = (self.waiting.packets(), self.waiting.bytes());
        let fits = self.room.admits(parcel.size, packets, bytes, rate);
        if fits {
            self.waiting.push(parcel);
        } else {
            verdicts.drop(now, parcel, Cause::Full);
        }
        fits
    }

    fn pop(
        &mut self,
        _now: Time,
        _rate: Option<Rate>,
        _verdicts: &mut dyn Verdicts<P>,
    ) -> Option<Parcel<P>> {
        self.waiting.pop()
    }

    fn packets(&self) -> usize {
        self.waiting.packets()
    }

    fn bytes(&self) -> Bytes {
        self.waiting.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::tests::{Bench, parcel};

    #[test]
    fn arrivals_beyond_the_limit_are_dropped_and_the_rest_keep_their_order() {
        let mut bench = Bench::new(DropTail::new(Limit::Packets(2)));
        for number in 0..4 {
            bench.push(Time::ZERO, parcel(number, 100, Time::ZERO), Rate::ZERO);
        }
        assert_eq!(bench.dropped, [(Time::ZERO, 2), (Time::ZERO, 3)]);
        assert_eq!(bench.drain(Time::from_secs(1)), [0, 1]);
    }

    #[test]
    fn a_drop_of_the_rate_refuses_arrivals_and_evicts_nobody() {
        let limit = Limit::Time(crate::units::Span::from_millis(10));
        let mut bench = Bench::new(DropTail::new(limit));
        let (fast, slow) = (Rate::from_mbps(12), Rate::from_mbps(6));
        for number in 0..10 {
            bench.push(Time::ZERO, parcel(number, 1500, Time::ZERO), fast);
        }
        // Ten packets wait; at the lower rate five fill the limit.
        for number in 10..16 {
            bench.push(Time::ZERO, parcel(number, 1500, Time::ZERO), slow);
            bench.pop(Time::ZERO);
        }
        let dropped: Vec<u64> = bench.dropped.iter().map(|(_, number)| *number).collect();
        assert_eq!(dropped, [10, 11, 12, 13, 14, 15]);
        bench.push(Time::ZERO, parcel(16, 1500, Time::ZERO), slow);
        assert_eq!(bench.drain(Time::ZERO), [6, 7, 8, 9, 16]);
    }
}
