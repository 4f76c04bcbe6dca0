//! Delay-BBR: BBR that watches the round trip and backs off before a queue grows.
//!
//! # Idea
//! BBR flows that share a link fill its buffer: each takes the others' queue for
//! propagation and keeps two pipes in flight. Video cannot use such a rate. So
//! probe by a ninth instead of a quarter, and where the round trip exceeds its
//! own recent minimum by a fifth, send less than arrives until no more than a
//! pipe full is in flight.
//!
//! # Signals
//! Round trips, delivery-rate samples, bytes in flight. Losses have no effect.
//!
//! # Law
//! - srtt = (1 − α)·srtt + α·rtt, where α = 0.9 weighs the *new* sample: almost
//!   the last round trip (Eq. 12)
//! - base_line_rtt = smallest rtt of packets sent since the last back-off and
//!   acknowledged in ProbeBW; a new one is srtt too (Alg. 2)
//! - bw = greatest of 10 rounds, one delivery-rate sample each (Eq. 13); the
//!   first flight samples nothing
//! - min_rtt = smallest; one within an eighth of it keeps it for 10 s more
//! - Startup: gain 2 until bw grew by less than a quarter in each of 3 rounds;
//!   then 1/2 until bw·min_rtt is in flight
//! - ProbeBW: gains 1.11, 0.9 and six times 1, each for longer than min_rtt
//! - srtt > 1.2·base_line_rtt in ProbeBW (Alg. 4), or min_rtt too old in any
//!   state: gain 0.75 until bw·min_rtt, as of then, is in flight (Alg. 5); for
//!   min_rtt's sake it lasts at least 4·min_rtt, and measures it anew
//! - pacing = gain·bw; at gain 1 in ProbeBW at least 500 kbit/s; filler where
//!   the video does not use it, for without it nothing is measured
//! - at most 2·bw·min_rtt in flight
//!
//! # Departures
//! - *The cap on what is in flight.* The paper says nothing of one and the
//!   authors' code has none, but the negligible loss they report needs it.
//!   Without it three flows on the paper's links lose 0.3 % of all packets where
//!   the buffer holds 400 ms and more and 1.1 % where it holds 300, and there the
//!   mean delay is 151 to 186 ms by seed instead of 141 to 147. With BBR's own cap
//!   they lose nothing.
//!   `capped = false` is the literal form.
//! - The paper's text gives Startup 2/ln 2 of BBR, the code 2; here 2.
//!   `startup_gain` and `alpha` (0.95 in the code's last version) are settings.
//! - Times are exact; the code rounds them to milliseconds.
//! - A feedback may report several packets; then the rules are asked once, after
//!   the last, but every round trip is looked at.
//! - Back-off ends in Startup where Startup had not ended.

use serde::{Deserialize, Serialize};

use self::back_off::BackOff;
use self::baseline::Baseline;
use self::min_rtt::MinRtt;
use super::bbr::bandwidth::MaxBandwidth;
use super::bbr::cycle::Cycle;
use super::bbr::rounds::Rounds;
use super::bbr::startup::FullPipe;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Rate, Span, Time, float};

mod back_off;
mod baseline;
mod min_rtt;

/// The entry in [`super::ALGORITHMS`].
pub const DELAY_BBR: Algorithm = Algorithm {
    name: "delay-bbr",
    summary: "BBR that backs off when the round trip rises by a fifth; for video, pads",
    cites: &["DelayBBR", "DelayBBR-Code", "BBRv1"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(DelayBbr::new(start)?)),
    reporter: None,
};

/// Rounds over which the greatest delivery rate holds. [DelayBBR] §2: a cycle and 2.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Paced per round trip once there is one and no delivery rate yet, in packets. [DelayBBR-Code].
const FIRST_WINDOW: u64 = 10;
/// The smallest cap, in packets. [BBRv1] §4.2.3.
const MIN_WINDOW: u64 = 4;
/// Ours: shorter RTTs count as this, so that a rate can be made of them.
const LEAST_RTT: Span = Span::from_micros(1);
/// Ours: longer RTTs count as this, so that no rate is zero.
const LONGEST_RTT: Span = Span::from_secs(60);

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// α, what a new round trip weighs. [DelayBBR] Eq. 12; 0.95 in [DelayBBR-Code].
    pub alpha: f64,
    /// β, by what the round trip may exceed its base line. [DelayBBR] Alg. 4.
    pub beta: f64,
    /// Startup's gain; Drain's is its inverse. [DelayBBR-Code]; 2.885 in [DelayBBR].
    pub startup_gain: f64,
    /// ProbeBW's gain that asks for more. [DelayBBR] §2.
    pub probe_gain: f64,
    /// ProbeBW's gain that gives it back. [DelayBBR] §2.
    pub yield_gain: f64,
    /// The back-off's gain. [DelayBBR] Alg. 5.
    pub back_off_gain: f64,
    /// Limit what is in flight. Ours: on; see Departures.
    pub capped: bool,
    /// To how many BDP. [BBRv1] §4.2.3.2.
    pub window_gain: f64,
    /// The largest cap. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
    /// The minimum round trip is too old after this. [DelayBBR-Code]; [BBRv1] §4.1.2.
    pub min_rtt_window: Span,
    /// The round trip before one is known. [DelayBBR-Code].
    pub initial_rtt: Span,
    /// The rate before anything is known. [DelayBBR-Code].
    pub start: Rate,
    /// The least rate at gain 1. [DelayBBR-Code].
    pub min: Rate,
    /// Fill up with filler to the pacing rate. [DelayBBR] §2.
    pub pads: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            alpha: 0.9,
            beta: 1.2,
            startup_gain: 2.0,
            probe_gain: 1.11,
            yield_gain: 0.9,
            back_off_gain: 0.75,
            capped: true,
            window_gain: 2.0,
            max_window: Bytes::new(1 << 30),
            min_rtt_window: Span::from_secs(10),
            initial_rtt: Span::from_millis(200),
            start: Rate::from_mbps(1),
            min: Rate::from_kbps(500),
            pads: true,
        }
    }
}

impl Params {
    fn check(&self, mss: Bytes) -> Result<(), SettingError> {
        let ranges = [
            ("alpha", self.alpha, 0.01..=1.0),
            ("beta", self.beta, 1.0..=10.0),
            ("startup_gain", self.startup_gain, 1.1..=10.0),
            ("probe_gain", self.probe_gain, 1.0..=10.0),
            ("yield_gain", self.yield_gain, 0.1..=1.0),
            ("back_off_gain", self.back_off_gain, 0.1..=1.0),
            ("window_gain", self.window_gain, 1.0..=100.0),
        ];
        for (name, value, range) in ranges {
            SettingError::unless(range.contains(&value), || {
                let (low, high) = (range.start(), range.end());
                format!("{name} = {value} is not between {low} and {high}; see the defaults")
            })?;
        }
        for (name, span) in [
            ("min_rtt_window", self.min_rtt_window),
            ("initial_rtt", self.initial_rtt),
        ] {
            SettingError::unless(span >= LEAST_RTT && span <= LONGEST_RTT, || {
                format!("{name} = {span} is not between {LEAST_RTT} and {LONGEST_RTT}")
            })?;
        }
        SettingError::unless(self.max_window >= mss * MIN_WINDOW, || {
            format!(
                "max_window = {} is less than {MIN_WINDOW} packets",
                self.max_window
            )
        })?;
        SettingError::unless(self.start > Rate::ZERO, || {
            "start = 0 bit/s never begins; the usual value is 1 Mbit/s".to_owned()
        })
    }
}

/// What it does.
#[derive(Clone, Copy, Debug)]
enum State {
    Startup,
    Drain,
    ProbeBw,
    BackOff(BackOff),
}

/// The controller.
#[derive(Clone, Debug)]
pub struct DelayBbr {
    params: Params,
    mss: Bytes,
    state: State,
    rounds: Rounds,
    bandwidth: MaxBandwidth,
    min_rtt: MinRtt,
    baseline: Baseline,
    full_pipe: FullPipe,
    cycle: Cycle,
    next_number: u64,
    back_offs: u64,
}

impl DelayBbr {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; weights, gains and times out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        params.check(start.mss)?;
        Ok(Self {
            mss: start.mss,
            state: State::Startup,
            rounds: Rounds::default(),
            bandwidth: MaxBandwidth::new(BANDWIDTH_ROUNDS),
            min_rtt: MinRtt::new(params.min_rtt_window, params.initial_rtt),
            baseline: Baseline::new(params.alpha),
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(params.probe_gain, params.yield_gain, start.rng.clone()),
            next_number: 0,
            back_offs: 0,
            params,
        })
    }

    fn gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => 1.0 / self.params.startup_gain,
            State::ProbeBw => self.cycle.gain(),
            State::BackOff(_) => self.params.back_off_gain,
        }
    }

    /// `None` until a delivery rate is known.
    fn bdp(&self) -> Option<Bytes> {
        Some(self.bandwidth.get()?.over(self.rtt()))
    }

    /// The minimum round trip, within limits.
    fn rtt(&self) -> Span {
        self.min_rtt.get().clamp(LEAST_RTT, LONGEST_RTT)
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.state = State::ProbeBw;
        self.cycle.begin(now);
    }

    /// Round trips, each as it was.
    fn follow_rtt(&mut self, now: Time, feedback: &Feedback<'_>) {
        for acked in feedback.acked {
            let Some(rtt) = acked.rtt else {
                continue;
            };
            self.min_rtt.on_sample(now, rtt);
            match &mut self.state {
                State::ProbeBw => self.baseline.on_acked(acked.packet.number, rtt),
                State::BackOff(back_off) => back_off.on_sample(rtt),
                State::Startup | State::Drain => {}
            }
        }
    }

    /// Into a back-off and out of it. [DelayBBR] Alg. 4 and 5.
    fn follow_congestion(&mut self, now: Time, path: &PathState) {
        if let State::BackOff(back_off) = self.state {
            if back_off.is_over(now, path.in_flight, self.rtt()) {
                if let Some(rtt) = back_off.measured() {
                    self.min_rtt.set(now, rtt);
                }
                if self.full_pipe.reached() {
                    self.enter_probe_bw(now);
                } else {
                    self.state = State::Startup;
                }
            }
            return;
        }
        let Some(bdp) = self.bdp() else {
            return;
        };
        let congested =
            matches!(self.state, State::ProbeBw) && self.baseline.exceeds(self.params.beta);
        let expired = self.min_rtt.is_expired(now);
        if congested || expired {
            self.state = State::BackOff(BackOff::new(now, bdp, expired && !congested));
            self.baseline.forget(self.next_number);
            self.back_offs += 1;
        }
    }

    /// Startup's end and Drain's, and ProbeBW's phases.
    fn follow_cycle(&mut self, now: Time, path: &PathState) {
        if matches!(self.state, State::Startup) && self.full_pipe.reached() {
            self.state = State::Drain;
        }
        let drained = self.bdp().is_some_and(|bdp| path.in_flight <= bdp);
        if matches!(self.state, State::Drain) && drained {
            self.enter_probe_bw(now);
        }
        if matches!(self.state, State::ProbeBw) && self.cycle.is_past(now, self.rtt()) {
            self.cycle.advance(now);
        }
    }

    fn pacing(&self) -> Rate {
        let gain = self.gain();
        let Some(bandwidth) = self.bandwidth.get() else {
            let first = (self.mss * FIRST_WINDOW).per(self.rtt());
            return match first.filter(|_| self.rounds.count() > 0) {
                Some(rate) => rate,
                None => self.params.start * self.params.startup_gain,
            };
        };
        let rate = (bandwidth * gain).max(Rate::from_bps(1));
        let cruises = matches!(self.state, State::ProbeBw) && self.cycle.phase() > 1;
        if cruises {
            rate.max(self.params.min)
        } else {
            rate
        }
    }
}

impl Controller for DelayBbr {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.follow_rtt(now, feedback);
        let begins = self.rounds.on_feedback(feedback, path.delivered);
        let round = self.rounds.count();
        if round <= 1 {
            // The first flight was sent at a guess.
            return;
        }
        self.follow_congestion(now, path);
        if begins {
            let rate = feedback.delivery.and_then(|sample| sample.rate());
            if let Some(rate) = rate.filter(|rate| *rate > Rate::ZERO) {
                self.bandwidth.push(round, rate);
            }
            if let Some(rate) = self.bandwidth.get() {
                self.full_pipe.on_round(rate);
            }
        }
        self.follow_cycle(now, path);
    }

    fn control(&self) -> Control {
        let pacing = self.pacing();
        let (least, most) = (self.mss * MIN_WINDOW, self.params.max_window);
        let cap = |bdp: Bytes| (bdp * self.params.window_gain).max(least).min(most);
        let known = self.bandwidth.get().unwrap_or(self.params.start);
        Control {
            window: self.bdp().filter(|_| self.params.capped).map(cap),
            pacing: Some(pacing),
            floor: Some(pacing).filter(|_| self.params.pads),
            target: Some(known.min(pacing)),
        }
    }

    fn on_sent(&mut self, _now: Time, packet: &Sent, _path: &PathState) {
        self.next_number = self.next_number.max(packet.number + 1);
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        let state = match self.state {
            State::Startup => 0,
            State::Drain => 1,
            State::ProbeBw => 2,
            State::BackOff(_) => 3,
        };
        gauge("state", float(state));
        gauge("pacing_gain", self.gain());
        gauge("back_offs", float(self.back_offs));
        gauge("round", float(self.rounds.count()));
        if let Some(rate) = self.bandwidth.get() {
            gauge("bw_bps", rate.bps_f64());
        }
        self.baseline.inspect(gauge);
        gauge("min_rtt_s", self.min_rtt.get().secs_f64());
    }
}

#[cfg(test)]
mod tests;
