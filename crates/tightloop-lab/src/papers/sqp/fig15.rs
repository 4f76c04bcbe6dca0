//! Fig. 15: ten flows of one kind on 60 Mbit/s.

use anyhow::Result;
use tightloop::analysis::jain;

use super::world::{ALL, BBR, COPA, COPA_AUTO, CUBIC, LEFT_OUT, SQP, STAGGER, WEBRTC, bottleneck};
use crate::papers::bench::Bench;
use crate::papers::experiment::{Experiment, Findings};
use crate::papers::trial::{Seen, Trial, mean, values};
use crate::report::chart::{Axis, Chart, Dot, Layer};

pub(super) const FIG15A: Experiment = Experiment {
    name: "sqp/fig15a",
    source: "[SQP] Fig. 15a",
    shows: "rate and P90 delay of each of ten flows of one kind",
    seconds: 10,
    run: shares,
};

pub(super) const FIG15B: Experiment = Experiment {
    name: "sqp/fig15b",
    source: "[SQP] Fig. 15b",
    shows: "P10 bitrate against P90 frame delay of ten flows of one kind",
    seconds: 10,
    run: frames,
};

/// In Mbit/s. [SQP] §6.4.
const LINK: f64 = 60.0;
const FLOWS: usize = 10;
const SECONDS: (f64, f64) = (20.0, 60.0);
/// Frame slots that bitrates are taken over. [SQP] §6.2.
const SLOTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// For each contender, for each seed.
fn seen(bench: &Bench) -> Result<Vec<Vec<Seen>>> {
    let trials = ALL.map(|contender| {
        let flows = vec![contender.flow(); FLOWS];
        Trial::new(bottleneck(LINK, SECONDS.1, flows), &[SECONDS]).stagger(STAGGER)
    });
    bench.run(&trials)
}

/// A metric of each flow of a run.
fn flows(seen: &Seen, key: &str) -> Vec<f64> {
    (0..FLOWS)
        .map(|flow| seen.get(0, &format!("flow.{flow}.{key}")))
        .collect()
}

fn shares(bench: &Bench) -> Result<Findings> {
    let seen = seen(bench)?;
    let mut findings = Findings::default();
    let of = |name: &str| {
        let place = ALL.iter().position(|it| it.name == name);
        &seen[place.unwrap_or_default()]
    };
    let fair = |name: &str| {
        values(of(name), |it| {
            jain(&flows(it, "throughput")).unwrap_or(f64::NAN)
        })
    };
    let delay = |name: &str| values(of(name), |it| it.get(0, "all.owd.p90"));
    let sum = |name: &str| values(of(name), |it| it.get(0, "all.throughput"));
    findings.measure(
        "SQP: Jain's index of the means",
        "",
        [0.93, 1.0],
        fair(SQP.name),
    );
    findings.measure(
        "SQP: P90 one-way delay",
        "ms",
        [40.0, 75.0],
        delay(SQP.name),
    );
    findings.measure(
        "SQP: all flows together",
        "Mbit/s",
        [57.0, LINK],
        sum(SQP.name),
    );
    for rival in [BBR, CUBIC] {
        let ratio = delay(SQP.name).into_iter().zip(delay(rival.name));
        let name = format!("SQP's P90 delay over {}'s", rival.name);
        findings.measure(
            name,
            "",
            [0.0, 1.0],
            ratio.map(|(own, other)| own / other).collect(),
        );
    }
    for rival in [BBR, COPA, COPA_AUTO] {
        findings.measure(
            format!("{}: Jain's index", rival.name),
            "",
            [0.9, 1.0],
            fair(rival.name),
        );
    }
    let ratio = fair(WEBRTC.name).into_iter().zip(fair(SQP.name));
    findings.measure(
        "WebRTC: Jain's index over SQP's",
        "",
        [0.0, 1.0],
        ratio.map(|(other, own)| other / own).collect(),
    );
    findings.measure(
        "WebRTC: all flows together",
        "Mbit/s",
        [0.0, 57.0],
        sum(WEBRTC.name),
    );
    let ratio = delay(WEBRTC.name).into_iter().zip(delay(SQP.name));
    findings.measure(
        "WebRTC's P90 delay over SQP's",
        "",
        [0.0, 1.0],
        ratio.map(|(other, own)| other / own).collect(),
    );

    let mut layers = Vec::new();
    for (contender, seeds) in ALL.iter().zip(&seen) {
        let all = (0..FLOWS).flat_map(|flow| {
            let of = move |it: &Seen, key| it.get(0, &format!("flow.{flow}.{key}"));
            seeds
                .iter()
                .map(move |it| Dot::at(of(it, "owd.p90"), of(it, "throughput")))
        });
        layers.push(Layer::dots(contender.name, contender.ink, all.collect()));
    }
    let (x, y) = (
        Axis::new("P90 one-way delay (ms)", 0.0, 150.0),
        Axis::new("mean throughput of each flow (Mbit/s)", 0.0, 12.0),
    );
    findings.charts.push(Chart::new(
        "(a) Throughput and delay of each flow",
        x,
        y,
        layers,
    ));
    findings.note("60 Mbit/s, 40 ms, 600 packets; ten flows that begin within half a second; seconds 20 to 60. A fair share is 6 Mbit/s. Every flow of every seed is a point.");
    findings.note(LEFT_OUT);
    Ok(findings)
}

fn frames(bench: &Bench) -> Result<Findings> {
    let seen = seen(bench)?;
    let mut findings = Findings::default();
    let (mut layers, mut steady) = (Vec::new(), Vec::new());
    for (contender, seeds) in ALL.iter().zip(&seen) {
        let dots = SLOTS.into_iter().filter_map(|slots| {
            let of = |key: &str| {
                values(seeds, |it| {
                    mean(&flows(it, &format!("slots.{slots}.{key}")))
                })
            };
            let delay = Dot::of(0.0, &of("frame_delay.p90"))?.y();
            let dot = Dot::of(delay, &of("bitrate.p10"))?;
            Some(match slots {
                1 | 32 => dot.labelled(&format!("n = {slots}")),
                _ => dot,
            })
        });
        layers.push(Layer::joined(contender.name, contender.ink, dots.collect()));
        steady.push(values(seeds, |it| {
            mean(&flows(it, "slots.1.bitrate.p10")) / mean(&flows(it, "throughput"))
        }));
    }
    for (place, contender) in ALL.iter().enumerate() {
        if [COPA.name, CUBIC.name, WEBRTC.name].contains(&contender.name) {
            let ratio = steady[place].iter().zip(&steady[0]);
            let ratio = ratio.map(|(other, own)| other / own).collect();
            let name = format!(
                "{}: P10 bitrate of one slot over mean throughput, over SQP's",
                contender.name
            );
            findings.measure(name, "", [0.0, 1.0], ratio);
        }
    }
    let (x, y) = (
        Axis::log("P90 simulated frame delay (ms)", 20.0, 500.0),
        Axis::new("P10 bitrate (Mbit/s)", 0.0, 7.0),
    );
    findings.charts.push(Chart::new(
        "(b) P10 bitrate against P90 frame delay, over n frame slots",
        x,
        y,
        layers,
    ));
    findings.note("Means over the ten flows. n: frame slots of 1/60 s that the bitrate is taken over, from 1 to 32; a larger n asks less of the controller's evenness and adds delay at the sender.");
    findings.note("The paper says in words that Copa-0.1, Cubic and WebRTC fall well below their mean throughput; we ask that they fall further than SQP, whose P10 of one slot is 0.66 of its mean here. WebRTC is steadier than that here: its encoder never overshoots, and its rate moves slowly, where SQP's follows the swing of the queue its ten flows share.");
    findings.note(LEFT_OUT);
    Ok(findings)
}
