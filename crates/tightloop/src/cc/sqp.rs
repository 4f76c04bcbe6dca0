//! SQP: each frame is a packet train that measures the link.
//!
//! # Idea
//! Video comes in frames, so send each as a train at twice the estimated
//! bandwidth. The train's arrivals show what the link can carry, without any
//! traffic beyond the video; the time between frames drains what the train has
//! queued. [SQP].
//!
//! # Signals
//! For each frame: when its first packet left, when its packets arrived by the
//! receiver's clock, how many were lost. Δmin, the least one-way delay of the
//! last two smoothed RTTs (the clocks' offset cancels).
//!
//! # Law
//! Once per frame, when each packet has arrived or been given up; B is the
//! bandwidth estimate, F the frame's bytes, I the time between frames:
//!
//! - S = F/(R_end − S_start − Δmin): the slope from the first packet's departure
//!   to the last one's arrival. [SQP] Eq. 1
//! - a frame smaller than F_max = B·I is completed as if it had gone on at the
//!   rate its packets arrived at, with γ = F_max/F. [SQP] Eq. 2
//! - S shrinks by the share of packets lost
//! - B += δ·[r·(T·S/B − 1) − (B/(T·S) − 1)]. [SQP] Eq. 4
//!
//! The video's target is B; packets leave at m·B. T < 1 leaves room for the
//! queue to drain: alone, T of the link is used ([`theory`]).
//!
//! # Departures
//! What the paper leaves open or what does not work as it stands; the literal
//! readings remain as settings.
//!
//! - Δmin looks at packets *acknowledged* within two smoothed RTTs. Of those
//!   sent within that time half are unknown yet, and the window of one RTT that
//!   [SQP] Fig. 7 shows would be empty. It is never empty.
//! - That RTT is smoothed over frames, not packets, so that many flows do not
//!   swing in step and one message per packet or per frame makes no difference.
//! - `fence_post`: Δmin holds the time of one packet on the link, so n packets
//!   span n − 1 times. The first packet's bytes count only as far as it waited;
//!   on links of opportunities, where it waits for one, that is a half on average.
//!   In Eq. 2 the spread is stretched by n/(n − 1).
//! - `pacing_limited`: a sample that only mirrors the pace is one round trip
//!   old. At low rates B then chases its own past, and sticks.
//! - `max_cut`: Eq. 4 knows no bound as S goes to 0. A frame wholly lost halves.
//! - `lone_packet`: one packet has no spread. The time it queued still counts,
//!   or links below two packets per frame would fill; and a packet much smaller
//!   than the frame might have been lifts nothing.
//! - The pace follows B at once, not from the next frame on.

use serde::{Deserialize, Serialize};

use self::estimator::Estimator;
use self::interval::{Interval, Intervals};
use self::sampler::{Sample, Sampler};
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::filter::{Ewma, WindowedMin};
use crate::units::{Rate, Span, Time};

mod estimator;
mod interval;
mod sampler;
pub mod theory;

pub use self::estimator::PacingLimited;
pub use self::sampler::{FencePost, LonePacket};

/// The entry in [`super::ALGORITHMS`].
pub const SQP: Algorithm = Algorithm {
    name: "sqp",
    summary: "each video frame is a packet train that measures the link",
    cites: &["SQP"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Sqp::new(start)?)),
    reporter: None,
};

/// The weight of a frame's RTT in the smoothed one. Ours: with 1/8 a packet many
/// flows swing in step, with 1/8 a frame they queue for longer; [RFC6298] §2 has
/// 1/8 for one sample a round trip.
const RTT_GAIN: f64 = 0.25;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// m: packets leave at this many times the estimate. [SQP] m = 2.
    pub pacing_multiplier: f64,
    /// T: the share of the sample aimed at. [SQP] T = 0.9.
    pub target_multiplier: f64,
    /// δ, the step of the estimate. [SQP] 320 kbit/s.
    pub step: Rate,
    /// r, the weight of growth against decrease. [SQP] 0.25.
    pub reward: f64,
    /// The window of Δmin in smoothed RTTs. [SQP] Fig. 7.
    pub delay_window: f64,
    /// The first estimate. Ours: 1 Mbit/s, a rate most links carry.
    pub initial: Rate,
    /// The least estimate. Ours: 500 kbit/s: a frame is nearly a full packet, and
    /// what was lost in a sudden drop is sent again before long.
    pub floor: Rate,
    /// The most of the estimate that one frame takes away. Ours: half.
    pub max_cut: f64,
    /// How bytes and span are matched. Ours: corrected; literally a link of 20
    /// Mbit/s counts as 20.8 and one of 5 keeps a standing queue.
    pub fence_post: FencePost,
    /// What a sample means that only mirrors the pace. Ours: bounded.
    pub pacing_limited: PacingLimited,
    /// The share of its pace from which a sample counts as a mirror of it. Ours:
    /// 0.95, the timing of arrivals being never exact.
    pub mirror: f64,
    /// What a frame of one packet says. Ours: the queue counts.
    pub lone_packet: LonePacket,
    /// The largest sample, in times its pace. Ours: 1.2, against clocks too
    /// coarse for a train.
    pub sample_ceiling: f64,
    /// Hysteresis between the estimate and the video's target; none by default.
    /// [SQP] leaves its form open.
    pub bridge: Option<Bridge>,
}

/// Keeps an encoder's target where it is while the estimate hardly moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bridge {
    /// The share of the target by which the estimate must differ. Ours: 0.05.
    pub change: f64,
    /// The age from which any difference will do. Ours: 1 s.
    pub age: Span,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            pacing_multiplier: 2.0,
            target_multiplier: 0.9,
            step: Rate::from_kbps(320),
            reward: 0.25,
            delay_window: 2.0,
            initial: Rate::from_mbps(1),
            floor: Rate::from_kbps(500),
            max_cut: 0.5,
            fence_post: FencePost::Corrected,
            pacing_limited: PacingLimited::Bounded,
            mirror: 0.95,
            lone_packet: LonePacket::Queued,
            sample_ceiling: 1.2,
            bridge: None,
        }
    }
}

impl Default for Bridge {
    fn default() -> Self {
        Self {
            change: 0.05,
            age: Span::from_secs(1),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Sqp {
    params: Params,
    sampler: Sampler,
    estimator: Estimator,
    /// B.
    bandwidth: Rate,
    target: Rate,
    target_set: Time,
    intervals: Intervals,
    /// Δmin, between two clocks.
    least_delay: WindowedMin<Span>,
    /// In seconds.
    smoothed_rtt: Ewma,
    sample: Option<Sample>,
}

impl Sqp {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, values out of range, and a flow that has no frames.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        params.check()?;
        let frame_interval = start.frame_interval.ok_or_else(|| {
            SettingError("sqp measures the link with video frames: give it a video source".into())
        })?;
        let ceiling = start.max_rate.unwrap_or(Rate::MAX);
        let floor = params.floor.min(ceiling);
        let bandwidth = params.initial.clamp(floor, ceiling);
        Ok(Self {
            sampler: Sampler {
                pacing: params.pacing_multiplier,
                frame_interval,
                fence_post: params.fence_post,
                lone_packet: params.lone_packet,
                ceiling: params.sample_ceiling,
            },
            estimator: Estimator {
                pacing: params.pacing_multiplier,
                target: params.target_multiplier,
                step: params.step,
                reward: params.reward,
                max_cut: params.max_cut,
                floor,
                ceiling,
                pacing_limited: params.pacing_limited,
                mirror: params.mirror,
            },
            bandwidth,
            target: bandwidth,
            target_set: Time::ZERO,
            intervals: Intervals::default(),
            // Until a round trip is known nothing is forgotten.
            least_delay: WindowedMin::new(Span::MAX).keeping_newest(),
            smoothed_rtt: Ewma::new(RTT_GAIN),
            sample: None,
            params,
        })
    }

    /// Every packet of a frame has arrived or been given up.
    fn learn(&mut self, now: Time, frame: &Interval, path: &PathState) {
        if let Some(rtt) = path.latest_rtt {
            let smoothed = self.smoothed_rtt.push(rtt.secs_f64());
            let window = smoothed * self.params.delay_window;
            self.least_delay.set_window(Span::from_secs_f64(window));
        }
        let least = self.least_delay.get(now);
        if let Some(sample) = self.sampler.sample(frame, least) {
            self.bandwidth = self.estimator.next(self.bandwidth, &sample);
            self.sample = Some(sample);
            self.cross_bridge(now);
        }
    }

    fn cross_bridge(&mut self, now: Time) {
        if let Some(bridge) = self.params.bridge {
            let difference = self.bandwidth.bps_f64() - self.target.bps_f64();
            let little = difference.abs() <= self.target.bps_f64() * bridge.change;
            if little && now - self.target_set <= bridge.age {
                return;
            }
        }
        self.target = self.bandwidth;
        self.target_set = now;
    }
}

impl Controller for Sqp {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        for acked in feedback.acked {
            if let Some(arrived) = acked.arrived {
                let delay = arrived.offset_from(acked.packet.at);
                self.least_delay.push(now, delay);
            }
        }
        for acked in feedback.acked {
            if let Some(fragment) = acked.packet.video()
                && let Some(frame) = self.intervals.acked(acked, fragment)
            {
                self.learn(now, &frame, path);
            }
        }
        for lost in feedback.lost {
            if let Some(fragment) = lost.packet.video()
                && let Some(frame) = self.intervals.lost(fragment)
            {
                self.learn(now, &frame, path);
            }
        }
    }

    fn control(&self) -> Control {
        Control {
            window: None,
            pacing: Some(self.bandwidth * self.params.pacing_multiplier),
            floor: None,
            target: Some(self.target),
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Sent, path: &PathState) {
        if let Some(fragment) = packet.video()
            && let Some(frame) = self.intervals.sent(packet, fragment, self.bandwidth)
        {
            self.learn(now, &frame, path);
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("B_bps", self.bandwidth.bps_f64());
        if let Some(sample) = self.sample {
            gauge("S_bps", sample.rate.bps_f64());
        }
        if let Some(rtt) = self.smoothed_rtt.get() {
            gauge("srtt_s", rtt);
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), SettingError> {
        let (m, t) = (self.pacing_multiplier, self.target_multiplier);
        let checks = [
            (m.is_finite() && m >= 1.0, "pacing_multiplier", "at least 1"),
            (
                t > 0.0 && t <= 1.0,
                "target_multiplier",
                "above 0, at most 1",
            ),
            (
                m * t > 1.0,
                "pacing_multiplier · target_multiplier",
                "above 1, or the estimate cannot grow",
            ),
            (self.step > Rate::ZERO, "step", "above zero"),
            (
                self.reward > 0.0 && self.reward.is_finite(),
                "reward",
                "above 0",
            ),
            (
                self.delay_window > 0.0 && self.delay_window.is_finite(),
                "delay_window",
                "above 0",
            ),
            (self.floor > Rate::ZERO, "floor", "above zero"),
            (
                self.max_cut > 0.0 && self.max_cut <= 1.0,
                "max_cut",
                "above 0, at most 1",
            ),
            (
                self.mirror > 0.0 && self.mirror.is_finite(),
                "mirror",
                "above 0",
            ),
            (self.sample_ceiling >= 1.0, "sample_ceiling", "at least 1"),
        ];
        for (holds, name, must) in checks {
            SettingError::unless(holds, || format!("{name} must be {must}"))?;
        }
        if let Some(bridge) = self.bridge {
            let holds = bridge.change >= 0.0 && bridge.age.is_positive();
            SettingError::unless(holds, || {
                "bridge: change must be at least 0 and age above 0".into()
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
