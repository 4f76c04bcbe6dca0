//! A run is a pure function of scenario, seed and version: the same events,
//! whatever the machine, the optimisation and who else listens.

mod worlds;

use std::fmt::Write;

use tightloop::event::{Event, FlowId, Log};
use tightloop::scenario::{Flow, Scenario};
use tightloop::units::{Span, Time};

type Events = Vec<(Time, Event)>;

/// FNV-1a over the events' text: slow, and beyond doubt.
fn hash(events: &[(Time, Event)]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut text = String::new();
    for event in events {
        text.clear();
        write!(text, "{event:?}").expect("a text can grow");
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash
}

/// Pinned: a change of this number changes published results, and needs a line
/// marked "moves numbers" in the changelog.
#[test]
fn the_event_stream_is_what_it_was() {
    let events = worlds::events(&worlds::crowd());
    assert!(events.len() > 20_000, "{} events", events.len());
    insta::assert_snapshot!(format!("{} events {:016x}", events.len(), hash(&events)));
}

#[test]
fn running_twice_gives_the_same_events() {
    let scenario = worlds::crowd();
    assert!(worlds::events(&scenario) == worlds::events(&scenario));
}

#[test]
fn another_seed_gives_other_events() {
    let scenario = worlds::crowd();
    let other = Scenario {
        seed: 2,
        ..scenario.clone()
    };
    assert!(worlds::events(&scenario) != worlds::events(&other));
}

#[test]
fn listening_changes_nothing() {
    let scenario = worlds::crowd();
    let build = || scenario.build(&|_| None).expect("a good scenario").world;
    let (mut silent, mut heard) = (build(), build());
    silent.run(scenario.end(), &mut Log::off());
    let mut events = Events::new();
    heard.run(scenario.end(), &mut Log::to(&mut events));
    assert_eq!(silent.packets(), heard.packets());
    // From here on both are heard: they must go on alike.
    let later = scenario.end() + Span::from_secs(1);
    let (mut a, mut b) = (Events::new(), Events::new());
    silent.run(later, &mut Log::to(&mut a));
    heard.run(later, &mut Log::to(&mut b));
    let (a, b) = (without_capacity(&a), without_capacity(&b));
    let differing = a.iter().zip(&b).find(|(a, b)| a != b);
    assert_eq!(differing, None);
    assert_eq!(a.len(), b.len());
}

/// A link announces its first rate when somebody begins to listen.
fn without_capacity(events: &[(Time, Event)]) -> Events {
    let keep = |event: &&(Time, Event)| !matches!(event.1, Event::Capacity { .. });
    events.iter().filter(keep).copied().collect()
}

#[test]
fn a_fork_goes_on_as_its_original_does() {
    let scenario = worlds::crowd();
    let mut world = scenario.build(&|_| None).expect("a good scenario").world;
    world.run(Time::from_secs(2), &mut Log::off());
    let mut fork = world.fork().expect("nothing that cannot be copied");
    let (mut a, mut b) = (Events::new(), Events::new());
    world.run(scenario.end(), &mut Log::to(&mut a));
    fork.run(scenario.end(), &mut Log::to(&mut b));
    assert!(a.len() > 10_000);
    assert!(a == b);
}

#[test]
fn running_in_pieces_is_running_at_once() {
    let scenario = worlds::crowd();
    let whole = worlds::events(&scenario);
    let mut world = scenario.build(&|_| None).expect("a good scenario").world;
    let mut pieces = Events::new();
    let mut at = Time::ZERO;
    while at < scenario.end() {
        at = (at + Span::from_millis(37)).min(scenario.end());
        world.run(at, &mut Log::to(&mut pieces));
    }
    assert!(whole == pieces);
}

/// Flows on links of their own: what one draws must not depend on the others.
#[test]
fn adding_a_flow_does_not_change_anothers_luck() {
    let mut alone = Scenario::single("sqp");
    alone.duration = Span::from_secs(3);
    let mut joined = alone.clone();
    for (own, kind) in [("bottleneck 2", "bottleneck"), ("return 2", "return")] {
        let settings = joined.link[kind].clone();
        joined.link.insert(own.to_owned(), settings);
    }
    joined
        .flow
        .push(Flow::over("copa", "bottleneck 2", "return 2"));
    let of_first = |events: Events| -> Events {
        let first = FlowId(0);
        events
            .into_iter()
            .filter(|(_, event)| match event {
                Event::Sent { packet, .. }
                | Event::Arrived { packet, .. }
                | Event::Acked { packet, .. } => packet.flow == first,
                Event::Captured { flow, .. } | Event::Clock { flow, .. } => *flow == first,
                _ => false,
            })
            .collect()
    };
    let (a, b) = (
        of_first(worlds::events(&alone)),
        of_first(worlds::events(&joined)),
    );
    assert!(a.len() > 5_000);
    assert!(a == b);
}

#[test]
fn events_come_in_the_order_of_time() {
    let events = worlds::events(&worlds::crowd());
    let out_of_order = events.windows(2).find(|pair| pair[0].0 > pair[1].0);
    assert_eq!(out_of_order, None);
}
