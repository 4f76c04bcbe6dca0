//! Two kernel flows of unlike round trips over one bottleneck, without and with
//! a λ-proxy. [Sensitivity]

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tightloop::analysis::jain;
use tightloop::event::LinkId;
use tightloop::link::Settings;
use tightloop::proxy;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::clock::to_std;
use tightloop_live::emulate::flows::{Connection, Flows};
use tightloop_live::emulate::{Engine, Way};
use tightloop_live::proxy::{Change, Equaliser, flows, remember};
use tightloop_live::tcp::{self, Bulk};

use super::args::EqualArgs;
use super::{Stage, say};
use crate::out;
use crate::table::Table;

/// Sinks listen here and on the ports that follow: what a flow's natural delay
/// is goes by its port.
const PORT: u16 = 9100;
/// The second half of a run counts.
const SETTLED: f64 = 0.5;

/// One run.
struct Outcome {
    rates: Vec<Rate>,
    /// Minimum RTTs as the kernel had them at the end.
    seen: Vec<Option<Span>>,
    changes: Vec<Change>,
}

pub(super) fn main(args: &EqualArgs) -> Result<bool> {
    tcp::check(&args.congestion)?;
    if args.delays.len() < 2 {
        bail!("--delays: two flows are compared; write two round trips, as in '10 ms,50 ms'");
    }
    let mut stage = Stage::set()?;
    let settings = proxy::Settings {
        lambda: args.lambda,
        ..proxy::Settings::default()
    };
    remember(&stage.ends, settings.window)?;
    let before = run(&mut stage, args, None)?;
    let after = run(&mut stage, args, Some(settings))?;
    let runs = [("without", &before), ("with", &after)];
    if args.json {
        let rows = runs.map(|(name, it)| json_of(name, it, args));
        out::json(&json!({ "runs": rows, "machine": stage.load() }))?;
    } else {
        out::print(&table(&runs, args))?;
    }
    for (name, it) in runs {
        let [least, most] = extremes(&it.rates);
        let rates: Vec<f64> = it.rates.iter().map(|rate| rate.bps_f64()).collect();
        say(&format!(
            "{name} the proxy: {} to {}, log2 of the ratio {:.2}, Jain's index {:.3}",
            out::rate(least),
            out::rate(most),
            most.ratio(least).log2(),
            jain(&rates).unwrap_or(1.0)
        ));
    }
    say(&stage.load());
    Ok(true)
}

fn extremes(rates: &[Rate]) -> [Rate; 2] {
    let all = || rates.iter().copied();
    [all().min(), all().max()].map(Option::unwrap_or_default)
}

fn run(stage: &mut Stage, args: &EqualArgs, settings: Option<proxy::Settings>) -> Result<Outcome> {
    let ends = Arc::clone(&stage.ends);
    let link = Settings::fixed(args.rate, args.packets, Span::ZERO);
    let up = link.build(LinkId(0), "bottleneck", 1, &|_| None)?;
    let down = Settings::default().build(LinkId(1), "return", 1, &|_| None)?;
    let delays = args.delays.clone();
    // All of the natural delay is on the way of the data, so that the acks'
    // delay is the proxy's alone.
    let natural = move |connection: &Connection| {
        let place = connection.far.port().checked_sub(PORT);
        let delay = place.and_then(|place| delays.get(usize::from(place)));
        delay.copied().unwrap_or_default()
    };
    let (sorted, orders) = match &settings {
        Some(settings) => flows(settings, natural)?,
        None => Flows::new(move |connection| [natural(connection), Span::ZERO]),
    };
    let links = [vec![up], vec![down]];
    let drive = stage.ability.drive;
    let engine = Engine::start_sorting(&ends, links, Vec::new(), drive, |_| {}, Some(sorted))?;
    let clock = engine.clock();
    let equaliser = match settings {
        Some(settings) => Some(Equaliser::start(
            &ends,
            orders,
            settings,
            clock,
            |change| {
                say(&told(change));
            },
        )?),
        None => None,
    };
    let measured = Arc::new(Mutex::new(Vec::new()));
    let flow = || -> Result<Vec<Option<Span>>, tcp::Error> {
        let mut bulks = Vec::new();
        for place in 0..args.delays.len() {
            let settings = tcp::Settings {
                port: PORT + place as u16,
                ..tcp::Settings::under(&args.congestion)
            };
            bulks.push(Bulk::start(&ends, Way::Up, &settings, clock)?);
        }
        let received = || -> Vec<Bytes> { bulks.iter().map(Bulk::received).collect() };
        let sleep = |until: Time| thread::sleep(to_std(until - clock.now()));
        sleep(Time::ZERO + args.duration * SETTLED);
        let (from, begun) = (received(), clock.now());
        sleep(Time::ZERO + args.duration);
        let (to, ended) = (received(), clock.now());
        let rates = from.iter().zip(&to).map(|(from, to)| {
            to.saturating_sub(*from)
                .per(ended - begun)
                .unwrap_or_default()
        });
        let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.extend(rates);
        let mut seen = Vec::new();
        for bulk in bulks {
            seen.push(bulk.info()?.min_rtt);
            bulk.stop()?;
        }
        Ok(seen)
    };
    let seen = flow();
    let changes = equaliser.map(Equaliser::stop);
    let work = engine.stop()?;
    if let Some(error) = work.failed {
        return Err(error).context("the emulated link broke");
    }
    stage.note_load();
    let rates = measured
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    Ok(Outcome {
        rates,
        seen: seen?,
        changes: changes.transpose()?.unwrap_or_default(),
    })
}

/// A change in words.
pub(crate) fn told(change: &Change) -> String {
    let Connection { near, far } = change.connection;
    format!(
        "{near} to {far}: {} at least, so acks are delayed by {}",
        out::span(change.min_rtt),
        out::span(change.added)
    )
}

fn json_of(name: &str, outcome: &Outcome, args: &EqualArgs) -> serde_json::Value {
    let flows = args.delays.iter().zip(&outcome.rates).zip(&outcome.seen);
    let flows: Vec<_> = flows
        .map(|((delay, rate), seen)| {
            json!({
                "base_ms": delay.millis_f64(),
                "mbps": rate.mbps_f64(),
                "min_rtt_ms": seen.map(Span::millis_f64),
            })
        })
        .collect();
    json!({ "proxy": name == "with", "flows": flows, "changes": outcome.changes.len() })
}

fn table(runs: &[(&str, &Outcome); 2], args: &EqualArgs) -> String {
    let mut table = Table::default();
    let base = args.delays.iter();
    table.numbers("", "base RTT, ms", 0, base.map(|it| Some(it.millis_f64())));
    let groups = ["without proxy", "with proxy"];
    for (group, (_, it)) in groups.into_iter().zip(runs) {
        let all: f64 = it.rates.iter().map(|rate| rate.mbps_f64()).sum();
        let rates = it.rates.iter().map(|rate| Some(rate.mbps_f64()));
        table.numbers(group, "Mbit/s", 2, rates.clone());
        let share = move |rate: Option<f64>| rate.map(|rate| rate / all * 100.0);
        table.numbers(group, "share, %", 1, rates.map(share));
        let seen = it.seen.iter().map(|seen| seen.map(Span::millis_f64));
        table.numbers(group, "min RTT, ms", 1, seen);
    }
    table.text()
}
