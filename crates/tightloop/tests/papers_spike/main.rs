//! The lower bound on latency spikes: reached by the sender it was derived with,
//! beaten by none. `grid` has the paper's figure 5 for a person to run.

#![allow(clippy::disallowed_macros)] // Tables are for who asks for them: `--nocapture`.

#[path = "../bands/mod.rs"]
mod bands;
mod grid;
mod trial;

use bands::between;
use proptest::prelude::*;
use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
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

/// The longest wait at the second link.
#[derive(Default)]
struct Longest(Span);

impl Sink for Longest {
    fn record(&mut self, _: Time, event: &Event) {
        if let Event::Left { link, waited, .. } = event
            && link.0 == 1
        {
            self.0 = self.0.max(*waited);
        }
    }
}

/// The ideal sender's longest wait after a drop of capacity from `before`.
fn ideal(before: Rate, r: f64, signal: Span, flight: Span) -> Span {
    let after = before * (1.0 / r);
    let steps = format!("[[\"0 s\", \"{before}\"], [\"300 ms\", \"{after}\"]]");
    // Until what came last before the news has left, and a little longer.
    let end = Span::from_millis(350) + (signal + flight) * r;
    let text = format!(
        "name = \"ideal\"\nduration = \"{end}\"\n\
         [link.a]\ndelay = \"{flight}\"\n[link.b]\nsteps = {steps}\n[link.c]\ndelay = \"1 ms\"\n\
         [[flow]]\ncc = {{ name = \"ideal\", capacity = {steps}, signal = \"{signal}\" }}\n\
         traffic = {{ bulk = {{}} }}\npath = {{ links = [\"a\", \"b\"], back = [\"c\"] }}\n"
    );
    let scenario: Scenario = toml::from_str(&text).expect("a scenario");
    let mut built = scenario.build(&|_| None).expect("a world");
    let mut longest = Longest::default();
    built.world.run(scenario.end(), &mut Log::to(&mut longest));
    longest.0
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
fn capacity_seekers_meet_the_bound_and_bbr_goes_far_beyond() {
    let point = Point {
        r: 3.0,
        d: Span::from_millis(25),
        at: Time::from_secs(6),
    };
    // r as by what was sent until the news could arrive: Cubic is somewhere on its
    // sawtooth.
    for (who, low, high) in [(BBR, 2.0, 4.0), (CUBIC, 0.98, 1.5), (DCTCP, 1.0, 1.6)] {
        let seen = Seen::of(&who, point, CODEL, 1);
        nobody_beats_the_bound(&who, &seen);
        between(
            &format!("{} over the bound", who.name),
            seen.wait.ratio(seen.sent_bound()),
            low,
            high,
        );
        assert!(seen.marks > 0 && seen.drops == 0, "CoDel marks");
    }
}
