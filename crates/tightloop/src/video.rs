//! What the encoder does with what the network bears.
//!
//! A [`source::Source`] captures frames; a [`RateControl`] decides for each
//! whether to encode it and how large; an [`Encoder`] makes bytes of it. On the
//! other side [`playout::Playout`] puts complete frames on the screen.

use std::fmt;

use dyn_clone::DynClone;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cc::{Control, Feedback, Params, PathState, SettingError, settings};
use crate::event::{FrameId, PathId};
use crate::paths::PathView;
use crate::rng::Stream;
use crate::settings::over;
use crate::units::{Bytes, Rate, Span, Time};

pub mod follow;
pub mod latency_optimizer;
pub mod model;
pub mod playout;
pub mod salsify;
pub mod source;
pub mod vidaptive;

/// Every rate control of the house.
pub const RATE_CONTROLS: &[RateControlKind] = &[
    follow::FOLLOW,
    vidaptive::VIDAPTIVE,
    vidaptive::NO_FILLER,
    vidaptive::NO_PAUSE,
    vidaptive::NO_SHARE,
    latency_optimizer::LATENCY_OPTIMIZER,
    salsify::SALSIFY,
];
/// Every encoder of the house that needs no real pictures.
pub const ENCODERS: &[EncoderKind] = &[
    model::ideal::IDEAL,
    model::lag::VP8_PAPER,
    model::measured::MEASURED,
    model::rfc8593::RFC8593,
];

/// How large packets are and what they cost. One convention everywhere: sizes
/// and rates of packets count IP bytes; an encoder counts payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The largest packet, in IP bytes.
    pub mtu: Bytes,
    /// What each packet spends on headers: IP, UDP, encryption, ours.
    pub overhead: Bytes,
}

impl Framing {
    /// The most payload one packet carries.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        self.mtu.saturating_sub(self.overhead)
    }

    /// The payload that fills exactly `wire` bytes of packets; at least one byte.
    #[must_use]
    pub fn payload_of(&self, wire: Bytes) -> Bytes {
        let packets = wire.pieces(self.mtu);
        wire.saturating_sub(self.overhead * packets)
            .max(Bytes::new(1))
    }

    /// The wire bytes of a frame with this payload.
    #[must_use]
    pub fn wire_of(&self, payload: Bytes) -> Bytes {
        payload + self.overhead * payload.pieces(self.payload())
    }

    /// The wire rate that a payload rate comes to, in full packets.
    #[must_use]
    pub fn wire_rate(&self, payload: Rate) -> Rate {
        payload * self.mtu.ratio(self.payload())
    }

    /// The payload share of a wire rate, for full packets.
    #[must_use]
    pub fn payload_rate(&self, wire: Rate) -> Rate {
        wire * self.payload().ratio(self.mtu)
    }
}

/// A captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number, from zero; skipped frames have numbers too.
    pub id: FrameId,
    /// When it was captured.
    pub captured: Time,
    /// Its content differs wholly from the frame before.
    pub scene_cut: bool,
}

/// What the encoder is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The payload rate to aim for.
    pub rate: Rate,
    /// The payload bytes this frame should have: the rate over one interval.
    pub budget: Bytes,
    /// The frame must be decodable alone.
    pub key: bool,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The frame.
    pub frame: FrameId,
    /// Its payload bytes; zero where the encoder skipped it.
    pub size: Bytes,
    /// It can be decoded alone.
    pub key: bool,
    /// When the encoder is done with it.
    pub ready: Time,
}

/// Turns frames into bytes.
pub trait Encoder: fmt::Debug + Send {
    /// Encodes one frame. A frame that is not decodable alone refers to the one
    /// encoded before it.
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded;

    /// Begins to encode one frame: what it became, or `None` where that comes
    /// later, from [`Encoder::collect`]. In real time a caller must not wait for a
    /// codec; an encoder that can take no further frame yet skips it.
    fn begin(&mut self, now: Time, frame: &Frame, order: &Order) -> Option<Encoded> {
        Some(self.encode(now, frame, order))
    }

    /// The next of the frames begun that is encoded by now, in their order.
    fn collect(&mut self) -> Option<Encoded> {
        None
    }

    /// A copy that goes on from the same state, or `None` where that cannot be:
    /// real codecs cannot.
    fn fork(&self) -> Option<Box<dyn Encoder>>;

    /// The least payload rate at which it has lately been able to encode every
    /// picture: with less it leaves some out, or makes them larger than asked.
    fn least_rate(&self) -> Rate {
        Rate::ZERO
    }
}

/// What a rate control may look at.
#[derive(Clone, Copy, Debug)]
pub struct SenderView<'a> {
    /// The time between frames.
    pub frame_interval: Span,
    /// Packet sizes.
    pub framing: Framing,
    /// Bytes not yet sent, over all paths.
    pub backlog: Bytes,
    /// How long the oldest of them has waited.
    pub oldest: Option<Span>,
    /// The most the application lets the video use now, in bytes on the wire:
    /// [`source::Source::max_rate`].
    pub max_rate: Option<Rate>,
    /// [`Encoder::least_rate`], in bytes on the wire.
    pub least_rate: Rate,
    /// The paths.
    pub paths: &'a [PathView],
}

#[cfg(test)]
impl<'a> SenderView<'a> {
    /// A sender with nothing to send, and an application and encoder without limits.
    pub(crate) const fn idle(
        frame_interval: Span,
        framing: Framing,
        paths: &'a [PathView],
    ) -> Self {
        Self {
            frame_interval,
            framing,
            backlog: Bytes::ZERO,
            oldest: None,
            max_rate: None,
            least_rate: Rate::ZERO,
            paths,
        }
    }
}

/// What to do with a captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Encode it so.
    Encode(Order),
    /// Encode it twice, and keep the larger result that fits. Only an encoder
    /// that can be forked can; with any other, as where neither fits, the frame
    /// is left out.
    Choose(Candidates),
    /// Leave it out.
    Skip,
}

/// Two ways to encode a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Both orders.
    pub orders: [Order; 2],
    /// The most payload bytes that will do.
    pub limit: Bytes,
    /// An earlier frame to refer to, in place of the one encoded last.
    pub refers_to: Option<FrameId>,
}

/// Decides what the encoder does with what the network bears.
pub trait RateControl: DynClone + fmt::Debug + Send {
    /// A frame was captured: encode it, how large, or skip it? The sender turns
    /// an order into one for a key frame where the first frame or the receiver's
    /// decoder needs it.
    fn on_capture(&mut self, now: Time, frame: &Frame, view: &SenderView<'_>) -> Verdict;

    /// What the encoder made of it.
    fn on_encoded(&mut self, _now: Time, _encoded: &Encoded, _order: &Order) {}

    /// A frame's first packet is the next to leave on its path.
    fn on_head(&mut self, _now: Time, _frame: FrameId) {}

    /// A frame's last packet left, all of them sent for the first time.
    fn on_sent(&mut self, _now: Time, _frame: FrameId) {}

    /// Everything encoded has left. `held` is the newest frame captured, where it
    /// was skipped: an order encodes it now.
    fn on_drained(
        &mut self,
        _now: Time,
        _held: Option<&Frame>,
        _view: &SenderView<'_>,
    ) -> Option<Order> {
        None
    }

    /// News on a path, told to its controller already.
    fn on_feedback(&mut self, _now: Time, _path: PathId, _feedback: &Feedback<'_>) {}

    /// Changes what the controller allows before the pacer obeys it. Asked again
    /// after every capture, feedback and timeout.
    fn shape(&self, control: Control, _path: &PathState) -> Control {
        control
    }

    /// Whether filler may leave at this moment, where [`Control::floor`] asks for
    /// any.
    fn fills(&self, _at: Time) -> bool {
        true
    }

    /// Inner quantities, by the names of the paper.
    fn inspect(&self, _gauge: &mut dyn FnMut(&'static str, f64)) {}
}

dyn_clone::clone_trait_object!(RateControl);

/// What a rate control or an encoder is built from.
#[derive(Clone, Debug)]
pub struct VideoStart {
    /// The settings; keys that are not known are errors.
    pub params: Params,
    /// The time between frames.
    pub frame_interval: Span,
    /// A stream of chance of its own.
    pub rng: Stream,
}

impl VideoStart {
    /// Default settings at 60 frames per second.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            params: Params::new(),
            frame_interval: Span::from_secs(1) / 60,
            rng: Stream::named(0, "plain"),
        }
    }

    /// The same with `defaults` where the settings say nothing: for entries that
    /// are another one with settings of their own.
    #[must_use]
    pub fn over<S: Serialize>(&self, defaults: &S) -> Self {
        Self {
            params: over(defaults, &self.params),
            ..self.clone()
        }
    }

    /// The settings as an algorithm's own type.
    ///
    /// # Errors
    ///
    /// Unknown keys and values that do not fit.
    pub fn settings<S: DeserializeOwned>(&self) -> Result<S, SettingError> {
        settings(&self.params)
    }
}

/// Looks a rate control up by its name.
#[must_use]
pub fn rate_control(name: &str) -> Option<&'static RateControlKind> {
    RATE_CONTROLS.iter().find(|kind| kind.name == name)
}

/// Looks an encoder up by its name.
#[must_use]
pub fn encoder(name: &str) -> Option<&'static EncoderKind> {
    ENCODERS.iter().find(|kind| kind.name == name)
}

/// An entry of [`RATE_CONTROLS`].
#[derive(Clone, Copy, Debug)]
pub struct RateControlKind {
    /// The name scenarios use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Keys of REFERENCES.md.
    pub cites: &'static [&'static str],
    /// The settings that it has where a scenario says nothing.
    pub defaults: fn() -> Params,
    /// Builds one.
    pub new: fn(&VideoStart) -> Result<Box<dyn RateControl>, SettingError>,
}

/// An entry of [`ENCODERS`].
#[derive(Clone, Copy, Debug)]
pub struct EncoderKind {
    /// The name scenarios use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Keys of REFERENCES.md.
    pub cites: &'static [&'static str],
    /// The settings that it has where a scenario says nothing.
    pub defaults: fn() -> Params,
    /// Builds one.
    pub new: fn(&VideoStart) -> Result<Box<dyn Encoder>, SettingError>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// An encoder that obeys its budget fills the wire budget to the byte.
        #[test]
        fn payload_of_a_wire_budget_costs_that_budget(wire in 200u64..10_000_000, overhead in 1u64..100) {
            let framing = Framing { mtu: Bytes::new(1500), overhead: Bytes::new(overhead) };
            let wire = Bytes::new(wire);
            let cost = framing.wire_of(framing.payload_of(wire));
            // A last packet smaller than its own header cannot be filled.
            prop_assert!(cost <= wire && wire <= cost + framing.overhead * 2, "{cost} of {wire}");
        }
    }
}
