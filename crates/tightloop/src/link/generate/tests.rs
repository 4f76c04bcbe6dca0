//! Generated traces: their mean, and what each knob is for.

use super::*;
use crate::units::count;

fn off(trace: &Trace, mean: Rate) -> f64 {
    (trace.mean().ratio(mean) - 1.0).abs()
}

#[test]
fn the_mean_is_the_one_asked_for_whatever_the_seed() {
    for seed in 0..10 {
        for kbps in [500, 5_000, 50_000] {
            let (mean, duration) = (Rate::from_kbps(kbps), Span::from_secs(30));
            let lte = Lte {
                mean,
                duration,
                ..Lte::default()
            }
            .trace(seed)
            .expect("a trace");
            let wifi = Wifi {
                mean,
                duration,
                ..Wifi::default()
            }
            .trace(seed)
            .expect("a trace");
            for trace in [lte, wifi] {
                assert_eq!(trace.period(), duration);
                assert!(off(&trace, mean) < 0.01, "{} for {mean}", trace.mean());
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_trace_and_another_seed_another() {
    let (lte, wifi) = (Lte::default(), Wifi::default());
    assert_eq!(lte.trace(1), lte.trace(1));
    assert_ne!(lte.trace(1), lte.trace(2));
    assert_eq!(wifi.trace(1), wifi.trace(1));
    assert_ne!(wifi.trace(1), wifi.trace(2));
}

/// The longest outage over 20 seeds of 60 s: near 300 ms × ln 40 ≈ 1.1 s.
#[test]
fn lte_has_outages_and_a_rate_that_wanders() {
    let quiet = Lte {
        outage_length: Span::ZERO,
        ..Lte::default()
    };
    let (mut outage, mut none, mut spread) = (Span::ZERO, Span::ZERO, 0.0);
    for seed in 0..20 {
        let with = Lte::default().trace(seed).expect("a trace").statistics();
        outage = outage.max(with.outage);
        spread += with.p95.ratio(with.p5) / 20.0;
        none = none.max(quiet.trace(seed).expect("a trace").statistics().outage);
    }
    assert!((0.5..3.0).contains(&outage.secs_f64()), "{outage}");
    assert!(none < Span::from_millis(100), "{none}");
    assert!((3.0..15.0).contains(&spread), "{spread}");
}

#[test]
fn wifi_comes_in_bursts_of_at_most_an_aggregate() {
    let wifi = Wifi::default();
    let trace = wifi.trace(3).expect("a trace");
    let bursts: Vec<usize> = trace
        .stamps()
        .chunk_by(|a, b| a == b)
        .map(<[Time]>::len)
        .collect();
    let largest = bursts.iter().copied().max().expect("bursts");
    assert!((20..=64).contains(&largest), "{largest}");
    // 60 s of turns each 4 ms, fewer as two may fall into a millisecond and
    // busy stretches (8 % of the time) have an eighth of them.
    let turns = count(bursts.len());
    assert!((10_000..15_000).contains(&turns), "{turns}");
}

#[test]
fn settings_that_make_no_trace_are_refused_with_a_reason() {
    let lte = |text: &str| {
        let lte: Lte = toml::from_str(text).expect(text);
        lte.trace(1).expect_err(text).to_string()
    };
    let wifi = |text: &str| {
        let wifi: Wifi = toml::from_str(text).expect(text);
        wifi.trace(1).expect_err(text).to_string()
    };
    for (error, reason) in [
        (lte("mean = \"0 bit/s\""), "nothing to carry"),
        (lte("duration = \"10 ms\""), "from 1 s"),
        (lte("share = 0"), "share = 0"),
        (lte("fast_memory = \"0 s\""), "fast_memory"),
        (lte("slow_deviation = 9"), "from 0 to 3"),
        (
            lte("outage_every = \"1 s\"\noutage_length = \"1 s\""),
            "nothing between",
        ),
        (wifi("mean = \"500 Mbit/s\""), "raise aggregate"),
        (wifi("steps = 0"), "at least 1"),
        (wifi("busy_factor = 0.5"), "busy_factor"),
        (wifi("gap = \"0 s\""), "gap"),
    ] {
        assert!(error.contains(reason), "{error}");
    }
    assert!(toml::from_str::<Lte>("rate = \"1 Mbit/s\"").is_err());
}
