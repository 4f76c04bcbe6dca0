//! The receiving end.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use bytes::Bytes;
use tightloop::event::{Event, FrameId, Log, PathId, Sink};
use tightloop::session::wire::{HEADER, Header, MessageType, message_type};
use tightloop::session::{Endpoint, Received, Transmit};
use tightloop::units::{self, Span, Time, earlier};

use super::assembly::Assembly;
use super::identity::{Fingerprint, Identity, Trust, hex, random};
use super::marks::Marks;
use super::opening::Hello;
use super::quic::{Happened, LineId};
use super::screen::{Screen, Seen};
use super::socket::{Came, Socket};
use super::wait::Waiting;
use super::way::Way;
use super::{CallError, Signal, Tally};
use crate::clock::Clock;

mod door;

/// How long good-byes may take.
const FAREWELL: Span = Span::from_millis(300);
/// The UDP payload of packets of 1500 bytes: no message from here is larger.
const PAYLOAD: u64 = 1472;

/// How a receiver behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    /// The call is over when the sender has not been heard for this long.
    pub patience: Span,
    /// Nobody has to call for this long at first; for ever where nothing is said.
    pub wait: Option<Span>,
}

impl Default for Manners {
    /// Ours: a minute, as long as QUIC keeps a line.
    fn default() -> Self {
        Self {
            patience: Span::from_secs(60),
            wait: None,
        }
    }
}

/// What a call is received with.
#[derive(Debug)]
pub struct Opened {
    /// The session's receiving half.
    pub session: Box<dyn Endpoint>,
    /// What shows it, if it is video.
    pub screen: Option<Screen>,
}

/// The receiving end of calls, one after the other.
#[derive(Debug)]
pub struct Callee {
    way: Way,
    trust: Trust,
    fingerprint: Fingerprint,
    incarnation: String,
    clock: Clock,
    tally: Tally,
    room: Vec<u8>,
}

/// The call that is being received.
#[derive(Debug)]
struct Call {
    id: String,
    /// The line of each path.
    lines: Vec<Option<(LineId, SocketAddr)>>,
    opened: Opened,
    assembly: Assembly,
    heard: Time,
    over: bool,
}

impl Callee {
    /// Listens on a socket. Senders must know the token, where there is one.
    ///
    /// # Errors
    ///
    /// No random numbers.
    pub fn new(
        socket: Socket,
        identity: &Identity,
        token: Option<String>,
        clock: Clock,
    ) -> Result<Self, CallError> {
        Ok(Self {
            way: Way::new(socket, PAYLOAD, Some(identity))?,
            trust: Trust { pin: None, token },
            fingerprint: identity.fingerprint(),
            incarnation: hex(&random::<8>()?),
            clock,
            tally: Tally::default(),
            room: vec![0; super::socket::LARGEST],
        })
    }

    /// Notes from now on which packet is in which datagram.
    pub fn note(&mut self, marks: Marks) {
        self.way.marks = Some(marks);
    }

    /// What senders pin.
    #[must_use]
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Where it listens.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.way.socket.local()
    }

    /// Receives one call, from its first word to its last. `open` builds what it
    /// is received with, or says why not.
    ///
    /// # Errors
    ///
    /// The socket breaks; nobody calls in time.
    pub fn run(
        &mut self,
        open: &mut dyn FnMut(&Hello) -> Result<Opened, String>,
        manners: Manners,
        signal: &Arc<Signal>,
        sink: &mut dyn Sink,
    ) -> Result<(Tally, Option<Seen>), CallError> {
        signal.begin();
        let mut waiting = Waiting::new(&self.clock);
        let mut call: Option<Call> = None;
        let begin = self.clock.now();
        let mut out = Transmit::default();
        let ended = loop {
            if let Err(error) = self.listen(&mut call, open, sink) {
                break Err(error);
            }
            signal.woken();
            let now = self.clock.now();
            if let Some(call) = &mut call {
                let session = &mut call.opened.session;
                if session.next_wake().is_some_and(|due| due <= now) {
                    let mut watch = Watch::new(sink);
                    session.wake(now, &mut Log::to(&mut watch));
                    let shown = watch.shown;
                    call.show(&shown);
                }
                self.speak(call, &mut out, sink);
            }
            self.run_lines(now, &mut call);
            let silent = call
                .as_ref()
                .is_some_and(|call| call.over || now - call.heard > manners.patience);
            let alone = call.is_none() && manners.wait.is_some_and(|wait| now - begin > wait);
            if silent || alone || signal.stopped() {
                break Ok(());
            }
            let session = call
                .as_ref()
                .and_then(|call| call.opened.session.next_wake());
            let quic = self.way.quic.next().map(|instant| self.clock.at(instant));
            let next = earlier(session, quic);
            let fds = [signal.bell.as_raw_fd(), self.way.socket.as_raw_fd()];
            if let Err(error) = waiting.until(&self.clock, next, fds.into_iter()) {
                break Err(error.into());
            }
        };
        let call = call.filter(|_| !signal.gone());
        let seen = self.part(call, &mut waiting);
        ended?;
        self.tally.strangers = self.way.quic.strangers;
        Ok((self.tally, seen))
    }

    /// Says good-bye, and waits until everything is written.
    fn part(&mut self, call: Option<Call>, waiting: &mut Waiting) -> Option<Seen> {
        let begin = self.clock.now();
        let instant = self.instant(begin);
        let call = call?;
        for (line, _) in call.lines.iter().flatten() {
            let words = "the receiver has ended the call";
            self.way.quic.hang_up(instant, *line, super::OVER, words);
        }
        while !self.way.quic.is_empty() && self.clock.now() - begin < FAREWELL {
            let now = self.clock.now();
            let _ = self.listen(
                &mut None,
                &mut |_| Err("the call is over".into()),
                &mut Vec::new(),
            );
            self.way.run(self.instant(now), &mut self.tally);
            let soon = Some(now + Span::from_millis(10));
            let fds = [self.way.socket.as_raw_fd()];
            if waiting.until(&self.clock, soon, fds.into_iter()).is_err() {
                break;
            }
        }
        call.opened.screen.map(Screen::finish)
    }

    fn instant(&self, now: Time) -> std::time::Instant {
        self.clock
            .instant(now)
            .unwrap_or_else(std::time::Instant::now)
    }

    fn listen(
        &mut self,
        call: &mut Option<Call>,
        open: &mut dyn FnMut(&Hello) -> Result<Opened, String>,
        sink: &mut dyn Sink,
    ) -> Result<(), CallError> {
        while let Some(came) = self.way.socket.receive(&self.clock, &mut self.room)? {
            self.tally.received += 1;
            let now = self.clock.now();
            let instant = self.instant(now);
            let bytes = &self.room[..came.length];
            let Some(line) = self.way.receive(instant, came.from, bytes, &mut self.tally) else {
                continue;
            };
            while let Some(happened) = self.way.quic.poll(instant, line) {
                match happened {
                    Happened::Message(message) => {
                        let own = call
                            .as_mut()
                            .and_then(|call| Some((call.path(line)?, call)));
                        if let (Some((path, call)), Some(message)) =
                            (own, super::envelope::open(message))
                        {
                            self.message(now, call, path, &came, &message, sink);
                        }
                    }
                    Happened::Said(words) => {
                        if let Err(why) = self.hello(now, line, came.from, &words, call, open) {
                            self.tally.refused += 1;
                            self.way.quic.hang_up(instant, line, super::REFUSED, &why);
                        }
                    }
                    Happened::Up => {}
                    Happened::Down(reason) => lost(call, line, &reason),
                }
            }
            self.way.run(instant, &mut self.tally);
        }
        Ok(())
    }

    fn message(
        &mut self,
        now: Time,
        call: &mut Call,
        path: PathId,
        came: &Came,
        message: &Bytes,
        sink: &mut dyn Sink,
    ) {
        call.heard = now;
        if let Some((line, place)) = call.lines[usize::from(path.0)].as_mut()
            && *place != came.from
        {
            // QUIC follows a sender whose address changes once it has proved itself.
            let at = self.way.quic.remote(*line);
            if at == Some(came.from) {
                *place = came.from;
                self.tally.moved += 1;
            }
        }
        let header = HEADER.get() as usize;
        let data = message_type(message) == Ok(MessageType::Data) && message.len() >= header;
        let (head, payload) = match data {
            true => (message.slice(..header), message.slice(header..)),
            false => (message.clone(), Bytes::new()),
        };
        if let (Ok(header), Some(screen)) = (Header::decode(&head), &mut call.opened.screen)
            && let Some(whole) = call.assembly.take(&header, &payload)
        {
            screen.whole(whole);
        }
        let received = Received {
            bytes: &head,
            payload: units::Bytes::len_of(payload.len()),
            ecn: came.ecn,
            arrived: came.at,
        };
        let mut watch = Watch::new(sink);
        let session = &mut call.opened.session;
        if session
            .receive(now, path, received, &mut Log::to(&mut watch))
            .is_err()
        {
            self.tally.misread += 1;
        }
        let shown = watch.shown;
        call.show(&shown);
    }

    /// Sends everything that the session has to say.
    fn speak(&mut self, call: &mut Call, out: &mut Transmit, sink: &mut dyn Sink) {
        loop {
            let now = self.clock.now();
            let session = &mut call.opened.session;
            if !session.transmit(now, out, &mut Log::to(sink)) {
                return;
            }
            let instant = self.instant(now);
            let line = call.lines.get(usize::from(out.id.path.0));
            let went = line.copied().flatten().is_some_and(|(line, _)| {
                self.way.send_on(instant, line, &[], out, &mut self.tally)
            });
            self.tally.unsent += u64::from(!went);
            if !out.more {
                return;
            }
        }
    }

    fn run_lines(&mut self, now: Time, call: &mut Option<Call>) {
        let instant = self.instant(now);
        self.way.run(instant, &mut self.tally);
        let lines = call.iter().flat_map(|call| call.lines.iter().flatten());
        let lines: Vec<LineId> = lines.map(|(line, _)| *line).collect();
        for line in lines {
            while let Some(happened) = self.way.quic.poll(instant, line) {
                if let Happened::Down(reason) = happened {
                    lost(call, line, &reason);
                }
            }
        }
    }
}

/// A line has gone down.
fn lost(call: &mut Option<Call>, line: LineId, reason: &noq_proto::ConnectionError) {
    let Some(call) = call else {
        return;
    };
    let Some(path) = call.path(line) else {
        return;
    };
    call.lines[usize::from(path.0)] = None;
    if let noq_proto::ConnectionError::ApplicationClosed(close) = reason {
        call.over |= close.error_code.into_inner() as u32 == super::OVER;
    }
}

impl Call {
    /// The path that a line is.
    fn path(&self, line: LineId) -> Option<PathId> {
        let is = |it: &Option<(LineId, SocketAddr)>| it.is_some_and(|(own, _)| own == line);
        let at = self.lines.iter().position(is)?;
        Some(PathId(at as u8))
    }

    fn show(&mut self, frames: &[FrameId]) {
        if let Some(screen) = &mut self.opened.screen {
            for frame in frames {
                screen.shown(*frame);
            }
        }
    }
}

/// Passes events on and notes which frames are shown.
struct Watch<'a> {
    sink: &'a mut dyn Sink,
    shown: Vec<FrameId>,
}

impl<'a> Watch<'a> {
    fn new(sink: &'a mut dyn Sink) -> Self {
        Self {
            sink,
            shown: Vec::new(),
        }
    }
}

impl Sink for Watch<'_> {
    fn record(&mut self, at: Time, event: &Event) {
        if let Event::Shown { frame, .. } = event {
            self.shown.push(*frame);
        }
        self.sink.record(at, event);
    }
}
