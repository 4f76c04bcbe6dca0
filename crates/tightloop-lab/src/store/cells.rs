//! An event as a row of the table.

use tightloop::event::{Direction, Event, FlowId, FrameId, Kind, PacketId, PathId};
use tightloop::units::{Bytes, Rate, Span, Time};

use super::columns::Field;

/// A value in a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Number(i64),
    Text(&'static str),
    Flag(bool),
    Float(f64),
}

/// What cannot be an `i64` is far beyond what any run has.
impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Cell {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<Bytes> for Cell {
    fn from(size: Bytes) -> Self {
        size.get().into()
    }
}

impl From<Rate> for Cell {
    fn from(rate: Rate) -> Self {
        rate.as_bps().into()
    }
}

impl From<Span> for Cell {
    fn from(span: Span) -> Self {
        Self::Number(span.as_nanos())
    }
}

impl From<&'static str> for Cell {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// Tells every field of an event that is not empty.
pub(super) fn tell(at: Time, event: &Event, tell: &mut impl FnMut(Field, Cell)) {
    tell(Field::Time, at.as_nanos().into());
    let name = Telling(tell).event(event);
    tell(Field::Event, name.into());
}

struct Telling<'a, F>(&'a mut F);

impl<F: FnMut(Field, Cell)> Telling<'_, F> {
    fn say(&mut self, field: Field, cell: impl Into<Cell>) {
        (self.0)(field, cell.into());
    }

    fn maybe(&mut self, field: Field, cell: Option<impl Into<Cell>>) {
        if let Some(cell) = cell {
            self.say(field, cell);
        }
    }

    fn path(&mut self, flow: FlowId, path: PathId) {
        self.say(Field::Flow, flow.0);
        self.say(Field::Path, u32::from(path.0));
    }

    fn frame(&mut self, flow: FlowId, frame: FrameId) {
        self.say(Field::Flow, flow.0);
        self.say(Field::Frame, frame.0);
    }

    fn packet(&mut self, packet: PacketId) {
        self.path(packet.flow, packet.path);
        self.say(
            Field::Direction,
            match packet.direction {
                Direction::Data => "data",
                Direction::Feedback => "feedback",
            },
        );
        self.say(Field::Packet, packet.number);
    }

    fn kind(&mut self, kind: &Kind) {
        self.say(Field::Kind, kind.name());
        if let Some(fragment) = kind.fragment() {
            self.say(Field::Frame, fragment.frame.0);
            self.say(Field::Fragment, u32::from(fragment.index));
            self.say(Field::Fragments, u32::from(fragment.count));
        }
    }

    /// Tells all but the time, and returns the event's name.
    fn event(&mut self, event: &Event) -> &'static str {
        match *event {
            Event::Capacity { link, rate } => {
                self.say(Field::Link, link.0);
                self.say(Field::Rate, rate);
                "capacity"
            }
            Event::Opportunity { link, size } => {
                self.say(Field::Link, link.0);
                self.say(Field::Size, size);
                "opportunity"
            }
            Event::Clock {
                flow,
                offset,
                drift_ppb,
            } => {
                self.say(Field::Flow, flow.0);
                self.say(Field::Offset, offset);
                self.say(Field::Drift, Cell::Number(drift_ppb));
                "clock"
            }
            Event::Captured { flow, frame } => {
                self.frame(flow, frame);
                "captured"
            }
            Event::Skipped { flow, frame, by } => {
                self.frame(flow, frame);
                self.say(Field::Why, by.name());
                "skipped"
            }
            Event::Encoded {
                flow,
                frame,
                size,
                budget,
                key,
            } => {
                self.frame(flow, frame);
                self.say(Field::Size, size);
                self.say(Field::Budget, budget);
                self.say(Field::Key, key);
                "encoded"
            }
            Event::Sent {
                packet,
                size,
                kind,
                in_flight,
            } => {
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::InFlight, in_flight);
                self.kind(&kind);
                "sent"
            }
            Event::Queued {
                link,
                packet,
                size,
                waiting,
            } => {
                self.say(Field::Link, link.0);
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::Waiting, waiting);
                "queued"
            }
            Event::Dropped {
                link,
                packet,
                size,
                cause,
            } => {
                self.say(Field::Link, link.0);
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::Why, cause.name());
                "dropped"
            }
            Event::Marked { link, packet } => {
                self.say(Field::Link, link.0);
                self.packet(packet);
                "marked"
            }
            Event::Left {
                link,
                packet,
                size,
                waited,
                sojourn,
            } => {
                self.say(Field::Link, link.0);
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::Waited, waited);
                self.say(Field::Sojourn, sojourn);
                "left"
            }
            Event::Arrived {
                packet,
                size,
                duplicate,
            } => {
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::Duplicate, duplicate);
                "arrived"
            }
            Event::Completed { flow, frame } => {
                self.frame(flow, frame);
                "completed"
            }
            Event::Shown { flow, frame } => {
                self.frame(flow, frame);
                "shown"
            }
            Event::KeyWanted { flow, frame } => {
                self.frame(flow, frame);
                "key wanted"
            }
            Event::Acked {
                packet,
                size,
                rtt,
                spurious,
            } => {
                self.packet(packet);
                self.say(Field::Size, size);
                self.maybe(Field::Rtt, rtt);
                self.say(Field::Spurious, spurious);
                "acked"
            }
            Event::Lost { packet, size, by } => {
                self.packet(packet);
                self.say(Field::Size, size);
                self.say(Field::Why, by.name());
                "lost"
            }
            Event::Timeout { flow, path } => {
                self.path(flow, path);
                "timeout"
            }
            Event::PathDown { flow, path } => {
                self.path(flow, path);
                "path down"
            }
            Event::PathUp { flow, path } => {
                self.path(flow, path);
                "path up"
            }
            Event::Control {
                flow,
                path,
                control,
            } => {
                self.path(flow, path);
                self.maybe(Field::Window, control.window);
                self.maybe(Field::Pacing, control.pacing);
                self.maybe(Field::Floor, control.floor);
                self.maybe(Field::Target, control.target);
                "control"
            }
            Event::Gauge {
                flow,
                path,
                name,
                value,
            } => {
                self.path(flow, path);
                self.say(Field::Gauge, name);
                self.say(Field::Value, Cell::Float(value));
                "gauge"
            }
        }
    }
}
