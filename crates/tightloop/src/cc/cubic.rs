//! Cubic: the Internet's default; a window that grows with the cube of time.
//!
//! # Idea
//! After a loss, return quickly to the window where it happened, linger there,
//! then probe beyond. Growth depends on the time since the last loss, not on
//! the round-trip time, so a long path is not a slow one.
//!
//! # Signals
//! Losses and ECN marks, each at most once per round trip; the smoothed RTT
//! looks one round trip ahead; the rise of the RTT ends the first slow start
//! (HyStart++, in its own file).
//!
//! # Law
//! In packets, with t the time since the last reduction during which the window
//! was the limit:
//!
//! - W(t) = C·(t − K)³ + W_max, K = ∛((W_max − cwnd at t = 0)/C)
//! - each acknowledged packet adds (W(t + RTT) − cwnd)/cwnd, at least 0, at most 1/2
//! - W_est += α/cwnd per packet, α = 3(1 − β)/(1 + β), and 1 once W_est has
//!   reached the window before the reduction; where W(t) < W_est, cwnd = W_est
//! - congestion: W_max = cwnd, or cwnd·(1 + β)/2 where cwnd is below the last
//!   W_max (fast convergence); cwnd = ssthresh = β·cwnd
//! - persistent congestion: cwnd = 2, slow start up to ssthresh
//! - every packet of a reduction arrived after all: the reduction is undone
//!
//! # Departures
//! - The reduction takes β of the window rather than of the bytes in flight;
//!   [RFC9438] §4.6 allows it where the window does not grow unused, as here.
//! - No limit L on slow start's growth per acknowledgement [RFC9406] §4.2: one
//!   feedback may report a whole window, and its interval is a setting.
//! - The window drops at once; the sender waits until enough has left
//!   ([RFC9002] §7.3.2) where Linux spreads the reduction over a round trip.
//! - Linux makes up for an unknown W_max with 5 % growth per round trip until
//!   the first loss; the RFC, and so this file, does not.
//! - Not paced by default: the kernel's Cubic is clocked by acknowledgements
//!   unless a pacing queue sits below it, and that is what others are compared
//!   with. `paced` gives the rates Linux would ask such a queue for.

use serde::{Deserialize, Serialize};

use self::epoch::Epoch;
use super::hystart::{Growth, HyStart};
use super::{Acked, Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::event::Ecn;
use crate::units::{Bytes, Span, Time, count};

mod epoch;

/// The entry in [`super::ALGORITHMS`].
pub const CUBIC: Algorithm = Algorithm {
    name: "cubic",
    summary: "loss-based, window grows with the cube of time; the Internet's default",
    cites: &["RFC9438", "RFC9406", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Cubic::new(start)?)),
    reporter: None,
};

/// The smallest window, in packets. [RFC9438] §4.6; [RFC9002] §7.2.
const MIN_WINDOW: f64 = 2.0;
/// Of the window per round trip, in early slow start. [Linux] tcp_pacing_ss_ratio.
const SLOW_START_PACING: f64 = 2.0;
/// Of the window per round trip, otherwise. [Linux] tcp_pacing_ca_ratio.
const AVOIDANCE_PACING: f64 = 1.2;
/// Ours: longer RTTs count as this, so that the rate is not zero.
const MAX_PACED_RTT: Span = Span::from_secs(60);

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// C, in packets per second cubed. [RFC9438] §5.1.
    pub c: f64,
    /// β, what is left of the window after congestion. [RFC9438] §4.6.
    pub beta: f64,
    /// Give room to newcomers: lower W_max where it sinks. [RFC9438] §4.7.
    pub fast_convergence: bool,
    /// Leave the first slow start when the RTT rises. [RFC9438] §4.10.
    pub hystart: bool,
    /// Pace at 2 (early slow start) or 1.2 windows per round trip. Ours: off, as
    /// in the kernel without a pacing queue.
    pub paced: bool,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            hystart: true,
            paced: false,
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    mss: Bytes,
    /// The largest window, in packets.
    ceiling: f64,
    /// α of the Reno-friendly region.
    alpha: f64,
    curve: Curve,
    hystart: Option<HyStart>,
    /// The next packet's number.
    next_number: u64,
    /// Packets before this one left before the last reduction.
    recovery_end: u64,
    undo: Option<Undo>,
    /// When time was last counted towards t.
    counted: Time,
    smoothed_rtt: Option<Span>,
    min_rtt: Option<Span>,
}

/// What a reduction changes and an undo restores. Windows are in packets.
#[derive(Clone, Copy, Debug)]
struct Curve {
    cwnd: f64,
    /// Where slow start ends; `None` until the first slow start has ended.
    ssthresh: Option<f64>,
    /// The window at the last reduction; `None` where there is none to return to.
    w_max: Option<f64>,
    /// The window before the last reduction, or at the end of the first slow start.
    prior: f64,
    /// Since the last reduction; `None` until the first packet sent after it
    /// has been acknowledged.
    epoch: Option<Epoch>,
}

/// The way back from the last reduction.
#[derive(Clone, Copy, Debug)]
struct Undo {
    curve: Curve,
    at: Time,
    /// The reduction's losses have numbers from here to `recovery_end`.
    first: u64,
    /// How many of them have not arrived after all.
    missing: u64,
}

impl Cubic {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; C, β or a window out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let (c, beta) = (params.c, params.beta);
        SettingError::unless(c > 0.0 && c <= 1e3, || {
            format!("c = {c} is not between 0 and 1000; the usual value is 0.4")
        })?;
        SettingError::unless((0.1..=0.99).contains(&beta), || {
            format!("beta = {beta} is not between 0.1 and 0.99; the usual value is 0.7")
        })?;
        let (initial, ceiling) = (
            f64::from(params.initial_window),
            params.max_window.ratio(start.mss),
        );
        SettingError::unless(initial >= MIN_WINDOW && ceiling >= initial, || {
            format!(
                "initial_window = {initial} packets is not between {MIN_WINDOW} and max_window = {}",
                params.max_window
            )
        })?;
        Ok(Self {
            mss: start.mss,
            ceiling,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            curve: Curve {
                cwnd: initial,
                ssthresh: None,
                w_max: None,
                prior: initial,
                epoch: None,
            },
            hystart: params.hystart.then(HyStart::new),
            next_number: 0,
            recovery_end: 0,
            undo: None,
            counted: Time::ZERO,
            smoothed_rtt: None,
            min_rtt: None,
            params,
        })
    }

    /// The first packets of a round trip that met congestion: reduce once.
    fn reduce(&mut self, now: Time, losses: u64) {
        // Marked packets arrived: nothing can turn out spurious later.
        self.undo = (losses > 0).then_some(Undo {
            curve: self.curve,
            at: now,
            first: self.recovery_end,
            missing: losses,
        });
        let curve = &mut self.curve;
        let sinking = self.params.fast_convergence && curve.w_max.is_some_and(|w| curve.cwnd < w);
        curve.w_max = Some(if sinking {
            curve.cwnd * (1.0 + self.params.beta) / 2.0
        } else {
            curve.cwnd
        });
        curve.prior = curve.cwnd;
        curve.cwnd = (curve.cwnd * self.params.beta).max(MIN_WINDOW);
        curve.ssthresh = Some(curve.cwnd);
        curve.epoch = None;
        self.recovery_end = self.next_number;
    }

    /// A loss was none. Where every loss of the last reduction was none, so was
    /// the reduction.
    fn on_spurious(&mut self, now: Time, number: u64) {
        let until = self.recovery_end;
        let Some(undo) = self
            .undo
            .as_mut()
            .filter(|undo| (undo.first..until).contains(&number) && undo.missing > 0)
        else {
            return;
        };
        undo.missing -= 1;
        if undo.missing > 0 {
            return;
        }
        if self.curve.cwnd < undo.curve.cwnd {
            self.curve = undo.curve;
            if let Some(epoch) = &mut self.curve.epoch {
                epoch.elapsed += now - undo.at;
            }
            self.recovery_end = undo.first;
        }
        self.undo = None;
    }

    fn on_losses(&mut self, now: Time, feedback: &Feedback<'_>) {
        let news = feedback
            .lost
            .iter()
            .filter(|lost| lost.packet.number >= self.recovery_end)
            .count();
        if news > 0 {
            self.reduce(now, count(news));
        } else if let Some(undo) = &mut self.undo {
            let first = undo.first;
            let more = feedback
                .lost
                .iter()
                .filter(|lost| lost.packet.number >= first);
            undo.missing += count(more.count());
        }
        if feedback.persistent_congestion {
            let curve = &mut self.curve;
            let reduced = (curve.cwnd * self.params.beta).max(MIN_WINDOW);
            curve.ssthresh.get_or_insert(reduced);
            curve.cwnd = MIN_WINDOW;
            curve.w_max = None;
            curve.epoch = None;
            self.undo = None;
            self.recovery_end = self.next_number;
        }
    }

    /// Grows by one packet that the window, not the application, held back.
    fn grow(&mut self, acked: &Acked, ahead: Span) {
        let packets = acked.packet.size.ratio(self.mss);
        let curve = &mut self.curve;
        if curve.ssthresh.is_none_or(|ssthresh| curve.cwnd < ssthresh) {
            let growth = match (&mut self.hystart, curve.ssthresh) {
                (Some(hystart), None) => hystart.on_acked(acked, self.next_number),
                _ => Growth::By(1.0),
            };
            match growth {
                Growth::By(share) => {
                    let cwnd = (curve.cwnd + share * packets).min(self.ceiling);
                    curve.cwnd = curve.ssthresh.map_or(cwnd, |ssthresh| cwnd.min(ssthresh));
                }
                Growth::Exit => {
                    curve.ssthresh = Some(curve.cwnd);
                    curve.prior = curve.cwnd;
                }
            }
            return;
        }
        let (c, cwnd) = (self.params.c, curve.cwnd);
        let epoch = curve
            .epoch
            .get_or_insert_with(|| Epoch::new(cwnd, curve.w_max, c));
        // Below the window of before, Reno with this β grows more slowly. [RFC9438] §4.3.
        let reaches = epoch.reno() < curve.prior;
        let alpha = if reaches { self.alpha } else { 1.0 };
        curve.cwnd = epoch.grow(cwnd, packets, alpha, ahead).min(self.ceiling);
    }
}

impl Controller for Cubic {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.smoothed_rtt = path.smoothed_rtt;
        self.min_rtt = path.min_rtt;
        for acked in feedback.acked.iter().filter(|acked| acked.spurious) {
            self.on_spurious(now, acked.packet.number);
        }
        if !feedback.lost.is_empty() || feedback.persistent_congestion {
            self.on_losses(now, feedback);
        }
        let since = std::mem::replace(&mut self.counted, now);
        let ahead = path.smoothed_rtt.unwrap_or(Span::ZERO);
        let mut counts = false;
        for acked in feedback.acked {
            if acked.packet.number < self.recovery_end {
                continue;
            }
            if acked.ecn == Ecn::Ce {
                self.reduce(now, 0);
            } else if !acked.packet.app_limited {
                if !counts && let Some(epoch) = &mut self.curve.epoch {
                    epoch.elapsed += now - since;
                }
                counts = true;
                self.grow(acked, ahead);
            }
        }
    }

    fn control(&self) -> Control {
        let curve = &self.curve;
        let window = self.mss * curve.cwnd;
        let early = curve
            .ssthresh
            .is_none_or(|ssthresh| curve.cwnd < ssthresh / 2.0);
        let pacing = || {
            let gain = if early {
                SLOW_START_PACING
            } else {
                AVOIDANCE_PACING
            };
            Some(window.per(self.smoothed_rtt?.min(MAX_PACED_RTT))? * gain)
        };
        Control {
            window: Some(window),
            pacing: if self.params.paced { pacing() } else { None },
            floor: None,
            target: None,
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Sent, _path: &PathState) {
        self.next_number = self.next_number.max(packet.number + 1);
        if packet.in_flight <= packet.size {
            // Nothing was in flight: an idle period is not part of t.
            self.counted = now;
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let curve = &self.curve;
        gauge("cwnd", curve.cwnd);
        if let Some(ssthresh) = curve.ssthresh {
            gauge("ssthresh", ssthresh);
        }
        if let Some(epoch) = curve.epoch {
            epoch.inspect(gauge);
        }
        if let Some(min_rtt) = self.min_rtt {
            gauge("min_rtt_s", min_rtt.secs_f64());
        }
    }
}

#[cfg(test)]
mod tests;
