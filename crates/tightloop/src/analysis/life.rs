//! The life of one packet or frame, step by step.

use std::collections::BTreeSet;
use std::fmt;

use super::{Names, Value};
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

/// A span in four digits: the times beside it are exact.
fn short(span: Span) -> Value {
    Value::Span(span)
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
                format!(", {} after its capture", short(at - captured))
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
            format!(", {} after it was sent", short(at - *sent))
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
                let link = self.names.link(link);
                let (waited, service) = (short(waited), short(sojourn - waited));
                format!("{name} left link {link}: waited {waited}, served in {service}")
            }
            Event::Arrived {
                duplicate: true, ..
            } => format!("{name} arrived once more{after}"),
            Event::Arrived { .. } => format!("{name} arrived{after}"),
            Event::Acked { rtt, spurious, .. } => {
                let rtt = rtt.map_or(String::new(), |rtt| format!(", round trip {}", short(rtt)));
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
mod tests;
