//! From folders of results to a page.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tightloop::analysis::{
    Curve, FlowReport, LinkReport, METRICS, Names, PathReport, Report, Spread, Window,
};
use tightloop::event::{FlowId, LinkId};
use tightloop::link;
use tightloop::scenario::{Flow as FlowSettings, Scenario};
use tightloop::units::{Rate, Span, Time};

use super::gather::{Crossings, Gather};
use super::gauges::{gauges, held, middle};
use super::page::{Band, Flow, Frames, Link, Page, Run, Series, Summary};
use crate::store::{About, Folder};

/// The widths of bins to choose from.
const BINS: [i64; 7] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// More bins than this are not drawn.
const MOST_BINS: i64 = 1_000;

const MBPS: f64 = 1e-6;
const MS: f64 = 1e3;
const KB: f64 = 1e-3;

/// The page of some runs.
pub(super) fn page(folders: &[PathBuf]) -> Result<Page> {
    let mut opened = Vec::new();
    for path in folders {
        let (folder, about) = Folder::open(path)?;
        let scenario = folder.scenario()?;
        opened.push((folder, about, scenario));
    }
    let longest = opened.iter().map(|(_, _, scenario)| scenario.duration);
    let bin = bin(longest.max().unwrap_or_default());
    let mut runs: Vec<Run> = Vec::new();
    for (folder, about, scenario) in &opened {
        let name = match opened.len() {
            1 => scenario.name.clone(),
            _ => short_name(&folder.path, about),
        };
        let taken = runs
            .iter()
            .filter(|run| run.name.starts_with(&name))
            .count();
        let name = match taken {
            0 => name,
            taken => format!("{name} ({})", taken + 1),
        };
        runs.push(run(name, folder, about, scenario, bin)?);
    }
    let mut names: Vec<&str> = opened
        .iter()
        .map(|(_, about, _)| &*about.scenario)
        .collect();
    names.dedup();
    Ok(Page {
        title: names.join(", "),
        subtitle: match &*opened {
            [(_, _, scenario)] => scenario.about.clone(),
            several => format!("{} runs", several.len()),
        },
        version: format!("tightloop {}", env!("CARGO_PKG_VERSION")),
        bin: bin.secs_f64(),
        runs,
        definitions: definitions(),
    })
}

/// The narrowest bin of which not too many fit.
fn bin(longest: Span) -> Span {
    let mut bins = BINS.into_iter().map(Span::from_millis);
    let fits = |bin: &Span| longest.ratio(*bin) <= MOST_BINS as f64;
    let fitting = bins.clone().find(fits);
    fitting.or(bins.next_back()).unwrap_or_default()
}

/// The folder's name, which whoever made it chose.
fn short_name(path: &Path, about: &About) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| about.scenario.clone())
}

/// What the summary's columns mean.
fn definitions() -> Vec<(String, String)> {
    let of = |name: &str, key: &str| {
        let metric = METRICS.iter().find(|metric| metric.key == key)?;
        Some((name.to_owned(), format!("{}.", metric.definition)))
    };
    let used = "what arrived at the receiver over what the slowest links of the flow's paths could have carried.";
    let mut all = vec![("utilisation".to_owned(), used.to_owned())];
    all.extend(
        [
            ("throughput", "flow.{flow}.throughput"),
            ("one-way delay", "flow.{flow}.owd.{stat}"),
            ("frame latency", "flow.{flow}.frames.latency.{stat}"),
            ("freezes", "flow.{flow}.frames.freezes"),
            ("loss", "flow.{flow}.loss"),
            ("waiting", "link.{link}.waited.{stat}"),
        ]
        .into_iter()
        .filter_map(|(name, key)| of(name, key)),
    );
    all.sort();
    all
}

/// One run, ready to be put together.
struct Parts<'a> {
    scenario: &'a Scenario,
    names: &'a Names,
    report: Report,
    curves: Vec<Curve>,
    gather: Gather,
}

fn run(
    name: String,
    folder: &Folder,
    about: &About,
    scenario: &Scenario,
    bin: Span,
) -> Result<Run> {
    let window = Window {
        from: scenario.measure.from,
        to: scenario.measure.to.unwrap_or(scenario.end()),
    };
    let mut gather = Gather::new(about.names.clone(), window, bin);
    let (_, last) = folder.replay(about, &mut gather)?;
    gather
        .waits
        .values_mut()
        .for_each(super::gather::Waits::close);
    let end = if about.complete { scenario.end() } else { last };
    let parts = Parts {
        scenario,
        names: &about.names,
        report: gather.summary.report(),
        curves: gather.series.curves(end),
        gather,
    };
    let bottlenecks = parts.bottlenecks();
    Ok(Run {
        name,
        scenario: about.scenario.clone(),
        seed: about.seed,
        duration: end.secs_f64(),
        finding: parts.finding(),
        command: about.command.clone(),
        capacity: parts.capacity(&bottlenecks),
        flows: parts.flows(bin),
        links: parts.links(end),
    })
}

impl Parts<'_> {
    fn curve(&self, key: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.key == key)
    }

    /// The place of a path's slowest link among all links.
    fn bottleneck(&self, links: &[String]) -> Option<usize> {
        let place = |name: &String| self.names.links.iter().position(|link| link == name);
        let capacity = |place: &usize| self.report.links.get(*place)?.capacity;
        let limited = links
            .iter()
            .filter_map(place)
            .filter(|it| capacity(it).is_some());
        limited.min_by_key(|it| capacity(it))
    }

    /// The slowest link of each path of a flow.
    fn bottlenecks_of(&self, flow: &FlowSettings) -> Vec<usize> {
        let paths = flow.path.iter();
        let mut found: Vec<usize> = paths
            .filter_map(|path| self.bottleneck(&path.links))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The slowest links of all paths of all flows.
    fn bottlenecks(&self) -> Vec<usize> {
        let flows = self.scenario.flow.iter();
        let mut all: Vec<usize> = flows.flat_map(|flow| self.bottlenecks_of(flow)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What some links could carry together.
    fn capacity_of(&self, links: &[usize]) -> Option<f64> {
        let capacity = |it: &usize| self.report.links.get(*it)?.capacity;
        let sum: Rate = links.iter().filter_map(capacity).sum();
        (sum > Rate::ZERO).then(|| sum.mbps_f64())
    }

    /// The same over time.
    fn capacity(&self, links: &[usize]) -> Series {
        let name = |it: &usize| self.names.link(LinkId(*it as u32)).into_owned();
        let curve = |it| self.curve(&format!("link.{}.capacity", name(it)));
        match sum(links.iter().filter_map(curve)) {
            Some(curve) => held(&curve, MBPS),
            None => Series::default(),
        }
    }

    /// What was found, in a sentence.
    fn finding(&self) -> Option<String> {
        let used = self.capacity_of(&self.bottlenecks())?;
        let used = self.report.all.throughput.mbps_f64() / used * 100.0;
        let p95 = self.report.all.owd?.p95.millis_f64();
        Some(match &*self.report.flows {
            [flow] => {
                let frames = flow.frames.as_ref().and_then(|frames| frames.latency);
                let frames = frames.map_or(String::new(), |latency| {
                    format!(
                        "; 95 % of the frames within {:.0} ms",
                        latency.p95.millis_f64()
                    )
                });
                format!("Used {used:.0} % of the link with a p95 delay of {p95:.0} ms{frames}.")
            }
            flows => {
                let jain = self.report.all.jain_whole;
                let jain = jain.map_or(String::new(), |jain| {
                    format!("; Jain's index of their shares is {jain:.2}")
                });
                format!(
                    "{} flows together used {used:.0} % of the link with a p95 delay of {p95:.0} ms{jain}.",
                    flows.len()
                )
            }
        })
    }

    fn flows(&self, bin: Span) -> Vec<Flow> {
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
                self.fill(&mut flow, &key);
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
                sum(curves).map_or_else(Series::default, |curve| middle(&curve, MBPS))
            };
            (flow.sent, flow.received) = (total("sending"), total("throughput"));
            flows.push(flow);
            for (number, (key, path)) in paths.iter().zip(&settings.path).enumerate() {
                let link = self.bottleneck(&path.links);
                let capacity = link.and_then(|link| self.capacity_of(&[link]));
                let measured = report.paths.get(number);
                let mut flow = Flow {
                    name: format!("{} path {number}", report.name),
                    controller: settings.cc.name.clone(),
                    summary: measured
                        .map_or_else(Summary::default, |it| path_summary(it, capacity)),
                    ..Flow::default()
                };
                self.fill(&mut flow, key);
                flows.push(flow);
            }
        }
        flows
    }

    /// A flow's or path's curves, whose keys begin with `key`.
    fn fill(&self, flow: &mut Flow, key: &str) {
        let of = |what: &str| self.curve(&format!("{key}.{what}"));
        let rate = |what| of(what).map_or_else(Series::default, |curve| middle(curve, MBPS));
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

    fn links(&self, end: Time) -> Vec<Link> {
        let links = self.report.links.iter().enumerate();
        links
            .filter_map(|(place, report)| {
                let settings = self.scenario.link.get(&report.name)?;
                let crossings = self.gather.links.get(&LinkId(place as u32));
                let crossings = crossings.cloned().unwrap_or_default();
                Some(self.link(report, settings, crossings, end))
            })
            .collect()
    }

    fn link(
        &self,
        report: &LinkReport,
        settings: &link::Settings,
        crossings: Crossings,
        end: Time,
    ) -> Link {
        let waiting = self.curve(&format!("link.{}.waiting", report.name));
        Link {
            name: report.name.clone(),
            description: describe(settings),
            utilisation: report.utilisation,
            mean_wait: report.waited.map(|waited| waited.mean.millis_f64()),
            mean_queue: Some(crossings.waited / end.secs_f64().max(1e-9) * KB),
            carried: crossings.carried,
            dropped: crossings
                .dropped
                .into_iter()
                .map(|(cause, count)| (cause.to_owned(), count))
                .collect(),
            marked: crossings.marks.len() as u64,
            queue: waiting.map_or_else(Series::default, |curve| middle(curve, KB)),
            drops: crossings.drops,
            marks: crossings.marks,
        }
    }
}

/// Curves added up; where one has nothing, the others count.
fn sum<'a>(mut curves: impl Iterator<Item = &'a Curve>) -> Option<Curve> {
    let mut total = curves.next()?.clone();
    for curve in curves {
        for (sum, value) in total.values.iter_mut().zip(&curve.values) {
            *sum = match (*sum, *value) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }
    Some(total)
}

fn flow_summary(report: &FlowReport, capacity: Option<f64>) -> Summary {
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
        freezes: frames.map(|frames| u32::try_from(frames.freezes).unwrap_or(u32::MAX)),
        loss: report.loss,
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

/// Queue, service and flight in words.
fn describe(settings: &link::Settings) -> String {
    let mut parts = Vec::new();
    let mut queue = settings.queue.kind.replace('_', "-");
    for (key, value) in &settings.queue.params {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        queue += &format!(" {key} {value}");
    }
    match (
        &settings.rate,
        &settings.steps,
        &settings.trace,
        &settings.poisson,
    ) {
        (Some(rate), ..) => parts.extend([queue, rate.to_string()]),
        (_, Some(steps), ..) => parts.extend([queue, format!("{} rates in turn", steps.len())]),
        (_, _, Some(trace), _) => parts.extend([queue, format!("trace {trace}")]),
        (.., Some(rate)) => parts.extend([queue, format!("{rate} at random")]),
        _ => parts.push("no limit".to_owned()),
    }
    parts.push(settings.delay.to_string());
    if settings.jitter.is_some() {
        parts.push("jitter".to_owned());
    }
    if settings.loss > 0.0 || settings.gilbert_elliott.is_some() {
        parts.push("random loss".to_owned());
    }
    parts.join(", ")
}
