//! Fig. 7: what the length of Δmin's window does.

use anyhow::Result;

use super::world::{BBR, CUBIC, Contender, LEFT_OUT, LINK, STAGGER, bottleneck, sqp};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Seen, Trial, values};
use crate::report::chart::{Axis, Chart, Dot, Layer};

pub(super) const FIG7: Experiment = Experiment {
    name: "sqp/fig7",
    source: "[SQP] Fig. 7",
    shows: "delay among SQP flows and rate beside others, by the length of the delay window",
    seconds: 12,
    run,
};

const WINDOWS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
const RIVALS: [Contender; 2] = [CUBIC, BBR];
const FLOWS: [usize; 2] = [2, 4];
const SECONDS: (f64, f64) = (20.0, 80.0);

fn run(bench: &Bench) -> Result<Findings> {
    let own = |window: f64| sqp(&[("delay_window", window.into())]);
    let trial = |flows| Trial::new(bottleneck(LINK, SECONDS.1, flows), &[SECONDS]).stagger(STAGGER);
    let mut trials = Vec::new();
    for flows in FLOWS {
        trials.extend(WINDOWS.map(|window| trial(vec![own(window); flows])));
    }
    for rival in RIVALS {
        trials.extend(WINDOWS.map(|window| trial(vec![own(window), rival.flow()])));
    }
    let seen = bench.run(&trials)?;
    let mut rows = seen.chunks(WINDOWS.len());

    let mut findings = Findings::default();
    let mut layers = Vec::new();
    let dots = |row: &[Vec<Seen>], key: &str| -> Vec<Dot> {
        let dots = WINDOWS.iter().zip(row);
        dots.filter_map(|(window, seeds)| Dot::of(*window, &values(seeds, |it| it.get(0, key))))
            .collect()
    };
    let ratio = |row: &[Vec<Seen>], key: &str, above: usize, below: usize| -> Vec<f64> {
        let pairs = row[above].iter().zip(&row[below]);
        pairs
            .map(|(above, below)| above.get(0, key) / below.get(0, key))
            .collect()
    };
    for (ink, (flows, row)) in FLOWS.into_iter().zip(rows.by_ref()).enumerate() {
        let key = "all.owd.p90";
        layers.push(Layer::joined(
            &format!("{flows} SQP flows"),
            [0, 4][ink],
            dots(row, key),
        ));
        findings.measure(
            format!("{flows} flows: delay with ×1 over ×2"),
            "",
            [1.0, 10.0],
            ratio(row, key, 0, 1),
        );
        for (place, times) in [(2, 3), (3, 4)] {
            let name = format!("{flows} flows: delay with ×{times} over ×2");
            findings.measure(name, "", [0.8, 1.2], ratio(row, key, place, 1));
        }
    }
    let window = || Axis::new("length of the window (sRTT)", 0.5, 4.5);
    let delay = Axis::new("P90 one-way delay (ms)", 0.0, 60.0);
    findings
        .charts
        .push(Chart::new("Delay among SQP flows", window(), delay, layers));

    let mut layers = Vec::new();
    for (rival, row) in RIVALS.iter().zip(rows) {
        let key = "flow.0.throughput";
        layers.push(Layer::joined(
            &format!("beside {}", rival.name),
            rival.ink,
            dots(row, key),
        ));
        for (place, times) in [(1, 2), (2, 3), (3, 4)] {
            let name = format!(
                "beside {}: rate with ×{times} over ×{}",
                rival.name,
                times - 1
            );
            findings.measure(name, "", [0.0, 1.0], ratio(row, key, place, place - 1));
        }
    }
    let rate = Axis::new("SQP's throughput (Mbit/s)", 0.0, 10.0);
    findings.charts.push(Chart::new(
        "SQP's throughput beside one other flow",
        window(),
        rate,
        layers,
    ));
    findings.note("20 Mbit/s, 40 ms, 200 packets; seconds 20 to 80.");
    findings.note("The queue that several flows share swings with the window: it grows until the window has forgotten the empty queue, and drains. One-way delay of 4 flows, P50 and P90: ×1 131 and 134 ms, the buffer full; ×2 48 and 67; ×3 33 and 47; ×4 29 and 45. On an axis that holds ×1, ×2 is near the others; within 20 % of them it is not.");
    findings.note(LEFT_OUT);
    Ok(findings)
}
