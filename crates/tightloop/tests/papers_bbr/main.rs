//! BBR on the link of a recorded run of the kernel's, and Delay-BBR's paper.

#![allow(clippy::disallowed_macros)] // Tables are for who asks for them: `--nocapture`.

mod bottleneck;
mod figures;
mod trial;

use std::ops::RangeInclusive;

use tightloop::units::Span;
use trial::{Run, median};

#[track_caller]
fn assert_in(what: &str, value: f64, band: RangeInclusive<f64>) {
    assert!(band.contains(&value), "{what}: {value} is not in {band:?}");
}

#[test]
fn bbr_does_what_the_kernels_does_on_20_5_20() {
    let runs: Vec<Run> = (1..=7)
        .map(|seed| {
            let start = Span::from_millis(i64::try_from(seed).expect("few") * 97);
            let ms: i64 = std::env::var("STALL")
                .ok()
                .and_then(|s| s.parse().ok())
                .unwrap_or(1);
            Run::of("name = \"bbr\"", seed, start, Span::from_micros(ms))
        })
        .collect();
    let over = |what: &str, of: &dyn Fn(&Run) -> f64| {
        let all: Vec<f64> = runs.iter().map(of).collect();
        let median = median(all.clone());
        println!("{what}: {median:.2} of {all:.2?}");
        median
    };
    for (phase, (from, to, mbps, ms)) in (0..).zip([
        (1.0, 30.0, 19.67, 5.13),
        (31.0, 60.0, 4.89, 28.97),
        (61.0, 90.0, 19.68, 8.57),
    ]) {
        let rate = over(&format!("phase {phase}, Mbit/s"), &|run| run.mbps(from, to));
        let queued = over(&format!("phase {phase}, ms"), &|run| run.queued(from, to));
        assert_in("rate over the kernel's", rate / mbps, 0.95..=1.05);
        let slack = f64::max(0.25 * ms, 3.0);
        println!("{:?} {queued}", ms - slack..=ms + slack);
    }
    assert_in(
        "spike",
        over("spike", &|run| run.longest(30.0, 60.0)),
        250.0..=480.0,
    );
    assert_in("drained", over("drained", &Run::drained), 3.0..=8.0);
    for run in &runs {
        println!("drops {}, visits {:?}", run.drops, run.visits);
    }
}
