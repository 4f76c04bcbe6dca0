//! Recorded arrivals of a stream over cable and Wi-Fi, fed to the detector.
//!
//! A stream far below what the link carries: whatever the detector says is
//! about the link's jitter, not about its load. The recordings are not part of
//! the project: `TIGHTLOOP_ARRIVALS` names a folder of files with a line
//! `media_us,arrival_us` for each packet, both from the first packet.

use std::path::Path;

use tightloop::cc::gcc::delay::Detector;
use tightloop::cc::gcc::trend::Usage;
use tightloop::units::{Span, Time, count, float};

use super::between;

/// A recording, how often an overuse begins in its 300 s, and the share of the
/// packets, in per mille, at which the detector thinks that the link is overused.
const RECORDINGS: [(&str, u64, f64); 4] = [
    ("ethernet-baseline.csv", 4, 0.64),
    ("wifi-5ghz-good.csv", 36, 12.60),
    ("wifi-2.4ghz.csv", 110, 37.38),
    ("wifi-2.4ghz-to-5ghz-bad.csv", 111, 27.88),
];

/// The stream's packets are this long.
const PACKET_MS: f64 = 5.0;

/// A recording's packets: when each was due to leave, and when it arrived.
fn packets(name: &str) -> Option<Vec<(Time, Time)>> {
    let Some(folder) = std::env::var_os("TIGHTLOOP_ARRIVALS") else {
        println!("skipped: TIGHTLOOP_ARRIVALS names no folder");
        return None;
    };
    let path = Path::new(&folder).join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: there is no {}", path.display());
        return None;
    };
    let at = |column: &str| {
        let micros = column.trim().parse().expect("whole microseconds");
        Time::from_secs(1) + Span::from_micros(micros)
    };
    let packet = |line: &str| {
        let (sent, arrived) = line.split_once(',').expect("two columns");
        (at(sent), at(arrived))
    };
    Some(text.lines().skip(1).map(packet).collect())
}

/// How often an overuse begins, and the share of packets within one, in per mille.
fn detect(packets: &[(Time, Time)]) -> (u64, f64) {
    let mut detector = Detector::new(20);
    let mut over = 0;
    for (sent, arrived) in packets {
        detector.push(*arrived, *sent, arrived.on_clock(Span::ZERO, 0));
        over += u64::from(detector.usage() == Usage::Over);
    }
    (
        detector.overuses(),
        1e3 * float(over) / float(count(packets.len())),
    )
}

#[test]
#[ignore = "needs recordings: TIGHTLOOP_ARRIVALS names their folder"]
fn jitter_is_taken_for_overuse_so_often() {
    for (name, overuses, share) in RECORDINGS {
        if let Some(packets) = packets(name) {
            let found = detect(&packets);
            println!("{name}: {} times, {:.2} per mille", found.0, found.1);
            assert_eq!(found.0, overuses, "{name}");
            between("per mille", found.1, share - 0.01, share + 0.01);
        }
    }
}

/// What the detector finds on the cable is the recorder's: it notes the media
/// time of a packet that is due, not when it left, and now and then falls one or
/// two packets behind. Steps of whole packets taken out, nothing is left.
#[test]
#[ignore = "needs recordings: TIGHTLOOP_ARRIVALS names their folder"]
fn on_the_cable_only_the_recorders_own_steps_look_like_overuse() {
    let Some(packets) = packets("ethernet-baseline.csv") else {
        return;
    };
    // Each delay is brought within half a packet of the one before.
    let mut before = Span::ZERO;
    let without_steps = packets.iter().map(|(sent, arrived)| {
        let step = (*arrived - *sent - before).millis_f64() / PACKET_MS;
        let arrived = *arrived - Span::from_millis(1) * (step.round() * PACKET_MS);
        before = arrived - *sent;
        (*sent, arrived)
    });
    let without_steps: Vec<_> = without_steps.collect();
    let (overuses, share) = detect(&without_steps);
    assert_eq!(overuses, 0);
    between("per mille", share, 0.0, 0.0);
}
