//! A run's flows, and the paths of those that have several.

use tightloop::analysis::{Curve, FlowReport, PathReport, Spread};
use tightloop::event::FlowId;
use tightloop::scenario::Flow as FlowSettings;
use tightloop::units::{Span, Time};

use super::compose::{MBPS, MS, Parts, sum};
use super::gauges::{gauges, held, middle};
use super::page::{Band, Flow, Frames, Series, Summary};

impl Parts<'_> {
    pub(super) fn flows(&self, bin: Span) -> Vec<Flow> {
        let mut flows = Vec::new();
        for (place, settings) in self.scenario.flow.iter().enumerate() {
            let Some(report) = self.report.flows.get(place) else {
                continue;
            };
            let id = FlowId(place as u32);
            let capacity = self.capacity_of(&self.bottlenecks_of(settings));
            let key = format!("flow.{}", report.name);
            let mut flow = Flow {
                name: report.name.clone(),
                controller: settings.cc.name.clone(),
                summary: flow_summary(report, capacity),
                queueing: self.queueing(id, bin),
                frames: self.frames(id),
                ..Flow::default()
            };
            if settings.path.len() == 1 {
                self.fill(&mut flow, settings, &key);
                flows.push(flow);
                continue;
            }
            let paths: Vec<String> = (0..settings.path.len())
                .map(|path| format!("{key}.path.{path}"))
                .collect();
            let total = |what: &str| {
                let curves = paths
                    .iter()
                    .filter_map(|key| self.curve(&format!("{key}.{what}")));
                sum(curves).map_or_else(Series::default, |curve| rate(&curve, settings))
            };
            (flow.sent, flow.received) = (total("sending"), total("throughput"));
            flows.push(flow);
            for (number, (key, path)) in paths.iter().zip(&settings.path).enumerate() {
                let link = self.bottleneck(&path.links);
                let capacity = link.and_then(|link| self.capacity_of(&[link]));
                let measured = report.paths.get(number);
                let mut flow = Flow {
                    name: format!("{} path {number}", report.name),
                    part: true,
                    controller: settings.cc.name.clone(),
                    summary: measured
                        .map_or_else(Summary::default, |it| path_summary(it, capacity)),
                    ..Flow::default()
                };
                self.fill(&mut flow, settings, key);
                flows.push(flow);
            }
        }
        flows
    }

    /// A flow's or path's curves, whose keys begin with `key`.
    fn fill(&self, flow: &mut Flow, settings: &FlowSettings, key: &str) {
        let of = |what: &str| self.curve(&format!("{key}.{what}"));
        let rate = |what| of(what).map_or_else(Series::default, |curve| rate(curve, settings));
        (flow.sent, flow.received) = (rate("sending"), rate("throughput"));
        flow.target = of("target").map_or_else(Series::default, |curve| held(curve, MBPS));
        if let (Some(mean), Some(p95)) = (of("owd.mean"), of("owd.p95")) {
            let (mean, p95) = (middle(mean, MS), middle(p95, MS));
            flow.delay = Band {
                t: mean.t,
                mean: mean.v,
                p95: p95.v,
            };
        }
        flow.gauges = gauges(&self.curves, key);
    }

    fn queueing(&self, flow: FlowId, bin: Span) -> Band {
        let mut band = Band::default();
        let rows = self
            .gather
            .waits
            .get(&flow)
            .map_or(&[][..], |waits| &waits.rows);
        let mut next = rows.first().map_or(0, |(bin, ..)| *bin);
        for &(number, mean, p95) in rows {
            // Bins in which nothing left a queue are gaps.
            for number in next..=number {
                band.t.push((number as f64 + 0.5) * bin.secs_f64());
                band.mean.push(f64::NAN);
                band.p95.push(f64::NAN);
            }
            if let (Some(last_mean), Some(last_p95)) = (band.mean.last_mut(), band.p95.last_mut()) {
                (*last_mean, *last_p95) = (mean * MS, p95 * MS);
            }
            next = number + 1;
        }
        band
    }

    fn frames(&self, flow: FlowId) -> Frames {
        let points = self.gather.series.frames(flow);
        Frames {
            t: points.iter().map(|it| it.captured.secs_f64()).collect(),
            latency: points.iter().map(|it| it.latency.millis_f64()).collect(),
            missing: (0..points.len())
                .filter(|place| !points[*place].shown)
                .collect(),
        }
    }
}

/// A rate over time. Before the flow starts and after it stops there is none,
/// which is not the same as zero.
fn rate(curve: &Curve, flow: &FlowSettings) -> Series {
    let mut series = middle(curve, MBPS);
    let stop = flow.stop.map_or(f64::INFINITY, Time::secs_f64);
    for (t, v) in series.t.iter().zip(&mut series.v) {
        let idle = *t < flow.start.secs_f64() || *t > stop;
        if idle && *v == 0.0 {
            *v = f64::NAN;
        }
    }
    series
}

/// A flow's row, where its links could carry `capacity` Mbit/s.
pub(crate) fn flow_summary(report: &FlowReport, capacity: Option<f64>) -> Summary {
    let throughput = report.throughput.mbps_f64();
    let frames = report.frames.as_ref();
    let latency = frames.and_then(|frames| frames.latency);
    let delay = |of: fn(&Spread<Span>) -> Span| report.owd.as_ref().map(|it| of(it).millis_f64());
    let late = |of: fn(&Spread<Span>) -> Span| latency.as_ref().map(|it| of(it).millis_f64());
    Summary {
        throughput: Some(throughput),
        utilisation: capacity.map(|capacity| throughput / capacity),
        delay_p50: delay(|it| it.p50),
        delay_p95: delay(|it| it.p95),
        delay_p99: delay(|it| it.p99),
        latency_mean: late(|it| it.mean),
        latency_p50: late(|it| it.p50),
        latency_p95: late(|it| it.p95),
        latency_p99: late(|it| it.p99),
        shown: frames
            .filter(|frames| frames.captured > 0)
            .map(|frames| frames.shown as f64 / frames.captured as f64),
        fps: frames.map(|frames| frames.fps),
        freezes: frames.map(|frames| u32::try_from(frames.freezes).unwrap_or(u32::MAX)),
        loss: report.loss,
        bitrate: frames.map(|frames| frames.bitrate.mbps_f64()),
        filler: report.filler,
        ..Summary::default()
    }
}

fn path_summary(report: &PathReport, capacity: Option<f64>) -> Summary {
    let throughput = report.throughput.mbps_f64();
    let delay = |of: fn(&Spread<Span>) -> Span| report.owd.as_ref().map(|it| of(it).millis_f64());
    Summary {
        throughput: Some(throughput),
        utilisation: capacity.map(|capacity| throughput / capacity),
        delay_p50: delay(|it| it.p50),
        delay_p95: delay(|it| it.p95),
        delay_p99: delay(|it| it.p99),
        loss: report.loss,
        ..Summary::default()
    }
}
