//! The receiving half: wire → frames → screen, and feedback back.

use super::feedback::{self, Feedback};
use super::wire::{Header, MessageType, WireError, message_type};
use super::{Endpoint, Received, Transmit};
use crate::cc::{Arrival, Reporter};
use crate::event::{Direction, Ecn, Event, FlowId, Log, PacketId, PathId};
use crate::units::{Bytes, RemoteTime, Span, Time};
use crate::video::playout::Playout;

/// The receiver's own clock, against the run's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Clock {
    /// Its offset.
    pub offset: Span,
    /// Its drift in parts per billion.
    pub drift_ppb: i64,
}

impl Clock {
    /// What it reads.
    #[must_use]
    pub const fn read(&self, now: Time) -> RemoteTime {
        now.on_clock(self.offset, self.drift_ppb)
    }

    /// The first moment at which it reads at least this.
    #[must_use]
    pub fn when(&self, remote: RemoteTime) -> Time {
        // Close enough by ignoring the drift; then corrected by what it was off.
        let guess = Time::ZERO + (remote - self.read(Time::ZERO));
        let off = remote - self.read(guess);
        guess
            + off
            + if off.is_positive() {
                Span::from_nanos(1)
            } else {
                Span::ZERO
            }
    }
}

/// What a receiver needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The flow.
    pub flow: FlowId,
    /// When to speak.
    pub feedback: feedback::Settings,
    /// The path that carries all feedback; by default each path its own.
    pub feedback_path: Option<PathId>,
    /// What a feedback message costs besides its own bytes: IP, UDP, encryption.
    pub overhead: Bytes,
    /// Its clock.
    pub clock: Clock,
}

#[derive(Clone, Debug)]
struct Path {
    id: PathId,
    feedback: Feedback,
    reporter: Option<Box<dyn Reporter>>,
    /// Feedback packets sent on this path, whatever path they speak of.
    sent: u64,
}

/// The receiving half of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    settings: Settings,
    paths: Vec<Path>,
    playout: Option<Playout>,
}

impl Receiver {
    /// A receiver with one feedback stream, and perhaps one reporter, per path;
    /// `playout` where the flow is video.
    #[must_use]
    pub fn new(
        settings: Settings,
        reporters: Vec<Option<Box<dyn Reporter>>>,
        playout: Option<Playout>,
    ) -> Self {
        let paths = (0..)
            .zip(reporters)
            .map(|(id, reporter)| Path {
                id: PathId(id),
                feedback: Feedback::new(PathId(id), settings.feedback),
                reporter,
                sent: 0,
            })
            .collect();
        Self {
            settings,
            paths,
            playout,
        }
    }

    fn on_fragment(&mut self, now: Time, header: &Header, log: &mut Log<'_>) {
        let (Some(playout), Some(fragment)) = (&mut self.playout, header.kind.fragment()) else {
            return;
        };
        let flow = self.settings.flow;
        let outcome = playout.on_fragment(now, fragment, header.refers);
        if outcome.completed {
            log.emit(now, || Event::Completed {
                flow,
                frame: fragment.frame,
            });
        }
        if let Some(frame) = outcome.shown {
            log.emit(now, || Event::Shown { flow, frame });
        }
    }
}

impl Endpoint for Receiver {
    fn receive(
        &mut self,
        now: Time,
        _path: PathId,
        received: Received<'_>,
        log: &mut Log<'_>,
    ) -> Result<(), WireError> {
        if message_type(received.bytes)? != MessageType::Data {
            return Err(WireError::Field("direction"));
        }
        let header = Header::decode(received.bytes)?;
        let path = self
            .paths
            .get_mut(usize::from(header.path.0))
            .ok_or(WireError::Path(header.path.0))?;
        let remote = self.settings.clock.read(received.arrived);
        let new = path.feedback.on_packet(
            received.arrived,
            header.number,
            header.settled,
            remote,
            received.ecn,
        );
        let size = received.payload + Bytes::len_of(received.bytes.len()) + self.settings.overhead;
        log.emit(now, || Event::Arrived {
            packet: PacketId {
                flow: self.settings.flow,
                path: header.path,
                direction: Direction::Data,
                number: header.number,
            },
            size,
            duplicate: !new,
        });
        if new && let Some(reporter) = &mut path.reporter {
            reporter.on_arrival(&Arrival {
                number: header.number,
                at: remote,
                size,
                kind: header.kind,
                ecn: received.ecn,
            });
        }
        // One that is no news may still be the fragment a frame waits for.
        self.on_fragment(now, &header, log);
        Ok(())
    }

    fn wake(&mut self, now: Time, log: &mut Log<'_>) {
        let remote = self.settings.clock.read(now);
        for path in &mut self.paths {
            path.feedback.on_timeout(now);
            let due = path
                .reporter
                .as_ref()
                .and_then(|reporter| reporter.next_timeout());
            if due.is_some_and(|due| due <= remote) {
                path.feedback.ask();
            }
        }
        if let Some(playout) = &mut self.playout {
            let flow = self.settings.flow;
            while let Some((due, frame)) = playout.on_wake(now) {
                log.emit(due, || Event::Shown { flow, frame });
            }
            if let Some(frame) = playout.on_patience(now) {
                log.emit(now, || Event::KeyWanted { flow, frame });
                for path in &mut self.paths {
                    path.feedback.ask();
                }
            }
        }
    }

    fn transmit(&mut self, now: Time, out: &mut Transmit, _log: &mut Log<'_>) -> bool {
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            if !path.feedback.is_ready() {
                continue;
            }
            let remote = self.settings.clock.read(now);
            if let Some(reporter) = &mut path.reporter {
                path.feedback.set_report(reporter.report(remote));
            }
            let key_wanted = self.playout.as_ref().and_then(Playout::key_wanted);
            let Some(message) = path.feedback.take(now, remote, key_wanted) else {
                continue;
            };
            out.bytes.clear();
            message.encode(&mut out.bytes);
            path.feedback.on_sent();
            let by = self
                .settings
                .feedback_path
                .filter(|by| usize::from(by.0) < self.paths.len())
                .map_or(at, |by| usize::from(by.0));
            let by = &mut self.paths[by];
            by.sent += 1;
            out.id = PacketId {
                flow: self.settings.flow,
                path: by.id,
                direction: Direction::Feedback,
                number: by.sent - 1,
            };
            out.size = Bytes::len_of(out.bytes.len()) + self.settings.overhead;
            out.payload = Bytes::ZERO;
            out.ecn = Ecn::NotEct;
            out.more = self.paths.iter().any(|path| path.feedback.is_ready());
            return true;
        }
        false
    }

    fn next_wake(&self) -> Option<Time> {
        let clock = self.settings.clock;
        let feedback = self.paths.iter().filter_map(|path| {
            let own = path.feedback.next_timeout();
            let reporter = path
                .reporter
                .as_ref()
                .and_then(|reporter| reporter.next_timeout())
                .map(|remote| clock.when(remote));
            [own, reporter].into_iter().flatten().min()
        });
        let playout = self.playout.as_ref().and_then(Playout::next_wake);
        feedback.chain(playout).min()
    }

    fn fork(&self) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(self.clone()))
    }
}
