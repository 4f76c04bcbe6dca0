//! What a run's metrics are, as plain structs. What each means is said once,
//! in [`METRICS`](super::METRICS).

use serde::Serialize;

use super::{Names, Spread, Window};
use crate::event::{Cause, Kind};
use crate::units::{Bytes, Rate, Span, Time};

/// Every metric of a run over a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The part of the run that was looked at.
    pub window: Window,
    /// What flows and links are called.
    #[serde(skip)]
    pub names: Names,
    /// All flows together.
    pub all: AllReport,
    /// The flows, by number.
    pub flows: Vec<FlowReport>,
    /// The links, by number.
    pub links: Vec<LinkReport>,
}

/// Something for each kind of packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByKind<T> {
    /// Parts of frames, sent for the first time.
    pub video: T,
    /// Parts of frames, sent again.
    pub retransmit: T,
    /// Padding.
    pub filler: T,
    /// Bytes of a stream.
    pub bulk: T,
}

impl<T> ByKind<T> {
    /// The part of one kind.
    pub fn of_mut(&mut self, kind: &Kind) -> &mut T {
        match kind {
            Kind::Video(_) => &mut self.video,
            Kind::Retransmit(_) => &mut self.retransmit,
            Kind::Filler => &mut self.filler,
            Kind::Bulk => &mut self.bulk,
        }
    }

    /// Something else for each kind.
    pub fn map<U>(self, with: impl Fn(T) -> U) -> ByKind<U> {
        ByKind {
            video: with(self.video),
            retransmit: with(self.retransmit),
            filler: with(self.filler),
            bulk: with(self.bulk),
        }
    }
}

impl ByKind<Bytes> {
    /// All kinds together.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.video + self.retransmit + self.filler + self.bulk
    }
}

/// Packets by what dropped them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByCause {
    /// The queue was full.
    pub full: u64,
    /// Active queue management decided so.
    pub aqm: u64,
    /// Random loss.
    pub random: u64,
    /// Larger than the link can carry.
    pub too_big: u64,
}

impl ByCause {
    /// One more.
    pub fn add(&mut self, cause: Cause) {
        *match cause {
            Cause::Full => &mut self.full,
            Cause::Aqm => &mut self.aqm,
            Cause::Random => &mut self.random,
            Cause::TooBig => &mut self.too_big,
        } += 1;
    }

    /// All causes together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.full + self.aqm + self.random + self.too_big
    }
}

/// All flows together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AllReport {
    /// `all.throughput`
    pub throughput: Rate,
    /// `all.loss`
    pub loss: Option<f64>,
    /// `all.owd`
    pub owd: Option<Spread<Span>>,
    /// `all.pantheon`
    pub pantheon: Option<Rate>,
    /// `all.jain`
    pub jain: Option<Spread<f64>>,
    /// `all.jain_whole`
    pub jain_whole: Option<f64>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// The flow's name.
    pub name: String,
    /// `flow.{flow}.throughput`
    pub throughput: Rate,
    /// `flow.{flow}.throughput.video` and so on
    pub throughput_by: ByKind<Rate>,
    /// `flow.{flow}.binned`
    pub binned: Option<Spread<Rate>>,
    /// `flow.{flow}.pantheon`
    pub pantheon: Option<Rate>,
    /// `flow.{flow}.goodput`
    pub goodput: Rate,
    /// `flow.{flow}.late`
    pub late: Rate,
    /// `flow.{flow}.sending`
    pub sending: Rate,
    /// `flow.{flow}.sending.video` and so on
    pub sending_by: ByKind<Rate>,
    /// `flow.{flow}.converged`
    pub converged: Option<Span>,
    /// `flow.{flow}.feedback`
    pub feedback: Rate,
    /// `flow.{flow}.filler`
    pub filler: Option<f64>,
    /// `flow.{flow}.sent`
    pub sent: u64,
    /// `flow.{flow}.arrived`
    pub arrived: u64,
    /// `flow.{flow}.duplicates`
    pub duplicates: u64,
    /// `flow.{flow}.lost`
    pub lost: u64,
    /// `flow.{flow}.loss`
    pub loss: Option<f64>,
    /// `flow.{flow}.drops` and, by cause, `flow.{flow}.drops.full` and so on
    pub drops: ByCause,
    /// `flow.{flow}.marks`
    pub marks: u64,
    /// `flow.{flow}.given_up`
    pub given_up: u64,
    /// `flow.{flow}.spurious`
    pub spurious: u64,
    /// `flow.{flow}.timeouts`
    pub timeouts: u64,
    /// `flow.{flow}.base`
    pub base: Option<Span>,
    /// `flow.{flow}.owd`
    pub owd: Option<Spread<Span>>,
    /// `flow.{flow}.owd_above_base`
    pub owd_above_base: Option<Spread<Span>>,
    /// `flow.{flow}.rtt`
    pub rtt: Option<Spread<Span>>,
    /// Its frames; nothing for a flow without video.
    pub frames: Option<FrameReport>,
    /// What it did in groups of frame slots.
    pub slots: Vec<SlotReport>,
    /// Its paths, by number.
    pub paths: Vec<PathReport>,
    /// The links that its data packets crossed.
    pub crossings: Vec<CrossingReport>,
}

/// One path of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathReport {
    /// `flow.{flow}.path.{path}.throughput`
    pub throughput: Rate,
    /// `flow.{flow}.path.{path}.sending`
    pub sending: Rate,
    /// `flow.{flow}.path.{path}.loss`
    pub loss: Option<f64>,
    /// `flow.{flow}.path.{path}.base`
    pub base: Option<Span>,
    /// `flow.{flow}.path.{path}.owd`
    pub owd: Option<Spread<Span>>,
    /// `flow.{flow}.path.{path}.rtt`
    pub rtt: Option<Spread<Span>>,
}

/// A flow's data packets at one link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossingReport {
    /// The link's number.
    pub link: usize,
    /// `flow.{flow}.link.{link}.carried`
    pub carried: Rate,
    /// `flow.{flow}.link.{link}.share`
    pub share: Option<f64>,
    /// `flow.{flow}.link.{link}.of_free`
    pub of_free: Option<f64>,
    /// `flow.{flow}.link.{link}.waited`
    pub waited: Option<Spread<Span>>,
    /// `flow.{flow}.link.{link}.sojourn`
    pub sojourn: Option<Spread<Span>>,
}

/// A flow's frames.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FrameReport {
    /// `flow.{flow}.frames.captured`
    pub captured: u64,
    /// `flow.{flow}.frames.encoded`
    pub encoded: u64,
    /// `flow.{flow}.frames.skipped`
    pub skipped: u64,
    /// `flow.{flow}.frames.completed`
    pub completed: u64,
    /// `flow.{flow}.frames.shown`
    pub shown: u64,
    /// `flow.{flow}.frames.undelivered`
    pub undelivered: u64,
    /// `flow.{flow}.frames.pending`
    pub pending: u64,
    /// `flow.{flow}.frames.bitrate`
    pub bitrate: Rate,
    /// `flow.{flow}.frames.latency`
    pub latency: Option<Spread<Span>>,
    /// `flow.{flow}.frames.delay`
    pub delay: Option<Spread<Span>>,
    /// `flow.{flow}.frames.fps`
    pub fps: f64,
    /// `flow.{flow}.frames.freezes`
    pub freezes: u64,
    /// `flow.{flow}.frames.frozen`
    pub frozen: Span,
}

/// A flow in groups of frame slots of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SlotReport {
    /// Slots in a group.
    pub slots: usize,
    /// `flow.{flow}.slots.{slots}.bitrate`
    pub bitrate: Option<Spread<Rate>>,
    /// `flow.{flow}.slots.{slots}.frame_delay`
    pub frame_delay: Option<Spread<Span>>,
}

/// One link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkReport {
    /// The link's name.
    pub name: String,
    /// `link.{link}.capacity`
    pub capacity: Option<Rate>,
    /// `link.{link}.carried`
    pub carried: Rate,
    /// `link.{link}.utilisation`
    pub utilisation: Option<f64>,
    /// `link.{link}.utilisation_of_demand`
    pub utilisation_of_demand: Option<f64>,
    /// `link.{link}.drops` and, by cause, `link.{link}.drops.full` and so on
    pub drops: ByCause,
    /// `link.{link}.marks`
    pub marks: u64,
    /// `link.{link}.waiting`
    pub waiting: f64,
    /// `link.{link}.waiting_max`
    pub waiting_max: Bytes,
    /// `link.{link}.waited`
    pub waited: Option<Spread<Span>>,
    /// `link.{link}.sojourn`
    pub sojourn: Option<Spread<Span>>,
    /// `link.{link}.unavoidable`
    pub unavoidable: Option<Span>,
    /// `link.{link}.over_unavoidable`
    pub over_unavoidable: Option<f64>,
    /// What followed each drop of its capacity.
    pub spikes: Vec<SpikeReport>,
}

/// What followed one drop of a link's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SpikeReport {
    /// When it dropped.
    pub at: Time,
    /// The capacity before.
    pub before: Rate,
    /// The capacity after.
    pub after: Rate,
    /// `link.{link}.spike.{drop}.ratio`
    pub ratio: f64,
    /// `link.{link}.spike.{drop}.measured`
    pub measured: Span,
    /// `link.{link}.spike.{drop}.bound`
    pub bound: Option<Span>,
    /// `link.{link}.spike.{drop}.over_bound`
    pub over_bound: Option<f64>,
}
