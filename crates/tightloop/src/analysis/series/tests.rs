//! Curves of a run small enough to draw by hand.

use super::*;
use crate::event::{Cause, Kind, LostBy, PacketId};

fn packet(number: u64) -> PacketId {
    PacketId {
        number,
        ..PacketId::default()
    }
}

/// Two packets, one of them lost, on a link whose rate changes inside a bin.
fn example() -> Series {
    let mut series = Series::new(Names::default(), Series::BIN);
    let (link, flow, path) = (LinkId(0), FlowId(0), PathId(0));
    let (size, waiting, kind) = (Bytes::new(1_250), Bytes::new(500), Kind::Filler);
    let (by, cause) = (LostBy::Packets, Cause::Full);
    let control = Control {
        target: Some(Rate::from_mbps(2)),
        ..Control::default()
    };
    let queue = Span::from_millis(4);
    let frame = FrameId;
    let mut record = |ms: u64, event: Event| series.record(Time::from_millis(ms), &event);
    record(
        0,
        Event::Capacity {
            link,
            rate: Rate::from_mbps(4),
        },
    );
    record(
        5,
        Event::Captured {
            flow,
            frame: frame(0),
        },
    );
    record(
        10,
        Event::Sent {
            packet: packet(0),
            size,
            kind,
            in_flight: size,
        },
    );
    record(
        10,
        Event::Queued {
            link,
            packet: packet(0),
            size,
            waiting,
        },
    );
    record(
        14,
        Event::Left {
            link,
            packet: packet(0),
            size,
            waited: queue,
            sojourn: queue,
        },
    );
    record(
        20,
        Event::Control {
            flow,
            path,
            control,
        },
    );
    record(
        22,
        Event::Captured {
            flow,
            frame: frame(1),
        },
    );
    record(
        30,
        Event::Arrived {
            packet: packet(0),
            size,
            duplicate: false,
        },
    );
    record(
        31,
        Event::Arrived {
            packet: packet(0),
            size,
            duplicate: true,
        },
    );
    record(
        40,
        Event::Shown {
            flow,
            frame: frame(1),
        },
    );
    record(
        150,
        Event::Capacity {
            link,
            rate: Rate::from_mbps(2),
        },
    );
    record(
        160,
        Event::Sent {
            packet: packet(1),
            size,
            kind,
            in_flight: size + size,
        },
    );
    record(
        160,
        Event::Dropped {
            link,
            packet: packet(1),
            size,
            cause,
        },
    );
    record(
        205,
        Event::Gauge {
            flow,
            path,
            name: "delta",
            value: 0.5,
        },
    );
    record(
        210,
        Event::Lost {
            packet: packet(1),
            size,
            by,
        },
    );
    series
}

fn curve(key: &str) -> Vec<Option<f64>> {
    let curves = example().curves(Time::from_millis(250));
    let curve = curves.into_iter().find(|curve| curve.key == key);
    curve.map_or(Vec::new(), |curve| curve.values)
}

#[test]
fn curves_have_a_value_for_each_bin_and_the_last_may_be_short() {
    // Of 4 Mbit/s the second bin has one half; the last bin is 50 ms long.
    assert_eq!(curve("link.0.capacity"), [Some(4e6), Some(3e6), Some(2e6)]);
    assert_eq!(curve("flow.0.sending"), [Some(1e5), Some(1e5), Some(0.0)]);
    assert_eq!(
        curve("flow.0.throughput"),
        [Some(1e5), Some(0.0), Some(0.0)]
    );
    assert_eq!(
        curve("flow.0.in_flight"),
        [Some(1_250.0), Some(2_500.0), Some(0.0)]
    );
    assert_eq!(curve("flow.0.owd.p95"), [Some(0.02), None, None]);
    assert_eq!(curve("flow.0.lost"), [Some(0.0), Some(0.0), Some(1.0)]);
    assert_eq!(curve("link.0.waited.max"), [Some(0.004), None, None]);
    assert_eq!(curve("link.0.drops"), [Some(0.0), Some(1.0), Some(0.0)]);
    assert_eq!(curve("link.0.waiting"), [Some(500.0), Some(0.0), Some(0.0)]);
}

#[test]
fn what_a_controller_allows_holds_until_it_changes() {
    assert_eq!(curve("flow.0.target"), [Some(2e6); 3]);
    assert_eq!(curve("flow.0.gauge.delta"), [None, None, Some(0.5)]);
    assert_eq!(curve("flow.0.pacing"), []);
}

#[test]
fn each_frame_is_a_point() {
    let series = example();
    let latencies: Vec<_> = series
        .frames(FlowId(0))
        .iter()
        .map(|it| it.latency)
        .collect();
    assert_eq!(latencies, [Span::from_millis(35), Span::from_millis(18)]);
    assert!(!series.frames(FlowId(0))[0].shown && series.frames(FlowId(0))[1].shown);
    assert_eq!(series.frames(FlowId(3)), []);
}

#[test]
fn curves_are_written_with_their_units() {
    let json = serde_json::to_string(&example().curves(Time::from_millis(250))).expect("JSON");
    let target = r#"{"key":"flow.0.target","unit":"bit/s","bin":"100 ms","values":[2000000.0"#;
    assert!(json.contains(target), "{json}");
}
