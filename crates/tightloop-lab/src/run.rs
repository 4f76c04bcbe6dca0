//! `tightloop run`: from a scenario to a folder of results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::{Built, Scenario};
use tightloop::units::{Span, Time};

use crate::args::RunArgs;
use crate::file::File;
use crate::out;
use crate::store::parts::Parts;
use crate::store::{About, Folder};
use crate::studio::{Stage, Studio};

pub(crate) mod expect;
pub(crate) mod resolve;
pub(crate) mod summary;

use expect::{Check, Expectations};

/// How often a run is looked at from outside.
const STEPS: i64 = 500;

/// Runs a scenario. True if all expectations were met.
pub(crate) fn main(args: &RunArgs) -> Result<bool> {
    let file = File::load(&args.file, &args.set, args.seed)?;
    let studio = Studio::default();
    let job = Job {
        command: command(args),
        force: args.force,
        log: !args.no_log,
        file,
    };
    let bar = progress(&job.file.scenario.name);
    let done = job.run(args.out.as_deref(), &studio.stage(), &bar, &mut Deaf)?;
    let passed = done.checks.iter().all(|check| check.passed);
    let printed = if args.json {
        let mut json = summary::json(&done.about, &done.report, &done.checks);
        json["results"] = done.folder.path.display().to_string().into();
        out::json(&json)
    } else {
        let Done {
            about,
            report,
            checks,
            folder,
        } = &done;
        let text = summary::text(&job.file.scenario, about, report, checks, &folder.path);
        out::print(&text)
    };
    // What the run found does not depend on whether somebody listens.
    match printed {
        Err(error) if !out::is_closed_pipe(&error) => Err(error),
        _ => Ok(passed),
    }
}

/// A scenario to be run into a folder.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) file: File,
    /// The command line that repeats the run.
    pub(crate) command: String,
    /// Replace results of another run.
    pub(crate) force: bool,
    /// Keep events.
    pub(crate) log: bool,
}

/// A run that came to its end.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) about: About,
    pub(crate) report: Report,
    pub(crate) folder: Folder,
    checks: Vec<Check>,
}

impl Job {
    /// Runs the scenario; another sink may listen. The folder is named by the run
    /// where nobody names it.
    pub(crate) fn run(
        &self,
        out: Option<&Path>,
        stage: &Stage<'_>,
        bar: &ProgressBar,
        also: &mut dyn Sink,
    ) -> Result<Done> {
        let file = &self.file;
        let scenario = &file.scenario;
        let built = file.build(stage)?;
        let names = Names {
            flows: built.flows.clone(),
            links: built.links.clone(),
        };
        let expectations = Expectations::of(file, &names)?;
        let mut about = About {
            tightloop: env!("CARGO_PKG_VERSION").into(),
            id: resolve::id(file)?,
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            command: self.command.clone(),
            complete: false,
            logged: self.log,
            events: 0,
            packets: 0,
            digest: None,
            names,
        };
        let path = out.map_or_else(|| default_folder(&about), Path::to_owned);
        let folder = Folder::create(&path, &about, self.force)?;
        folder.write_scenario(&resolve::text(file, &path)?)?;
        let window = Window {
            from: scenario.measure.from,
            to: scenario.measure.to.unwrap_or(scenario.end()),
        };
        let mut recorder = Recorder {
            summary: Summary::new(about.names.clone(), window),
            parts: self.log.then(|| Parts::begin(&folder.path)),
            also,
        };
        about.packets = simulate(scenario, built, &mut recorder, bar);
        if let Some(parts) = recorder.parts {
            let written = parts.finish()?;
            about.events = written.events;
            about.digest = Some(written.digest);
        }
        about.complete = true;
        let report = recorder.summary.report();
        let checks = expectations.check(&report, file);
        folder.write_summary(&summary::json(&about, &report, &checks))?;
        folder.write_about(&about)?;
        Ok(Done {
            about,
            report,
            folder,
            checks,
        })
    }
}

/// Listens to nothing.
struct Deaf;

impl Sink for Deaf {
    fn record(&mut self, _at: Time, _event: &Event) {}
}

/// Everything that listens to a run.
struct Recorder<'a> {
    summary: Summary,
    parts: Option<Parts>,
    also: &'a mut dyn Sink,
}

impl Sink for Recorder<'_> {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        self.summary.record(at, event);
        if let Some(parts) = &mut self.parts {
            parts.record(at, event);
        }
        self.also.record(at, event);
    }
}

/// Runs a world to its end; returns how many data packets were delivered.
fn simulate(
    scenario: &Scenario,
    built: Built,
    recorder: &mut Recorder<'_>,
    progress: &ProgressBar,
) -> u64 {
    let mut world = built.world;
    let step = (scenario.duration / STEPS).max(Span::from_nanos(1));
    let mut until = Time::ZERO;
    while until < scenario.end() {
        until = (until + step).min(scenario.end());
        world.run(until, &mut Log::to(recorder));
        progress.set_position(until.since_epoch().ratio(step) as u64);
        progress.set_message(format!(
            "{:.1} s of {}, {} packets",
            until.secs_f64(),
            scenario.duration,
            HumanCount(world.packets())
        ));
        if recorder.parts.as_ref().is_some_and(Parts::failed) {
            break;
        }
    }
    progress.finish_and_clear();
    world.packets()
}

/// A bar on the standard error, if that is a terminal.
pub(crate) fn progress(name: &str) -> ProgressBar {
    let bar = ProgressBar::new(STEPS as u64).with_prefix(name.to_owned());
    let style = ProgressStyle::with_template("{prefix} {bar:30} {msg}, {elapsed}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// `runs/hello-1f2e3d4c`
fn default_folder(about: &About) -> PathBuf {
    let name = about.scenario.chars();
    let name: String = name
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    let id = about.id.get(..8).unwrap_or(&about.id);
    Path::new("runs").join(format!("{name}-{id}"))
}

/// The command line that repeats the run.
fn command(args: &RunArgs) -> String {
    let mut command = format!("tightloop run {}", quoted(&args.file.display().to_string()));
    for set in &args.set {
        command += &format!(" --set {}", quoted(set));
    }
    if let Some(seed) = args.seed {
        command += &format!(" --seed {seed}");
    }
    command
}

/// A word as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=,:@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
