//! What the unit tests of the reference ask of the delay-based half, and what a
//! controller does with probes and settings.

use super::acked::AckedRate;
use super::aimd::Aimd;
use super::arrivals::Spacing;
use super::delay::{Arrived, DelayBased};
use super::probe::Estimates;
use super::trend::{Trend, Usage};
use super::*;
use crate::units::{Bytes, Span};

const WINDOW: usize = 20;

/// Rounded, as the reference's times are.
fn whole_millis(at: Time) -> Time {
    let milli = Span::from_millis(1);
    let millis = (at.since_epoch() + milli / 2).as_nanos() / milli.as_nanos();
    Time::ZERO + Span::from_millis(millis)
}

/// [AlphaRTC] delay_based_bwe_unittest_helper: the delay-based half on an ideal
/// link, in whole milliseconds.
struct Bench {
    now: Time,
    /// The receiver's clock against ours.
    offset: Span,
    delay: DelayBased,
    acked: AckedRate,
    estimates: Estimates,
    capacity: Rate,
    free: Time,
    /// The rate of the last decision, if there was any.
    latest: Option<Rate>,
}

impl Bench {
    fn new() -> Self {
        let now = Time::from_secs(100);
        Self {
            now,
            offset: Span::ZERO,
            delay: DelayBased::new(WINDOW, Aimd::new(0.85, Rate::from_kbps(5))),
            acked: AckedRate::default(),
            estimates: Estimates::default(),
            capacity: Rate::from_mbps(1),
            free: now,
            latest: None,
        }
    }

    fn rate(&self) -> Option<Rate> {
        self.delay.aimd().rate()
    }

    /// Packets of so many bytes that left and arrived then; those of a probe.
    fn feed(&mut self, packets: &[(Bytes, Time, Time)], probe: Option<(u64, u32, u64)>) -> bool {
        let offset = self.offset;
        let remote = |at| whole_millis(at).on_clock(Span::from_secs(1_000) + offset, 0);
        let mut found = None;
        for (size, sent, arrived) in packets {
            if let Some((cluster, packets, bytes)) = probe {
                let probe = crate::cc::gcc::probe::Probe {
                    cluster,
                    packets,
                    bytes: Bytes::new(bytes),
                };
                let at = remote(*arrived);
                found = self.estimates.push(probe, *size, *sent, at).or(found);
            }
            self.acked.push(remote(*arrived), *size, false);
        }
        let now = whole_millis(self.now);
        let packets = packets.iter().map(|(_, sent, arrived)| Arrived {
            sent: whole_millis(*sent),
            at: remote(*arrived),
        });
        let outcome = self.delay.update(now, packets, self.acked.rate(), found);
        if outcome.updated {
            self.latest = self.rate();
        }
        outcome.updated
    }

    /// One packet that arrives now.
    fn packet(&mut self, size: u64, sent: Time, probe: Option<(u64, u32, u64)>) -> bool {
        self.feed(&[(Bytes::new(size), sent, self.now)], probe)
    }

    /// One frame through the link; true where the rate was decided upon.
    fn frame(&mut self, rate: Rate, fps: i64) -> bool {
        let interval = Span::from_micros(
            Span::from_secs(1).as_nanos() / Span::from_micros(1).as_nanos() / fps,
        );
        let size = rate.over(interval);
        let mtu = Bytes::new(1_200);
        // Rounded to the nearest number of packets, not up.
        let packets = ((size + mtu / 2).get() / mtu.get()).max(1);
        let size = size / packets;
        let service = size.at(self.capacity).expect("a rate");
        let sent = self.now;
        let mut arrivals = Vec::new();
        for _ in 0..packets {
            self.free = self.free.max(sent) + service;
            arrivals.push((size, sent, self.free));
        }
        self.now = self.free;
        let updated = self.feed(&arrivals, None);
        // The reference's clock goes back here, where packets queue.
        self.now = sent + interval;
        updated
    }
}

fn near(found: Option<Rate>, expected: u64, tolerance: u64) {
    let found = found.expect("a rate").as_bps();
    assert!(
        found.abs_diff(expected) <= tolerance,
        "{found} against {expected} ± {tolerance} bit/s"
    );
}

// [AlphaRTC] trendline_estimator_unittest.
#[test]
fn the_trend_ends_in_the_references_states_and_stays() {
    for (factor, expected) in [
        (1.0, Usage::Normal),
        (1.1, Usage::Over),
        (0.85, Usage::Under),
    ] {
        let mut trend = Trend::new(WINDOW);
        let received = |nth: i64| {
            let after = Span::from_millis(nth * 20) * factor;
            let whole =
                after - Span::from_nanos(after.as_nanos() % Span::from_millis(1).as_nanos());
            (Time::from_millis(987_654_321) + whole).on_clock(Span::ZERO, 0)
        };
        let mut states = vec![Usage::Normal];
        for nth in 1..25 {
            let spacing = Spacing {
                sent: Span::from_millis(20),
                arrived: received(nth) - received(nth - 1),
            };
            trend.push(spacing, received(nth));
            if states.last() != Some(&trend.usage()) {
                states.push(trend.usage());
            }
        }
        let want: &[Usage] = match expected {
            Usage::Normal => &[Usage::Normal],
            other => &[Usage::Normal, other],
        };
        assert_eq!(states, want, "factor {factor}");
    }
}

// [AlphaRTC] delay_based_bwe_unittest.
#[test]
fn the_first_rate_comes_from_a_probe_and_grows_as_the_references() {
    let mut bench = Bench::new();
    bench.now += Span::from_secs(2);
    let mut sent = Time::ZERO;
    for nth in 0..253 {
        let probe = (nth < 5).then_some((0, 5, 5_000));
        if nth == 2 {
            assert_eq!(bench.rate(), None);
        }
        bench.packet(1_200, sent, probe);
        bench.now += Span::from_millis(20);
        sent += Span::from_millis(20);
    }
    near(bench.latest, 730_000, 50_000);
    // Packets out of order change little.
    for _ in 0..10 {
        bench.now += Span::from_millis(40);
        sent += Span::from_millis(40);
        bench.packet(1_000, sent, None);
        bench.packet(1_000, sent - Span::from_millis(20), None);
    }
    near(bench.latest, 730_000, 50_000);
}

// [AlphaRTC] delay_based_bwe_unittest.
#[test]
fn frames_until_500_kbit_s_are_the_references() {
    let mut bench = Bench::new();
    let mut rate = Rate::from_kbps(30);
    let mut frames = 0;
    while rate < Rate::from_kbps(500) {
        if bench.frame(rate, 30) {
            rate = bench.latest.expect("a rate");
        }
        frames += 1;
    }
    assert_eq!(frames, 622);
}

// [AlphaRTC] delay_based_bwe_unittest.
#[test]
fn probes_find_the_references_rates() {
    let burst = |bench: &mut Bench, packets: u32, probe, sending: i64, receiving: i64| {
        let mut sent = bench.now;
        for _ in 0..packets {
            bench.now += Span::from_millis(receiving);
            sent += Span::from_millis(sending);
            bench.packet(1_000, sent, probe);
        }
    };
    let mut bench = Bench::new();
    burst(&mut bench, 5, Some((0, 5, 2_000)), 10, 10);
    assert!(bench.latest.is_some());
    burst(&mut bench, 8, Some((1, 8, 4_000)), 5, 5);
    let found = bench.latest.expect("a rate");
    assert!((Rate::from_kbps(1_500)..Rate::from_kbps(1_650)).contains(&found));

    let mut bench = Bench::new();
    burst(&mut bench, 5, Some((0, 5, 2_000)), 10, 1);
    assert_eq!(bench.latest, None, "arrivals too fast to be true");

    let mut bench = Bench::new();
    burst(&mut bench, 8, Some((1, 8, 4_000)), 5, 7);
    near(bench.latest, 1_083_000, 10_000);

    let mut bench = Bench::new();
    burst(&mut bench, 8, Some((1, 8, 4_000)), 1, 2);
    near(bench.latest, 3_800_000, 10_000);
}

// [AlphaRTC] delay_based_bwe_unittest.
#[test]
fn without_an_acknowledged_rate_the_first_cut_halves() {
    let mut bench = Bench::new();
    let start = Rate::from_kbps(300);
    bench.delay = {
        let mut aimd = Aimd::new(0.85, Rate::from_kbps(5));
        aimd.start(start);
        DelayBased::new(WINDOW, aimd)
    };
    bench.capacity = Rate::from_kbps(200);
    let mut rate = start;
    for _ in 0..30 {
        let updated = bench.frame(rate, 90);
        assert_eq!(bench.acked.rate(), None);
        if updated {
            let latest = bench.latest.expect("a rate");
            if latest < rate {
                near(Some(latest), 150_000, 15_000);
                return;
            }
            rate = latest;
        }
    }
    panic!("no cut in a third of a second");
}

// [AlphaRTC] delay_based_bwe_unittest.
#[test]
fn a_drop_of_the_capacity_is_followed_in_the_references_time() {
    for (jump, expected) in [(0, 300), (30, 867), (-30, 933)] {
        let mut bench = Bench::new();
        let mut rate = Rate::from_kbps(900);
        let mut cut = false;
        for _ in 0..300 {
            if bench.frame(rate, 30) {
                let latest = bench.latest.expect("a rate");
                cut |= latest < rate;
                rate = latest;
            }
            if cut && rate > Rate::from_mbps(1) {
                break;
            }
        }
        near(Some(rate), 1_000_000, 180_000);
        bench.offset = Span::from_secs(jump);
        bench.capacity = Rate::from_kbps(500);
        let dropped = bench.now;
        let mut after = None;
        for _ in 0..100 {
            let updated = bench.frame(rate, 30);
            let latest = bench.latest.expect("a rate");
            if after.is_none() && updated && latest <= Rate::from_kbps(500) {
                after = Some(whole_millis(bench.now) - whole_millis(dropped));
            }
            rate = latest;
        }
        let after = after.expect("it fell").millis_f64();
        assert!(
            (after - f64::from(expected)).abs() <= 33.0,
            "{after} ms against {expected} after a jump of {jump} s"
        );
    }
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| {
        let start = Start {
            params,
            ..Start::plain()
        };
        Gcc::new(&start).expect_err("refused").to_string()
    };
    assert!(refused(toml::toml! { start = "1 Mbit/s" }).contains("unknown field `start`"));
    assert!(refused(toml::toml! { backoff = 1.0 }).contains("cuts nothing"));
    assert!(refused(toml::toml! { pacing_factor = 0.9 }).contains("at least 1"));
    assert!(refused(toml::toml! { window = 1 }).contains("2 to 1000"));
    assert!(refused(toml::toml! { min = "0 bit/s" }).contains("above zero"));
    assert!(refused(toml::toml! { loss = "none" }).contains("likelihood"));
}

#[test]
fn the_target_stays_within_the_applications_limits() {
    let start = Start {
        params: toml::toml! {
            initial = "8 Mbit/s"
            max = "3 Mbit/s"
        },
        max_rate: Some(Rate::from_mbps(2)),
        ..Start::plain()
    };
    let gcc = Gcc::new(&start).expect("good settings");
    let control = gcc.control();
    assert_eq!(control.target, Some(Rate::from_mbps(2)));
    assert_eq!(control.pacing, Some(Rate::from_mbps(5)));
    assert_eq!((control.window, control.floor), (None, None));
}
