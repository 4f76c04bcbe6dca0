//! A bench for law tests: a controller, and one feedback at a time that says
//! exactly what a test wants it to.

use crate::cc::pipe::{MSS, acked};
use crate::cc::{Acked, Controller, DeliveryRate, Feedback, Lost, PathState};
use crate::event::LostBy;
use crate::units::{Rate, Span, Time};

/// What the session would know.
#[derive(Debug)]
pub(in crate::cc) struct Bench {
    pub(in crate::cc) now: Time,
    pub(in crate::cc) path: PathState,
    next: u64,
}

/// One packet acknowledged, a millisecond after the last one.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc) struct Ack {
    pub(in crate::cc) rtt: Span,
    pub(in crate::cc) rate: Rate,
    /// Packets in flight after it.
    pub(in crate::cc) in_flight: u64,
    /// It begins a round.
    pub(in crate::cc) begins: bool,
    /// So many packets are lost.
    pub(in crate::cc) lost: usize,
}

impl Ack {
    /// 12 Mbit/s and 40 ms: a packet a millisecond, 40 in flight.
    pub(in crate::cc) fn plain() -> Self {
        Self {
            rtt: Span::from_millis(40),
            rate: Rate::from_mbps(12),
            in_flight: 40,
            begins: false,
            lost: 0,
        }
    }
}

impl Bench {
    pub(in crate::cc) fn new() -> Self {
        let path = PathState {
            mss: MSS,
            ..PathState::default()
        };
        Self {
            now: Time::ZERO,
            path,
            next: 0,
        }
    }

    /// Sends a packet and reports it.
    pub(in crate::cc) fn ack(&mut self, cc: &mut dyn Controller, ack: Ack) {
        self.now += Span::from_millis(1);
        self.path.in_flight = MSS * ack.in_flight;
        let before = self.path.delivered;
        let mut packet = acked(MSS).packet;
        packet.number = self.next;
        packet.in_flight = MSS * (ack.in_flight + 1);
        if ack.begins {
            packet.delivered = before;
        }
        self.next += 1;
        cc.on_sent(self.now, &packet, &self.path);
        self.path.delivered += MSS;
        let lost = Lost {
            packet,
            by: LostBy::Packets,
        };
        let losses = vec![lost; ack.lost];
        let interval = Span::from_millis(12);
        let feedback = Feedback {
            acked: &[Acked {
                packet,
                rtt: Some(ack.rtt),
                ..acked(MSS)
            }],
            delivery: Some(DeliveryRate {
                delivered: ack.rate.over(interval),
                interval,
                app_limited: false,
                prior_delivered: packet.delivered,
            }),
            ..Feedback::of_losses(&losses, false)
        };
        cc.on_feedback(self.now, &feedback, &self.path);
    }

    /// The same again for so long.
    pub(in crate::cc) fn acks(&mut self, cc: &mut dyn Controller, ack: Ack, length: Span) {
        let end = self.now + length;
        while self.now < end {
            self.ack(cc, ack);
        }
    }
}
