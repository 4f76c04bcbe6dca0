//! The scenario with every default written out, and the run's id.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;
use tightloop::cc::ALGORITHMS;
use tightloop::link::queues;
use tightloop::paths::SCHEDULERS;
use tightloop::scenario::{Named, Scenario, VideoSettings};
use tightloop::settings::Params;
use tightloop::sim::Datagram;
use tightloop::video::{ENCODERS, RATE_CONTROLS};
use toml::{Table, Value};
use xxhash_rust::xxh3::xxh3_128;

use crate::file::File;
use crate::studio;

/// The resolved scenario as it is written into `folder`, which names traces by
/// their way from there.
pub(super) fn text(file: &File, folder: &Path) -> Result<String> {
    let mut table = table(&file.scenario)?;
    let way = |name: &str| way(folder, &file.place(name)).display().to_string();
    for_traces(&mut table, way);
    for_footage(&mut table, way);
    let note = "# The scenario as it was run, with every default written out.\n\n";
    Ok(note.to_owned() + &toml::to_string(&table)?)
}

/// The run's id: a digest of the version, the resolved scenario and the traces.
pub(crate) fn id(file: &File) -> Result<String> {
    let mut table = table(&file.scenario)?;
    let traces = file.traces();
    for_traces(&mut table, |name| {
        let trace = traces.get(name).map(|trace| trace.write());
        format!("{:032x}", xxh3_128(trace.unwrap_or_default().as_bytes()))
    });
    for_footage(&mut table, |name| {
        let bytes = fs::read(file.place(name)).unwrap_or_default();
        format!("{:032x}", xxh3_128(&bytes))
    });
    let text = format!(
        "{}\n{}",
        env!("CARGO_PKG_VERSION"),
        toml::to_string(&table)?
    );
    Ok(format!("{:032x}", xxh3_128(text.as_bytes())))
}

/// The scenario as a table, with what it leaves to defaults filled in.
fn table(scenario: &Scenario) -> Result<Table> {
    let mut scenario = scenario.clone();
    scenario.measure.to = Some(scenario.measure.to.unwrap_or(scenario.end()));
    let names = scenario.flow_names();
    for (flow, name) in scenario.flow.iter_mut().zip(names) {
        flow.name = Some(name);
        let cc = ALGORITHMS.iter().map(|it| (it.name, it.defaults));
        fill(&flow.cc.name, &mut flow.cc.params, cc);
        let schedulers = SCHEDULERS.iter().map(|it| (it.name, it.defaults));
        fill(&flow.scheduler.name, &mut flow.scheduler.params, schedulers);
        if flow.traffic.is_none() {
            let video = flow.video.get_or_insert_with(VideoSettings::default);
            let Named { name, params } = &mut video.rate_control;
            fill(
                name,
                params,
                RATE_CONTROLS.iter().map(|it| (it.name, it.defaults)),
            );
            let Named { name, params } = &mut video.encoder;
            fill(
                name,
                params,
                ENCODERS
                    .iter()
                    .map(|it| (it.name, it.defaults))
                    .chain(studio::codecs()),
            );
        }
    }
    for link in scenario.link.values_mut() {
        let queues = queues::<Datagram>().iter().map(|it| (it.name, it.defaults));
        fill(&link.queue.kind, &mut link.queue.params, queues);
    }
    Ok(Table::try_from(&scenario)?)
}

/// Adds a part's defaults to what the scenario says of it.
fn fill(
    name: &str,
    params: &mut Params,
    mut known: impl Iterator<Item = (&'static str, fn() -> Params)>,
) {
    if let Some((_, defaults)) = known.find(|(known, _)| *known == name) {
        for (key, value) in defaults() {
            params.entry(key).or_insert(value);
        }
    }
}

/// Replaces the name of each link's trace.
fn for_traces(scenario: &mut Table, with: impl Fn(&str) -> String) {
    let Some(Value::Table(links)) = scenario.get_mut("link") else {
        return;
    };
    for (_, link) in links {
        if let Some(Value::String(trace)) = link.get_mut("trace") {
            *trace = with(trace);
        }
    }
}

/// Replaces the name of each file that an encoder films.
fn for_footage(scenario: &mut Table, with: impl Fn(&str) -> String) {
    let Some(Value::Array(flows)) = scenario.get_mut("flow") else {
        return;
    };
    for flow in flows {
        let video = flow.get_mut("video").and_then(|it| it.get_mut("encoder"));
        if let Some(Value::Table(encoder)) = video
            && let Some(file) = studio::file_of(encoder)
        {
            *file = with(file);
        }
    }
}

/// The way from a folder to a file; the file's whole path where there is none.
fn way(from: &Path, to: &Path) -> PathBuf {
    let (Ok(from), Ok(to)) = (fs::canonicalize(from), fs::canonicalize(to)) else {
        return to.to_owned();
    };
    let shared = from.components().zip(to.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    if shared == 0 {
        return to;
    }
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}
