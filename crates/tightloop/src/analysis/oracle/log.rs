//! Logs by chance, as runs might write them.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::event::*;
use crate::units::{Bytes, Rate, Span, Time};

/// The rate of the first link from each millisecond on.
pub(super) const CAPACITY: [(u64, Rate); 4] = [
    (0, Rate::from_mbps(20)),
    (700, Rate::from_kbps(50)),
    (1_500, Rate::from_mbps(9)),
    (1_800, Rate::from_kbps(100)),
];
/// What chance decides about one packet.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    gap_us: u64,
    size: u64,
    kind: u8,
    fate: u8,
    wait_us: i64,
    path: u8,
}

pub(super) fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let draw = (
        0u64..40_000,
        40u64..1_500,
        0u8..10,
        0u8..12,
        0i64..90_000,
        0u8..2,
    );
    let draw = draw.prop_map(|(gap_us, size, kind, fate, wait_us, path)| Draw {
        gap_us,
        size,
        kind,
        fate,
        wait_us,
        path,
    });
    proptest::collection::vec(draw, 1..150)
}

/// A log as a run might write it, by two flows over two links.
pub(super) fn log(flows: &[Vec<Draw>; 2]) -> Vec<(Time, Event)> {
    let mut log = Vec::new();
    for (flow, draws) in (0..).map(FlowId).zip(flows) {
        let (mut now, mut numbers, mut frame) = (Time::from_millis(3), [0u64; 2], FrameId(0));
        for draw in draws {
            now += Span::from_micros(i64::try_from(draw.gap_us).expect("small"));
            let path = PathId(draw.path);
            let number = numbers[usize::from(draw.path)];
            numbers[usize::from(draw.path)] += 1;
            let packet = PacketId {
                flow,
                path,
                direction: Direction::Data,
                number,
            };
            packet_log(&mut log, now, packet, &mut frame, draw);
        }
    }
    for (ms, rate) in CAPACITY {
        log.push((
            Time::from_millis(ms),
            Event::Capacity {
                link: LinkId(0),
                rate,
            },
        ));
        let opportunity = Event::Opportunity {
            link: LinkId(1),
            size: Bytes::new(1_504),
        };
        log.push((Time::from_millis(ms), opportunity));
    }
    log.sort_by_key(|(at, _)| *at);
    // A receiver numbers its feedback in the order it leaves.
    let mut numbers = BTreeMap::new();
    for (_, event) in &mut log {
        if let Event::Queued { packet, .. } = event
            && packet.direction == Direction::Feedback
        {
            let next = numbers.entry((packet.flow, packet.path)).or_insert(0);
            packet.number = *next;
            *next += 1;
        }
    }
    log
}

fn packet_log(
    log: &mut Vec<(Time, Event)>,
    now: Time,
    packet: PacketId,
    frame: &mut FrameId,
    draw: &Draw,
) {
    let (size, flow) = (Bytes::new(draw.size), packet.flow);
    let wait = Span::from_micros(draw.wait_us);
    let mut push = |at: Time, event| log.push((at, event));
    let fragment = Fragment {
        frame: *frame,
        index: u16::from(draw.kind) % 3,
        count: 3,
    };
    let kind = match draw.kind {
        0..=3 => Kind::Video(fragment),
        4 => Kind::Retransmit(fragment),
        5 => Kind::Filler,
        _ => Kind::Bulk,
    };
    if draw.kind == 3 {
        frame.0 += 1;
        let frame = *frame;
        push(now, Event::Captured { flow, frame });
        match draw.fate {
            0 => push(
                now,
                Event::Skipped {
                    flow,
                    frame,
                    by: SkippedBy::RateControl,
                },
            ),
            _ => push(
                now,
                Event::Encoded {
                    flow,
                    frame,
                    size,
                    budget: size,
                    key: false,
                },
            ),
        }
        let done = now + Span::from_millis(20) + wait;
        if draw.fate > 3 {
            push(done, Event::Completed { flow, frame });
        }
        if draw.fate > 5 {
            // A screen shows frames in order: one at a fixed time after capture.
            push(now + Span::from_millis(120), Event::Shown { flow, frame });
        }
    }
    push(
        now,
        Event::Sent {
            packet,
            size,
            kind,
            in_flight: size,
        },
    );
    if draw.fate == 11 {
        // The log knows nothing of its way, only that it was given up.
        push(
            now + wait,
            Event::Lost {
                packet,
                size,
                by: LostBy::Time,
            },
        );
        return;
    }
    let link = LinkId(u32::from(packet.path.0));
    let queued = Event::Queued {
        link,
        packet,
        size,
        waiting: size,
    };
    let dropped = |cause| Event::Dropped {
        link,
        packet,
        size,
        cause,
    };
    match draw.fate {
        0 => return push(now, dropped(Cause::Full)),
        1 => {
            push(now, queued);
            return push(now + wait + Span::from_micros(1), dropped(Cause::Aqm));
        }
        // Of two copies one is refused.
        2 => {
            push(now, queued);
            push(now, dropped(Cause::Full));
        }
        _ => push(now, queued),
    }
    if draw.fate == 3 {
        return;
    }
    let service = Span::from_micros(400);
    let (waited, sojourn) = (wait, wait + service);
    let left = now + sojourn;
    push(
        left,
        Event::Left {
            link,
            packet,
            size,
            waited,
            sojourn,
        },
    );
    let arrived = left + Span::from_millis(10);
    push(
        arrived,
        Event::Arrived {
            packet,
            size,
            duplicate: false,
        },
    );
    if draw.fate == 4 {
        push(
            arrived,
            Event::Arrived {
                packet,
                size,
                duplicate: true,
            },
        );
    }
    let spurious = draw.fate == 5;
    if spurious {
        push(
            now + wait,
            Event::Lost {
                packet,
                size,
                by: LostBy::Packets,
            },
        );
    }
    if draw.fate == 6 {
        push(left, Event::Marked { link, packet });
    }
    let rtt = Some(arrived - now + Span::from_millis(10));
    push(
        arrived + Span::from_millis(10),
        Event::Acked {
            packet,
            size,
            rtt,
            spurious,
        },
    );
    let feedback = PacketId {
        direction: Direction::Feedback,
        ..packet
    };
    let size = Bytes::new(60);
    push(
        arrived,
        Event::Queued {
            link: LinkId(2),
            packet: feedback,
            size,
            waiting: size,
        },
    );
}
