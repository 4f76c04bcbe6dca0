//! A pipe for law tests: one controller, an exact delay, perhaps a server with
//! an unlimited queue in front, one feedback per packet. No losses but those a
//! test asks for.

use std::collections::VecDeque;

use super::{Acked, Controller, Feedback, Lost, PathState, Sent};
use crate::event::{Ecn, LostBy};
use crate::units::{Bytes, Rate, RemoteTime, Span, Time};

/// Ours: Ethernet's packets, as in the papers.
pub(super) const MSS: Bytes = Bytes::new(1500);

/// One packet of this size, acknowledged.
pub(super) fn acked(size: Bytes) -> Acked {
    Acked {
        packet: Sent {
            size,
            ..Sent::default()
        },
        arrived: None,
        rtt: None,
        ecn: Ecn::NotEct,
        spurious: false,
    }
}

/// The pipe, and what the session would know.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) now: Time,
    pub(super) state: PathState,
    rtt: Span,
    /// How long the server takes for a packet; zero for none.
    service: Span,
    free_at: Time,
    /// Packets under way, with when each is acknowledged.
    flight: VecDeque<(Time, Sent)>,
    next_number: u64,
}

impl Pipe {
    /// A pipe in which nothing ever queues.
    pub(super) fn new(rtt: Span) -> Self {
        Self {
            now: Time::ZERO,
            state: PathState {
                mss: MSS,
                ..PathState::default()
            },
            rtt,
            service: Span::ZERO,
            free_at: Time::ZERO,
            flight: VecDeque::new(),
            next_number: 0,
        }
    }

    /// With a server of this rate.
    pub(super) fn with_rate(mut self, rate: Rate) -> Self {
        self.service = MSS.at(rate).expect("a rate");
        self
    }

    /// Packets that wait, the one in service not counted.
    pub(super) fn waiting(&self) -> f64 {
        if self.service.is_positive() {
            ((self.free_at - self.now).ratio(self.service) - 1.0).max(0.0)
        } else {
            0.0
        }
    }

    /// Sends one packet.
    pub(super) fn send(&mut self, cc: &mut dyn Controller) {
        self.state.in_flight += MSS;
        let packet = Sent {
            number: self.next_number,
            at: self.now,
            size: MSS,
            in_flight: self.state.in_flight,
            app_limited: self.state.app_limited,
            ..Sent::default()
        };
        self.next_number += 1;
        self.free_at = self.free_at.max(self.now) + self.service;
        let back = self.free_at + self.rtt - self.service;
        self.flight.push_back((back, packet));
        cc.on_sent(self.now, &packet, &self.state);
    }

    /// Sends what the window allows, the first window spread over a round trip.
    pub(super) fn start(&mut self, cc: &mut dyn Controller) {
        let window = cc.control().window.expect("a window");
        let gap = self.rtt * MSS.ratio(window);
        while self.state.in_flight + MSS <= window {
            self.send(cc);
            self.now += gap;
        }
    }

    /// Acknowledges the next packet and sends what the window then allows.
    pub(super) fn step(&mut self, cc: &mut dyn Controller) {
        self.step_with(cc, |_| ());
    }

    /// As [`Self::step`], the acknowledgement changed by the test.
    pub(super) fn step_with(&mut self, cc: &mut dyn Controller, change: impl FnOnce(&mut Acked)) {
        let mut acked = self.arrive();
        change(&mut acked);
        self.feed(cc, &[acked], &[]);
        self.fill(cc);
    }

    /// Loses the next packet.
    pub(super) fn lose(&mut self, cc: &mut dyn Controller) -> Sent {
        let packet = self.arrive().packet;
        let lost = Lost {
            packet,
            by: LostBy::Packets,
        };
        self.feed(cc, &[], &[lost]);
        self.fill(cc);
        packet
    }

    /// Takes the next packet out of the pipe.
    fn arrive(&mut self) -> Acked {
        let (at, packet) = self.flight.pop_front().expect("a packet under way");
        self.now = self.now.max(at);
        self.state.in_flight -= MSS;
        let rtt = self.now - packet.at;
        let state = &mut self.state;
        state.latest_rtt = Some(rtt);
        state.smoothed_rtt = Some(state.smoothed_rtt.map_or(rtt, |s| s + (rtt - s) / 8));
        state.min_rtt = Some(state.min_rtt.map_or(rtt, |min| min.min(rtt)));
        Acked {
            packet,
            arrived: Some(RemoteTime::from_nanos(self.now.as_nanos())),
            rtt: Some(rtt),
            ecn: Ecn::NotEct,
            spurious: false,
        }
    }

    /// Hands a feedback over.
    pub(super) fn feed(&self, cc: &mut dyn Controller, acked: &[Acked], lost: &[Lost]) {
        let feedback = Feedback {
            acked,
            ..Feedback::of_losses(lost, false)
        };
        cc.on_feedback(self.now, &feedback, &self.state);
    }

    fn fill(&mut self, cc: &mut dyn Controller) {
        while cc
            .control()
            .window
            .is_none_or(|window| self.state.in_flight + MSS <= window)
        {
            self.send(cc);
        }
    }

    /// A gauge of the controller.
    pub(super) fn gauge(cc: &dyn Controller, name: &str) -> f64 {
        let mut found = f64::NAN;
        cc.inspect(&mut |gauge, value| {
            if gauge == name {
                found = value;
            }
        });
        found
    }
}
