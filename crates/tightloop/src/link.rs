//! A link: queue, then service, then flight.
//!
//! A packet *arrives*, may be lost or doubled at random ([`impair`]), waits in
//! the **queue**, occupies the **service** until its last bit has left, and is
//! in **flight** until it is delivered. The three are apart: the queue's
//! occupancy counts waiting packets alone, never the one in service; a packet
//! leaves at the end of its service; delay, jitter and reordering belong to
//! flight.
//!
//! A link owns no clock. Every call first brings it up to `now` at *logical*
//! instants, so driving it late changes nothing but lateness: the same packets
//! are dropped, and [`Link::pop`] says when each *should* have been delivered.
//! The simulator and the emulator own links of the same type.

use std::fmt;

use dyn_clone::DynClone;

use crate::event::{Cause, Ecn, Event, FlowId, LinkId, Log, PacketId};
use crate::units::{Bytes, Rate, Span, Time};

/// What a link must know of a packet; everything else is the owner's.
pub trait Packet: Clone + fmt::Debug + Send + 'static {
    /// Its size in IP bytes.
    fn size(&self) -> Bytes;
    /// Its name, for events; the flow decides which delay it meets in flight.
    fn id(&self) -> PacketId;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to [`Ecn::Ce`].
    fn mark_ce(&mut self);
}

/// A packet in a queue, with when it joined.
#[derive(Clone, Debug)]
pub struct Parcel<P> {
    /// The packet.
    pub packet: P,
    /// Its size, so that queues need not ask.
    pub size: Bytes,
    /// When it arrived at the link.
    pub arrived: Time,
}

/// What a queue tells about the packets it does not pass on untouched.
pub trait Verdicts<P> {
    /// The queue dropped this packet.
    fn drop(&mut self, at: Time, parcel: Parcel<P>, cause: Cause);
    /// The queue set this packet's ECN field to [`Ecn::Ce`].
    fn mark(&mut self, at: Time, packet: &P);
}

/// A queue discipline: who waits, who is dropped, who goes next.
///
/// Calls come at logical instants in the order of time. `rate` is the service's
/// current rate, zero during an outage and `None` where there is no such thing
/// (an unlimited link).
pub trait Queue<P: Packet>: DynClone + fmt::Debug + Send {
    /// A packet arrives. `waiting` packets in front of it are this queue's own;
    /// the packet in service is not in the queue.
    fn push(
        &mut self,
        now: Time,
        parcel: Parcel<P>,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    );
    /// The service asks for the next packet.
    fn pop(
        &mut self,
        now: Time,
        rate: Option<Rate>,
        verdicts: &mut dyn Verdicts<P>,
    ) -> Option<Parcel<P>>;
    /// Waiting packets.
    fn packets(&self) -> usize;
    /// Waiting bytes.
    fn bytes(&self) -> Bytes;
}

dyn_clone::clone_trait_object!(<P: Packet> Queue<P>);

/// A link. See the module's text for its three parts.
#[derive(Clone, Debug)]
pub struct Link<P: Packet> {
    id: LinkId,
    queue: Box<dyn Queue<P>>,
}

impl<P: Packet> Link<P> {
    /// A packet arrives at the link.
    pub fn push(&mut self, now: Time, packet: P, log: &mut Log<'_>) {
        let _ = (now, packet, log, self.id, &self.queue);
        todo!()
    }

    /// When the link next changes by itself: a packet leaves service or is
    /// delivered.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        todo!()
    }

    /// Brings the link up to `now` and takes out the next packet whose flight
    /// has ended, with the moment it should have been delivered.
    pub fn pop(&mut self, now: Time, log: &mut Log<'_>) -> Option<(Time, P)> {
        let _ = (now, log);
        todo!()
    }
}
