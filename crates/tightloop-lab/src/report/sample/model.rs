//! A coarse fluid model of flows that share a queue.

use crate::report::page::{Flow, Gauge, Link, Run, Series, Summary};

const STEP: f64 = 0.005;
pub(super) const BIN: f64 = 0.1;
const BASE_MS: f64 = 20.0;
const FRAME: f64 = 1.0 / 60.0;
const QUEUE_LIMIT_KB: f64 = 300.0;

/// How a flow of the model answers to its queue.
#[derive(Clone, Copy)]
pub(super) enum Law {
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

/// A run of flows, each with its law and the second it starts in.
pub(super) fn run(
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
        spikes: Vec::new(),
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
            ..Summary::default()
        };
        self.flow.name = format!("flow {number}");
        self.flow
    }
}
