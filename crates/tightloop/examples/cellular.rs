//! Vidaptive, its ablations and what it is compared with on recorded cellular
//! links, with encoder models. [Vidaptive] Fig. 7, 13, 14, 15 and 16.
//!
//! `cellular DIRECTORY [SYSTEM]` plays every trace in Mahimahi's format in a
//! directory for two minutes, 25 ms each way, into a queue without end. One line
//! per system: means over all traces. With a system's name, one line per trace.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros
)] // It reads files and prints.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::Log;
use tightloop::link::trace::Trace;
use tightloop::scenario::Scenario;
use tightloop::units::{Rate, Span, Time, count, float};

/// A system: its controller, its rate control and its encoder, as settings.
struct System {
    name: &'static str,
    cc: &'static str,
    rate_control: &'static str,
    encoder: &'static str,
    fps: u32,
}

const fn system(name: &'static str, cc: &'static str, rate_control: &'static str) -> System {
    System {
        name,
        cc,
        rate_control,
        encoder: VP8,
        fps: 30,
    }
}

const fn at_24(
    name: &'static str,
    cc: &'static str,
    rate_control: &'static str,
    encoder: &'static str,
) -> System {
    System {
        name,
        cc,
        rate_control,
        encoder,
        fps: 24,
    }
}

const VP8: &str = "name = \"vp8-paper\"";
const IDEAL: &str = "name = \"ideal\"";
/// Without the lag, which Salsify's codec does not have.
const VARIES: &str = "name = \"vp8-paper\", rise = \"0 s\", fall = \"0 s\"";
const COPA: &str = "name = \"copa\"";
/// No congestion control besides the rate control.
const UNRULED: &str = "name = \"fixed\", target = \"12 Mbit/s\"";
const SALSIFY: &str = "name = \"salsify\"";

const SYSTEMS: [System; 24] = [
    system("vidaptive", COPA, "name = \"vidaptive\""),
    system(
        "gcc",
        "name = \"gcc\"",
        "name = \"follow\", max = \"12 Mbit/s\"",
    ),
    system("no-filler", COPA, "name = \"vidaptive-no-filler\""),
    system(
        "no-filler, window grows",
        "name = \"copa-webrtc\"",
        "name = \"vidaptive-no-filler\"",
    ),
    system("no-pause", COPA, "name = \"vidaptive-no-pause\""),
    system("no-share", COPA, "name = \"vidaptive-no-share\""),
    system("rocc", "name = \"rocc\"", "name = \"vidaptive\""),
    system(
        "delta 0.1",
        "name = \"copa\", delta = 0.1",
        "name = \"vidaptive\"",
    ),
    system(
        "delta 0.9",
        "name = \"copa\", delta = 0.9",
        "name = \"vidaptive\"",
    ),
    system(
        "copa in WebRTC",
        "name = \"copa-webrtc\"",
        "name = \"follow\", max = \"12 Mbit/s\"",
    ),
    system(
        "latency-optimizer 0.9",
        "name = \"copa-webrtc\"",
        "name = \"latency-optimizer\"",
    ),
    system(
        "latency-optimizer 0.5",
        "name = \"copa-webrtc\"",
        "name = \"latency-optimizer\", quantile = 0.5",
    ),
    system(
        "P 20 ms",
        COPA,
        "name = \"vidaptive\", service_time = \"20 ms\"",
    ),
    system(
        "P 66 ms",
        COPA,
        "name = \"vidaptive\", service_time = \"66 ms\"",
    ),
    system("lambda 0.5", COPA, "name = \"vidaptive\", quantile = 0.5"),
    system("lambda 0.75", COPA, "name = \"vidaptive\", quantile = 0.75"),
    system("lambda 0.99", COPA, "name = \"vidaptive\", quantile = 0.99"),
    system(
        "tau 16 ms",
        COPA,
        "name = \"vidaptive\", pause_after = \"16 ms\"",
    ),
    system(
        "tau 66 ms",
        COPA,
        "name = \"vidaptive\", pause_after = \"66 ms\"",
    ),
    system(
        "tau 132 ms",
        COPA,
        "name = \"vidaptive\", pause_after = \"132 ms\"",
    ),
    at_24("24 fps: vidaptive", COPA, "name = \"vidaptive\"", VP8),
    at_24("24 fps: salsify", UNRULED, SALSIFY, IDEAL),
    at_24("24 fps: salsify, frames vary", UNRULED, SALSIFY, VARIES),
    at_24(
        "24 fps: salsify, however coarse",
        UNRULED,
        "name = \"salsify\", min = \"50 kbit/s\"",
        VARIES,
    ),
];

/// What is printed, with its key, in ms, Mbit/s or as it is.
const COLUMNS: [(&str, &str); 9] = [
    ("p50 ms", "flow.0.frames.latency.p50"),
    ("mean ms", "flow.0.frames.latency.mean"),
    ("p95 ms", "flow.0.frames.latency.p95"),
    ("p99 ms", "flow.0.frames.latency.p99"),
    ("video", "flow.0.frames.bitrate"),
    ("wire", "flow.0.throughput"),
    ("use", "link.a.utilisation"),
    ("fps", "flow.0.frames.fps"),
    ("filler", "flow.0.filler"),
];

fn run(system: &System, trace: &Arc<Trace>) -> Report {
    let text = format!(
        "name = \"cellular\"\nduration = \"120 s\"\n\
         [link.a]\ndelay = \"25 ms\"\ntrace = \"trace\"\nqueue = {{ kind = \"infinite\" }}\n\
         [link.b]\ndelay = \"25 ms\"\n\
         [[flow]]\npath = {{ links = [\"a\"], back = [\"b\"] }}\n\
         cc = {{ {} }}\nvideo.rate_control = {{ {} }}\nvideo.encoder = {{ {} }}\n\
         video.source.fps = {}\n",
        system.cc, system.rate_control, system.encoder, system.fps
    );
    let scenario: Scenario = toml::from_str(&text).expect("a scenario");
    let built = scenario.build(&|_| Some(trace.clone()));
    let mut built = built.expect("a good scenario");
    let names = Names {
        flows: built.flows,
        links: built.links,
    };
    let window = Window {
        from: Time::ZERO,
        to: scenario.end(),
    };
    let mut summary = Summary::new(names, window);
    built.world.run(scenario.end(), &mut Log::to(&mut summary));
    summary.report()
}

fn cells(report: &Report) -> [f64; COLUMNS.len()] {
    COLUMNS.map(|(name, key)| {
        let value = report.get(key).ok().and_then(|value| value.number());
        let value = value.unwrap_or(0.0);
        match name {
            _ if name.ends_with("ms") => Span::from_secs_f64(value).millis_f64(),
            "video" | "wire" => Rate::from_bps_f64(value).mbps_f64(),
            _ => value,
        }
    })
}

fn line(name: &str, cells: &[f64]) {
    let cells = cells.iter().map(|cell| {
        let digits = if *cell < 100.0 { 2 } else { 0 };
        format!("{cell:>8.digits$}")
    });
    println!("{name:<34}{}", cells.collect::<String>());
}

fn traces(directory: &Path) -> std::io::Result<Vec<(String, Arc<Trace>)>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // What is not text in Mahimahi's format (archives, notes) is left out.
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        if let Ok(trace) = Trace::parse(&text) {
            found.push((name.into_owned(), Arc::new(trace)));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: cellular DIRECTORY [SYSTEM]");
        return ExitCode::FAILURE;
    };
    let traces = match traces(Path::new(&directory)) {
        Ok(traces) if !traces.is_empty() => traces,
        Ok(_) => {
            eprintln!("{directory}: no trace in Mahimahi's format; unpack archives first");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("{directory}: {error}; is the path right?");
            return ExitCode::FAILURE;
        }
    };
    let only = arguments.next();
    let chosen = |system: &&System| only.as_ref().is_none_or(|name| name == system.name);
    let heads = COLUMNS.map(|(name, _)| format!("{name:>8}"));
    println!(
        "{:<34}{}",
        format!("{} traces", traces.len()),
        heads.concat()
    );
    for system in SYSTEMS.iter().filter(chosen) {
        let mut sums = [0.0; COLUMNS.len()];
        for (name, trace) in &traces {
            let cells = cells(&run(system, trace));
            if only.is_some() {
                line(name, &cells);
            }
            for (sum, cell) in sums.iter_mut().zip(cells) {
                *sum += cell / float(count(traces.len()));
            }
        }
        line(system.name, &sums);
    }
    ExitCode::SUCCESS
}
