//! BBRv3 on simulated links, between bands from the draft's own arithmetic. The
//! draft's example cases are unit tests of the controller; here is what they
//! come to with a whole session. [BBR-Draft]
//!
//! `cargo test -p tightloop --test papers_bbr3 -- --ignored --nocapture` sweeps
//! rates and round trips besides.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use bands::between;
use tightloop::units::{Rate, Span, count, float};
use trial::{CRUISE, DRAIN, PROBE_RTT, STARTUP, Trial, UP};

#[path = "../bands/mod.rs"]
mod bands;
mod trial;

/// In Mbit/s. [SQP] §6 has this link.
const LINK: f64 = 20.0;
/// In seconds.
const RTT: f64 = 0.04;
/// Packets of 1500 bytes.
const BDP: f64 = 66.7;
/// ProbeRTT's 200 ms and half a round for half of the pipe to leave, and what
/// 10 ms between gauges add or hide.
const PROBE_RTT_LASTS: (f64, f64) = (0.18, 0.26);

#[test]
fn alone_it_uses_the_link_with_a_queue_of_its_probes_alone() {
    let run = Trial::plain(60).run();
    let part = run.part(5, 60);
    // 1 % is margin, and ProbeRTT takes half of 200 ms, and of what it takes to
    // get there, every five seconds: 0.99·(1 − 0.5·0.22/5.22).
    between("Mbit/s", part.mbps, 0.96 * LINK, 0.975 * LINK);
    // Three rounds of 1.25 leave 0.71 of a pipe, 29 ms, and the round until that
    // is known a little more; for 0.5 s of 5.2 s.
    between("p99 wait in ms", part.waited_p99_ms, 28.0, 40.0);
    between("mean wait in ms", part.waited_ms, 1.0, 3.0);
    between("drops", run.drops(0, 60), 0.0, 0.0);
}

#[test]
fn it_keeps_the_drafts_timetable() {
    let run = Trial::plain(60).run();
    let visits = run.visits();
    assert_eq!((visits[0].state, visits[1].state), (STARTUP, DRAIN));
    // log 6.7 of doubling, three rounds at up to two pipes, and Drain's one.
    between("Startup in s", visits[1].at, 5.0 * RTT, 12.0 * RTT);
    between("Drain in s", visits[2].at - visits[1].at, RTT, 3.0 * RTT);
    let of = |state: u64| visits.iter().filter(move |visit| visit.state == state);
    let probes: Vec<_> = of(PROBE_RTT).collect();
    for pair in probes.windows(2) {
        let (low, high) = PROBE_RTT_LASTS;
        between("ProbeRTT in s", pair[0].lasted, low, high);
        between(
            "period in s",
            pair[1].at - pair[0].at,
            5.0 + low,
            5.0 + high,
        );
    }
    between("ProbeRTTs", float(count(probes.len())), 11.0, 11.0);
    // A probe for bandwidth is due 2 to 3 s after the last or after ProbeRTT: one
    // or two in each 5.2 s.
    between("ups", float(count(of(UP).count())), 11.0, 23.0);
    for visit in of(CRUISE) {
        between("cruise in s", visit.lasted, 0.5, 3.0);
    }
}

#[test]
fn it_follows_20_5_20() {
    let steps = "[\"0 s\", \"20 Mbit/s\"], [\"30 s\", \"5 Mbit/s\"], [\"60 s\", \"20 Mbit/s\"]";
    let run = Trial::plain(90).steps(steps).run();
    // Two pipes of before in flight, of which a quarter of one is the pipe now.
    let packet_ms = 2.4;
    let spike = (2.0 - 0.25) * BDP * packet_ms;
    between(
        "wait at 31 s",
        run.part(32, 34).waited_ms,
        0.95 * spike,
        1.1 * spike,
    );
    between("Mbit/s at once", run.part(31, 35).mbps, 0.98 * 5.0, 5.01);
    // max_bw forgets after two probes; ProbeRTT starts their clock anew, so that
    // there may be one in 5.2 s: the second ends within 10.4 s and a few of the
    // longer rounds.
    let known = (30..60).find(|second| run.mbps_of("max_bw_bps", *second) < 5.1);
    between("known after s", float(known.expect("once") - 30), 5.0, 13.0);
    // What was lost until then: probes into a full buffer, by the old model.
    between("drops", run.drops(30, 60), 50.0, 400.0);
    between("Mbit/s", run.part(50, 60).mbps, 0.95 * 5.0, 5.01);
    between("wait in ms", run.part(50, 60).waited_ms, 4.0, 16.0);
    // Up again: a probe within 3 s, and log 4/log 1.153 = 10 rounds.
    let found = (60..90).find(|second| run.mbps_of("max_bw_bps", *second) > 19.6);
    between("found after s", float(found.expect("once") - 60), 1.0, 4.0);
    between("Mbit/s", run.part(65, 90).mbps, 0.96 * LINK, 0.975 * LINK);
    between("drops", run.drops(60, 90), 0.0, 0.0);
}

#[test]
fn two_flows_share() {
    for (start, seed) in [(0, 1), (0, 2), (10, 1), (10, 2)] {
        let run = Trial::plain(70).seed(seed).second_flow(start).run();
        let (a, b) = (run.flow(0, 20, 70), run.flow(1, 20, 70));
        println!("started at {start} s: {a:.2} and {b:.2} Mbit/s");
        between(
            "Jain",
            (a + b) * (a + b) / (2.0 * (a * a + b * b)),
            0.95,
            1.0,
        );
        between("Mbit/s together", a + b, 0.96 * LINK, LINK);
        // Each thinks the best it ever got its share, and keeps two of its own
        // pipes: about a pipe waits.
        between("mean wait in ms", run.part(20, 70).waited_ms, 25.0, 55.0);
    }
}

#[test]
fn a_buffer_of_a_fifth_of_the_pipe_costs_little() {
    let run = Trial::plain(60).buffer(13).run();
    let rate = run.part(5, 60).mbps;
    between("Mbit/s", rate, 0.95 * LINK, 0.975 * LINK);
    // A probe puts a quarter of a pipe too much in flight before it knows: at
    // most 17 packets of the 3500 of the two seconds until the next.
    let packets = (Rate::from_mbps(1) * rate)
        .over(Span::from_secs(55))
        .ratio(trial::PACKET);
    between("lost", run.drops(5, 60) / packets, 0.0001, 0.005);
}

#[test]
fn beside_cubic_it_gets_a_share() {
    let run = Trial::plain(90).competitor("cubic").run();
    let (own, cubic) = (run.flow(0, 30, 90), run.flow(1, 30, 90));
    println!("{own:.2} and Cubic {cubic:.2} Mbit/s");
    between("share", own / (own + cubic), 0.4, 0.7);
}

#[test]
#[ignore = "a sweep of a minute"]
fn rates_and_round_trips_from_64_kbit_to_10_gbit_and_from_half_a_millisecond_to_a_second() {
    for (kbps, micros, seconds) in [
        (64, 500, 60),
        (64, 40_000, 60),
        (64, 1_000_000, 120),
        (1_000, 500, 60),
        (1_000, 200_000, 60),
        (1_000, 1_000_000, 120),
        (20_000, 500, 30),
        (20_000, 40_000, 30),
        (20_000, 1_000_000, 120),
        (100_000, 10_000, 20),
        (100_000, 1_000_000, 60),
        (1_000_000, 500, 12),
        (1_000_000, 50_000, 12),
        (10_000_000, 500, 6),
        (10_000_000, 10_000, 6),
    ] {
        let (rate, rtt) = (Rate::from_kbps(kbps), Span::from_micros(micros));
        println!("{rate}, {rtt}:");
        let run = Trial::over(seconds, rate, rtt).run();
        let part = run.part(seconds / 3, seconds);
        println!(
            "  drops {}, mean wait {:.2} ms",
            run.drops(0, seconds),
            part.waited_ms
        );
        let max_bw = run.mbps_of("max_bw_bps", seconds - 1) / rate.mbps_f64();
        between("max_bw", max_bw, 0.98, 1.02);
        // ProbeRTT lasts 200 ms or a round, and takes a round to get there and
        // one to come back: at half the rate, each 5 s and its own length.
        let cost = 2.0 * rtt.secs_f64() + rtt.secs_f64().max(0.2);
        let share = 0.99 * (1.0 - 0.5 * cost / (5.0 + cost));
        let used = part.mbps / rate.mbps_f64();
        between("used", used, share - 0.03, 1.001);
    }
}
