use proptest::prelude::*;

use super::bench::{Ack, Bench};
use super::*;
use crate::cc::pipe::{MSS, Pipe};
use crate::cc::{Params as Table, algorithm};
use crate::units::Span;

fn built(name: &str, text: &str) -> Box<dyn Controller> {
    let params: Table = toml::from_str(text).expect("settings");
    let start = Start {
        params,
        mss: MSS,
        ..Start::plain()
    };
    (algorithm(name).expect("known").new)(&start).expect("good settings")
}

fn gauge(cc: &dyn Controller, name: &str) -> f64 {
    Pipe::gauge(cc, name)
}

fn window(cc: &dyn Controller) -> f64 {
    cc.control().window.expect("a window").ratio(MSS)
}

fn pacing(cc: &dyn Controller) -> f64 {
    cc.control().pacing.expect("a pace").mbps_f64()
}

#[track_caller]
fn assert_near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-3, "{value} is not {wanted}");
}

/// In ProbeBW's first phase at this gain, 12 Mbit/s and 40 packets being the pipe.
fn probing(name: &str, gain: f64) -> (Box<dyn Controller>, Bench) {
    let (mut cc, mut bench) = (built(name, ""), Bench::new());
    for _ in 0..5 {
        let begins = true;
        bench.ack(
            &mut *cc,
            Ack {
                begins,
                ..Ack::plain()
            },
        );
    }
    bench.acks(&mut *cc, Ack::plain(), Span::from_millis(200));
    for _ in 0..1_000 {
        if (gauge(&*cc, "pacing_gain") - gain).abs() < 1e-9 {
            return (cc, bench);
        }
        // Enough in flight to leave the phase that asks for more.
        let in_flight = 60;
        bench.ack(
            &mut *cc,
            Ack {
                in_flight,
                ..Ack::plain()
            },
        );
    }
    panic!("no phase of gain {gain}");
}

#[test]
fn startup_paces_by_two_over_ln_two_until_three_rounds_bring_less_than_a_quarter() {
    let (mut cc, mut bench) = (built("bbr", ""), Bench::new());
    // Ten packets at once, as far as pacing goes: a first round trip of 1 ms.
    assert_near(pacing(&*cc), 2.885 * 120.0);
    let mut round = |mbps: u64| {
        let rate = Rate::from_mbps(mbps);
        let ack = Ack {
            rate,
            begins: true,
            ..Ack::plain()
        };
        bench.ack(
            &mut *cc,
            Ack {
                in_flight: 60,
                ..ack
            },
        );
        (gauge(&*cc, "state"), pacing(&*cc))
    };
    // 10 packets per 40 ms are 3 Mbit/s, more than the first sample says.
    assert_near(round(2).1, 2.885 * 3.0);
    for mbps in [5, 10, 20] {
        let (state, pacing) = round(mbps);
        assert_near(state, 0.0);
        assert_near(
            pacing,
            2.885 * 0.99 * f64::from(u32::try_from(mbps).expect("few")),
        );
    }
    assert_near(round(24).0, 0.0);
    assert_near(round(24).0, 0.0);
    // The third: 24 Mbit/s · 40 ms are 80 packets, and no more than 60 in flight.
    assert_near(round(24).0, 2.0);
}

#[test]
fn drain_lasts_until_a_pipe_and_three_pairs_are_in_flight() {
    let (mut cc, mut bench) = (built("bbr", ""), Bench::new());
    let mut ack = |in_flight, begins| {
        bench.ack(
            &mut *cc,
            Ack {
                in_flight,
                begins,
                ..Ack::plain()
            },
        );
        (gauge(&*cc, "state"), pacing(&*cc))
    };
    for _ in 0..3 {
        assert_near(ack(80, true).0, 0.0);
    }
    let (state, pace) = ack(80, true);
    assert_near(state, 1.0);
    assert_near(pace, 12.0 * 0.99 / 2.885);
    assert_near(ack(47, false).0, 1.0);
    assert_near(ack(46, false).0, 2.0);
}

#[test]
fn the_window_is_two_pipes_and_what_bunches_need() {
    let (cc, _) = probing("bbr", 1.0);
    // 2 · 40, three pairs, and one packet acknowledged at a time.
    assert_near(window(&*cc), 80.0 + 6.0 + 1.0);
    assert_near(pacing(&*cc), 12.0 * 0.99);
    assert_eq!(cc.control().target, None);
    let (mut cc, mut bench) = probing("bbr", 1.25);
    bench.ack(&mut *cc, Ack::plain());
    bench.ack(&mut *cc, Ack::plain());
    assert_near(window(&*cc), 80.0 + 6.0 + 2.0 + 1.0);
    let (cc, _) = probing("bbr-quic", 1.0);
    assert_near(window(&*cc), 81.0);
    assert_near(pacing(&*cc), 12.0);
    let (cc, _) = probing("bbr-webrtc", 1.0);
    assert_near(window(&*cc), 80.0);
}

#[test]
fn asking_for_more_ends_with_a_quarter_more_in_flight_or_a_loss() {
    let gain = |cc: &dyn Controller| gauge(cc, "pacing_gain");
    for (last, name) in [(57, "bbr"), (49, "bbr-quic")] {
        let (mut cc, mut bench) = probing(name, 1.25);
        // Longer than RTprop: 50 packets are asked for (58 with bunches), and one
        // less was in flight before this one arrived.
        let short = Ack {
            in_flight: last - 1,
            ..Ack::plain()
        };
        bench.acks(&mut *cc, short, Span::from_millis(100));
        assert_near(gain(&*cc), 1.25);
        bench.ack(
            &mut *cc,
            Ack {
                in_flight: last,
                ..short
            },
        );
        assert_near(gain(&*cc), 0.75);
        // Given back as soon as the pipe is all there is, long before RTprop.
        bench.ack(
            &mut *cc,
            Ack {
                in_flight: last,
                ..short
            },
        );
        assert_near(gain(&*cc), 0.75);
        bench.ack(
            &mut *cc,
            Ack {
                in_flight: 39,
                ..short
            },
        );
        assert_near(gain(&*cc), 1.0);

        let (mut cc, mut bench) = probing(name, 1.25);
        bench.acks(&mut *cc, Ack::plain(), Span::from_millis(100));
        assert_near(gain(&*cc), 1.25);
        bench.ack(
            &mut *cc,
            Ack {
                lost: 1,
                ..Ack::plain()
            },
        );
        assert_near(gain(&*cc), 0.75);
    }
}

#[test]
fn the_empty_path_is_visited_for_a_fifth_of_a_second_in_ten() {
    for (name, visit) in [("bbr", 4.0), ("bbr-quic", 4.0), ("bbr-webrtc", 30.0)] {
        let (mut cc, mut bench) = probing(name, 1.0);
        let seen = bench.now;
        bench.ack(
            &mut *cc,
            Ack {
                rtt: Span::from_millis(39),
                ..Ack::plain()
            },
        );
        bench.acks(&mut *cc, Ack::plain(), Span::from_secs(10));
        assert_near(gauge(&*cc, "state"), 2.0);
        let before = gauge(&*cc, "cwnd");
        bench.ack(&mut *cc, Ack::plain());
        assert!(bench.now > seen + Span::from_secs(10));
        assert_near(gauge(&*cc, "state"), 3.0);
        assert_near(window(&*cc), visit);
        assert_near(gauge(&*cc, "pacing_gain"), 1.0);
        // It counts from when little enough is in flight, and needs a round.
        let low = Ack {
            in_flight: 4,
            ..Ack::plain()
        };
        bench.acks(&mut *cc, low, Span::from_millis(210));
        assert_near(gauge(&*cc, "state"), 3.0);
        bench.ack(
            &mut *cc,
            Ack {
                begins: true,
                ..low
            },
        );
        assert_near(gauge(&*cc, "state"), 2.0);
        assert!(
            window(&*cc) > before - 3.0,
            "{} after {before}",
            window(&*cc)
        );
        assert_near(gauge(&*cc, "min_rtt_s"), 0.04);
    }
}

#[test]
fn losses_limit_the_window_for_a_round_and_leave_the_model_alone() {
    let (mut cc, mut bench) = probing("bbr", 1.0);
    let (rate, before) = (gauge(&*cc, "btl_bw_bps"), window(&*cc));
    bench.ack(
        &mut *cc,
        Ack {
            in_flight: 70,
            lost: 5,
            ..Ack::plain()
        },
    );
    assert_near(window(&*cc), 71.0);
    assert_near(gauge(&*cc, "btl_bw_bps"), rate);
    bench.ack(
        &mut *cc,
        Ack {
            in_flight: 70,
            ..Ack::plain()
        },
    );
    assert_near(window(&*cc), before);
}

#[test]
fn webrtcs_sets_the_target_and_pads_only_while_it_asks_for_more() {
    let (cc, _) = probing("bbr-webrtc", 1.0);
    assert_eq!(cc.control().target, Some(Rate::from_mbps(12)));
    assert_eq!(cc.control().floor, None);
    let (cc, _) = probing("bbr-webrtc", 1.25);
    assert_eq!(cc.control().target, Some(Rate::from_mbps(12)));
    assert_eq!(cc.control().floor, Some(Rate::from_mbps(15)));
    // Before anything is known: five packets in 200 ms.
    let cc = built("bbr-webrtc", "");
    assert_eq!(cc.control().target, Some(Rate::from_kbps(300)));
}

#[test]
fn senseless_settings_are_refused_with_a_reason() {
    let refused = |text: &str| {
        let params: Table = toml::from_str(text).expect("a table");
        let start = Start {
            params,
            ..Start::plain()
        };
        Bbr::new(&start).expect_err("refused").to_string()
    };
    assert!(refused("probe_gain = 0.9").contains("probe_gain = 0.9 is not between 1 and 10"));
    assert!(refused("pacing_margin = 0.9").contains("the usual value is 0.01"));
    assert!(refused("initial_window = 3").contains("min_window = 4"));
    assert!(refused("probe_rtt = \"0 s\"").contains("probe_rtt"));
    assert!(refused("max_window = \"1 kB\"").contains("less than the first window"));
}

proptest! {
    #[test]
    fn no_less_than_four_packets_and_no_more_than_twice_the_best_of_all(
        steps in prop::collection::vec((1i64..400, 0u64..100, 0u64..300, any::<bool>(), 0usize..3), 1..300),
    ) {
        for name in ["bbr", "bbr-quic", "bbr-webrtc"] {
            let (mut cc, mut bench) = (built(name, ""), Bench::new());
            let (mut rtts, mut rates) = (1, 0);
            for (rtt, mbps, in_flight, begins, lost) in &steps {
                rtts = rtts.max(*rtt);
                rates = rates.max(*mbps);
                let (rtt, rate) = (Span::from_millis(*rtt), Rate::from_mbps(*mbps));
                let ack = Ack { rtt, rate, in_flight: *in_flight, begins: *begins, lost: *lost };
                bench.ack(&mut *cc, ack);
                let window = cc.control().window.expect("a window");
                prop_assert!(window >= MSS * 4, "{name} {window}");
                let pipe = Rate::from_mbps(rates.max(1)).over(Span::from_millis(rtts));
                // Startup grows by what arrives, and the first window may stay.
                let most = pipe * 3.0 + MSS * (60 + 32 * 3) + pipe;
                prop_assert!(window <= most, "{name} {window} of {most}");
                prop_assert!(cc.control().pacing > Some(Rate::ZERO));
            }
        }
    }
}
