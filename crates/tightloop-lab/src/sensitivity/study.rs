//! Running many instances, side by side, and keeping what came out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{Context, Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use tightloop::link::trace::Trace;
use tightloop::scenario::{Scenario, ScenarioError, Supplies};
use tightloop::units::Span;
use xxhash_rust::xxh3::xxh3_64;

use super::Rates;
use super::delays::Instance;
use crate::file::File;
use crate::run::resolve;
use crate::studio::Studio;

/// The folder of finished instances, within that of results.
const INSTANCES: &str = "instances";

/// What a finished instance is on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Finished {
    rtts: Vec<Span>,
    rates: Rates,
}

/// A scenario to be run many times.
#[derive(Debug)]
pub(crate) struct Study {
    scenario: Scenario,
    traces: BTreeMap<String, Arc<Trace>>,
    films: PathBuf,
    studio: Studio,
    /// Where finished instances are, those of other scenarios apart.
    folder: PathBuf,
    again: bool,
    jobs: usize,
    bar: ProgressBar,
}

/// What stopped an instance.
enum Failure {
    Scenario(ScenarioError),
    Other(anyhow::Error),
}

impl Study {
    /// Checks a scenario, reads what it names, and makes the folder.
    pub(crate) fn new(file: &File, out: &Path, again: bool, jobs: Option<usize>) -> Result<Self> {
        let studio = Studio::default();
        file.build(&studio.stage())?;
        let folder = out.join(INSTANCES).join(resolve::id(file)?);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let bar = ProgressBar::new(0).with_prefix(file.scenario.name.clone());
        let style =
            ProgressStyle::with_template("{prefix} {bar:30} {pos} of {len}, {elapsed}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            scenario: file.scenario.clone(),
            traces: file.traces(),
            films: file.place(""),
            studio,
            folder,
            again,
            jobs: jobs.unwrap_or(processors).max(1),
            bar,
        })
    }

    /// Each flow's rate in each instance.
    pub(crate) fn run(&self, file: &File, instances: &[Instance]) -> Result<Vec<Rates>> {
        self.bar.inc_length(instances.len() as u64);
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done: Vec<Mutex<Option<Result<Rates, Failure>>>> =
            instances.iter().map(|_| Mutex::default()).collect();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(instances.len()) {
                scope.spawn(|| {
                    while !failed.load(Ordering::Relaxed) {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(instance) = instances.get(place) else {
                            return;
                        };
                        let rates = self.one(place, instance);
                        failed.fetch_or(rates.is_err(), Ordering::Relaxed);
                        if let Ok(mut slot) = done[place].lock() {
                            *slot = Some(rates);
                        }
                        self.bar.inc(1);
                    }
                });
            }
        });
        let done: Vec<_> = done
            .into_iter()
            .map(|slot| slot.into_inner().ok().flatten())
            .collect();
        let mut rates = Vec::new();
        let mut missing = false;
        for one in done {
            match one {
                Some(Ok(one)) => rates.push(one),
                Some(Err(Failure::Scenario(error))) => return Err(file.explain(&error).into()),
                Some(Err(Failure::Other(error))) => return Err(error),
                None => missing = true,
            }
        }
        if missing {
            return Err(anyhow!("an instance broke off"));
        }
        Ok(rates)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn one(&self, place: usize, rtts: &Instance) -> Result<Rates, Failure> {
        let path = self.path(rtts);
        if !self.again
            && let Some(finished) = read(&path)
            && finished.rtts == *rtts
        {
            return Ok(finished.rates);
        }
        let scenario = self.scenario.instance(rtts).map_err(Failure::Scenario)?;
        let stage = self.studio.stage();
        let supplies = Supplies {
            traces: &|name| self.traces.get(name).cloned(),
            encoders: &|flow, name, start| stage.encoder(flow, name, start, &self.films),
        };
        let built = scenario.build_with(&supplies);
        let built = built.map_err(Failure::Scenario)?;
        let to = scenario.measure.to.unwrap_or(scenario.end());
        let finished = Finished {
            rtts: rtts.clone(),
            rates: built.rates(scenario.measure.from, to),
        };
        write(&path, place, &finished).map_err(Failure::Other)?;
        Ok(finished.rates)
    }

    fn path(&self, rtts: &Instance) -> PathBuf {
        let names: Vec<String> = rtts.iter().map(Span::to_string).collect();
        let digest = xxh3_64(names.join(" ").as_bytes());
        self.folder.join(format!("{digest:016x}.json"))
    }
}

/// A finished instance; nothing where there is none or it is damaged.
fn read(path: &Path) -> Option<Finished> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes an instance so that there is all of it or nothing.
fn write(path: &Path, place: usize, finished: &Finished) -> Result<()> {
    // Others may be writing the same.
    let draft = path.with_extension(format!("{}-{place}.part", std::process::id()));
    let text = serde_json::to_string(finished)?;
    fs::write(&draft, text)
        .and_then(|()| fs::rename(&draft, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
