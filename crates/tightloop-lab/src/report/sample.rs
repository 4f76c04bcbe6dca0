//! Reports of a coarse fluid model, for tests and for looking at the page.
//!
//! Nothing here measures a controller: the shapes are alike, the numbers are
//! made up.

mod model;

use super::page::{Frames, Page, Run, Series, Summary};
use model::{BIN, Law, run};

/// One flow alone on a constant link, for five seconds.
pub(super) fn one_flow() -> Page {
    page(
        "One flow",
        vec![run("sqp", 5.0, &[(Law::Follow, 0.0)], |_| 20.0, 1)],
    )
}

/// Two controllers on the same link, which fades like a cellular one.
pub(super) fn two_runs() -> Page {
    page(
        "SQP and Cubic on a fading link",
        vec![
            run("sqp", 60.0, &[(Law::Follow, 0.0)], lte, 1),
            run("cubic", 60.0, &[(Law::Fill, 0.0)], lte, 1),
        ],
    )
}

/// Six flows that join one after the other.
fn six_flows() -> Page {
    let flows: Vec<_> = (0..6).map(|n| (Law::Swing, f64::from(n) * 8.0)).collect();
    page(
        "Six flows share a link",
        vec![run("copa ×6", 90.0, &flows, |_| 30.0, 3)],
    )
}

/// Three runs of two flows each, on a link with steps.
fn three_by_two() -> Page {
    let steps = |t: f64| if (20.0..40.0).contains(&t) { 5.0 } else { 20.0 };
    let runs = [
        (Law::Follow, "sqp"),
        (Law::Fill, "cubic"),
        (Law::Swing, "copa"),
    ];
    page(
        "20 → 5 → 20 Mbit/s, three controllers",
        runs.map(|(law, name)| run(name, 60.0, &[(law, 0.0), (law, 5.0)], steps, 5))
            .to_vec(),
    )
}

/// Ten minutes with 36,000 frames per flow.
fn long_call() -> Page {
    page(
        "A long call",
        vec![
            run("sqp", 600.0, &[(Law::Follow, 0.0)], lte, 8),
            run("copa", 600.0, &[(Law::Swing, 0.0)], lte, 8),
        ],
    )
}

/// A flow without video, and nothing known of its inside.
fn no_video() -> Page {
    let mut page = one_flow();
    let flow = &mut page.runs[0].flows[0];
    (flow.frames, flow.target) = (Frames::default(), Series::default());
    flow.gauges.clear();
    let Summary {
        throughput,
        utilisation,
        delay_p50,
        delay_p95,
        delay_p99,
        loss,
        ..
    } = flow.summary;
    flow.summary = Summary {
        throughput,
        utilisation,
        delay_p50,
        delay_p95,
        delay_p99,
        loss,
        ..Summary::default()
    };
    page
}

/// Every sample with a name for its file.
pub(super) fn all() -> Vec<(&'static str, Page)> {
    vec![
        ("one-flow", one_flow()),
        ("two-runs", two_runs()),
        ("six-flows", six_flows()),
        ("three-by-two", three_by_two()),
        ("long-call", long_call()),
        ("no-video", no_video()),
        ("empty", Page::default()),
    ]
}

/// Slow and fast fading, and one outage.
fn lte(t: f64) -> f64 {
    let slow = (t / 9.0).sin() * 5.0 + (t / 3.1 + 1.0).sin() * 2.5;
    let fast = (t * 2.3).sin() * 1.3 + (t * 5.9).cos() * 0.9 + (t * 17.0).sin() * 0.6;
    if (41.0..41.7).contains(&t) {
        0.0
    } else {
        (10.5 + slow + fast).max(0.6)
    }
}

fn page(title: &str, runs: Vec<Run>) -> Page {
    let definitions = [
        (
            "throughput",
            "Received bytes, IP headers included, over the time from a flow's first packet to the end.",
        ),
        (
            "one-way delay",
            "Arrival at the receiver less departure from the sender, after the pacer.",
        ),
        (
            "frame latency",
            "Capture to display. A frame never shown has the latency until the next one that was.",
        ),
        (
            "utilisation",
            "Received bytes over what the bottleneck could have carried in the same time.",
        ),
    ];
    Page {
        title: title.to_owned(),
        subtitle: "A made-up run for looking at the page".to_owned(),
        version: format!("tightloop {}", env!("CARGO_PKG_VERSION")),
        bin: BIN,
        runs,
        definitions: definitions
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec(),
        ..Page::default()
    }
}
