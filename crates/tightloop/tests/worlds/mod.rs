//! Scenarios that several test files run.
#![allow(dead_code, missing_docs)] // Each test file uses its own few.

use tightloop::event::{Event, Log};
use tightloop::link;
use tightloop::scenario::{Flow, Scenario};
use tightloop::traffic::TrafficSettings;
use tightloop::units::{Rate, Span, Time};

/// A scenario from its text.
pub(crate) fn scenario(text: &str) -> Scenario {
    match toml::from_str(text) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}"),
    }
}

/// Runs a scenario to its end and returns every event.
pub(crate) fn events(scenario: &Scenario) -> Vec<(Time, Event)> {
    let mut events = Vec::new();
    let built = scenario.build(&|_| None);
    let mut world = built.unwrap_or_else(|error| panic!("{error}")).world;
    world.run(scenario.end(), &mut Log::to(&mut events));
    assert_eq!(world.malformed(), 0);
    events
}

/// Different controllers and kinds of traffic over one small queue: drops,
/// retransmissions, application limits and everything in between.
pub(crate) fn crowd() -> Scenario {
    let mut scenario = Scenario::single("sqp");
    scenario.name = "crowd".to_owned();
    scenario.duration = Span::from_secs(5);
    let bottleneck = link::Settings::fixed(Rate::from_mbps(12), 40, Span::from_millis(20));
    scenario.link.insert("bottleneck".to_owned(), bottleneck);
    scenario.flow = vec![
        Flow::over("sqp", "bottleneck", "return"),
        Flow::over("copa", "bottleneck", "return"),
        Flow::over("cubic", "bottleneck", "return").with_traffic(TrafficSettings::Bulk {}),
    ];
    scenario
}
