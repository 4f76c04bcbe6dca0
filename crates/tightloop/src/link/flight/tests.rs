//! Flight: order, delay that changes, and jitter's moments.

use proptest::prelude::*;

use super::*;
use crate::link::tests::{Mail, mail_of};
use crate::units::float;

const MS: Span = Span::from_millis(1);

/// Sends packets (flow, when they leave service) and returns (due, flow,
/// number) in the order of delivery.
fn fly(mut flight: Flight<Mail>, packets: &[(u32, Time)]) -> Vec<(Time, u32, u64)> {
    for (number, (flow, at)) in (0u64..).zip(packets) {
        flight.push(*at, mail_of(*flow, number));
    }
    let mut out = Vec::new();
    while let Some(next) = flight.next() {
        let (due, mail) = flight.pop(next).expect("due now");
        assert_eq!(due, next);
        out.push((due, mail.flow, mail.number));
    }
    out
}

fn uniform(ms: i64, reorder: bool) -> Option<Jitter> {
    let max = MS * ms;
    Some(Jitter::Uniform { max, reorder })
}

#[test]
fn each_flow_flies_its_own_delay() {
    let mut flight = Flight::new(MS * 10);
    flight.set_flow_delay(FlowId(1), MS * 50);
    let at = Time::from_millis;
    let out = fly(flight, &[(1, at(0)), (0, at(1)), (1, at(2)), (0, at(70))]);
    assert_eq!(
        out,
        [
            (at(11), 0, 1),
            (at(60), 1, 0),
            (at(62), 1, 2),
            (at(80), 0, 3)
        ]
    );
}

#[test]
fn after_a_shorter_delay_nobody_overtakes_within_a_flow() {
    let at = Time::from_millis;
    let changes = [(at(10), MS * 5), (at(30), MS * 100)];
    let flight = Flight::new(MS * 50).with_changes(&changes).expect("sorted");
    // The packet of 9 ms is due at 59; those of 10 and 20 wait for it, but
    // flow 1 has nobody to wait for.
    let out = fly(
        flight,
        &[
            (0, at(9)),
            (0, at(10)),
            (1, at(11)),
            (0, at(20)),
            (0, at(30)),
        ],
    );
    let expected = [
        (at(16), 1, 2),
        (at(59), 0, 0),
        (at(59), 0, 1),
        (at(59), 0, 3),
        (at(130), 0, 4),
    ];
    assert_eq!(out, expected);
}

#[test]
fn no_flight_is_shorter_than_the_shortest_promised() {
    let gaussian = Jitter::Gaussian {
        sigma: MS * 5,
        cut: 3.0,
        reorder: true,
    };
    for (delay, jitter, least) in [
        (MS * 20, None, MS * 20),
        (MS * 20, uniform(30, true), MS * 20),
        (MS * 20, Some(gaussian), MS * 5),
        (MS * 10, Some(gaussian), Span::ZERO),
    ] {
        let flight = Flight::<Mail>::new(delay).with_jitter(jitter, 1, "x");
        assert_eq!(flight.least(), least);
        let packets: Vec<(u32, Time)> = (0..2_000).map(|ms| (0, Time::from_millis(ms))).collect();
        let shortest = fly(flight, &packets)
            .into_iter()
            .map(|(due, _, number)| due - Time::from_millis(number))
            .min();
        let shortest = shortest.expect("packets");
        assert!(shortest >= least && shortest < least + MS, "{shortest}");
    }
}

/// Mean and standard deviation of the flight in milliseconds, packets far apart.
fn moments(jitter: Jitter) -> (f64, f64) {
    const N: u64 = 50_000;
    let flight = Flight::new(MS * 50).with_jitter(Some(jitter), 7, "moments");
    let packets: Vec<(u32, Time)> = (0..N).map(|n| (0, Time::from_secs(n))).collect();
    let (mut sum, mut squares) = (0.0, 0.0);
    for (due, _, number) in fly(flight, &packets) {
        let ms = (due - Time::from_secs(number)).millis_f64();
        sum += ms;
        squares += ms * ms;
    }
    let mean = sum / float(N);
    (mean, libm::sqrt(squares / float(N) - mean * mean))
}

#[test]
fn jitter_has_its_moments() {
    let (mean, deviation) = moments(Jitter::Uniform {
        max: MS * 30,
        reorder: false,
    });
    assert!((mean - 65.0).abs() < 0.2, "{mean}");
    assert!(
        (deviation - 30.0 / libm::sqrt(12.0)).abs() < 0.1,
        "{deviation}"
    );
    // Cut at 3σ, a Gaussian keeps .9866 of its standard deviation.
    let gaussian = Jitter::Gaussian {
        sigma: MS * 5,
        cut: 3.0,
        reorder: false,
    };
    let (mean, deviation) = moments(gaussian);
    assert!((mean - 50.0).abs() < 0.1, "{mean}");
    assert!((deviation - 5.0 * 0.9866).abs() < 0.05, "{deviation}");
}

#[test]
fn a_flow_has_the_same_luck_whoever_else_flies() {
    let flight = || Flight::new(MS * 10).with_jitter(uniform(20, true), 3, "shared");
    let alone: Vec<(u32, Time)> = (0..100).map(|ms| (2, Time::from_millis(ms))).collect();
    let shared: Vec<(u32, Time)> = alone
        .iter()
        .flat_map(|(flow, at)| [(5, *at), (*flow, *at)])
        .collect();
    let of_flow_2 = |out: Vec<(Time, u32, u64)>| -> Vec<Time> {
        out.into_iter()
            .filter(|(_, flow, _)| *flow == 2)
            .map(|(due, _, _)| due)
            .collect()
    };
    assert_eq!(
        of_flow_2(fly(flight(), &alone)),
        of_flow_2(fly(flight(), &shared))
    );
}

proptest! {
    #[test]
    fn packets_come_by_time_and_within_a_flow_in_order(
        gaps in prop::collection::vec((0u32..4, 0i64..3_000), 1..200),
        changes in prop::collection::btree_map(0u64..300, 0i64..60, 0..4),
        extra in 0i64..40,
        jitter in 0i64..30,
        reorder: bool,
    ) {
        let mut at = Time::ZERO;
        let packets: Vec<(u32, Time)> = gaps.iter().map(|(flow, gap)| {
            at += Span::from_micros(*gap);
            (*flow, at)
        }).collect();
        let changes: Vec<(Time, Span)> = changes.into_iter().map(|(ms, delay)| (Time::from_millis(ms), MS * delay)).collect();
        let mut flight = Flight::new(MS * 20).with_changes(&changes).expect("sorted");
        if jitter > 0 {
            flight = flight.with_jitter(uniform(jitter, reorder), 1, "x");
        }
        if extra > 0 {
            flight.set_flow_delay(FlowId(1), MS * extra);
        }
        let out = fly(flight, &packets);
        prop_assert_eq!(out.len(), packets.len());
        prop_assert!(out.is_sorted_by_key(|(due, _, _)| *due));
        if jitter == 0 || !reorder {
            for flow in 0..4 {
                let numbers: Vec<u64> = out.iter().filter(|o| o.1 == flow).map(|o| o.2).collect();
                prop_assert!(numbers.is_sorted(), "flow {flow}: {numbers:?}");
            }
        }
    }
}

#[test]
fn jitter_that_may_reorder_does() {
    let flight = Flight::new(MS * 10).with_jitter(uniform(20, true), 1, "x");
    let packets: Vec<(u32, Time)> = (0..1_000).map(|ms| (0, Time::from_millis(ms))).collect();
    let out = fly(flight, &packets);
    let overtaken = out.windows(2).filter(|pair| pair[0].2 > pair[1].2).count();
    assert!((200..700).contains(&overtaken), "{overtaken}");
}

#[test]
fn wrong_jitter_is_refused_with_a_reason() {
    #[derive(Debug, Deserialize)]
    struct Scenario {
        jitter: Jitter,
    }
    for (text, reason) in [
        ("{ kind = \"uniform\", max = \"0 s\" }", "no jitter"),
        (
            "{ kind = \"gaussian\", sigma = \"5 ms\", cut = 0.1 }",
            "at least 0.5",
        ),
        (
            "{ kind = \"gaussian\", sigma = \"5 ms\", max = \"5 ms\" }",
            "unknown field `max`",
        ),
        ("{ kind = \"normal\" }", "unknown variant `normal`"),
    ] {
        let refused = match toml::from_str::<Scenario>(&format!("jitter = {text}")) {
            Ok(scenario) => scenario.jitter.check().expect_err(text).to_string(),
            Err(error) => error.to_string(),
        };
        assert!(refused.contains(reason), "{text}: {refused}");
    }
    let text = "jitter = { kind = \"gaussian\", sigma = \"5 ms\" }";
    let scenario: Scenario = toml::from_str(text).expect("defaults");
    assert_eq!(
        scenario.jitter,
        Jitter::Gaussian {
            sigma: MS * 5,
            cut: 3.0,
            reorder: false
        }
    );
}
