use super::*;
use crate::cc::pipe::{MSS, Pipe};
use crate::event::LostBy;
use crate::units::{Rate, round};

fn copa(params: toml::Table) -> Copa {
    let start = Start {
        params,
        mss: MSS,
        ..Start::plain()
    };
    Copa::new(&start).expect("good settings")
}

fn ms(millis: i64) -> Span {
    Span::from_millis(millis)
}

#[track_caller]
fn assert_near(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance, "{got}, expected {want}");
}

/// A Copa out of slow start with this window and RTTs of 40 ms so far.
fn settled(params: toml::Table, cwnd: f64) -> (Copa, Pipe) {
    let (mut cc, mut pipe) = (copa(params), Pipe::new(ms(40)));
    pipe.start(&mut cc);
    for _ in 0..20 {
        pipe.step(&mut cc);
    }
    cc.slow_start = false;
    cc.cwnd = cwnd;
    cc.velocity = Velocity::new(pipe.now, cwnd, cc.next_number);
    (cc, pipe)
}

/// What one acknowledgement with this RTT does to a window of 50 packets when
/// the standing RTT is the same.
fn step_at(rtt: Span) -> f64 {
    let (mut cc, mut pipe) = settled(toml::toml! { mode = "fixed" }, 50.0);
    pipe.now += Span::from_secs(1);
    pipe.step_with(&mut cc, |acked| acked.rtt = Some(rtt));
    cc.cwnd - 50.0
}

#[test]
fn one_acknowledgement_moves_the_window_by_v_over_delta_times_window() {
    // v = 1, δ = 1/2: 2/50. At 41.666 ms, 50·0.5·1.666 = 41.67 ms: the rates are equal.
    assert_near(step_at(ms(40)), 0.04, 1e-9);
    assert_near(step_at(Span::from_micros(41_660)), 0.04, 1e-9);
    assert_near(step_at(Span::from_micros(41_670)), -0.04, 1e-9);
    assert_near(step_at(ms(80)), -0.04, 1e-9);
}

#[test]
fn the_window_is_paced_twice_per_standing_rtt() {
    let (mut cc, mut pipe) = settled(toml::toml! { mode = "fixed" }, 50.0);
    pipe.step(&mut cc);
    // 50.04 packets of 12 kbit in 40 ms, twice.
    let pacing = cc.control().pacing.expect("paced").mbps_f64();
    assert_near(pacing, 50.04 * 0.012 / 0.04 * 2.0, 0.01);
}

#[test]
fn slow_start_doubles_until_the_target_is_met() {
    let (mut cc, pipe) = (copa(toml::toml! { mode = "fixed" }), Pipe::new(ms(40)));
    let mut pipe = pipe.with_rate(Rate::from_mbps(12));
    pipe.start(&mut cc);
    let mut acknowledged = 0.0;
    while cc.slow_start {
        pipe.step(&mut cc);
        acknowledged += 1.0;
    }
    // One packet per acknowledgement, until two wait in a pipe of 40; that shows
    // one and a half round trips later: 42·2^1.5 = 119.
    assert!((cc.cwnd - (10.0 + acknowledged)).abs() < 1.5);
    assert!((84.0..125.0).contains(&cc.cwnd), "{}", cc.cwnd);
}

/// The mean number of waiting packets, times δ, over 20 s after 5 s.
fn queue_times_delta(delta: f64) -> f64 {
    let mut params = toml::toml! { mode = "fixed" };
    params.insert("delta".into(), delta.into());
    let (mut cc, pipe) = (copa(params), Pipe::new(ms(40)));
    let mut pipe = pipe.with_rate(Rate::from_mbps(12));
    pipe.start(&mut cc);
    let (mut sum, mut n) = (0.0, 0.0);
    while pipe.now < Time::from_secs(25) {
        pipe.step(&mut cc);
        if pipe.now > Time::from_secs(5) {
            sum += pipe.waiting();
            n += 1.0;
        }
    }
    // One acknowledgement per millisecond: the link was full.
    assert_near(n, 20_000.0, 100.0);
    sum / n * delta
}

#[test]
fn alone_it_keeps_about_one_over_delta_packets_waiting() {
    for delta in [0.25, 0.5] {
        let product = queue_times_delta(delta);
        assert!((1.0..1.5).contains(&product), "δ {delta}: {product}");
    }
}

#[test]
fn the_window_stays_within_its_bounds() {
    let params = toml::toml! { max_window = "75 kB" delta = 1.0 mode = "fixed" };
    let (mut cc, mut pipe) = settled(params, 45.0);
    for _ in 0..2000 {
        pipe.step(&mut cc);
    }
    assert_near(cc.cwnd, 50.0, 1e-9);
    // At 400 ms, 360 of them queueing, one packet would do.
    let until = pipe.now + Span::from_secs(5);
    while pipe.now < until {
        pipe.step_with(&mut cc, |acked| acked.rtt = Some(ms(400)));
    }
    assert_near(cc.cwnd, MIN_WINDOW, 1e-9);
    assert_near(cc.velocity.value(), 1.0, 1e-9);
}

#[test]
fn an_unused_window_does_not_grow_unless_asked_to() {
    for (grow, want) in [(false, 50.0..50.1), (true, 60.0..1e9)] {
        let mut params = toml::toml! { mode = "fixed" };
        params.insert("grow_when_app_limited".into(), grow.into());
        let (mut cc, mut pipe) = settled(params, 50.0);
        for _ in 0..500 {
            pipe.step_with(&mut cc, |acked| acked.packet.app_limited = true);
        }
        assert!(want.contains(&cc.cwnd), "{}", cc.cwnd);
    }
}

/// Acknowledgements and losses, alternating at this share of losses, for a second.
fn lossy_second(params: toml::Table, losses_in_ten: u64) -> (f64, f64) {
    let (mut cc, mut pipe) = settled(params, 50.0);
    // The first judgement falls at an arbitrary moment: start it here.
    pipe.step_with(&mut cc, |acked| acked.rtt = Some(ms(44)));
    let (mut before, mut least) = (cc.cwnd, 1.0_f64);
    let until = pipe.now + Span::from_secs(1);
    let mut n = 0;
    while pipe.now < until {
        if n % 10 < losses_in_ten {
            pipe.lose(&mut cc);
        } else {
            pipe.step_with(&mut cc, |acked| acked.rtt = Some(ms(44)));
        }
        least = least.min(cc.cwnd / before);
        before = cc.cwnd;
        n += 1;
    }
    (least, cc.cwnd)
}

#[test]
fn only_the_authors_code_minds_heavy_loss() {
    let paper = || toml::toml! { mode = "fixed" };
    let pantheon = || toml::toml! { mode = "fixed" variant = "pantheon" delta = 0.5 };
    assert!(lossy_second(paper(), 5).0 > 0.95);
    assert!(lossy_second(pantheon(), 2).0 > 0.85);
    assert_near(lossy_second(pantheon(), 5).0, 0.7, 0.05);
}

#[test]
fn the_authors_code_waits_for_19_acknowledgements() {
    let mut cc = copa(toml::toml! { variant = "pantheon" });
    let mut pipe = Pipe::new(ms(40));
    pipe.start(&mut cc);
    let windows: Vec<u64> = (0..20)
        .map(|_| {
            pipe.step(&mut cc);
            round(cc.cwnd)
        })
        .collect();
    assert_eq!(windows[17..], [10, 11, 12]);
}

#[test]
fn the_authors_code_starts_anew_after_two_silent_seconds() {
    let (mut cc, pipe) = settled(toml::toml! { variant = "pantheon" }, 50.0);
    let due = cc.next_timeout().expect("a timer");
    assert_eq!(due - pipe.now, Span::from_secs(2));
    cc.on_timeout(due - ms(1), &pipe.state);
    assert_near(cc.cwnd, 50.0, 1e-9);
    cc.on_timeout(due, &pipe.state);
    assert!(cc.slow_start);
    assert_near(cc.cwnd, 10.0, 1e-9);
    assert_eq!(cc.next_timeout(), Some(due + Span::from_secs(2)));
    let (cc, _) = settled(toml::toml! { mode = "auto" }, 50.0);
    assert_eq!(cc.next_timeout(), None);
}

#[test]
fn persistent_congestion_starts_the_paper_variant_slowly_again() {
    let (mut cc, pipe) = settled(toml::toml! { mode = "auto" }, 50.0);
    let packet = Sent::default();
    let by = LostBy::Time;
    let lost = [crate::cc::Lost { packet, by }];
    cc.on_feedback(pipe.now, &Feedback::of_losses(&lost, true), &pipe.state);
    assert!(cc.slow_start);
    assert_near(cc.cwnd, MIN_WINDOW, 1e-9);
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| {
        let start = Start {
            params,
            ..Start::plain()
        };
        Copa::new(&start).expect_err("refused").to_string()
    };
    assert!(refused(toml::toml! { delta = 0.0 }).contains("delta"));
    assert!(refused(toml::toml! { mode = "competitive" }).contains("`auto`"));
    assert!(refused(toml::toml! { variant = "mvfst" }).contains("`pantheon`"));
    assert!(refused(toml::toml! { initial_window = 1 }).contains("initial_window"));
}
