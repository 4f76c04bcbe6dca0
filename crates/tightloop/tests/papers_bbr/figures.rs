//! Every figure of Delay-BBR's paper that has one path, five seeds each:
//! `cargo test --release -p tightloop --test papers_bbr -- --ignored --nocapture`.

use super::bands::median;
use super::bottleneck::{CASES, Flow, LENGTH, Sends, Shared, three};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

const DELAY_BBR: &str = "name = \"delay-bbr\"";
const LITERAL: &str = "name = \"delay-bbr\", capped = false";
const CODE: &str = "name = \"delay-bbr\", alpha = 0.95";
const QUIC: &str = "name = \"bbr-quic\"";
/// Its ProbeRTT at three quarters of the BDP, so that the queue is never seen empty.
pub(crate) const SHALLOW: &str = "name = \"bbr-quic\", probe_rtt_gain = 0.75";
const WEBRTC: &str = "name = \"bbr-webrtc\"";
const GCC: &str = "name = \"gcc\"";

/// Median, least and greatest.
fn spread(of: impl Iterator<Item = f64>) -> String {
    let all: Vec<f64> = of.collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:7.2} [{low:7.2}, {high:7.2}]", median(all))
}

fn line(name: &str, case: usize, runs: &[Shared]) {
    let (mbps, buffer) = CASES[case];
    println!(
        "case {} ({mbps} Mbit/s, {buffer} ms) {name:20} owd ms {}  loss % {}  jain {}  least/fair {}",
        case + 1,
        spread(runs.iter().map(Shared::delay)),
        spread(runs.iter().map(Shared::loss)),
        spread(runs.iter().map(|run| run.jain(120, LENGTH))),
        spread(runs.iter().map(|run| run.least(120, LENGTH))),
    );
}

fn runs(case: usize, cc: &'static str, sends: Sends) -> Vec<Shared> {
    SEEDS
        .map(|seed| Shared::of(CASES[case], &three(cc, sends), seed))
        .collect()
}

#[test]
#[ignore = "a table for who asks"]
fn figures_3_and_4() {
    for (name, cc) in [
        ("delay-bbr", DELAY_BBR),
        ("delay-bbr literal", LITERAL),
        ("delay-bbr alpha .95", CODE),
        ("bbr-quic", QUIC),
        ("bbr-quic shallow", SHALLOW),
    ] {
        for case in 0..CASES.len() {
            line(name, case, &runs(case, cc, Sends::All));
        }
    }
}

#[test]
#[ignore = "a table for who asks"]
fn figures_5_and_6() {
    for (name, cc) in [
        ("delay-bbr", DELAY_BBR),
        ("bbr-quic", QUIC),
        ("bbr-quic shallow", SHALLOW),
    ] {
        let runs = runs(1, cc, Sends::All);
        for flow in 0..3 {
            println!(
                "case 2 {name:16} flow {flow}: mean Mbit/s {}  5-95 % range {}",
                spread(runs.iter().map(|run| run.mean(flow, 120, LENGTH))),
                spread(runs.iter().map(|run| run.swing(flow, 100, LENGTH))),
            );
        }
    }
}

#[test]
#[ignore = "a table for who asks"]
fn figure_7() {
    // Growth by bytes, as in Linux, and by delayed acknowledgements, as by the
    // RFC's letter.
    for (name, cc, per_ack) in [
        ("reno", "name = \"reno\"", 1),
        ("reno by ack", "name = \"reno\", byte_counting = false", 2),
    ] {
        let flows = beside(cc, per_ack);
        let runs: Vec<Shared> = SEEDS
            .map(|seed| Shared::of(CASES[1], &flows, seed))
            .collect();
        let share =
            |run: &Shared| run.mean(0, 50, 200) / (run.mean(0, 50, 200) + run.mean(1, 50, 200));
        println!("share beside {name} {}", spread(runs.iter().map(share)));
        for (from, to) in [(20, 50), (200, 210), (215, LENGTH)] {
            println!(
                "  {from} to {to} s, Mbit/s {}",
                spread(runs.iter().map(|run| run.mean(0, from, to)))
            );
        }
    }
}

/// Delay-BBR from the start, and another flow from 50 to 200 s.
pub(crate) fn beside(cc: &'static str, per_ack: u32) -> [Flow; 2] {
    [
        Flow {
            cc: DELAY_BBR,
            sends: Sends::All,
            per_ack: 1,
            from: 0,
            to: LENGTH,
        },
        Flow {
            cc,
            sends: Sends::All,
            per_ack,
            from: 50,
            to: 200,
        },
    ]
}

#[test]
#[ignore = "a table for who asks"]
fn figures_8_to_10_and_table_2() {
    for case in [0, 3, 6] {
        line("delay-bbr", case, &runs(case, DELAY_BBR, Sends::All));
        line(
            "delay-bbr video",
            case,
            &runs(case, DELAY_BBR, Sends::Video),
        );
        line("gcc video", case, &runs(case, GCC, Sends::Video));
        line("bbr-webrtc", case, &runs(case, WEBRTC, Sends::All));
        line("bbr-webrtc video", case, &runs(case, WEBRTC, Sends::Video));
    }
}
