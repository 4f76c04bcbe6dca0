//! Losses while probing and while not, and losses that were none.

use super::*;
use crate::cc::{Acked, Lost};
use crate::event::LostBy;
use crate::units::count;

/// In ProbeBW_UP, with a long-term bound from an earlier probe.
fn up_with_longterm() -> Bench {
    let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(40), 0.5);
    bench.until("a bound", Span::from_secs(20), |bench| {
        bench.longterm().is_some()
    });
    bench.buffer = bench.bdp() * 4;
    // Not the precautionary probe, which is over at once.
    bench.until("a long UP", Span::from_secs(20), |bench| {
        bench.state() == State::ProbeBwUp && !bench.cc.cycle.prev_probe_too_high
    });
    bench
}

/// Exiting PROBE_UP on Loss When Application-Limited. The long-term bound is not
/// touched then: HandleInflightTooHigh sets it from samples that are not limited
/// by the application.
#[test]
fn up_ends_on_loss_even_when_the_application_is_the_limit() {
    let mut bench = plain();
    bench.enter(State::ProbeBwUp);
    bench.set_app(App::At(Rate::from_mbps(15)));
    bench.run(bench.rtt * 4);
    assert_eq!(bench.state(), State::ProbeBwUp);
    bench.drops = |sent| sent.number % 20 == 0;
    bench.until("out of UP", Span::from_millis(200), |bench| {
        bench.state() != State::ProbeBwUp
    });
    // So little is in flight that DOWN ends with the feedback that begins it.
    assert_eq!(bench.state(), State::ProbeBwCruise);
    assert_eq!(bench.cc.cycle.stamp, bench.now);
    assert!(bench.sample.is_some_and(|sample| sample.app_limited));
    assert!(bench.cc.cycle.prev_probe_too_high);
    assert_eq!(bench.longterm(), None);
}

/// Handling Loss During PROBE_UP After inflight_longterm is Set.
#[test]
fn loss_in_up_lowers_the_long_term_bound_by_no_more_than_beta() {
    let mut bench = up_with_longterm();
    bench.run(Span::from_millis(20));
    let before = bench.longterm().expect("a bound");
    assert_eq!(bench.state(), State::ProbeBwUp);
    bench.drops = |sent| sent.number.is_multiple_of(10);
    bench.until("out of UP", Span::from_millis(150), |bench| {
        bench.state() != State::ProbeBwUp
    });
    assert_eq!(bench.state(), State::ProbeBwDown);
    let after = bench.longterm().expect("a bound");
    let least = bench.cc.bdp() * 0.7;
    assert!(
        least <= after && after <= before,
        "{least} {after} {before}"
    );
    assert!(bench.cc.cycle.prev_probe_too_high && !bench.cc.cycle.is_bw_probe_sample);
}

#[test]
fn the_probe_after_one_that_lost_is_short_and_another_follows() {
    let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(40), 0.5);
    bench.until("a bound", Span::from_secs(20), |bench| {
        bench.cc.cycle.prev_probe_too_high
    });
    bench.enter(State::ProbeBwCruise);
    bench.buffer = bench.bdp() * 4;
    bench.enter(State::ProbeBwUp);
    let round = bench.cc.round.count;
    bench.enter(State::ProbeBwDown);
    assert!(bench.cc.cycle.prev_probe_precautionary);
    between("rounds", float(bench.cc.round.count - round), 0.0, 1.0);
    // Straight from DOWN, or from CRUISE if that came within the round.
    let (from, wait) = (bench.now, bench.cc.cycle.wait);
    bench.enter(State::ProbeBwRefill);
    assert!(bench.now - from < bench.rtt * 2 && bench.rtt * 2 < wait);
    bench.enter(State::ProbeBwUp);
    bench.run(bench.rtt * 2);
    assert_eq!(bench.state(), State::ProbeBwUp);
}

/// Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached.
#[test]
fn a_long_term_bound_rises_by_doubling_steps() {
    let mut bench = up_with_longterm();
    bench.set_rate(bench.rate * 10.0);
    bench.buffer = bench.bdp() * 4;
    let mut steps = vec![];
    let mut last = (bench.cc.cycle.up_rounds, bench.longterm());
    while bench.state() == State::ProbeBwUp {
        let before = bench.longterm();
        bench.step();
        let now = bench.cc.cycle.up_rounds;
        if now > last.0 {
            let grown = before
                .zip(last.1)
                .map(|(now, then)| (now - then).ratio(MSS));
            steps.push(grown.unwrap_or(0.0));
            last = (now, before);
        }
    }
    // In packets, from the first whole round on; later the rate is found, and the
    // bound follows what is in flight. By the text 2, 4, 8, 16, 32; rounds become
    // a little longer while a queue builds up.
    for (step, ideal) in steps[1..6].iter().zip([2.0, 4.0, 8.0, 16.0, 32.0]) {
        between("step", *step, ideal, 1.6 * ideal);
    }
    between("max_bw", bench.max_bw(), 0.98, 1.02);
    between("rounds", float(count(steps.len())), 8.0, 12.0);
}

/// Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down.
#[test]
fn a_tenth_of_the_bandwidth_is_known_after_two_cycles() {
    let mut bench = Bench::new(Rate::from_mbps(100), Span::from_millis(40), 1.0);
    bench.enter(State::ProbeBwCruise);
    bench.set_rate(bench.rate / 10);
    bench.until("a short-term bound", Span::from_secs(2), |bench| {
        bench.cc.model.bw_shortterm.is_some()
    });
    // 0.7 a round, until the next probe forgets it.
    bench.until("half", Span::from_secs(4), |bench| {
        bench.cc.model.bw < bench.cc.model.max_bw * 0.5
    });
    let from = bench.now;
    bench.until("the new rate", Span::from_secs(20), |bench| {
        bench.max_bw() < 1.02
    });
    // Two probes of at most 3 s, and their rounds of up to half a second.
    between("s", (bench.now - from).secs_f64(), 4.0, 10.0);
    between("max_bw", bench.max_bw(), 0.95, 1.02);
    bench.run(Span::from_secs(2));
    between("used", bench.used(Span::from_secs(10)), 0.95, 1.0);
}

/// Handling Token Bucket Policers.
#[test]
fn a_policer_is_obeyed() {
    let mut bench = plain();
    bench.policer = Some((Bytes::new(100_000), 100_000.0, bench.now));
    bench.enter(State::ProbeBwDown);
    bench.until("a short-term bound", Span::from_secs(20), |bench| {
        bench.cc.model.bw_shortterm.is_some() && bench.cc.model.inflight_shortterm.is_some()
    });
    bench.run(Span::from_secs(20));
    let (dropped, sent) = (bench.dropped, bench.ledger.next_number());
    let used = bench.used(Span::from_secs(30));
    let lost = float(bench.dropped - dropped) / float(bench.ledger.next_number() - sent);
    // A probe is over when a round has lost 2 %: of a quarter too much for one
    // round and what is under way, in two seconds.
    between("used", used, 0.95, 1.0);
    between("lost", lost, 0.001, 0.015);
}

/// Handling Spurious Fast Recovery.
#[test]
fn reordering_taken_for_loss_is_undone() {
    let mut bench = up_with_longterm();
    bench.run(Span::from_millis(20));
    assert_eq!(bench.state(), State::ProbeBwUp);
    let before = bench.longterm();
    let next = bench.ledger.next_number();
    bench.detour = (next..next + 8, |_| true, Span::from_millis(20));
    bench.enter(State::ProbeBwDown);
    assert_eq!(bench.cc.undo.state, Some(State::ProbeBwUp));
    let saved = bench.cc.prior_cwnd;
    bench.until("undone", Span::from_millis(100), |bench| {
        bench.state() != State::ProbeBwDown
    });
    assert_eq!(bench.state(), State::ProbeBwRefill);
    assert!(bench.longterm() >= before);
    assert_eq!(bench.cc.model.bw_shortterm, None);
    assert!(bench.cc.cwnd >= saved.min(bench.longterm().expect("a bound")));
    bench.enter(State::ProbeBwUp);
}

#[test]
fn a_startup_ended_by_reordering_goes_on() {
    let mut bench = Bench::new(Rate::from_mbps(100), Span::from_millis(40), 3.0);
    bench.set_app(App::At(Rate::from_mbps(50)));
    bench.run(Span::from_secs(1));
    let next = bench.ledger.next_number();
    let some = |sent: &Sent| sent.number.is_multiple_of(10);
    bench.detour = (next..next + 150, some, Span::from_millis(70));
    bench.until("out of Startup", Span::from_secs(1), |bench| {
        bench.state() != State::Startup
    });
    bench.until("undone", Span::from_millis(100), |bench| {
        bench.state() == State::Startup
    });
    assert!(!bench.cc.full_pipe.reached);
}

/// Handling Spurious RTO Recovery. A retransmission timeout is persistent
/// congestion here, and comes from the session.
#[test]
fn a_timeout_that_was_none_is_undone() {
    let mut bench = up_with_longterm();
    bench.run(Span::from_millis(20));
    let (state, before) = (*bench.ledger.state(), bench.cc.clone());
    assert_eq!(bench.state(), State::ProbeBwUp);
    let next = bench.ledger.next_number();
    let packets = (next - 20..next).map(|number| Sent {
        number,
        size: MSS,
        in_flight: state.in_flight,
        delivered: state.delivered.saturating_sub(state.in_flight),
        ..Sent::default()
    });
    let lost: Vec<Lost> = packets
        .map(|packet| Lost {
            packet,
            by: LostBy::Time,
        })
        .collect();
    let cc = &mut bench.cc;
    let none = PathState {
        in_flight: Bytes::ZERO,
        ..state
    };
    cc.on_feedback(bench.now, &Feedback::of_losses(&lost, true), &none);
    assert_eq!((cc.cwnd, cc.state), (MSS, State::ProbeBwDown));
    assert_eq!(cc.undo.state, Some(State::ProbeBwUp));
    let acked: Vec<Acked> = lost
        .iter()
        .map(|lost| Acked {
            packet: lost.packet,
            arrived: None,
            rtt: None,
            ecn: Ecn::NotEct,
            spurious: true,
        })
        .collect();
    let feedback = Feedback {
        acked: &acked,
        ..Feedback::of_losses(&[], false)
    };
    cc.on_feedback(bench.now, &feedback, &none);
    assert_eq!(cc.state, State::ProbeBwRefill);
    assert!(
        cc.cwnd
            >= before
                .cwnd
                .min(cc.model.inflight_longterm.expect("a bound"))
    );
    assert!(cc.model.inflight_longterm >= before.model.inflight_longterm);
    assert_eq!(cc.model.bw_shortterm, before.model.bw_shortterm);
}

#[test]
fn marks_count_as_losses() {
    let mut bench = plain();
    bench.enter(State::ProbeBwCruise);
    let state = *bench.ledger.state();
    let acked = Acked {
        packet: Sent {
            number: bench.ledger.next_number() - 1,
            size: MSS,
            in_flight: state.in_flight,
            delivered: state.delivered,
            ..Sent::default()
        },
        arrived: None,
        rtt: None,
        ecn: Ecn::Ce,
        spurious: false,
    };
    let feedback = Feedback {
        acked: &[acked],
        ..Feedback::of_losses(&[], false)
    };
    bench.cc.on_feedback(bench.now, &feedback, &state);
    bench.until("a short-term bound", Span::from_millis(200), |bench| {
        bench.cc.model.bw_shortterm.is_some()
    });
}
