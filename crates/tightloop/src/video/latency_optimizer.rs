//! Latency Optimizer: Vidaptive's choice of α made by what frames took on the
//! whole way, without its other means.
//!
//! # Idea
//! What if the quantile of whole latencies, not of the times in the sender's
//! own queue, were held to a limit? Nothing is paced and nothing is filled up.
//! The path's own delay is part of every latency and no smaller frame takes it
//! away: a limit near it makes the video tiny, a laxer quantile forgets the
//! tail. The paper's argument for service times. [Vidaptive] §5.4.
//!
//! # Signals
//! Each path's window and smoothed RTT; when the last packet of each frame
//! arrived, by the receiver's clock.
//!
//! # Law
//! With L_i the latency of frame i from capture to its last arrival:
//! α = P / (the λ-quantile of L_i·CC-Rate_i/tr_i over the last D), at most 1;
//! tr = α·CC-Rate.
//!
//! # Departures
//! - A sender does not know the receiver's clock. The fastest packet of ten
//!   seconds is taken to have needed half of their smallest RTT, so L_i is off
//!   by half the difference between the two ways.
//! - A frame that lacks a packet for ever has no latency and does not count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::vidaptive::share::{Rule, Share};
use super::vidaptive::{cc_rate, order};
use super::{Encoded, Frame, Order, RateControl, RateControlKind, SenderView, Verdict, VideoStart};
use crate::cc::{Acked, Control, Feedback, PathState, SettingError, written};
use crate::event::{FrameId, PathId};
use crate::filter::WindowedMin;
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::RATE_CONTROLS`].
pub const LATENCY_OPTIMIZER: RateControlKind = RateControlKind {
    name: "latency-optimizer",
    summary: "holds a quantile of whole frame latencies to a limit, without pacer or filler",
    cites: &["Vidaptive"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(LatencyOptimizer::new(start)?)),
};

/// How long the fastest packet and the smallest RTT count. Ours: as long as
/// Copa's; long enough to see an empty queue, short enough for clocks to drift.
const BASE_WINDOW: Span = Span::from_secs(10);
/// Ours: they need not be forgotten sooner than to a tenth of a second.
const BASE_GRAIN: Span = Span::from_millis(100);
/// Frames under way that are remembered. Ours: half a minute of video.
const UNDER_WAY: usize = 1024;

/// Settings. Rates count bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// P: what the quantile of latencies should be. [Vidaptive] §5.4: 33 ms.
    pub latency: Span,
    /// λ: which quantile. [Vidaptive] §5.4: 0.9, and 0.5 besides.
    pub quantile: f64,
    /// D: how long a frame counts. Ours: 1 s; the paper does not say.
    pub memory: Span,
    /// The least α. Ours: 0.05, as Vidaptive's.
    pub least_share: f64,
    /// What the video can use at most, where the application does not say less.
    /// [Vidaptive] §3: 12 Mbit/s for 1080p.
    pub max: Rate,
    /// The least an encoder is asked for. Ours: 50 kbit/s, as Vidaptive's.
    pub min: Rate,
    /// The rate before there is a CC-Rate. Ours: 300 kbit/s, as Vidaptive's.
    pub start: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            latency: Span::from_millis(33),
            quantile: 0.9,
            memory: Span::from_secs(1),
            least_share: 0.05,
            max: Rate::from_mbps(12),
            min: Rate::from_kbps(50),
            start: Rate::from_kbps(300),
        }
    }
}

/// The rate control.
#[derive(Clone, Debug)]
pub struct LatencyOptimizer {
    params: Params,
    share: Share,
    /// Arrival less departure: the way and the clocks' difference.
    offset: WindowedMin<Span>,
    min_rtt: WindowedMin<Span>,
    frames: VecDeque<UnderWay>,
    target: Rate,
    latency: Span,
}

/// A frame that has not arrived yet.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    frame: FrameId,
    captured: Time,
    /// CC-Rate over target, when it was encoded.
    at_full_rate: f64,
    /// Packets that have arrived.
    arrived: u16,
    /// From capture to the last arrival so far, on two clocks.
    span: Option<Span>,
}

impl LatencyOptimizer {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys and numbers that make no sense.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        SettingError::unless(params.min <= params.max, || {
            format!("min = {} is above max = {}", params.min, params.max)
        })?;
        let rule = Rule {
            limit: params.latency,
            quantile: params.quantile,
            memory: params.memory,
            least: params.least_share,
            smoothing: None,
        };
        rule.check()?;
        Ok(Self {
            share: Share::new(rule),
            offset: WindowedMin::new(BASE_WINDOW).with_grain(BASE_GRAIN),
            min_rtt: WindowedMin::new(BASE_WINDOW).with_grain(BASE_GRAIN),
            frames: VecDeque::new(),
            target: params.start,
            latency: Span::ZERO,
            params,
        })
    }

    fn on_arrival(&mut self, now: Time, acked: &Acked) {
        let (Some(arrived), Some(rtt)) = (acked.arrived, acked.rtt) else {
            return;
        };
        self.offset.push(now, arrived.offset_from(acked.packet.at));
        self.min_rtt.push(now, rtt);
        let Some(fragment) = acked.packet.kind.fragment() else {
            return;
        };
        let mut frames = self.frames.iter_mut();
        let Some(place) = frames.position(|under_way| under_way.frame == fragment.frame) else {
            return;
        };
        let under_way = &mut self.frames[place];
        under_way.arrived = under_way.arrived.saturating_add(1);
        let span = arrived.offset_from(under_way.captured);
        under_way.span = under_way.span.max(Some(span));
        if under_way.arrived < fragment.count {
            return;
        }
        let under_way = *under_way;
        self.frames.remove(place);
        if let (Some(offset), Some(min_rtt)) = (self.offset.get(now), self.min_rtt.get(now)) {
            self.latency = under_way.span.unwrap_or(span) - offset + min_rtt / 2;
            self.share.push(now, self.latency, under_way.at_full_rate);
        }
    }
}

impl RateControl for LatencyOptimizer {
    fn on_capture(&mut self, now: Time, frame: &Frame, view: &SenderView<'_>) -> Verdict {
        let rate = cc_rate(view).unwrap_or(self.params.start);
        let max = view.max_rate.unwrap_or(Rate::MAX).min(self.params.max);
        let target = rate * self.share.choose(now);
        self.target = target.max(self.params.min).min(max);
        if self.frames.len() == UNDER_WAY {
            self.frames.pop_front();
        }
        self.frames.push_back(UnderWay {
            frame: frame.id,
            captured: frame.captured,
            at_full_rate: rate.ratio(self.target),
            arrived: 0,
            span: None,
        });
        Verdict::Encode(order(self.target, view))
    }

    fn on_encoded(&mut self, _now: Time, encoded: &Encoded, _order: &Order) {
        if encoded.size == Bytes::ZERO {
            self.frames
                .retain(|under_way| under_way.frame != encoded.frame);
        }
    }

    fn on_feedback(&mut self, now: Time, _path: PathId, feedback: &Feedback<'_>) {
        for acked in feedback.acked {
            self.on_arrival(now, acked);
        }
    }

    fn shape(&self, control: Control, _path: &PathState) -> Control {
        Control {
            pacing: None,
            floor: None,
            ..control
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("alpha", self.share.alpha());
        gauge("target_bps", self.target.bps_f64());
        gauge("frame_latency_s", self.latency.secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Ecn, Fragment, Kind};
    use crate::video::Framing;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// A fragment that left and arrived then; the clocks are an hour apart.
    fn arrival(frame: u32, index: u16, left: u64, arrived: u64) -> Acked {
        let fragment = Fragment {
            frame: FrameId(frame),
            index,
            count: 2,
        };
        Acked {
            packet: crate::cc::Sent {
                at: ms(left),
                kind: Kind::Video(fragment),
                ..crate::cc::Sent::default()
            },
            arrived: Some(ms(arrived).on_clock(Span::from_secs(3_600), 0)),
            rtt: Some(Span::from_millis(50)),
            ecn: Ecn::NotEct,
            spurious: false,
        }
    }

    #[test]
    fn the_limit_over_the_latency_at_full_rate_is_the_share() {
        let mut optimizer = LatencyOptimizer::new(&VideoStart::plain()).expect("good settings");
        let framing = Framing {
            mtu: Bytes::new(1500),
            overhead: Bytes::new(60),
        };
        let view = SenderView::idle(Span::from_millis(33), framing, &[]);
        let frame = |id| Frame {
            id: FrameId(id),
            captured: ms(1_000),
            scene_cut: false,
        };
        optimizer.on_capture(ms(1_000), &frame(7), &view);
        // The first packet was as fast as can be, 25 ms; the second took 19 ms longer.
        let acked = [arrival(7, 0, 1_000, 1_025), arrival(7, 1, 1_000, 1_044)];
        let feedback = Feedback {
            acked: &acked,
            ..Feedback::of_losses(&[], false)
        };
        optimizer.on_feedback(ms(1_069), PathId(0), &feedback);
        assert_eq!(optimizer.latency, Span::from_millis(44));
        optimizer.on_capture(ms(1_070), &frame(8), &view);
        assert!((optimizer.share.alpha() - 0.75).abs() < 1e-9);
        assert_eq!(optimizer.target, Rate::from_kbps(225));
    }

    #[test]
    fn nothing_is_paced_or_filled_up() {
        let optimizer = LatencyOptimizer::new(&VideoStart::plain()).expect("good settings");
        let control = Control {
            window: Some(Bytes::new(9_000)),
            pacing: Some(Rate::from_mbps(1)),
            floor: Some(Rate::from_mbps(1)),
            target: None,
        };
        let shaped = optimizer.shape(control, &PathState::default());
        assert_eq!(shaped.window, control.window);
        assert_eq!((shaped.pacing, shaped.floor), (None, None));
    }
}
