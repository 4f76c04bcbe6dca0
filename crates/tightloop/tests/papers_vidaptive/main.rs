//! Claims about Vidaptive, each held between a lower and an upper band.
//!
//! The paper's figures, on its links with encoder models. One phase or seed
//! each; more of them, and what other settings do, are for a person:
//! `cargo test -p tightloop --test papers_vidaptive -- --ignored --nocapture`.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use tightloop::units::{count, float};

use trial::{Seen, Trial, backlogged, mean, median, steps, video};

mod trial;

#[track_caller]
fn between(what: &str, value: f64, low: f64, high: f64) {
    println!("  {what}: {value:.4} ({low:.4} to {high:.4})");
    assert!(
        (low..=high).contains(&value),
        "{what} is {value:.4}, not within {low:.4} and {high:.4}"
    );
}

fn copa(delta: f64) -> String {
    format!("name = \"copa\", delta = {delta:?}")
}

/// Fig. 2: 2 Mbit/s, half of one from 40 s, 2 again from 80 s. All changes are
/// late by `phase`, in seconds.
fn fig_2(flow: String, phase: f64) -> Seen {
    let [down, up] = [40.0, 80.0].map(|at| at + phase);
    let link = steps(&[(0.0, 2.0), (down, 0.5), (up, 2.0)]);
    let windows = [
        (2.0, down),
        (down + 2.0, up),
        (up + 2.0, 120.0),
        (down, down + 5.0),
    ];
    Trial::new(120.0, link, flow).run(&windows)
}

const VP8: &str = "name = \"vp8-paper\"";

/// Prints one run and gives its spikes: the longest queue and frame latency
/// in the five seconds after the drop, in ms.
fn spikes(seen: &Seen) -> (f64, f64) {
    let queue = seen.millis(3, "link.a.waited.max");
    let frame = seen.millis(3, "flow.0.frames.latency.max");
    println!("  after the drop: queue {queue:.0} ms (bound 150), frame {frame:.0} ms (ideal 230)");
    (queue, frame)
}

#[test]
#[ignore = "a look"]
fn look_at_fig_2() {
    for delta in [0.1, 0.5, 0.9] {
        for encoder in ["name = \"ideal\"", VP8] {
            let cc = copa(delta);
            let mut queues = vec![];
            for phase in 0..5 {
                let phase = 0.047 * f64::from(phase);
                let bulk = fig_2(backlogged(&cc), phase);
                let vid = fig_2(video(&cc, "name = \"vidaptive\"", encoder), phase);
                let ratios: Vec<f64> = (0..3).map(|at| vid.rate(at) / bulk.rate(at)).collect();
                println!(
                    "delta {delta} {encoder} phase {phase:.3}: bulk {:.3} {:.3} {:.3} ratios {ratios:.3?} video {:.3} {:.3} {:.3}",
                    bulk.rate(0),
                    bulk.rate(1),
                    bulk.rate(2),
                    vid.bitrate(0),
                    vid.bitrate(1),
                    vid.bitrate(2)
                );
                println!(
                    "    bulk queue spike {:.0}",
                    bulk.millis(3, "link.a.waited.max")
                );
                println!(
                    "    alpha {:.2} {:.2} {:.2} ",
                    mean(&vid.gauge("alpha", 2.0, 40.0)),
                    mean(&vid.gauge("alpha", 42.0, 80.0)),
                    mean(&vid.gauge("alpha", 82.0, 120.0))
                );
                queues.push(spikes(&vid).0);
            }
            println!("median {:.0}", median(queues));
        }
    }
    let _ = float(count(0));
    between("one", 1.0, 1.0, 1.0);
}
