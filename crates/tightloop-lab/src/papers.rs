//! `tightloop papers`: experiments of the papers, by name.
//!
//! Each paper has a module with a slice of [`Experiment`]s; one file and one
//! line add an experiment.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::{Value as Json, json};
use tightloop::scenario::unknown_name;

use crate::out;
use crate::table::Table;

pub(crate) mod args;
mod bench;
mod experiment;
mod page;
mod sqp;
mod trial;

use args::PapersArgs;
use bench::Bench;
use experiment::{Experiment, Findings, short};

/// The papers' experiments.
const PAPERS: &[&[Experiment]] = &[sqp::EXPERIMENTS];

/// Lists, or runs. True if every band is held.
pub(crate) fn main(args: &PapersArgs) -> Result<bool> {
    if args.names.is_empty() {
        return list(args.json).map(|()| true);
    }
    let chosen = choose(&args.names)?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut held = true;
    let mut results = Vec::new();
    for experiment in chosen {
        let bench = Bench {
            name: experiment.name.to_owned(),
            seeds: args.seeds,
            jobs: args.jobs.unwrap_or(processors).max(1),
        };
        let findings = (experiment.run)(&bench).with_context(|| experiment.name)?;
        held &= findings.held();
        let path = write(experiment, &findings, args)?;
        if args.json {
            results.push(as_json(experiment, &findings, &path));
        } else {
            out::print(&text(experiment, &findings, &path))?;
        }
    }
    if args.json {
        out::json(&json!(results))?;
    }
    Ok(held)
}

fn all() -> impl Iterator<Item = &'static Experiment> + Clone {
    PAPERS.iter().copied().flatten()
}

/// The part of a name before the slash.
fn paper(name: &str) -> &str {
    name.split_once('/').map_or(name, |(paper, _)| paper)
}

/// The experiments of these names, each once, in the order of the registry.
fn choose(names: &[String]) -> Result<Vec<&'static Experiment>> {
    for name in names {
        if !all().any(|it| it.name == name || paper(it.name) == name) {
            let known = all().map(|it| it.name);
            bail!("{}", unknown_name("experiment", name, known));
        }
    }
    let wanted = |it: &&Experiment| {
        names
            .iter()
            .any(|name| it.name == name || paper(it.name) == name)
    };
    Ok(all().filter(wanted).collect())
}

fn list(as_json: bool) -> Result<()> {
    if as_json {
        let entries = all().map(|it| {
            json!({
                "name": it.name,
                "source": it.source,
                "shows": it.shows,
                "seconds": it.seconds,
            })
        });
        return out::json(&json!(entries.collect::<Vec<_>>()));
    }
    let mut table = Table::default();
    table.texts("", "experiment", all().map(|it| it.name.to_owned()));
    table.texts("", "source", all().map(|it| it.source.to_owned()));
    table.numbers("", "takes, s", 0, all().map(|it| Some(it.seconds.into())));
    table.texts("", "shows", all().map(|it| it.shows.to_owned()));
    out::print(&format!(
        "{}\ntimes: about, of one processor with five seeds. One of these: tightloop papers NAME; \
         all of a paper: tightloop papers sqp\n",
        table.text()
    ))
}

/// Writes the page; gives its file.
fn write(experiment: &Experiment, findings: &Findings, args: &PapersArgs) -> Result<PathBuf> {
    let name = experiment.name.replace('/', "-");
    fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make the folder {}", args.out.display()))?;
    let path = args.out.join(format!("{name}.html"));
    fs::write(&path, page::html(experiment, findings, args.seeds))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn text(experiment: &Experiment, findings: &Findings, page: &Path) -> String {
    let mut text = format!(
        "{}, {}: {}\n\n",
        experiment.name, experiment.source, experiment.shows
    );
    let measures = || findings.measures.iter();
    let mut table = Table::default();
    table.texts("", "measure", measures().map(|it| it.name.clone()));
    table.texts("", "unit", measures().map(|it| it.unit.to_owned()));
    let band = |[low, high]: [f64; 2]| format!("{} … {}", short(low), short(high));
    table.texts("", "band", measures().map(|it| band(it.band)));
    table.texts("", "median", measures().map(|it| short(it.median())));
    table.texts("", "spread", measures().map(|it| band(it.spread())));
    table.texts("", "", measures().map(|it| it.verdict().to_owned()));
    text += &table.text();
    for note in &findings.notes {
        text += &format!("\n{note}");
    }
    text + &format!("\nopen {}\n\n", page.display())
}

fn as_json(experiment: &Experiment, findings: &Findings, page: &Path) -> Json {
    let measures = findings.measures.iter().map(|it| {
        json!({
            "name": it.name,
            "unit": it.unit,
            "band": it.band,
            "median": it.median(),
            "spread": it.spread(),
            "held": it.held(),
        })
    });
    json!({
        "name": experiment.name,
        "measures": measures.collect::<Vec<_>>(),
        "held": findings.held(),
        "notes": findings.notes,
        "page": page,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_experiment_has_a_name_of_its_own_and_a_source() {
        let names: BTreeSet<_> = all().map(|it| it.name).collect();
        assert_eq!(names.len(), all().count());
        for experiment in all() {
            assert!(experiment.name.contains('/'), "{}", experiment.name);
            assert!(experiment.source.starts_with('['), "{}", experiment.name);
            assert!(!experiment.shows.is_empty() && experiment.seconds < 600);
        }
    }

    #[test]
    fn a_paper_means_all_of_its_experiments_once() {
        let names = ["sqp/fig5a".to_owned(), "sqp".to_owned()];
        let chosen = choose(&names).expect("known");
        assert_eq!(chosen.len(), sqp::EXPERIMENTS.len());
        let wrong = choose(&["sqp/fig5z".to_owned()]);
        let wrong = wrong.map(|_| ()).expect_err("no such figure").to_string();
        assert!(wrong.contains("did you mean `sqp/fig5"), "{wrong}");
    }
}
