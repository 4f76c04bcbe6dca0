//! `tightloop list`: what there is to choose from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::json;
use tightloop::analysis::METRICS;
use tightloop::cc::ALGORITHMS;
use tightloop::link::queues;
use tightloop::paths::SCHEDULERS;
use tightloop::scenario::Scenario;
use tightloop::settings::Params;
use tightloop::sim::Datagram;
use tightloop::video::{ENCODERS, RATE_CONTROLS};
use tightloop_live::codec::CODECS;

use crate::args::{ListArgs, Registry};
use crate::out;
use crate::store::columns::COLUMNS;
use crate::table::Table;

/// Where scenarios are looked for.
const SCENARIOS: &str = "scenarios";

/// One thing to choose.
struct Entry {
    name: String,
    summary: String,
    /// The unit, of a metric.
    unit: Option<&'static str>,
    /// Keys of REFERENCES.md, or a file.
    source: String,
    /// What can be set, with its default.
    settings: Params,
}

impl Entry {
    fn of(name: &str, summary: &str, cites: &[&str], defaults: fn() -> Params) -> Self {
        let cites: Vec<String> = cites.iter().map(|key| format!("[{key}]")).collect();
        let source = match &*cites {
            [] => "ours".to_owned(),
            cites => cites.join(" "),
        };
        Self {
            name: name.into(),
            summary: summary.into(),
            unit: None,
            source,
            settings: defaults(),
        }
    }
}

pub(crate) fn main(args: &ListArgs) -> Result<()> {
    let all = Registry::value_variants();
    let lists: Vec<Registry> = match args.what {
        Some(what) => vec![what],
        None if args.json => all.to_vec(),
        None => all.iter().copied().filter(|it| !is_long(*it)).collect(),
    };
    if args.json {
        let list = |registry: &Registry| {
            let entries = entries(*registry).into_iter().map(|entry| {
                let mut json = json!({
                    "name": entry.name,
                    "summary": entry.summary,
                    "source": entry.source,
                });
                if let Some(unit) = entry.unit {
                    json["unit"] = unit.into();
                }
                if !entry.settings.is_empty() {
                    json["settings"] = json!(entry.settings);
                }
                json
            });
            (name(*registry), entries.collect::<Vec<_>>())
        };
        return out::json(&json!(lists.iter().map(list).collect::<BTreeMap<_, _>>()));
    }
    let mut text = String::new();
    for (place, registry) in lists.iter().enumerate() {
        if place > 0 {
            text += "\n";
        }
        text += &format!("{} ({})\n", name(*registry), purpose(*registry));
        let entries = entries(*registry);
        if entries.is_empty() {
            text += &format!("  there is no folder ./{SCENARIOS} here with scenarios in it\n");
        }
        let mut table = Table::default();
        table.texts(
            "",
            "",
            entries.iter().map(|entry| format!("  {}", entry.name)),
        );
        if entries.iter().any(|entry| entry.unit.is_some()) {
            let units = entries
                .iter()
                .map(|entry| entry.unit.unwrap_or_default().to_owned());
            table.texts("", "", units);
        }
        table.texts("", "", entries.iter().map(|entry| entry.summary.clone()));
        table.texts("", "", entries.iter().map(|entry| entry.source.clone()));
        text += &table.text();
        if args.what.is_some() {
            text += &settings(&entries);
        }
    }
    if args.what.is_none() {
        text += "\nlonger lists: tightloop list metrics, tightloop list columns\n";
    }
    out::print(&text)
}

/// What can be set, as a scenario would write it.
fn settings(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries.iter().filter(|entry| !entry.settings.is_empty()) {
        text += &format!("\nsettings of {}, and their defaults\n", entry.name);
        for (key, value) in &entry.settings {
            text += &format!("  {key} = {value}\n");
        }
    }
    text
}

/// Lists that are printed only alone.
fn is_long(registry: Registry) -> bool {
    matches!(registry, Registry::Metrics | Registry::Columns)
}

fn name(registry: Registry) -> String {
    let value = registry.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn purpose(registry: Registry) -> String {
    let value = registry.to_possible_value();
    let help = value.and_then(|value| value.get_help().map(ToString::to_string));
    help.unwrap_or_default()
}

fn entries(registry: Registry) -> Vec<Entry> {
    match registry {
        Registry::Controllers => ALGORITHMS
            .iter()
            .map(|it| Entry::of(it.name, it.summary, it.cites, it.defaults))
            .collect(),
        Registry::Queues => queues::<Datagram>()
            .iter()
            .map(|it| Entry::of(it.name, it.summary, it.cites, it.defaults))
            .collect(),
        Registry::RateControls => RATE_CONTROLS
            .iter()
            .map(|it| Entry::of(it.name, it.summary, it.cites, it.defaults))
            .collect(),
        Registry::Encoders => {
            let models = ENCODERS.iter();
            let models = models.map(|it| Entry::of(it.name, it.summary, it.cites, it.defaults));
            let codecs = CODECS.iter();
            let codecs = codecs.map(|it| Entry::of(it.name, it.summary, &[], it.defaults));
            models.chain(codecs).collect()
        }
        Registry::Schedulers => SCHEDULERS
            .iter()
            .map(|it| Entry::of(it.name, it.summary, it.cites, it.defaults))
            .collect(),
        Registry::Scenarios => scenarios(Path::new(SCENARIOS)),
        Registry::Columns => COLUMNS
            .iter()
            .map(|it| Entry {
                name: it.name.into(),
                summary: it.meaning.into(),
                unit: Some(it.kind()),
                source: String::new(),
                settings: Params::new(),
            })
            .collect(),
        Registry::Metrics => METRICS
            .iter()
            .map(|it| Entry {
                name: it.key.into(),
                summary: it.definition.into(),
                unit: Some(it.unit.symbol()),
                source: it.source.into(),
                settings: Params::new(),
            })
            .collect(),
    }
}

/// The scenarios of a folder; files that are none are left out.
fn scenarios(folder: &Path) -> Vec<Entry> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<Entry> = files
        .filter_map(|file| {
            let path = file.path();
            let text = fs::read_to_string(&path).ok()?;
            let scenario: Scenario = toml::from_str(&text).ok()?;
            Some(Entry {
                name: scenario.name,
                summary: scenario.about,
                unit: None,
                source: path.display().to_string(),
                settings: Params::new(),
            })
        })
        .collect();
    entries.sort_by(|a, b| a.source.cmp(&b.source));
    entries
}
