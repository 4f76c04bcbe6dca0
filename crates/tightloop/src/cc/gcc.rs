//! GCC: Google Congestion Control, as WebRTC's senders do it today.
//!
//! # Idea
//! A queue that grows shows as a one-way delay that grows. Fit a line through
//! the delay; grow while it is flat, cut to a share of what arrives when it
//! rises. Losses set a second limit; bursts of packets at a multiple of the rate
//! find out quickly whether there is more. [GCC-Draft], and the programs that
//! went beyond it: [AlphaRTC], [LibWebRTC], [Str0m].
//!
//! # Signals
//! For each packet: when it left, when it arrived by the receiver's clock (the
//! clocks' offset cancels), whether it was lost, whether it was part of a probe.
//! The smoothed round-trip time. What is sent, against the target.
//!
//! # Law
//! d(i) = (t_i − t_(i−1)) − (T_i − T_(i−1)) between groups of packets sent within
//! 5 ms; their sum is smoothed by 0.9; m = min(n, 60)·slope·4 over 20 groups.
//!
//! - overuse: m > γ for more than 10 ms and not falling; underuse: m < −γ
//! - γ += k·(|m| − γ)·Δt, k by whether |m| is above γ; far outliers do not count
//! - overuse: A = 0.85·R, R being what arrives; underuse: hold; else
//!   A ·= 1.08^Δt, or near the last capacity A += half a packet per response
//!   time; never above 1.5·R + 10 kbit/s
//! - R: samples over 150 ms, each weighed by its distance from the estimate
//! - losses: of a few pairs of inherent loss and bandwidth the one that best
//!   explains them; other rules are settings, see [`LossRule`]
//! - probes: at 3 and 6 times the first rate, then at twice what was found while
//!   that is at least 0.7 of what was tried; after a large drop at 0.85 of the
//!   rate before. A result replaces A
//! - target = min(A, what losses allow); pacing = 2.5·target; while a probe
//!   leaves, pacing = floor = its rate
//!
//! # Departures
//! From the programs, there being no paper of what they do today:
//!
//! - Times are exact, not whole milliseconds.
//! - A probe begins behind the application's next packet, not with it, and what
//!   the application does not fill is filled with packets of full size, where
//!   the programs have small ones: a probe at a low rate takes longer.
//! - Losses count once they are declared, not once a report leaves a packet out.
//! - While losses set no limit the target is the delay-based rate itself; in
//!   [Str0m] it may lag by an observation.
//! - Of the two estimates of what arrives that are in use this has the one by
//!   windows.
//! - A change of route is told by [`Gcc::on_route_change`]; sessions here give
//!   each path a controller of its own and need not.

use serde::{Deserialize, Serialize};

use self::acked::AckedRate;
use self::aimd::Aimd;
use self::delay::{Arrived, DelayBased};
use self::limited::Limited;
use self::loss::{Beside, LossBased, Results};
use self::probe::{Clusters, Estimates, Plan};
use self::trend::Usage;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::event::Kind;
use crate::units::{Rate, Span, Time, float};

mod acked;
mod aimd;
pub mod arrivals;
mod capacity;
pub mod delay;
mod limited;
mod loss;
mod probe;
pub mod trend;

pub use self::loss::LossRule;

/// The entry in [`super::ALGORITHMS`].
pub const GCC: Algorithm = Algorithm {
    name: "gcc",
    summary: "WebRTC's: a line through the delay, losses, and probes",
    cites: &["GCC-Draft", "AlphaRTC", "LibWebRTC", "Str0m"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Gcc::new(start)?)),
    reporter: None,
};

/// A probe that finds less than what arrives is believed down to this share of
/// it. [AlphaRTC] network control.
const LEAST_OF_ACKED: f64 = 0.85;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The first target. [AlphaRTC] scenario tests: 300 kbit/s.
    pub initial: Rate,
    /// The least target. [AlphaRTC] network control: 5 kbit/s.
    pub min: Rate,
    /// The most the target may be, besides what the application can use; by
    /// default no limit. [AlphaRTC] network control: set by the application.
    pub max: Option<Rate>,
    /// The share of what arrives to which an overuse cuts. [GCC-Draft] §5.5: 0.85.
    pub backoff: f64,
    /// Groups on the line. [AlphaRTC] trend-line estimator: 20.
    pub window: usize,
    /// Packets leave at this many times the target. [AlphaRTC] network control: 2.5.
    pub pacing_factor: f64,
    /// What losses mean. [Str0m] loss controller: the likeliest link.
    pub loss: LossRule,
    /// Send probes at all. [AlphaRTC] probe controller: yes.
    pub probes: bool,
    /// Probe every 5 s while the application is the limit. [AlphaRTC] probe controller: WebRTC
    /// does so for shared screens, not for cameras.
    pub periodic_probes: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            initial: Rate::from_kbps(300),
            min: Rate::from_kbps(5),
            max: None,
            backoff: 0.85,
            window: 20,
            pacing_factor: 2.5,
            loss: LossRule::Likelihood,
            probes: true,
            periodic_probes: false,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Gcc {
    params: Params,
    max: Rate,
    most_probed: Option<Rate>,
    acked: AckedRate,
    delay: DelayBased,
    loss: LossBased,
    limited: Limited,
    was_limited: bool,
    /// The application was the limit until then; packets sent later will tell.
    limit_ended: Option<Time>,
    clusters: Clusters,
    estimates: Estimates,
    plan: Plan,
    target: Rate,
}

impl Gcc {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, and values out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        params.check()?;
        let limit = [start.max_rate, params.max].into_iter().flatten().min();
        let limit = limit.map(|limit| limit.max(params.min));
        let max = limit.unwrap_or(Rate::MAX);
        let first = params.initial.clamp(params.min, max);
        Ok(Self::at(params, max, limit, first))
    }

    fn at(params: Params, max: Rate, most_probed: Option<Rate>, first: Rate) -> Self {
        let mut aimd = Aimd::new(params.backoff, params.min);
        aimd.start(first);
        let mut limited = Limited::default();
        limited.set_target(first);
        Self {
            max,
            most_probed,
            acked: AckedRate::default(),
            delay: DelayBased::new(params.window, aimd),
            loss: LossBased::new(params.loss, first, params.min, max),
            limited,
            was_limited: false,
            limit_ended: None,
            clusters: Clusters::default(),
            estimates: Estimates::default(),
            plan: Plan::new(first, most_probed, params.periodic_probes),
            target: first,
            params,
        }
    }

    /// Packets take another route from now on: what was learnt of the old one is
    /// forgotten, a rate above the first is given up, and probes go out again.
    /// [AlphaRTC] network control, safe reset.
    pub fn on_route_change(&mut self) {
        let first = self.params.initial.min(self.target).max(self.params.min);
        *self = Self::at(self.params.clone(), self.max, self.most_probed, first);
    }

    fn note_limit(&mut self, now: Time) {
        let since = self.limited.since();
        if self.was_limited && since.is_none() {
            self.limit_ended = Some(now);
        }
        self.was_limited = since.is_some();
        self.plan.set_limited(now, since);
    }

    /// What arrives, and what probes found.
    fn measure(&mut self, feedback: &Feedback<'_>) -> Option<Rate> {
        let mut found = None;
        for acked in feedback.acked {
            let Some(at) = acked.arrived else { continue };
            let packet = &acked.packet;
            if self.limit_ended.is_some_and(|ended| packet.at > ended) {
                self.acked.expect_change();
                self.limit_ended = None;
            }
            self.acked.push(at, packet.size, self.was_limited);
            if let Some(probe) = self.clusters.of(packet.number) {
                let rate = self.estimates.push(probe, packet.size, packet.at, at);
                found = rate.or(found);
            }
        }
        let least = match (self.acked.rate(), self.delay.aimd().rate()) {
            (Some(acked), Some(rate)) => rate.min(acked * LEAST_OF_ACKED),
            _ => Rate::ZERO,
        };
        found.map(|found| found.max(least))
    }

    fn judge_losses(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let mut results = Results::default();
        for acked in feedback.acked.iter().filter(|acked| !acked.spurious) {
            results.add(acked.packet.at, acked.packet.size, false);
        }
        for lost in feedback.lost {
            results.add(lost.packet.at, lost.packet.size, true);
        }
        let beside = Beside {
            delay_based: self.delay.aimd().rate().unwrap_or(self.target),
            target: self.target,
            rtt: path.smoothed_rtt.unwrap_or(Span::ZERO),
            acked: self.acked.rate(),
            limited: self.was_limited,
        };
        self.loss.update(now, &results, &beside);
    }

    fn retarget(&mut self, now: Time) {
        let delay_based = self.delay.aimd().rate().unwrap_or(self.target);
        let allowed = self.loss.limit().unwrap_or(Rate::MAX).min(delay_based);
        let target = allowed.clamp(self.params.min, self.max);
        if target != self.target {
            self.target = target;
            self.limited.set_target(target);
        }
        let (plan, clusters) = (&mut self.plan, &mut self.clusters);
        plan.on_estimate(now, target, &mut |rate| clusters.want(now, rate));
    }
}

impl Controller for Gcc {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.note_limit(now);
        if let Some(rtt) = path.smoothed_rtt {
            self.delay.set_rtt(rtt);
        }
        let probe = self.measure(feedback);
        let packets = feedback.acked.iter().filter_map(|acked| {
            let sent = acked.packet.at;
            acked.arrived.map(|at| Arrived { sent, at })
        });
        let outcome = self.delay.update(now, packets, self.acked.rate(), probe);
        if outcome.probed
            && let Some(rate) = probe
        {
            self.loss.set(rate);
        }
        self.judge_losses(now, feedback, path);
        self.retarget(now);
        if outcome.recovered {
            let (plan, clusters) = (&mut self.plan, &mut self.clusters);
            plan.on_recovery(now, &mut |rate| clusters.want(now, rate));
        }
    }

    fn control(&self) -> Control {
        let probe = self.clusters.rate();
        let pacing = self.target * self.params.pacing_factor;
        Control {
            window: None,
            pacing: Some(probe.unwrap_or(pacing)),
            floor: probe,
            target: Some(self.target),
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Sent, _path: &PathState) {
        self.limited.on_sent(now, packet.size);
        if self.params.probes {
            let (plan, clusters) = (&mut self.plan, &mut self.clusters);
            plan.on_start(now, &mut |rate| clusters.want(now, rate));
            let filler = packet.kind == Kind::Filler;
            clusters.on_sent(now, packet.number, packet.size, filler);
        }
    }

    fn on_timeout(&mut self, now: Time, _path: &PathState) {
        self.note_limit(now);
        let (plan, clusters) = (&mut self.plan, &mut self.clusters);
        plan.on_timeout(now, &mut |rate| clusters.want(now, rate));
        clusters.on_timeout(now);
    }

    fn next_timeout(&self) -> Option<Time> {
        let timers = [self.clusters.next_timeout(), self.plan.next_timeout()];
        timers.into_iter().flatten().min()
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let detector = self.delay.detector();
        gauge("trend_ms", detector.trend().trend());
        gauge("threshold_ms", detector.trend().threshold());
        gauge(
            "state",
            match detector.usage() {
                Usage::Under => -1.0,
                Usage::Normal => 0.0,
                Usage::Over => 1.0,
            },
        );
        let mut rate = |name, rate: Option<Rate>| {
            if let Some(rate) = rate {
                gauge(name, rate.bps_f64());
            }
        };
        rate("target_bps", Some(self.target));
        rate("delay_based_bps", self.delay.aimd().rate());
        rate("acked_bps", self.acked.rate());
        rate("loss_based_bps", self.loss.limit());
        rate("link_capacity_bps", self.delay.aimd().capacity());
        rate("probe_bps", self.clusters.rate());
        gauge(
            "in_alr",
            f64::from(u8::from(self.limited.since().is_some())),
        );
        gauge("period_s", self.delay.aimd().period().secs_f64());
        gauge("overuses", float(detector.overuses()));
    }
}

impl Params {
    fn check(&self) -> Result<(), SettingError> {
        let backoff = self.backoff;
        SettingError::unless(backoff > 0.0 && backoff < 1.0, || {
            format!("backoff = {backoff} cuts nothing; use a number above 0, below 1")
        })?;
        let factor = self.pacing_factor;
        SettingError::unless(factor >= 1.0 && factor.is_finite(), || {
            format!("pacing_factor = {factor} holds video back; use a number of at least 1")
        })?;
        SettingError::unless((2..=1_000).contains(&self.window), || {
            format!("window = {} is no line; use 2 to 1000 groups", self.window)
        })?;
        SettingError::unless(self.min > Rate::ZERO, || {
            "min = 0 bit/s would never send again; use a rate above zero".into()
        })
    }
}

#[cfg(test)]
mod tests;
