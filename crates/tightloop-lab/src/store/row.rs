//! A row of the table as an event.

use std::collections::BTreeSet;

use tightloop::event::{
    Cause, Control, Direction, Event, FlowId, Fragment, FrameId, Kind, LinkId, LostBy, PacketId,
    PathId, SkippedBy,
};
use tightloop::units::{Bytes, Rate, Span, Time};

use super::cells::Cell;
use super::columns::{COLUMNS, Field};

/// One row; what it does not have is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Row([Option<Cell>; COLUMNS.len()]);

impl Row {
    pub(super) fn set(&mut self, field: Field, cell: Cell) {
        self.0[field as usize] = Some(cell);
    }

    pub(super) fn get(&self, field: Field) -> Option<Cell> {
        self.0[field as usize]
    }

    fn number(&self, field: Field) -> Option<i64> {
        match self.get(field) {
            Some(Cell::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// A number that must fit into a smaller type.
    fn small<T: TryFrom<i64>>(&self, field: Field) -> Option<T> {
        self.number(field)?.try_into().ok()
    }

    fn text(&self, field: Field) -> Option<&'static str> {
        match self.get(field) {
            Some(Cell::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn flag(&self, field: Field) -> Option<bool> {
        match self.get(field) {
            Some(Cell::Flag(flag)) => Some(flag),
            _ => None,
        }
    }

    fn float(&self, field: Field) -> Option<f64> {
        match self.get(field) {
            Some(Cell::Float(float)) => Some(float),
            _ => None,
        }
    }

    fn bytes(&self, field: Field) -> Option<Bytes> {
        self.small(field).map(Bytes::new)
    }

    fn rate(&self, field: Field) -> Option<Rate> {
        self.small(field).map(Rate::from_bps)
    }

    fn span(&self, field: Field) -> Option<Span> {
        self.number(field).map(Span::from_nanos)
    }

    fn flow(&self) -> Option<FlowId> {
        self.small(Field::Flow).map(FlowId)
    }

    fn path(&self) -> Option<PathId> {
        self.small(Field::Path).map(PathId)
    }

    fn link(&self) -> Option<LinkId> {
        self.small(Field::Link).map(LinkId)
    }

    fn frame(&self) -> Option<FrameId> {
        self.small(Field::Frame).map(FrameId)
    }

    fn size(&self) -> Option<Bytes> {
        self.bytes(Field::Size)
    }

    fn packet(&self) -> Option<PacketId> {
        Some(PacketId {
            flow: self.flow()?,
            path: self.path()?,
            direction: match self.text(Field::Direction)? {
                "data" => Direction::Data,
                "feedback" => Direction::Feedback,
                _ => return None,
            },
            number: self.small(Field::Packet)?,
        })
    }

    fn fragment(&self) -> Option<Fragment> {
        Some(Fragment {
            frame: self.frame()?,
            index: self.small(Field::Fragment)?,
            count: self.small(Field::Fragments)?,
        })
    }

    fn kind(&self) -> Option<Kind> {
        Some(match self.text(Field::Kind)? {
            "video" => Kind::Video(self.fragment()?),
            "retransmit" => Kind::Retransmit(self.fragment()?),
            "filler" => Kind::Filler,
            "bulk" => Kind::Bulk,
            _ => return None,
        })
    }

    /// The one of some values that has the name of the reason.
    fn why<T: Copy, const N: usize>(
        &self,
        all: [T; N],
        name: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let why = self.text(Field::Why);
        all.into_iter().find(|value| Some(name(*value)) == why)
    }

    /// The event of a row; nothing where a field it needs is empty or makes no
    /// sense, as in a damaged file.
    pub(super) fn event(&self) -> Option<(Time, Event)> {
        let event = match self.text(Field::Event)? {
            "capacity" => Event::Capacity {
                link: self.link()?,
                rate: self.rate(Field::Rate)?,
            },
            "opportunity" => Event::Opportunity {
                link: self.link()?,
                size: self.size()?,
            },
            "clock" => Event::Clock {
                flow: self.flow()?,
                offset: self.span(Field::Offset)?,
                drift_ppb: self.number(Field::Drift)?,
            },
            "captured" => Event::Captured {
                flow: self.flow()?,
                frame: self.frame()?,
            },
            "skipped" => Event::Skipped {
                flow: self.flow()?,
                frame: self.frame()?,
                by: self.why(
                    [SkippedBy::RateControl, SkippedBy::Encoder],
                    SkippedBy::name,
                )?,
            },
            "encoded" => Event::Encoded {
                flow: self.flow()?,
                frame: self.frame()?,
                size: self.size()?,
                budget: self.bytes(Field::Budget)?,
                key: self.flag(Field::Key)?,
            },
            "sent" => Event::Sent {
                packet: self.packet()?,
                size: self.size()?,
                kind: self.kind()?,
                in_flight: self.bytes(Field::InFlight)?,
            },
            "queued" => Event::Queued {
                link: self.link()?,
                packet: self.packet()?,
                size: self.size()?,
                waiting: self.bytes(Field::Waiting)?,
            },
            "dropped" => Event::Dropped {
                link: self.link()?,
                packet: self.packet()?,
                size: self.size()?,
                cause: self.why(
                    [Cause::Full, Cause::Aqm, Cause::Random, Cause::TooBig],
                    Cause::name,
                )?,
            },
            "marked" => Event::Marked {
                link: self.link()?,
                packet: self.packet()?,
            },
            "left" => Event::Left {
                link: self.link()?,
                packet: self.packet()?,
                size: self.size()?,
                waited: self.span(Field::Waited)?,
                sojourn: self.span(Field::Sojourn)?,
            },
            "arrived" => Event::Arrived {
                packet: self.packet()?,
                size: self.size()?,
                duplicate: self.flag(Field::Duplicate)?,
            },
            "completed" => Event::Completed {
                flow: self.flow()?,
                frame: self.frame()?,
            },
            "shown" => Event::Shown {
                flow: self.flow()?,
                frame: self.frame()?,
            },
            "key wanted" => Event::KeyWanted {
                flow: self.flow()?,
                frame: self.frame()?,
            },
            "acked" => Event::Acked {
                packet: self.packet()?,
                size: self.size()?,
                rtt: self.span(Field::Rtt),
                spurious: self.flag(Field::Spurious)?,
            },
            "lost" => Event::Lost {
                packet: self.packet()?,
                size: self.size()?,
                by: self.why([LostBy::Packets, LostBy::Time], LostBy::name)?,
            },
            "timeout" => Event::Timeout {
                flow: self.flow()?,
                path: self.path()?,
            },
            "path down" => Event::PathDown {
                flow: self.flow()?,
                path: self.path()?,
            },
            "path up" => Event::PathUp {
                flow: self.flow()?,
                path: self.path()?,
            },
            "control" => Event::Control {
                flow: self.flow()?,
                path: self.path()?,
                control: Control {
                    window: self.bytes(Field::Window),
                    pacing: self.rate(Field::Pacing),
                    floor: self.rate(Field::Floor),
                    target: self.rate(Field::Target),
                },
            },
            "gauge" => Event::Gauge {
                flow: self.flow()?,
                path: self.path()?,
                name: self.text(Field::Gauge)?,
                value: self.float(Field::Value)?,
            },
            _ => return None,
        };
        Some((Time::from_nanos(self.small(Field::Time)?), event))
    }
}

/// Words read from files, each kept once for ever: events hold static names,
/// and a run has a few dozen of them.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeSet<&'static str>);

impl Words {
    /// More than any run has: a file with more of them is damaged.
    const MOST: usize = 10_000;

    /// The word, if it is text and there are not too many.
    pub(super) fn word(&mut self, bytes: &[u8]) -> Option<&'static str> {
        let word = std::str::from_utf8(bytes).ok()?;
        if let Some(known) = self.0.get(word) {
            return Some(known);
        }
        if self.0.len() >= Self::MOST {
            return None;
        }
        let word: &'static str = Box::leak(word.into());
        self.0.insert(word);
        Some(word)
    }
}
