//! Claims about GCC, each held between a lower and an upper band.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use tightloop::units::{count, float};
use trial::{Trial, video};

mod trial;

#[test]
#[ignore = "debug"]
fn outage() {
    let t = video(
        "steps = [[\"0 s\", \"20 Mbit/s\"], [\"10 s\", \"0 bit/s\"], [\"12 s\", \"20 Mbit/s\"]]\nqueue = { kind = \"drop_tail\", packets = 200 }",
        20,
        20,
    )
    .video("");
    let seen = t.run();
    println!("{:?}", seen.probes(0.0, 20.0));
    seen.print(0.5, 10.0, 0.5);
    seen.print(11.9, 17.0, 0.1);
}

/// Medians over the drops of a link as in the recorded calls.
#[derive(Debug)]
struct Call {
    ramp: f64,
    spike: f64,
    lowest: f64,
    settled: f64,
    high: f64,
    low: f64,
    first: f64,
}

fn call(trial: Trial, drops: usize) -> Call {
    let seen = trial.run();
    let mut ramps = vec![];
    let (mut spikes, mut lowest, mut settled) = (vec![], vec![], vec![]);
    let (mut high, mut low) = (vec![], vec![]);
    for drop in 0..drops {
        let at = 40.0 + 80.0 * float(count(drop));
        spikes.push(seen.longest_delay(at, at + 40.0));
        lowest.push(seen.targets(at, at + 5.0).0);
        let calm = (0..400).map(|tenth| at + 2.0 + 0.1 * f64::from(tenth));
        let calm = calm.into_iter().find(|at| seen.longest_delay(*at, *at + 1.0) < 200.0);
        settled.push(calm.expect("the queue drains") - at);
        low.push(seen.rate(at, at + 40.0) / 500.0);
        let back = at + 40.0;
        let ramp = (0..400)
            .map(|tenth| back + 0.1 * f64::from(tenth))
            .find(|at| seen.rate(*at - 1.0, *at) >= 0.85 * 2_000.0);
        ramps.push(ramp.map_or(40.0, |at| at - back));
        high.push(seen.rate(back + 25.0, back + 40.0) / 2_000.0);
    }
    println!("{ramps:.1?} {spikes:.0?} {lowest:.0?} {settled:.1?} {low:.2?} {high:.2?}");
    Call {
        ramp: median(ramps),
        spike: median(spikes),
        lowest: median(lowest),
        settled: median(settled),
        high: median(high),
        low: median(low),
        first: seen.rate(5.0, 40.0) / 2_000.0,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

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
        .video("encoder = \"vp8-paper\"\nsource = { fps = 30.0 }\n")
}

#[test]
#[ignore = "debug"]
fn recorded_debug() {
    for seed in 1..=3 {
        println!("50 ms: {:?}", call(recorded(6).seed(seed), 6));
    }
    println!("packet: {:?}", call(Trial { flow: String::new(), ..recorded(6) }, 6));
    println!("ideal: {:?}", call(recorded(6).video("encoder = \"ideal\"\nsource = { fps = 30.0 }\n"), 6));
    println!("ideal, packet: {:?}", call(Trial { flow: String::new(), ..recorded(6) }.video("encoder = \"ideal\"\nsource = { fps = 30.0 }\n"), 6));
    println!("no probes: {:?}", call(recorded(6).cc("probes = false"), 6));
    println!("periodic: {:?}", call(recorded(6).cc("periodic_probes = true"), 6));
    println!("draft: {:?}", call(recorded(6).cc("loss = \"draft\""), 6));
    println!("pacing 1.1: {:?}", call(recorded(6).cc("pacing_factor = 1.1"), 6));
    println!("skip: {:?}", call(recorded(6).video("encoder = \"vp8-paper\"\nrate_control = { name = \"follow\", skip_when_behind = \"100 ms\" }\nsource = { fps = 30.0 }\n"), 6));
}

#[test]
#[ignore = "debug"]
fn scenarios() {
    let seen = video("steps = [[\"0 s\", \"500 kbit/s\"], [\"25 s\", \"800 kbit/s\"], [\"45 s\", \"100 kbit/s\"]]", 100, 95)
        .both("delay_steps = [[\"45 s\", \"200 ms\"]]\n")
        .cc("max = \"1500 kbit/s\"")
        .run();
    println!("1: {} {} {}", seen.target(24.9), seen.target(44.9), seen.target(94.9));
    seen.print(20.0, 25.0, 1.0); seen.print(46.0, 95.0, 2.0);
    for rule in ["likelihood", "draft", "ignored"] {
        let seen = video("rate = \"2 Mbit/s\"\nloss = 0.1", 200, 120)
            .cc(&format!("max = \"1500 kbit/s\"\nloss = \"{rule}\"")).run();
        println!("2 {rule}: {} {:?}", seen.target(119.9), seen.targets(60.0, 120.0));
        seen.print(1.0, 10.0, 1.0);
        let seen = video("steps = [[\"0 s\", \"2 Mbit/s\"], [\"1 s\", \"5 Mbit/s\"]]", 100, 22)
            .both("loss = 0.03\n")
            .cc(&format!("initial = \"1 Mbit/s\"\nmax = \"5 Mbit/s\"\nloss = \"{rule}\"")).run();
        println!("3 {rule}: {} {:?}", seen.target(21.0), seen.targets(5.0, 21.0));
        seen.print(1.0, 21.0, 2.0);
    }
    let seen = video("rate = \"2 Mbit/s\"\nloss = 0.2", 10, 3).run();
    println!("4:");
    seen.print(0.05, 2.3, 0.05);
    let seen = video("rate = \"2 Mbit/s\"", 100, 10)
        .cc("initial = \"1 Mbit/s\"")
        .video("encoder = \"ideal\"\nsource = { fps = 30.0, pauses = [{ from = \"1 s\", to = \"6 s\" }] }\n").run();
    println!("5: {} {} {}", seen.target(1.0), seen.target(4.99), seen.target(9.9));
    let seen = video("rate = \"1 Mbit/s\"", 50, 30)
        .cc("initial = \"1 Mbit/s\"")
        .more("[[flow]]\ncc = \"cubic\"\ntraffic = { bulk = {} }\npath = { links = [\"bottleneck\"], back = [\"return\"] }\n").run();
    println!("6: {} {} {}", seen.target(9.99), seen.target(20.0), seen.rate(5.0, 10.0));
    seen.print(1.0, 30.0, 1.0);
    for factor in ["1.0", "2.5"] {
        let seen = video("rate = \"1 Mbit/s\"", 50, 5)
            .cc(&format!("initial = \"1 Mbit/s\"\npacing_factor = {factor}")).run();
        println!("7 {factor}: {} {}", seen.longest_wait(0.0, 1.0), seen.longest_wait(1.0, 5.0));
    }
    let seen = video("rate = \"2 Mbit/s\"", 25, 310)
        .video("encoder = \"ideal\"\nsource = { fps = 30.0, pauses = [{ from = \"5 s\", to = \"304 s\" }] }\n")
        .back("steps = [[\"0 s\", \"100 Mbit/s\"], [\"5 s\", \"0 bit/s\"], [\"305 s\", \"100 Mbit/s\"]]\n").run();
    println!("8: {} {} {}", seen.target(5.0), seen.target(304.0), seen.target(309.9));
    seen.print(304.0, 310.0, 0.5);
    let seen = video("rate = \"500 kbit/s\"", 100, 50).run();
    println!("10: {:?} {:?}", seen.targets(30.0, 50.0), seen.gauges("link_capacity_bps", 30.0, 50.0));
}
