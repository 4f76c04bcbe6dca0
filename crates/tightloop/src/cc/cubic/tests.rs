use super::*;
use crate::cc::pipe::{MSS, Pipe};
use crate::units::{Rate, round};

fn cubic(initial: i64) -> Cubic {
    with(toml::toml! { hystart = false }, initial)
}

fn with(mut params: toml::Table, initial: i64) -> Cubic {
    params.insert("initial_window".into(), initial.into());
    let start = Start {
        params,
        mss: MSS,
        ..Start::plain()
    };
    Cubic::new(&start).expect("good settings")
}

fn ms(millis: i64) -> Span {
    Span::from_millis(millis)
}

#[track_caller]
fn assert_near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got}, expected {want}");
}

/// A Cubic that reduced from this window a moment ago, in congestion avoidance.
fn reduced(from: i64, rtt: Span) -> (Cubic, Pipe) {
    let (mut cc, mut pipe) = (cubic(from), Pipe::new(rtt));
    pipe.start(&mut cc);
    pipe.lose(&mut cc);
    while cc.curve.epoch.is_none() {
        pipe.step(&mut cc);
    }
    (cc, pipe)
}

#[test]
fn the_window_follows_the_curve_of_the_rfc_within_a_packet() {
    let (mut cc, mut pipe) = reduced(100, ms(200));
    let begun = pipe.now;
    // ∛(30/0.4) = 4.217 s.
    let k = Pipe::gauge(&cc, "k_s");
    assert_near(k, 4.217, 0.001);
    let mut seen = 0;
    while pipe.now - begun < Span::from_secs(9) {
        pipe.step(&mut cc);
        let t = (pipe.now - begun).secs_f64() - 4.217;
        assert_near(cc.curve.cwnd, 0.4 * t * t * t + 100.0, 1.0);
        seen += 1;
    }
    assert!(seen > 4000, "{seen} acknowledgements");
    // 100 + 0.4·(9 − 4.217)³.
    assert_near(cc.curve.cwnd, 143.8, 1.0);
}

#[test]
fn a_small_window_grows_as_renos_would() {
    let (mut cc, mut pipe) = reduced(10, ms(20));
    let begun = pipe.now;
    assert_near(cc.curve.cwnd, 7.0, 0.2);
    let mut run_until = |round_trips: i64| {
        while pipe.now - begun < ms(20) * round_trips {
            pipe.step(&mut cc);
        }
        cc.curve.cwnd
    };
    // α = 3·0.3/1.7 = 0.529 per round trip up to 10, then 1.
    assert_near(run_until(4), 7.0 + 4.0 * 0.529, 0.5);
    // Only whole packets leave: a window of 10.9 grows by 10/10.9.
    assert_near(run_until(20), 10.0 + 20.0 - 3.0 / 0.529, 1.5);
}

#[test]
fn a_round_trip_of_losses_reduces_once_and_leaves_seven_tenths() {
    let (mut cc, mut pipe) = (cubic(100), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    pipe.lose(&mut cc);
    assert_near(cc.curve.cwnd, 70.0, 1e-9);
    for _ in 0..99 {
        pipe.lose(&mut cc);
    }
    assert_near(cc.curve.cwnd, 70.0, 1e-9);
    // The next packets left after the reduction: these losses are news.
    pipe.lose(&mut cc);
    assert_near(cc.curve.cwnd, 49.0, 1e-9);
    // Fast convergence: 70 was below 100, so the plateau is 70·1.7/2.
    assert_near(cc.curve.w_max.expect("a plateau"), 59.5, 1e-9);
}

#[test]
fn acknowledgements_of_older_packets_do_not_grow_a_reduced_window() {
    let (mut cc, mut pipe) = (cubic(100), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    pipe.lose(&mut cc);
    for _ in 0..99 {
        pipe.step(&mut cc);
    }
    assert_near(cc.curve.cwnd, 70.0, 1e-9);
    pipe.step(&mut cc);
    assert!(cc.curve.cwnd > 70.0 && cc.curve.cwnd < 70.5);
}

#[test]
fn a_mark_reduces_like_a_loss_and_cannot_be_undone() {
    let (mut cc, mut pipe) = (cubic(100), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    for _ in 0..50 {
        pipe.step_with(&mut cc, |acked| acked.ecn = Ecn::Ce);
    }
    assert_near(cc.curve.cwnd, 70.0, 1e-9);
    assert!(cc.undo.is_none());
}

#[test]
fn losses_that_all_arrive_after_all_undo_the_reduction() {
    let (mut cc, mut pipe) = reduced(100, ms(200));
    for _ in 0..500 {
        pipe.step(&mut cc);
    }
    let before = cc.curve;
    let lost = [pipe.lose(&mut cc), pipe.lose(&mut cc)];
    assert_near(cc.curve.cwnd, before.cwnd * 0.7, 1e-9);
    let arrives = |pipe: &mut Pipe, cc: &mut Cubic, packet| {
        pipe.step_with(cc, |acked| {
            acked.spurious = true;
            acked.packet = packet;
        });
    };
    arrives(&mut pipe, &mut cc, lost[0]);
    assert_near(cc.curve.cwnd, before.cwnd * 0.7, 1e-9);
    arrives(&mut pipe, &mut cc, lost[1]);
    // Back, plus what the acknowledged packet itself adds.
    assert_near(cc.curve.cwnd, before.cwnd, 0.5);
    assert_eq!(cc.curve.w_max, before.w_max);
    let (t, then) = (cc.curve.epoch.expect("one"), before.epoch.expect("one"));
    assert!(t.elapsed > then.elapsed && t.elapsed < then.elapsed + ms(200));
}

#[test]
fn persistent_congestion_starts_slowly_again_up_to_seven_tenths() {
    let (mut cc, mut pipe) = (cubic(100), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    let feedback = Feedback::of_losses(&[], true);
    cc.on_feedback(pipe.now, &feedback, &pipe.state);
    assert_near(cc.curve.cwnd, 2.0, 1e-9);
    for _ in 0..100 {
        pipe.step(&mut cc);
    }
    let mut windows = vec![];
    for _ in 0..8 {
        windows.push(cc.curve.cwnd);
        for _ in 0..round(cc.curve.cwnd) {
            pipe.step(&mut cc);
        }
    }
    assert_eq!(windows[..6], [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    assert!(windows[6] >= 70.0 && windows[7] < 72.0, "{windows:?}");
    // The plateau is where congestion avoidance began. [RFC9438] §4.8.
    assert_near(Pipe::gauge(&cc, "k_s"), 0.0, 1e-9);
}

#[test]
fn an_application_that_limits_itself_stops_both_the_window_and_its_clock() {
    let (mut cc, mut pipe) = reduced(100, ms(200));
    for _ in 0..300 {
        pipe.step(&mut cc);
    }
    let (cwnd, t) = (cc.curve.cwnd, cc.curve.epoch.expect("one").elapsed);
    for _ in 0..1000 {
        pipe.step_with(&mut cc, |acked| acked.packet.app_limited = true);
    }
    assert_near(cc.curve.cwnd, cwnd, 1e-9);
    pipe.step(&mut cc);
    let passed = cc.curve.epoch.expect("one").elapsed - t;
    assert!(passed <= ms(10), "{passed:?} of more than two seconds");
}

#[test]
fn an_idle_minute_is_not_part_of_the_curve() {
    let (mut cc, mut pipe) = reduced(100, ms(200));
    let t = cc.curve.epoch.expect("one").elapsed;
    pipe.now += Span::from_secs(60);
    pipe.state.in_flight = Bytes::ZERO;
    pipe.send(&mut cc);
    pipe.state.in_flight = MSS * 90;
    pipe.step(&mut cc);
    assert!(cc.curve.epoch.expect("one").elapsed - t <= ms(200));
}

#[test]
fn slow_start_ends_once_a_queue_grows() {
    let (mut cc, pipe) = (with(toml::toml! { hystart = true }, 10), Pipe::new(ms(40)));
    let mut pipe = pipe.with_rate(Rate::from_mbps(12));
    pipe.start(&mut cc);
    while cc.curve.ssthresh.is_none() && pipe.now < Time::from_secs(5) {
        pipe.step(&mut cc);
    }
    // The pipe holds 40 packets. A round's smallest RTT is that of its first
    // packets, which left a round trip ago: the rise shows at 160 packets. Five
    // rounds by a quarter more make 160·1.25⁵ = 488.
    assert!((430.0..550.0).contains(&cc.curve.cwnd), "{}", cc.curve.cwnd);
}

#[test]
fn slow_start_without_a_queue_does_not_end() {
    let (mut cc, mut pipe) = (with(toml::toml! { hystart = true }, 10), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    while pipe.now < Time::from_millis(40 * 9) {
        pipe.step(&mut cc);
    }
    assert!(cc.curve.ssthresh.is_none());
    // 10·2⁸ after eight to nine round trips.
    assert!(
        (2000.0..5200.0).contains(&cc.curve.cwnd),
        "{}",
        cc.curve.cwnd
    );
}

#[test]
fn pacing_is_off_unless_asked_for() {
    let (mut cc, mut pipe) = (with(toml::toml! { paced = true }, 100), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    pipe.step(&mut cc);
    let rate = |cc: &Cubic| cc.control().pacing.expect("paced").mbps_f64();
    // 101 packets of 12 kbit per 40 ms, twice.
    assert_near(rate(&cc), 101.0 * 0.012 / 0.04 * 2.0, 0.1);
    pipe.lose(&mut cc);
    assert_near(rate(&cc), 101.0 * 0.7 * 0.012 / 0.04 * 1.2, 0.1);
    assert_eq!(cubic(10).control().pacing, None);
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| {
        let start = Start {
            params,
            ..Start::plain()
        };
        Cubic::new(&start).expect_err("refused").to_string()
    };
    assert!(refused(toml::toml! { beta = 0.0 }).contains("beta"));
    assert!(refused(toml::toml! { c = -1.0 }).contains("c = -1"));
    assert!(refused(toml::toml! { initial_window = 1 }).contains("initial_window"));
    assert!(refused(toml::toml! { pacing = true }).contains("unknown field"));
}
