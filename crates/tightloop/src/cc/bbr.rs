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

use serde::{Deserialize, Serialize};

use self::aggregation::Aggregation;
use self::bandwidth::MaxBandwidth;
use self::cycle::Cycle;
use self::min_rtt::MinRtt;
use self::probe_rtt::{ProbeRtt, Visit};
pub use self::recovery::RecoveryEnd;
use self::recovery::{Course, Recovery};
use self::rounds::Rounds;
use self::startup::FullPipe;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Rate, Span, Time, float};

mod aggregation;
pub(super) mod bandwidth;
pub(super) mod cycle;
mod min_rtt;
mod probe_rtt;
pub mod quic;
mod recovery;
pub(super) mod rounds;
pub(super) mod startup;
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
/// Send quanta that the window leaves room for. [BBRv1] §4.2.3.2.
const QUANTA: u64 = 3;
/// What a sender in bunches sends more of in the phase that probes, in packets. [BBRv2] §4.6.4.2.
const PROBE_EXTRA: u64 = 2;
/// Below this rate bunches are single packets. [BBRv1] §4.2.2.
const SINGLE_BELOW: Rate = Rate::from_kbps(1_200);
/// Above it they are what leaves in [`QUANTUM`], below two packets. [BBRv1] §4.2.2.
const PAIRS_BELOW: Rate = Rate::from_mbps(24);
/// A bunch's length in time. [BBRv1] §4.2.2.
const QUANTUM: Span = Span::from_millis(1);
/// The largest bunch. [BBRv1] §4.2.2.
const MAX_QUANTUM: Bytes = Bytes::new(64 << 10);
/// Ours: shorter RTTs count as this, so that a rate can be made of them.
const LEAST_RTT: Span = Span::from_micros(1);
/// Ours: longer RTTs count as this, so that no rate is zero.
const LONGEST_RTT: Span = Span::from_secs(60);

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Startup's gains, 2/ln 2. [BBRv1] §4.3.2.1.
    pub startup_gain: f64,
    /// Drain's pacing gain, its inverse. [BBRv1] §4.3.3.
    pub drain_gain: f64,
    /// ProbeBW's gain that asks for more. [BBRv1] §4.3.4.2.
    pub probe_gain: f64,
    /// ProbeBW's gain that gives it back. [BBRv1] §4.3.4.2.
    pub yield_gain: f64,
    /// ProbeBW's window, in BDP. [BBRv1] §4.2.3.2.
    pub window_gain: f64,
    /// What is left out of the pacing rate so that queues drain. [BBRv2] §4.6.2.
    pub pacing_margin: f64,
    /// The window has room for a sender that sends in bunches. [BBRv1] §4.2.3.2.
    pub send_quantum: bool,
    /// And for acknowledgements in bunches, this much of the largest. [BBRv2] §4.6.4.
    pub aggregation_gain: f64,
    /// A bunch counts as no more than BtlBw in this. [Linux] BBR's, 100 ms.
    pub aggregation_limit: Span,
    /// RTprop is too old after this. [BBRv1] §4.1.2.
    pub min_rtt_window: Span,
    /// A round trip that equals RTprop keeps it young. [BBRv1] §4.1.2.
    pub min_rtt_renews: bool,
    /// How long ProbeRTT holds. [BBRv1] §4.3.5.
    pub probe_rtt: Span,
    /// Its window, in BDP, where that is more than `min_window`. [BBRv1] §4.3.5: none.
    pub probe_rtt_gain: f64,
    /// Losses end Startup. [BBRv1] §4.3.2: they do not.
    pub exit_startup_on_loss: bool,
    /// What ends the window's limit after losses. [RFC6582] §3.2.
    pub recovery_end: RecoveryEnd,
    /// The video's target, in BtlBw; without one it follows the ceilings.
    /// [BBRv1] knows of no video.
    pub target_gain: Option<f64>,
    /// Fill up with filler while asking for more. [BBRv1] knows of no filler.
    pub pads: bool,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The round trip before one is known. [BBRv1] §4.2.1.
    pub initial_rtt: Span,
    /// The smallest window, in packets. [BBRv1] §4.2.3.
    pub min_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

/// 2/ln 2: the least gain that lets the rate double each round. [BBRv1] §4.3.2.1.
const STARTUP_GAIN: f64 = 2.885;

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_gain: STARTUP_GAIN,
            drain_gain: 1.0 / STARTUP_GAIN,
            probe_gain: 1.25,
            yield_gain: 0.75,
            window_gain: 2.0,
            pacing_margin: 0.01,
            send_quantum: true,
            aggregation_gain: 1.0,
            aggregation_limit: Span::from_millis(100),
            min_rtt_window: Span::from_secs(10),
            min_rtt_renews: true,
            probe_rtt: Span::from_millis(200),
            probe_rtt_gain: 0.0,
            exit_startup_on_loss: false,
            recovery_end: RecoveryEnd::FirstLoss,
            target_gain: None,
            pads: false,
            initial_window: 10,
            initial_rtt: Span::from_millis(1),
            min_window: 4,
            max_window: Bytes::new(1 << 30),
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), SettingError> {
        let gains = [
            ("startup_gain", self.startup_gain, 1.0),
            ("drain_gain", self.drain_gain, 0.1),
            ("probe_gain", self.probe_gain, 1.0),
            ("yield_gain", self.yield_gain, 0.1),
            ("window_gain", self.window_gain, 1.0),
            ("aggregation_gain", self.aggregation_gain, 0.0),
            ("probe_rtt_gain", self.probe_rtt_gain, 0.0),
            ("target_gain", self.target_gain.unwrap_or(1.0), 0.1),
        ];
        for (name, gain, least) in gains {
            SettingError::unless((least..=10.0).contains(&gain), || {
                format!("{name} = {gain} is not between {least} and 10; see the defaults")
            })?;
        }
        let margin = self.pacing_margin;
        SettingError::unless((0.0..=0.5).contains(&margin), || {
            format!("pacing_margin = {margin} is not between 0 and 0.5; the usual value is 0.01")
        })?;
        let spans = [
            ("min_rtt_window", self.min_rtt_window),
            ("probe_rtt", self.probe_rtt),
            ("initial_rtt", self.initial_rtt),
            ("aggregation_limit", self.aggregation_limit),
        ];
        for (name, span) in spans {
            SettingError::unless(span >= LEAST_RTT && span <= LONGEST_RTT, || {
                format!("{name} = {span} is not between {LEAST_RTT} and {LONGEST_RTT}")
            })?;
        }
        let (initial, least) = (self.initial_window, self.min_window);
        SettingError::unless(least >= 1 && initial >= least, || {
            format!(
                "initial_window = {initial} packets is less than min_window = {least}, or that is 0"
            )
        })
    }
}

/// What it does.
#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt(ProbeRtt),
}

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
        let quantum = if self.pacing < SINGLE_BELOW {
            self.mss
        } else if self.pacing < PAIRS_BELOW {
            self.mss * 2
        } else {
            self.pacing.over(QUANTUM).min(MAX_QUANTUM)
        };
        let probing = matches!(self.state, State::ProbeBw) && self.cycle.phase() == 0;
        quantum * QUANTA + self.mss * (u64::from(probing) * PROBE_EXTRA)
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
        let state = match self.state {
            State::Startup => 0,
            State::Drain => 1,
            State::ProbeBw => 2,
            State::ProbeRtt(_) => 3,
        };
        gauge("state", float(state));
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
