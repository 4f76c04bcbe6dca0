//! Fig. 5b: SQP's share beside one elastic flow.

use anyhow::Result;
use tightloop::cc::sqp::theory::Multipliers;

use super::world::{
    BBR, COPA, CUBIC, Contender, LEFT_OUT, LINK, PAPER, STAGGER, bottleneck, sqp, steps, target,
};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Trial, values};
use crate::report::chart::{Axis, Chart, Dot, INK, Layer};

pub(super) const FIG5B: Experiment = Experiment {
    name: "sqp/fig5b",
    source: "[SQP] Fig. 5b",
    shows: "share beside one elastic flow, by the target multiplier",
    seconds: 25,
    run,
};

const TARGETS: [f64; 5] = [0.75, 0.8, 0.85, 0.9, 0.95];
const RIVALS: [Contender; 3] = [COPA, BBR, CUBIC];
const SECONDS: (f64, f64) = (20.0, 80.0);

/// The closed form: (mT − 1)/(m − 1), which is 2T − 1 for m = 2.
fn law(t: f64) -> f64 {
    Multipliers { target: t, ..PAPER }.full_below()
}

fn run(bench: &Bench) -> Result<Findings> {
    let cases = RIVALS.iter().flat_map(|rival| TARGETS.map(|t| (rival, t)));
    let cases: Vec<(&Contender, f64)> = cases.collect();
    let trials: Vec<Trial> = cases
        .iter()
        .map(|(rival, t)| {
            let flows = vec![sqp(&target(*t)), rival.flow()];
            Trial::new(bottleneck(LINK, SECONDS.1, flows), &[SECONDS]).stagger(STAGGER)
        })
        .collect();
    let seen = bench.run(&trials)?;

    let mut findings = Findings::default();
    let line = steps(0.7, 1.0, 60).into_iter();
    let line = line.map(|t| (t, law(t))).collect();
    let mut layers = vec![Layer::line("2T − 1", INK, line)];
    for (rival, seen) in RIVALS.iter().zip(seen.chunks(TARGETS.len())) {
        let mut dots = Vec::new();
        for (t, seeds) in TARGETS.into_iter().zip(seen) {
            let share = values(seeds, |it| it.get(0, "flow.0.link.bottleneck.share"));
            dots.extend(Dot::of(t, &share));
            let name = format!("share beside {}, T = {t}", rival.name);
            let band = match rival.name {
                "Copa-0.1" => [law(t) - 0.1, law(t) + 0.1],
                _ => [0.0, law(t)],
            };
            findings.measure(name, "", band, share);
        }
        layers.push(Layer::joined(rival.name, rival.ink, dots));
    }
    let (x, y) = (
        Axis::new("target multiplier T", 0.7, 1.0),
        Axis::new("SQP's share of the link", 0.0, 1.0),
    );
    findings.charts.push(Chart::new(
        "(b) Share beside one elastic flow",
        x,
        y,
        layers,
    ));
    findings
        .note("Bands: beside Copa-0.1 the closed form ± 0.1; beside BBR and Cubic not above it.");
    findings.note(
        "20 Mbit/s, 40 ms, 200 packets; both flows begin within half a second; seconds 20 to 80.",
    );
    findings.note(LEFT_OUT);
    Ok(findings)
}
