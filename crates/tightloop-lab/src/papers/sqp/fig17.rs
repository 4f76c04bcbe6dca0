//! Fig. 17: what the estimate does while the encoder is held at 2 Mbit/s.

use anyhow::Result;
use tightloop::scenario::Flow;
use tightloop::units::Span;
use tightloop::video::source::Cap;

use super::world::{CUBIC, LINK, STAGGER, bottleneck, mbps, sqp};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{self, Seen, Trial, mean, second, values};
use crate::report::chart::{Axis, Chart, INK, Layer};

pub(super) const FIG17A: Experiment = Experiment {
    name: "sqp/fig17a",
    source: "[SQP] Fig. 17a",
    shows: "the estimate of an application-limited flow, alone",
    seconds: 1,
    run: alone,
};

pub(super) const FIG17B: Experiment = Experiment {
    name: "sqp/fig17b",
    source: "[SQP] Fig. 17b",
    shows: "the estimate of an application-limited flow, beside Cubic",
    seconds: 1,
    run: beside_cubic,
};

/// Three intervals of so many seconds, and the cap in Mbit/s. [SQP] Fig. 17.
const CAPPED: f64 = 2.0;
const CAP: f64 = 2.0;
const BIN: Span = Span::from_millis(100);
const ESTIMATE: &str = "flow.0.gauge.B_bps";
const RATE: &str = "flow.0.throughput";

fn capped(from: &[f64]) -> Flow {
    let mut flow = sqp(&[]);
    let cap = |from: &f64| Cap {
        from: second(*from),
        to: second(from + CAPPED),
        max_rate: mbps(CAP),
    };
    if let Some(video) = &mut flow.video {
        video.source.caps = from.iter().map(cap).collect();
    }
    flow
}

/// The curves of the first seed.
fn chart(title: &str, seen: &Seen, from: &[f64], until: f64, rival: bool) -> Chart {
    let rate = |key: &str| -> Vec<(f64, f64)> {
        let points = seen.points(key).into_iter();
        points.map(|(at, bps)| (at, trial::mbps(bps))).collect()
    };
    let mut layers = vec![
        Layer::line("B, SQP's estimate", 0, rate(ESTIMATE)),
        Layer::line("SQP's throughput", 1, rate(RATE)).dashed(1),
    ];
    if rival {
        layers.push(Layer::line("Cubic's throughput", 2, rate("flow.1.throughput")).dashed(2));
    }
    layers.push(Layer::line("link", INK, vec![(0.0, LINK), (until, LINK)]).dashed(3));
    let (x, y) = (
        Axis::new("time (s)", 0.0, until),
        Axis::new("rate (Mbit/s)", 0.0, 22.0),
    );
    let mut chart = Chart::new(title, x, y, layers);
    let parts = from.iter().map(|from| (*from, from + CAPPED)).collect();
    chart.shade = Some(("encoder held at 2 Mbit/s".to_owned(), parts));
    chart
}

fn alone(bench: &Bench) -> Result<Findings> {
    const FROM: [f64; 3] = [10.0, 15.0, 20.0];
    const SECONDS: f64 = 25.0;
    let after = |from: f64| (from + CAPPED + 1.0, from + CAPPED + 2.0);
    let scenario = bottleneck(LINK, SECONDS, vec![capped(&FROM)]);
    let windows = FROM.map(|from| (from + 0.5, from + CAPPED)).into_iter();
    let windows: Vec<_> = windows.chain(FROM.map(after)).collect();
    let seen = bench.run(&[Trial::new(scenario, &windows).curves(BIN)])?;
    let mut findings = Findings::default();
    for (place, from) in FROM.into_iter().enumerate() {
        let estimate = values(&seen[0], |it| {
            let during = it.within(ESTIMATE, from, from + CAPPED);
            trial::mbps(during.into_iter().fold(f64::INFINITY, f64::min))
        });
        findings.measure(
            format!("least estimate during the cap at {from} s"),
            "Mbit/s",
            [15.0, LINK],
            estimate,
        );
        let sent = values(&seen[0], |it| it.get(place, RATE));
        findings.measure(
            format!("throughput during the cap at {from} s"),
            "Mbit/s",
            [1.8, 2.2],
            sent,
        );
        let back = values(&seen[0], |it| it.get(FROM.len() + place, RATE));
        findings.measure(
            format!("throughput in the second second after the cap at {from} s"),
            "Mbit/s",
            [17.6, 18.4],
            back,
        );
    }
    findings
        .charts
        .push(chart("(a) Alone", &seen[0][0], &FROM, SECONDS, false));
    findings.note("20 Mbit/s, 40 ms, 200 packets; the curves are of seed 1. Nothing is padded: Eq. 2 completes the small frames.");
    Ok(findings)
}

fn beside_cubic(bench: &Bench) -> Result<Findings> {
    const FROM: [f64; 3] = [20.0, 30.0, 40.0];
    const SECONDS: f64 = 50.0;
    let scenario = bottleneck(LINK, SECONDS, vec![capped(&FROM), CUBIC.flow()]);
    let seen = bench.run(&[Trial::new(scenario, &[]).curves(BIN).stagger(STAGGER)])?;
    let mut findings = Findings::default();
    for from in FROM {
        let held = values(&seen[0], |it| {
            let before = mean(&it.within(ESTIMATE, from - 2.0, from));
            let during = it.within(ESTIMATE, from, from + CAPPED);
            during.into_iter().fold(f64::INFINITY, f64::min) / before
        });
        findings.measure(
            format!("least estimate during the cap at {from} s, over the 2 s before"),
            "",
            [0.6, 2.0],
            held,
        );
        let back = values(&seen[0], |it| {
            let end = from + CAPPED;
            mean(&it.within(RATE, end, end + 1.0)) / mean(&it.within(RATE, from - 5.0, from))
        });
        findings.measure(
            format!("throughput in the second after the cap at {from} s, over the 5 s before"),
            "",
            [0.7, 2.0],
            back,
        );
    }
    findings.charts.push(chart(
        "(b) Beside one Cubic flow",
        &seen[0][0],
        &FROM,
        SECONDS,
        true,
    ));
    findings
        .note("20 Mbit/s, 40 ms, 200 packets; Cubic begins with SQP; the curves are of seed 1.");
    findings.note("After a cap SQP is back at its old rate within 0.3 s; Cubic has not yet given way, both together fill the buffer, and the estimate dips for a second. So the first second as a whole has about two thirds of the rate before, where we asked for 0.7.");
    Ok(findings)
}
