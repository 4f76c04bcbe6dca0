//! Calls between two browsers, recorded: Chromium 156, VP8 of a camera at 30
//! frames per second and at most 5 Mbit/s, feedback every 50 ms, over 2 and 0.5
//! Mbit/s in turn for 40 s each, 25 ms each way, 200 packets of queue. Twice
//! 240 s: 16.2, 22.2, 20.4 and 20.7 s to 85 % of the link after the return to 2
//! Mbit/s; 1.54 to 2.29 s of one-way delay after the drop; 85 to 92 % of the
//! link in use while it is steady; the target at 0.415 Mbit/s within a second of
//! the drop. [Vidaptive] Fig. 2 shows 18 s, more than 1 s, 85 %, and 12 s until
//! all is settled. The recorded calls settle in 3.3 to 4.4 s, which is their
//! encoder's doing: allowed 0.415 Mbit/s it aims for 0.18 and skips most frames
//! until the queue is gone; the encoder here does what it is allowed.

use tightloop::units::{count, float};

use super::between;
use super::trial::{Trial, video};

/// Medians over the drops of a call.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Seconds until 85 % of the link is in use after the return.
    ramp: f64,
    /// The longest one-way delay after the drop, in s.
    spike: f64,
    /// The lowest target within 5 s of the drop, in kbit/s.
    lowest: f64,
    /// Seconds until the delay is below 200 ms for one.
    settled: f64,
    /// The part of the link in use in the last 15 s at 2 Mbit/s.
    high: f64,
    /// The part of the link in use at 0.5 Mbit/s.
    low: f64,
}

const LENGTH: f64 = 40.0;

fn recorded(drops: usize) -> Trial {
    let phases = (0..=2 * drops).map(|phase| {
        let kbps = if phase % 2 == 0 { 2_000 } else { 500 };
        format!("[\"{} s\", \"{kbps} kbit/s\"]", phase * 40)
    });
    let phases = phases.collect::<Vec<_>>().join(", ");
    let link = format!("steps = [{phases}]\nqueue = {{ kind = \"drop_tail\", packets = 200 }}");
    video(&link, 25, 40 * (2 * count(drops) + 1))
        .flow("feedback = { interval = \"50 ms\" }")
        .cc("max = \"5 Mbit/s\"")
        .video("encoder = \"vp8-paper\"\nsource = { fps = 30.0 }")
}

fn call(trial: &Trial, drops: usize) -> Call {
    let seen = trial.run();
    let tenths = |from: f64| (0..400).map(move |tenth| from + 0.1 * f64::from(tenth));
    let seen_in = |drop: usize| {
        let at = LENGTH + 2.0 * LENGTH * float(count(drop));
        let back = at + LENGTH;
        let calm = |at: &f64| seen.longest_delay(*at, *at + 1.0) < 200.0;
        let full = |at: &f64| seen.rate(*at - 1.0, *at) >= 0.85 * 2_000.0;
        Call {
            ramp: tenths(back).find(full).map_or(LENGTH, |full| full - back),
            spike: seen.longest_delay(at, back) / 1e3,
            lowest: seen.targets(at, at + 5.0).0,
            settled: tenths(at + 2.0).find(calm).map_or(LENGTH, |calm| calm - at),
            high: seen.rate(back + 25.0, back + LENGTH) / 2_000.0,
            low: seen.rate(at, back) / 500.0,
        }
    };
    let calls: Vec<Call> = (0..drops).map(seen_in).collect();
    let median = |part: fn(&Call) -> f64| {
        let mut values: Vec<f64> = calls.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Call {
        ramp: median(|call| call.ramp),
        spike: median(|call| call.spike),
        lowest: median(|call| call.lowest),
        settled: median(|call| call.settled),
        high: median(|call| call.high),
        low: median(|call| call.low),
    }
}

fn check(call: &Call) {
    between("s to 85 % after the return", call.ramp, 12.0, 25.0);
    between("s of delay after the drop", call.spike, 1.2, 2.6);
    // 0.85 of what the link carries, and as much again if the queue still grows.
    between("target after the drop", call.lowest, 350.0, 450.0);
    between("s until it settles", call.settled, 6.0, 16.0);
    between("of 2 Mbit/s", call.high, 0.8, 0.95);
    between("of 0.5 Mbit/s", call.low, 0.8, 0.95);
}

#[test]
fn recorded_calls_are_repeated() {
    check(&call(&recorded(5), 5));
}

#[test]
fn feedback_per_packet_changes_little() {
    let trial = Trial {
        flow: String::new(),
        ..recorded(5)
    };
    check(&call(&trial, 5));
}

#[test]
#[ignore = "many seeds: for a person to run"]
fn recorded_calls_are_repeated_with_five_seeds() {
    for seed in 1..=5 {
        let call = call(&recorded(7).seed(seed), 7);
        println!("{seed}: {call:.3?}");
        check(&call);
    }
}

#[test]
#[ignore = "what makes the numbers: for a person to read"]
fn ablations() {
    let ideal = "encoder = \"ideal\"\nsource = { fps = 30.0 }";
    let trials = [
        ("as recorded", recorded(7)),
        ("ideal encoder", recorded(7).video(ideal)),
        ("no probes", recorded(7).cc("probes = false")),
        ("periodic probes", recorded(7).cc("periodic_probes = true")),
        ("pacing at 1.1", recorded(7).cc("pacing_factor = 1.1")),
        ("rule of old", recorded(7).cc("loss = \"draft\"")),
        ("cuts to 0.7", recorded(7).cc("backoff = 0.7")),
        ("a line of 10", recorded(7).cc("window = 10")),
    ];
    for (name, trial) in trials {
        println!("{name}: {:.3?}", call(&trial, 7));
    }
}
