//! The kernel's controllers against ours of the same names, and ours over real
//! sockets against themselves.

use anyhow::Result;
use serde_json::json;
use tightloop::analysis::Window;
use tightloop::link::Settings;
use tightloop::units::{Rate, Span, Time};
use tightloop_live::emulate::Lateness;
use tightloop_live::tcp;

use super::args::ValidateArgs;
use super::rows::{Allowed, Point, Row, table};
use super::trial::{Course, Peer};
use super::{Stage, chosen, offered, own, say};
use crate::out;

/// Named alike by the kernel and by us. The kernel's `bbr` is the first version.
const KERNELS: [&str; 3] = ["cubic", "reno", "bbr"];
/// Ours alone.
const OWN: [&str; 2] = ["sqp", "copa"];

/// What is held to be the same. Ours: for Cubic, which both sides follow an RFC
/// in, and whose queue shows every difference of the links; and for SQP, whose
/// nine tenths of a link are known beforehand.
fn allowed(peer: &str) -> Option<Allowed> {
    match peer {
        "cubic" => Some(Allowed::Shares {
            throughput: 0.02,
            p95: 0.1,
        }),
        "sqp" => Some(Allowed::Band {
            throughput: [17.5, 18.5],
            owd: 3.0,
        }),
        _ => None,
    }
}

/// A link, and what its windows are called.
struct Plan {
    course: Course,
    names: Vec<&'static str>,
}

/// The start is not measured on the steady link: a connection must be made
/// first. Ours: a twelfth of the run, 5 s of a minute.
const START: f64 = 1.0 / 12.0;
const FAST: Rate = Rate::from_mbps(20);
const SLOW: Rate = Rate::from_mbps(5);
const ONE_WAY: Span = Span::from_millis(20);
const PACKETS: u64 = 200;

fn steady(duration: Span) -> Plan {
    let end = Time::ZERO + duration;
    let from = Time::ZERO + duration * START;
    Plan {
        course: Course {
            bottleneck: Settings::fixed(FAST, PACKETS, ONE_WAY),
            back: Settings::wire(ONE_WAY),
            duration,
            windows: vec![Window { from, to: end }],
            ecn: false,
        },
        names: vec!["20 Mbit/s"],
    }
}

fn steps(phase: Span) -> Plan {
    let at = |phases: i64| Time::ZERO + phase * phases;
    let windows = (0..3).map(|place| Window {
        from: at(place),
        to: at(place + 1),
    });
    let bottleneck = Settings {
        rate: None,
        steps: Some(vec![(at(0), FAST), (at(1), SLOW), (at(2), FAST)]),
        ..Settings::fixed(FAST, PACKETS, ONE_WAY)
    };
    Plan {
        course: Course {
            bottleneck,
            back: Settings::wire(ONE_WAY),
            duration: phase * 3,
            windows: windows.collect(),
            ecn: false,
        },
        names: vec!["steps: 20", "steps: to 5", "steps: back to 20"],
    }
}

pub(super) fn main(args: &ValidateArgs) -> Result<bool> {
    let known = [&KERNELS[..], &OWN[..]].concat();
    let chosen = chosen(&args.only, &known)?.into_iter();
    let (kernels, own): (Vec<_>, Vec<_>) = chosen.partition(|name| KERNELS.contains(name));
    let mut stage = Stage::set()?;
    let peers = [offered(kernels), own].concat();
    let mut plans = vec![steady(args.duration)];
    if !args.steady {
        plans.push(steps(args.duration / 2));
    }
    let mut rows = Vec::new();
    let mut late: Option<Lateness> = None;
    for plan in &plans {
        for peer in &peers {
            say(&format!(
                "{peer}, {}: {}",
                plan.names[0], plan.course.duration
            ));
            let course = &plan.course;
            let (live, scenario) = if OWN.contains(peer) {
                let scenario = own::scenario(course, peer, &stage.ends);
                (course.live(&mut stage, Peer::Own(peer))?, scenario)
            } else {
                let flow = tcp::Settings::under(peer);
                let live = course.live(&mut stage, Peer::Kernel(&flow))?;
                (live, course.bulk(peer))
            };
            let simulated = course.simulate(&scenario)?;
            if live.strays > 0 {
                say(&format!(
                    "warning: the kernel dropped {} packets outside of the link",
                    live.strays
                ));
            }
            let worst = |it: &Lateness| it.quantile(0.99);
            if late
                .as_ref()
                .is_none_or(|late| worst(&live.lateness) > worst(late))
            {
                late = Some(live.lateness);
            }
            for ((name, live), simulated) in plan.names.iter().zip(&live.reports).zip(&simulated) {
                rows.push(Row {
                    peer: (*peer).to_owned(),
                    link: (*name).to_owned(),
                    live: Point::of(live),
                    simulated: Point::of(simulated),
                    allowed: allowed(peer).filter(|_| plan.names.len() == 1),
                });
            }
        }
    }
    let faults: Vec<String> = rows.iter().flat_map(Row::faults).collect();
    if args.json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        out::json(&json!({ "rows": rows, "faults": faults, "machine": stage.load() }))?;
    } else {
        out::print(&table(&rows))?;
    }
    if let Some(late) = late {
        say(&format!(
            "packets left at most {} late (p99 of the worst run)",
            out::span(late.quantile(0.99))
        ));
    }
    say(&stage.load());
    for fault in &faults {
        say(&format!("not as it should be: {fault}"));
    }
    Ok(faults.is_empty())
}
