//! What every controller owes its session, whatever happens: no panic, a sane
//! control, a pure `control()`, forks that stay what they forked from, and no
//! belief in the peer's clock.
//!
//! One random history serves all algorithms, so that a new one is held to all
//! of this by its line in `ALGORITHMS` alone.

use std::collections::VecDeque;

use proptest::prelude::*;
use tightloop::cc::{
    ALGORITHMS, Acked, Arrival, Control, Controller, DeliveryRate, Feedback, Lost, PathState,
    Report, Reporter, Sent, Start,
};
use tightloop::event::{Ecn, Event, Fragment, FrameId, Kind, Log, LostBy, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, RemoteTime, Span, Time, count};

const MSS: Bytes = Bytes::new(1500);
/// No sane window is larger.
const MAX_WINDOW: Bytes = Bytes::new(1 << 40);
/// No sane rate is higher: a gigabyte per microsecond.
const MAX_RATE: Rate = Rate::from_bps(100_000_000_000_000_000);

/// Settings besides the defaults that are worth the same scrutiny.
const VARIANTS: &[(&str, &str)] = &[
    ("cubic", "paced = true"),
    ("cubic", "hystart = false"),
    ("copa", "restart_at_turn = false"),
    ("copa", "variant = \"pantheon\"\nmode = \"auto\""),
    ("copa", "mode = \"auto\""),
    ("copa", "grow_when_app_limited = true"),
];

/// Every algorithm with its default settings, and the variants.
fn candidates() -> impl Iterator<Item = (&'static str, Start)> {
    let defaults = ALGORITHMS.iter().map(|algorithm| (algorithm.name, ""));
    defaults
        .chain(VARIANTS.iter().copied())
        .map(|(name, text)| {
            let params = toml::from_str(text).expect("settings");
            let start = Start {
                params,
                ..Start::plain()
            };
            (name, start)
        })
}

/// Something that happens to a session.
#[derive(Clone, Debug)]
enum Op {
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

fn ops() -> impl Strategy<Value = Vec<Op>> {
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
struct World {
    controller: Box<dyn Controller>,
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
    fn new(name: &str, start: &Start, clock_offset: Span) -> Self {
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

    fn apply(&mut self, op: &Op) {
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

fn check_sane(control: &Control, timer: Option<Time>) -> Result<(), TestCaseError> {
    if let Some(window) = control.window {
        prop_assert!(window <= MAX_WINDOW, "{control:?}");
        prop_assert!(
            window >= MSS || timer.is_some(),
            "stuck without a timer: {control:?}"
        );
    }
    if let Some(pacing) = control.pacing {
        prop_assert!(pacing > Rate::ZERO || timer.is_some(), "stuck: {control:?}");
    }
    for rate in [control.pacing, control.floor, control.target]
        .into_iter()
        .flatten()
    {
        prop_assert!(rate <= MAX_RATE, "{control:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_the_control_is_sane(ops in ops()) {
        for (name, start) in candidates() {
            let mut world = World::new(name, &start, Span::ZERO);
            for op in &ops {
                world.apply(op);
                let control = world.controller.control();
                check_sane(&control, world.controller.next_timeout())?;
                prop_assert_eq!(control, world.controller.control(), "{} is not pure", name);
                let mut gauges = vec![];
                world.controller.inspect(&mut |gauge, value| gauges.push((gauge, value)));
                for (gauge, value) in gauges {
                    prop_assert!(value.is_finite(), "{} of {} is {}", gauge, name, value);
                }
            }
        }
    }

    #[test]
    fn a_fork_stays_what_it_forked_from(ops in ops(), at in 0usize..120) {
        for (name, start) in candidates() {
            let mut world = World::new(name, &start, Span::ZERO);
            let (before, after) = ops.split_at(at.min(ops.len()));
            for op in before {
                world.apply(op);
            }
            let mut fork = world.clone();
            for op in after {
                world.apply(op);
                // Reading often changes nothing: the fork is not read until the end.
                world.controller.control();
                world.controller.next_timeout();
            }
            for op in after {
                fork.apply(op);
            }
            prop_assert_eq!(world.controller.control(), fork.controller.control(), "{}", name);
            prop_assert_eq!(
                format!("{:?}", world.controller),
                format!("{:?}", fork.controller)
            );
        }
    }

    #[test]
    fn the_peers_clock_may_show_anything(ops in ops(), offset_ms in -3_600_000i64..3_600_000) {
        for (name, start) in candidates() {
            let mut world = World::new(name, &start, Span::ZERO);
            let mut elsewhere = World::new(name, &start, Span::from_millis(offset_ms));
            for op in &ops {
                world.apply(op);
                elsewhere.apply(op);
                prop_assert_eq!(
                    world.controller.control(),
                    elsewhere.controller.control(),
                    "{} after {:?}", name, op
                );
            }
        }
    }
}

const HALF: Span = Span::from_millis(500);

/// What left the bottleneck, by half seconds.
#[derive(Default)]
struct Halves(Vec<Bytes>);

impl Sink for Halves {
    fn record(&mut self, at: Time, event: &Event) {
        if let Event::Left { link, size, .. } = event
            && link.0 == 0
        {
            let half = usize::try_from(at.since_epoch().as_nanos() / HALF.as_nanos()).unwrap_or(0);
            if half >= self.0.len() {
                self.0.resize(half + 1, Bytes::ZERO);
            }
            self.0[half] += *size;
        }
    }
}

/// The rate of a video flow before an outage from 10 to 12 s, and the best rate
/// of any second that ends within 5 s of its end.
fn across_an_outage(name: &str, params: &str) -> (f64, f64) {
    let text = format!(
        "name = \"outage\"\nduration = \"17 s\"\n\
         [link.a]\nsteps = [[\"0 s\", \"20 Mbit/s\"], [\"10 s\", \"0 bit/s\"], [\"12 s\", \"20 Mbit/s\"]]\n\
         delay = \"20 ms\"\nqueue = {{ kind = \"drop_tail\", packets = 200 }}\n\
         [link.b]\ndelay = \"20 ms\"\n\
         [[flow]]\npath = {{ links = [\"a\"], back = [\"b\"] }}\n\
         [flow.cc]\nname = \"{name}\"\n{params}\n"
    );
    let scenario: Scenario = toml::from_str(&text).expect("a scenario");
    let mut built = scenario.build(&|_| None).expect("a world");
    let mut halves = Halves::default();
    built.world.run(scenario.end(), &mut Log::to(&mut halves));
    halves.0.resize(34, Bytes::ZERO);
    let mbps = |halves: &[Bytes]| {
        let bytes: Bytes = halves.iter().copied().sum();
        let length = HALF * i64::try_from(halves.len()).expect("few");
        bytes.per(length).expect("some time").mbps_f64()
    };
    let after = halves.0[24..].windows(2).map(mbps).fold(0.0, f64::max);
    (mbps(&halves.0[12..20]), after)
}

#[test]
fn a_former_rate_is_regained_within_five_seconds_of_an_outage() {
    let mut faults = vec![];
    let defaults = ALGORITHMS.iter().map(|algorithm| (algorithm.name, ""));
    for (name, params) in defaults.chain(VARIANTS.iter().copied()) {
        let (before, after) = across_an_outage(name, params);
        assert!(
            before > 0.5,
            "{name} {params} had no rate to lose: {before} Mbit/s"
        );
        if after < 0.8 * before {
            faults.push(format!(
                "{name} {params}: {before:.2} then {after:.2} Mbit/s"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_algorithm_has_a_name_of_its_own_and_a_summary() {
    let mut names: Vec<_> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(count(names.len()), count(ALGORITHMS.len()));
    for algorithm in ALGORITHMS {
        assert!(
            (10..100).contains(&algorithm.summary.len()),
            "{}",
            algorithm.name
        );
    }
}

#[test]
fn unknown_settings_are_refused_by_name() {
    for algorithm in ALGORITHMS {
        let start = Start {
            params: toml::toml! { no_such_setting = 1 },
            ..Start::plain()
        };
        let refused = (algorithm.new)(&start)
            .expect_err(algorithm.name)
            .to_string();
        assert!(refused.contains("no_such_setting"), "{refused}");
    }
}
