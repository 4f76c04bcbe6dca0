//! Service: exact finish times, trailing rates, opportunities at random.

use proptest::prelude::*;

use super::*;

fn steps(schedule: &[(u64, u64)], repeat_ms: Option<i64>) -> Steps {
    let schedule: Vec<(Time, Rate)> = schedule
        .iter()
        .map(|&(ms, kbps)| (Time::from_millis(ms), Rate::from_kbps(kbps)))
        .collect();
    match Service::steps(&schedule, repeat_ms.map(Span::from_millis)) {
        Ok(Service::Steps(steps)) => steps,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_of_the_rate_splits_a_packet_exactly() {
    // 12000 bits: 4000 in the first ms at 4 Mbit/s, nothing for 10 ms, then
    // 2000 in 2 ms, and 6000 at 3 Mbit/s.
    let mut steps = steps(&[(0, 4_000), (1, 0), (11, 1_000), (13, 3_000)], None);
    let left = steps.finish(Time::ZERO, Bytes::new(1500));
    assert_eq!(left, Some(Time::from_millis(15)));
    // A packet that ends as the rate changes does not see the change.
    let left = steps.finish(Time::ZERO, Bytes::new(500));
    assert_eq!(left, Some(Time::from_millis(1)));
}

#[test]
fn an_outage_without_end_never_finishes() {
    let mut steps = steps(&[(0, 12_000), (1, 0)], None);
    assert_eq!(
        steps.finish(Time::ZERO, Bytes::new(1500)),
        Some(Time::from_millis(1))
    );
    assert_eq!(steps.finish(Time::ZERO, Bytes::new(1501)), None);
    steps.advance();
    assert_eq!(steps.next_change(), None);
    assert_eq!(steps.finish(Time::from_secs(1), Bytes::new(40)), None);
}

#[test]
fn a_repeated_schedule_begins_again() {
    let mut steps = steps(&[(0, 1_000), (10, 0)], Some(20));
    // 1250 bytes a round: the packet takes a round and 2 ms of the next.
    let left = steps.finish(Time::ZERO, Bytes::new(1500));
    assert_eq!(left, Some(Time::from_millis(22)));
    let mut changes = Vec::new();
    for _ in 0..4 {
        changes.push((steps.next_change().expect("repeats"), steps.rate()));
        steps.advance();
    }
    let (on, off) = (Rate::from_mbps(1), Rate::ZERO);
    let ms = Time::from_millis;
    assert_eq!(
        changes,
        [(ms(10), on), (ms(20), off), (ms(30), on), (ms(40), off)]
    );
}

proptest! {
    /// However a schedule is cut into steps of equal rate, nothing changes.
    #[test]
    fn steps_that_change_nothing_change_nothing(
        kbps in 1u64..100_000,
        cuts in prop::collection::btree_set(1u64..500, 0..40),
        size in 1u64..100_000,
        at in 0u64..1_000_000,
    ) {
        let mut schedule = vec![(0, kbps)];
        schedule.extend(cuts.into_iter().map(|ms| (ms, kbps)));
        let at = Time::from_nanos(at);
        let cut = steps(&schedule, Some(500)).finish(at, Bytes::new(size));
        let plain = steps(&[(0, kbps)], None).finish(at, Bytes::new(size));
        prop_assert_eq!(cut, plain);
    }
}

#[test]
fn the_rate_of_a_trace_is_that_of_its_last_second() {
    // 10 opportunities in the first second, one in each later one.
    let mut text: String = (1..=10).map(|n| format!("{}\n", n * 100)).collect();
    text.push_str("2000\n3000\n4000\n");
    let trace = Arc::new(Trace::parse(&text).expect("a trace"));
    let Service::Opportunities(mut opportunities) = Service::trace(Arc::clone(&trace), false)
    else {
        panic!("a trace gives opportunities");
    };
    let mut rates = Vec::new();
    for ms in [0, 1000, 1500, 2000, 4000, 5000, 9150] {
        let now = Time::from_millis(ms);
        while opportunities.next().is_some_and(|next| next <= now) {
            opportunities.advance();
        }
        let expected = match ms {
            0 => trace.mean(),
            _ => trace.rate_between(now - WINDOW, now),
        };
        assert_eq!(opportunities.rate(now), expected, "at {ms} ms");
        rates.push(expected.as_bps() / Rate::from_kbps(12).as_bps());
    }
    assert_eq!(rates[1..], [10, 5, 1, 1, 10, 9]);
}

#[test]
fn a_trace_played_once_ends() {
    let trace = Arc::new(Trace::parse("3\n7\n").expect("a trace"));
    for (once, expected) in [(true, vec![3, 7]), (false, vec![3, 7, 10, 14, 17])] {
        let Service::Opportunities(mut opportunities) = Service::trace(Arc::clone(&trace), once)
        else {
            panic!("a trace gives opportunities");
        };
        let mut seen = Vec::new();
        while let (Some(next), true) = (opportunities.next(), seen.len() < 5) {
            seen.push(next);
            opportunities.advance();
        }
        let expected: Vec<Time> = expected.into_iter().map(Time::from_millis).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn poisson_opportunities_have_the_mean_rate_and_scattered_gaps() {
    let rate = Rate::from_mbps(12);
    let stream = Stream::named(1, "poisson");
    let Ok(Service::Opportunities(mut opportunities)) = Service::poisson(rate, stream) else {
        panic!("a rate gives opportunities");
    };
    const N: u32 = 200_000;
    let (mut last, mut squares) = (Time::ZERO, 0.0);
    for _ in 0..N {
        let next = opportunities.next().expect("never ends");
        squares += (next - last).millis_f64() * (next - last).millis_f64();
        last = next;
        opportunities.advance();
    }
    // The mean gap is 1 ms; of exponential gaps the mean square is 2 ms².
    let mean = last.since_epoch().millis_f64() / f64::from(N);
    assert!((mean - 1.0).abs() < 0.01, "{mean}");
    assert!((squares / f64::from(N) - 2.0).abs() < 0.05, "{squares}");
}

#[test]
fn wrong_schedules_are_refused_with_a_reason() {
    let (ms, on, off) = (Time::from_millis, Rate::from_mbps(1), Rate::ZERO);
    for (schedule, repeat, reason) in [
        (vec![], None, "at least one pair"),
        (vec![(ms(1), on)], None, "must be at 0 s"),
        (
            vec![(ms(0), on), (ms(5), on), (ms(5), off)],
            None,
            "sort the steps",
        ),
        (
            vec![(ms(0), on), (ms(5), off)],
            Some(Span::from_millis(5)),
            "repeat",
        ),
        (
            vec![(ms(0), off)],
            Some(Span::from_millis(5)),
            "nothing but",
        ),
    ] {
        let error = Service::steps(&schedule, repeat)
            .expect_err(reason)
            .to_string();
        assert!(error.contains(reason), "{error}");
    }
    assert!(Service::poisson(Rate::ZERO, Stream::named(0, "x")).is_err());
}
