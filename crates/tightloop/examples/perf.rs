//! How fast the simulator is: data packets per second of wall time, one core,
//! event log off.
//!
//! `perf` runs all cases; `perf CASE [SECONDS]` one of them for that much
//! virtual time. Each line says what was run; `N packets` is what was carried.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros
)] // It times and prints.
#![allow(clippy::as_conversions)] // Counts become floats to be printed.

use std::process::ExitCode;
use std::time::Instant;

use tightloop::event::Log;
use tightloop::link;
use tightloop::scenario::{Flow, Scenario};
use tightloop::traffic::TrafficSettings;
use tightloop::units::{Rate, Span, Time};

struct Case {
    name: &'static str,
    about: &'static str,
    seconds: f64,
    flows: usize,
    cc: &'static str,
    video: bool,
    rate: Rate,
    queue: u64,
}

const CASES: [Case; 4] = [
    Case {
        name: "a",
        about: "one Cubic flow, 20 Mbit/s, 40 ms, 200 packets",
        seconds: 1200.0,
        flows: 1,
        cc: "cubic",
        video: false,
        rate: Rate::from_mbps(20),
        queue: 200,
    },
    Case {
        name: "b",
        about: "ten SQP video flows, 60 Mbit/s, 40 ms, 600 packets",
        seconds: 200.0,
        flows: 10,
        cc: "sqp",
        video: true,
        rate: Rate::from_mbps(60),
        queue: 600,
    },
    Case {
        name: "c",
        about: "one Cubic flow, 1 Gbit/s, 40 ms, 3,333 packets",
        seconds: 30.0,
        flows: 1,
        cc: "cubic",
        video: false,
        rate: Rate::from_mbps(1_000),
        queue: 3_333,
    },
    Case {
        name: "d",
        about: "a thousand Cubic flows, 10 Gbit/s, 40 ms, 33,333 packets",
        seconds: 3.0,
        flows: 1_000,
        cc: "cubic",
        video: false,
        rate: Rate::from_mbps(10_000),
        queue: 33_333,
    },
];

fn scenario(case: &Case) -> Scenario {
    let mut scenario = Scenario::single(case.cc);
    let one_way = Span::from_millis(20);
    let bottleneck = link::Settings::fixed(case.rate, case.queue, one_way);
    scenario.link.insert("bottleneck".to_owned(), bottleneck);
    let mut flow = Flow::over(case.cc, "bottleneck", "return");
    if !case.video {
        flow = flow.with_traffic(TrafficSettings::Bulk {});
    }
    scenario.flow = vec![flow; case.flows];
    scenario
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (chosen, seconds) = (args.next(), args.next());
    let seconds: Option<f64> = seconds.and_then(|text| text.parse().ok());
    let mut known = false;
    for case in &CASES {
        if chosen.as_deref().is_some_and(|name| name != case.name) {
            continue;
        }
        known = true;
        let built = scenario(case).build(&|_| None);
        let mut world = built.expect("the case is a good scenario").world;
        let end = Time::ZERO + Span::from_secs_f64(seconds.unwrap_or(case.seconds));
        let begun = Instant::now();
        world.run(end, &mut Log::off());
        let took = begun.elapsed().as_secs_f64();
        let packets = world.packets();
        println!(
            "{}: {}: {packets} packets in {took:.3} s, {:.2} million per second",
            case.name,
            case.about,
            packets as f64 / took / 1e6
        );
    }
    if !known {
        eprintln!("perf: no such case; use a, b, c or d");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
