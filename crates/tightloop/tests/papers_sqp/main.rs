//! Claims about SQP, each held between a lower and an upper band.
//!
//! Where [SQP] prints no number, the number comes from its closed forms
//! (`cc::sqp::theory`) or from a minimal model of the algorithm on an ideal
//! link. One seed each; `several_flows_with_five_seeds` is for a person:
//! `cargo test -p tightloop --test papers_sqp -- --ignored --nocapture`.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use tightloop::cc::sqp::theory::Multipliers;
use tightloop::scenario::Flow;
use tightloop::settings::Params;
use tightloop::traffic::{Cbr, TrafficSettings};
use tightloop::units::{Rate, Span, Time};
use tightloop::video::source::{Cap, Phase};

use bands::between;
use trial::{Seen, alone, mbps, millis, secs};

#[path = "../bands/mod.rs"]
mod bands;
mod trial;

const PAPER: Multipliers = Multipliers::PAPER;
/// In Mbit/s. [SQP] Fig. 1.
const LINK: f64 = 20.0;
/// [SQP] Fig. 1.
const DOWN_AND_UP: [(u64, f64); 3] = [(0, 20.0), (40, 5.0), (60, 20.0)];

// --- one flow ---------------------------------------------------------------

#[test]
fn alone_it_uses_the_target_share_and_queues_behind_itself_only() {
    let [whole, seen] = alone(30.0).windows([(0.0, 30.0), (5.0, 30.0)]);
    between("Mbit/s", seen.rate(0), 17.82, 18.18);
    // 20 ms and one packet's own time.
    between("least OWD", seen.millis("flow.0.owd.min"), 20.5, 20.7);
    between("median OWD", seen.millis("flow.0.owd.p50"), 23.0, 24.6);
    between("p90 OWD", seen.millis("flow.0.owd.p90"), 25.6, 27.1);
    let own = PAPER.burst_queue(mbps(18.0), secs(1.0 / 60.0), mbps(LINK));
    let most = seen.millis("link.bottleneck.waited.max");
    between(
        "longest queue",
        most,
        0.9 * own.millis_f64(),
        own.millis_f64(),
    );
    between("drops", whole.drops(), 0.0, 0.0);
}

#[test]
fn far_below_the_link_it_grows_by_the_same_rate_every_second() {
    let (_, estimate) = alone(5.0).run([]);
    let reached = |goal: f64| {
        let found = estimate.iter().find(|(_, mbps)| *mbps >= goal);
        found.expect("reached").0.secs_f64()
    };
    // 0.644·δ = 206 kbit/s a frame is 12.4 Mbit/s a second.
    let slope = 7.0 / (reached(9.0) - reached(2.0));
    between("Mbit/s per second", slope, 11.9, 12.9);
    between("17 Mbit/s after", reached(17.0), 2.0, 2.6);
}

#[test]
fn the_target_multiplier_is_the_utilisation() {
    for target in [0.7, 0.75, 0.8, 0.85, 0.9] {
        let mut params = Params::new();
        params.insert("target_multiplier".to_owned(), target.into());
        let seen = alone(20.0).set(params).window(5.0, 20.0);
        let used = seen.rate(0) / LINK;
        between("utilisation", used, target * 0.99, target * 1.01);
    }
}

#[test]
fn buffers_of_15_packets_lose_nothing_and_shallower_ones_do_not_slow_it() {
    for (packets, low, high) in [
        (5, 0.1, 0.32),
        (10, 0.01, 0.13),
        (15, 0.0, 0.0),
        (50, 0.0, 0.0),
    ] {
        // With and without retransmission of what is lost.
        for retransmit in [true, false] {
            let trial = alone(30.0)
                .buffer(Some(packets))
                .with(|scenario| scenario.flow[0].retransmit = retransmit);
            let seen = trial.window(5.0, 30.0);
            between("loss", seen.number("flow.0.loss"), low, high);
            between("sent", seen.megabits("flow.0.sending"), 17.6, 18.4);
        }
    }
}

#[test]
fn beside_constant_traffic_it_uses_what_equation_9_says() {
    for available in [0.9, 0.85, 0.8] {
        let cross = TrafficSettings::Cbr(Cbr {
            rate: mbps(LINK * (1.0 - available)),
            packet: None,
            on_off: None,
        });
        let cross = Flow::over("fixed", "bottleneck", "return").with_traffic(cross);
        let seen = alone(50.0)
            .flows(1, millis(1.0))
            .with(|scenario| scenario.flow.push(cross))
            .window(10.0, 50.0);
        let used = seen.rate(0) / (LINK * available);
        let law = PAPER.utilisation(available);
        between("of what is free", used, law - 0.02, law + 0.02);
    }
}

#[test]
fn the_estimate_holds_while_the_application_sends_little() {
    let cap = |from| Cap {
        from: Time::from_secs(from),
        to: Time::from_secs(from + 2),
        max_rate: Rate::from_mbps(2),
    };
    let trial = alone(30.0).source(|source| source.caps = [10, 15, 20].map(cap).into());
    let ([capped, after], estimate) = trial.run([(10.5, 12.0), (12.0, 13.0)]);
    between("capped", capped.rate(0), 1.9, 2.1);
    between("the second after", after.rate(0), 17.0, 18.0);
    let settled = estimate.iter().filter(|(at, _)| *at > Time::from_secs(8));
    for (_, mbps) in settled {
        assert!((17.8..18.2).contains(mbps), "{mbps}");
    }
}

// --- steps ------------------------------------------------------------------

#[test]
fn a_quarter_of_the_link_and_back_is_followed_within_two_seconds() {
    for (buffer, drops, spike) in [
        (Some(200), (80.0, 250.0), (440.0, 505.0)),
        (None, (0.0, 0.0), (650.0, 900.0)),
    ] {
        let trial = alone(80.0).buffer(buffer).steps(&DOWN_AND_UP);
        let [whole, drained, low, first, second, then, back] = trial.windows([
            (0.0, 80.0),
            (42.0, 60.0),
            (44.0, 60.0),
            (60.0, 61.0),
            (61.0, 62.0),
            (62.0, 64.0),
            (64.0, 80.0),
        ]);
        between("drops", whole.drops(), drops.0, drops.1);
        between(
            "largest OWD",
            whole.millis("flow.0.owd.max"),
            spike.0,
            spike.1,
        );
        between(
            "OWD after 2 s",
            drained.millis("flow.0.owd.max"),
            27.0,
            40.0,
        );
        between("on 5 Mbit/s", low.rate(0), 4.45, 4.55);
        between("p90 OWD then", low.millis("flow.0.owd.p90"), 26.5, 29.0);
        between("first second back", first.rate(0), 9.1, 10.1);
        between("second", second.rate(0), 15.4, 16.4);
        between("third and fourth", then.rate(0), 17.4, 18.0);
        between("then", back.rate(0), 17.8, 18.2);
    }
}

/// 20 Mbit/s to less: the share used and the queue of the last 10 s.
fn step_to(rate: f64, rtt: i64, params: Params) -> (f64, f64) {
    let trial = alone(40.0).steps(&[(0, LINK), (15, rate)]);
    let seen = trial.round_trips(&[rtt]).set(params).window(30.0, 40.0);
    println!("to {rate} Mbit/s at {rtt} ms");
    (seen.rate(0) / rate, seen.queue())
}

#[test]
fn every_step_down_ends_at_the_target_with_a_short_queue() {
    for rate in [10.0, 5.0, 3.0, 2.0] {
        for rtt in [10, 40, 160] {
            let (used, queue) = step_to(rate, rtt, Params::new());
            between("utilisation", used, 0.87, 0.93);
            between("p90 queue", queue, 3.0, 15.0);
        }
    }
}

#[test]
fn the_round_trip_does_not_change_the_delay_after_a_step() {
    for rtt in [10, 40, 80, 160] {
        let trial = alone(60.0).steps(&[(0, LINK), (40, 5.0)]);
        let seen = trial
            .round_trips(&[rtt])
            .windows([(40.0, 60.0), (50.0, 60.0)]);
        between("Mbit/s", seen[1].rate(0), 4.4, 4.6);
        let base = Span::from_millis(rtt).millis_f64() / 2.0;
        let mean = seen[0].millis("flow.0.owd.mean");
        between("mean OWD above base", mean - base, 15.0, 35.0);
    }
}

// --- why not literally ------------------------------------------------------

#[test]
fn taken_literally_it_sticks_far_below_the_link() {
    let literal = toml::toml! {
        pacing_limited = "literal"
        lone_packet = "paced"
        max_cut = 1.0
        floor = "100 kbit/s"
    };
    let trial = alone(60.0).steps(&DOWN_AND_UP).set(literal.clone());
    between("on 5 Mbit/s", trial.window(45.0, 60.0).rate(0), 0.8, 1.6);
    // From its floor it never rises where the round trip is 80 ms.
    let from_floor = |mut params: Params| {
        params.insert("initial".to_owned(), "100 kbit/s".into());
        params.insert("floor".to_owned(), "100 kbit/s".into());
        let trial = alone(25.0).round_trips(&[80]).set(params);
        trial.window(20.0, 25.0).rate(0)
    };
    between("from the floor", from_floor(literal), 0.1, 0.7);
    between("with the cure", from_floor(Params::new()), 17.8, 18.2);
}

#[test]
fn a_mirror_taken_for_the_pace_of_now_oscillates_on_long_paths() {
    let current = toml::toml! { pacing_limited = "current" };
    let (used, queue) = step_to(2.0, 160, current);
    between("utilisation", used, 0.5, 0.85);
    between("p90 queue", queue, 30.0, 100.0);
}

#[test]
fn a_packet_counted_too_many_leaves_a_standing_queue() {
    let literal = toml::toml! { fence_post = "literal" };
    // 26 packets count over 25 gaps: T·26/25 of the link.
    let seen = alone(30.0).set(literal.clone()).window(5.0, 30.0);
    between("Mbit/s", seen.rate(0), 18.5, 18.9);
    // 7 packets over 6 gaps, times T, is more than the link.
    let trial = alone(40.0).steps(&[(0, 5.0)]).set(literal);
    let seen = trial.window(20.0, 40.0);
    between("on 5 Mbit/s", seen.rate(0), 4.95, 5.05);
    between(
        "least queue",
        seen.millis("link.bottleneck.waited.p10"),
        2.0,
        30.0,
    );
    between("p90 queue", seen.queue(), 10.0, 60.0);
}

#[test]
fn a_link_below_two_packets_a_frame_fills_unless_the_queue_counts() {
    let on = |lone: &str| {
        let mut params = Params::new();
        params.insert("lone_packet".to_owned(), lone.into());
        let trial = alone(60.0).steps(&[(0, 0.65)]).set(params);
        trial.window(40.0, 60.0).queue()
    };
    between("queue counted", on("queued"), 5.0, 60.0);
    between("not counted", on("paced"), 500.0, 4_000.0);
}

// --- several flows ----------------------------------------------------------

/// So many flows keep the link full, by the closed form, at a moderate delay.
fn share(flows: u32, seed: u64) {
    println!("{flows} flows, seed {seed}");
    let count = usize::try_from(flows).expect("few");
    let trial = alone(60.0).flows(count, millis(1.0)).seed(seed);
    let seen = trial.window(10.0, 60.0);
    let law = PAPER.utilisation_of(flows);
    between("utilisation", seen.utilisation(), law - 0.03, law + 0.01);
    // Two flows: 68 ms in a model that lets no first packet's bytes count.
    between("p90 OWD", seen.millis("flow.0.owd.p90"), 40.0, 85.0);
    between("drops", seen.drops(), 0.0, 0.0);
}

/// Ten flows on 60 Mbit/s. [SQP] Fig. 15.
fn ten_flows(seed: u64) {
    println!("ten flows, seed {seed}");
    let trial = alone(60.0).buffer(Some(600)).steps(&[(0, 60.0)]);
    let seen = trial.flows(10, millis(1.0)).seed(seed).window(10.0, 60.0);
    between("utilisation", seen.utilisation(), 0.97, 1.01);
    between("p90 OWD", seen.millis("flow.0.owd.p90"), 40.0, 75.0);
    between("Jain", seen.jain(0..10), 0.95, 1.0);
}

/// A second flow from 10 to 50 s and a third from 20 to 40 s. [SQP] Fig. 16.
fn join_and_leave(seed: u64, jitter: Span) -> [Seen; 6] {
    println!("join and leave, seed {seed}");
    let trial = alone(60.0).flows(3, jitter).seed(seed);
    let trial = trial.with(|scenario| {
        for (flow, start, stop) in [(1, 10, 50), (2, 20, 40)] {
            scenario.flow[flow].start = Time::from_secs(start);
            scenario.flow[flow].stop = Some(Time::from_secs(stop));
        }
    });
    trial.windows([
        (14.0, 15.0),
        (16.0, 20.0),
        (32.0, 40.0),
        (41.0, 42.0),
        (44.0, 50.0),
        (52.0, 53.0),
    ])
}

/// Two flows, the first with a round trip of 20 ms. [SQP] Fig. 16.
fn round_trip_fairness(seed: u64) {
    for (rtt, low, high, second) in [
        (20, 0.98, 1.0, 9.8),
        (40, 0.95, 1.0, 8.7),
        (80, 0.85, 0.93, 7.1),
        (160, 0.68, 0.80, 5.0),
    ] {
        println!("20 and {rtt} ms, seed {seed}");
        let trial = alone(60.0).flows(2, millis(1.0));
        let seen = trial.round_trips(&[20, rtt]).seed(seed).window(10.0, 60.0);
        between("p10 Jain", seen.number("all.jain.p10"), low, high);
        between("the second", seen.rate(1), second - 1.0, second + 1.0);
    }
}

#[test]
fn several_flows_fill_the_link_without_loss() {
    for flows in [2, 4, 8] {
        share(flows, 1);
    }
}

#[test]
fn ten_flows_share_a_link_at_a_low_delay() {
    ten_flows(1);
}

#[test]
fn a_longer_round_trip_gets_less_but_not_nothing() {
    round_trip_fairness(1);
}

#[test]
fn flows_that_join_get_their_share_and_those_that_leave_free_theirs() {
    // With 1 ms of jitter the phases of two flows take seconds to change, and
    // luck decides: see the next test. 4 ms mix them.
    let [joined, two, three, left, two_again, last] = join_and_leave(1, millis(4.0));
    between("Jain 4 s after the second", joined.jain(0..2), 0.95, 1.0);
    between("p90 OWD of two", two.millis("flow.0.owd.p90"), 40.0, 85.0);
    between("Jain 12 s after the third", three.jain(0..3), 0.95, 1.0);
    between("link 1 s after one left", left.utilisation(), 0.95, 1.01);
    between("Jain of two again", two_again.jain(0..2), 0.98, 1.0);
    between("2 s after the other left", last.rate(0), 17.3, 18.2);
}

#[test]
fn frames_in_step_share_as_before_and_frames_in_turn_fill_the_link() {
    let phases = |second: Span| {
        let trial = alone(40.0).flows(2, Span::ZERO);
        let trial = trial.with(|scenario| {
            for (flow, phase) in scenario.flow.iter_mut().zip([Span::ZERO, second]) {
                let video = flow.video.get_or_insert_default();
                video.source.phase = Phase::After(phase);
            }
            scenario.flow[1].start = Time::from_secs(10);
        });
        trial.window(20.0, 40.0)
    };
    // At once: both see half of the link, for any split of T·C.
    let in_step = phases(millis(1.0));
    between("together", in_step.rate(0) + in_step.rate(1), 17.6, 18.4);
    between("the second", in_step.rate(1), 0.5, 2.5);
    between("p90 queue", in_step.queue(), 4.0, 8.0);
    // Half an interval apart: each sees all of it, until a queue stands.
    let in_turn = phases(secs(0.5 / 60.0));
    between("utilisation", in_turn.utilisation(), 0.99, 1.01);
    between("the second", in_turn.rate(1), 9.0, 11.0);
    between("p90 queue", in_turn.queue(), 30.0, 80.0);
}

#[test]
#[ignore = "many seeds: for a person to run"]
fn several_flows_with_five_seeds() {
    let mut joined = Vec::new();
    for seed in 1..=5 {
        for flows in [2, 4, 8] {
            share(flows, seed);
        }
        ten_flows(seed);
        round_trip_fairness(seed);
        let [second, _, third, ..] = join_and_leave(seed, millis(1.0));
        joined.push((second.jain(0..2), third.jain(0..3)));
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (second, third) = joined.into_iter().unzip();
    between("median 4 s after the second", median(second), 0.95, 1.0);
    between("median 12 s after the third", median(third), 0.9, 1.0);
}
