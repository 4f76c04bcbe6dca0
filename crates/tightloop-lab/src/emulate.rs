//! `tightloop emulate`: any program behind an emulated link.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use anyhow::{Context, Result};
use tightloop_live::emulate::child::Family;
use tightloop_live::emulate::record::{Failure, Output};
use tightloop_live::emulate::{Drive, Ends, Engine, Way, calibrate, mahimahi, pcapng};

use crate::args::EmulateArgs;
use crate::run::quoted;

mod aside;
mod capacity;
mod events;
pub(crate) mod links;
pub(crate) mod meter;
pub(crate) mod screen;

use aside::{Aside, Said};
use capacity::Capacity;
use events::Results;
use links::Plan;
use meter::Meter;

/// The machine was not up to it, and that was not to be.
const OVERTAXED: u8 = 1;
/// Something could not be written.
const UNWRITTEN: u8 = 2;

/// Runs a command behind a link; gives the exit status.
pub(crate) fn main(args: &EmulateArgs) -> Result<u8> {
    let plan = Plan::of(args)?;
    let mut command = command(args);
    let links = plan.build()?;
    // First, as an ordinary user's namespaces are for a process of one thread.
    let ends = Arc::new(Ends::open()?);
    let family = Family::new()?;
    for way in Way::BOTH {
        say(&format!("{} {}", way.name(), plan.words(way)));
    }
    say(&format!(
        "the far side is {} ($TIGHTLOOP_BASE){}",
        ends.far_address(),
        if ends.secluded() && args.far.is_none() {
            ", a namespace of its own as you are not root: --far COMMAND starts a program there"
        } else {
            ""
        }
    ));
    let mut drive = Drive {
        urgent: !args.no_realtime,
        ..Drive::default()
    };
    if !args.no_calibration {
        let ability = calibrate(&ends, drive.urgent)?;
        drive = ability.drive;
        for line in screen::ability(&ability, plan.most()) {
            say(&line);
        }
    }

    let words = words(args);
    let mut outputs = logs(args, &plan, &words)?;
    let results = match &args.events {
        Some(path) => {
            let begun = Results::begin(path, &plan, args.seed, &words, args.force)?;
            outputs.push(begun.1);
            Some(begun.0)
        }
        None => None,
    };
    let mut far = args.far.as_ref().map(|line| {
        let mut far = Command::new("/bin/sh");
        far.args(["-c", line]);
        far
    });
    let (aside, said) = Aside::of(args)?;
    for command in std::iter::once(&mut command).chain(&mut far) {
        aside.lead(command)?;
    }
    let place = aside.place(args.command.is_empty());
    drop(aside);
    let drops = ends.kernel_drops();
    let engine = Engine::start(&ends, links, outputs, drive, |failure| {
        say(&format!("warning: {}", unwritten(failure)));
    })?;
    let mut meter = if args.no_meter {
        Meter::Nowhere
    } else {
        let capacity = Way::BOTH.map(|way| Capacity::of(&plan, way));
        Meter::new(place, words, engine.tallies(), engine.clock(), capacity)
    };
    let said = said.map(Said::start);
    let status = family.run(&ends, command, far, || meter.tick());
    if let Some(said) = said {
        said.finish();
    }
    drop(meter);
    let work = engine.stop()?;
    let after = ends.kernel_drops();
    let status = status?;
    if let Some(error) = work.failed {
        return Err(error).context("the emulated link broke");
    }

    let kernel_drops = [0, 1].map(|way| after[way].saturating_sub(drops[way]));
    let (table, doubts) = screen::work(&work, kernel_drops);
    eprint!("\n{table}");
    for doubt in &doubts {
        say(&format!("warning: more than this machine can do: {doubt}"));
    }
    let mut complete = work.failures.is_empty();
    if let Some(results) = results {
        let packets = work.ways.iter().map(|way| way.delivered).sum();
        if let Err(error) = results.finish(packets) {
            say(&format!("warning: {error:#}"));
            complete = false;
        }
    }
    Ok(match code(status) {
        0 if !complete => UNWRITTEN,
        0 if args.strict && !doubts.is_empty() => OVERTAXED,
        code => code,
    })
}

fn say(line: &str) {
    meter::strip::tell(&format!("emulate: {line}"));
}

fn unwritten(failure: &Failure) -> String {
    format!(
        "cannot write {}: {}; the run goes on without it",
        failure.name, failure.error
    )
}

/// A status as a shell gives it.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 255,
    };
    u8::try_from(code).unwrap_or(255)
}

/// What to run: the command, or a shell.
fn command(args: &EmulateArgs) -> Command {
    if let Some((program, words)) = args.command.split_first() {
        let mut command = Command::new(program);
        command.args(words);
        return command;
    }
    shell("emulate")
}

/// A shell that says where it is.
pub(crate) fn shell(place: &str) -> Command {
    let shell = std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
    let mut command = Command::new(shell);
    // A shell's own file sets its prompt after it has started.
    let prompt = format!("PS1=\"[{place}] $PS1\"; unset PROMPT_COMMAND");
    command.env("PROMPT_COMMAND", prompt);
    command
}

/// The command line, for logs.
fn words(args: &EmulateArgs) -> String {
    let _ = args;
    let words: Vec<String> = std::env::args().skip(1).map(|it| quoted(&it)).collect();
    format!("tightloop {}", words.join(" "))
}

/// The logs that were asked for.
fn logs(args: &EmulateArgs, plan: &Plan, command: &str) -> Result<Vec<Box<dyn Output>>> {
    let mut outputs: Vec<Box<dyn Output>> = Vec::new();
    let place = |path: &Path| format!("cannot write {}", path.display());
    if let Some(path) = &args.log {
        for way in Way::BOTH {
            let mut name = path.clone().into_os_string();
            name.push(format!(".{}", way.name()));
            let path = PathBuf::from(name);
            let link = plan.words(way);
            let queue = plan.ways[way.place()].last();
            let head = mahimahi::Head {
                command,
                link: &link,
                queue: queue.map_or("none", |it| &it.settings.queue.kind),
            };
            let (first, last) = (plan.first(way), plan.last(way));
            let log = mahimahi::Log::create(&path, &head, first, last);
            outputs.push(Box::new(log.with_context(|| place(&path))?));
        }
    }
    if let Some(path) = &args.pcap {
        let capture = pcapng::Capture::create(path).with_context(|| place(path))?;
        outputs.push(Box::new(capture));
    }
    Ok(outputs)
}
