//! The proxy beside a controller that remembers the least round trip of 10 s.

use proptest::prelude::*;

use super::*;
use crate::filter::WindowedMin;

const fn ms(millis: i64) -> Span {
    Span::from_millis(millis)
}

/// How a controller remembers.
#[derive(Clone, Copy, Debug)]
enum Memory {
    TenSeconds,
    ForEver,
}

/// A packet every 50 ms over a path whose natural delay changes, each a moment
/// with its delay from then on; the proxy is asked as it wishes. Returns what is
/// added and what a round trip takes, per second, after each tick.
fn play(rule: Rule, memory: Memory, path: &[(u64, i64)], seconds: u64) -> Vec<(i64, i64)> {
    let settings = Settings {
        rule,
        ..Settings::default()
    };
    let mut proxy = Proxy::new(&settings, Time::ZERO).expect("settings");
    let window = match memory {
        Memory::TenSeconds => Span::from_secs(10),
        Memory::ForEver => Span::from_secs(1_000_000),
    };
    let mut min = WindowedMin::new(window);
    let natural = |at: Time| {
        let known = path.iter().rev();
        let mut known = known.filter(|(from, _)| Time::from_millis(*from) <= at);
        known.next().map_or(0, |(_, delay)| *delay)
    };
    let mut seen = Vec::new();
    for step in 1..=seconds * 20 {
        let now = Time::from_millis(step * 50);
        if proxy.next_tick().is_some_and(|due| due <= now) {
            proxy.tick(now, min.get(now));
            let added = proxy.added().as_nanos() / ms(1).as_nanos();
            seen.push((added, added + natural(now)));
        }
        // It left one round trip ago, too short a time to matter here.
        min.push(now, ms(natural(now)) + proxy.added());
    }
    seen
}

fn totals(rule: Rule, path: &[(u64, i64)], seconds: u64) -> Vec<i64> {
    let played = play(rule, Memory::TenSeconds, path, seconds);
    played.into_iter().map(|(_, total)| total).collect()
}

fn highest(totals: &[i64]) -> i64 {
    totals.iter().copied().max().expect("ticks")
}

/// From the end of this second on every total is λ.
fn settled(totals: &[i64]) -> usize {
    let off = totals.iter().rposition(|total| (total - 100).abs() > 3);
    off.map_or(0, |last| last + 2)
}

#[test]
fn a_fresh_flow_steps_down_to_lambda_at_the_first_tick() {
    for rule in [Rule::Literal, Rule::Patient] {
        assert_eq!(totals(rule, &[(0, 40)], 30), [100; 30]);
    }
    // Above λ there is nothing to add; the literal loop keeps its λ for ever, as
    // it never goes to nothing.
    assert_eq!(totals(Rule::Patient, &[(0, 130)], 5), [130; 5]);
    assert_eq!(totals(Rule::Literal, &[(0, 130)], 5), [230; 5]);
    let constant = play(Rule::Constant, Memory::TenSeconds, &[(0, 40)], 5);
    assert_eq!(constant, []);
}

#[test]
fn the_literal_loop_climbs_by_the_same_step_until_the_window_has_passed() {
    // 20 s at 40 ms, then 35: 100, 105, … 130 while the controller still reports
    // 95; one more as it reports the first step; λ again after more than 20 s.
    let totals = totals(Rule::Literal, &[(0, 40), (20_000, 35)], 60);
    assert_eq!(&totals[20..27], [100, 105, 110, 115, 120, 125, 130]);
    assert_eq!(highest(&totals), 135);
    assert!((40..=46).contains(&settled(&totals)), "{totals:?}");
    let further = super::tests::totals(Rule::Literal, &[(0, 40), (20_000, 30)], 60);
    assert_eq!(highest(&further), 130);
    // Ten seconds of nothing, since a natural delay below nothing is not believed;
    // then the whole step once more, for fifteen.
    let far = super::tests::totals(Rule::Literal, &[(0, 40), (20_000, 10)], 60);
    assert_eq!(&far[20..29], [100; 9]);
    assert_eq!(highest(&far), 130);
    let above = far.iter().filter(|total| **total == 130).count();
    assert!((13..=17).contains(&above), "{far:?}");
}

#[test]
fn the_patient_loop_does_not_climb_when_the_route_changes() {
    for shorter in [35, 30, 10] {
        let totals = totals(Rule::Patient, &[(0, 40), (20_000, shorter)], 60);
        assert_eq!(&totals[20..], [100; 40], "to {shorter} ms");
    }
}

#[test]
fn a_route_that_comes_back_costs_what_it_must_and_no_more() {
    let there_and_back = [(0, 40), (20_000, 10), (35_000, 40)];
    let literal = totals(Rule::Literal, &there_and_back, 90);
    let patient = totals(Rule::Patient, &there_and_back, 90);
    // While the minimum remembers 10 ms, λ − 10 ms stay added to the 40: a window
    // and five ticks.
    assert_eq!(highest(&patient), 130);
    assert!((49..=52).contains(&settled(&patient)), "{patient:?}");
    // The literal loop has added its step twice by then.
    assert_eq!(highest(&literal), 160);
}

#[test]
fn a_minimum_that_never_forgets_does_no_harm() {
    for shorter in [35, 30, 10] {
        let path = [(0, 40), (20_000, shorter)];
        let patient = play(Rule::Patient, Memory::ForEver, &path, 90);
        assert!(
            patient[20..].iter().all(|(_, total)| *total == 100),
            "{patient:?}"
        );
    }
    let literal = play(Rule::Literal, Memory::ForEver, &[(0, 40), (20_000, 35)], 90);
    assert_eq!(literal.last(), Some(&(95, 130)));
}

#[test]
fn two_steps_down_are_both_answered() {
    // The second comes while reports of the first may be old: it lowers them.
    let two = |second| {
        let path = [(0, 40), (20_000, 30), (24_000, second)];
        let totals = totals(Rule::Patient, &path, 60);
        assert_eq!(highest(&totals), 100);
        totals[59]
    };
    assert_eq!((two(18), two(5)), (100, 100));
    // A smaller one waits for the window to pass; one that is exactly as large
    // looks like the old report.
    assert_eq!((two(24), two(20)), (100, 90));
}

#[test]
fn without_a_report_nothing_changes() {
    let mut proxy = Proxy::new(&Settings::default(), Time::from_secs(3)).expect("settings");
    assert_eq!(proxy.next_tick(), Some(Time::from_secs(4)));
    for report in [None, Some(Span::ZERO)] {
        assert_eq!(proxy.tick(Time::from_secs(4), report), ms(100));
    }
    // Late once, on time again: a whole tick later.
    proxy.tick(Time::from_millis(5_400), Some(ms(150)));
    assert_eq!(proxy.next_tick(), Some(Time::from_millis(6_400)));
    assert_eq!(proxy.added(), ms(50));
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    for (text, reason) in [
        ("lambda = \"-1 ms\"", "lambda = -1 ms is negative"),
        ("tick = \"0 s\"", "asks without end"),
        ("window = \"-1 s\"", "window = -1 s is negative"),
        ("dead_band = \"-1 s\"", "dead_band = -1 s is negative"),
    ] {
        let settings: Settings = toml::from_str(text).expect(text);
        let error = Proxy::new(&settings, Time::ZERO).expect_err(text);
        assert!(error.0.contains(reason), "{text}: {error}");
    }
    assert!(toml::from_str::<Settings>("rule = \"naive\"").is_err());
}

proptest! {
    /// Whatever the route does and however the controller remembers, never more
    /// is added than was missing to λ on the shortest route of all, or 3 ms.
    #[test]
    fn the_patient_loop_adds_no_more_than_the_shortest_route_lacked(
        steps in proptest::collection::vec((0u64..1_600, 1i64..140), 1..12),
        for_ever in any::<bool>(),
    ) {
        let mut path: Vec<(u64, i64)> = steps.into_iter().map(|(at, delay)| (at * 50, delay)).collect();
        path.sort_unstable();
        path[0].0 = 0;
        let shortest = path.iter().map(|(_, delay)| *delay).min().expect("a route");
        let memory = if for_ever { Memory::ForEver } else { Memory::TenSeconds };
        let played = play(Rule::Patient, memory, &path, 120);
        for (added, _) in played {
            prop_assert!((0..=(100 - shortest).max(0) + 3).contains(&added), "{} added, shortest {}", added, shortest);
        }
    }

    /// A route that has not changed for long is at λ, or as near as it can be.
    #[test]
    fn the_patient_loop_arrives(before in 1i64..140, after in 1i64..140) {
        let totals = totals(Rule::Patient, &[(0, before), (20_000, after)], 80);
        let last = *totals.last().expect("ticks");
        prop_assert!((last - after.max(100)).abs() <= 3, "{:?}", totals);
    }
}
