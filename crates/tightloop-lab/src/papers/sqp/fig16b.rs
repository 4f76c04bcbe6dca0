//! Fig. 16b: two flows with different round trips.

use anyhow::Result;

use super::world::{
    ALL, BBR, COPA_AUTO, CUBIC, LEFT_OUT, LINK, SQP, STAGGER, bottleneck, round_trips,
};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Trial, values};
use crate::report::chart::{Axis, Chart, Dot, Layer};

pub(super) const FIG16B: Experiment = Experiment {
    name: "sqp/fig16b",
    source: "[SQP] Fig. 16b",
    shows: "fairness between two flows of one kind, by the second's round trip",
    seconds: 28,
    run,
};

/// In ms; ours, as is the sweep: the paper's are not known.
const FIRST: f64 = 20.0;
const SECOND: [f64; 7] = [20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 160.0];
const SECONDS: (f64, f64) = (20.0, 80.0);
const JAIN: &str = "all.jain.p10";

fn run(bench: &Bench) -> Result<Findings> {
    let trial = |flows: Vec<_>, second| {
        let mut scenario = bottleneck(LINK, SECONDS.1, flows);
        round_trips(&mut scenario, &[FIRST, second]);
        Trial::new(scenario, &[SECONDS]).stagger(STAGGER)
    };
    let trials = ALL
        .iter()
        .flat_map(|contender| SECOND.map(|second| trial(vec![contender.flow(); 2], second)));
    let trials: Vec<Trial> = trials.collect();
    let seen = bench.run(&trials)?;
    let rows: Vec<_> = seen.chunks(SECOND.len()).collect();
    let of = |name: &str, rtt: f64, key: &str| {
        let row = ALL
            .iter()
            .position(|it| it.name == name)
            .unwrap_or_default();
        let column = SECOND.iter().position(|it| *it == rtt).unwrap_or_default();
        values(&rows[row][column], |it| it.get(0, key))
    };

    let mut findings = Findings::default();
    findings.measure(
        "SQP: P10 of Jain's index, 20 and 20 ms",
        "",
        [0.95, 1.0],
        of(SQP.name, 20.0, JAIN),
    );
    findings.measure(
        "SQP: P10 of Jain's index, 20 and 80 ms",
        "",
        [0.85, 1.0],
        of(SQP.name, 80.0, JAIN),
    );
    for (name, key) in [(COPA_AUTO.name, "Copa-Auto"), (BBR.name, "BBR")] {
        let measure = format!("{key}: P10 of Jain's index, 20 and 20 ms");
        findings.measure(measure, "", [0.9, 1.0], of(name, 20.0, JAIN));
    }
    for rival in [BBR, CUBIC] {
        let ratio = of(rival.name, 80.0, JAIN)
            .into_iter()
            .zip(of(SQP.name, 80.0, JAIN));
        let name = format!(
            "{}'s P10 of Jain's index over SQP's, 20 and 80 ms",
            rival.name
        );
        findings.measure(
            name,
            "",
            [0.0, 1.0],
            ratio.map(|(other, own)| other / own).collect(),
        );
    }
    for rtt in [40.0, 80.0, 160.0] {
        let second = of(SQP.name, rtt, "flow.1.throughput").into_iter();
        let ratio = second.zip(of(SQP.name, rtt, "flow.0.throughput"));
        let name = format!("SQP: rate at {rtt} ms over rate at 20 ms");
        findings.measure(
            name,
            "",
            [0.0, 1.0],
            ratio.map(|(long, short)| long / short).collect(),
        );
    }
    let layers = ALL.iter().zip(&rows).map(|(contender, row)| {
        let dots = SECOND.iter().zip(*row);
        let dots =
            dots.filter_map(|(rtt, seeds)| Dot::of(*rtt, &values(seeds, |it| it.get(0, JAIN))));
        Layer::joined(contender.name, contender.ink, dots.collect()).dashed(contender.ink)
    });
    let (x, y) = (
        Axis::new(
            "round trip of the second flow (ms); the first's is 20",
            0.0,
            160.0,
        ),
        Axis::new("P10 of Jain's index", 0.4, 1.0),
    );
    findings.charts.push(Chart::new(
        "(b) Fairness between different round trips",
        x,
        y,
        layers.collect(),
    ));
    findings.note("20 Mbit/s, 200 packets, two flows of one kind; Jain's index in windows of 500 ms, seconds 20 to 80.");
    findings.note(LEFT_OUT);
    Ok(findings)
}
