//! Keys understood and keys answered with better ones.

use super::*;
use crate::analysis::{Summary, Window};
use crate::units::Time;

fn names() -> Names {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Names {
        flows: own(&["game", "v1.5", "7"]),
        links: own(&["bottleneck", "back"]),
    }
}

fn parse(text: &str) -> (&'static str, Found) {
    let key = Key::parse(text, &names()).expect("a key");
    (key.metric.key, key.found)
}

#[test]
fn flows_and_links_go_by_name_and_by_number() {
    let found = |flow, link, part, statistic| Found {
        flow,
        link,
        part,
        statistic,
    };
    let owd = "flow.{flow}.owd.{stat}";
    assert_eq!(parse("flow.game.owd.p95"), (owd, found(0, 0, 0, "p95")));
    assert_eq!(parse("flow.1.owd.max"), (owd, found(1, 0, 0, "max")));
    assert_eq!(parse("flow.v1.5.owd.p50"), (owd, found(1, 0, 0, "p50")));
    // A name wins over a number.
    assert_eq!(parse("flow.7.owd.p50"), (owd, found(2, 0, 0, "p50")));
    let waited = "flow.{flow}.link.{link}.waited.{stat}";
    assert_eq!(
        parse("flow.2.link.back.waited.count"),
        (waited, found(2, 1, 0, "count"))
    );
    let spike = "link.{link}.spike.{drop}.over_bound";
    assert_eq!(
        parse("link.0.spike.12.over_bound"),
        (spike, found(0, 0, 12, ""))
    );
    let slots = "flow.{flow}.slots.{slots}.bitrate.{stat}";
    assert_eq!(
        parse("flow.0.slots.16.bitrate.p10"),
        (slots, found(0, 0, 16, "p10"))
    );
    assert_eq!(
        parse("all.jain.p10"),
        ("all.jain.{stat}", found(0, 0, 0, "p10"))
    );
    let any = Key::parse("flow.12.loss", &Names::default());
    assert_eq!(any.expect("no names to check against").found.flow, 12);
}

#[test]
fn a_wrong_key_is_answered_with_the_nearest_ones() {
    let best = |text: &str| {
        let error = Key::parse(text, &names()).expect_err("no such key");
        assert!(error.to_string().contains(&error.nearest[0]), "{error}");
        error.nearest[0].clone()
    };
    assert_eq!(best("flow.0.thruput"), "flow.0.throughput");
    assert_eq!(best("flow.gane.owd.p95"), "flow.game.owd.p95");
    assert_eq!(best("flow.game.owd.p96").len(), "flow.game.owd.p95".len());
    assert_eq!(best("flow.game.owd"), "flow.game.owd.max");
    assert_eq!(best("flow.game.frames.lat"), "flow.game.frames.latency.max");
    assert_eq!(
        best("link.botleneck.utilization"),
        "link.bottleneck.utilisation"
    );
    assert_eq!(
        best("flow.game.slots.5.bitrate.p10"),
        "flow.game.slots.1.bitrate.p10"
    );
    assert_eq!(best("flow.9.loss"), "flow.7.loss");
    assert_eq!(
        best("link.back.spike.3.overbound"),
        "link.back.spike.3.over_bound"
    );
}

#[test]
fn every_key_that_is_listed_can_be_asked_for() {
    let report = Summary::new(names(), Window::until(Time::from_secs(1))).report();
    let values = report.values();
    assert!(values.len() > 50, "{}", values.len());
    for (key, metric, value) in values {
        let parsed = Key::parse(&key, &report.names).expect("listed");
        assert_eq!(
            (parsed.metric.key, report.get(&key)),
            (metric.key, Ok(value)),
            "{key}"
        );
    }
    assert_eq!(report.get("flow.game.owd.p95"), Ok(Value::Nothing));
    assert_eq!(report.get("flow.game.path.3.sending"), Ok(Value::Nothing));
}
