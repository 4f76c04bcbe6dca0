//! A change of route: what was learnt is forgotten, a high rate is given up, a
//! low one is kept, and probes go out again.

use std::collections::VecDeque;

use tightloop::cc::gcc::Gcc;
use tightloop::cc::{Acked, Controller, Feedback, PathState, Sent, Start};
use tightloop::event::{Ecn, Kind};
use tightloop::units::{Bytes, Rate, RemoteTime, Span, Time};

use super::between;

const SIZE: Bytes = Bytes::new(1_200);

/// A sender that always has something to send, over one link after another.
struct Road {
    gcc: Gcc,
    now: Time,
    rate: Rate,
    delay: Span,
    free: Time,
    next_send: Time,
    number: u64,
    /// Packets under way: when each is acknowledged, and when it arrives.
    flight: VecDeque<(Time, Time, Sent)>,
    state: PathState,
}

impl Road {
    fn new(kbps: u64, delay_ms: i64) -> Self {
        Self {
            gcc: Gcc::new(&Start::plain()).expect("good settings"),
            now: Time::ZERO,
            rate: Rate::from_kbps(kbps),
            delay: Span::from_millis(delay_ms),
            free: Time::ZERO,
            next_send: Time::ZERO,
            number: 0,
            flight: VecDeque::new(),
            state: PathState::default(),
        }
    }

    /// Over another link from now on; what is under way still arrives.
    fn change(&mut self, kbps: u64) {
        self.rate = Rate::from_kbps(kbps);
        self.free = self.now;
        self.flight.clear();
        self.gcc.on_route_change();
        self.next_send = self.now;
    }

    fn target(&self) -> f64 {
        let target = self.gcc.control().target.expect("a target");
        target.ratio(Rate::from_kbps(1))
    }

    fn run(&mut self, millis: i64) {
        let end = self.now + Span::from_millis(millis);
        loop {
            let acked = self.flight.front().map(|(at, ..)| *at);
            let timer = self.gcc.next_timeout();
            let next = [Some(self.next_send), acked, timer];
            let next = next.into_iter().flatten().min().expect("a next packet");
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            if acked == Some(next) {
                self.acknowledge();
            } else if timer == Some(next) {
                self.gcc.on_timeout(self.now, &self.state);
                self.next_send = self.next_send.min(self.now + self.gap());
            } else {
                self.send();
            }
        }
    }

    /// The time between packets: a probe's, or the target's.
    fn gap(&self) -> Span {
        let control = self.gcc.control();
        let rate = control.floor.or(control.target).expect("a rate");
        SIZE.at(rate).expect("a rate above zero")
    }

    fn send(&mut self) {
        let packet = Sent {
            number: self.number,
            at: self.now,
            size: SIZE,
            kind: Kind::Bulk,
            ..Sent::default()
        };
        self.number += 1;
        self.free = self.free.max(self.now) + SIZE.at(self.rate).expect("a rate");
        let arrives = self.free + self.delay;
        self.flight
            .push_back((arrives + self.delay, arrives, packet));
        self.gcc.on_sent(self.now, &packet, &self.state);
        self.next_send = self.now + self.gap();
    }

    fn acknowledge(&mut self) {
        let (_, arrived, packet) = self.flight.pop_front().expect("a packet");
        let rtt = self.now - packet.at;
        let smoothed = self.state.smoothed_rtt.unwrap_or(rtt);
        self.state.smoothed_rtt = Some(smoothed + (rtt - smoothed) / 8);
        let acked = Acked {
            packet,
            arrived: Some(RemoteTime::from_nanos(arrived.as_nanos())),
            rtt: Some(rtt),
            ecn: Ecn::NotEct,
            spurious: false,
        };
        let feedback = Feedback {
            acked: &[acked],
            ..Feedback::of_losses(&[], false)
        };
        self.gcc.on_feedback(self.now, &feedback, &self.state);
    }
}

#[test]
fn a_low_rate_is_kept() {
    let mut road = Road::new(200, 10);
    road.run(500);
    between("before", road.target(), 150.0, 250.0);
    road.change(200);
    road.run(100);
    between("after", road.target(), 150.0, 250.0);
}

#[test]
fn a_high_rate_is_given_up_for_the_first() {
    let mut road = Road::new(1_000, 50);
    road.run(500);
    between("before", road.target(), 700.0, 1_300.0);
    road.change(1_000);
    road.run(50);
    between("after", road.target(), 270.0, 330.0);
}

#[test]
fn probes_find_that_the_new_route_is_better() {
    let mut road = Road::new(200, 50);
    road.run(1_000);
    between("before", road.target(), 150.0, 250.0);
    road.change(800);
    road.run(50);
    between("at once", road.target(), 150.0, 250.0);
    road.run(1_000);
    between("a second later", road.target(), 500.0, 850.0);
}
