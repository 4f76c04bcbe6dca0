//! CoDel: controlled delay, by dropping or marking at the head.
//!
//! # Idea
//! A queue that empties now and then is good, one that never does is bad. The
//! smallest waiting time of an interval tells them apart, whatever the rate.
//!
//! # Signals
//! How long each packet has waited when the service asks for it, and whether
//! more than one full packet still waits behind it.
//!
//! # Law
//! Once every packet of a whole interval has waited longer than the target, one
//! is dropped, and then one more after each interval/√count until a packet has
//! waited less. Coming back soon, dropping resumes near its last pace.
//! [RFC8289] §5.
//!
//! With `ecn`, a packet that can carry a mark is marked and delivered where it
//! would have been dropped; others are dropped. A mark ends the turn: the next
//! packet is judged when the service asks for it, so no two packets are marked
//! at one instant.
//!
//! # Departures
//! - [RFC8289] leaves ECN to the implementer; the rule above is Linux's.
//! - The drop interval is rounded to the nanosecond.
//! - A tail limit is optional and off: what a full buffer does is another
//!   question than what CoDel does.

use serde::{Deserialize, Serialize};

use super::limit::{Limit, Room};
use super::queue::{Packet, Parcel, Queue, QueueKind, Verdicts, Waiting};
use crate::event::{Cause, Ecn};
use crate::settings::{SettingError, settings, written};
use crate::units::{Bytes, Rate, Span, Time, float};

/// The entry in [`super::queues`].
#[must_use]
pub const fn codel<P: Packet>() -> QueueKind<P> {
    QueueKind {
        name: "codel",
        summary: "drops or marks at the head to keep the waiting time near 5 ms",
        cites: &["RFC8289"],
        defaults: || written(&Params::default()),
        new: |params| Ok(Box::new(Codel::new(settings(params)?)?)),
    }
}

/// How much later than its last drop dropping may begin anew and still resume
/// its pace, in intervals. [RFC8289] §5.5.
const MEMORY: i64 = 16;

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The waiting time that is good enough. [RFC8289] §5.3.
    pub target: Span,
    /// How long it may be exceeded: about the longest round-trip time. [RFC8289] §5.3.
    pub interval: Span,
    /// Nothing is dropped while no more than this waits behind: a full packet. [RFC8289] §5.6.
    pub mtu: Bytes,
    /// Mark instead of dropping where the packet allows it. Ours: off, so that
    /// the name alone means the RFC's pseudocode.
    pub ecn: bool,
    /// A tail limit in packets. Ours: none, see Departures.
    pub packets: Option<u64>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            mtu: Bytes::new(1500),
            ecn: false,
            packets: None,
        }
    }
}

/// The queue.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    params: Params,
    waiting: Waiting<P>,
    room: Room,
    /// When it will have been too long for a whole interval.
    first_above: Option<Time>,
    /// In the dropping state, when the next drop is due; else when it was.
    drop_next: Time,
    /// Drops since the dropping state began.
    count: u64,
    /// `count` as the last dropping state began.
    last_count: u64,
    dropping: bool,
}

/// The packet at the head, and whether CoDel may drop it.
struct Head<P> {
    parcel: Option<Parcel<P>>,
    may_drop: bool,
}

impl<P: Packet> Codel<P> {
    /// An empty queue.
    ///
    /// # Errors
    ///
    /// Times that are not positive, and an empty tail limit.
    pub fn new(params: Params) -> Result<Self, SettingError> {
        for (name, span) in [("target", params.target), ("interval", params.interval)] {
            SettingError::unless(span.is_positive(), || {
                format!("{name} = {span} is no time; [RFC8289] has target 5 ms, interval 100 ms")
            })?;
        }
        SettingError::unless(params.packets != Some(0), || {
            "packets = 0 leaves no room; leave the key out for a queue without a limit".into()
        })?;
        Ok(Self {
            params,
            waiting: Waiting::new(),
            room: Room::new(params.packets.map_or(Limit::Infinite, Limit::Packets)),
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        })
    }

    fn head(&mut self, now: Time) -> Head<P> {
        let parcel = self.waiting.pop();
        let too_long = parcel.as_ref().is_some_and(|parcel| {
            now - parcel.arrived >= self.params.target && self.waiting.bytes() > self.params.mtu
        });
        let may_drop = too_long && self.first_above.is_some_and(|above| now >= above);
        self.first_above = match (too_long, self.first_above) {
            (false, _) => None,
            (true, None) => Some(now + self.params.interval),
            (true, above) => above,
        };
        Head { parcel, may_drop }
    }

    /// Drops or marks. A packet that comes back is marked and to be delivered.
    fn punish(
        &self,
        now: Time,
        parcel: Option<Parcel<P>>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> Option<Parcel<P>> {
        let mut parcel = parcel?;
        if self.params.ecn && parcel.packet.ecn() != Ecn::NotEct {
            parcel.packet.mark_ce();
            verdicts.mark(now, &parcel.packet);
            return Some(parcel);
        }
        verdicts.drop(now, parcel, Cause::Aqm);
        None
    }

    fn after(&self, from: Time) -> Time {
        from + self.params.interval * (1.0 / libm::sqrt(float(self.count)))
    }
}

impl<P: Packet> Queue<P> for Codel<P> {
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
        now: Time,
        _rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> Option<Parcel<P>> {
        let mut head = self.head(now);
        if self.dropping {
            self.dropping = head.may_drop;
            // Several drops may be due at one instant.
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let marked = self.punish(now, head.parcel.take(), verdicts);
                if marked.is_some() {
                    self.drop_next = self.after(self.drop_next);
                    return marked;
                }
                head = self.head(now);
                self.dropping = head.may_drop;
                if self.dropping {
                    self.drop_next = self.after(self.drop_next);
                }
            }
        } else if head.may_drop {
            head.parcel = match self.punish(now, head.parcel, verdicts) {
                Some(marked) => Some(marked),
                None => self.head(now).parcel,
            };
            self.dropping = true;
            let pace = self.count - self.last_count;
            let recent = now - self.drop_next < self.params.interval * MEMORY;
            self.count = if pace > 1 && recent { pace } else { 1 };
            self.drop_next = self.after(now);
            self.last_count = self.count;
        }
        head.parcel
    }

    fn packets(&self) -> usize {
        self.waiting.packets()
    }

    fn bytes(&self) -> Bytes {
        self.waiting.bytes()
    }
}

#[cfg(test)]
#[path = "codel/tests.rs"]
mod tests;
