//! ProbeBW and ProbeRTT without losses.

use super::*;

/// Exiting PROBE_UP on Bandwidth Plateau.
#[test]
fn up_ends_after_three_rounds_without_growth() {
    for mut bench in links() {
        bench.enter(State::ProbeBwUp);
        bench.paces(1.25);
        bench.delay_probe_rtt();
        let round = bench.cc.round.count;
        bench.until("out of UP", Span::from_secs(30), |bench| {
            bench.state() != State::ProbeBwUp
        });
        assert_eq!(bench.state(), State::ProbeBwDown);
        assert!(bench.cc.full_pipe.now && bench.cc.full_pipe.count == 3);
        assert_eq!(bench.cc.round.count - round, 3);
        assert_eq!(bench.dropped, 0);
    }
}

/// Exiting PROBE_DOWN on Inflight.
#[test]
fn down_ends_once_pipe_and_headroom_are_free() {
    for buffer in [3.0, 0.5] {
        let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(40), buffer);
        bench.enter(State::ProbeBwUp);
        bench.enter(State::ProbeBwDown);
        bench.paces(0.9);
        let mut before = bench.in_flight();
        while bench.state() == State::ProbeBwDown {
            before = bench.in_flight();
            bench.step();
        }
        assert_eq!(bench.state(), State::ProbeBwCruise);
        let fits = bench.cc.inflight(bench.cc.model.max_bw);
        let headroom = bench.cc.model.inflight_with_headroom();
        assert_eq!(headroom.is_some(), buffer < 1.0);
        let most = headroom.map_or(fits, |headroom| headroom.min(fits));
        assert!(bench.in_flight() <= most && most < before);
    }
}

/// Exiting PROBE_DOWN After Max Time.
#[test]
fn down_ends_by_time_where_the_queue_does_not_drain() {
    let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(200), 10.0);
    bench.enter(State::ProbeBwUp);
    bench.enter(State::ProbeBwDown);
    bench.set_rate(bench.rate * 0.9);
    bench.delay_probe_rtt();
    let from = bench.now;
    bench.until("out of DOWN", Span::from_secs(4), |bench| {
        bench.state() != State::ProbeBwDown
    });
    assert_eq!(bench.state(), State::ProbeBwRefill);
    let wait = bench.cc.cycle.wait;
    between("bw_probe_wait", wait.secs_f64(), 2.0, 3.0);
    between("wait", (bench.now - from).ratio(wait), 1.0, 1.01);
}

#[test]
fn small_pipes_are_probed_as_often_as_reno_grows() {
    // 12 Mbit/s and 10 ms: ten packets, so ten rounds or nine.
    let mut bench = Bench::new(Rate::from_mbps(12), Span::from_millis(10), 3.0);
    bench.enter(State::ProbeBwUp);
    bench.enter(State::ProbeBwDown);
    let from = bench.cc.round.count;
    bench.enter(State::ProbeBwRefill);
    between("rounds", float(bench.cc.round.count - from), 9.0, 11.0);
}

/// Entering and Exiting PROBE_RTT.
#[test]
fn every_five_seconds_half_the_pipe_for_a_fifth_of_one() {
    for mut bench in links() {
        bench.enter(State::ProbeBwCruise);
        let stamp = bench.cc.rtt.probe_rtt_min_stamp;
        bench.enter(State::ProbeRtt);
        if bench.cc.rtt.probe_rtt_min_stamp == bench.now && bench.cc.round.count > 0 {
            // Where no lower RTT was seen since: 5 s and a feedback later.
            let late = (bench.now - stamp).secs_f64();
            assert!(late > 5.0, "{late}");
        }
        between("cwnd_gain", bench.cc.state.cwnd_gain(), 0.5, 0.5);
        let (from, round, least) = (bench.now, bench.cc.round.count, bench.cc.probe_rtt_cwnd());
        assert_eq!(bench.cc.cwnd, least);
        bench.until("out of ProbeRTT", Span::from_secs(5), |bench| {
            bench.state() != State::ProbeRtt
        });
        assert_eq!(bench.state(), State::ProbeBwCruise);
        assert!(bench.cc.round.count > round);
        // Until half of the pipe is in flight, 200 ms, and what a round takes.
        let took = (bench.now - from).secs_f64();
        let rtt = bench.rtt.secs_f64() + 4.0 * MSS.at(bench.rate).expect("a rate").secs_f64();
        between("duration", took, 0.2, 0.2_f64.max(2.0 * rtt) + 2.5 * rtt);
        assert!(bench.cc.cwnd >= bench.bdp(), "{}", bench.cc.cwnd);
        assert!(bench.used(Span::from_secs(1) + bench.rtt * 4) > 0.9);
    }
}

/// Skipping PROBE_RTT Due to Application-Limited Sending.
#[test]
fn idleness_serves_as_probe_rtt() {
    let mut bench = plain();
    bench.enter(State::ProbeBwCruise);
    bench.set_app(App::Silent);
    bench.run(Span::from_secs(6));
    assert_eq!(bench.in_flight(), Bytes::ZERO);
    let cwnd = bench.cc.cwnd;
    bench.set_app(App::Bulk);
    bench.step();
    assert!(bench.cc.idle_restart);
    bench.paces(1.0);
    let restart = bench.now;
    bench.watch(Span::from_secs(4), |bench| {
        assert_ne!(bench.state(), State::ProbeRtt);
    });
    assert!(!bench.cc.idle_restart && bench.cc.rtt.probe_rtt_min_stamp > restart);
    assert!(bench.cc.cwnd >= cwnd);
}

/// Achieving Expected Cruise Bandwidth on a Link With Aggregation.
#[test]
fn cruise_goes_on_where_acknowledgements_come_in_batches() {
    let mut bench = plain();
    bench.enter(State::ProbeBwCruise);
    let before = bench.cc.aggregation.extra_acked;
    bench.batch = Some(Span::from_millis(80));
    bench.run(Span::from_millis(500));
    // Two round trips' worth at once.
    let extra = bench.cc.aggregation.extra_acked;
    between("extra_acked", extra.ratio(bench.bdp()), 1.0, 2.5);
    assert!(bench.cc.max_inflight() >= bench.cc.bdp() * 2 + extra);
    between("used", bench.used(Span::from_secs(3)), 0.97, 1.0);
    // An episode ends when acknowledgements have fallen behind bw, which a margin
    // of 1 % takes long for; ProbeRTT does. Eleven rounds later it is forgotten.
    bench.batch = None;
    bench.enter(State::ProbeRtt);
    bench.enter(State::ProbeBwCruise);
    let round = bench.cc.round.count;
    bench.until("eleven rounds", Span::from_secs(3), |bench| {
        bench.cc.round.count > round + 11
    });
    let after = bench.cc.aggregation.extra_acked;
    assert!(after <= before.max(MSS * 2), "{before} {extra} {after}");
}

/// Correctly Managing Sub-Packet BDPs.
#[test]
fn four_packets_are_the_floor_of_a_pipe_of_none() {
    let mut bench = Bench::new(Rate::from_kbps(64), Span::from_millis(10), 3.0);
    bench.enter(State::ProbeBwCruise);
    bench.watch(Span::from_secs(60), |bench| {
        // Four packets in flight are also the least that ProbeRTT leaves, so they
        // come to be the pipe: 2.25 of it, two packets of UP and one batch.
        between("cwnd in packets", bench.cc.cwnd.ratio(MSS), 4.0, 12.0);
        between("max_bw", bench.max_bw(), 0.98, 1.02);
    });
    between("used", bench.used(Span::from_secs(30)), 0.98, 1.02);
}

/// Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached. Without a
/// long-term bound.
#[test]
fn ten_times_the_bandwidth_is_found_by_quarters() {
    let mut bench = Bench::new(Rate::from_mbps(10), Span::from_millis(40), 30.0);
    bench.enter(State::ProbeBwCruise);
    bench.set_rate(bench.rate * 10.0);
    bench.enter(State::ProbeBwUp);
    let round = bench.cc.round.count;
    bench.until("full bandwidth", Span::from_secs(3), |bench| {
        bench.max_bw() > 0.98
    });
    // A sample is a mean over the round before last, so a gain of 1.25·0.99 grows
    // by the y of 1.2375·(1 − 1/y) = y·ln y, which is 1.153: log 9.8/log 1.153.
    between("rounds", float(bench.cc.round.count - round), 15.0, 18.0);
}

/// Handling Application-Limited Sending During PROBE_REFILL. A pause would leave
/// nothing to acknowledge, and so no round: a trickle it is.
#[test]
fn samples_of_a_refill_without_enough_to_send_change_nothing() {
    let mut bench = plain();
    bench.enter(State::ProbeBwRefill);
    let max_bw = bench.cc.model.max_bw;
    bench.set_app(App::At(Rate::from_mbps(1)));
    bench.until("out of REFILL", Span::from_secs(1), |bench| {
        assert_eq!(bench.cc.model.max_bw, max_bw);
        bench.state() != State::ProbeBwRefill
    });
    assert_eq!(bench.state(), State::ProbeBwUp);
    bench.run(bench.rtt * 3);
    let sample = bench.sample.expect("a sample");
    assert!(sample.app_limited && sample.delivery_rate < max_bw);
    assert_eq!(
        (bench.cc.model.max_bw, bench.state()),
        (max_bw, State::ProbeBwUp)
    );
    bench.set_app(App::Bulk);
    bench.enter(State::ProbeBwDown);
    between("max_bw", bench.max_bw(), 0.98, 1.02);
    between("used", bench.used(Span::from_secs(5)), 0.95, 1.0);
}
