//! Fig. 5a: how much SQP uses of what inelastic traffic leaves it.

use anyhow::Result;
use tightloop::cc::sqp::theory::Multipliers;

use super::world::{LINK, PAPER, bottleneck, constant, sqp, steps, target};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Seen, Trial, values};
use crate::report::chart::{Axis, Chart, Dot, Layer};

pub(super) const FIG5A: Experiment = Experiment {
    name: "sqp/fig5a",
    source: "[SQP] Fig. 5a",
    shows: "utilisation of what inelastic traffic leaves free, by the target multiplier",
    seconds: 9,
    run,
};

const TARGETS: [f64; 4] = [0.7, 0.8, 0.9, 0.95];
const FREE: [f64; 7] = [0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0];
const SECONDS: (f64, f64) = (10.0, 40.0);

fn run(bench: &Bench) -> Result<Findings> {
    let cases = TARGETS.iter().flat_map(|t| FREE.map(|free| (*t, free)));
    let cases: Vec<(f64, f64)> = cases.collect();
    let trial = |&(t, free): &(f64, f64)| {
        let mut flows = vec![sqp(&target(t))];
        if free < 1.0 {
            flows.push(constant(LINK * (1.0 - free)));
        }
        Trial::new(bottleneck(LINK, SECONDS.1, flows), &[SECONDS])
    };
    let trials: Vec<Trial> = cases.iter().map(trial).collect();
    let seen = bench.run(&trials)?;
    let used = |seeds: &Vec<Seen>| values(seeds, |it| it.get(0, "flow.0.link.bottleneck.of_free"));
    let used: Vec<Vec<f64>> = seen.iter().map(used).collect();

    let mut findings = Findings::default();
    let mut layers = Vec::new();
    for (ink, t) in TARGETS.into_iter().enumerate() {
        let law = Multipliers { target: t, ..PAPER };
        let line = steps(0.3, 1.0, 140).into_iter();
        let line = line.map(|free| (free, law.utilisation(free))).collect();
        layers.push(Layer::line(&format!("T = {t}, Eq. 9"), ink, line).dashed(ink));
        let mine = cases.iter().zip(&used).filter(|((own, _), _)| *own == t);
        let dots = mine.filter_map(|((_, free), used)| Dot::of(*free, used));
        layers.push(Layer::dots(&format!("T = {t}, runs"), ink, dots.collect()));
    }
    findings.measure(
        "Eq. 9, T = 0.9, whole link free",
        "",
        [0.9 - 1e-9, 0.9 + 1e-9],
        vec![PAPER.utilisation(1.0)],
    );
    findings.measure(
        "Eq. 9, T = 0.9, free share from which the link is full",
        "",
        [0.8 - 1e-9, 0.8 + 1e-9],
        vec![PAPER.full_below()],
    );
    for ((t, free), used) in cases.iter().zip(used) {
        let law = Multipliers {
            target: *t,
            ..PAPER
        }
        .utilisation(*free);
        let name = format!("T = {t}, {free} of the link free");
        findings.measure(name, "", [law - 0.03, law + 0.03], used);
    }
    let (x, y) = (
        Axis::new("available link share A", 0.3, 1.0),
        Axis::new("utilisation of the available share", 0.6, 1.0),
    );
    findings.charts.push(Chart::new(
        "(a) Utilisation beside inelastic traffic",
        x,
        y,
        layers,
    ));
    findings.note("Lines: the closed form, m = 2. Points: one SQP flow beside constant traffic on 20 Mbit/s, 40 ms; the bands are the closed form ± 0.03.");
    Ok(findings)
}
