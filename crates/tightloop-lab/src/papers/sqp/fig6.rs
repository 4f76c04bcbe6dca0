//! Fig. 6: where two SQP flows move from any pair of rates, without and with Eq. 4.

use anyhow::Result;
use tightloop::units::{Rate, Span};

use super::world::{LINK, PAPER, bottleneck, mbps, sqp, steps};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{self, Trial, values};
use crate::report::chart::{Axis, Chart, INK, Layer};

pub(super) const FIG6A: Experiment = Experiment {
    name: "sqp/fig6a",
    source: "[SQP] Fig. 6a",
    shows: "where two flows move that take each sample at its word",
    seconds: 1,
    run: without,
};

pub(super) const FIG6B: Experiment = Experiment {
    name: "sqp/fig6b",
    source: "[SQP] Fig. 6b",
    shows: "where two flows move by Eq. 4, and where they come to",
    seconds: 2,
    run: with,
};

/// r and δ. [SQP].
const REWARD: f64 = 0.25;
const STEP: Rate = Rate::from_kbps(320);
/// Pairs of first estimates in Mbit/s. Ours.
const STARTS: [[f64; 2]; 3] = [[2.0, 5.0], [3.0, 15.0], [16.0, 10.0]];
/// Between these seconds both have heard of their first frames and the link is
/// not full, from the first pair on.
const FREE: (f64, f64) = (0.08, 0.2);
const BIN: Span = Span::from_millis(20);
const SECONDS: f64 = 30.0;
/// Arrows are so much longer than a frame's step, to be seen.
const LONGER: f64 = 4.0;

/// A field of arrows: from each pair of rates, in Mbit/s, along `change`.
fn arrows(change: impl Fn(Rate, Rate) -> f64, scale: f64) -> Vec<[f64; 4]> {
    let mut arrows = Vec::new();
    for own in steps(1.0, 19.0, 9) {
        for other in steps(1.0, 19.0, 9) {
            let (b1, b2) = (mbps(own), mbps(other));
            let (dx, dy) = (change(b1, b2), change(b2, b1));
            let to = |from: f64, by: f64| (from + scale * by).max(0.0);
            arrows.push([own, other, to(own, dx), to(other, dy)]);
        }
    }
    arrows
}

fn plane(title: &str, mut layers: Vec<Layer>) -> Chart {
    layers.insert(
        0,
        Layer::line("fair: B₁ = B₂", INK, vec![(0.0, 0.0), (LINK, LINK)]).dashed(1),
    );
    layers.insert(
        1,
        Layer::line("full: B₁ + B₂ = C", 2, vec![(0.0, LINK), (LINK, 0.0)]),
    );
    let axis = |label| Axis::new(label, 0.0, LINK);
    Chart::new(
        title,
        axis("B₁, estimate of the first flow (Mbit/s)"),
        axis("B₂, estimate of the second (Mbit/s)"),
        layers,
    )
}

fn without(_bench: &Bench) -> Result<Findings> {
    let mut findings = Findings::default();
    let link = mbps(LINK);
    let jump = |own, other| trial::mbps(PAPER.jump(own, other, link));
    let field = arrows(jump, 0.5);
    findings.charts.push(plane(
        "(a) Without Eq. 4: B ← T·S",
        vec![Layer::arrows("half of T·S − B", 0, field)],
    ));
    // Neither queues: both grow by the same factor, away from the origin.
    let (few, many) = (mbps(1.0), mbps(6.0));
    let growth = |own: Rate, other| PAPER.jump(own, other, link) / own.bps_f64();
    findings.measure(
        "link not full: growth of the smaller flow, in its own rate",
        "",
        [0.8 - 1e-6, 0.8 + 1e-6],
        vec![growth(few, many)],
    );
    findings.measure(
        "link not full: growth of the larger flow, in its own rate",
        "",
        [0.8 - 1e-6, 0.8 + 1e-6],
        vec![growth(many, few)],
    );
    // Both queue: less than in proportion, and the larger flow least.
    let (large, small) = (mbps(14.0), mbps(6.0));
    findings.measure(
        "link full, 14 and 6 Mbit/s: growth of the larger flow, in its own rate",
        "",
        [-1.0, 0.8 - 1e-3],
        vec![growth(large, small)],
    );
    findings.measure(
        "link full, 14 and 6 Mbit/s: the larger flow's growth less the smaller's",
        "",
        [-1.0, 0.0],
        vec![growth(large, small) - growth(small, large)],
    );
    findings.note("Closed form, no runs: S is Eq. 7's, with the other flow as its cross traffic. Arrows are half as long as the step.");
    Ok(findings)
}

fn with(bench: &Bench) -> Result<Findings> {
    let start = |pair: &[f64; 2]| {
        let flows = pair.map(|rate| sqp(&[("initial", mbps(rate).to_string().into())]));
        Trial::new(bottleneck(LINK, SECONDS, flows.into()), &[(20.0, SECONDS)]).curves(BIN)
    };
    let trials: Vec<Trial> = STARTS.iter().map(start).collect();
    let seen = bench.run(&trials)?;
    let link = mbps(LINK);
    let frame = |own, other| trial::mbps(PAPER.steps(own, other, link, REWARD) * STEP.bps_f64());

    let mut findings = Findings::default();
    let mut layers = vec![Layer::arrows(
        "Eq. 4, four frames long",
        0,
        arrows(frame, LONGER),
    )];
    for (at, (pair, seeds)) in STARTS.iter().zip(&seen).enumerate() {
        let curve = |flow: u32| {
            seeds[0]
                .points(&format!("flow.{flow}.gauge.B_bps"))
                .into_iter()
        };
        let path = curve(0)
            .zip(curve(1))
            .filter(|((_, own), (_, other))| own.is_finite() && other.is_finite());
        let path = path.map(|((_, own), (_, other))| (trial::mbps(own), trial::mbps(other)));
        let name = format!("a run from ({}, {})", pair[0], pair[1]);
        let line = Layer::line(&name, [1, 3, 4][at], path.collect());
        layers.push(line.dashed([0, 3, 4][at]));
    }
    findings.charts.push(plane("(b) With Eq. 4", layers));
    for (name, own, other) in [("smaller", 1.0, 6.0), ("larger", 6.0, 1.0)] {
        let step = frame(mbps(own), mbps(other)) / trial::mbps(STEP.bps_f64());
        findings.measure(
            format!("link not full: Eq. 4's step of the {name} flow"),
            "δ",
            [0.6444 - 1e-3, 0.6444 + 1e-3],
            vec![step],
        );
    }
    // 0.644 δ a frame are 12.4 Mbit/s a second.
    for flow in [0, 1] {
        let slope = values(&seen[0], |it| {
            let rates = it.within(&format!("flow.{flow}.gauge.B_bps"), FREE.0, FREE.1);
            let (first, last) = (rates[0], rates[rates.len() - 1]);
            trial::mbps(last - first) / (BIN.secs_f64() * (rates.len() - 1) as f64)
        });
        let name = format!("from (2, 5): growth of flow {}, per second", flow + 1);
        findings.measure(name, "Mbit/s", [11.8, 13.0], slope);
    }
    for (pair, seeds) in STARTS.iter().zip(&seen) {
        let name = format!(
            "from ({}, {}): P50 of Jain's index after 20 s",
            pair[0], pair[1]
        );
        findings.measure(
            name,
            "",
            [0.95, 1.0],
            values(seeds, |it| it.get(0, "all.jain.p50")),
        );
    }
    findings.note("Arrows: the closed form, S being Eq. 7's with the other flow as its cross traffic. Lines: both estimates of one run, seed 1. In a run samples come a round trip late, a queue stands until the Δmin window has forgotten it, and the flows' frames drift past each other: its path swings where the closed form does not.");
    Ok(findings)
}
