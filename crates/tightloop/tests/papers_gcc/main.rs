//! Claims about GCC, each held between a lower and an upper band.
//!
//! The scenarios are those of [AlphaRTC]'s `goog_cc_network_control_unittest`,
//! over links of ours and with a second side that is ours where the reference
//! has one only. `calls` repeats recorded calls of two browsers, `arrivals`
//! feeds recorded arrivals to the detector, `route` changes the route.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use bands::between;
use tightloop::units::{count, float};
use trial::{Seen, video};

mod arrivals;
#[path = "../bands/mod.rs"]
mod bands;
mod calls;
mod route;
mod trial;

#[test]
fn the_target_follows_the_capacity() {
    let steps = "steps = [[\"0 s\", \"500 kbit/s\"], [\"25 s\", \"800 kbit/s\"], [\"45 s\", \"100 kbit/s\"]]";
    let seen = video(steps, 100, 95)
        .both("delay_steps = [[\"45 s\", \"200 ms\"]]\n")
        .cc("min = \"10 kbit/s\"\nmax = \"1500 kbit/s\"")
        .run();
    between("at 500 kbit/s", seen.target(24.9), 350.0, 550.0);
    between("at 800 kbit/s", seen.target(44.9), 600.0, 900.0);
    between("at 100 kbit/s", seen.target(94.9), 65.0, 115.0);
}

#[test]
fn a_tenth_lost_at_random_takes_little_and_the_rule_of_old_nearly_all() {
    let after_two_minutes = |rule: &str| {
        let seen = video("rate = \"2 Mbit/s\"\nloss = 0.1", 200, 120)
            .cc("min = \"10 kbit/s\"\nmax = \"1500 kbit/s\"")
            .cc(&format!("loss = \"{rule}\""))
            .run();
        seen.target(119.9)
    };
    // 100 kbit/s over what is lost above 5 %: 2 Mbit/s, and the least of two minutes.
    between(
        "likelihood",
        after_two_minutes("likelihood"),
        1_000.0,
        1_500.0,
    );
    between("balance", after_two_minutes("balance"), 100.0, 1_000.0);
    // The reference says 10 kbit/s.
    between("draft", after_two_minutes("draft"), 10.0, 100.0);
}

/// 3 % lost while the link goes from 2 to 5 Mbit/s after a second.
fn moderate_loss(rule: &str) -> f64 {
    let steps = "steps = [[\"0 s\", \"2 Mbit/s\"], [\"1 s\", \"5 Mbit/s\"]]";
    let seen = video(steps, 100, 22)
        .both("loss = 0.03\n")
        // As often as the reference's receiver: the rule of 2020 sees no loss in a
        // report of one packet that arrived.
        .flow("feedback = { interval = \"50 ms\" }")
        .cc("initial = \"1 Mbit/s\"\nmin = \"10 kbit/s\"\nmax = \"5 Mbit/s\"")
        .cc(&format!("loss = \"{rule}\""))
        .run();
    seen.target(21.0)
}

#[test]
fn a_moderate_loss_caps_the_rate_by_the_rule_of_2020() {
    between("balance", moderate_loss("balance"), 1_000.0, 2_500.0);
}

#[test]
fn a_moderate_loss_is_the_links_own_by_the_rule_of_today() {
    // It goes where the rule of 2020 does not; the reference has more than 4 Mbit/s
    // where losses do not count.
    between("likelihood", moderate_loss("likelihood"), 2_500.0, 5_000.0);
    between("ignored", moderate_loss("ignored"), 4_000.0, 5_000.0);
}

#[test]
fn heavy_loss_does_not_make_the_target_toggle() {
    let seen = video("rate = \"2 Mbit/s\"\nloss = 0.2", 10, 3).run();
    let targets: Vec<f64> = (6..=45)
        .map(|nth| seen.target(f64::from(nth) * 0.05))
        .collect();
    let dips = targets.windows(10).map(dips).max().expect("targets");
    assert!(dips < 2, "{dips} dips in half a second: {targets:.0?}");
    between("at last", targets[39], 300.0, 1_000.0);
}

/// How often the target falls 100 kbit/s below where it was and comes back.
fn dips(targets: &[f64]) -> usize {
    let first = targets[0];
    let (mut dips, mut high) = (0, true);
    for target in &targets[1..] {
        if high && *target + 100.0 < first {
            dips += 1;
            high = false;
        } else if *target > first {
            high = false;
        } else if *target >= first {
            high = true;
        }
    }
    dips
}

#[test]
fn the_target_is_kept_while_video_stops() {
    let seen = video("rate = \"2 Mbit/s\"", 100, 12)
        .cc("initial = \"1 Mbit/s\"")
        .video("source = { fps = 30.0, pauses = [{ from = \"1 s\", to = \"6 s\" }] }")
        .run();
    between("before", seen.target(1.0), 1_000.0, 2_100.0);
    between("meanwhile", seen.target(4.99), 1_000.0, 2_100.0);
    between("after", seen.target(11.9), 1_000.0, 2_100.0);
}

#[test]
fn beside_tcp_it_leaves_room() {
    let tcp = "[[flow]]\ncc = \"cubic\"\ntraffic = { bulk = {} }\n\
               path = { links = [\"bottleneck\"], back = [\"return\"] }\n";
    let seen = video("rate = \"1 Mbit/s\"", 50, 10)
        .cc("initial = \"1 Mbit/s\"")
        .more(tcp)
        .run();
    // The queue has no end and TCP fills it: the reference backs out too.
    between("after 10 s", seen.target(9.99), 50.0, 750.0);
}

/// Four bursts of TCP, 2 s each, 20 s apart, into 25 packets of 1000 bytes: what
/// arrives on average, in kbit/s.
fn across_bursts(rule: &str, seed: u64) -> f64 {
    let burst = |start: u64| {
        let stop = start + 2;
        format!(
            "[[flow]]\ncc = {{ name = \"cubic\", hystart = false }}\n\
             traffic = {{ bulk = {{}} }}\nstart = \"{start} s\"\nstop = \"{stop} s\"\n\
             path = {{ links = [\"bottleneck\"], back = [\"return\"] }}\n"
        )
    };
    let bursts: String = [10, 32, 54, 76].map(burst).concat();
    let queue = "rate = \"1 Mbit/s\"\nqueue = { kind = \"drop_tail\", packets = 25 }";
    let seen = video(queue, 100, 98)
        .flow("retransmit = false\nfeedback = { interval = \"50 ms\" }")
        .cc(&format!("loss = \"{rule}\""))
        .more("[packet]\nmtu = \"1000 B\"\n")
        .more(&bursts)
        .seed(seed)
        .run();
    seen.rate(0.0, 98.0)
}

#[test]
fn bursts_of_tcp_are_recovered_from() {
    let median = |rule| {
        let mut rates: Vec<f64> = (1..=11).map(|seed| across_bursts(rule, seed)).collect();
        rates.sort_by(f64::total_cmp);
        rates[5]
    };
    // The reference's bound where losses are judged as they are today. Where they
    // are judged by the rule of old it has at most 650, against a TCP that sends
    // its window every 200 ms at once; against ours the delay decides, not losses.
    between("likelihood", median("likelihood"), 750.0, 1_000.0);
    between("draft", median("draft"), 650.0, 850.0);
}

#[test]
fn packets_do_not_pile_up_in_the_pacer() {
    let longest = |factor: &str| {
        let seen = video("rate = \"1 Mbit/s\"", 50, 5)
            .cc("initial = \"1 Mbit/s\"")
            .cc(&format!("pacing_factor = {factor}"))
            .run();
        seen.longest_wait(0.0, 5.0)
    };
    // A frame is spread over a frame interval's share.
    between("pacing at 2.5", longest("2.5"), 5.0, 34.0 / 2.5);
    between("pacing at 1", longest("1.0"), 15.0, 34.0);
}

#[test]
fn feedback_five_minutes_late_does_no_harm() {
    let back = "steps = [[\"0 s\", \"100 Mbit/s\"], [\"5 s\", \"0 bit/s\"], [\"305 s\", \"100 Mbit/s\"]]\n";
    let seen = video("rate = \"2 Mbit/s\"", 25, 315)
        .video("source = { fps = 30.0, pauses = [{ from = \"5 s\", to = \"304 s\" }] }")
        .back(back)
        .run();
    between("before", seen.target(5.0), 1_000.0, 2_100.0);
    let (least, most) = seen.targets(305.0, 315.0);
    between("least after", least, 1_000.0, 2_100.0);
    // The silence counts as time to grow, to half as much again as arrived last.
    between("most after", most, 2_500.0, 2_800.0);
    between("used after", seen.rate(307.0, 315.0), 1_500.0, 2_000.0);
}

#[test]
fn the_link_capacity_is_steadier_than_the_target() {
    let seen = video("rate = \"500 kbit/s\"", 100, 50).run();
    let ratio = |(least, most): (f64, f64)| least / most;
    let target = ratio(seen.targets(30.0, 50.0));
    let capacity = ratio(seen.gauges("link_capacity_bps", 30.0, 50.0));
    // Each cut is one of 15 %; what arrives is below the target that was cut.
    between("target", target, 0.65, 0.85);
    between("capacity", capacity, 0.95, 1.0);
}

#[test]
fn the_first_probes_find_the_link_in_a_second() {
    let probes = |seen: &Seen| seen.probes(0.0, 5.0);
    let seen = video("rate = \"2 Mbit/s\"", 25, 5).run();
    println!("  {:.0?}", probes(&seen));
    between("with probes", seen.target(1.0), 1_700.0, 2_000.0);
    between("first", probes(&seen)[0], 899.0, 901.0);
    between("second", probes(&seen)[1], 1_799.0, 1_801.0);
    let seen = video("rate = \"2 Mbit/s\"", 25, 5)
        .cc("probes = false")
        .run();
    between("without", seen.target(1.0), 300.0, 350.0);
    assert!(probes(&seen).is_empty(), "{:?}", probes(&seen));
}

#[test]
fn a_limited_application_is_probed_for_only_where_asked() {
    let capped = "source = { fps = 30.0, caps = [{ from = \"0 s\", to = \"30 s\", max_rate = \"400 kbit/s\" }] }";
    let run = |periodic| {
        let trial = video("rate = \"4 Mbit/s\"", 25, 30).video(capped);
        let trial = trial.cc("initial = \"800 kbit/s\"\nmax = \"3 Mbit/s\"");
        trial.cc(&format!("periodic_probes = {periodic}")).run()
    };
    let probed = run(true);
    // At most every 5 s, at twice the target or the limit.
    let late = probed.probes(5.0, 30.0);
    println!("  {late:.0?}");
    between("probes", float(count(late.len())), 3.0, 5.0);
    between("in ALR", probed.gauge("in_alr", 29.0), 1.0, 1.0);
    let unasked = run(false).probes(5.0, 30.0);
    assert!(unasked.is_empty(), "{unasked:?}");
}
