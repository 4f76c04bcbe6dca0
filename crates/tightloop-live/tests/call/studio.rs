//! Both ends of a call, for tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tightloop::event::{Event, FlowId};
use tightloop::scenario::{Named, Scenario, Supplies, VideoSettings};
use tightloop::session::receiver;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop::video::source::Cap;
use tightloop_live::call::{
    Apart, CallError, Callee, Caller, Dial, Film, Fingerprint, Hello, Identity, Manners, Opened,
    SLACK, Screen, Seen, Signal, Socket, Tally, Trust, VERSION, output, overhead,
};
use tightloop_live::clock::Clock;
use tightloop_live::codec::{CodecStart, codec};
use tightloop_live::footage::{Footage, FootageSettings};
use tightloop_live::footage_encoder::FootageEncoder;

type Events = Vec<(Time, Event)>;

#[derive(Debug)]
pub(crate) struct Studio {
    local: SocketAddr,
    footage: Arc<Footage>,
    identity: Arc<Identity>,
    pub(crate) out: Option<String>,
    pub(crate) patience: Span,
    /// Local addresses to call from besides the first, and what picks one.
    pub(crate) more: Vec<SocketAddr>,
    pub(crate) scheduler: &'static str,
    /// The most that the encoder is asked for.
    pub(crate) most: Rate,
}

#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) tally: Tally,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
}

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) tally: Tally,
    pub(crate) seen: Option<Seen>,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) at: SocketAddr,
    pub(crate) fingerprint: Fingerprint,
    token: Option<String>,
    signal: Arc<Signal>,
    thread: JoinHandle<Received>,
}

/// What a sender knows of a receiver.
pub(crate) fn trust(receiver: &Receiver) -> Trust {
    Trust {
        pin: Some(receiver.fingerprint),
        token: receiver.token.clone(),
    }
}

impl Studio {
    pub(crate) fn at(local: &str) -> Self {
        let settings = FootageSettings {
            size: Some("160x96".parse().expect("a size")),
            longest: Span::from_secs(1),
            ..FootageSettings::default()
        };
        Self {
            local: local.parse().expect("an address"),
            footage: Arc::new(Footage::open("gen:game", &settings).expect("footage")),
            identity: Arc::new(Identity::generate().expect("an identity")),
            out: None,
            patience: Span::from_secs(5),
            more: Vec::new(),
            scheduler: "single",
            most: Rate::from_kbps(900),
        }
    }

    fn scenario(&self, overhead: Bytes, paths: usize) -> Scenario {
        let mut scenario = Scenario::single("copa");
        let mut video = VideoSettings::default();
        video.source.fps = 30.0;
        video.source.caps.push(Cap {
            from: Time::ZERO,
            to: Time::from_secs(1_000),
            max_rate: self.most,
        });
        video.encoder = Named::plain("openh264");
        scenario.packet.overhead = overhead;
        scenario.duration = Span::from_secs(1_000);
        scenario.flow[0].video = Some(video);
        scenario.flow[0].scheduler = Named::plain(self.scheduler);
        let path = scenario.flow[0].path[0].clone();
        scenario.flow[0].path = vec![path; paths];
        scenario
    }

    pub(crate) fn receive(&self, token: Option<&str>) -> Receiver {
        self.receive_at(self.local, token)
    }

    pub(crate) fn receive_at(&self, at: SocketAddr, token: Option<&str>) -> Receiver {
        let signal = Arc::new(Signal::new().expect("a signal"));
        let clock = Clock::start();
        let socket = loop {
            // One that was killed may take a moment to let go.
            match Socket::bind(at) {
                Ok(socket) => break socket,
                Err(_) => std::thread::yield_now(),
            }
        };
        let token = token.map(str::to_owned);
        let callee = Callee::new(socket, &self.identity, token.clone(), clock);
        let mut callee = callee.expect("a receiver");
        let (at, fingerprint) = (callee.local(), callee.fingerprint());
        let (own, out) = (Arc::clone(&signal), self.out.clone());
        let thread = std::thread::spawn(move || {
            let mut events = Events::new();
            let mut open = |hello: &Hello| opened(hello, out.as_deref());
            let manners = Manners::default();
            let (tally, seen) = callee
                .run(&mut open, manners, &own, &mut events)
                .expect("no failure");
            Received {
                tally,
                seen,
                events,
                clock,
            }
        });
        Receiver {
            at,
            fingerprint,
            token,
            signal,
            thread,
        }
    }

    /// Calls for so many milliseconds.
    pub(crate) fn call(
        &self,
        to: SocketAddr,
        trust: &Trust,
        millis: u64,
    ) -> Result<Sent, CallError> {
        let locals = [&[self.local], self.more.as_slice()].concat();
        let sockets = locals
            .into_iter()
            .map(|it| Socket::bind(it).expect("a socket"));
        self.call_over(sockets.collect(), to, trust, millis)
    }

    /// The same over these sockets, each of which is a path.
    pub(crate) fn call_over(
        &self,
        sockets: Vec<Socket>,
        to: SocketAddr,
        trust: &Trust,
        millis: u64,
    ) -> Result<Sent, CallError> {
        let signal = Arc::new(Signal::new().expect("a signal"));
        let scenario = self.scenario(overhead(to.ip()), sockets.len());
        let hello = Hello {
            version: VERSION,
            call: format!("{to} {millis}"),
            path: 0,
            again: false,
            proof: None,
            film: Some(Film {
                codec: "openh264".into(),
                size: self.footage.size(),
                fps: 30.0,
            }),
            packet: scenario.packet,
            flow: scenario.flow[0].clone(),
        };
        let dial = Dial {
            to,
            trust: trust.clone(),
            hello,
            patience: self.patience,
            keep: false,
            marks: None,
        };
        let caller = Caller::dial(sockets, dial, Clock::start(), &signal)?;
        let interval = Span::from_secs(1) / 30;
        let kind = codec("openh264").expect("built in");
        let encoder = (kind.encoder)(&CodecStart::plain(self.footage.size(), interval));
        let encoder = encoder.expect("an encoder");
        let encoder = FootageEncoder::new(encoder, self.footage.clone(), Span::ZERO);
        let recording = encoder.recording();
        let encoder = std::cell::RefCell::new(Some(encoder));
        let supplies = Supplies {
            traces: &|_| None,
            encoders: &|_, _, _| {
                let encoder = Box::new(encoder.take()?);
                let apart = Apart::new(encoder, Arc::clone(&signal)).expect("a thread");
                Some(Ok(Box::new(apart)))
            },
        };
        let mut session = scenario
            .sender(FlowId(0), SLACK, &supplies)
            .expect("a sender");
        let until = Some(Time::from_millis(millis));
        let mut events = Events::new();
        let clock = Clock::start();
        let tally = caller.run(
            &mut session,
            Some(&recording),
            clock,
            until,
            &signal,
            &mut events,
        )?;
        assert_eq!(recording.failure(), None);
        Ok(Sent {
            tally,
            events,
            clock,
        })
    }
}

fn opened(hello: &Hello, out: Option<&str>) -> Result<Opened, String> {
    let mut scenario = Scenario::single("copa");
    scenario.packet = hello.packet;
    scenario.flow = vec![hello.flow.clone()];
    let session = scenario.receiver(FlowId(0), receiver::Clock::default());
    let session = session.map_err(|error| error.to_string())?;
    let film = hello.film.as_ref().ok_or("no film")?;
    let kind = codec(&film.codec).map_err(|error| error.to_string())?;
    let decoder = (kind.decoder)().map_err(|error| error.to_string())?;
    let outputs = match out {
        None => Vec::new(),
        Some(out) => vec![output::open(out, film, !hello.again)?],
    };
    let screen = Screen::new(Some(decoder), outputs, |_, _| {});
    Ok(Opened {
        session,
        screen: Some(screen.expect("a thread")),
    })
}

impl Receiver {
    pub(crate) fn stop(&self) {
        self.signal.stop();
    }

    /// Waits for the end of the call.
    pub(crate) fn end(self) -> Received {
        self.thread.join().expect("no panic")
    }

    /// Ends it without a word to the sender.
    pub(crate) fn kill(self) {
        self.signal.vanish();
        self.thread.join().expect("no panic");
    }
}
