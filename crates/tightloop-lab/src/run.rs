//! `tightloop run`: from a scenario to a folder of results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use tightloop::analysis::{Names, Summary, Window};
use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::{Built, Scenario};
use tightloop::units::{Span, Time};

use crate::args::RunArgs;
use crate::file::File;
use crate::out;
use crate::store::parts::Parts;
use crate::store::{About, Folder};

mod expect;
mod resolve;
mod summary;

use expect::Expectations;

/// How often a run is looked at from outside.
const STEPS: i64 = 500;

/// Runs a scenario. True if all expectations were met.
pub(crate) fn main(args: &RunArgs) -> Result<bool> {
    let file = File::load(&args.file, &args.set, args.seed)?;
    let built = file.build()?;
    let scenario = &file.scenario;
    let names = Names {
        flows: built.flows.clone(),
        links: built.links.clone(),
    };
    let expectations = Expectations::of(&file, &names)?;
    let mut about = About {
        tightloop: env!("CARGO_PKG_VERSION").into(),
        id: resolve::id(&file)?,
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        command: command(args),
        complete: false,
        logged: !args.no_log,
        events: 0,
        packets: 0,
        digest: None,
        names,
    };
    let path = args.out.clone().unwrap_or_else(|| default_folder(&about));
    let folder = Folder::create(&path, &about, args.force)?;
    folder.write_scenario(&resolve::text(&file, &path)?)?;

    let parts = (!args.no_log).then(|| Parts::begin(&folder.path));
    let window = Window {
        from: scenario.measure.from,
        to: scenario.measure.to.unwrap_or(scenario.end()),
    };
    let mut recorder = Recorder {
        summary: Summary::new(about.names.clone(), window),
        parts,
    };
    about.packets = simulate(scenario, built, &mut recorder);
    if let Some(parts) = recorder.parts {
        let written = parts.finish()?;
        about.events = written.events;
        about.digest = Some(written.digest);
    }
    about.complete = true;
    let report = recorder.summary.report();
    let checks = expectations.check(&report, &file);
    let mut json = summary::json(&about, &report, &checks);
    folder.write_summary(&json)?;
    json["results"] = path.display().to_string().into();
    folder.write_about(&about)?;
    let passed = checks.iter().all(|check| check.passed);
    let printed = if args.json {
        out::json(&json)
    } else {
        let text = summary::text(scenario, &about, &report, &checks, &path);
        out::print(&text)
    };
    // What the run found does not depend on whether somebody listens.
    match printed {
        Err(error) if !out::is_closed_pipe(&error) => Err(error),
        _ => Ok(passed),
    }
}

/// Everything that listens to a run.
struct Recorder {
    summary: Summary,
    parts: Option<Parts>,
}

impl Sink for Recorder {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        self.summary.record(at, event);
        if let Some(parts) = &mut self.parts {
            parts.record(at, event);
        }
    }
}

/// Runs a world to its end; returns how many data packets were delivered.
fn simulate(scenario: &Scenario, built: Built, recorder: &mut Recorder) -> u64 {
    let mut world = built.world;
    let progress = progress(&scenario.name);
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
fn progress(name: &str) -> ProgressBar {
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
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=,:@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
