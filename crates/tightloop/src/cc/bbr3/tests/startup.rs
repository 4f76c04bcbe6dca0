//! Startup, Drain, and starting within limits.

use super::*;

/// Exiting STARTUP on Bandwidth Plateau.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    for mut bench in links() {
        let mut counts = vec![0];
        let mut probed = false;
        while !bench.cc.full_pipe.reached {
            bench.step();
            probed |= bench.state() == State::ProbeRtt;
            let count = bench.cc.full_pipe.count;
            if counts.last() != Some(&count) {
                counts.push(count);
            }
        }
        assert_eq!(counts[counts.len() - 3..], [1, 2, 3], "{counts:?}");
        assert!(bench.cc.full_pipe.now && bench.cc.full_pipe.reached);
        between("max_bw", bench.max_bw(), 0.98, 1.02);
        assert_eq!(bench.dropped, 0);
        // Ten packets double until they are the pipe; three more rounds; and one
        // each for the first sample, a partial doubling and what is under way.
        let doublings = libm::log2((bench.bdp().ratio(MSS) / 10.0).max(1.0));
        let rounds = float(bench.cc.round.count);
        between(
            "rounds",
            rounds,
            doublings + 3.0,
            doublings + 7.0 + if probed { 9.0 } else { 0.0 },
        );
    }
}

/// Exiting STARTUP on Loss When Application-Limited.
#[test]
fn startup_ends_on_loss_even_when_the_application_is_the_limit() {
    let mut bench = Bench::new(Rate::from_mbps(100), Span::from_millis(40), 3.0);
    bench.set_app(App::At(Rate::from_mbps(50)));
    bench.run(Span::from_secs(1));
    assert_eq!(bench.state(), State::Startup);
    bench.drops = |sent| sent.number % 10 == 0;
    bench.until("out of Startup", Span::from_millis(250), |bench| {
        assert!(bench.sample.is_none_or(|sample| sample.app_limited));
        bench.state() != State::Startup
    });
    // So little is in flight that Drain ends with the feedback that begins it.
    assert_eq!(bench.state(), State::ProbeBwDown);
    assert_eq!(bench.cc.drain_start_round, bench.cc.round.count);
    assert!(bench.cc.full_pipe.now && bench.cc.full_pipe.reached);
    assert_eq!(bench.cc.undo.state, Some(State::Startup));
    // What was delivered within a round: 50 Mbit/s for 40 ms, less a tenth.
    let safe = bench.longterm().expect("a bound").ratio(bench.bdp());
    between("inflight_longterm", safe, 0.4, 0.6);
}

#[test]
fn startup_stays_where_few_are_lost_or_all_in_one_place() {
    let mut bench = Bench::new(Rate::from_mbps(100), Span::from_millis(40), 3.0);
    bench.set_app(App::At(Rate::from_mbps(50)));
    // 1 %, and then a tenth in runs of 40: four runs in a round of 167 packets.
    bench.drops = |sent| sent.number % 100 == 0;
    bench.run(Span::from_secs(2));
    bench.drops = |sent| sent.number % 400 < 40;
    bench.run(Span::from_secs(2));
    assert_eq!(bench.state(), State::Startup);
    assert!(bench.dropped > 150, "{}", bench.dropped);
}

/// Exiting DRAIN Based on Inflight.
#[test]
fn drain_ends_once_what_is_in_flight_fits_the_pipe() {
    for mut bench in links() {
        bench.until("a full pipe", Span::from_secs(60), |bench| {
            bench.cc.full_pipe.reached
        });
        // A send quantum is a millisecond of what is paced, and may always be in
        // flight: in a shorter pipe Drain ends with the feedback that begins it.
        let drained = bench.rtt < Span::from_millis(1);
        assert_eq!(bench.state() != State::Drain, drained, "{}", bench.rtt);
        if !drained {
            bench.paces(0.5);
        }
        let mut before = bench.cc.cwnd;
        bench.delay_probe_rtt();
        while bench.state() == State::Drain {
            before = bench.in_flight();
            bench.step();
        }
        assert!(bench.state().is_probe_bw());
        let fits = bench.cc.inflight(bench.cc.model.bw);
        assert!(drained || (bench.in_flight() <= fits && before > fits));
        assert!(bench.cc.round.count - bench.cc.drain_start_round <= 3);
    }
}

/// Exiting DRAIN Based on Time. By 10 % less, as the draft has it, half the rate
/// still drains the queue; so the link slows down to 0.4 of what it was.
#[test]
fn drain_ends_after_three_rounds_in_any_case() {
    for (slower, by_time) in [(0.9, false), (0.4, true)] {
        let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(40), 30.0);
        bench.enter(State::Drain);
        bench.set_rate(bench.rate * slower);
        while bench.state() == State::Drain {
            bench.step();
        }
        assert!(bench.state().is_probe_bw());
        let fits = bench.in_flight() <= bench.cc.inflight(bench.cc.model.bw);
        let rounds = bench.cc.round.count - bench.cc.drain_start_round;
        assert_eq!((!fits, rounds == 4), (by_time, by_time), "{rounds}");
    }
}

/// Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss.
/// Indefinitely but for ProbeRTT, which any state gives way to: after it Startup
/// goes on, and ProbeBW_UP has become ProbeBW_CRUISE.
#[test]
fn startup_and_up_do_not_end_while_the_application_is_the_limit() {
    let mut bench = plain();
    bench.set_app(App::At(Rate::from_mbps(10)));
    bench.watch(Span::from_secs(30), |bench| {
        assert!(matches!(bench.state(), State::Startup | State::ProbeRtt));
    });

    let mut bench = plain();
    bench.enter(State::ProbeBwUp);
    bench.set_app(App::At(Rate::from_mbps(5)));
    bench.until("ProbeRTT", Span::from_secs(6), |bench| {
        bench.state() != State::ProbeBwUp
    });
    assert_eq!(bench.state(), State::ProbeRtt);
    bench.enter(State::ProbeBwCruise);
}

/// Achieving Expected STARTUP Bandwidth on a Link With Aggregation.
#[test]
fn startup_finds_the_rate_where_acknowledgements_come_in_batches() {
    for divisor in [1, 2, 4] {
        let mut bench = plain();
        bench.batch = Some(bench.rtt / divisor);
        bench.enter(State::Drain);
        between("max_bw", bench.max_bw(), 0.98, 1.02);
        // What a batch brings beyond the one before.
        let extra = bench.cc.aggregation.extra_acked.ratio(bench.bdp());
        let batch = 1.0 / float(divisor.unsigned_abs());
        between("extra_acked", extra, 0.5 * batch, 1.3 * batch);
        assert!(bench.cc.cwnd > bench.bdp() * 2);
    }
}

/// Entering and Exiting PROBE_RTT During STARTUP.
#[test]
fn after_probe_rtt_a_startup_goes_on() {
    let mut bench = plain();
    bench.set_app(App::At(Rate::from_mbps(1)));
    bench.run(Span::from_millis(4_900));
    assert_eq!(bench.state(), State::Startup);
    bench.enter(State::ProbeRtt);
    bench.set_app(App::Bulk);
    bench.until("out of ProbeRTT", Span::from_secs(1), |bench| {
        bench.state() != State::ProbeRtt
    });
    assert_eq!(bench.state(), State::Startup);
    bench.enter(State::Drain);
    between("max_bw", bench.max_bw(), 0.98, 1.02);
}
