//! Any controller on a path made of bytes.
//!
//! The first byte picks the controller, each further one an operation on the
//! model below, which keeps the books a session would keep: it never tells a
//! controller what no session could.

use tightloop::cc::{
    ALGORITHMS, Acked, Algorithm, Control, Controller, DeliveryRate, Feedback, Lost, PathState,
    Sent, Start,
};
use tightloop::event::{Ecn, Fragment, FrameId, Kind, LostBy};
use tightloop::units::{Bytes, RemoteTime, Span, Time, count};

/// Beyond this a window or rate is called infinite.
const ABSURD: u64 = 1 << 50;

/// A timer that comes due this often at one moment is stuck.
const STUCK: usize = 1_000;

/// More than this is never in flight, whatever the window.
const FULL: Bytes = Bytes::new(6_000_000);

/// Where the second receiver's clock stands, against the first's.
const CLOCK_OFFSET: Span = Span::from_secs(-3_601);

/// The controller picked by the first byte keeps the contract's promises under
/// the operations that follow: it does not panic, its answers are pure and
/// finite, its timers move on, a fork behaves like its original, and a
/// receiver's clock may stand anywhere.
pub fn controller(bytes: &[u8]) {
    let Some((first, operations)) = bytes.split_first() else {
        return;
    };
    on_path(
        &ALGORITHMS[usize::from(*first) % ALGORITHMS.len()],
        operations,
    );
}

/// The same for one algorithm.
///
/// # Panics
///
/// Where it breaks a promise.
pub fn on_path(algorithm: &Algorithm, operations: &[u8]) {
    let build = || {
        (algorithm.new)(&Start::plain())
            .unwrap_or_else(|error| panic!("{} refuses its defaults: {error}", algorithm.name))
    };
    let mut original = Path::new(build(), Span::ZERO);
    let mut elsewhere = Path::new(build(), CLOCK_OFFSET);
    let mut fork = None;
    for (nth, operation) in operations.iter().enumerate() {
        if nth == operations.len() / 2 {
            fork = Some(original.clone());
        }
        original.apply(*operation);
        elsewhere.apply(*operation);
        if let Some(fork) = &mut fork {
            fork.apply(*operation);
        }
        let name = algorithm.name;
        let control = original.check(name);
        assert_eq!(
            elsewhere.check(name),
            control,
            "{name}: operation {nth}: the receiver's clock matters"
        );
    }
    if let Some(fork) = fork {
        assert_eq!(
            format!("{fork:?}"),
            format!("{original:?}"),
            "{}: a fork went another way than its original",
            algorithm.name
        );
    }
}

/// A sender's books on one path, and its controller.
#[derive(Clone, Debug)]
struct Path {
    controller: Box<dyn Controller>,
    now: Time,
    state: PathState,
    /// Sent, and neither acknowledged nor given up; by rising number.
    flight: Vec<Sent>,
    /// Given up.
    lost: Vec<Sent>,
    next_number: u64,
    next_frame: u32,
    delivered_at: Time,
    first_sent: Time,
    /// The receiver's clock, and its latest reading.
    clock_offset: Span,
    last_arrival: RemoteTime,
    queueing: Span,
}

impl Path {
    fn new(controller: Box<dyn Controller>, clock_offset: Span) -> Self {
        let now = Time::from_millis(1);
        Self {
            controller,
            now,
            state: PathState {
                mss: Start::plain().mss,
                ..PathState::default()
            },
            flight: Vec::new(),
            lost: Vec::new(),
            next_number: 0,
            next_frame: 0,
            delivered_at: now,
            first_sent: now,
            clock_offset,
            last_arrival: RemoteTime::default(),
            queueing: Span::ZERO,
        }
    }

    /// The low three bits say what happens, the high five how much of it.
    fn apply(&mut self, operation: u8) {
        let amount = operation >> 3;
        let much = i64::from(amount);
        match operation & 7 {
            0 => self.pass(Span::from_micros(100) * (much + 1)),
            1 => self.pass(Span::from_millis(5) * (much * much + 1)),
            2 => self.send(u64::from(amount) + 1, true),
            3 => self.send(1, false),
            4 => self.acknowledge(usize::from(amount) + 1, true),
            5 => self.acknowledge_around_holes(amount),
            6 => self.give_up(usize::from(amount) + 1, amount > 24),
            _ => match amount {
                0 => self.state.app_limited = !self.state.app_limited,
                1 => self.acknowledge(1, false),
                2 => self.late_arrival(),
                _ => self.queueing = Span::from_millis(much * much),
            },
        }
    }

    /// Time passes; timers that come due are fired on the way.
    fn pass(&mut self, span: Span) {
        let end = self.now + span;
        let mut fired = 0;
        while let Some(due) = self.controller.next_timeout().filter(|due| *due <= end) {
            let at = due.max(self.now);
            fired = if at == self.now { fired + 1 } else { 0 };
            assert!(fired < STUCK, "the timer at {at:?} does not move on");
            self.now = at;
            self.controller.on_timeout(at, &self.state);
        }
        self.now = end;
    }

    /// Sends a frame's train of full packets, or one packet of something else.
    fn send(&mut self, packets: u64, video: bool) {
        for index in 0..packets {
            let fragment = Fragment {
                frame: FrameId(self.next_frame),
                index: u16::try_from(index).unwrap_or(0),
                count: u16::try_from(packets).unwrap_or(1),
            };
            let kind = match (video, self.next_number % 3) {
                (true, _) => Kind::Video(fragment),
                (false, 0) => Kind::Bulk,
                (false, 1) => Kind::Filler,
                (false, _) => Kind::Retransmit(fragment),
            };
            self.send_one(kind);
            self.pass(Span::from_micros(50));
        }
        self.next_frame += 1;
    }

    /// Sends one packet if the window has room; a lone one is a probe.
    fn send_one(&mut self, kind: Kind) {
        let size = self.state.mss;
        let window = self.controller.control().window.unwrap_or(FULL);
        if self.flight.is_empty() {
            self.first_sent = self.now;
            self.delivered_at = self.now;
        } else if self.state.in_flight + size > window.min(FULL) {
            return;
        }
        self.state.in_flight += size;
        self.state.sent += size;
        let packet = Sent {
            number: self.next_number,
            at: self.now,
            size,
            kind,
            in_flight: self.state.in_flight,
            delivered: self.state.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.state.app_limited,
        };
        self.next_number += 1;
        self.flight.push(packet);
        self.controller.on_sent(self.now, &packet, &self.state);
    }

    /// Reports the oldest packets in flight, with or without arrival times.
    fn acknowledge(&mut self, packets: usize, timed: bool) {
        let packets = packets.min(self.flight.len());
        let arrived = self.flight.drain(..packets).collect();
        self.report(arrived, Vec::new(), timed);
    }

    /// Reports every second packet of some; those between are lost if three
    /// later ones arrived.
    fn acknowledge_around_holes(&mut self, amount: u8) {
        let some = (usize::from(amount) + 4).min(self.flight.len());
        let (mut arrived, mut holes) = (Vec::new(), Vec::new());
        for (nth, packet) in self.flight.drain(..some).enumerate() {
            if nth % 2 == usize::from(amount % 2) {
                arrived.push(packet);
            } else {
                holes.push(packet);
            }
        }
        let largest = arrived.last().map_or(0, |packet| packet.number);
        let gone = holes.partition_point(|packet| packet.number + 3 <= largest);
        let open = holes.split_off(gone);
        self.flight.splice(..0, open);
        self.report(arrived, holes, true);
    }

    /// Gives the oldest packets up by time, without a message.
    fn give_up(&mut self, packets: usize, persistent: bool) {
        let packets = packets.min(self.flight.len());
        let gone: Vec<Sent> = self.flight.drain(..packets).collect();
        if gone.is_empty() {
            return;
        }
        let lost = self.count_lost(gone, LostBy::Time);
        let feedback = Feedback::of_losses(&lost, persistent);
        self.controller
            .on_feedback(self.now, &feedback, &self.state);
    }

    /// A packet given up arrives after all.
    fn late_arrival(&mut self) {
        let Some(packet) = self.lost.pop() else {
            return;
        };
        self.state.lost -= packet.size;
        self.feed(vec![packet], Vec::new(), true, true);
    }

    fn report(&mut self, arrived: Vec<Sent>, gone: Vec<Sent>, timed: bool) {
        for packet in &arrived {
            self.state.in_flight -= packet.size;
        }
        let lost = self.count_lost(gone, LostBy::Packets);
        self.feed(arrived, lost, timed, false);
    }

    fn count_lost(&mut self, gone: Vec<Sent>, by: LostBy) -> Vec<Lost> {
        let lose = |packet: Sent| {
            self.state.in_flight -= packet.size;
            self.state.lost += packet.size;
            self.lost.push(packet);
            Lost { packet, by }
        };
        gone.into_iter().map(lose).collect()
    }

    /// Hands one message's news to the controller.
    fn feed(&mut self, arrived: Vec<Sent>, lost: Vec<Lost>, timed: bool, spurious: bool) {
        // Nothing arrives in the instant it was sent.
        self.pass(Span::from_micros(10));
        let mut acked = Vec::new();
        for packet in &arrived {
            let flight = self.now - packet.at;
            let arrival = (packet.at + (flight / 2).min(self.queueing + Span::from_micros(5)))
                .on_clock(self.clock_offset, 0);
            self.last_arrival = self.last_arrival.max(arrival);
            if timed {
                self.take_rtt(flight);
            }
            acked.push(Acked {
                packet: *packet,
                arrived: timed.then_some(self.last_arrival),
                rtt: timed.then_some(flight),
                ecn: if packet.number % 7 == 0 {
                    Ecn::Ce
                } else {
                    Ecn::Ect0
                },
                spurious,
            });
        }
        let delivery = self.delivery(&arrived);
        let feedback = Feedback {
            acked: &acked,
            lost: &lost,
            delivery,
            through: Some(self.now.on_clock(self.clock_offset, 0)),
            persistent_congestion: false,
            report: None,
        };
        self.controller
            .on_feedback(self.now, &feedback, &self.state);
    }

    fn take_rtt(&mut self, rtt: Span) {
        let smoothed = self.state.smoothed_rtt.unwrap_or(rtt);
        self.state.rtt_deviation = self.state.rtt_deviation * 3 / 4 + (smoothed - rtt).abs() / 4;
        self.state.smoothed_rtt = Some(smoothed * 7 / 8 + rtt / 8);
        self.state.latest_rtt = Some(rtt);
        self.state.min_rtt = Some(self.state.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// The delivery-rate sample around the packet sent last.
    fn delivery(&mut self, arrived: &[Sent]) -> Option<DeliveryRate> {
        let size: Bytes = arrived.iter().map(|packet| packet.size).sum();
        self.state.delivered += size;
        self.delivered_at = self.now;
        let sample = arrived.iter().max_by_key(|packet| packet.number)?;
        self.first_sent = sample.at;
        let sending = sample.at - sample.first_sent;
        let acknowledging = self.now - sample.delivered_at;
        Some(DeliveryRate {
            delivered: self.state.delivered - sample.delivered,
            interval: sending.max(acknowledging),
            app_limited: sample.app_limited,
            prior_delivered: sample.delivered,
        })
    }

    /// What holds after every operation; gives the controller's answer.
    fn check(&self, name: &str) -> Control {
        let control = self.controller.control();
        assert_eq!(
            self.controller.control(),
            control,
            "{name}: control() is not pure"
        );
        let Control {
            window,
            pacing,
            floor,
            target,
        } = control;
        let rates = [pacing, floor, target].map(|rate| rate.map(|rate| rate.as_bps()));
        for value in rates.into_iter().chain([window.map(Bytes::get)]).flatten() {
            assert!(value < ABSURD, "{name}: not finite: {control:?}");
        }
        self.controller.inspect(&mut |gauge, value| {
            assert!(!value.is_nan(), "{name}: {gauge} is not a number");
        });
        assert_eq!(
            self.state.in_flight,
            self.state.mss * count(self.flight.len()),
            "the model's own books"
        );
        control
    }
}
