//! What a run was like, as tables and as JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use tightloop::analysis::{FlowReport, LinkReport, Report, SpikeReport, Spread};
use tightloop::scenario::Scenario;
use tightloop::units::{Rate, Span};

use super::expect::Check;
use crate::store::About;
use crate::table::Table;

const PER_CENT: f64 = 100.0;
/// Of a link's drops so many have a row at most.
const SPIKES: usize = 12;

/// For people.
pub(super) fn text(
    scenario: &Scenario,
    about: &About,
    report: &Report,
    checks: &[Check],
    folder: &Path,
) -> String {
    let mut text = format!(
        "{}, {}, seed {}",
        about.scenario, scenario.duration, about.seed
    );
    if report.window.length() < scenario.duration {
        text += &format!(
            ", measured from {} to {}",
            report.window.from, report.window.to
        );
    }
    text += "\n\n";
    text += &flows(scenario, &report.flows).text();
    let links: Vec<&LinkReport> = report
        .links
        .iter()
        .filter(|link| is_telling(link))
        .collect();
    if !links.is_empty() {
        text += "\n";
        text += &links_table(&links).text();
    }
    text += &spikes(&report.links);
    if !checks.is_empty() {
        text += "\n";
        text += &checks_table(checks).text();
    }
    text + &format!("\nresults in {}\n", folder.display())
}

fn flows(scenario: &Scenario, flows: &[FlowReport]) -> Table {
    let mut table = Table::default();
    let mbps = |rate: Rate| Some(rate.mbps_f64());
    let ms = |spread: &Option<Spread<Span>>, of: fn(&Spread<Span>) -> Span| {
        spread.as_ref().map(|spread| of(spread).millis_f64())
    };
    let latency = |flow: &FlowReport, of: fn(&Spread<Span>) -> Span| {
        let frames = flow.frames.as_ref()?;
        ms(&frames.latency, of)
    };
    table.texts("", "flow", flows.iter().map(|flow| flow.name.clone()));
    let controllers = scenario.flow.iter().map(|flow| flow.cc.name.clone());
    table.texts("", "controller", controllers);
    let rates = "Mbit/s";
    table.numbers(rates, "sent", 2, flows.iter().map(|it| mbps(it.sending)));
    table.numbers(
        rates,
        "arrived",
        2,
        flows.iter().map(|it| mbps(it.throughput)),
    );
    let lost = flows.iter().map(|it| it.loss.map(|loss| loss * PER_CENT));
    table.numbers("lost", "%", 2, lost);
    let delay = "one-way delay, ms";
    table.numbers(
        delay,
        "p50",
        1,
        flows.iter().map(|it| ms(&it.owd, |it| it.p50)),
    );
    table.numbers(
        delay,
        "p95",
        1,
        flows.iter().map(|it| ms(&it.owd, |it| it.p95)),
    );
    table.numbers(
        delay,
        "p99",
        1,
        flows.iter().map(|it| ms(&it.owd, |it| it.p99)),
    );
    let frame = "frame latency, ms";
    table.numbers(
        frame,
        "p50",
        1,
        flows.iter().map(|it| latency(it, |it| it.p50)),
    );
    table.numbers(
        frame,
        "p95",
        1,
        flows.iter().map(|it| latency(it, |it| it.p95)),
    );
    table.numbers(
        frame,
        "p99",
        1,
        flows.iter().map(|it| latency(it, |it| it.p99)),
    );
    let shown = |flow: &FlowReport| {
        let frames = flow.frames.as_ref()?;
        let captured = (frames.captured > 0).then_some(frames.captured as f64)?;
        Some(frames.shown as f64 / captured * PER_CENT)
    };
    table.numbers("shown", "%", 1, flows.iter().map(shown));
    let freezes = |flow: &FlowReport| Some(flow.frames.as_ref()?.freezes as f64);
    table.numbers("", "freezes", 0, flows.iter().map(freezes));
    table
}

/// Links that limit something.
fn is_telling(link: &LinkReport) -> bool {
    link.capacity.is_some() || link.drops.total() > 0 || link.marks > 0
}

fn links_table(links: &[&LinkReport]) -> Table {
    let mut table = Table::default();
    let waited = |link: &LinkReport, of: fn(&Spread<Span>) -> Span| {
        link.waited.as_ref().map(|spread| of(spread).millis_f64())
    };
    table.texts("", "link", links.iter().map(|link| link.name.clone()));
    let rates = "Mbit/s";
    let capacity = links.iter().map(|it| it.capacity.map(Rate::mbps_f64));
    table.numbers(rates, "capacity", 2, capacity);
    table.numbers(
        rates,
        "carried",
        2,
        links.iter().map(|it| Some(it.carried.mbps_f64())),
    );
    let used = links
        .iter()
        .map(|it| it.utilisation.map(|used| used * PER_CENT));
    table.numbers("used", "%", 1, used);
    let waiting = "waiting, ms";
    table.numbers(
        waiting,
        "mean",
        1,
        links.iter().map(|it| waited(it, |it| it.mean)),
    );
    table.numbers(
        waiting,
        "p95",
        1,
        links.iter().map(|it| waited(it, |it| it.p95)),
    );
    table.numbers(
        waiting,
        "max",
        1,
        links.iter().map(|it| waited(it, |it| it.max)),
    );
    table.numbers(
        "packets",
        "dropped",
        0,
        links.iter().map(|it| Some(it.drops.total() as f64)),
    );
    if links.iter().any(|link| link.marks > 0) {
        table.numbers(
            "packets",
            "marked",
            0,
            links.iter().map(|it| Some(it.marks as f64)),
        );
    }
    table
}

/// Each drop of a link's capacity, and the delay that followed beside the least
/// possible: the highest of them, in order of time.
fn spikes(links: &[LinkReport]) -> String {
    let of = |link: &LinkReport| -> Vec<(String, SpikeReport)> {
        let spikes = link.spikes.iter();
        spikes.map(|spike| (link.name.clone(), *spike)).collect()
    };
    let mut spikes: Vec<_> = links.iter().flat_map(of).collect();
    let all = spikes.len();
    if all == 0 {
        return String::new();
    }
    spikes.sort_by_key(|(_, spike)| std::cmp::Reverse(spike.measured));
    spikes.truncate(SPIKES);
    spikes.sort_by_key(|(_, spike)| spike.at);
    let mut table = Table::default();
    let each = || spikes.iter().map(|(_, spike)| spike);
    table.texts("", "link", spikes.iter().map(|(link, _)| link.clone()));
    let drop = "drop";
    table.numbers(drop, "at, s", 1, each().map(|it| Some(it.at.secs_f64())));
    let mbps = |rate: Rate| Some(rate.mbps_f64());
    table.numbers(drop, "from", 2, each().map(|it| mbps(it.before)));
    table.numbers(drop, "to Mbit/s", 2, each().map(|it| mbps(it.after)));
    let waiting = "waiting, ms";
    let ms = |span: Span| Some(span.millis_f64());
    table.numbers(waiting, "spike", 1, each().map(|it| ms(it.measured)));
    table.numbers(waiting, "bound", 1, each().map(|it| it.bound.and_then(ms)));
    table.numbers("", "spike ÷ bound", 2, each().map(|it| it.over_bound));
    let more = match all.checked_sub(SPIKES) {
        Some(more) if more > 0 => format!("and {more} drops with lower spikes\n"),
        _ => String::new(),
    };
    format!("\n{}{more}", table.text())
}

fn checks_table(checks: &[Check]) -> Table {
    let mut table = Table::default();
    let verdict = |check: &Check| if check.passed { "ok" } else { "FAILED" }.to_owned();
    table.texts("", "expected", checks.iter().map(verdict));
    table.texts("", "metric", checks.iter().map(|check| check.key.clone()));
    table.texts(
        "",
        "value",
        checks.iter().map(|check| check.value.to_string()),
    );
    let band = |check: &Check| {
        let word = if check.passed { "in" } else { "not in" };
        format!("{word} {} … {}", check.low, check.high)
    };
    table.texts("", "band", checks.iter().map(band));
    table
}

/// For machines. Rates are in bit/s, times in seconds, sizes in bytes.
pub(crate) fn json(about: &About, report: &Report, checks: &[Check]) -> Json {
    let metrics: BTreeMap<String, Option<f64>> = report
        .values()
        .into_iter()
        .map(|(key, _, value)| (key, value.number()))
        .collect();
    let expected: Vec<Json> = checks
        .iter()
        .map(|check| {
            json!({
                "metric": check.key,
                "value": check.value.number(),
                "low": check.low,
                "high": check.high,
                "passed": check.passed,
            })
        })
        .collect();
    json!({
        "scenario": about.scenario,
        "id": about.id,
        "seed": about.seed,
        "tightloop": about.tightloop,
        "packets": about.packets,
        "events": about.logged.then_some(about.events),
        "digest": about.digest,
        "passed": checks.iter().all(|check| check.passed),
        "expected": expected,
        "metrics": metrics,
    })
}
