//! Claims about Vidaptive, each held between a lower and an upper band.
//!
//! The paper's figures, on its links with encoder models. One phase or seed
//! each; more of them, and what other settings do, are for a person:
//! `cargo test -p tightloop --test papers_vidaptive -- --ignored --nocapture`.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use tightloop::units::{Rate, Span};
use tightloop::video::vidaptive::share::quantile;

use bands::{between, median};
use trial::{Seen, Trial, backlogged, mean, steps, video};

#[path = "../bands/mod.rs"]
mod bands;
mod trial;

fn copa(delta: f64) -> String {
    format!("name = \"copa\", delta = {delta:?}")
}

const VP8: &str = "name = \"vp8-paper\"";
const IDEAL: &str = "name = \"ideal\"";
const VIDAPTIVE: &str = "name = \"vidaptive\"";
const ROCC: &str = "name = \"rocc\"";

// --- a window nobody uses ---------------------------------------------------

/// An application that wants 1 Mbit/s for 100 s, then all it can get, on 2 Mbit/s.
/// Gives the window in kB before, and the longest queue after, in ms.
fn woken_up(cc: &str) -> (f64, f64) {
    let cap = "video.source.caps = [{ from = \"0 s\", to = \"100 s\", max_rate = \"1 Mbit/s\" }]";
    let flow = video(
        &format!("name = \"{cc}\""),
        "name = \"follow\", max = \"12 Mbit/s\"",
        IDEAL,
    );
    let trial = Trial::new(120.0, steps(&[(0.0, 2.0)]), format!("{flow}\n{cap}"));
    let seen = trial.run(&[(10.0, 100.0), (100.0, 120.0)]);
    between("video before", seen.bitrate(0), 0.9, 1.0);
    between(
        "queue before",
        seen.millis(0, "link.a.waited.max"),
        0.0,
        30.0,
    );
    let before = seen
        .windows
        .iter()
        .take_while(|(at, _)| at.secs_f64() < 100.0);
    let window = before.last().expect("a window").1;
    (window / 1e3, seen.millis(1, "link.a.waited.max"))
}

#[test]
fn a_window_that_grows_unused_becomes_seconds_of_queue() {
    let (window, queue) = woken_up("copa-webrtc");
    between("window in kB, its cap", window, 9_999.0, 10_000.0);
    between("longest queue", queue, 5_000.0, 40_000.0);
    let (window, queue) = woken_up("copa");
    between("window in kB", window, 10.0, 30.0);
    between("longest queue", queue, 20.0, 300.0);
}

// --- RoCC -------------------------------------------------------------------

#[test]
fn rocc_fills_the_link_with_one_round_trip_waiting_and_nothing_waits_under_loss() {
    // Of a tenth lost, a pace of 1.125 times what arrives grows by 1.2 % at
    // a time: the link is used, and nothing waits.
    let full = (0.0, (0.99, 1.01), (45.0, 56.0));
    let lossy = (0.1, (0.85, 1.01), (0.0, 10.0));
    for (loss, use_of, queue) in [full, lossy] {
        let link = format!("{}\nloss = {loss:?}", steps(&[(0.0, 10.0)]));
        let seen = Trial::new(30.0, link, backlogged(ROCC)).run(&[(5.0, 30.0)]);
        between(
            "utilisation",
            seen.number(0, "link.a.utilisation"),
            use_of.0,
            use_of.1,
        );
        between(
            "median queue",
            seen.millis(0, "link.a.waited.p50"),
            queue.0,
            queue.1,
        );
    }
}

// --- Fig. 2 -----------------------------------------------------------------

/// 2 Mbit/s, half of one from 40 s, 2 again from 80 s; all changes are late by
/// `phase`, in seconds. Looks at all but 2 s after each change, and at the 5 s
/// after the drop.
fn fig_2(flow: String, phase: f64, duration: f64) -> Seen {
    let [down, up] = [40.0, 80.0].map(|at| at + phase);
    let link = steps(&[(0.0, 2.0), (down, 0.5), (up, 2.0)]);
    let windows = [
        (2.0, down),
        (down + 2.0, up),
        (up + 2.0, 120.0),
        (down, down + 5.0),
    ];
    Trial::new(duration, link, flow).run(&windows)
}

/// The rate on the wire, as a part of the backlogged controller's own.
fn fig_2_rates(cc: &str, encoder: &str, phase: f64) {
    println!("{cc}, {encoder}");
    let bulk = fig_2(backlogged(cc), phase, 120.0);
    let seen = fig_2(video(cc, VIDAPTIVE, encoder), phase, 120.0);
    for window in 0..3 {
        between("backlogged", bulk.rate(window), 0.49, 2.01);
        let share = seen.rate(window) / bulk.rate(window);
        between("of the backlogged rate", share, 0.9, 1.1);
        println!("  video {:.2} Mbit/s", seen.bitrate(window));
    }
}

/// The medians of the longest queue and frame latency after the drop, and of the
/// backlogged controller's queue, in ms, over phases that divide a second.
fn fig_2_spikes(cc: &str, encoder: &str, phases: u32) -> [f64; 3] {
    let mut spikes = [vec![], vec![], vec![]];
    for phase in 0..phases {
        let phase = f64::from(phase) / f64::from(phases);
        let seen = fig_2(video(cc, VIDAPTIVE, encoder), phase, 46.0);
        let bulk = fig_2(backlogged(cc), phase, 46.0);
        spikes[0].push(seen.millis(3, "link.a.waited.max"));
        spikes[1].push(seen.millis(3, "flow.0.frames.latency.max"));
        spikes[2].push(bulk.millis(3, "link.a.waited.max"));
    }
    let [queue, frame, bulk] = spikes.map(median);
    println!(
        "{cc}, {encoder}, {phases} phases: queue {queue:.0} ms, frame {frame:.0} ms, \
         backlogged queue {bulk:.0} ms; bound 150, an ideal sender's frame 230"
    );
    [queue, frame, bulk]
}

#[test]
fn the_rate_is_the_backlogged_controllers_whatever_the_encoder_does() {
    fig_2_rates(&copa(0.5), VP8, 0.0);
    fig_2_rates(&copa(0.5), IDEAL, 0.0);
}

#[test]
fn a_drop_to_a_quarter_costs_little_more_than_the_bound() {
    // Copa's own swing has a period of five round trips: a quarter of a second.
    let [queue, frame, _] = fig_2_spikes(&copa(0.5), VP8, 25);
    between("queue", queue, 150.0, 250.0);
    between("frame", frame, 230.0, 600.0);
}

#[test]
#[ignore = "many settings: for a person to run"]
fn fig_2_for_other_settings() {
    for cc in [copa(0.1), copa(0.5), copa(0.9), ROCC.to_owned()] {
        for encoder in [IDEAL, VP8] {
            fig_2_spikes(&cc, encoder, 25);
            let bulk = fig_2(backlogged(&cc), 0.0, 120.0);
            let seen = fig_2(video(&cc, VIDAPTIVE, encoder), 0.0, 120.0);
            let shares: Vec<f64> = (0..3).map(|at| seen.rate(at) / bulk.rate(at)).collect();
            let video: Vec<f64> = (0..3).map(|at| seen.bitrate(at)).collect();
            println!("  of the backlogged rate {shares:.3?}, video {video:.2?} Mbit/s");
        }
    }
    // As browsers' receivers speak.
    let rarely = "\nfeedback.interval = \"50 ms\"";
    let [bulk, seen] = [backlogged(&copa(0.5)), video(&copa(0.5), VIDAPTIVE, VP8)]
        .map(|flow| fig_2(flow + rarely, 0.0, 120.0));
    println!("feedback every 50 ms");
    for window in 0..3 {
        let [rate, of] = [seen.rate(window), bulk.rate(window)];
        println!(
            "  {rate:.3} of {of:.3}, video {:.2} Mbit/s",
            seen.bitrate(window)
        );
    }
    for (name, seen) in [("backlogged", bulk), ("vidaptive", seen)] {
        println!(
            "  {name}: queue {:.0} ms",
            seen.millis(3, "link.a.waited.max")
        );
    }
}

// --- Fig. 3 -----------------------------------------------------------------

#[test]
fn a_frame_made_for_one_interval_takes_four_at_a_quarter_of_the_rate() {
    let frame = Rate::from_mbps(2).over(Span::from_millis(33));
    assert_eq!(frame.at(Rate::from_kbps(500)), Some(Span::from_millis(132)));
}

// --- Fig. 6 -----------------------------------------------------------------

/// α and d from 5 to 30 s on a steady 10 Mbit/s.
fn steady(cc: &str, encoder: &str) -> (f64, Vec<f64>) {
    let link = steps(&[(0.0, 10.0)]);
    let seen = Trial::new(30.0, link, video(cc, VIDAPTIVE, encoder)).run(&[(5.0, 30.0)]);
    let mut times = seen.gauge("service_time_s", 5.0, 30.0);
    times.dedup();
    times.sort_by(f64::total_cmp);
    (mean(&seen.gauge("alpha", 5.0, 30.0)), times)
}

#[test]
fn on_a_steady_link_an_even_video_has_nearly_all_and_a_lively_one_less() {
    let (even, times) = steady(&copa(0.5), IDEAL);
    between("α of an even video", even, 0.9, 1.0);
    let p90 = quantile(&times, 0.9).expect("frames") * 1e3;
    between("P90 of d in ms", p90, 31.0, 33.5);
    let (lively, times) = steady(&copa(0.5), VP8);
    between("α of a lively one", lively, 0.5, even - 0.1);
    let p90 = quantile(&times, 0.9).expect("frames") * 1e3;
    between("P90 of d in ms", p90, 31.0, 36.5);
}

/// α within 5 to 10 s, 10 to 20 s and 22 to 24 s on 1.5 Mbit/s, which between 10
/// and 20 s jumps between a third and five thirds of it every half second.
fn variable(cc: &str, encoder: &str, seed: u64) -> [f64; 3] {
    let jump = |nth: u32| {
        let mbps = if nth.is_multiple_of(2) { 0.5 } else { 2.5 };
        (10.0 + 0.5 * f64::from(nth), mbps)
    };
    let mut link = vec![(0.0, 1.5)];
    link.extend((0..20).map(jump));
    link.push((20.0, 1.5));
    let trial = Trial::new(24.0, steps(&link), video(cc, VIDAPTIVE, encoder)).seed(seed);
    let seen = trial.run(&[]);
    [(5.0, 10.0), (10.0, 20.0), (22.0, 24.0)].map(|(from, to)| mean(&seen.gauge("alpha", from, to)))
}

/// The medians over five seeds: how a frame clock meets the rate's jumps differs.
fn median_variable(cc: &str, encoder: &str) -> [f64; 3] {
    let seeds: Vec<_> = (1..=5).map(|seed| variable(cc, encoder, seed)).collect();
    [0, 1, 2].map(|part| median(seeds.iter().map(|values| values[part]).collect()))
}

#[test]
fn a_rate_that_jumps_lowers_alpha_until_it_is_steady_again() {
    let [before, during, after] = median_variable(ROCC, IDEAL);
    between("α before", before, 0.9, 1.0);
    between("α during", during, 0.05, before - 0.1);
    between("α after", after, 0.9, 1.0);
    // Six packets are the whole pipe, and Copa's window swings by five: for
    // frames that is a rate that jumps. A window that does not move shows it.
    let still = "name = \"fixed\", window = \"12 kB\"";
    let [before, during, after] = median_variable(still, IDEAL);
    between("α before, still window", before, 0.9, 1.0);
    between("α during", during, 0.05, before - 0.1);
    between("α after", after, 0.9, 1.0);
    let [before, during, after] = median_variable(&copa(0.5), VP8);
    between("α before, Copa", before, 0.55, 0.85);
    between("α during", during, 0.05, before - 0.1);
    between("α after", after, before - 0.1, before + 0.2);
}

#[test]
#[ignore = "many settings: for a person to run"]
fn fig_6_for_other_settings() {
    let controllers = [copa(0.1), copa(0.5), copa(0.9), ROCC.to_owned()];
    for cc in controllers {
        for encoder in [IDEAL, VP8] {
            let (alpha, times) = steady(&cc, encoder);
            let p90 = quantile(&times, 0.9).expect("frames") * 1e3;
            println!("{cc}, {encoder}: steady α {alpha:.2}, P90(d) {p90:.1} ms");
            for seed in 1..=5 {
                println!(
                    "  variable, seed {seed}: {:.2?}",
                    variable(&cc, encoder, seed)
                );
            }
        }
    }
}

// --- ablations --------------------------------------------------------------

/// A minute on a link that changes as a cellular one does, by hand: the rates
/// in Mbit/s, 2 s each.
fn cellular(cc: &str, rate_control: &str, encoder: &str, fps: u32, scale: f64) -> Seen {
    const RATES: [f64; 12] = [4.0, 1.0, 0.3, 3.0, 0.8, 6.0, 2.0, 0.5, 5.0, 0.1, 2.5, 1.5];
    let rate = |nth: usize| {
        let at = 2.0 * f64::from(u32::try_from(nth).expect("few"));
        (at, scale * RATES[nth % RATES.len()])
    };
    let link: Vec<(f64, f64)> = (0..30).map(rate).collect();
    let flow = video(cc, rate_control, encoder).replace("fps = 30", &format!("fps = {fps}"));
    Trial::new(60.0, steps(&link), flow).run(&[(5.0, 60.0)])
}

/// Latency's 95th percentile and mean in ms, video in Mbit/s, frames a second.
fn summary(name: &str, seen: &Seen) -> [f64; 4] {
    let values = [
        seen.millis(0, "flow.0.frames.latency.p95"),
        seen.millis(0, "flow.0.frames.latency.mean"),
        seen.bitrate(0),
        seen.number(0, "flow.0.frames.fps"),
    ];
    println!("{name}: p95, mean, video, fps {values:.2?}");
    values
}

#[test]
fn every_part_of_vidaptive_is_worth_what_the_paper_says() {
    let with = |cc: &str, rate_control: &str| {
        let name = format!("name = \"{rate_control}\"");
        summary(rate_control, &cellular(cc, &name, VP8, 30, 1.0))
    };
    let copa = copa(0.5);
    let [p95, mean, rate, fps] = with(&copa, "vidaptive");
    let no_filler = with(&copa, "vidaptive-no-filler");
    let no_pause = with(&copa, "vidaptive-no-pause");
    let no_share = with(&copa, "vidaptive-no-share");
    let rocc = with(ROCC, "vidaptive");
    let webrtc = with("name = \"copa-webrtc\"", "follow");
    let optimizer = with("name = \"copa-webrtc\"", "latency-optimizer");
    between("video without filler", no_filler[2] / rate, 0.55, 0.85);
    between("p95 without pause", no_pause[0] / p95, 2.0, 10.0);
    between("video without share", no_share[2] / rate, 1.02, 1.6);
    between("frames without share", no_share[3] / fps, 0.5, 0.98);
    between("mean of RoCC", rocc[1] / mean, 1.0, 5.0);
    between("mean of Copa in WebRTC", webrtc[1], 1_000.0, 20_000.0);
    between("video of Latency Optimizer", optimizer[2] / rate, 0.05, 0.5);
}

#[test]
fn salsify_has_more_picture_and_where_the_link_is_poor_more_latency() {
    let unruled = "name = \"fixed\", target = \"12 Mbit/s\"";
    let both = |scale| {
        let salsify = cellular(unruled, "name = \"salsify\"", IDEAL, 24, scale);
        let vidaptive = cellular(&copa(0.5), VIDAPTIVE, VP8, 24, scale);
        let [salsify, vidaptive] = [
            summary("salsify", &salsify),
            summary("vidaptive", &vidaptive),
        ];
        std::array::from_fn(|at| salsify[at] / vidaptive[at])
    };
    let [p95, mean, rate, fps]: [f64; 4] = both(1.0);
    between("p95", p95, 0.8, 1.3);
    between("mean", mean, 0.8, 1.3);
    between("video", rate, 1.1, 2.0);
    between("frames", fps, 0.8, 1.0);
    // At times a fifth of these rates is less than its coarsest frames take.
    let [p95, mean, rate, fps]: [f64; 4] = both(0.2);
    between("p95", p95, 1.2, 10.0);
    between("mean", mean, 1.5, 4.0);
    between("video", rate, 1.1, 3.0);
    between("frames", fps, 0.4, 0.95);
}
