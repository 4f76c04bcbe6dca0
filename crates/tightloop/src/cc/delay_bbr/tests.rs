use super::*;
use crate::cc::bbr::bench::{Ack, Bench};
use crate::cc::pipe::{MSS, Pipe};

fn built(text: &str) -> DelayBbr {
    let params = toml::from_str(text).expect("settings");
    let start = Start {
        params,
        mss: MSS,
        ..Start::plain()
    };
    DelayBbr::new(&start).expect("good settings")
}

fn gauge(cc: &DelayBbr, name: &str) -> f64 {
    Pipe::gauge(cc, name)
}

fn pacing(cc: &DelayBbr) -> f64 {
    cc.control().pacing.expect("a pace").mbps_f64()
}

#[track_caller]
fn assert_near(value: f64, wanted: f64) {
    assert!((value - wanted).abs() < 1e-3, "{value} is not {wanted}");
}

const BEGINS: fn() -> Ack = || Ack {
    begins: true,
    ..Ack::plain()
};

/// In ProbeBW, 12 Mbit/s and 40 packets being the pipe.
fn probing(text: &str) -> (DelayBbr, Bench) {
    let (mut cc, mut bench) = (built(text), Bench::new());
    for _ in 0..6 {
        bench.ack(&mut cc, BEGINS());
    }
    assert_near(gauge(&cc, "state"), 2.0);
    bench.ack(&mut cc, Ack::plain());
    (cc, bench)
}

#[test]
fn it_starts_at_a_guess_then_ten_packets_a_round_trip_then_twice_what_arrives() {
    let (mut cc, mut bench) = (built(""), Bench::new());
    assert_near(pacing(&cc), 2.0);
    assert_eq!(cc.control().window, None);
    // The first flight samples nothing: 15 kB in 40 ms.
    bench.ack(&mut cc, BEGINS());
    assert_near(pacing(&cc), 3.0);
    bench.ack(&mut cc, BEGINS());
    assert_near(pacing(&cc), 24.0);
    assert_eq!(cc.control().window, Some(MSS * 80));
    // Within a round nothing is sampled either.
    let rate = Rate::from_mbps(48);
    bench.ack(
        &mut cc,
        Ack {
            rate,
            ..Ack::plain()
        },
    );
    assert_near(pacing(&cc), 24.0);
}

#[test]
fn three_rounds_without_growth_drain_at_half_until_a_pipe_is_in_flight() {
    let (mut cc, mut bench) = (built(""), Bench::new());
    for round in 0..6 {
        let in_flight = 70;
        assert_near(gauge(&cc, "state"), 0.0);
        bench.ack(
            &mut cc,
            Ack {
                in_flight,
                ..BEGINS()
            },
        );
        assert!(round < 5 || gauge(&cc, "state") > 0.5);
        if gauge(&cc, "state") > 0.5 {
            break;
        }
    }
    assert_near(pacing(&cc), 6.0);
    bench.ack(
        &mut cc,
        Ack {
            in_flight: 41,
            ..Ack::plain()
        },
    );
    assert_near(gauge(&cc, "state"), 1.0);
    bench.ack(&mut cc, Ack::plain());
    assert_near(gauge(&cc, "state"), 2.0);
}

#[test]
fn the_cycle_asks_for_a_ninth_gives_back_a_tenth_and_needs_time_alone() {
    let (mut cc, mut bench) = probing("");
    let mut gains = vec![];
    for _ in 0..9 * 41 {
        bench.ack(&mut cc, Ack::plain());
        let gain = gauge(&cc, "pacing_gain");
        if gains
            .last()
            .is_none_or(|last: &f64| (last - gain).abs() > 1e-9)
        {
            gains.push(gain);
        }
        assert_near(pacing(&cc), 12.0 * gain);
    }
    let at = gains.iter().position(|gain| *gain > 1.0).expect("it asks");
    assert_near(gains[at], 1.11);
    if let Some(next) = gains.get(at + 1) {
        assert_near(*next, 0.9);
    }
}

#[test]
fn a_fifth_above_the_base_line_backs_off_until_the_pipe_of_then_is_in_flight() {
    let (mut cc, mut bench) = probing("");
    let queued = |ms: i64, in_flight| Ack {
        rtt: Span::from_millis(ms),
        in_flight,
        ..Ack::plain()
    };
    // 0.9 · 48 + 0.1 · 40 = 47.2 is not above 48; 49 soon is.
    bench.ack(&mut cc, queued(48, 50));
    assert_near(gauge(&cc, "state"), 2.0);
    bench.ack(&mut cc, queued(49, 50));
    assert_near(gauge(&cc, "state"), 3.0);
    assert_near(pacing(&cc), 9.0);
    assert_eq!(cc.control().target, Some(Rate::from_mbps(9)));
    bench.ack(&mut cc, queued(49, 41));
    assert_near(gauge(&cc, "state"), 3.0);
    bench.ack(&mut cc, queued(49, 40));
    assert_near(gauge(&cc, "state"), 2.0);
    // A base line of its own, which the old round trips are no part of.
    bench.ack(&mut cc, queued(49, 40));
    assert_near(gauge(&cc, "base_line_rtt_s"), 0.049);
    assert_near(gauge(&cc, "min_rtt_s"), 0.04);
}

#[test]
fn a_minimum_of_ten_seconds_ago_is_measured_anew_over_four_of_it() {
    let (mut cc, mut bench) = probing("beta = 10.0");
    let slow = Ack {
        rtt: Span::from_millis(46),
        ..Ack::plain()
    };
    bench.acks(&mut cc, slow, Span::from_secs(10) - Span::from_millis(1));
    assert_near(gauge(&cc, "state"), 2.0);
    bench.acks(&mut cc, slow, Span::from_millis(3));
    assert_near(gauge(&cc, "state"), 3.0);
    bench.acks(&mut cc, slow, Span::from_millis(155));
    assert_near(gauge(&cc, "state"), 3.0);
    bench.acks(&mut cc, slow, Span::from_millis(10));
    assert_near(gauge(&cc, "state"), 2.0);
    assert_near(gauge(&cc, "min_rtt_s"), 0.046);
}

#[test]
fn the_literal_form_has_no_cap_and_losses_change_nothing() {
    let (cc, _) = probing("capped = false");
    assert_eq!(cc.control().window, None);
    let (mut cc, mut bench) = probing("");
    let before = cc.control();
    assert_eq!(before.window, Some(MSS * 80));
    assert_eq!(before.floor, before.pacing);
    bench.ack(
        &mut cc,
        Ack {
            lost: 20,
            ..Ack::plain()
        },
    );
    assert_eq!(cc.control(), before);
    let (cc, _) = probing("pads = false");
    assert_eq!(cc.control().floor, None);
}

#[test]
fn it_cruises_at_half_a_megabit_at_least() {
    let (mut cc, mut bench) = (built(""), Bench::new());
    let slow = Ack {
        rate: Rate::from_kbps(100),
        in_flight: 0,
        ..Ack::plain()
    };
    for _ in 0..6 {
        bench.ack(
            &mut cc,
            Ack {
                begins: true,
                ..slow
            },
        );
    }
    let mut seen = [false; 2];
    for _ in 0..9 * 41 {
        bench.ack(&mut cc, slow);
        let cruises = (gauge(&cc, "pacing_gain") - 1.0).abs() < 1e-9;
        seen[usize::from(cruises)] = true;
        if cruises {
            assert_near(pacing(&cc), 0.5);
        } else {
            assert!((0.08..0.12).contains(&pacing(&cc)), "{}", pacing(&cc));
        }
    }
    assert_eq!(seen, [true, true]);
}

#[test]
fn senseless_settings_are_refused_with_a_reason() {
    let refused = |text: &str| {
        let params = toml::from_str(text).expect("a table");
        let start = Start {
            params,
            ..Start::plain()
        };
        DelayBbr::new(&start).expect_err("refused").to_string()
    };
    assert!(refused("alpha = 0.0").contains("alpha = 0 is not between 0.01 and 1"));
    assert!(refused("start = \"0 bit/s\"").contains("usual value is 1 Mbit/s"));
    assert!(refused("initial_rtt = \"0 s\"").contains("initial_rtt"));
}
