//! One number over all events of a run.
//!
//! Two runs with the same digest had the same event stream. Every field of
//! every event goes in, in a byte order of its own choosing rather than in that
//! of the machine or of the compiler, so the digest is the same everywhere.

use tightloop::event::{Event, Kind, PacketId, Sink};
use tightloop::units::Time;
use xxhash_rust::xxh3::Xxh3;

/// A sink that digests.
#[derive(Clone, Default)]
pub(crate) struct Digest {
    hash: Xxh3,
    bytes: Vec<u8>,
}

/// How many bytes go into the hash at once.
const CHUNK: usize = 4096;

impl Digest {
    /// The digest of all events so far, in hexadecimal.
    pub(crate) fn hex(&mut self) -> String {
        self.flush();
        format!("{:032x}", self.hash.digest128())
    }

    fn flush(&mut self) {
        self.hash.update(&self.bytes);
        self.bytes.clear();
    }

    fn byte(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    fn number(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn signed(&mut self, value: i64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn maybe(&mut self, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.byte(1).number(value),
            None => self.byte(0),
        }
    }

    fn packet(&mut self, id: &PacketId) -> &mut Self {
        self.number(id.flow.0.into())
            .byte(id.path.0)
            .byte(id.direction as u8)
            .number(id.number)
    }

    fn kind(&mut self, kind: &Kind) -> &mut Self {
        let tag = match kind {
            Kind::Video(_) => 0,
            Kind::Retransmit(_) => 1,
            Kind::Filler => 2,
            Kind::Bulk => 3,
        };
        self.byte(tag);
        if let Some(fragment) = kind.fragment() {
            self.number(fragment.frame.0.into())
                .number(fragment.index.into())
                .number(fragment.count.into());
        }
        self
    }

    fn event(&mut self, event: &Event) {
        match *event {
            Event::Capacity { link, rate } => {
                self.byte(0).number(link.0.into()).number(rate.as_bps())
            }
            Event::Opportunity { link, size } => {
                self.byte(1).number(link.0.into()).number(size.get())
            }
            Event::Clock {
                flow,
                offset,
                drift_ppb,
            } => self
                .byte(2)
                .number(flow.0.into())
                .signed(offset.as_nanos())
                .signed(drift_ppb),
            Event::Captured { flow, frame } => {
                self.byte(3).number(flow.0.into()).number(frame.0.into())
            }
            Event::Skipped { flow, frame, by } => self
                .byte(4)
                .number(flow.0.into())
                .number(frame.0.into())
                .byte(by as u8),
            Event::Encoded {
                flow,
                frame,
                size,
                budget,
                key,
            } => self
                .byte(5)
                .number(flow.0.into())
                .number(frame.0.into())
                .number(size.get())
                .number(budget.get())
                .byte(key.into()),
            Event::Sent {
                packet,
                size,
                kind,
                in_flight,
            } => self
                .byte(6)
                .packet(&packet)
                .number(size.get())
                .kind(&kind)
                .number(in_flight.get()),
            Event::Queued {
                link,
                packet,
                size,
                waiting,
            } => self
                .byte(7)
                .number(link.0.into())
                .packet(&packet)
                .number(size.get())
                .number(waiting.get()),
            Event::Dropped {
                link,
                packet,
                size,
                cause,
            } => self
                .byte(8)
                .number(link.0.into())
                .packet(&packet)
                .number(size.get())
                .byte(cause as u8),
            Event::Marked { link, packet } => self.byte(9).number(link.0.into()).packet(&packet),
            Event::Left {
                link,
                packet,
                size,
                waited,
                sojourn,
            } => self
                .byte(10)
                .number(link.0.into())
                .packet(&packet)
                .number(size.get())
                .signed(waited.as_nanos())
                .signed(sojourn.as_nanos()),
            Event::Arrived {
                packet,
                size,
                duplicate,
            } => self
                .byte(11)
                .packet(&packet)
                .number(size.get())
                .byte(duplicate.into()),
            Event::Completed { flow, frame } => {
                self.byte(12).number(flow.0.into()).number(frame.0.into())
            }
            Event::Shown { flow, frame } => {
                self.byte(13).number(flow.0.into()).number(frame.0.into())
            }
            Event::Acked {
                packet,
                size,
                rtt,
                spurious,
            } => self
                .byte(14)
                .packet(&packet)
                .number(size.get())
                .maybe(rtt.map(|rtt| rtt.as_nanos() as u64))
                .byte(spurious.into()),
            Event::Lost { packet, size, by } => self
                .byte(15)
                .packet(&packet)
                .number(size.get())
                .byte(by as u8),
            Event::KeyWanted { flow, frame } => {
                self.byte(19).number(flow.0.into()).number(frame.0.into())
            }
            Event::PathDown { flow, path } => self.byte(20).number(flow.0.into()).byte(path.0),
            Event::PathUp { flow, path } => self.byte(21).number(flow.0.into()).byte(path.0),
            Event::Timeout { flow, path } => self.byte(16).number(flow.0.into()).byte(path.0),
            Event::Control {
                flow,
                path,
                control,
            } => self
                .byte(17)
                .number(flow.0.into())
                .byte(path.0)
                .maybe(control.window.map(|it| it.get()))
                .maybe(control.pacing.map(|it| it.as_bps()))
                .maybe(control.floor.map(|it| it.as_bps()))
                .maybe(control.target.map(|it| it.as_bps())),
            Event::Gauge {
                flow,
                path,
                name,
                value,
            } => {
                self.byte(18)
                    .number(flow.0.into())
                    .byte(path.0)
                    .number(name.len() as u64);
                self.bytes.extend_from_slice(name.as_bytes());
                self.number(value.to_bits())
            }
        };
    }
}

impl Sink for Digest {
    fn record(&mut self, at: Time, event: &Event) {
        self.number(at.as_nanos()).event(event);
        if self.bytes.len() >= CHUNK {
            self.flush();
        }
    }
}
