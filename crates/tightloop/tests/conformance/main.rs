//! What every controller owes its session, whatever happens: no panic, a sane
//! control, a pure `control()`, forks that stay what they forked from, and no
//! belief in the peer's clock.
//!
//! One random history serves all algorithms, so that a new one is held to all
//! of this by its line in `ALGORITHMS` alone.

mod world;

use proptest::prelude::*;
use tightloop::cc::{ALGORITHMS, Control, Start};
use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, Span, Time, count};
use world::{World, ops};

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
    (
        "bbr",
        "pads = true\ntarget_gain = 1.0\nprobe_rtt_gain = 0.5",
    ),
    ("delay-bbr", "capped = false"),
    (
        "delay-bbr",
        "pads = false\nalpha = 0.95\nstartup_gain = 2.885",
    ),
    ("reno", "byte_counting = false"),
    ("dctcp", "steps = 1024"),
    ("gcc", "loss = \"draft\""),
    ("gcc", "loss = \"balance\""),
    ("gcc", "periodic_probes = true\nmin = \"1 bit/s\""),
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

fn check_sane(control: &Control, timer: Option<Time>) -> Result<(), TestCaseError> {
    if let Some(window) = control.window {
        prop_assert!(window <= MAX_WINDOW, "{control:?}");
        prop_assert!(
            window >= world::MSS || timer.is_some(),
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
