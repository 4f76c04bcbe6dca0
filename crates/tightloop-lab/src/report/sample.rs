//! Reports of a coarse fluid model, for tests and for looking at the page.
//!
//! Nothing here measures a controller: the shapes are alike, the numbers are
//! made up.

use super::page::{Flow, Frames, Gauge, Link, Page, Run, Series, Summary};

const STEP: f64 = 0.005;
const BIN: f64 = 0.1;
const BASE_MS: f64 = 20.0;
const FRAME: f64 = 1.0 / 60.0;
const QUEUE_LIMIT_KB: f64 = 300.0;

/// How a flow of the model answers to its queue.
#[derive(Clone, Copy)]
enum Law {
    /// Follows .9 of its share, late.
    Follow,
    /// Fills the queue and backs off to .7.
    Fill,
    /// Keeps a small queue that swings.
    Swing,
}

impl Law {
    fn name(self) -> &'static str {
        match self {
            Self::Follow => "sqp",
            Self::Fill => "cubic",
            Self::Swing => "copa",
        }
    }
}

/// A small generator: the model only has to look rough.
struct Noise(u64);

impl Noise {
    /// Uniform between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from((self.0 >> 33) as u32) / f64::from(1_u32 << 30) - 1.0
    }
}

/// One flow alone on a constant link, for five seconds.
pub(super) fn one_flow() -> Page {
    page(
        "One flow",
        vec![run("sqp", 5.0, &[(Law::Follow, 0.0)], |_| 20.0, 1)],
    )
}

/// Two controllers on the same link, which fades like a cellular one.
pub(super) fn two_runs() -> Page {
    page(
        "SQP and Cubic on a fading link",
        vec![
            run("sqp", 60.0, &[(Law::Follow, 0.0)], lte, 1),
            run("cubic", 60.0, &[(Law::Fill, 0.0)], lte, 1),
        ],
    )
}

/// Six flows that join one after the other.
fn six_flows() -> Page {
    let flows: Vec<_> = (0..6).map(|n| (Law::Swing, f64::from(n) * 8.0)).collect();
    page(
        "Six flows share a link",
        vec![run("copa ×6", 90.0, &flows, |_| 30.0, 3)],
    )
}

/// Three runs of two flows each, on a link with steps.
fn three_by_two() -> Page {
    let steps = |t: f64| if (20.0..40.0).contains(&t) { 5.0 } else { 20.0 };
    let runs = [
        (Law::Follow, "sqp"),
        (Law::Fill, "cubic"),
        (Law::Swing, "copa"),
    ];
    page(
        "20 → 5 → 20 Mbit/s, three controllers",
        runs.map(|(law, name)| run(name, 60.0, &[(law, 0.0), (law, 5.0)], steps, 5))
            .to_vec(),
    )
}

/// Ten minutes with 36,000 frames per flow.
fn long_call() -> Page {
    page(
        "A long call",
        vec![
            run("sqp", 600.0, &[(Law::Follow, 0.0)], lte, 8),
            run("copa", 600.0, &[(Law::Swing, 0.0)], lte, 8),
        ],
    )
}

/// A flow without video, and nothing known of its inside.
fn no_video() -> Page {
    let mut page = one_flow();
    let flow = &mut page.runs[0].flows[0];
    (flow.frames, flow.target) = (Frames::default(), Series::default());
    flow.gauges.clear();
    let Summary {
        throughput,
        utilisation,
        delay_p50,
        delay_p95,
        delay_p99,
        loss,
        ..
    } = flow.summary;
    flow.summary = Summary {
        throughput,
        utilisation,
        delay_p50,
        delay_p95,
        delay_p99,
        loss,
        ..Summary::default()
    };
    page
}

/// Every sample with a name for its file.
pub(super) fn all() -> Vec<(&'static str, Page)> {
    vec![
        ("one-flow", one_flow()),
        ("two-runs", two_runs()),
        ("six-flows", six_flows()),
        ("three-by-two", three_by_two()),
        ("long-call", long_call()),
        ("no-video", no_video()),
        ("empty", Page::default()),
    ]
}

/// Slow and fast fading, and one outage.
fn lte(t: f64) -> f64 {
    let slow = (t / 9.0).sin() * 5.0 + (t / 3.1 + 1.0).sin() * 2.5;
    let fast = (t * 2.3).sin() * 1.3 + (t * 5.9).cos() * 0.9 + (t * 17.0).sin() * 0.6;
    if (41.0..41.7).contains(&t) {
        0.0
    } else {
        (10.5 + slow + fast).max(0.6)
    }
}

fn page(title: &str, runs: Vec<Run>) -> Page {
    let definitions = [
        (
            "throughput",
            "Received bytes, IP headers included, over the time from a flow's first packet to the end.",
        ),
        (
            "one-way delay",
            "Arrival at the receiver less departure from the sender, after the pacer.",
        ),
        (
            "frame latency",
            "Capture to display. A frame never shown has the latency until the next one that was.",
        ),
        (
            "utilisation",
            "Received bytes over what the bottleneck could have carried in the same time.",
        ),
    ];
    Page {
        title: title.to_owned(),
        subtitle: "A made-up run for looking at the page".to_owned(),
        version: format!("tightloop {}", env!("CARGO_PKG_VERSION")),
        bin: BIN,
        runs,
        definitions: definitions
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec(),
    }
}

fn run(
    name: &str,
    duration: f64,
    flows: &[(Law, f64)],
    capacity: impl Fn(f64) -> f64,
    seed: u64,
) -> Run {
    let mut noise = Noise(seed);
    let mut model: Vec<_> = flows
        .iter()
        .map(|&(law, start)| Model::new(law, start))
        .collect();
    let (mut queue_kb, mut drops) = (0.0_f64, Vec::new());
    let mut link_queue = Series::default();
    let mut capacity_steps = Series::default();
    let steps = (duration / STEP) as u32;
    for step in 0..steps {
        let t = f64::from(step) * STEP;
        let c = capacity(t) * (1.0 + 0.06 * noise.next());
        if step % 40 == 0 {
            capacity_steps.t.push(t);
            capacity_steps.v.push(capacity(t));
        }
        let active = model.iter().filter(|m| m.start <= t).count().max(1) as f64;
        let sent: f64 = model
            .iter_mut()
            .map(|m| m.send(t, c / active, queue_kb, &mut noise))
            .sum();
        let arrived_kb = sent * STEP * 125.0;
        let served_kb = (queue_kb + arrived_kb).min(c * STEP * 125.0);
        queue_kb += arrived_kb - served_kb;
        let full = queue_kb > QUEUE_LIMIT_KB;
        if full {
            queue_kb = QUEUE_LIMIT_KB;
            drops.push(t);
        }
        let wait_ms = if c < 0.1 {
            queue_kb / 125.0 * 1e3
        } else {
            (queue_kb / (c * 125.0) * 1e3).min(1_500.0)
        };
        for m in &mut model {
            let got = if sent > 0.0 {
                served_kb / (STEP * 125.0) * m.rate / sent
            } else {
                0.0
            };
            m.note(t, got, wait_ms, full, &mut noise);
        }
        if step % 20 == 10 {
            link_queue.t.push(t);
            link_queue.v.push(queue_kb);
        }
    }
    let count = model.len() as f64;
    let mean_capacity = capacity_steps.v.iter().sum::<f64>() / capacity_steps.v.len() as f64;
    let flows: Vec<_> = model
        .into_iter()
        .enumerate()
        .map(|(n, m)| m.flow(n, duration, mean_capacity / count))
        .collect();
    let utilisation: f64 = flows
        .iter()
        .filter_map(|f| f.summary.utilisation)
        .sum::<f64>()
        / count;
    let link = Link {
        name: "bottleneck".to_owned(),
        description: "drop-tail 300 kB, recorded rate, 20 ms".to_owned(),
        utilisation: Some(utilisation),
        mean_wait: flows[0].summary.delay_p50.map(|d| d - BASE_MS),
        mean_queue: Some(link_queue.v.iter().sum::<f64>() / link_queue.v.len() as f64),
        carried: (mean_capacity * duration * 100.0) as u64,
        dropped: vec![
            ("full".to_owned(), drops.len() as u64),
            ("random".to_owned(), 3),
        ],
        marked: 0,
        queue: link_queue,
        drops,
        marks: Vec::new(),
    };
    let p95 = flows[0].summary.delay_p95.unwrap_or(f64::NAN);
    Run {
        name: name.to_owned(),
        scenario: "scenarios/lte.toml".to_owned(),
        seed,
        duration,
        finding: Some(format!(
            "Used {:.0} % of the link with a p95 delay of {p95:.0} ms.",
            utilisation * 100.0
        )),
        command: format!("tightloop run scenarios/lte.toml --set flow.0.cc={name} --seed {seed}"),
        capacity: capacity_steps,
        flows,
        links: vec![link],
    }
}

/// One flow of the model and what was noted of it.
struct Model {
    law: Law,
    start: f64,
    rate: f64,
    lagged: f64,
    phase: f64,
    next_frame: f64,
    bin: Vec<(f64, f64, f64)>,
    flow: Flow,
    waits: Vec<f64>,
}

impl Model {
    fn new(law: Law, start: f64) -> Self {
        let gauge = |group: &str, name: &str, unit: &str| Gauge {
            group: group.to_owned(),
            name: name.to_owned(),
            unit: unit.to_owned(),
            series: Series::default(),
        };
        let gauges = vec![
            gauge("Window and bytes in flight", "window", "kB"),
            gauge("Window and bytes in flight", "in flight", "kB"),
            gauge("Pacing rate", "pacing", "Mbit/s"),
            gauge("min RTT", "min RTT", "ms"),
        ];
        Self {
            law,
            start,
            rate: 1.0,
            lagged: 2.0,
            phase: start,
            next_frame: start,
            bin: Vec::new(),
            waits: Vec::new(),
            flow: Flow {
                controller: law.name().to_owned(),
                gauges,
                ..Flow::default()
            },
        }
    }

    fn send(&mut self, t: f64, share: f64, queue_kb: f64, noise: &mut Noise) -> f64 {
        if t < self.start {
            self.rate = 0.0;
            return 0.0;
        }
        self.lagged += (share - self.lagged) * STEP / 0.25;
        self.rate = match self.law {
            Law::Follow => self.lagged * 0.9 * (1.0 + 0.08 * noise.next()),
            Law::Fill if queue_kb >= QUEUE_LIMIT_KB * 0.99 && t > self.phase + 0.3 => {
                self.phase = t;
                self.lagged * 0.6
            }
            Law::Fill => {
                self.lagged * (0.72 + 0.5 * ((t - self.phase) / 4.0).clamp(0.0, 1.0).cbrt()) + 0.1
            }
            Law::Swing => {
                self.lagged * (0.98 + 0.12 * ((t - self.phase) * 9.0).sin() - queue_kb / 900.0)
                    + 0.2
            }
        }
        .max(0.05);
        self.rate
    }

    fn note(&mut self, t: f64, got: f64, wait_ms: f64, full: bool, noise: &mut Noise) {
        if t >= self.start {
            self.bin.push((self.rate, got, wait_ms));
            self.waits.push(wait_ms);
        }
        if t >= self.next_frame {
            let at = self.next_frame;
            self.next_frame += FRAME;
            let frames = &mut self.flow.frames;
            let spread = 6.0 * noise.next().abs() + if noise.next() > 0.996 { 90.0 } else { 0.0 };
            if full && noise.next() > 0.0 {
                frames.missing.push(frames.t.len());
            }
            frames.t.push(at);
            frames.latency.push(BASE_MS + wait_ms + 12.0 + spread);
        }
        if self.bin.len() == 20 {
            let middle = t - 19.0 * STEP / 2.0;
            let n = self.bin.len() as f64;
            let mut waits: Vec<_> = self.bin.iter().map(|b| b.2).collect();
            waits.sort_by(f64::total_cmp);
            let (mean, p95) = (waits.iter().sum::<f64>() / n, waits[18] + 1.5);
            let outage = got < 0.01;
            let flow = &mut self.flow;
            let rates = [
                (
                    &mut flow.sent,
                    self.bin.iter().map(|b| b.0).sum::<f64>() / n,
                ),
                (
                    &mut flow.received,
                    self.bin.iter().map(|b| b.1).sum::<f64>() / n,
                ),
            ];
            for (series, v) in rates {
                series.t.push(middle);
                series.v.push(v);
            }
            for (band, base) in [(&mut flow.delay, BASE_MS), (&mut flow.queueing, 0.0)] {
                band.t.push(middle);
                band.mean.push(if outage { f64::NAN } else { mean + base });
                band.p95.push(if outage { f64::NAN } else { p95 + base });
            }
            flow.target.t.push(t);
            flow.target.v.push(self.lagged * 0.93);
            let in_flight = self.rate * (2.0 * BASE_MS + wait_ms) / 8.0;
            for (gauge, v) in flow.gauges.iter_mut().zip([
                in_flight * 1.15 + 3.0,
                in_flight,
                self.rate * 1.25,
                2.0 * BASE_MS,
            ]) {
                gauge.series.t.push(t);
                gauge.series.v.push(v);
            }
            self.bin.clear();
        }
    }

    fn flow(mut self, number: usize, duration: f64, share: f64) -> Flow {
        let quantile = |values: &[f64], q: f64| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.get((sorted.len() as f64 * q) as usize).copied()
        };
        let delay = |q| quantile(&self.waits, q).map(|w| w + BASE_MS);
        let frames = &self.flow.frames;
        let latency = |q| quantile(&frames.latency, q);
        let throughput = self.flow.received.v.iter().sum::<f64>() * BIN / (duration - self.start);
        let missing = frames.missing.len() as f64 / frames.t.len() as f64;
        self.flow.summary = Summary {
            throughput: Some(throughput),
            utilisation: Some((throughput / share).min(1.0)),
            delay_p50: delay(0.5),
            delay_p95: delay(0.95),
            delay_p99: delay(0.99),
            latency_mean: Some(frames.latency.iter().sum::<f64>() / frames.latency.len() as f64),
            latency_p50: latency(0.5),
            latency_p95: latency(0.95),
            latency_p99: latency(0.99),
            shown: Some(1.0 - missing),
            freezes: Some(frames.missing.len() as u32 / 7),
            loss: Some(missing / 3.0),
        };
        self.flow.name = format!("flow {number}");
        self.flow
    }
}
