//! The life of one packet or frame, step by step.

use std::collections::BTreeSet;
use std::fmt;

use super::Names;
use crate::event::{Direction, Event, FlowId, Fragment, FrameId, Kind, PacketId};
use crate::units::{Span, Time};

/// Something that happened to a packet or frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Time,
    /// Since the step before; nothing for the first.
    pub since: Option<Span>,
    /// What.
    pub text: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = self
            .since
            .map_or(String::new(), |since| format!("+{since}"));
        write!(f, "{:>14} {since:>14}  {}", self.at.to_string(), self.text)
    }
}

/// All that happened to a packet: sent, queued, left, arrived, acknowledged or
/// given up, and what became of the frame it was part of.
///
/// `events` are in the order of time; with none about the packet there are no steps.
#[must_use]
pub fn packet(events: &[(Time, Event)], packet: PacketId, names: &Names) -> Vec<Step> {
    let mut life = Life::new(names, packet.flow);
    let fragment = events.iter().find_map(|(_, event)| match event {
        Event::Sent {
            packet: sent, kind, ..
        } if *sent == packet => kind.fragment(),
        _ => None,
    });
    life.packets.insert(packet);
    for (at, event) in events {
        if let Some(fragment) = fragment {
            life.frame_step(*at, event, fragment.frame);
            life.sent_again(*at, event, fragment, packet);
        }
        life.packet_step(*at, event);
    }
    life.steps
}

/// All that happened to a frame: captured, encoded, each of its packets, complete
/// and shown.
///
/// `events` are in the order of time; with none about the frame there are no steps.
#[must_use]
pub fn frame(events: &[(Time, Event)], flow: FlowId, frame: FrameId, names: &Names) -> Vec<Step> {
    let mut life = Life::new(names, flow);
    for (at, event) in events {
        life.frame_step(*at, event, frame);
        if let Event::Sent { packet, kind, .. } = event
            && packet.flow == flow
            && kind.fragment().is_some_and(|it| it.frame == frame)
        {
            life.packets.insert(*packet);
        }
        life.packet_step(*at, event);
    }
    life.steps
}

/// A life in the writing.
struct Life<'a> {
    names: &'a Names,
    flow: FlowId,
    packets: BTreeSet<PacketId>,
    /// When each of them was sent.
    sent: Vec<(PacketId, Time)>,
    captured: Option<Time>,
    over: bool,
    steps: Vec<Step>,
}

/// "fragment 3 of 7 of frame 120".
fn part(fragment: Fragment) -> String {
    let Fragment {
        frame,
        index,
        count,
    } = fragment;
    format!("fragment {} of {count} of frame {}", index + 1, frame.0)
}

/// "packet 12", with its path where that is not the first.
fn called(packet: PacketId) -> String {
    let direction = match packet.direction {
        Direction::Data => "packet",
        Direction::Feedback => "feedback",
    };
    match packet.path.0 {
        0 => format!("{direction} {}", packet.number),
        path => format!("{direction} {} on path {path}", packet.number),
    }
}

impl<'a> Life<'a> {
    fn new(names: &'a Names, flow: FlowId) -> Self {
        Self {
            names,
            flow,
            packets: BTreeSet::new(),
            sent: Vec::new(),
            captured: None,
            over: false,
            steps: Vec::new(),
        }
    }

    fn push(&mut self, at: Time, text: String) {
        let since = self.steps.last().map(|last| at - last.at);
        self.steps.push(Step { at, since, text });
    }

    /// Notes an event of the frame itself.
    fn frame_step(&mut self, at: Time, event: &Event, wanted: FrameId) {
        let mine = |flow: FlowId, frame: FrameId| flow == self.flow && frame == wanted;
        let aged = |captured: Option<Time>| {
            captured.map_or(String::new(), |captured| {
                format!(", {} after its capture", at - captured)
            })
        };
        let number = wanted.0;
        let text = match *event {
            Event::Captured { flow, frame } if mine(flow, frame) => {
                self.captured = Some(at);
                format!("frame {number} captured")
            }
            Event::Skipped { flow, frame, by } if mine(flow, frame) => {
                format!("frame {number} skipped by the {}", by.name())
            }
            Event::Encoded {
                flow,
                frame,
                size,
                budget,
                key,
            } if mine(flow, frame) => {
                let key = if key { "key frame" } else { "frame" };
                format!("{key} {number} encoded: {size} of a budget of {budget}")
            }
            Event::Completed { flow, frame } if mine(flow, frame) => {
                format!("frame {number} complete{}", aged(self.captured))
            }
            Event::Shown { flow, frame } if mine(flow, frame) => {
                self.over = true;
                format!("frame {number} shown{}", aged(self.captured))
            }
            Event::Shown { flow, frame } if flow == self.flow && frame > wanted && !self.over => {
                if self.captured.is_none() {
                    return;
                }
                self.over = true;
                let aged = aged(self.captured);
                format!("frame {} shown in place of frame {number}{aged}", frame.0)
            }
            _ => return,
        };
        self.push(at, text);
    }

    /// Notes an event of one of the packets.
    fn packet_step(&mut self, at: Time, event: &Event) {
        let Some(packet) = packet_of(event).filter(|packet| self.packets.contains(packet)) else {
            return;
        };
        let sent = self.sent.iter().rev().find(|(of, _)| *of == packet);
        let after = sent.map_or(String::new(), |(_, sent)| {
            format!(", {} after it was sent", at - *sent)
        });
        let name = called(packet);
        let text = match *event {
            Event::Sent {
                size,
                kind,
                in_flight,
                ..
            } => {
                self.sent.push((packet, at));
                let what = match kind {
                    Kind::Video(fragment) => format!(" with {}", part(fragment)),
                    Kind::Retransmit(fragment) => format!(" with {}, again", part(fragment)),
                    Kind::Filler => " of filler".to_owned(),
                    Kind::Bulk => String::new(),
                };
                format!("{name}{what} sent: {size}, {in_flight} in flight")
            }
            Event::Queued { link, waiting, .. } => {
                let link = self.names.link(link);
                format!("{name} queued at link {link}, {waiting} waiting")
            }
            Event::Marked { link, .. } => {
                format!("{name} marked at link {}", self.names.link(link))
            }
            Event::Dropped { link, cause, .. } => {
                let cause = cause.name();
                format!("{name} dropped at link {}: {cause}", self.names.link(link))
            }
            Event::Left {
                link,
                waited,
                sojourn,
                ..
            } => {
                let (link, service) = (self.names.link(link), sojourn - waited);
                format!("{name} left link {link}: waited {waited}, served in {service}")
            }
            Event::Arrived {
                duplicate: true, ..
            } => format!("{name} arrived once more{after}"),
            Event::Arrived { .. } => format!("{name} arrived{after}"),
            Event::Acked { rtt, spurious, .. } => {
                let rtt = rtt.map_or(String::new(), |rtt| format!(", round trip {rtt}"));
                let spurious = if spurious { ", though given up" } else { "" };
                format!("{name} acknowledged{spurious}{rtt}")
            }
            Event::Lost { by, .. } => format!("{name} given up by {}{after}", by.name()),
            _ => return,
        };
        self.push(at, text);
    }

    /// Notes that what a packet carried is sent again in another.
    fn sent_again(&mut self, at: Time, event: &Event, fragment: Fragment, packet: PacketId) {
        if let Event::Sent {
            packet: other,
            kind,
            ..
        } = event
            && other.flow == packet.flow
            && *other != packet
            && kind.fragment() == Some(fragment)
        {
            self.push(at, format!("{} sent as {}", part(fragment), called(*other)));
        }
    }
}

/// The packet an event is about.
const fn packet_of(event: &Event) -> Option<PacketId> {
    match event {
        Event::Sent { packet, .. }
        | Event::Queued { packet, .. }
        | Event::Dropped { packet, .. }
        | Event::Marked { packet, .. }
        | Event::Left { packet, .. }
        | Event::Arrived { packet, .. }
        | Event::Acked { packet, .. }
        | Event::Lost { packet, .. } => Some(*packet),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
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
}
