//! A random history, and the ledger a session would keep of it.

use std::collections::VecDeque;

use proptest::prelude::*;
use tightloop::cc::{
    Acked, Arrival, Controller, DeliveryRate, Feedback, Lost, PathState, Report, Reporter, Sent,
    Start,
};
use tightloop::event::{Ecn, Fragment, FrameId, Kind, LostBy};
use tightloop::units::{Bytes, RemoteTime, Span, Time};

pub(crate) const MSS: Bytes = Bytes::new(1500);

/// Something that happens to a session.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Time passes.
    Pass(Span),
    /// A frame of this many packets leaves, the last one this large.
    Send { packets: u16, last: u64, bulk: bool },
    /// A feedback reports these of the outstanding packets (places in the line).
    Ack {
        places: Vec<usize>,
        rtt: Option<Span>,
        ecn: Ecn,
        loses: usize,
    },
    /// The oldest outstanding packets are given up by time.
    Lose { packets: usize, persistent: bool },
    /// Packets given up arrive after all.
    Spurious { packets: usize },
    /// The controller's timer fires, this late.
    Timeout(Span),
    /// The application limits the sender, or no longer.
    AppLimited(bool),
}

fn spans() -> impl Strategy<Value = Span> {
    prop_oneof![
        5 => (0i64..60_000_000).prop_map(Span::from_nanos),
        2 => (0i64..2_000).prop_map(Span::from_nanos),
        2 => (0i64..5_000).prop_map(Span::from_millis),
        1 => (0i64..100_000).prop_map(Span::from_secs),
    ]
}

pub(crate) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ecn = prop_oneof![9 => Just(Ecn::NotEct), 1 => Just(Ecn::Ce)];
    let op = prop_oneof![
        4 => spans().prop_map(Op::Pass),
        6 => (1u16..30, 60u64..=1500, any::<bool>())
            .prop_map(|(packets, last, bulk)| Op::Send { packets, last, bulk }),
        8 => (
            prop::collection::vec(0usize..40, 1..20),
            prop::option::weighted(0.9, spans()),
            ecn,
            prop_oneof![4 => Just(0usize), 1 => 1usize..8],
        )
            .prop_map(|(places, rtt, ecn, loses)| Op::Ack { places, rtt, ecn, loses }),
        1 => (1usize..20, any::<bool>())
            .prop_map(|(packets, persistent)| Op::Lose { packets, persistent }),
        1 => (1usize..8).prop_map(|packets| Op::Spurious { packets }),
        1 => spans().prop_map(Op::Timeout),
        1 => any::<bool>().prop_map(Op::AppLimited),
    ];
    prop::collection::vec(op, 1..120)
}

/// A controller and the ledger a session would keep for it.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) controller: Box<dyn Controller>,
    reporter: Option<Box<dyn Reporter>>,
    /// What the receiver's clock shows at time zero.
    remote_epoch: RemoteTime,
    now: Time,
    state: PathState,
    next_number: u64,
    next_frame: u32,
    outstanding: VecDeque<Sent>,
    given_up: VecDeque<Sent>,
    last_arrival: Span,
}

impl World {
    pub(crate) fn new(name: &str, start: &Start, clock_offset: Span) -> Self {
        let algorithm = tightloop::cc::algorithm(name).expect("a known name");
        Self {
            controller: (algorithm.new)(start).expect("good settings"),
            reporter: algorithm
                .reporter
                .map(|new| new(start).expect("good settings")),
            remote_epoch: RemoteTime::from_nanos(1 << 60) + clock_offset,
            now: Time::ZERO,
            state: PathState {
                mss: MSS,
                ..PathState::default()
            },
            next_number: 0,
            next_frame: 0,
            outstanding: VecDeque::new(),
            given_up: VecDeque::new(),
            last_arrival: Span::ZERO,
        }
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Pass(span) => self.now += *span,
            Op::Send {
                packets,
                last,
                bulk,
            } => {
                for index in 0..*packets {
                    let size = if index + 1 == *packets {
                        Bytes::new(*last)
                    } else {
                        MSS
                    };
                    let fragment = Fragment {
                        frame: FrameId(self.next_frame),
                        index,
                        count: *packets,
                    };
                    self.send(
                        size,
                        if *bulk {
                            Kind::Bulk
                        } else {
                            Kind::Video(fragment)
                        },
                    );
                }
                self.next_frame += u32::from(!bulk);
            }
            Op::Ack {
                places,
                rtt,
                ecn,
                loses,
            } => {
                let mut packets: Vec<Sent> = vec![];
                for place in places {
                    packets.extend(self.outstanding.remove(*place));
                }
                let lost = self.give_up(*loses, LostBy::Packets);
                self.report(&packets, *rtt, *ecn, false, &lost);
            }
            Op::Lose {
                packets,
                persistent,
            } => {
                let lost = self.give_up(*packets, LostBy::Time);
                if !lost.is_empty() {
                    let feedback = Feedback::of_losses(&lost, *persistent);
                    self.controller
                        .on_feedback(self.now, &feedback, &self.state);
                }
            }
            Op::Spurious { packets } => {
                let late = self.given_up.len().min(*packets);
                let packets: Vec<Sent> = self.given_up.drain(..late).collect();
                self.report(
                    &packets,
                    Some(Span::from_millis(90)),
                    Ecn::NotEct,
                    true,
                    &[],
                );
            }
            Op::Timeout(late) => {
                if let Some(at) = self.controller.next_timeout() {
                    self.now = self.now.max(at) + *late;
                    self.controller.on_timeout(self.now, &self.state);
                }
            }
            Op::AppLimited(limited) => self.state.app_limited = *limited,
        }
    }

    fn send(&mut self, size: Bytes, kind: Kind) {
        self.state.sent += size;
        self.state.in_flight += size;
        let packet = Sent {
            number: self.next_number,
            at: self.now,
            size,
            kind,
            in_flight: self.state.in_flight,
            delivered: self.state.delivered,
            delivered_at: self.now,
            first_sent: self.now,
            app_limited: self.state.app_limited,
        };
        self.next_number += 1;
        self.outstanding.push_back(packet);
        self.controller.on_sent(self.now, &packet, &self.state);
    }

    fn give_up(&mut self, packets: usize, by: LostBy) -> Vec<Lost> {
        let packets = self.outstanding.len().min(packets);
        let gone: Vec<Sent> = self.outstanding.drain(..packets).collect();
        for packet in &gone {
            self.state.in_flight -= packet.size;
            self.state.lost += packet.size;
        }
        self.given_up.extend(&gone);
        gone.into_iter().map(|packet| Lost { packet, by }).collect()
    }

    fn report(
        &mut self,
        packets: &[Sent],
        rtt: Option<Span>,
        ecn: Ecn,
        spurious: bool,
        lost: &[Lost],
    ) {
        if packets.is_empty() && lost.is_empty() {
            return;
        }
        let mut acked = vec![];
        for packet in packets {
            self.state.delivered += packet.size;
            if spurious {
                self.state.lost -= packet.size;
            } else {
                self.state.in_flight -= packet.size;
            }
            // The receiver's clock never goes back either.
            let passed = self.now.since_epoch() - rtt.unwrap_or(Span::ZERO) / 2;
            self.last_arrival = self.last_arrival.max(passed);
            let at = self.remote_epoch + self.last_arrival;
            acked.push(Acked {
                packet: *packet,
                arrived: rtt.map(|_| at),
                rtt,
                ecn,
                spurious,
            });
            if let Some(reporter) = &mut self.reporter {
                reporter.on_arrival(&Arrival {
                    number: packet.number,
                    at,
                    size: packet.size,
                    kind: packet.kind,
                    ecn,
                });
            }
        }
        if let Some(rtt) = rtt {
            let state = &mut self.state;
            let smoothed = state.smoothed_rtt.unwrap_or(rtt);
            state.latest_rtt = Some(rtt);
            state.smoothed_rtt = Some(smoothed + (rtt - smoothed) / 8);
            state.rtt_deviation = (rtt - smoothed).abs();
            state.min_rtt = Some(state.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let through = self.remote_epoch + self.last_arrival;
        let report: Option<Report> = self.reporter.as_mut().and_then(|r| r.report(through));
        let feedback = Feedback {
            acked: &acked,
            lost,
            delivery: packets.last().map(|packet| DeliveryRate {
                delivered: self.state.delivered.saturating_sub(packet.delivered),
                interval: self.now - packet.at,
                app_limited: packet.app_limited,
                prior_delivered: packet.delivered,
            }),
            through: Some(through),
            persistent_congestion: false,
            report: report.as_ref(),
        };
        self.controller
            .on_feedback(self.now, &feedback, &self.state);
    }
}
