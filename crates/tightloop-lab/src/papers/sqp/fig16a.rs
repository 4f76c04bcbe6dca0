//! Fig. 16a: flows that join and leave.

use anyhow::Result;
use tightloop::analysis::converged;
use tightloop::units::Span;

use super::world::{ALL, LEFT_OUT, LINK, bottleneck, stay};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Trial, mean, second, values};
use crate::report::chart::{Axis, Chart, Layer};

pub(super) const FIG16A: Experiment = Experiment {
    name: "sqp/fig16a",
    source: "[SQP] Fig. 16a",
    shows: "Jain's index while flows of one kind join and leave",
    seconds: 4,
    run,
};

const SECONDS: f64 = 60.0;
/// The second flow's start and stop, and the third's.
const JOINS: [f64; 2] = [10.0, 20.0];
const LEAVES: [f64; 2] = [40.0, 50.0];
/// For how long an index must stay. Ours: four of the paper's windows.
const HOLD: Span = Span::from_secs(2);
const JAIN: &str = "all.jain";

fn run(bench: &Bench) -> Result<Findings> {
    let trials = ALL.map(|contender| {
        let flow = || contender.flow();
        let flows = vec![
            flow(),
            stay(flow(), JOINS[0], Some(LEAVES[0])),
            stay(flow(), JOINS[1], Some(LEAVES[1])),
        ];
        let windows = [(0.0, SECONDS), (LEAVES[1] + 2.0, SECONDS)];
        Trial::new(bottleneck(LINK, SECONDS, flows), &windows).curves(Span::from_millis(500))
    });
    let seen = bench.run(&trials)?;

    let mut findings = Findings::default();
    let sqp = &seen[0];
    for (what, event, level, within) in [
        ("the second joined", JOINS[0], 0.95, 4.0),
        ("the third joined", JOINS[1], 0.85, 12.0),
        ("the second left", LEAVES[0], 0.95, 4.0),
    ] {
        let took = values(sqp, |it| {
            let took = converged(it.curve(JAIN), second(event), level, HOLD);
            took.map_or(f64::NAN, Span::secs_f64)
        });
        let name = format!("SQP: until Jain's index stays at {level}, after {what}");
        findings.measure(name, "s", [0.0, within], took);
    }
    let alone = values(sqp, |it| it.get(1, "flow.0.throughput"));
    findings.measure(
        "SQP: the first flow from 2 s after it is alone again",
        "Mbit/s",
        [17.6, 18.4],
        alone,
    );
    let fair = |place: usize| {
        values(&seen[place], |it| {
            mean(&it.within(JAIN, JOINS[0], LEAVES[1]))
        })
    };
    for (place, contender) in ALL.iter().enumerate() {
        if ["Copa-0.1", "WebRTC (GCC)"].contains(&contender.name) {
            let ratio = fair(place).into_iter().zip(fair(0));
            let ratio = ratio.map(|(other, own)| other / own).collect();
            let name = format!(
                "{}: mean of Jain's index from 10 to 50 s, over SQP's",
                contender.name
            );
            findings.measure(name, "", [0.0, 1.0], ratio);
        }
    }
    let layers = ALL.iter().zip(&seen).map(|(contender, seeds)| {
        // The median seed in each bin.
        let curves: Vec<_> = seeds.iter().map(|it| it.points(JAIN)).collect();
        let middle = (0..curves[0].len()).map(|bin| {
            let mut at: Vec<f64> = curves.iter().map(|curve| curve[bin].1).collect();
            at.sort_unstable_by(f64::total_cmp);
            (curves[0][bin].0, at[at.len() / 2])
        });
        Layer::line(contender.name, contender.ink, middle.collect()).dashed(contender.ink)
    });
    let (x, y) = (
        Axis::new("time (s)", 0.0, SECONDS),
        Axis::new("Jain's index", 0.3, 1.0),
    );
    findings.charts.push(Chart::new(
        "(a) Fairness while flows join and leave",
        x,
        y,
        layers.collect(),
    ));
    findings.note("20 Mbit/s, 40 ms, 200 packets. The second flow stays from 10 to 40 s, the third from 20 to 50 s. Jain's index of the active flows in windows of 500 ms; lines: the median over the seeds in each.");
    findings.note("With 1 ms of jitter the phases of two flows' frames take seconds to drift, and luck decides how soon they meet.");
    findings.note("That Copa-0.1 converges slowly is not so here: it shares evenly soon after each change, as in Fig. 15a, where the paper calls it fair. Its flows here are the authors' rules as Pantheon ran them; the paper's rules and wake-ups up to 20 ms late do not change it.");
    findings.note(LEFT_OUT);
    Ok(findings)
}
