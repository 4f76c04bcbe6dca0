//! The columns of the event log, with what they mean.

/// A column's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Time,
    Event,
    Flow,
    Path,
    Direction,
    Packet,
    Link,
    Frame,
    Kind,
    Fragment,
    Fragments,
    Size,
    Budget,
    InFlight,
    Waiting,
    Waited,
    Sojourn,
    Rtt,
    Why,
    Key,
    Duplicate,
    Spurious,
    Rate,
    Window,
    Pacing,
    Floor,
    Target,
    Gauge,
    Value,
    Offset,
    Drift,
}

/// One column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its name, unit included.
    pub(crate) name: &'static str,
    /// What it means.
    pub(crate) meaning: &'static str,
    pub(super) field: Field,
    pub(super) kind: Kind,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Flag,
    Float,
}

use Kind::{Flag, Float, Number, Text};

impl Column {
    /// The type of its values, as SQL calls it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.kind {
            Number => "bigint",
            Text => "varchar",
            Flag => "boolean",
            Float => "double",
        }
    }
}

const fn column(name: &'static str, field: Field, kind: Kind, meaning: &'static str) -> Column {
    Column {
        name,
        meaning,
        field,
        kind,
    }
}

/// Every column, in the order of the file.
#[rustfmt::skip]
pub(crate) const COLUMNS: &[Column] = &[
    column("time_ns", Field::Time, Number, "when, since the start of the run; rows are in this order"),
    column("event", Field::Event, Text, "what happened: see the table of events"),
    column("flow", Field::Flow, Number, "the flow's number, from 0, in the order of the scenario"),
    column("path", Field::Path, Number, "the path's number within its flow, from 0"),
    column("direction", Field::Direction, Text, "`data` from sender to receiver, `feedback` back"),
    column("packet", Field::Packet, Number, "the packet's number on its path and direction, from 0"),
    column("link", Field::Link, Number, "the link's number, from 0, in the alphabetic order of the links' names"),
    column("frame", Field::Frame, Number, "the video frame's number within its flow, from 0; skipped frames have numbers too"),
    column("kind", Field::Kind, Text, "what a packet carries: `video`, `retransmit` (part of a frame, sent again), `filler` or `bulk`"),
    column("fragment", Field::Fragment, Number, "which part of the frame a packet carries, from 0"),
    column("fragments", Field::Fragments, Number, "how many parts the frame has"),
    column("size_bytes", Field::Size, Number, "a packet's size in IP bytes; of an encoded frame its payload; of an opportunity what it could have carried"),
    column("budget_bytes", Field::Budget, Number, "the payload that the rate control had asked for"),
    column("in_flight_bytes", Field::InFlight, Number, "bytes in flight on the path, this packet included"),
    column("waiting_bytes", Field::Waiting, Number, "bytes in the queue after the packet joined it, the packet in service not counted"),
    column("waited_ns", Field::Waited, Number, "time in the queue before the packet's own service began"),
    column("sojourn_ns", Field::Sojourn, Number, "time from joining the queue to leaving service"),
    column("rtt_ns", Field::Rtt, Number, "round-trip time without the time the receiver held the report; empty where that report was lost"),
    column("why", Field::Why, Text, "of a dropped packet `full`, `aqm`, `random` or `too big`; of a lost one the rule that gave it up, `packets` or `time`; of a skipped frame `rate control` or `encoder`"),
    column("key", Field::Key, Flag, "the frame can be decoded alone"),
    column("duplicate", Field::Duplicate, Flag, "a copy of the packet had arrived before"),
    column("spurious", Field::Spurious, Flag, "the packet had been given up for lost before"),
    column("rate_bps", Field::Rate, Number, "the link's rate from now on; 0 is an outage"),
    column("window_bytes", Field::Window, Number, "ceiling on bytes in flight; empty: none"),
    column("pacing_bps", Field::Pacing, Number, "ceiling on the sending rate; empty: none"),
    column("floor_bps", Field::Floor, Number, "what is sent at least, with filler where video is short; empty: none"),
    column("target_bps", Field::Target, Number, "what the video should use, in IP bytes; empty: derived from the ceilings"),
    column("gauge", Field::Gauge, Text, "an inner quantity of the controller or rate control, by its paper's name"),
    column("value", Field::Value, Float, "the gauge's value"),
    column("offset_ns", Field::Offset, Number, "how far the receiver's clock is ahead of the run's at its start"),
    column("drift_ppb", Field::Drift, Number, "how much faster the receiver's clock runs, in parts per billion"),
];
