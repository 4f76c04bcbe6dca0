//! Recorded arrivals of a stream over cable and Wi-Fi, fed to the detector.
//!
//! A stream far below what the link carries: whatever the detector says is
//! about the link's jitter, not about its load. The recordings are not part of
//! the project: `TIGHTLOOP_ARRIVALS` names a folder of files with a line
//! `media_us,arrival_us` for each packet, both from the first packet.

use std::path::Path;

use tightloop::cc::gcc::delay::Detector;
use tightloop::cc::gcc::trend::Usage;
use tightloop::units::{Span, Time};

use super::between;

/// Overuses found in 300 s of each recording, and of how many packets the
/// detector thought the link overused, in per mille.
const RECORDINGS: [(&str, f64, f64); 4] = [
    ("ethernet-baseline.csv", 0.0, 0.0),
    ("wifi-5ghz-good.csv", 0.0, 0.0),
    ("wifi-2.4ghz.csv", 0.0, 0.0),
    ("wifi-2.4ghz-to-5ghz-bad.csv", 0.0, 0.0),
];

#[test]
#[ignore = "needs recordings: TIGHTLOOP_ARRIVALS names their folder"]
fn jitter_is_taken_for_overuse_so_often() {
    let Some(folder) = std::env::var_os("TIGHTLOOP_ARRIVALS") else {
        println!("skipped: TIGHTLOOP_ARRIVALS names no folder");
        return;
    };
    for (name, overuses, share) in RECORDINGS {
        let path = Path::new(&folder).join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("skipped: there is no {}", path.display());
            continue;
        };
        let mut detector = Detector::new(20);
        let (mut packets, mut over) = (0.0, 0.0);
        for line in text.lines().skip(1) {
            let (sent, arrived) = line.split_once(',').expect("two columns");
            let at = |column: &str| {
                let micros = column.trim().parse().expect("whole microseconds");
                Time::from_secs(1) + Span::from_micros(micros)
            };
            let arrived = at(arrived);
            detector.push(arrived, at(sent), arrived.on_clock(Span::ZERO, 0));
            packets += 1.0;
            over += f64::from(u8::from(detector.usage() == Usage::Over));
        }
        println!("{name}");
        let found = f64::from(u32::try_from(detector.overuses()).expect("few"));
        between("overuses", found, overuses, overuses);
        between(
            "per mille",
            1e3 * over / packets,
            share - 0.05,
            share + 0.05,
        );
    }
}
