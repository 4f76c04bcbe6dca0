//! Fig. 5c and 5d: delay and utilisation of several SQP flows.

use anyhow::Result;
use tightloop::cc::sqp::theory::Multipliers;

use super::world::{LINK, PAPER, STAGGER, bottleneck, sqp, steps, target};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Seen, Trial, values};
use crate::report::chart::{Axis, Chart, Dot, Layer};

pub(super) const FIG5C: Experiment = Experiment {
    name: "sqp/fig5c",
    source: "[SQP] Fig. 5c",
    shows: "P90 delay of several SQP flows, by the target multiplier",
    seconds: 9,
    run: delay,
};

pub(super) const FIG5D: Experiment = Experiment {
    name: "sqp/fig5d",
    source: "[SQP] Fig. 5d",
    shows: "utilisation by several SQP flows, by the target multiplier",
    seconds: 9,
    run: utilisation,
};

const TARGETS: [f64; 4] = [0.6, 0.7, 0.8, 0.9];
const FLOWS: [u32; 6] = [1, 2, 3, 4, 6, 10];
const SECONDS: (f64, f64) = (10.0, 40.0);

/// For each target, for each number of flows, for each seed.
fn seen(bench: &Bench) -> Result<Vec<Vec<Vec<Seen>>>> {
    let cases = TARGETS.iter().flat_map(|t| FLOWS.map(|flows| (*t, flows)));
    let trial = |(t, flows): (f64, u32)| {
        let flows = vec![sqp(&target(t)); flows as usize];
        Trial::new(bottleneck(LINK, SECONDS.1, flows), &[SECONDS]).stagger(STAGGER)
    };
    let trials: Vec<Trial> = cases.map(trial).collect();
    let mut seen = bench.run(&trials)?.into_iter();
    let rows = TARGETS
        .iter()
        .map(|_| seen.by_ref().take(FLOWS.len()).collect());
    Ok(rows.collect())
}

fn delay(bench: &Bench) -> Result<Findings> {
    let seen = seen(bench)?;
    let mut findings = Findings::default();
    let mut layers = Vec::new();
    let delay = |seeds: &[Seen]| values(seeds, |it| it.get(0, "all.owd.p90"));
    for (ink, (t, row)) in TARGETS.iter().zip(&seen).enumerate() {
        let dots = FLOWS.iter().zip(row);
        let dots = dots.filter_map(|(flows, seeds)| Dot::of((*flows).into(), &delay(seeds)));
        layers.push(Layer::joined(&format!("T = {t}"), ink, dots.collect()));
    }
    let last = TARGETS.len() - 1;
    // The least delay and half an interval's burst; 85 ms: half of the buffer.
    findings.measure("T = 0.9, N = 1", "ms", [25.6, 27.1], delay(&seen[last][0]));
    for (at, flows) in FLOWS.iter().enumerate().skip(1) {
        let name = format!("T = 0.9, N = {flows}");
        findings.measure(name, "ms", [40.0, 85.0], delay(&seen[last][at]));
    }
    for (at, flows) in FLOWS.iter().enumerate().skip(1) {
        let lower = delay(&seen[last - 1][at]);
        let ratio = lower.iter().zip(delay(&seen[last][at]));
        let ratio = ratio.map(|(lower, higher)| lower / higher).collect();
        let name = format!("N = {flows}: T = 0.8 over T = 0.9");
        findings.measure(name, "", [0.0, 1.0], ratio);
    }
    let (x, y) = (
        Axis::new("number of SQP flows", 0.0, 10.0),
        Axis::new("P90 one-way delay (ms)", 0.0, 60.0),
    );
    findings.charts.push(Chart::new(
        "(c) P90 delay of several SQP flows",
        x,
        y,
        layers,
    ));
    findings.note("The paper prints no numbers: the delay of one flow is what a frame queues behind itself, that of several is stable, higher, and lower with a smaller T. 20 ms are propagation.");
    Ok(findings)
}

fn utilisation(bench: &Bench) -> Result<Findings> {
    let seen = seen(bench)?;
    let mut findings = Findings::default();
    let mut layers = Vec::new();
    for (ink, (t, row)) in TARGETS.into_iter().zip(&seen).enumerate() {
        let law = Multipliers { target: t, ..PAPER };
        let name = format!("T = {t}, NT/(1 + (N − 1)/m)");
        let line = steps(1.0, 10.0, 9).into_iter();
        let line = line
            .map(|flows| (flows, law.utilisation_of(flows as u32)))
            .collect();
        layers.push(Layer::line(&name, ink, line).dashed(ink));
        let mut dots = Vec::new();
        for (flows, seeds) in FLOWS.into_iter().zip(row) {
            let used = values(seeds, |it| it.get(0, "link.bottleneck.utilisation"));
            dots.extend(Dot::of(flows.into(), &used));
            let law = law.utilisation_of(flows);
            let name = format!("T = {t}, N = {flows}");
            findings.measure(name, "", [law - 0.03, law + 0.03], used);
        }
        layers.push(Layer::dots(&format!("T = {t}, runs"), ink, dots));
    }
    let (x, y) = (
        Axis::new("number of SQP flows", 0.0, 10.0),
        Axis::new("link utilisation", 0.5, 1.0),
    );
    findings.charts.push(Chart::new(
        "(d) Utilisation by several SQP flows",
        x,
        y,
        layers,
    ));
    findings.note("Bands: the closed form ± 0.03. 20 Mbit/s, 40 ms, 200 packets, 1 ms of jitter.");
    findings.note("Where it is missed, T = 0.6 with N = 4 and T = 0.7 with N = 3: the closed form is of fluids, and frames are bursts that drift past each other. With 8 ms of jitter in place of 1 all seeds agree, on 0.90 to 0.91 where it says 0.96, and on 0.96 to 0.97 where it says 1.");
    Ok(findings)
}
