//! The sending end.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use tightloop::event::{Log, PathId, Sink};
use tightloop::session::packetize::place;
use tightloop::session::wire::Header;
use tightloop::session::{Endpoint, Received, Transmit};
use tightloop::units::{Bytes, Span, Time, earlier};

use super::marks::Marks;
use super::opening::Hello;
use super::quic::Happened;
use super::socket::Socket;
use super::wait::Waiting;
use super::way::Way;
use super::{CallError, OVER, Signal, Tally, Trust, envelope, way};
use crate::clock::Clock;
use crate::footage_encoder::Recording;

mod lines;

/// Packets that do not fit until the call is given up. Ours: a path's size may
/// change for a moment.
const TOO_LARGE: u64 = 20;
/// How long good-byes may take.
const FAREWELL: Span = Span::from_millis(300);

/// Whom to call, and how.
#[derive(Debug)]
pub struct Dial {
    /// The receiver.
    pub to: SocketAddr,
    /// How to know it.
    pub trust: Trust,
    /// What to say first; its proof, path and number of tries are filled in here.
    pub hello: Hello,
    /// The receiver must answer within this time.
    pub patience: Span,
    /// Coded frames are kept after they can no longer be sent again, for whoever
    /// looks at them after the call.
    pub keep: bool,
    /// Where to note which packet is in which datagram, if anywhere.
    pub marks: Option<Marks>,
}

/// The sending end of a call that was answered.
#[derive(Debug)]
pub struct Caller {
    ways: Vec<Way>,
    dial: Dial,
    clock: Clock,
    incarnation: Option<String>,
    tally: Tally,
    room: Vec<u8>,
    /// What filler and bulk packets carry.
    zeros: Vec<u8>,
    stop: Option<CallError>,
    over: bool,
}

impl Caller {
    /// Calls over each socket as a path of its own; returns once the first is
    /// answered. `clock` is what the call's time is read from until it runs.
    ///
    /// # Errors
    ///
    /// Nobody answers, or not whom we trust, or not us; a stop in the meantime.
    pub fn dial(
        sockets: Vec<Socket>,
        dial: Dial,
        clock: Clock,
        signal: &Signal,
    ) -> Result<Self, CallError> {
        let payload = envelope::udp_payload(dial.hello.packet.mtu, dial.to.ip());
        let ways = sockets
            .into_iter()
            .map(|socket| Way::new(socket, payload, None));
        let mut caller = Self {
            ways: ways.collect::<Result<_, _>>()?,
            clock,
            dial,
            incarnation: None,
            tally: Tally::default(),
            room: vec![0; super::socket::LARGEST],
            zeros: Vec::new(),
            stop: None,
            over: false,
        };
        for way in &mut caller.ways {
            way.marks.clone_from(&caller.dial.marks);
        }
        signal.begin();
        let mut waiting = Waiting::new(&caller.clock);
        let begin = caller.clock.now();
        loop {
            let now = caller.clock.now();
            caller.listen(None)?;
            caller.redial(now)?;
            caller.run_lines(now);
            if let Some(error) = caller.stop.take() {
                return Err(error);
            }
            if caller.ways.iter().any(|way| way.line.is_some()) {
                return Ok(caller);
            }
            if signal.stopped() {
                return Err(CallError::Ended(caller.dial.to));
            }
            if now - begin > caller.dial.patience {
                return Err(CallError::Silence {
                    to: caller.dial.to,
                    after: now - begin,
                });
            }
            let soon = now + Span::from_millis(20);
            let next = earlier(caller.next_line(), Some(soon));
            caller.wait(&mut waiting, next, signal)?;
        }
    }

    /// Runs the call until `until`, a stop, or the receiver's good-bye. Video's
    /// bytes come from the recording; without one they are zeros. `clock` is the
    /// session's from now on.
    ///
    /// # Errors
    ///
    /// What ends a call before its time.
    pub fn run(
        mut self,
        session: &mut dyn Endpoint,
        recording: Option<&Recording>,
        clock: Clock,
        until: Option<Time>,
        signal: &Arc<Signal>,
        sink: &mut dyn Sink,
    ) -> Result<Tally, CallError> {
        self.clock = clock;
        for way in &mut self.ways {
            way.start_again();
        }
        let mut waiting = Waiting::new(&clock);
        let mut out = Transmit::default();
        let mut forgotten = Time::ZERO;
        loop {
            self.listen(Some((session, &mut Log::to(sink))))?;
            let now = clock.now();
            let news = signal.woken();
            if news || session.next_wake().is_some_and(|due| due <= now) {
                session.wake(now, &mut Log::to(sink));
            }
            self.speak(session, recording, &mut out, sink);
            let now = clock.now();
            self.redial(now)?;
            self.run_lines(now);
            if let Some(error) = self.stop.take() {
                return Err(error);
            }
            if self.over || signal.stopped() || until.is_some_and(|until| now >= until) {
                break;
            }
            if let Some(recording) = recording.filter(|_| !self.dial.keep)
                && now - forgotten > way::FORGETTING
            {
                forgotten = now;
                recording.forget_before(now - way::KEPT);
            }
            let next = earlier(earlier(session.next_wake(), until), self.next_line());
            self.wait(&mut waiting, next, signal)?;
        }
        self.part(&mut waiting, signal)?;
        for way in &self.ways {
            self.tally.strangers += way.quic.strangers;
        }
        Ok(self.tally)
    }

    /// Says good-bye, so that the other side need not wait.
    fn part(&mut self, waiting: &mut Waiting, signal: &Signal) -> Result<(), CallError> {
        let begin = self.clock.now();
        for at in 0..self.ways.len() {
            let lines = [
                self.ways[at].line.take(),
                self.ways[at].dialled.take().map(|it| it.0),
            ];
            for line in lines.into_iter().flatten() {
                let now = self.instant(begin);
                self.ways[at]
                    .quic
                    .hang_up(now, line, OVER, "the call is over");
            }
        }
        loop {
            let now = self.clock.now();
            self.run_lines(now);
            if now - begin > FAREWELL || self.ways.iter().all(|way| way.quic.is_empty()) {
                return Ok(());
            }
            self.listen(None)?;
            let next = earlier(self.next_line(), Some(begin + FAREWELL));
            self.wait(waiting, next, signal)?;
        }
    }

    fn instant(&self, now: Time) -> std::time::Instant {
        self.clock
            .instant(now)
            .unwrap_or_else(std::time::Instant::now)
    }

    /// Takes in everything that has come.
    fn listen(
        &mut self,
        mut session: Option<(&mut dyn Endpoint, &mut Log<'_>)>,
    ) -> Result<(), CallError> {
        for at in 0..self.ways.len() {
            while let Some(came) = self.ways[at].socket.receive(&self.clock, &mut self.room)? {
                self.tally.received += 1;
                let now = self.clock.now();
                let instant = self.instant(now);
                let bytes = &self.room[..came.length];
                let Some(line) = self.ways[at].receive(instant, came.from, bytes, &mut self.tally)
                else {
                    continue;
                };
                while let Some(happened) = self.ways[at].quic.poll(instant, line) {
                    let message = match happened {
                        Happened::Message(message) => message,
                        other => {
                            self.happened(now, at, line, other)?;
                            continue;
                        }
                    };
                    let path = PathId(at as u8);
                    let (Some((session, log)), Some(message)) =
                        (&mut session, envelope::open(message))
                    else {
                        continue;
                    };
                    self.ways[at].asked = None;
                    let received = Received {
                        bytes: &message,
                        payload: Bytes::ZERO,
                        ecn: came.ecn,
                        arrived: came.at,
                    };
                    if session.receive(now, path, received, log).is_err() {
                        self.tally.misread += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends everything that may leave.
    fn speak(
        &mut self,
        session: &mut dyn Endpoint,
        recording: Option<&Recording>,
        out: &mut Transmit,
        sink: &mut dyn Sink,
    ) {
        loop {
            let now = self.clock.now();
            if !session.transmit(now, out, &mut Log::to(sink)) {
                return;
            }
            self.send(now, out, recording);
            if !out.more {
                return;
            }
        }
    }

    fn send(&mut self, now: Time, transmit: &Transmit, recording: Option<&Recording>) {
        let instant = self.instant(now);
        let length = usize::try_from(transmit.payload.get()).unwrap_or(0);
        let coded = recording.and_then(|recording| bytes_of(recording, transmit));
        if self.zeros.len() < length {
            self.zeros.resize(length, 0);
        }
        let payload = match &coded {
            Some((coded, from)) => &coded.bytes[*from..*from + length],
            None => &self.zeros[..length],
        };
        let Some(way) = self.ways.get_mut(usize::from(transmit.id.path.0)) else {
            return;
        };
        way.asked.get_or_insert(now);
        if !way.send(instant, payload, transmit, &mut self.tally) {
            self.tally.unsent += 1;
        }
        if way.too_large > TOO_LARGE {
            self.stop = Some(CallError::TooLarge(self.dial.hello.packet.mtu));
        }
    }

    fn wait(
        &self,
        waiting: &mut Waiting,
        next: Option<Time>,
        signal: &Signal,
    ) -> Result<(), CallError> {
        let sockets = self.ways.iter().map(|way| way.socket.as_raw_fd());
        let bell = std::iter::once(signal.bell.as_raw_fd());
        Ok(waiting.until(&self.clock, next, bell.chain(sockets))?)
    }
}

/// The coded frame that a header speaks of, and where its fragment begins.
fn bytes_of(
    recording: &Recording,
    transmit: &Transmit,
) -> Option<(Arc<crate::codec::Coded>, usize)> {
    let fragment = Header::decode(&transmit.bytes).ok()?.kind.fragment()?;
    let take = recording.take(fragment.frame)?;
    let size = Bytes::len_of(take.coded.bytes.len());
    let (from, length) = place(size, fragment.index, fragment.count)?;
    let from = usize::try_from(from.get()).ok()?;
    (length == transmit.payload).then_some((take.coded, from))
}
