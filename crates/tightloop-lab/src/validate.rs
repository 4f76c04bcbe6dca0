//! `tightloop validate`: the same links in simulation and in real time, with the
//! kernel's own TCP on the real ones, and the two held against each other.

use std::fs;
use std::sync::Arc;

use anyhow::{Result, bail};
use tightloop_live::emulate::{Ability, Ends, calibrate};
use tightloop_live::tcp;

pub(crate) mod args;
mod equal;
mod own;
mod peers;
mod rows;
mod spikes;
mod trial;

use args::{ValidateArgs, ValidateCommand};
pub(crate) use equal::told;

/// Runs what was asked for; gives whether all is as it should be.
pub(crate) fn main(args: &ValidateArgs) -> Result<bool> {
    match &args.command {
        None => peers::main(args),
        Some(ValidateCommand::Spikes(args)) => spikes::main(args),
        Some(ValidateCommand::Proxy(args)) => equal::main(args),
    }
}

/// Where live runs take place.
struct Stage {
    ends: Arc<Ends>,
    ability: Ability,
    loads: Vec<String>,
}

impl Stage {
    /// Makes the ends of a link, with a network that remembers nothing of one
    /// run in the next, and measures the machine.
    fn set() -> Result<Self> {
        let ends = Arc::new(Ends::open()?);
        // Else a flow begins with the window that the one before ended with.
        ends.tune("ipv4/tcp_no_metrics_save", "1")?;
        let ability = calibrate(&ends, true)?;
        let stage = Self {
            ends,
            ability,
            loads: vec![load()],
        };
        let micros = |share| stage.ability.dispatch.quantile(share).millis_f64() * 1e3;
        say(&format!(
            "this machine carries {:.0} Mbit/s and sends packets on {:.1} µs (p50), {:.1} µs (p99) late{}",
            stage.ability.rate.mbps_f64(),
            micros(0.5),
            micros(0.99),
            match &stage.ability.not_urgent {
                Some(error) => format!("; no real-time priority ({error})"),
                None => String::new(),
            }
        ));
        Ok(stage)
    }

    /// A run is over.
    fn note_load(&mut self) {
        self.loads.push(load());
    }

    /// The load that all of it was measured under.
    fn load(&self) -> String {
        let loads: Vec<f64> = self.loads.iter().filter_map(|it| it.parse().ok()).collect();
        let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
        let most = loads.iter().copied().fold(0.0, f64::max);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        format!(
            "load {least:.1} to {most:.1} on {processors} processors, Linux {}",
            kernel.trim()
        )
    }
}

/// The load average of the last minute.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("").to_owned()
}

fn say(line: &str) {
    eprintln!("validate: {line}");
}

/// Those of `known` that were asked for, or all where nothing was.
fn chosen<'a>(asked: &[String], known: &[&'a str]) -> Result<Vec<&'a str>> {
    for name in asked {
        if !known.contains(&name.as_str()) {
            bail!(tightloop::scenario::unknown_name(
                "peer",
                name,
                known.iter().copied()
            ));
        }
    }
    let wanted = |name: &&&str| asked.is_empty() || asked.iter().any(|it| it == **name);
    Ok(known.iter().filter(wanted).copied().collect())
}

/// Says what the kernel does not offer, and gives what it does.
fn offered(names: Vec<&str>) -> Vec<&str> {
    let there = |name: &&str| match tcp::check(name) {
        Ok(()) => true,
        Err(error) => {
            say(&format!("left out: {error}"));
            false
        }
    };
    names.into_iter().filter(there).collect()
}
