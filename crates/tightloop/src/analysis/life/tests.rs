//! Lives told word for word.

use super::*;
use crate::event::{Cause, LinkId, LostBy};
use crate::units::Bytes;

fn id(number: u64) -> PacketId {
    PacketId {
        number,
        ..PacketId::default()
    }
}

/// Frame 7 of two fragments, the second of which is dropped and sent again;
/// a packet of filler between.
fn example() -> Vec<(Time, Event)> {
    let (flow, frame, link) = (FlowId(0), FrameId(7), LinkId(0));
    let (size, waiting) = (Bytes::new(1_500), Bytes::new(3_000));
    let (waited, sojourn) = (Span::from_millis(2), Span::from_millis(3));
    let (by, cause, duplicate) = (LostBy::Packets, Cause::Full, false);
    let fragment = |index| Fragment {
        frame,
        index,
        count: 2,
    };
    let sent = |packet, kind| Event::Sent {
        packet,
        size,
        kind,
        in_flight: size,
    };
    let queued = |packet| Event::Queued {
        link,
        packet,
        size,
        waiting,
    };
    let left = |packet| Event::Left {
        link,
        packet,
        size,
        waited,
        sojourn,
    };
    let arrived = |packet| Event::Arrived {
        packet,
        size,
        duplicate,
    };
    let rtt = Some(Span::from_millis(40));
    let acked = Event::Acked {
        packet: id(0),
        size,
        rtt,
        spurious: false,
    };
    let budget = size + size;
    let events = [
        (0, Event::Captured { flow, frame }),
        (
            1,
            Event::Encoded {
                flow,
                frame,
                size: Bytes::new(2_900),
                budget,
                key: false,
            },
        ),
        (2, sent(id(0), Kind::Video(fragment(0)))),
        (2, queued(id(0))),
        (3, sent(id(1), Kind::Video(fragment(1)))),
        (
            3,
            Event::Dropped {
                link,
                packet: id(1),
                size,
                cause,
            },
        ),
        (4, sent(id(2), Kind::Filler)),
        (5, left(id(0))),
        (25, arrived(id(0))),
        (42, acked),
        (
            44,
            Event::Lost {
                packet: id(1),
                size,
                by,
            },
        ),
        (45, sent(id(3), Kind::Retransmit(fragment(1)))),
        (65, arrived(id(3))),
        (65, Event::Completed { flow, frame }),
        (70, Event::Shown { flow, frame }),
        (
            90,
            Event::Shown {
                flow,
                frame: FrameId(8),
            },
        ),
    ];
    events
        .map(|(ms, event)| (Time::from_millis(ms), event))
        .to_vec()
}

fn told(steps: &[Step]) -> Vec<String> {
    steps
        .iter()
        .map(|step| format!("{}: {}", step.at, step.text))
        .collect()
}

#[test]
fn a_frame_lives_from_capture_to_screen() {
    let names = Names {
        flows: Vec::new(),
        links: vec!["cell".into()],
    };
    let steps = frame(&example(), FlowId(0), FrameId(7), &names);
    let expected = [
        "0 s: frame 7 captured",
        "1 ms: frame 7 encoded: 2.9 kB of a budget of 3 kB",
        "2 ms: packet 0 with fragment 1 of 2 of frame 7 sent: 1.5 kB, 1.5 kB in flight",
        "2 ms: packet 0 queued at link cell, 3 kB waiting",
        "3 ms: packet 1 with fragment 2 of 2 of frame 7 sent: 1.5 kB, 1.5 kB in flight",
        "3 ms: packet 1 dropped at link cell: full",
        "5 ms: packet 0 left link cell: waited 2 ms, served in 1 ms",
        "25 ms: packet 0 arrived, 23 ms after it was sent",
        "42 ms: packet 0 acknowledged, round trip 40 ms",
        "44 ms: packet 1 given up by packets, 41 ms after it was sent",
        "45 ms: packet 3 with fragment 2 of 2 of frame 7, again sent: 1.5 kB, 1.5 kB in flight",
        "65 ms: packet 3 arrived, 20 ms after it was sent",
        "65 ms: frame 7 complete, 65 ms after its capture",
        "70 ms: frame 7 shown, 70 ms after its capture",
    ];
    assert_eq!(told(&steps), expected);
    assert_eq!(
        (steps[0].since, steps[2].since),
        (None, Some(Span::from_millis(1)))
    );
    assert_eq!(
        steps[13].to_string(),
        "         70 ms          +5 ms  frame 7 shown, 70 ms after its capture"
    );
}

#[test]
fn a_lost_packet_is_told_with_its_frame_and_its_second_try() {
    let steps = packet(&example(), id(1), &Names::default());
    let expected = [
        "0 s: frame 7 captured",
        "1 ms: frame 7 encoded: 2.9 kB of a budget of 3 kB",
        "3 ms: packet 1 with fragment 2 of 2 of frame 7 sent: 1.5 kB, 1.5 kB in flight",
        "3 ms: packet 1 dropped at link 0: full",
        "44 ms: packet 1 given up by packets, 41 ms after it was sent",
        "45 ms: fragment 2 of 2 of frame 7 sent as packet 3",
        "65 ms: frame 7 complete, 65 ms after its capture",
        "70 ms: frame 7 shown, 70 ms after its capture",
    ];
    assert_eq!(told(&steps), expected);
}

#[test]
fn a_packet_without_a_frame_lives_alone() {
    let steps = packet(&example(), id(2), &Names::default());
    assert_eq!(
        told(&steps),
        ["4 ms: packet 2 of filler sent: 1.5 kB, 1.5 kB in flight"]
    );
    assert_eq!(packet(&example(), id(9), &Names::default()), []);
}

#[test]
fn a_frame_passed_over_says_which_was_shown_instead() {
    let mut events = example();
    events.retain(|(at, _)| *at < Time::from_millis(60) || *at > Time::from_millis(80));
    let steps = frame(&events, FlowId(0), FrameId(7), &Names::default());
    let last = told(&steps).pop();
    let expected = "90 ms: frame 8 shown in place of frame 7, 90 ms after its capture";
    assert_eq!(last.as_deref(), Some(expected));
}
