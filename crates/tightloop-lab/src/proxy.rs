//! `tightloop proxy`: any program behind a λ-proxy.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::Mutex;

use anyhow::{Context, Result};
use tightloop::event::LinkId;
use tightloop::link::Settings;
use tightloop::proxy::{self, Rule};
use tightloop::units::Span;
use tightloop_live::emulate::child::Family;
use tightloop_live::emulate::{Datagram, Drive, Ends, Engine};
use tightloop_live::proxy::{Change, Equaliser, flows, remember};

use crate::emulate::{code, shell};
use crate::validate::args::ProxyArgs;
use crate::validate::told;

/// Runs a command behind a proxy; gives the exit status.
pub(crate) fn main(args: &ProxyArgs) -> Result<u8> {
    let settings = proxy::Settings {
        lambda: args.lambda,
        rule: if args.literal {
            Rule::Literal
        } else {
            Rule::Patient
        },
        ..proxy::Settings::default()
    };
    let (sorted, delays) = flows(&settings, |_| Span::ZERO)?;
    let log = args.log.as_ref().map(|path| {
        let file = File::create(path);
        file.with_context(|| format!("cannot write {}", path.display()))
    });
    let log = Mutex::new(log.transpose()?.map(BufWriter::new));
    // First, as an ordinary user's namespaces are for a process of one thread.
    let ends = Arc::new(Ends::open()?);
    let family = Family::new()?;
    remember(&ends, settings.window)?;
    let wire = |id, name| Settings::default().build::<Datagram>(LinkId(id), name, 1, &|_| None);
    let links = [vec![wire(0, "up")?], vec![wire(1, "down")?]];
    let drive = Drive {
        urgent: !args.no_realtime,
        ..Drive::default()
    };
    let engine = Engine::start_sorting(&ends, links, Vec::new(), drive, |_| {}, Some(sorted))?;
    let tell = move |change: &Change| {
        eprintln!("proxy: {}", told(change));
        if let Ok(mut log) = log.lock()
            && let Some(file) = log.as_mut()
        {
            // A full disk must not stop the flows.
            let _ = writeln!(file, "{}", line(change)).and_then(|()| file.flush());
        }
    };
    let equaliser = Equaliser::start(&ends, delays, settings, engine.clock(), tell)?;
    let command = args.command.split_first().map(|(program, words)| {
        let mut command = Command::new(program);
        command.args(words);
        command
    });
    let far = args.far.as_ref().map(|line| {
        let mut far = Command::new("/bin/sh");
        far.args(["-c", line]);
        far
    });
    let status = family.run(&ends, command.unwrap_or_else(|| shell("proxy")), far, || {});
    let changes = equaliser.stop();
    let work = engine.stop()?;
    let status = status?;
    if let Some(error) = work.failed {
        return Err(error).context("the proxy's link broke");
    }
    changes.context("the kernel's socket statistics cannot be read, which the proxy needs")?;
    Ok(code(status))
}

/// A change as a line of the log.
fn line(change: &Change) -> String {
    format!(
        "{:.3} {} {} {:.3} {:.3}",
        change.at.since_epoch().secs_f64(),
        change.connection.near,
        change.connection.far,
        change.min_rtt.millis_f64(),
        change.added.millis_f64()
    )
}
