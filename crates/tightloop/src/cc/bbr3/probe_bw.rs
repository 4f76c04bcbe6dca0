//! ProbeBW: down, cruise, refill, up, and again.

use super::model::{BETA, LOSS_THRESH};
use super::{Bbr3, Bytes, PathState, Rate, Sample, Sent, Span, State, Time};
use crate::units::float;

/// BBR.bw_probe_wait at least. [BBR-Draft] §5.3.3.8.3.
const MIN_WAIT: Span = Span::from_secs(2);
/// BBR.bw_probe_wait at most. [BBR-Draft] §5.3.3.8.3.
const MAX_WAIT: Span = Span::from_secs(3);
/// Rounds between probes at most, for Reno's and Cubic's sake. [BBR-Draft] §5.3.3.8.3.
const MAX_RENO_ROUNDS: f64 = 63.0;
/// BBR.bw_probe_up_rounds grows to this. [BBR-Draft] §5.3.3.9.
const MAX_UP_ROUNDS: u32 = 30;

/// BBR.ack_phase: what acknowledgements now mean. [BBR-Draft] §2.14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// Nothing about a probe.
    Init,
    /// The pipe is being filled.
    Refilling,
    /// A probe has begun.
    ProbeStarting,
    /// The answer to a probe.
    ProbeFeedback,
    /// The probe is over; its last answers come in.
    ProbeStopping,
}

/// What a cycle remembers. [BBR-Draft] §2.14.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// BBR.is_bw_probe_sample.
    pub(super) is_bw_probe_sample: bool,
    /// BBR.bw_probe_up_acked.
    up_acked: Bytes,
    /// BBR.probe_up_acked_per_inc; `None` for infinity.
    up_acked_per_inc: Option<Bytes>,
    /// BBR.bw_probe_up_rounds.
    pub(super) up_rounds: u32,
    /// BBR.rounds_since_probe_up.
    pub(super) rounds_since_probe_up: u64,
    /// BBR.bw_probe_wait.
    pub(super) wait: Span,
    /// BBR.cycle_stamp.
    pub(super) stamp: Time,
    /// BBR.prev_probe_too_high.
    pub(super) prev_probe_too_high: bool,
    /// BBR.prev_probe_precautionary.
    pub(super) prev_probe_precautionary: bool,
}

impl Cycle {
    pub(super) const fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            up_acked: Bytes::ZERO,
            up_acked_per_inc: None,
            up_rounds: 0,
            rounds_since_probe_up: 0,
            wait: Span::ZERO,
            stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
        }
    }
}

impl Sample {
    /// IsInflightTooHigh. [BBR-Draft] §5.5.10.2.
    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.lost.get_f64() > self.tx_in_flight.get_f64() * LOSS_THRESH
    }
}

impl Bbr3 {
    /// StartProbeBW_DOWN. [BBR-Draft] §5.3.3.9.
    pub(super) fn start_probe_bw_down(&mut self, now: Time, path: &PathState) {
        self.model.reset_congestion_signals();
        self.cycle.up_acked_per_inc = None;
        // PickProbeWait. [BBR-Draft] §5.3.3.8.3.
        self.cycle.rounds_since_probe_up = u64::from(self.rng.chance(0.5));
        self.cycle.wait = self.rng.span_between(MIN_WAIT, MAX_WAIT);
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.round.restart(path);
        self.state = State::ProbeBwDown;
    }

    /// StartProbeBW_REFILL. [BBR-Draft] §5.3.3.9.
    pub(super) fn start_probe_bw_refill(&mut self, path: &PathState) {
        self.model.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = Bytes::ZERO;
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.round.restart(path);
        self.state = State::ProbeBwRefill;
    }

    /// StartProbeBW_UP. [BBR-Draft] §5.3.3.9.
    fn start_probe_bw_up(&mut self, sample: &Sample, path: &PathState) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.round.restart(path);
        self.full_pipe.reset(sample.delivery_rate);
        self.state = State::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase. [BBR-Draft] §5.3.3.9.
    pub(super) fn update_probe_bw(&mut self, now: Time, sample: &Sample, path: &PathState) {
        if !self.full_pipe.reached || self.adapt_long_term_model(sample, path) {
            return;
        }
        let state = self.state;
        match state {
            State::ProbeBwDown | State::ProbeBwCruise if self.is_time_to_probe_bw(now) => {
                self.start_probe_bw_refill(path);
            }
            State::ProbeBwDown if self.is_time_to_cruise(path) => {
                self.state = State::ProbeBwCruise;
            }
            State::ProbeBwRefill if self.round.start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_probe_bw_up(sample, path);
            }
            State::ProbeBwUp if self.is_time_to_go_down(sample) => {
                self.cycle.prev_probe_too_high = false;
                self.start_probe_bw_down(now, path);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW. [BBR-Draft] §5.3.3.8.3.
    fn is_time_to_probe_bw(&self, now: Time) -> bool {
        let reno_rounds = self.target_inflight().ratio(self.mss).min(MAX_RENO_ROUNDS);
        now > self.cycle.stamp + self.cycle.wait
            || float(self.cycle.rounds_since_probe_up) >= reno_rounds
    }

    /// IsTimeToCruise. [BBR-Draft] §5.3.3.9.
    fn is_time_to_cruise(&self, path: &PathState) -> bool {
        let headroom = self.model.inflight_with_headroom();
        headroom.is_none_or(|most| path.in_flight <= most)
            && path.in_flight <= self.inflight(self.model.max_bw)
    }

    /// IsTimeToGoDown. [BBR-Draft] §5.3.3.9.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        // Ours: reached where one packet more would be beyond, as a window of just
        // this size is never full to the byte, nor after an acknowledgement.
        if self.cycle.prev_probe_too_high
            && self.reaches_longterm(sample.prior_in_flight + self.mss)
        {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if self.round.is_cwnd_limited() && self.reaches_longterm(self.cwnd) {
            self.full_pipe.reset(sample.delivery_rate);
            return false;
        }
        self.full_pipe.now
    }

    fn reaches_longterm(&self, volume: Bytes) -> bool {
        let longterm = self.model.inflight_longterm;
        longterm.is_some_and(|longterm| volume >= longterm)
    }

    /// RaiseInflightLongtermSlope. [BBR-Draft] §5.3.3.9.
    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.up_acked_per_inc = Some((self.cwnd / growth_this_round).max(self.mss));
    }

    /// ProbeInflightLongtermUpward. [BBR-Draft] §5.3.3.9.
    fn probe_inflight_longterm_upward(&mut self, sample: &Sample) {
        if !self.round.is_cwnd_limited() || !self.reaches_longterm(self.cwnd) {
            return;
        }
        self.cycle.up_acked += sample.newly_acked;
        if let (Some(longterm), Some(per_inc)) = (
            &mut self.model.inflight_longterm,
            self.cycle.up_acked_per_inc,
        ) {
            let delta = self.cycle.up_acked.get() / per_inc.get();
            self.cycle.up_acked -= per_inc * delta;
            *longterm += self.mss * delta;
        }
        if self.round.start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// AdaptLongTermModel: tells whether it changed the state. [BBR-Draft] §5.3.3.9.
    fn adapt_long_term_model(&mut self, sample: &Sample, path: &PathState) -> bool {
        if self.round.start {
            match self.cycle.ack_phase {
                AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.is_bw_probe_sample = false;
                    self.cycle.ack_phase = AckPhase::Init;
                    if self.state.is_probe_bw() && !sample.app_limited {
                        self.model.advance_max_bw_filter();
                    }
                    if self.state.is_probe_bw()
                        && self.cycle.prev_probe_precautionary
                        && !self.cycle.prev_probe_too_high
                    {
                        self.start_probe_bw_refill(path);
                        return true;
                    }
                }
                _ => {}
            }
        }
        if !sample.is_inflight_too_high() {
            if let Some(longterm) = &mut self.model.inflight_longterm {
                *longterm = (*longterm).max(sample.tx_in_flight);
            }
            if self.state == State::ProbeBwUp {
                self.probe_inflight_longterm_upward(sample);
            }
        }
        false
    }

    /// HandleLostPacket after NoteLoss: did a probe put too much in flight?
    /// [BBR-Draft] §5.5.10.2.
    pub(super) fn check_probe_loss(&mut self, now: Time, packet: &Sent, path: &PathState) {
        if !self.cycle.is_bw_probe_sample {
            return;
        }
        let mut sample = Sample {
            delivery_rate: Rate::ZERO,
            delivered: Bytes::ZERO,
            prior_delivered: packet.delivered,
            prior_in_flight: path.in_flight,
            newly_acked: Bytes::ZERO,
            tx_in_flight: packet.in_flight,
            lost: self.losses.since(packet.number),
            rtt: None,
            app_limited: self.bubble.holds(packet),
        };
        if sample.is_inflight_too_high() {
            sample.tx_in_flight = inflight_at_loss(&sample, packet.size);
            self.handle_inflight_too_high(now, &sample, path);
        }
    }

    /// HandleInflightTooHigh. [BBR-Draft] §5.5.10.2.
    fn handle_inflight_too_high(&mut self, now: Time, sample: &Sample, path: &PathState) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !sample.app_limited {
            let least = self.target_inflight() * BETA;
            self.model.inflight_longterm = Some(sample.tx_in_flight.max(least));
        }
        if self.state == State::ProbeBwUp {
            self.undo.state = Some(State::ProbeBwUp);
            self.start_probe_bw_down(now, path);
        }
    }
}

/// InflightAtLoss: how much was in flight when losses crossed the threshold,
/// within the last packet. [BBR-Draft] §5.5.10.2.
fn inflight_at_loss(sample: &Sample, size: Bytes) -> Bytes {
    let inflight_prev = sample.tx_in_flight.saturating_sub(size);
    let lost_prev = sample.lost.saturating_sub(size);
    let room = inflight_prev.get_f64() * LOSS_THRESH - lost_prev.get_f64();
    Bytes::from_f64(inflight_prev.get_f64() + room / (1.0 - LOSS_THRESH))
}
