//! From folders of results to a page.

use std::path::{Path, PathBuf};

use anyhow::Result;
use tightloop::analysis::{Curve, METRICS, Names, Report, SpikeReport, Window};
use tightloop::event::LinkId;
use tightloop::scenario::{Flow as FlowSettings, Scenario};
use tightloop::units::{Rate, Span};

use super::gather::{Gather, Waits};
use super::gauges::held;
use super::page::{Page, Run, Series};
use crate::store::{About, Folder};

/// The widths of bins to choose from.
const BINS: [i64; 7] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000];
/// More bins than this are not drawn.
const MOST_BINS: i64 = 1_000;

pub(super) const MBPS: f64 = 1e-6;
pub(super) const MS: f64 = 1e3;
pub(super) const KB: f64 = 1e-3;

/// The page of some runs.
pub(crate) fn page(folders: &[PathBuf]) -> Result<Page> {
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
        ..Page::default()
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
pub(super) struct Parts<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) names: &'a Names,
    pub(super) report: Report,
    pub(super) curves: Vec<Curve>,
    pub(super) gather: Gather,
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
    gather.waits.values_mut().for_each(Waits::close);
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
    pub(super) fn curve(&self, key: &str) -> Option<&Curve> {
        self.curves.iter().find(|curve| curve.key == key)
    }

    /// The place of a path's slowest link among all links.
    pub(super) fn bottleneck(&self, links: &[String]) -> Option<usize> {
        let place = |name: &String| self.names.links.iter().position(|link| link == name);
        let capacity = |place: &usize| self.report.links.get(*place)?.capacity;
        let limited = links
            .iter()
            .filter_map(place)
            .filter(|it| capacity(it).is_some());
        limited.min_by_key(|it| capacity(it))
    }

    /// The slowest link of each path of a flow.
    pub(super) fn bottlenecks_of(&self, flow: &FlowSettings) -> Vec<usize> {
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
    pub(super) fn capacity_of(&self, links: &[usize]) -> Option<f64> {
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

    /// The highest spike after a drop of a slowest link's capacity.
    fn spike(&self) -> String {
        let links = self.bottlenecks();
        let links = links.iter().filter_map(|it| self.report.links.get(*it));
        let spikes = links.flat_map(|link| &link.spikes);
        let highest = spikes.max_by_key(|spike| spike.measured);
        let Some(SpikeReport {
            measured,
            after,
            over_bound: Some(over),
            ..
        }) = highest
        else {
            return String::new();
        };
        format!(
            " After the drop to {after} packets waited up to {:.0} ms, {over:.1} times what no \
             sender can avoid.",
            measured.millis_f64()
        )
    }

    /// What was found, in a sentence.
    fn finding(&self) -> Option<String> {
        let used = self.capacity_of(&self.bottlenecks())?;
        let used = self.report.all.throughput.mbps_f64() / used * 100.0;
        let p95 = self.report.all.owd?.p95.millis_f64();
        let spike = self.spike();
        Some(match &*self.report.flows {
            [flow] => {
                let frames = flow.frames.as_ref().and_then(|frames| frames.latency);
                let frames = frames.map_or(String::new(), |latency| {
                    format!(
                        "; 95 % of the frames within {:.0} ms",
                        latency.p95.millis_f64()
                    )
                });
                format!(
                    "Used {used:.0} % of the link with a p95 delay of {p95:.0} ms{frames}.{spike}"
                )
            }
            flows => {
                let jain = self.report.all.jain_whole;
                let jain = jain.map_or(String::new(), |jain| {
                    format!("; Jain's index of their shares is {jain:.2}")
                });
                format!(
                    "{} flows together used {used:.0} % of the link with a p95 delay of {p95:.0} ms{jain}.{spike}",
                    flows.len()
                )
            }
        })
    }
}

/// Curves added up; where one has nothing, the others count.
pub(super) fn sum<'a>(mut curves: impl Iterator<Item = &'a Curve>) -> Option<Curve> {
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
