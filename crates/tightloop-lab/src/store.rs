//! A folder of results: what is in it, and how it comes and goes.
//!
//! | file | what |
//! | --- | --- |
//! | `run.json` | what was run, and whether it came to its end |
//! | `scenario.toml` | the scenario with every default written out |
//! | `summary.json` | every metric |
//! | `events-00000.parquet` … | all that happened |

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use tightloop::analysis::Names;
use tightloop::event::Sink;
use tightloop::scenario::Scenario;
use tightloop::units::Time;

mod cells;
pub(crate) mod columns;
#[cfg(test)]
mod document;
pub(crate) mod parts;
mod read;
mod row;

/// What was run: `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The program's version.
    pub(crate) tightloop: String,
    /// The run's id: a digest of version, scenario and traces.
    pub(crate) id: String,
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The seed.
    pub(crate) seed: u64,
    /// The command line that repeats it.
    pub(crate) command: String,
    /// It came to its end.
    pub(crate) complete: bool,
    /// Its events are in the folder; false for runs that keep none.
    pub(crate) logged: bool,
    /// How many events there were.
    pub(crate) events: u64,
    /// Data packets delivered.
    pub(crate) packets: u64,
    /// The digest of all events.
    pub(crate) digest: Option<String>,
    /// What flows and links are called, in the order of their numbers.
    #[serde(flatten)]
    pub(crate) names: Names,
}

/// A folder of results.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

const ABOUT: &str = "run.json";
const SCENARIO: &str = "scenario.toml";
const SUMMARY: &str = "summary.json";
/// The page's name where nobody asks for another.
pub(crate) const REPORT: &str = "report.html";

impl Folder {
    /// Makes a folder ready for a run. What another run left there is replaced
    /// only by `force`.
    pub(crate) fn create(path: &Path, about: &About, force: bool) -> Result<Self> {
        let place = || format!("cannot use the folder {}", path.display());
        fs::create_dir_all(path).with_context(place)?;
        let folder = Self {
            path: path.to_owned(),
        };
        if !force {
            folder.refuse_others(&about.id)?;
        }
        for entry in fs::read_dir(path).with_context(place)? {
            let entry = entry.with_context(place)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let part = name.starts_with("events-") && name.contains(".parquet");
            if part || [ABOUT, SCENARIO, SUMMARY, REPORT].contains(&&*name) {
                fs::remove_file(entry.path()).with_context(place)?;
            }
        }
        folder.write_about(about)?;
        Ok(folder)
    }

    /// Refuses a folder that holds something else than results of this run.
    fn refuse_others(&self, id: &str) -> Result<()> {
        let place = self.path.display();
        match self.about() {
            Ok(about) if about.id == id => Ok(()),
            Ok(about) => bail!(
                "{place} holds results of another run ({} {}, seed {}); give --force to replace \
                 them, or another --out",
                about.scenario,
                about.id,
                about.seed
            ),
            Err(_) => match fs::read_dir(&self.path)?.next() {
                None => Ok(()),
                Some(_) => bail!(
                    "{place} is not empty and holds no results; give --force to put some there, \
                     or another --out"
                ),
            },
        }
    }

    /// A folder of results to look at.
    pub(crate) fn open(path: &Path) -> Result<(Self, About)> {
        let folder = Self {
            path: path.to_owned(),
        };
        let about = folder.about()?;
        Ok((folder, about))
    }

    fn about(&self) -> Result<About> {
        let text = fs::read_to_string(self.path.join(ABOUT)).with_context(|| {
            format!(
                "{} is no folder of results: it has no {ABOUT}; `tightloop run` makes one",
                self.path.display()
            )
        })?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged", self.path.join(ABOUT).display()))
    }

    /// The scenario that was run.
    pub(crate) fn scenario(&self) -> Result<Scenario> {
        let path = self.path.join(SCENARIO);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text)
            .with_context(|| format!("{} is no scenario of this version", path.display()))
    }

    pub(crate) fn write_about(&self, about: &About) -> Result<()> {
        self.write(ABOUT, &(serde_json::to_string_pretty(about)? + "\n"))
    }

    pub(crate) fn write_scenario(&self, text: &str) -> Result<()> {
        self.write(SCENARIO, text)
    }

    pub(crate) fn write_summary(&self, summary: &serde_json::Value) -> Result<()> {
        self.write(SUMMARY, &format!("{summary:#}\n"))
    }

    /// Writes a file, which appears only when it is complete.
    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path.join(name);
        let unfinished = self.path.join(format!("{name}.unfinished"));
        fs::write(&unfinished, text)
            .and_then(|()| fs::rename(&unfinished, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Feeds all events to a sink; returns how many there were, and the time of
    /// the last.
    pub(crate) fn replay(&self, about: &About, sink: &mut dyn Sink) -> Result<(u64, Time)> {
        let place = self.path.display();
        if !about.logged {
            bail!("the run in {place} kept no events; run it again without --no-log");
        }
        let (events, last) = read::replay(&self.path, sink)?;
        if about.complete && events < about.events {
            bail!(
                "{place} has {events} of {} events: a part is missing; run it again",
                about.events
            );
        }
        if !about.complete {
            eprintln!(
                "warning: the run in {place} did not come to its end; its events reach until {last}"
            );
        }
        Ok((events, last))
    }
}

#[cfg(test)]
mod tests;
