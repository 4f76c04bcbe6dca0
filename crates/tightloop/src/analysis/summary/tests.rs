//! A run small enough for pencil and paper, and logs that no run writes.

use proptest::prelude::*;

use super::*;
use crate::analysis::Series;
use crate::event::{Cause, Control, Fragment, FrameId, Kind, LostBy, PathId, SkippedBy};

fn id(number: u64, direction: Direction) -> PacketId {
    PacketId {
        number,
        direction,
        ..PacketId::default()
    }
}

/// A second in the life of a flow: a frame of two packets, of which the second
/// is dropped and sent again, a packet of filler and two of a stream.
fn example() -> Report {
    let names = Names {
        flows: vec!["game".into()],
        links: vec!["cell".into(), "back".into()],
    };
    let window = Window {
        from: Time::from_secs(1),
        to: Time::from_secs(2),
    };
    let mut summary = Summary::new(names, window);
    let ms = Span::from_millis;
    let (flow, frame, path) = (FlowId(0), FrameId(1), PathId(0));
    let (cell, back) = (LinkId(0), LinkId(1));
    let onward = |number| id(number, Direction::Data);
    let part = |index| Fragment {
        frame,
        index,
        count: 2,
    };
    let mut record = |at, event: Event| summary.record(Time::from_millis(at), &event);
    record(
        0,
        Event::Capacity {
            link: cell,
            rate: Rate::from_mbps(8),
        },
    );
    record(
        900,
        Event::Captured {
            flow,
            frame: FrameId(0),
        },
    );
    record(1_000, Event::Captured { flow, frame });
    let size = Bytes::new(2_500);
    record(
        1_000,
        Event::Encoded {
            flow,
            frame,
            size,
            budget: size,
            key: true,
        },
    );
    // Number, sent, kind, size, waited, left, arrived.
    let packets = [
        (0, 1_000, Kind::Video(part(0)), 1_500, 1, 1_003, 1_023),
        (2, 1_010, Kind::Filler, 500, 0, 1_011, 1_030),
        (3, 1_011, Kind::Bulk, 1_000, 1, 1_013, 1_041),
        (4, 1_050, Kind::Retransmit(part(1)), 1_000, 0, 1_052, 1_077),
        (5, 1_990, Kind::Bulk, 100, 0, 1_991, 2_010),
    ];
    for (number, sent, kind, size, waited, left, arrived) in packets {
        let (packet, size) = (onward(number), Bytes::new(size));
        if number == 2 {
            let (packet, size) = (onward(1), Bytes::new(1_000));
            let kind = Kind::Video(part(1));
            record(
                1_002,
                Event::Sent {
                    packet,
                    size,
                    kind,
                    in_flight: size,
                },
            );
            record(
                1_002,
                Event::Dropped {
                    link: cell,
                    packet,
                    size,
                    cause: Cause::Full,
                },
            );
        }
        record(
            sent,
            Event::Sent {
                packet,
                size,
                kind,
                in_flight: size,
            },
        );
        record(
            sent,
            Event::Queued {
                link: cell,
                packet,
                size,
                waiting: size,
            },
        );
        let sojourn = ms(i64::try_from(left - sent).expect("small"));
        let waited = ms(waited);
        record(
            left,
            Event::Left {
                link: cell,
                packet,
                size,
                waited,
                sojourn,
            },
        );
        record(
            arrived,
            Event::Arrived {
                packet,
                size,
                duplicate: false,
            },
        );
        let (packet, size) = (id(number, Direction::Feedback), Bytes::new(60));
        record(
            arrived,
            Event::Queued {
                link: back,
                packet,
                size,
                waiting: size,
            },
        );
    }
    let size = Bytes::new(1_000);
    record(
        1_011,
        Event::Marked {
            link: cell,
            packet: onward(2),
        },
    );
    for (at, number, rtt, spurious) in [
        (1_043, 0, 43, false),
        (1_050, 2, 40, false),
        (1_061, 3, 50, true),
    ] {
        record(
            at,
            Event::Acked {
                packet: onward(number),
                size,
                rtt: Some(ms(rtt)),
                spurious,
            },
        );
    }
    record(
        1_045,
        Event::Lost {
            packet: onward(1),
            size,
            by: LostBy::Packets,
        },
    );
    record(
        1_055,
        Event::Lost {
            packet: onward(3),
            size,
            by: LostBy::Time,
        },
    );
    record(1_077, Event::Completed { flow, frame });
    record(
        1_078,
        Event::Arrived {
            packet: onward(4),
            size,
            duplicate: true,
        },
    );
    record(1_080, Event::Shown { flow, frame });
    record(1_500, Event::Timeout { flow, path });
    summary.report()
}

#[test]
fn every_metric_of_a_small_run_is_what_pencil_and_paper_say() {
    let report = example();
    let expected = [
        ("all.throughput", "32 kbit/s"),
        ("all.loss", "0.16666666666666666"),
        ("all.owd.p50", "25 ms"),
        ("all.pantheon", "592.592 kbit/s"),
        ("all.jain.p10", "–"),
        ("flow.game.throughput", "32 kbit/s"),
        ("flow.game.throughput.video", "12 kbit/s"),
        ("flow.game.throughput.retransmit", "8 kbit/s"),
        ("flow.game.throughput.filler", "4 kbit/s"),
        ("flow.game.throughput.bulk", "8 kbit/s"),
        ("flow.game.pantheon", "592.592 kbit/s"),
        ("flow.game.goodput", "28 kbit/s"),
        ("flow.game.late", "0 bit/s"),
        ("flow.game.sending", "40.8 kbit/s"),
        ("flow.game.sending.video", "20 kbit/s"),
        ("flow.game.sending.retransmit", "8 kbit/s"),
        ("flow.game.sending.filler", "4 kbit/s"),
        ("flow.game.sending.bulk", "8.8 kbit/s"),
        ("flow.game.feedback", "1.92 kbit/s"),
        ("flow.game.filler", "0.09803921568627451"),
        ("flow.game.sent", "6"),
        ("flow.game.arrived", "4"),
        ("flow.game.duplicates", "1"),
        ("flow.game.lost", "1"),
        ("flow.game.loss", "0.16666666666666666"),
        ("flow.game.drops", "1"),
        ("flow.game.drops.full", "1"),
        ("flow.game.drops.aqm", "0"),
        ("flow.game.marks", "1"),
        ("flow.game.given_up", "2"),
        ("flow.game.spurious", "1"),
        ("flow.game.timeouts", "1"),
        ("flow.game.base", "20 ms"),
        ("flow.game.owd.mean", "25 ms"),
        ("flow.game.owd.p95", "29.55 ms"),
        ("flow.game.owd.max", "30 ms"),
        ("flow.game.owd.count", "4"),
        ("flow.game.owd_above_base.p95", "9.55 ms"),
        ("flow.game.rtt.p50", "43 ms"),
        ("flow.game.link.cell.waited.mean", "400 us"),
        ("flow.game.link.cell.sojourn.max", "3 ms"),
        ("flow.game.link.back.sojourn.max", "–"),
        ("flow.game.path.0.throughput", "32 kbit/s"),
        ("flow.game.path.0.loss", "0.16666666666666666"),
        ("flow.game.frames.captured", "1"),
        ("flow.game.frames.encoded", "1"),
        ("flow.game.frames.shown", "1"),
        ("flow.game.frames.pending", "0"),
        ("flow.game.frames.bitrate", "20 kbit/s"),
        ("flow.game.frames.latency.max", "80 ms"),
        ("flow.game.frames.delay.max", "77 ms"),
        ("flow.game.frames.fps", "1 fps"),
        ("flow.game.frames.freezes", "0"),
        ("link.cell.capacity", "8 Mbit/s"),
        ("link.cell.carried", "32.8 kbit/s"),
        ("link.cell.utilisation", "0.0041"),
        ("link.cell.drops.full", "1"),
        ("link.cell.marks", "1"),
        ("link.cell.waiting", "0.002"),
        ("link.cell.waiting_max", "1.5 kB"),
        ("link.cell.waited.count", "5"),
        ("link.back.utilisation", "–"),
    ];
    for (key, expected) in expected {
        let value = report.get(key).expect("a key");
        assert_eq!(format!("{value:#}"), expected, "{key}");
    }
}

#[test]
fn a_report_is_written_with_units() {
    let json = serde_json::to_value(example()).expect("JSON");
    assert_eq!(json["flows"][0]["throughput"], "32 kbit/s");
    assert_eq!(json["flows"][0]["owd"]["p95"], "29.55 ms");
    assert_eq!(json["window"]["from"], "1 s");
    assert_eq!(json["links"][1]["utilisation"], serde_json::Value::Null);
}

fn wild() -> impl Strategy<Value = (Time, Event)> {
    let number = prop_oneof![0u64..20, any::<u64>()];
    let small = prop_oneof![0u32..3, Just(u32::MAX)];
    let time = prop_oneof![0u64..20_000_000_000, any::<u64>()];
    (time, number, small, any::<i64>(), 0u8..18).prop_map(|(at, number, small, span, which)| {
        let (flow, link, frame) = (FlowId(small), LinkId(small), FrameId(small));
        let path = PathId(u8::try_from(small % 3).expect("small"));
        let packet = PacketId {
            flow: FlowId(small % 2),
            path,
            direction: Direction::Data,
            number,
        };
        let (size, rate, delay) = (
            Bytes::new(number),
            Rate::from_bps(number),
            Span::from_nanos(span),
        );
        let fragment = Fragment {
            frame,
            index: u16::MAX,
            count: 0,
        };
        let event = match which {
            0..=2 => Event::Sent {
                packet,
                size,
                kind: Kind::Video(fragment),
                in_flight: size,
            },
            3 | 4 => Event::Arrived {
                packet,
                size,
                duplicate: false,
            },
            5 => Event::Capacity { link, rate },
            6 => Event::Opportunity { link, size },
            7 => Event::Captured { flow, frame },
            8 => Event::Skipped {
                flow,
                frame,
                by: SkippedBy::Encoder,
            },
            9 => Event::Encoded {
                flow,
                frame,
                size,
                budget: size,
                key: true,
            },
            10 => Event::Queued {
                link,
                packet,
                size,
                waiting: size,
            },
            11 => Event::Dropped {
                link,
                packet,
                size,
                cause: Cause::TooBig,
            },
            12 => Event::Left {
                link,
                packet,
                size,
                waited: delay,
                sojourn: delay,
            },
            13 => Event::Completed { flow, frame },
            14 => Event::Shown { flow, frame },
            15 => Event::Acked {
                packet,
                size,
                rtt: Some(delay),
                spurious: true,
            },
            16 => Event::Lost {
                packet,
                size,
                by: LostBy::Time,
            },
            _ => Event::Control {
                flow,
                path,
                control: Control::default(),
            },
        };
        (Time::from_nanos(at), event)
    })
}

proptest! {
    #[test]
    fn no_log_however_damaged_breaks_the_analysis(
        log in proptest::collection::vec(wild(), 0..100),
        window in (any::<u64>(), 0u64..20_000_000_000),
    ) {
        let window = Window {
            from: Time::from_nanos(window.1 / 2),
            to: Time::from_nanos(window.0.max(window.1)),
        };
        let mut summary = Summary::new(Names::default(), window);
        let mut series = Series::new(Names::default(), Series::BIN);
        let mut both = (&mut summary, &mut series);
        for (at, event) in &log {
            both.record(*at, event);
        }
        let _ = summary.report().values();
        let _ = series.curves(Time::from_secs(10));
    }
}

#[test]
fn two_sinks_hear_the_same() {
    let mut both = (Vec::new(), (Vec::new(), Vec::new()));
    let event = Event::Capacity {
        link: LinkId(0),
        rate: Rate::from_mbps(1),
    };
    both.record(Time::ZERO, &event);
    let (first, (second, third)) = both;
    assert_eq!(first, [(Time::ZERO, event)]);
    assert_eq!((&second, &third), (&first, &first));
}
