//! Everything that can happen in a run, as one enum.
//!
//! The event log is the only source of truth: every metric, plot and life
//! story is made from it, and the simulator and live runs write the same
//! events. Times are the run's own clock; what a *controller* may know of the
//! peer's clock is in [`crate::cc`].

use std::fmt;

use crate::units::{Bytes, Rate, Span, Time};

/// A flow: one sender and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

/// One of a flow's paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PathId(pub u8);

/// A link of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LinkId(pub u32);

/// A video frame's number within its flow, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameId(pub u32);

/// Which half of a flow's traffic a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Direction {
    /// From the sender to the receiver.
    #[default]
    Data,
    /// From the receiver back to the sender.
    Feedback,
}

/// A packet's name, unique in a run (duplicates made by a link share it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketId {
    /// Its flow.
    pub flow: FlowId,
    /// The path it was sent on.
    pub path: PathId,
    /// Data or feedback.
    pub direction: Direction,
    /// Its number on that path and direction, from zero.
    pub number: u64,
}

/// A part of a video frame that travels in one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Fragment {
    /// The frame it is part of.
    pub frame: FrameId,
    /// Its place in the frame, from zero.
    pub index: u16,
    /// How many fragments the frame has.
    pub count: u16,
}

impl Fragment {
    /// True for the frame's first fragment.
    #[must_use]
    pub const fn first(&self) -> bool {
        self.index == 0
    }

    /// True for the frame's last fragment.
    #[must_use]
    pub const fn last(&self) -> bool {
        self.index + 1 == self.count
    }
}

/// What a data packet carries.
// A tag as wide as the fields keeps copies aligned, of which there are several
// per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum Kind {
    /// Part of a frame, sent for the first time.
    Video(Fragment),
    /// Part of a frame, sent again after a loss.
    Retransmit(Fragment),
    /// Padding that keeps the sending rate up.
    Filler,
    /// Bytes of a bulk or application-limited stream.
    #[default]
    Bulk,
}

impl Kind {
    /// The fragment of a frame this carries, first sent or sent again.
    #[must_use]
    pub const fn fragment(&self) -> Option<Fragment> {
        match self {
            Self::Video(fragment) | Self::Retransmit(fragment) => Some(*fragment),
            Self::Filler | Self::Bulk => None,
        }
    }

    /// A short name, as used in logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Video(_) => "video",
            Self::Retransmit(_) => "retransmit",
            Self::Filler => "filler",
            Self::Bulk => "bulk",
        }
    }
}

/// The IP header's ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The sender does not understand marks: congestion drops it.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1).
    Ect1,
    /// Congestion experienced: a queue marked it.
    Ce,
}

/// What a sender may do until told otherwise. Four numbers; every algorithm is
/// a way to choose them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Control {
    /// Ceiling on bytes in flight.
    pub window: Option<Bytes>,
    /// Ceiling on the sending rate.
    pub pacing: Option<Rate>,
    /// Keep sending at least this, with filler where video is short.
    pub floor: Option<Rate>,
    /// What the video should use, in bytes on the wire. `None`: to be derived
    /// from the ceilings.
    pub target: Option<Rate>,
}

/// Why a link dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The queue was full.
    Full,
    /// Active queue management decided so.
    Aqm,
    /// Random loss.
    Random,
    /// Larger than the link can carry.
    TooBig,
}

impl Cause {
    /// A short name, as used in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Aqm => "aqm",
            Self::Random => "random",
            Self::TooBig => "too big",
        }
    }
}

/// Why a sender gave a packet up for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostBy {
    /// Packets sent three or more later have arrived. [RFC9002] §6.1.1.
    Packets,
    /// It was sent too long before one that has arrived. [RFC9002] §6.1.2.
    Time,
}

impl LostBy {
    /// A short name, as used in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Time => "time",
        }
    }
}

/// Why a captured frame was not encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkippedBy {
    /// The rate control said so.
    RateControl,
    /// The encoder produced nothing.
    Encoder,
}

impl SkippedBy {
    /// A short name, as used in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateControl => "rate control",
            Self::Encoder => "encoder",
        }
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A link's nominal rate, at the start and whenever it changes.
    Capacity {
        /// The link.
        link: LinkId,
        /// The rate from now on; zero is an outage.
        rate: Rate,
    },
    /// A link that works by delivery opportunities had one.
    Opportunity {
        /// The link.
        link: LinkId,
        /// What it could have carried.
        size: Bytes,
    },
    /// A receiver's clock, against the run's: known to the log, never to a controller.
    Clock {
        /// The flow whose receiver reads this clock.
        flow: FlowId,
        /// Its offset.
        offset: Span,
        /// Its drift in parts per billion.
        drift_ppb: i64,
    },
    /// A frame was captured.
    Captured {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: FrameId,
    },
    /// A captured frame was not encoded.
    Skipped {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: FrameId,
        /// Why.
        by: SkippedBy,
    },
    /// A frame was encoded and handed to the packetiser.
    Encoded {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: FrameId,
        /// Its size in payload bytes.
        size: Bytes,
        /// The payload bytes the rate control had asked for.
        budget: Bytes,
        /// Whether it can be decoded alone.
        key: bool,
    },
    /// A data packet left the sender.
    Sent {
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// What it carries.
        kind: Kind,
        /// Bytes in flight on its path, this packet included.
        in_flight: Bytes,
    },
    /// A packet joined a link's queue (or went straight into service).
    Queued {
        /// The link.
        link: LinkId,
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// Bytes waiting after it joined, the packet in service not counted.
        waiting: Bytes,
    },
    /// A link dropped a packet.
    Dropped {
        /// The link.
        link: LinkId,
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// Why.
        cause: Cause,
    },
    /// A queue marked a packet instead of dropping it.
    Marked {
        /// The link.
        link: LinkId,
        /// Its name.
        packet: PacketId,
    },
    /// A packet's last bit left a link's service.
    Left {
        /// The link.
        link: LinkId,
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// Time spent waiting, before its own service began.
        waited: Span,
        /// Time from joining the queue to leaving service.
        sojourn: Span,
    },
    /// A data packet arrived at the receiver.
    Arrived {
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// Whether a copy had arrived before.
        duplicate: bool,
    },
    /// The last missing part of a frame arrived.
    Completed {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: FrameId,
    },
    /// A frame appeared on the screen.
    Shown {
        /// The flow.
        flow: FlowId,
        /// The frame.
        frame: FrameId,
    },
    /// The decoder has waited too long for a frame that others refer to: the
    /// receiver asks for one that can be decoded alone.
    KeyWanted {
        /// The flow.
        flow: FlowId,
        /// The newest frame seen: a newer one is asked for.
        frame: FrameId,
    },
    /// The sender learnt that a packet had arrived.
    Acked {
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// Round-trip time without the time the receiver held the report; none
        /// where the report of its arrival time was lost.
        rtt: Option<Span>,
        /// Whether it had been given up for lost before.
        spurious: bool,
    },
    /// The sender gave a packet up for lost.
    Lost {
        /// Its name.
        packet: PacketId,
        /// Its size.
        size: Bytes,
        /// By which rule.
        by: LostBy,
    },
    /// No feedback came for so long that the sender may send a probe.
    Timeout {
        /// The flow.
        flow: FlowId,
        /// The path.
        path: PathId,
    },
    /// A path has not answered for so long that nothing new is sent on it, and
    /// what was under way on it is sent again on others.
    PathDown {
        /// The flow.
        flow: FlowId,
        /// The path.
        path: PathId,
    },
    /// A path that was down has answered and is used again.
    PathUp {
        /// The flow.
        flow: FlowId,
        /// The path.
        path: PathId,
    },
    /// A controller changed its mind.
    Control {
        /// The flow.
        flow: FlowId,
        /// The path.
        path: PathId,
        /// What the sender may do from now on.
        control: Control,
    },
    /// An inner quantity of a controller or rate control, by its paper's name.
    Gauge {
        /// The flow.
        flow: FlowId,
        /// The path.
        path: PathId,
        /// The quantity.
        name: &'static str,
        /// Its value, in the unit its name says or the paper uses.
        value: f64,
    },
}

/// Where events go.
pub trait Sink {
    /// Takes note of an event.
    fn record(&mut self, at: Time, event: &Event);
}

impl Sink for Vec<(Time, Event)> {
    fn record(&mut self, at: Time, event: &Event) {
        self.push((at, *event));
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn record(&mut self, at: Time, event: &Event) {
        (**self).record(at, event);
    }
}

/// Two sinks as one; more by nesting.
impl<A: Sink, B: Sink> Sink for (A, B) {
    fn record(&mut self, at: Time, event: &Event) {
        self.0.record(at, event);
        self.1.record(at, event);
    }
}

/// A sink, or none: what everything that emits events is handed.
///
/// An event is built only if someone listens.
#[derive(Default)]
pub struct Log<'a>(Option<&'a mut dyn Sink>);

impl<'a> Log<'a> {
    /// Nobody listens.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Events go to `sink`.
    pub fn to(sink: &'a mut dyn Sink) -> Self {
        Self(Some(sink))
    }

    /// True where someone listens.
    #[must_use]
    pub const fn on(&self) -> bool {
        self.0.is_some()
    }

    /// Records an event, building it only if someone listens.
    #[inline]
    pub fn emit(&mut self, at: Time, event: impl FnOnce() -> Event) {
        if let Some(sink) = &mut self.0 {
            sink.record(at, &event());
        }
    }
}

impl fmt::Debug for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.on() { "Log(on)" } else { "Log(off)" })
    }
}

impl fmt::Display for PacketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Data => "packet",
            Direction::Feedback => "feedback",
        };
        write!(
            f,
            "flow {} path {} {direction} {}",
            self.flow.0, self.path.0, self.number
        )
    }
}
