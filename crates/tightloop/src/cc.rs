//! The controller's contract, and the list of all controllers.
//!
//! A [`Controller`] turns what the session learnt ([`Feedback`], [`PathState`])
//! into what a sender may do ([`Control`]). *Facts are the session's, beliefs
//! are the controller's*: bytes in flight, round-trip times, losses and
//! delivery-rate samples are measured once, outside, for everybody.
//!
//! To add one: copy `cc/fixed.rs` and add a line to [`ALGORITHMS`].

use std::fmt;

use dyn_clone::DynClone;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::event::Control;
use crate::event::{Ecn, Fragment, Kind, LostBy};
use crate::rng::Stream;
use crate::settings::over;
pub use crate::settings::{Params, SettingError, settings, written};
use crate::units::{Bytes, Rate, RemoteTime, Span, Time};

pub mod bbr;
pub mod bbr3;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod delay_bbr;
pub mod fixed;
pub mod gcc;
pub mod hybla;
mod hystart;
pub mod ideal;
pub mod illinois;
#[cfg(test)]
mod pipe;
pub mod reno;
pub mod rocc;
pub mod sqp;
pub mod westwood;
mod window;

/// The gauge of a controller's own minimum RTT in seconds, windowed where it
/// has a window.
pub const MIN_RTT: &str = "min_rtt_s";

/// Every controller of the house.
pub const ALGORITHMS: &[Algorithm] = &[
    fixed::FIXED,
    ideal::IDEAL,
    cubic::CUBIC,
    copa::COPA,
    copa::webrtc::COPA_WEBRTC,
    sqp::SQP,
    gcc::GCC,
    reno::RENO,
    hybla::HYBLA,
    illinois::ILLINOIS,
    westwood::WESTWOOD,
    dctcp::DCTCP,
    rocc::ROCC,
    bbr::BBR,
    bbr::quic::BBR_QUIC,
    bbr::webrtc::BBR_WEBRTC,
    bbr3::BBR3,
    delay_bbr::DELAY_BBR,
];

impl Control {
    /// The rate the video may use: the target; else the pacing rate; else a
    /// window per round trip.
    #[must_use]
    pub fn video_rate(&self, path: &PathState) -> Option<Rate> {
        self.target.or_else(|| {
            let by_window = self
                .window
                .and_then(|window| window.per(path.smoothed_rtt?));
            match (by_window, self.pacing) {
                (Some(window), Some(pacing)) => Some(window.min(pacing)),
                (window, pacing) => window.or(pacing),
            }
        })
    }
}

/// What the session knows about a path, as of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PathState {
    /// The largest packet, in IP bytes.
    pub mss: Bytes,
    /// Bytes sent and neither acknowledged nor given up.
    pub in_flight: Bytes,
    /// Bytes waiting in this path's pacer.
    pub backlog: Bytes,
    /// Bytes ever sent.
    pub sent: Bytes,
    /// Bytes ever acknowledged.
    pub delivered: Bytes,
    /// Bytes ever given up, less those that arrived after all.
    pub lost: Bytes,
    /// The last round-trip time.
    pub latest_rtt: Option<Span>,
    /// Smoothed round-trip time, gain 1/8. [RFC9002] §5.3.
    pub smoothed_rtt: Option<Span>,
    /// Mean deviation of the round-trip time, gain 1/4. [RFC9002] §5.3.
    pub rtt_deviation: Span,
    /// The smallest round-trip time since the path came up.
    pub min_rtt: Option<Span>,
    /// True while the application, not the controller, limits what is sent.
    pub app_limited: bool,
}

/// A data packet that left, with what was known when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sent {
    /// Its number on this path.
    pub number: u64,
    /// When it left.
    pub at: Time,
    /// Its size in IP bytes.
    pub size: Bytes,
    /// What it carries.
    pub kind: Kind,
    /// Bytes in flight when it left, itself included.
    pub in_flight: Bytes,
    /// [`PathState::delivered`] when it left.
    pub delivered: Bytes,
    /// When `delivered` had last grown. With `delivered`, `first_sent` and
    /// `app_limited` this is the snapshot of [DeliveryRate] §3.2.
    pub delivered_at: Time,
    /// When the first packet of the sampling interval left.
    pub first_sent: Time,
    /// Whether the application limited the sender then.
    pub app_limited: bool,
}

/// A packet that the receiver reported, for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// The packet.
    pub packet: Sent,
    /// When it arrived, by the receiver's clock. `None` where the report that
    /// held the time was lost and only the fact of arrival is known.
    pub arrived: Option<RemoteTime>,
    /// Round-trip time without the time the receiver held the report. `None`
    /// where `arrived` is.
    pub rtt: Option<Span>,
    /// The ECN field as it arrived.
    pub ecn: Ecn,
    /// It had been given up for lost before.
    pub spurious: bool,
}

/// A packet given up for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The packet.
    pub packet: Sent,
    /// By which rule.
    pub by: LostBy,
}

/// A delivery-rate sample, made once per feedback. [DeliveryRate] §3.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRate {
    /// Bytes delivered over the interval.
    pub delivered: Bytes,
    /// The longer of the sending and the acknowledging interval.
    pub interval: Span,
    /// The application limited the sender during the interval.
    pub app_limited: bool,
    /// [`PathState::delivered`] when the sampled packet left: what a round
    /// counter compares with.
    pub prior_delivered: Bytes,
}

impl DeliveryRate {
    /// The rate; `None` for an empty interval.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.delivered.per(self.interval)
    }
}

/// What the receiver's half of an algorithm has to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// The receiver's own estimate of the rate.
    Estimate(Rate),
    /// Cumulative bytes that will have drained after each coming tick.
    Forecast {
        /// The tick's length.
        tick: Span,
        /// Bytes by the end of each tick.
        bytes: Vec<Bytes>,
    },
}

/// One feedback message, digested: everything it says that is news.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback<'a> {
    /// Packets newly known to have arrived, in the order of arrival.
    pub acked: &'a [Acked],
    /// Packets newly given up, by rising number.
    pub lost: &'a [Lost],
    /// The delivery rate around the packet sent last among `acked`.
    pub delivery: Option<DeliveryRate>,
    /// Every packet that arrived until this moment of the receiver's clock has
    /// been reported: silence is information. `None` for losses found by time,
    /// without a message.
    pub through: Option<RemoteTime>,
    /// Nothing sent over a whole persistent-congestion period arrived.
    /// [RFC9002] §7.6.
    pub persistent_congestion: bool,
    /// The receiver's half of the algorithm, where it has one.
    pub report: Option<&'a Report>,
}

impl<'a> Feedback<'a> {
    /// Losses found by time, without a message.
    #[must_use]
    pub const fn of_losses(lost: &'a [Lost], persistent_congestion: bool) -> Self {
        Self {
            acked: &[],
            lost,
            delivery: None,
            through: None,
            persistent_congestion,
            report: None,
        }
    }

    /// Bytes newly acknowledged.
    #[must_use]
    pub fn acked_bytes(&self) -> Bytes {
        self.acked.iter().map(|acked| acked.packet.size).sum()
    }

    /// Bytes newly given up.
    #[must_use]
    pub fn lost_bytes(&self) -> Bytes {
        self.lost.iter().map(|lost| lost.packet.size).sum()
    }

    /// The last round-trip time this feedback measured.
    #[must_use]
    pub fn latest_rtt(&self) -> Option<Span> {
        self.acked.iter().rev().find_map(|acked| acked.rtt)
    }
}

/// A congestion controller of one path.
///
/// Time never goes back between calls. [`Controller::control`] is pure; it is
/// read after [`Controller::on_feedback`] and [`Controller::on_timeout`], not
/// after every packet. Nothing here can fail: settings are checked at
/// construction. A controller that lets its window reach zero needs a timer
/// (the session also lets one probe out per timeout, so an outage cannot
/// freeze a flow for ever).
pub trait Controller: DynClone + fmt::Debug + Send {
    /// News from the receiver: one call per message, or per batch of losses
    /// found by time (then `acked` is empty and `through` is `None`).
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState);

    /// What the sender may do until the next call.
    fn control(&self) -> Control;

    /// A packet left. What this changes in the control holds from the next
    /// feedback or timeout on.
    fn on_sent(&mut self, _now: Time, _packet: &Sent, _path: &PathState) {}

    /// The time asked for by [`Controller::next_timeout`] has come.
    fn on_timeout(&mut self, _now: Time, _path: &PathState) {}

    /// When to call [`Controller::on_timeout`].
    fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// Inner quantities, by the names of the paper. [`MIN_RTT`] is standard.
    fn inspect(&self, _gauge: &mut dyn FnMut(&'static str, f64)) {}
}

dyn_clone::clone_trait_object!(Controller);

/// A data packet at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number on this path.
    pub number: u64,
    /// When it arrived, by the receiver's own clock.
    pub at: RemoteTime,
    /// Its size in IP bytes.
    pub size: Bytes,
    /// What it carries.
    pub kind: Kind,
    /// The ECN field as it arrived.
    pub ecn: Ecn,
}

/// The receiver's half of the few algorithms that have one.
pub trait Reporter: DynClone + fmt::Debug + Send {
    /// A packet arrived.
    fn on_arrival(&mut self, packet: &Arrival);
    /// What to put into the feedback that is about to leave.
    fn report(&mut self, now: RemoteTime) -> Option<Report>;
    /// When feedback should leave even if nothing arrives.
    fn next_timeout(&self) -> Option<RemoteTime> {
        None
    }
}

dyn_clone::clone_trait_object!(Reporter);

/// What an algorithm is built from.
#[derive(Clone, Debug)]
pub struct Start {
    /// The settings; keys that are not known are errors.
    pub params: Params,
    /// The largest packet, in IP bytes.
    pub mss: Bytes,
    /// The time between frames, where the flow is video.
    pub frame_interval: Option<Span>,
    /// The most the application can use.
    pub max_rate: Option<Rate>,
    /// A stream of chance of this controller's own.
    pub rng: Stream,
}

impl Start {
    /// Default settings: 1500-byte packets, 60 frames per second, no limit.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            params: Params::new(),
            mss: Bytes::new(1500),
            frame_interval: Some(Span::from_secs(1) / 60),
            max_rate: None,
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

/// Builds a controller.
pub type NewController = fn(&Start) -> Result<Box<dyn Controller>, SettingError>;
/// Builds the receiver's half.
pub type NewReporter = fn(&Start) -> Result<Box<dyn Reporter>, SettingError>;

/// An entry of [`ALGORITHMS`].
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name scenarios use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Keys of REFERENCES.md.
    pub cites: &'static [&'static str],
    /// The settings that it has where a scenario says nothing.
    pub defaults: fn() -> Params,
    /// Builds the controller.
    pub new: NewController,
    /// Builds the receiver's half, where there is one.
    pub reporter: Option<NewReporter>,
}

/// Looks an algorithm up by its name.
#[must_use]
pub fn algorithm(name: &str) -> Option<&'static Algorithm> {
    ALGORITHMS.iter().find(|algorithm| algorithm.name == name)
}

impl Sent {
    /// The fragment of a frame this carried for the first time.
    #[must_use]
    pub const fn video(&self) -> Option<Fragment> {
        match self.kind {
            Kind::Video(fragment) => Some(fragment),
            _ => None,
        }
    }
}
