//! Drop-head: who finds no room takes the place of the oldest.
//!
//! # Idea
//! For live media the newest packet is worth most, and a loss at the head is
//! noticed a queue's length earlier than one at the tail.
//!
//! # Signals
//! How much waits, and for limits in time the service's rate.
//!
//! # Law
//! An arrival that does not fit into the [`Limit`] drops the packets that have
//! waited longest, one by one, until it fits. Nothing happens between arrivals:
//! after a drop of the rate, the next arrival makes room for itself.
//!
//! # Departures
//! None.

use super::limit::{Limit, LimitSettings, Room};
use super::queue::{Packet, Parcel, Queue, QueueKind, Verdicts, Waiting};
use crate::event::Cause;
use crate::settings::settings;
use crate::units::{Bytes, Rate, Time};

/// The entry in [`super::queues`].
#[must_use]
pub const fn drop_head<P: Packet>() -> QueueKind<P> {
    QueueKind {
        name: "drop_head",
        summary: "first in, first out; beyond a limit the oldest is dropped",
        cites: &["Mahimahi"],
        defaults: crate::settings::Params::new,
        new: |params| {
            let limit = Limit::try_from(settings::<LimitSettings>(params)?)?;
            Ok(Box::new(DropHead::new(limit)))
        },
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub struct DropHead<P> {
    waiting: Waiting<P>,
    room: Room,
}

impl<P: Packet> DropHead<P> {
    /// An empty queue.
    #[must_use]
    pub const fn new(limit: Limit) -> Self {
        Self {
            waiting: Waiting::new(),
            room: Room::new(limit),
        }
    }
}

impl<P: Packet> Queue<P> for DropHead<P> {
    fn push(
        &mut self,
        now: Time,
        parcel: Parcel<P>,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> bool {
        while !self.room.admits(
            parcel.size,
            self.waiting.packets(),
            self.waiting.bytes(),
            rate,
        ) {
            let Some(oldest) = self.waiting.pop() else {
                break;
            };
            verdicts.drop(now, oldest, Cause::Full);
        }
        self.waiting.push(parcel);
        true
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
    fn the_oldest_make_room_for_the_newest() {
        let mut bench = Bench::new(DropHead::new(Limit::Bytes(Bytes::new(1000))));
        for number in 0..4 {
            bench.push(Time::ZERO, parcel(number, 300, Time::ZERO), Rate::ZERO);
        }
        assert_eq!(bench.dropped, [(Time::ZERO, 0)]);
        bench.push(Time::from_millis(1), parcel(4, 700, Time::ZERO), Rate::ZERO);
        let later = Time::from_millis(1);
        assert_eq!(bench.dropped, [(Time::ZERO, 0), (later, 1), (later, 2)]);
        assert_eq!(bench.drain(later), [3, 4]);
    }
}
