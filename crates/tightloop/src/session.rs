//! The session: a sans-IO [`sender::Sender`] and [`receiver::Receiver`].
//!
//! Four verbs and one rule: after each [`Endpoint::receive`] or
//! [`Endpoint::wake`], drain [`Endpoint::transmit`] (until it gives nothing, or
//! says that nothing follows), then read [`Endpoint::next_wake`]. Nothing here knows whether the bytes travel over a
//! socket or a simulated link; both carry the same header and feedback bytes.

use std::fmt;

use crate::event::{Ecn, Log, PacketId, PathId};
use crate::units::{Bytes, Span, Time};

pub mod feedback;
pub mod ledger;
pub mod pacer;
pub mod packetize;
pub mod receiver;
pub mod rtt;
pub mod sender;
pub mod wire;

/// A buffer for header or feedback bytes, used again and again: its room stays.
pub type Buffer = Vec<u8>;

/// A datagram that has come in.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Header or feedback bytes.
    pub bytes: &'a [u8],
    /// Payload bytes behind the header; a length alone where nobody looks at them.
    pub payload: Bytes,
    /// The ECN field as it arrived.
    pub ecn: Ecn,
    /// When it arrived: earlier than the call where the system noted the time.
    pub arrived: Time,
}

/// A datagram to send, written by [`Endpoint::transmit`]. Its room is used again.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Transmit {
    /// Its name.
    pub id: PacketId,
    /// Its size in IP bytes, headers included.
    pub size: Bytes,
    /// Payload bytes behind `bytes`.
    pub payload: Bytes,
    /// Header or feedback bytes.
    pub bytes: Buffer,
    /// The ECN field to set.
    pub ecn: Ecn,
    /// Another datagram may leave at once. Where this is false the caller need
    /// not ask again before the next call.
    pub more: bool,
}

/// A sender or a receiver, or a foreign stack that can stand in for one.
///
/// Time never goes back between calls.
pub trait Endpoint: fmt::Debug + Send {
    /// A datagram came in on a path.
    ///
    /// # Errors
    ///
    /// Bytes that are not a message of ours. They change nothing.
    fn receive(
        &mut self,
        now: Time,
        path: PathId,
        received: Received<'_>,
        log: &mut Log<'_>,
    ) -> Result<(), wire::WireError>;

    /// The time told by [`Endpoint::next_wake`] has come.
    fn wake(&mut self, now: Time, log: &mut Log<'_>);

    /// Writes the next datagram that may leave now over `out`. False when there
    /// is none; what `out` holds is unspecified then.
    fn transmit(&mut self, now: Time, out: &mut Transmit, log: &mut Log<'_>) -> bool;

    /// When to call [`Endpoint::wake`] next.
    fn next_wake(&self) -> Option<Time>;

    /// The minimum round-trip time that a path's controller goes by; where it
    /// says none, the smallest since the path came up. `None` where nothing has
    /// been measured, and for those who do not send.
    fn min_rtt(&self, _path: PathId) -> Option<Span> {
        None
    }

    /// A copy that goes on from the same state, or `None` where that cannot be.
    fn fork(&self) -> Option<Box<dyn Endpoint>>;
}
