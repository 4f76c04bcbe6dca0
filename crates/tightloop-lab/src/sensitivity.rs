//! `tightloop sensitivity`: how much rates depend on propagation delays.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use tightloop::analysis::Sensitivity;
use tightloop::units::{Rate, Span};

use crate::file::File;
use crate::out;
use crate::store::REPORT;
use crate::table::Table;

mod args;
mod delays;
mod map;
mod page;
mod search;
mod study;

pub(crate) use args::SensitivityArgs;

use delays::{Delays, Flows, Instance};
use study::Study;

/// Each flow's rate, in one instance.
type Rates = Vec<Rate>;

/// The file of all rates.
const RESULTS: &str = "sensitivity.json";

/// What δ of a part of all delays is worth.
const BOUND: &str = "δ is log2 of a flow's highest rate over its lowest. It is a lower bound of δ over more delays: \
                     other instances can only raise it.";

/// What came of one set.
#[derive(Debug)]
struct Outcome {
    /// The set as it was typed.
    text: String,
    delays: Delays,
    instances: Vec<Instance>,
    /// Each flow's rate, by instance.
    rates: Vec<Rates>,
}

impl Outcome {
    /// One flow's rates, by instance.
    fn of(&self, flow: usize) -> Vec<Rate> {
        self.rates.iter().map(|rates| rates[flow]).collect()
    }

    fn delta(&self, flow: usize) -> Option<Sensitivity> {
        Sensitivity::of(&self.of(flow))
    }

    /// How much of the set was run.
    fn extent(&self) -> String {
        let (run, all) = (self.instances.len(), self.delays.size());
        if run < all {
            return format!(
                "{}: {run} of {all} instances, around the extremes",
                self.text
            );
        }
        format!("{}: all {all} instances", self.text)
    }
}

/// Measures.
pub(crate) fn main(args: &SensitivityArgs) -> Result<()> {
    let file = File::load(&args.file, &args.set, args.seed)?;
    let scenario = &file.scenario;
    let names = scenario.flow_names();
    let flows = Flows::new(&names, &args.fix, scenario.seed)?;
    let sets = args.delays.iter();
    let sets: Vec<Delays> = sets
        .map(|text| Delays::parse(text, &flows))
        .collect::<Result<_>>()?;
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&scenario.name));
    let study = Study::new(&file, &folder, args.again, args.jobs)?;
    let mut outcomes = Vec::new();
    for (text, delays) in args.delays.iter().zip(sets) {
        outcomes.push(outcome(text, delays, args.most, &|instances| {
            study.run(&file, instances)
        })?);
    }
    study.finish();
    let controllers: Vec<&str> = scenario.flow.iter().map(|it| it.cc.name.as_str()).collect();
    let json = json(&scenario.name, &names, &controllers, &outcomes);
    write(&folder.join(RESULTS), &format!("{json:#}\n"))?;
    let path = folder.join(REPORT);
    let page = page::Page {
        title: &scenario.name,
        about: &scenario.about,
        names: &names,
        controllers: &controllers,
        outcomes: &outcomes,
    };
    write(&path, &page.html())?;
    if args.json {
        return out::json(&json);
    }
    let mut text = String::new();
    for outcome in &outcomes {
        text += &format!("{}\n\n", outcome.extent());
        text += &table(outcome, &names, &controllers).text();
        text += "\n";
    }
    let starved = outcomes.iter().any(|outcome| {
        (0..names.len()).any(|flow| outcome.delta(flow).is_some_and(|it| it.floored))
    });
    if starved {
        text += "* starved: less than 1 kbit/s counts as that\n";
    }
    out::print(&format!("{text}{BOUND}\nopen {}\n", path.display()))
}

/// Runs one set: all of it, or of a large grid what is around the extremes.
fn outcome(
    text: &str,
    delays: Delays,
    most: usize,
    run: &dyn Fn(&[Instance]) -> Result<Vec<Rates>>,
) -> Result<Outcome> {
    let (instances, rates) = match &delays {
        Delays::List(instances) => (instances.clone(), run(instances)?),
        Delays::Grid(sides) => {
            let lengths: Vec<usize> = sides.iter().map(Vec::len).collect();
            let known = search::search(&lengths, most, &mut |places| {
                let instances = places.iter().map(|place| delays::at(sides, place));
                run(&instances.collect::<Vec<_>>())
            })?;
            let known = known.into_iter();
            known
                .map(|(place, rates)| (delays::at(sides, &place), rates))
                .unzip()
        }
    };
    Ok(Outcome {
        text: text.to_owned(),
        delays,
        instances,
        rates,
    })
}

fn table(outcome: &Outcome, names: &[String], controllers: &[&str]) -> Table {
    let deltas: Vec<_> = (0..names.len()).map(|flow| outcome.delta(flow)).collect();
    let extreme = |of: fn(&Sensitivity) -> usize| {
        let places = deltas.iter().map(move |it| it.as_ref().map(of));
        places.enumerate().map(|(flow, place)| {
            let place = place?;
            Some((outcome.rates[place][flow], &outcome.instances[place]))
        })
    };
    let mbps = |it: Option<(Rate, &Instance)>| it.map(|(rate, _)| rate.mbps_f64());
    let at = |it: Option<(Rate, &Instance)>| it.map_or(String::new(), |(_, rtts)| millis(rtts));
    let mut table = Table::default();
    table.texts("", "flow", names.iter().cloned());
    table.texts(
        "",
        "controller",
        controllers.iter().map(|it| (*it).to_owned()),
    );
    table.numbers(
        "",
        "δ",
        2,
        deltas.iter().map(|it| it.as_ref().map(|it| it.delta)),
    );
    if deltas.iter().flatten().any(|it| it.floored) {
        let star = |it: &Option<Sensitivity>| it.as_ref().is_some_and(|it| it.floored);
        let stars = deltas
            .iter()
            .map(|it| if star(it) { "*" } else { "" }.to_owned());
        table.texts("", "", stars);
    }
    let lowest = "lowest";
    table.numbers(lowest, "Mbit/s", 2, extreme(|it| it.lowest).map(mbps));
    table.texts(lowest, "at ms", extreme(|it| it.lowest).map(at));
    let highest = "highest";
    table.numbers(highest, "Mbit/s", 2, extreme(|it| it.highest).map(mbps));
    table.texts(highest, "at ms", extreme(|it| it.highest).map(at));
    table
}

/// For machines. Rates are in bit/s, times in seconds.
fn json(scenario: &str, names: &[String], controllers: &[&str], outcomes: &[Outcome]) -> Json {
    let set = |outcome: &Outcome| {
        let flows = names.iter().zip(controllers).enumerate();
        let flows = flows.map(|(flow, (name, controller))| {
            let delta = outcome.delta(flow);
            json!({
                "name": name,
                "controller": controller,
                "delta": delta.map(|it| it.delta),
                "floored": delta.is_some_and(|it| it.floored),
                "lowest": delta.map(|it| it.lowest),
                "highest": delta.map(|it| it.highest),
            })
        });
        let instances = outcome.instances.iter().zip(&outcome.rates);
        let instances = instances.map(|(rtts, rates)| {
            json!({
                "rtts": rtts.iter().map(|it| it.secs_f64()).collect::<Vec<_>>(),
                "rates": rates.iter().map(|it| it.bps_f64()).collect::<Vec<_>>(),
            })
        });
        json!({
            "delays": outcome.text,
            "size": outcome.delays.size(),
            "flows": flows.collect::<Vec<_>>(),
            "instances": instances.collect::<Vec<_>>(),
        })
    };
    json!({
        "scenario": scenario,
        "lower_bound": BOUND,
        "sets": outcomes.iter().map(set).collect::<Vec<_>>(),
    })
}

/// `12, 37.5`
fn millis(rtts: &[Span]) -> String {
    let texts: Vec<String> = rtts
        .iter()
        .map(|rtt| rtt.millis_f64().to_string())
        .collect();
    texts.join(", ")
}

fn default_folder(scenario: &str) -> PathBuf {
    Path::new("runs").join(format!("sensitivity-{}", out::file_name(scenario)))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
