//! Vidaptive: the congestion control decides when packets leave, the encoder
//! adapts to it frame by frame.
//!
//! # Idea
//! Let any congestion control run as if the flow always had something to send:
//! where the video has nothing, packets without content leave. It then finds
//! and follows the path's rate within round trips, however slowly or unevenly
//! the encoder reacts. What that costs in latency is kept down by leaving
//! frames out while packets wait too long, and by asking the encoder for a part
//! of the rate that leaves room for what frame sizes and the rate itself did in
//! the last second.
//!
//! # Signals
//! Each path's window and smoothed RTT; how long the oldest packet has waited;
//! when each frame came to the head of the queue and when its last packet left.
//!
//! # Law
//! CC-Rate = cwnd/sRTT, summed over paths. With the paper's symbols:
//!
//! - packets are paced at CC-Rate and leave only within the window
//! - filler, at the same pace, where no packet waits and the next frame is more
//!   than a quarter of an interval away; none while the video has all it can use
//! - oldest packet older than τ: frames are skipped, until no packet waits
//! - d_i: from frame i at the head of the queue until its last packet left;
//!   n_i = d_i·CC-Rate_i/tr_i, the time it would have taken at α = 1
//! - α = P / (the λ-quantile of n_i over the last D), at most 1
//! - tr = α·CC-Rate, within the encoder's limits: below the least rate at which it
//!   can encode its pictures at all, n_i would say that α is too large, for ever
//!
//! CC-Rate_i is the one in force when frame i was encoded: with the rate of now
//! α would fall as capacity rises. A rate that fell while a frame drained shows
//! in d_i itself. [Vidaptive] §3.
//!
//! `filler`, `pause` and `share` switch the three mechanisms off one at a time:
//! `vidaptive-no-filler`, `vidaptive-no-pause` and `vidaptive-no-share` of the
//! paper's ablations (w/o Dummy, w/o Latency, w/o Bitrate Selection).
//!
//! # Departures
//! - D, the quantile's method and the least α are not published; see the
//!   settings and [`share::quantile`].
//! - The frame captured last is encoded when the queue has emptied, if it is not
//!   older than half an interval. The paper waits for the next one.
//! - Filler has the size of a full packet, as the session's always has. The
//!   paper does not say.
//! - A controller without a window gives its own rate, and its pace is kept.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::filler::Filler;
use self::pause::Pause;
use self::share::{Rule, Share};
use super::{Encoded, Frame, Order, RateControl, RateControlKind, SenderView, Verdict, VideoStart};
use crate::cc::{Control, PathState, SettingError, written};
use crate::event::FrameId;
use crate::units::{Bytes, Rate, Span, Time, float};

pub mod filler;
pub mod pause;
pub mod share;

/// The entry in [`super::RATE_CONTROLS`].
pub const VIDAPTIVE: RateControlKind = RateControlKind {
    name: "vidaptive",
    summary: "filler keeps the congestion control busy, the encoder adapts to it frame by frame",
    cites: CITES,
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Vidaptive::new(start)?)),
};

/// Without filler.
pub const NO_FILLER: RateControlKind = RateControlKind {
    name: "vidaptive-no-filler",
    summary: "Vidaptive without packets without content",
    cites: CITES,
    defaults: || written(&without_filler()),
    new: |start| ablation(start, &without_filler()),
};

/// Without the pause of the encoder.
pub const NO_PAUSE: RateControlKind = RateControlKind {
    name: "vidaptive-no-pause",
    summary: "Vidaptive that encodes every frame, however long packets wait",
    cites: CITES,
    defaults: || written(&without_pause()),
    new: |start| ablation(start, &without_pause()),
};

/// Without the choice of α.
pub const NO_SHARE: RateControlKind = RateControlKind {
    name: "vidaptive-no-share",
    summary: "Vidaptive that asks the encoder for all of the rate",
    cites: CITES,
    defaults: || written(&without_share()),
    new: |start| ablation(start, &without_share()),
};

const CITES: &[&str] = &["Vidaptive"];

/// Frames under way that are remembered. Ours: more than ever wait together,
/// as the encoder pauses; without the pause the oldest are given up.
const UNDER_WAY: usize = 1024;

/// Settings. Rates count bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// P: what the quantile of service times should be. [Vidaptive] §3: 33 ms.
    pub service_time: Span,
    /// λ: which quantile. [Vidaptive] §3: 0.9.
    pub quantile: f64,
    /// D: how long a frame counts. Ours: 1 s; the paper does not say.
    pub memory: Span,
    /// The least α. Ours: 0.05, so that a bad second does not stop the video.
    pub least_share: f64,
    /// The weight of a new α in a moving average. Ours: none, as in the paper.
    pub smoothing: Option<f64>,
    /// τ: how long a packet may wait before the encoder pauses.
    /// [Vidaptive] §3: 33 ms.
    pub pause_after: Span,
    /// How old a skipped frame may be that is encoded as the pause ends, in frame
    /// intervals. Ours: a half, the nearer of two frames.
    pub held: f64,
    /// How close the next frame must not be for filler, in frame intervals.
    /// [Vidaptive] §3: a quarter.
    pub guard: f64,
    /// What the video can use at most, where the application does not say less;
    /// there filler ends. [Vidaptive] §3: 12 Mbit/s for 1080p.
    pub max: Rate,
    /// The least an encoder is asked for. Ours: 50 kbit/s, below which there is
    /// no picture worth sending.
    pub min: Rate,
    /// The rate before there is a CC-Rate. Ours: 300 kbit/s, where browsers start.
    pub start: Rate,
    /// Whether there is filler. [Vidaptive] §5.4 goes without.
    pub filler: bool,
    /// Whether the encoder pauses. [Vidaptive] §5.4 goes without.
    pub pause: bool,
    /// Whether α is chosen; else it is 1. [Vidaptive] §5.4 goes without.
    pub share: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            service_time: Span::from_millis(33),
            quantile: 0.9,
            memory: Span::from_secs(1),
            least_share: 0.05,
            smoothing: None,
            pause_after: Span::from_millis(33),
            held: 0.5,
            guard: 0.25,
            max: Rate::from_mbps(12),
            min: Rate::from_kbps(50),
            start: Rate::from_kbps(300),
            filler: true,
            pause: true,
            share: true,
        }
    }
}

fn without_filler() -> Params {
    Params {
        filler: false,
        ..Params::default()
    }
}

fn without_pause() -> Params {
    Params {
        pause: false,
        ..Params::default()
    }
}

fn without_share() -> Params {
    Params {
        share: false,
        ..Params::default()
    }
}

fn ablation(start: &VideoStart, defaults: &Params) -> Result<Box<dyn RateControl>, SettingError> {
    Ok(Box::new(Vidaptive::new(&start.over(defaults))?))
}

impl Params {
    /// What α is chosen by.
    const fn rule(&self) -> Rule {
        Rule {
            limit: self.service_time,
            quantile: self.quantile,
            memory: self.memory,
            least: self.least_share,
            smoothing: self.smoothing,
        }
    }
}

/// The rate control.
#[derive(Clone, Debug)]
pub struct Vidaptive {
    params: Params,
    share: Share,
    pause: Pause,
    filler: Filler,
    frames: VecDeque<UnderWay>,
    rate: Rate,
    target: Rate,
    service_time: Span,
}

/// A frame that has not left yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    frame: FrameId,
    /// CC-Rate over target, when it was encoded.
    at_full_rate: f64,
    /// When it came to the head of the queue.
    head: Option<Time>,
}

impl Vidaptive {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys and numbers that make no sense.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        params.rule().check()?;
        SettingError::unless(params.min <= params.max, || {
            format!("min = {} is above max = {}", params.min, params.max)
        })?;
        let parts = [("held", params.held), ("guard", params.guard)];
        for (name, part) in parts {
            SettingError::unless((0.0..=1.0).contains(&part), || {
                format!("{name} = {part} is no part of a frame interval; use 0 to 1")
            })?;
        }
        Ok(Self {
            share: Share::new(params.rule()),
            pause: Pause::new(params.pause.then_some(params.pause_after)),
            filler: Filler::new(params.filler, params.guard, start.frame_interval),
            frames: VecDeque::new(),
            rate: params.start,
            target: params.start,
            service_time: Span::ZERO,
            params,
        })
    }

    /// A frame is about to be encoded: how large?
    fn order(&mut self, frame: FrameId, view: &SenderView<'_>) -> Order {
        if self.frames.len() == UNDER_WAY {
            self.frames.pop_front();
        }
        self.frames.push_back(UnderWay {
            frame,
            at_full_rate: self.rate.ratio(self.target),
            head: None,
        });
        order(self.target, view)
    }

    /// Looks at what the paths bear and sets rate and target by it.
    fn look(&mut self, now: Time, view: &SenderView<'_>) {
        self.rate = cc_rate(view).unwrap_or(self.params.start);
        let alpha = if self.params.share {
            self.share.choose(now)
        } else {
            1.0
        };
        self.target = self.rate * alpha;
    }

    /// The least that the encoder is asked for.
    fn min(&self, view: &SenderView<'_>) -> Rate {
        self.params.min.max(view.least_rate)
    }

    /// The most the video can use now.
    fn max(&self, view: &SenderView<'_>) -> Rate {
        view.max_rate
            .map_or(self.params.max, |max| max.min(self.params.max))
    }
}

/// cwnd/sRTT summed over paths; `None` before any path has an opinion.
pub(super) fn cc_rate(view: &SenderView<'_>) -> Option<Rate> {
    let rates = view.paths.iter();
    let rates = rates.filter_map(|path| {
        window_rate(&path.control, &path.state).or_else(|| path.control.video_rate(&path.state))
    });
    rates.reduce(|sum, rate| sum + rate)
}

/// The order for a wire rate.
pub(super) fn order(target: Rate, view: &SenderView<'_>) -> Order {
    let budget = view.framing.payload_of(target.over(view.frame_interval));
    Order {
        rate: budget.per(view.frame_interval).unwrap_or(Rate::ZERO),
        budget,
        key: false,
    }
}

fn window_rate(control: &Control, path: &PathState) -> Option<Rate> {
    control.window?.per(path.smoothed_rtt?)
}

impl RateControl for Vidaptive {
    fn on_capture(&mut self, now: Time, frame: &Frame, view: &SenderView<'_>) -> Verdict {
        self.look(now, view);
        let max = self.max(view);
        self.filler.on_capture(frame.captured, self.target, max);
        self.target = self.target.max(self.min(view)).min(max);
        if self.pause.on_capture(view.oldest) {
            Verdict::Skip
        } else {
            Verdict::Encode(self.order(frame.id, view))
        }
    }

    fn on_encoded(&mut self, _now: Time, encoded: &Encoded, _order: &Order) {
        if encoded.size == Bytes::ZERO {
            self.frames
                .retain(|under_way| under_way.frame != encoded.frame);
        }
    }

    fn on_head(&mut self, now: Time, frame: FrameId) {
        let mut frames = self.frames.iter_mut();
        if let Some(under_way) = frames.find(|under_way| under_way.frame == frame) {
            under_way.head.get_or_insert(now);
        }
    }

    fn on_sent(&mut self, now: Time, frame: FrameId) {
        let place = self
            .frames
            .iter()
            .position(|under_way| under_way.frame == frame);
        let Some(under_way) = place.and_then(|place| self.frames.remove(place)) else {
            return;
        };
        self.service_time = now - under_way.head.unwrap_or(now);
        self.share
            .push(now, self.service_time, under_way.at_full_rate);
    }

    fn on_drained(
        &mut self,
        now: Time,
        held: Option<&Frame>,
        view: &SenderView<'_>,
    ) -> Option<Order> {
        if !self.pause.on_drained() {
            return None;
        }
        let young = view.frame_interval * self.params.held;
        let held = held.filter(|frame| now - frame.captured <= young)?;
        self.look(now, view);
        self.target = self.target.max(self.min(view)).min(self.max(view));
        Some(self.order(held.id, view))
    }

    fn fills(&self, at: Time) -> bool {
        self.filler.fills(at)
    }

    fn shape(&self, control: Control, path: &PathState) -> Control {
        let pacing = window_rate(&control, path).or(control.pacing);
        let floor = if self.filler.on() { pacing } else { None };
        Control {
            pacing,
            floor,
            ..control
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("alpha", self.share.alpha());
        gauge("cc_rate_bps", self.rate.bps_f64());
        gauge("target_bps", self.target.bps_f64());
        gauge("service_time_s", self.service_time.secs_f64());
        gauge("paused", float(u64::from(self.pause.paused())));
        gauge("filling", float(u64::from(self.filler.on())));
    }
}

#[cfg(test)]
mod tests;
