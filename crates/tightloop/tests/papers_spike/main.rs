//! The lower bound on latency spikes: reached by the sender it was derived with,
//! beaten by none. `grid` has the paper's figure 5 for a person to run.

#![allow(clippy::disallowed_macros)] // Tables are for who asks for them: `--nocapture`.

#[path = "../bands/mod.rs"]
mod bands;
mod grid;
mod trial;

use bands::between;
use proptest::prelude::*;
use tightloop::units::{Bytes, Rate, Span, Time};
use trial::{BBR, CODEL, CUBIC, DCTCP, Point, Seen, Who};

/// Nobody who sent that much until the news could reach them waits less than
/// (r_eff − 1) d, to one packet's service.
#[track_caller]
fn nobody_beats_the_bound(who: &Who, seen: &Seen) {
    let missing = seen.sent_bound() - seen.wait;
    assert!(
        missing <= seen.packet(),
        "{}: waited {}, bound {}",
        who.name,
        seen.wait,
        seen.sent_bound()
    );
}

/// The ideal sender's longest wait after a drop of capacity from `before`.
fn ideal(before: Rate, r: f64, signal: Span, flight: Span) -> Span {
    let after = before * (1.0 / r);
    let steps = format!("[[\"0 s\", \"{before}\"], [\"300 ms\", \"{after}\"]]");
    let text = format!(
        "name = \"ideal\"\nduration = \"1 s\"\n\
         [link.a]\ndelay = \"{flight}\"\n[link.b]\nsteps = {steps}\n[link.c]\ndelay = \"1 ms\"\n\
         [[flow]]\ncc = {{ name = \"ideal\", capacity = {steps}, signal = \"{signal}\" }}\n\
         traffic = {{ bulk = {{}} }}\npath = {{ links = [\"a\", \"b\"], back = [\"c\"] }}\n"
    );
    let scenario: tightloop::scenario::Scenario = toml::from_str(&text).expect("a scenario");
    let mut built = scenario.build(&|_| None).expect("a world");
    let mut log: Vec<(Time, tightloop::event::Event)> = vec![];
    built
        .world
        .run(scenario.end(), &mut tightloop::event::Log::to(&mut log));
    let waits = log.iter().filter_map(|(_, event)| match event {
        tightloop::event::Event::Left { link, waited, .. } if link.0 == 1 => Some(*waited),
        _ => None,
    });
    waits.max().expect("packets")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_ideal_sender_waits_as_long_as_the_bound_says_to_one_packet(
        kbps in 4_000u64..60_000, r in 1.1..8.0, signal in 0i64..100, flight in 0i64..100,
    ) {
        let (before, ms) = (Rate::from_kbps(kbps), Span::from_millis);
        let (signal, flight) = (ms(signal), ms(flight));
        let wait = ideal(before, r, signal, flight);
        let r: f64 = r;
        let bound = (signal + flight) * (r - 1.0);
        let packet = Bytes::new(1_500).at(before * (1.0 / r)).expect("a rate");
        prop_assert!((wait - bound).abs() <= packet, "{wait} instead of {bound} ± {packet}");
    }
}

#[test]
fn capacity_seekers_meet_the_bound_and_bbr_and_dctcp_go_far_beyond() {
    let point = Point {
        r: 3.0,
        d: Span::from_millis(25),
        at: Time::from_secs(6),
    };
    for (who, low, high) in [(BBR, 1.5, 5.0), (CUBIC, 0.9, 2.5), (DCTCP, 1.5, 5.0)] {
        let seen = Seen::of(&who, point, CODEL, 1);
        nobody_beats_the_bound(&who, &seen);
        let over = seen.wait.ratio(seen.bound());
        between(&format!("{} over the bound", who.name), over, low, high);
        assert!(seen.marks > 0 && seen.drops == 0, "CoDel marks");
    }
}
