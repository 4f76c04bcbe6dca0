//! A video call on two paths whose network is made of bytes.

use tightloop::cc::{ALGORITHMS, Start};
use tightloop::event::{Ecn, FlowId, Log, PathId};
use tightloop::paths::round_robin::ROUND_ROBIN;
use tightloop::rng::Stream;
use tightloop::scenario::PacketSettings;
use tightloop::session::receiver::{self, Clock, Receiver};
use tightloop::session::sender::{self, Application, Sender, Video};
use tightloop::session::wire::{Header, Message, MessageType, message_type};
use tightloop::session::{Buffer, Endpoint, Received, Transmit, feedback};
use tightloop::settings::Params;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop::video::follow::FOLLOW;
use tightloop::video::model::ideal::IDEAL;
use tightloop::video::playout::{Playout, PlayoutSettings};
use tightloop::video::source::{Cap, Source, SourceSettings};
use tightloop::video::{RateControl, VideoStart};

/// What the camera's application can use: this network has no bottleneck.
const MOST: Cap = Cap {
    from: Time::ZERO,
    to: Time::from_secs(1_000_000),
    max_rate: Rate::from_mbps(20),
};

/// More datagrams than this at one moment would be for ever.
const STUCK: usize = 10_000;

/// Bytes from the network are read or refused, by themselves and in the middle
/// of a call. What was read is written and read again as the same message.
///
/// In the call, the first byte picks the controller; each further one says
/// what happens next and takes from the rest what that needs.
pub fn wire(bytes: &[u8]) {
    alone(bytes);
    let Some((first, mut script)) = bytes.split_first() else {
        return;
    };
    let mut call = Call::new(usize::from(*first) % ALGORITHMS.len());
    while let Some((step, rest)) = script.split_first() {
        script = call.step(*step, rest);
    }
    // The call goes on, whatever was said.
    for _ in 0..20 {
        call.step(0, &[]);
    }
}

fn alone(bytes: &[u8]) {
    let mut buffer = Buffer::new();
    match message_type(bytes) {
        Ok(MessageType::Data) => {
            if let Ok(header) = Header::decode(bytes) {
                header.encode(&mut buffer);
                assert_eq!(Header::decode(&buffer), Ok(header), "it changed");
            }
        }
        Ok(MessageType::Feedback) => {
            let mut message = Message::default();
            if message.decode(bytes).is_ok() {
                message.encode(&mut buffer);
                let mut again = Message::default();
                assert_eq!(again.decode(&buffer), Ok(()), "{message:?}");
                assert_eq!(again, message, "it changed");
            }
        }
        Err(_) => {}
    }
}

struct Call {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    /// From the sender.
    data: Vec<Transmit>,
    /// From the receiver.
    feedback: Vec<Transmit>,
}

impl Call {
    fn new(algorithm: usize) -> Self {
        let controller = || (ALGORITHMS[algorithm].new)(&Start::plain()).expect("good defaults");
        let settings = SourceSettings {
            caps: vec![MOST],
            ..SourceSettings::default()
        };
        let source =
            Source::new(settings, Time::ZERO, Stream::named(1, "camera")).expect("good settings");
        let interval = source.frame_interval();
        let start = VideoStart {
            params: Params::new(),
            frame_interval: interval,
            rng: Stream::named(1, "video"),
        };
        let rate_control: Box<dyn RateControl> = (FOLLOW.new)(&start).expect("good defaults");
        let encoder = (IDEAL.new)(&start).expect("good defaults");
        let packet = PacketSettings::default();
        let sender = Sender::new(
            sender::Settings {
                flow: FlowId(0),
                framing: packet.framing(),
                feedback_delay: Span::ZERO,
                retransmit: true,
                latency_budget: sender::LATENCY_BUDGET,
                probe_interval: sender::PROBE_INTERVAL,
                ecn: Ecn::Ect0,
                slack: Span::ZERO,
                start: Time::ZERO,
                stop: None,
            },
            vec![controller(), controller()],
            (ROUND_ROBIN.new)(&Params::new()).expect("no settings"),
            Application::Video(Box::new(Video::new(
                source,
                rate_control,
                encoder,
                interval,
            ))),
        );
        let receiver = Receiver::new(
            receiver::Settings {
                flow: FlowId(0),
                feedback: feedback::Settings::default(),
                feedback_path: None,
                overhead: packet.overhead,
                clock: Clock {
                    offset: Span::from_secs(1_000),
                    drift_ppb: 20_000,
                },
            },
            vec![None, None],
            Some(Playout::new(&PlayoutSettings::default()).expect("good defaults")),
        );
        let mut call = Self {
            now: Time::ZERO,
            sender,
            receiver,
            data: Vec::new(),
            feedback: Vec::new(),
        };
        call.settle();
        call
    }

    /// Does one thing; gives what is left of the script.
    fn step<'a>(&mut self, step: u8, rest: &'a [u8]) -> &'a [u8] {
        let amount = i64::from(step >> 4);
        let rest = match step & 15 {
            // Time passes and everything arrives, or is lost.
            0..4 => {
                self.now += Span::from_millis(amount * amount + 1);
                self.deliver_all(step & 1 == 1);
                rest
            }
            // Only one of two arrives, in the wrong order.
            4 => {
                self.data.reverse();
                let odd = self.data.len() / 2;
                self.data.truncate(odd);
                rest
            }
            5 => {
                self.feedback.reverse();
                let odd = self.feedback.len() / 2;
                self.feedback.truncate(odd);
                rest
            }
            // A datagram is spoilt: a place and a mask for it.
            6..9 => {
                let spoilt = if step & 1 == 1 {
                    self.data.last_mut()
                } else {
                    self.feedback.last_mut()
                };
                let (places, rest) = rest.split_at(rest.len().min(2));
                if let (Some(datagram), [place, mask]) = (spoilt, places) {
                    let length = datagram.bytes.len();
                    if let Some(byte) = datagram.bytes.get_mut(usize::from(*place) % length.max(1))
                    {
                        *byte ^= mask;
                    }
                }
                rest
            }
            // A datagram is cut short, or delivered twice.
            9 => {
                if let Some(datagram) = self.feedback.last_mut() {
                    datagram.bytes.pop();
                }
                rest
            }
            10 => {
                self.deliver(amount & 1 == 1, false);
                rest
            }
            // A stranger's bytes: a length, and as many of them.
            _ => {
                let (length, rest) = rest.split_at(rest.len().min(1));
                let length = length.first().map_or(0, |length| usize::from(*length));
                let (strange, rest) = rest.split_at(rest.len().min(length));
                self.receive(amount & 1 == 1, PathId(step >> 5), strange, Bytes::new(100));
                rest
            }
        };
        self.settle();
        rest
    }

    fn deliver_all(&mut self, lossy: bool) {
        while self.deliver(true, true) {
            if lossy {
                self.data.pop();
            }
        }
        while self.deliver(false, true) {}
        self.settle();
        while self.deliver(false, true) {}
    }

    /// Delivers the last datagram under way; takes it away unless it comes twice.
    fn deliver(&mut self, data: bool, take: bool) -> bool {
        let queue = if data {
            &mut self.data
        } else {
            &mut self.feedback
        };
        let Some(sent) = queue.pop() else {
            return false;
        };
        self.receive(data, sent.id.path, &sent.bytes, sent.payload);
        if !take {
            let queue = if data {
                &mut self.data
            } else {
                &mut self.feedback
            };
            queue.push(sent);
        }
        true
    }

    fn receive(&mut self, data: bool, path: PathId, bytes: &[u8], payload: Bytes) {
        let received = Received {
            bytes,
            payload,
            ecn: Ecn::Ect0,
            arrived: self.now,
        };
        let log = &mut Log::off();
        // Refused or not: it must not panic, and the call must go on.
        let _ = if data {
            self.receiver.receive(self.now, path, received, log)
        } else {
            self.sender.receive(self.now, path, received, log)
        };
    }

    /// Wakes both, and takes out what they have to send.
    fn settle(&mut self) {
        let log = &mut Log::off();
        let ends: [(&mut dyn Endpoint, &mut Vec<Transmit>); 2] = [
            (&mut self.sender, &mut self.data),
            (&mut self.receiver, &mut self.feedback),
        ];
        for (end, queue) in ends {
            for round in 0.. {
                assert!(round < STUCK, "it never stops at {:?}", self.now);
                let mut sent = Transmit::default();
                if end.transmit(self.now, &mut sent, log) {
                    queue.push(sent);
                } else if end.next_wake().is_some_and(|due| due <= self.now) {
                    end.wake(self.now, log);
                } else {
                    break;
                }
            }
        }
    }
}
