//! Salsify: the transport says how many bytes the next frame may have, and the
//! codec offers two versions of it.
//!
//! # Idea
//! An encoder hits its target only on average. One without state of its own can
//! encode a frame twice, somewhat better and somewhat worse than the last one,
//! and the sender keeps the best version that fits what the path bears right
//! now, or none. There is no other rate control.
//!
//! # Signals
//! When packets arrived, by the receiver's clock; packets in flight; losses and
//! which frames arrived whole.
//!
//! # Law
//! - the gap between arrivals, less what the sender paused in between, averaged
//!   with a weight of 0.1
//! - a frame may have 100 ms / gap packets, less those in flight
//! - two versions, a quantiser 17 steps finer and 23 steps coarser than the last
//!   frame's: the largest that fits, else none, but never more than three frames
//!   in a row
//! - for 5 s after a loss frames refer to the newest one known to be there whole
//!
//! [Salsify] §3, and its program's constants.
//!
//! # Departures
//! - It needs an encoder that can go on twice from one state. The size models
//!   can. Real codecs cannot: with one of them only every fourth frame is sent.
//!   A model with a lag of its own (`vp8-paper`) undoes the point.
//! - Size models have no quantiser: a step is a factor of the size, `finer` and
//!   `coarser`. Nor do they charge for referring to an older frame.
//! - A frame's first packet is preceded by a pause of the sender's; it is taken
//!   from when packets left, where the program declares it in the packet.
//! - The program does not send lost packets again: `retransmit = false`.

use serde::{Deserialize, Serialize};

use self::gap::Gap;
use self::states::States;
use super::{
    Candidates, Encoded, Frame, Order, RateControl, RateControlKind, SenderView, Verdict,
    VideoStart,
};
use crate::cc::{Feedback, SettingError, written};
use crate::event::PathId;
use crate::units::{Bytes, Rate, Span, Time, float};

mod gap;
mod states;

/// The entry in [`super::RATE_CONTROLS`].
pub const SALSIFY: RateControlKind = RateControlKind {
    name: "salsify",
    summary: "two versions of each frame, the best that fits what the path bears now",
    cites: &["Salsify", "RFC6386"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Salsify::new(start)?)),
};

/// How much of the path a frame may fill. [Salsify] §3.3.
const FILL: Span = Span::from_millis(100);
/// Frames left out in a row. [Salsify], program.
const MOST_SKIPS: u32 = 3;
/// How long frames refer to what is known to be there after a loss. [Salsify], program.
const CONSERVATIVE: Span = Span::from_secs(5);

/// Settings. Rates count bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What a quantiser 17 steps finer makes of a frame's size. Ours: 1.77. The
    /// quantisers of [RFC6386] §14.1 span a factor of 71 in 127 steps, 3.4 % a
    /// step, and a frame's size is inverse to them.
    pub finer: f64,
    /// What one 23 steps coarser makes of it. Ours: 0.46, by the same count.
    pub coarser: f64,
    /// The most the video uses, where the application does not say less.
    /// Ours: 12 Mbit/s, as Vidaptive's.
    pub max: Rate,
    /// What the coarsest quantiser makes, below which no version goes. Ours:
    /// 240 kbit/s, the mean of four clips in 720p at 24 frames a second through
    /// libvpx; each of them alone, 122 to 469 kbit/s.
    pub min: Rate,
    /// The rate before anything arrived. Ours: 300 kbit/s, as Vidaptive's.
    pub start: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            finer: 1.77,
            coarser: 0.46,
            max: Rate::from_mbps(12),
            min: Rate::from_kbps(240),
            start: Rate::from_kbps(300),
        }
    }
}

/// The rate control.
#[derive(Clone, Debug)]
pub struct Salsify {
    params: Params,
    gap: Gap,
    states: States,
    /// The payload rate that the last frame was asked for.
    last: Option<Rate>,
    /// Two versions were offered, and nothing has come of it yet.
    offered: bool,
    /// Frames left out since the last one sent.
    skips: u32,
    conservative_until: Option<Time>,
    limit: Bytes,
}

impl Salsify {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, factors on the wrong side of one, a `min` above `max`.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let (finer, coarser) = (params.finer, params.coarser);
        let sides = (1.0..=100.0).contains(&finer) && (0.01..=1.0).contains(&coarser);
        SettingError::unless(sides, || {
            format!("finer = {finer} must be 1 to 100, and coarser = {coarser} 0.01 to 1")
        })?;
        SettingError::unless(params.min <= params.max, || {
            format!("min = {} is above max = {}", params.min, params.max)
        })?;
        Ok(Self {
            gap: Gap::default(),
            states: States::default(),
            last: None,
            offered: false,
            skips: 0,
            conservative_until: None,
            limit: Bytes::ZERO,
            params,
        })
    }

    /// The payload bytes that the path bears now; `None` before it is known.
    fn bearable(&self, view: &SenderView<'_>) -> Option<Bytes> {
        let gap = self.gap.mean()?;
        let mtu = view.framing.mtu;
        let in_flight: Bytes = view.paths.iter().map(|path| path.state.in_flight).sum();
        let waiting = float((in_flight + view.backlog).pieces(mtu));
        let packets = (FILL.secs_f64() / gap - waiting).max(0.0);
        Some(Bytes::from_f64(packets * view.framing.payload().get_f64()))
    }

    fn conservative(&self, now: Time) -> bool {
        self.conservative_until.is_some_and(|until| now < until)
    }
}

impl RateControl for Salsify {
    fn on_capture(&mut self, now: Time, _frame: &Frame, view: &SenderView<'_>) -> Verdict {
        self.skips += u32::from(self.offered);
        self.offered = false;
        let payload = |wire| view.framing.payload_rate(wire);
        let max = view.max_rate.unwrap_or(Rate::MAX).min(self.params.max);
        let version = |factor: f64| {
            let last = self.last.unwrap_or(payload(self.params.start));
            let rate = last * factor;
            let rate = rate.max(payload(self.params.min)).min(payload(max));
            Order {
                rate,
                budget: rate.over(view.frame_interval),
                key: false,
            }
        };
        let Some(limit) = self.bearable(view) else {
            return Verdict::Encode(version(1.0));
        };
        self.limit = limit;
        let orders = [version(self.params.finer), version(self.params.coarser)];
        let refers_to = self.states.newest_there();
        let refers_to = refers_to.filter(|_| self.conservative(now));
        self.states.refer_to(refers_to);
        self.offered = true;
        // After too many gaps the coarser version goes, however large it gets.
        match refers_to {
            None if self.skips >= MOST_SKIPS => Verdict::Encode(orders[1]),
            Some(_) if self.skips >= MOST_SKIPS => Verdict::Choose(Candidates {
                orders: [orders[1]; 2],
                limit: Bytes::MAX,
                refers_to,
            }),
            _ => Verdict::Choose(Candidates {
                orders,
                limit,
                refers_to,
            }),
        }
    }

    fn on_encoded(&mut self, _now: Time, encoded: &Encoded, order: &Order) {
        self.offered = false;
        if encoded.size > Bytes::ZERO {
            self.skips = 0;
            self.last = Some(order.rate);
            self.states.on_encoded(encoded);
        }
    }

    fn on_feedback(&mut self, now: Time, _path: PathId, feedback: &Feedback<'_>) {
        for acked in feedback.acked {
            self.gap.on_arrival(acked);
            if let Some(fragment) = acked.packet.kind.fragment() {
                self.states.on_arrival(fragment);
            }
        }
        if !feedback.lost.is_empty() {
            self.conservative_until = Some(now + CONSERVATIVE);
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("frame_limit_bytes", self.limit.get_f64());
        gauge("skips", f64::from(self.skips));
        if let Some(gap) = self.gap.mean() {
            gauge("gap_s", gap);
        }
    }
}

#[cfg(test)]
mod tests;
