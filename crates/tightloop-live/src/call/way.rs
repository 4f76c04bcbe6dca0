//! One socket, the lines over it, and what goes through them.

use std::net::SocketAddr;
use std::time::Instant;

use tightloop::event::Ecn;
use tightloop::session::Transmit;
use tightloop::units::{Bytes, Span, Time};

use super::identity::Identity;
use super::marks::Marks;
use super::quic::{LineId, Quic};
use super::socket::{Socket, Unsent};
use super::{CallError, Tally, envelope};

/// How often coded frames are forgotten.
pub(super) const FORGETTING: Span = Span::from_secs(1);
/// How long they are kept: longer than any is sent again.
pub(super) const KEPT: Span = Span::from_secs(10);

/// One local address's share of a call.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) socket: Socket,
    pub(super) quic: Quic,
    /// The line that the call goes over.
    pub(super) line: Option<LineId>,
    /// A line that is not answered yet, and since when.
    pub(super) dialled: Option<(LineId, Time)>,
    /// Since when the other side has not answered a message; none where it has.
    pub(super) asked: Option<Time>,
    /// Packets that the path does not carry.
    pub(super) too_large: u64,
    /// Where to note what is in which datagram.
    pub(super) marks: Option<Marks>,
}

impl Way {
    pub(super) fn new(
        socket: Socket,
        payload: u64,
        identity: Option<&Identity>,
    ) -> Result<Self, CallError> {
        Ok(Self {
            socket,
            quic: Quic::new(payload, identity)?,
            line: None,
            dialled: None,
            asked: None,
            too_large: 0,
            marks: None,
        })
    }

    /// The clock begins anew.
    pub(super) fn start_again(&mut self) {
        self.asked = None;
        if let Some((_, since)) = &mut self.dialled {
            *since = Time::ZERO;
        }
    }

    /// The lines that this side knows of.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> + use<> {
        let dialled = self.dialled.map(|(line, _)| line);
        self.line.into_iter().chain(dialled)
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        tally: &mut Tally,
    ) -> Option<LineId> {
        let (socket, quic) = (&mut self.socket, &mut self.quic);
        quic.receive(now, from, bytes, &mut |bytes, to| {
            tell(socket.send(bytes, to, Ecn::NotEct), tally);
        })
    }

    /// Sends a message of the session, with the bytes behind it, over the line, if
    /// there is one.
    pub(super) fn send(
        &mut self,
        now: Instant,
        payload: &[u8],
        transmit: &Transmit,
        tally: &mut Tally,
    ) -> bool {
        let Some(line) = self.line else {
            return false;
        };
        self.send_on(now, line, payload, transmit, tally)
    }

    pub(super) fn send_on(
        &mut self,
        now: Instant,
        line: LineId,
        payload: &[u8],
        transmit: &Transmit,
        tally: &mut Tally,
    ) -> bool {
        let message = &[&*transmit.bytes, payload];
        let (socket, quic, marks) = (&mut self.socket, &mut self.quic, &self.marks);
        let counted = message.iter().map(|part| part.len()).sum::<usize>();
        let mut last = None;
        let went = quic.send(now, line, message, &mut |bytes, to| {
            let sent = socket.send(bytes, to, transmit.ecn);
            if matches!(sent, Err(Unsent::TooLarge)) {
                self.too_large += 1;
            }
            tell(sent, tally);
            if let Some(marks) = marks {
                // What went before it, if anything, is noted under a wrong name, which
                // is rare and is only ever read of a link's log.
                marks.note(bytes, transmit.id);
            }
            last = Some((bytes.len(), to));
        });
        if let Some((length, to)) = last.filter(|_| went) {
            tally.messages += 1;
            let expected = Bytes::len_of(counted) + envelope::overhead(to.ip());
            let ip = envelope::ip_and_udp(to.ip());
            tally.odd_sizes += u64::from(expected != Bytes::len_of(length + ip));
        }
        went
    }

    /// Sends what waits, and does what time asks for.
    pub(super) fn run(&mut self, now: Instant, tally: &mut Tally) {
        let (socket, quic) = (&mut self.socket, &mut self.quic);
        quic.run(now, &mut |bytes, to| {
            tell(socket.send(bytes, to, Ecn::NotEct), tally);
        });
    }
}

fn tell(sent: Result<(), Unsent>, tally: &mut Tally) {
    match sent {
        Ok(()) => tally.sent += 1,
        Err(_) => tally.refused_by_kernel += 1,
    }
}
