//! BBR, version 1: measure the bottleneck's rate and the empty path's round
//! trip, and send at the one with no more than twice their product in flight.
//!
//! One implementation; the Linux kernel's parameters here, those of Chromium's
//! QUIC and of WebRTC in files of their own.
//!
//! # Idea
//! A path is a rate and a delay. Both cannot be seen at once: the rate shows
//! only when the pipe is full, the delay only when the queue is empty. So BBR
//! looks for them in turn, a little more than the rate for a round trip in
//! eight, next to nothing in flight for a fifth of a second in ten, and between
//! these sends at the best rate of late. Loss is no signal of congestion.
//!
//! # Signals
//! Delivery-rate samples, round-trip times, bytes in flight; losses limit the
//! window for a while and do not touch the model.
//!
//! # Law
//! - BtlBw = greatest delivery rate of 10 rounds; samples that the application
//!   limited count only where they raise it
//! - RTprop = smallest round trip of 10 s; BDP = BtlBw·RTprop
//! - pacing = gain·BtlBw·(1 − margin); window = gain·BDP + budget + excess, where
//!   budget = 3 send quanta for a sender that sends in bunches, and excess is
//!   what acknowledgements in bunches brought beyond the rate
//! - Startup: both gains 2/ln 2, until BtlBw grew by less than a quarter in each
//!   of three rounds
//! - Drain: pacing gain ln 2/2, until a BDP is in flight
//! - ProbeBW: window gain 2; pacing gains 5/4, 3/4 and six times 1, each for
//!   longer than RTprop; 5/4 also until 5/4 BDP are in flight or something is
//!   lost, 3/4 at most until a BDP is in flight; it begins anywhere but at 3/4
//! - ProbeRTT: once RTprop has not been seen for 10 s, at most 4 packets (or a
//!   share of the BDP) in flight for 200 ms and a round
//! - losses: the window is what is in flight for a round, then grows by what
//!   arrives, until the recovery is over; then it is what it was
//!
//! # Departures
//! - No model of token-bucket policers ("long-term bandwidth"): the kernel's
//!   paces at a measured rate where a fifth and more is lost for rounds on end.
//! - After an idle period the kernel paces at once by BtlBw without gain; here
//!   the old gain holds until the first acknowledgement.
//! - A feedback may report several packets; the delivery rate is sampled once
//!   for each, at the packet sent last.
//! - A session says which packets of a recovery are outstanding, not what a TCP
//!   receiver lacks: recovery ends with the arrival of a later packet.

use self::aggregation::Aggregation;
use self::bandwidth::MaxBandwidth;
use self::cycle::Cycle;
use self::min_rtt::MinRtt;
use self::probe_rtt::{ProbeRtt, Visit};
pub use self::recovery::RecoveryEnd;
use self::recovery::{Course, Recovery};
use self::rounds::Rounds;
pub use self::settings::Params;
use self::settings::{LEAST_RTT, LONGEST_RTT};
use self::startup::FullPipe;
use self::state::State;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Rate, Time, float};

mod aggregation;
pub(super) mod bandwidth;
#[cfg(test)]
pub(super) mod bench;
pub(super) mod cycle;
mod min_rtt;
mod probe_rtt;
mod quantum;
pub mod quic;
mod recovery;
pub(super) mod rounds;
mod settings;
pub(super) mod startup;
mod state;
pub mod webrtc;

/// The entry in [`super::ALGORITHMS`].
pub const BBR: Algorithm = Algorithm {
    name: "bbr",
    summary: "BBR v1 as in Linux: paces by the measured bottleneck rate, twice the pipe in flight",
    cites: &["BBRv1", "BBRv2", "BBR"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Bbr::new(start)?)),
    reporter: None,
};

/// Rounds over which the greatest delivery rate holds. [BBRv1] §4.1.1.
const BANDWIDTH_ROUNDS: u32 = 10;
/// What a sender in bunches sends more of in the phase that probes, in packets. [BBRv2] §4.6.4.2.
const PROBE_EXTRA: u64 = 2;

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr {
    params: Params,
    mss: Bytes,
    state: State,
    rounds: Rounds,
    bandwidth: MaxBandwidth,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    cycle: Cycle,
    aggregation: Aggregation,
    recovery: Option<Recovery>,
    cwnd: Bytes,
    pacing: Rate,
    /// A round trip was known when `pacing` was set.
    timed: bool,
    next_number: u64,
    /// It has just begun to send again after silence of its own.
    restarted: bool,
}

impl Bbr {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; gains, times and windows out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        params.check()?;
        let cwnd = start.mss * u64::from(params.initial_window);
        SettingError::unless(cwnd <= params.max_window, || {
            format!(
                "max_window = {} is less than the first window, {cwnd}",
                params.max_window
            )
        })?;
        Ok(Self {
            mss: start.mss,
            state: State::Startup,
            rounds: Rounds::default(),
            bandwidth: MaxBandwidth::new(BANDWIDTH_ROUNDS),
            min_rtt: MinRtt::new(params.min_rtt_window, params.min_rtt_renews),
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(params.probe_gain, params.yield_gain, start.rng.clone()),
            aggregation: Aggregation::new(),
            recovery: None,
            cwnd,
            pacing: cwnd.per(params.initial_rtt).unwrap_or(Rate::MAX) * params.startup_gain,
            timed: false,
            next_number: 0,
            restarted: false,
            params,
        })
    }

    /// The pacing gain and the window's.
    fn gains(&self) -> (f64, f64) {
        let params = &self.params;
        match self.state {
            State::Startup => (params.startup_gain, params.startup_gain),
            State::Drain => (params.drain_gain, params.startup_gain),
            State::ProbeBw => (self.cycle.gain(), params.window_gain),
            State::ProbeRtt(_) => (1.0, 1.0),
        }
    }

    /// BtlBw·RTprop; `None` until both are known.
    fn bdp(&self) -> Option<Bytes> {
        let rtt = self.min_rtt.get()?;
        Some(
            self.bandwidth
                .get()?
                .over(rtt.clamp(LEAST_RTT, LONGEST_RTT)),
        )
    }

    /// What a sender in bunches has in its hands. [BBRv1] §4.2.2.
    fn quanta(&self) -> Bytes {
        if !self.params.send_quantum {
            return Bytes::ZERO;
        }
        let probing = matches!(self.state, State::ProbeBw) && self.cycle.phase() == 0;
        quantum::room(self.pacing, self.mss) + self.mss * (u64::from(probing) * PROBE_EXTRA)
    }

    /// What is in flight at a gain. [BBRv1] §4.2.3.2.
    fn inflight(&self, gain: f64) -> Bytes {
        match self.bdp() {
            Some(bdp) => (bdp * gain + self.quanta()).max(self.least()),
            None => self.mss * u64::from(self.params.initial_window) * gain,
        }
    }

    fn least(&self) -> Bytes {
        self.mss * u64::from(self.params.min_window)
    }

    /// ProbeRTT's window.
    fn visit_window(&self) -> Bytes {
        probe_rtt::window(self.bdp(), self.params.probe_rtt_gain, self.least())
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cycle.begin(now);
    }

    /// The phases of ProbeBW. [BBRv1] §4.3.4.3.
    fn follow_cycle(&mut self, now: Time, in_flight_before: Bytes, losses: bool) {
        let Some(min_rtt) = self.min_rtt.get() else {
            return;
        };
        let past = self.cycle.is_past(now, min_rtt);
        let gain = self.cycle.gain();
        let over = match self.cycle.phase() {
            0 => past && (losses || in_flight_before >= self.inflight(gain)),
            1 => past || in_flight_before <= self.inflight(1.0),
            _ => past,
        };
        if over {
            self.cycle.advance(now);
        }
    }

    /// Startup's end and Drain's. [BBRv1] §4.3.2.2, §4.3.3.
    fn follow_startup(&mut self, now: Time, path: &PathState) {
        if matches!(self.state, State::Startup) && self.full_pipe.reached() {
            self.state = State::Drain;
        }
        if matches!(self.state, State::Drain) && path.in_flight <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// RTprop, and visits to the empty path. [BBRv1] §4.1.2, §4.3.5.
    fn follow_min_rtt(
        &mut self,
        now: Time,
        feedback: &Feedback<'_>,
        path: &PathState,
        begins: bool,
    ) {
        let smallest = feedback.acked.iter().filter_map(|acked| acked.rtt).min();
        let expired = smallest.is_some_and(|rtt| self.min_rtt.on_sample(now, rtt));
        if expired && !self.restarted && !matches!(self.state, State::ProbeRtt(_)) {
            self.state = State::ProbeRtt(ProbeRtt::default());
        }
        let low = path.in_flight < self.visit_window() + self.mss;
        let State::ProbeRtt(visit) = &mut self.state else {
            return;
        };
        self.bandwidth.hold(path);
        match visit.is_over(now, low, begins, self.params.probe_rtt) {
            Visit::Arrived => self.rounds.restart(path.delivered),
            Visit::Lasts => {}
            Visit::Over => {
                self.min_rtt.refresh(now);
                if self.full_pipe.reached() {
                    self.enter_probe_bw(now);
                } else {
                    self.state = State::Startup;
                }
            }
        }
    }

    fn set_pacing(&mut self) {
        let (gain, _) = self.gains();
        if !self.timed
            && let Some(rtt) = self.min_rtt.get()
        {
            self.timed = true;
            let rate = self.cwnd.per(rtt.clamp(LEAST_RTT, LONGEST_RTT));
            self.pacing = rate.unwrap_or(Rate::MAX) * self.params.startup_gain;
        }
        let Some(bandwidth) = self.bandwidth.get() else {
            return;
        };
        let rate = bandwidth * (gain * (1.0 - self.params.pacing_margin));
        if self.full_pipe.reached() || rate > self.pacing {
            self.pacing = rate.max(Rate::from_bps(1));
        }
    }

    /// The window without what losses and ProbeRTT make of it. [BBRv1] §4.2.3.
    fn set_window(&mut self, acked: Bytes, path: &PathState) {
        if matches!(self.state, State::ProbeRtt(_)) || acked == Bytes::ZERO {
            return;
        }
        let (_, gain) = self.gains();
        let full = self.full_pipe.reached();
        let mut target = self.inflight(gain);
        if full {
            let excess = self.aggregation.excess(self.rounds.count());
            target += excess * self.params.aggregation_gain;
        }
        let initial = self.mss * u64::from(self.params.initial_window);
        if full {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || path.delivered < initial {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.least()).min(self.params.max_window);
    }
}

impl Controller for Bbr {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let (acked, lost) = (feedback.acked_bytes(), feedback.lost_bytes());
        let begins = self.rounds.on_feedback(feedback, path.delivered);
        let round = self.rounds.count();
        let mut limited = false;
        if let Some(sample) = &feedback.delivery {
            limited = self.bandwidth.on_sample(round, sample);
        }
        if let Some(rate) = self.bandwidth.get() {
            let most = self.params.aggregation_limit;
            self.aggregation.on_acked(now, round, acked, rate, most);
        }
        let (next, ends) = (self.next_number, self.params.recovery_end);
        let course = Recovery::follow(&mut self.recovery, feedback, path, begins, next, ends);
        if course == Course::Begins {
            self.rounds.restart(path.delivered);
        }
        if matches!(self.state, State::ProbeBw) {
            let before = path.in_flight + acked + lost;
            self.follow_cycle(now, before, lost > Bytes::ZERO);
        }
        if begins && !limited {
            if let Some(rate) = self.bandwidth.get() {
                self.full_pipe.on_round(rate);
            }
            if self.params.exit_startup_on_loss && self.recovery.is_some() {
                self.full_pipe.declare();
            }
        }
        self.follow_startup(now, path);
        self.follow_min_rtt(now, feedback, path, begins);
        if acked > Bytes::ZERO {
            self.restarted = false;
        }
        self.set_pacing();
        self.set_window(acked, path);
        if feedback.persistent_congestion {
            self.full_pipe.doubt();
            if let Some(recovery) = &mut self.recovery {
                recovery.window = path.in_flight + self.mss;
            }
        }
    }

    fn control(&self) -> Control {
        let mut window = self.cwnd;
        if let Some(recovery) = self.recovery {
            window = window.min(recovery.window.max(self.least()));
        }
        if matches!(self.state, State::ProbeRtt(_)) {
            window = window.min(self.visit_window());
        }
        let (gain, _) = self.gains();
        let asks = gain > 1.0 && !matches!(self.state, State::ProbeRtt(_));
        let target = |gain: f64| {
            let known = self.bandwidth.get().map(|rate| rate * gain);
            let first = || self.mss * u64::from(self.params.initial_window);
            known.or_else(|| first().per(self.params.initial_rtt))
        };
        Control {
            window: Some(window),
            pacing: Some(self.pacing),
            floor: Some(self.pacing).filter(|_| self.params.pads && asks),
            target: self
                .params
                .target_gain
                .and_then(target)
                .map(|rate| rate.min(self.pacing)),
        }
    }

    fn on_sent(&mut self, _now: Time, packet: &Sent, _path: &PathState) {
        self.next_number = self.next_number.max(packet.number + 1);
        if packet.in_flight <= packet.size && packet.app_limited {
            self.restarted = true;
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let (pacing, window) = self.gains();
        gauge("cwnd", self.cwnd.ratio(self.mss));
        gauge("pacing_gain", pacing);
        gauge("cwnd_gain", window);
        gauge("round", float(self.rounds.count()));
        gauge("state", float(self.state.number()));
        if let Some(rate) = self.bandwidth.get() {
            gauge("btl_bw_bps", rate.bps_f64());
        }
        if let Some(recovery) = self.recovery {
            gauge("recovery_window", recovery.window.ratio(self.mss));
        }
        if let Some(min_rtt) = self.min_rtt.get() {
            gauge("min_rtt_s", min_rtt.secs_f64());
        }
    }
}

#[cfg(test)]
mod tests;
