//! What the model means for the sender: pacing rate, window, and the way back
//! from a loss that was none.

use super::{Bbr3, Bytes, PathState, Rate, Sample, Span, State};

/// BBR.PacingMarginPercent: paced is so much less than BBR.bw. [BBR-Draft] §2.5.
const PACING_MARGIN: f64 = 0.01;
/// An RTT not known yet counts as this. [BBR-Draft] §5.6.2.
const INITIAL_RTT: Span = Span::from_millis(1);
/// What a send quantum lasts. [BBR-Draft] §5.6.3.
const QUANTUM_TIME: Span = Span::from_millis(1);
/// The largest send quantum. [BBR-Draft] §5.6.3.
const MAX_QUANTUM: Bytes = Bytes::new(64 << 10);
/// The smallest send quantum in packets. [BBR-Draft] §5.6.3.
const MIN_QUANTUM: u64 = 2;
/// Packets that ProbeBW_UP puts in flight on top. [BBR-Draft] §5.6.4.2.
const UP_EXTRA: u64 = 2;
/// Ours: a packet in this time is paced at least, so that a rate of zero does
/// not hold the flow for ever.
const LONGEST_GAP: Span = Span::from_secs(1);

impl Bbr3 {
    /// InitPacingRate. [BBR-Draft] §5.6.2.
    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Span>) {
        let rtt = rtt.filter(|rtt| rtt.is_positive()).unwrap_or(INITIAL_RTT);
        let nominal = self.initial_cwnd.per(rtt).unwrap_or(Rate::ZERO);
        self.set_pacing(nominal * State::Startup.pacing_gain());
    }

    /// SetPacingRateWithGain. [BBR-Draft] §5.6.2.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.model.bw * (gain * (1.0 - PACING_MARGIN));
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.set_pacing(rate);
        }
    }

    fn set_pacing(&mut self, rate: Rate) {
        let least = self.mss.per(LONGEST_GAP).unwrap_or(rate);
        self.pacing_rate = rate.max(least);
    }

    /// SetSendQuantum. [BBR-Draft] §5.6.3.
    fn send_quantum(&self) -> Bytes {
        let quantum = self.pacing_rate.over(QUANTUM_TIME).min(MAX_QUANTUM);
        quantum.max(self.mss * MIN_QUANTUM)
    }

    /// BDPMultiple; the first window until an RTT is known. [BBR-Draft] §5.6.4.2.
    fn bdp_multiple(&self, bw: Rate, gain: f64) -> Bytes {
        let min_rtt = self.rtt.min_rtt;
        min_rtt.map_or(self.initial_cwnd, |min_rtt| bw.over(min_rtt) * gain)
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> Bytes {
        self.bdp_multiple(self.model.bw, 1.0)
    }

    /// QuantizationBudget, with the offload budget of QUIC: one send quantum.
    /// [BBR-Draft] §5.5.8.2, §5.6.4.2.
    fn quantization_budget(&self, inflight_cap: Bytes) -> Bytes {
        let cap = inflight_cap.max(self.send_quantum());
        let cap = cap.max(self.model.min_pipe_cwnd());
        if self.state == State::ProbeBwUp {
            cap + self.mss * UP_EXTRA
        } else {
            cap
        }
    }

    /// Inflight(bw, 1.0). [BBR-Draft] §5.6.4.2.
    pub(super) fn inflight(&self, bw: Rate) -> Bytes {
        self.quantization_budget(self.bdp_multiple(bw, 1.0))
    }

    /// TargetInflight. [BBR-Draft] §5.3.3.8.3.
    pub(super) fn target_inflight(&self) -> Bytes {
        self.bdp().min(self.cwnd)
    }

    /// BBR.max_inflight. [BBR-Draft] §5.6.4.2.
    pub(super) fn max_inflight(&self) -> Bytes {
        let bdp = self.bdp_multiple(self.model.bw, self.state.cwnd_gain());
        self.quantization_budget(bdp + self.aggregation.extra_acked)
    }

    /// ProbeRTTCwnd. [BBR-Draft] §5.6.4.5.
    pub(super) fn probe_rtt_cwnd(&self) -> Bytes {
        let half = self.bdp_multiple(self.model.bw, State::ProbeRtt.cwnd_gain());
        half.max(self.model.min_pipe_cwnd())
    }

    /// SetCwnd. [BBR-Draft] §5.6.4.6.
    pub(super) fn set_cwnd(&mut self, sample: &Sample, path: &PathState) {
        let max_inflight = self.max_inflight();
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + sample.newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || path.delivered < self.initial_cwnd {
            self.cwnd += sample.newly_acked;
        }
        self.cwnd = self.cwnd.max(self.model.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    /// BoundCwndForModel. [BBR-Draft] §5.6.4.7.
    fn bound_cwnd_for_model(&mut self) {
        let longterm = match self.state {
            State::ProbeRtt | State::ProbeBwCruise => self.model.inflight_with_headroom(),
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => {
                self.model.inflight_longterm
            }
            State::Startup | State::Drain => None,
        };
        let caps = [longterm, self.model.inflight_shortterm];
        if let Some(cap) = caps.into_iter().flatten().min() {
            self.cwnd = self.cwnd.min(cap.max(self.model.min_pipe_cwnd()));
        }
    }

    /// SaveCwnd. [BBR-Draft] §5.6.4.4.
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.losses.in_recovery() || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// RestoreCwnd. [BBR-Draft] §5.6.4.4.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// What is restored where an episode of losses was none. [BBR-Draft] §2.15.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// BBR.undo_state.
    pub(super) state: Option<State>,
    bw_shortterm: Option<Rate>,
    inflight_shortterm: Option<Bytes>,
    inflight_longterm: Option<Bytes>,
}

/// The larger of two bounds, where `None` is infinity.
fn looser<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a?.max(b?))
}

impl Bbr3 {
    /// SaveStateUponLoss. [BBR-Draft] §5.5.11.1.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection. [BBR-Draft] §5.5.11.2.
    pub(super) fn handle_spurious_loss(&mut self, path: &PathState) {
        self.restore_cwnd();
        self.model.is_loss_in_round = false;
        self.full_pipe.reset(Rate::ZERO);
        let (model, undo) = (&mut self.model, self.undo);
        model.bw_shortterm = looser(model.bw_shortterm, undo.bw_shortterm);
        model.inflight_shortterm = looser(model.inflight_shortterm, undo.inflight_shortterm);
        model.inflight_longterm = looser(model.inflight_longterm, undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeBwUp) if !matches!(self.state, State::ProbeBwUp | State::ProbeRtt) => {
                self.start_probe_bw_refill(path);
            }
            _ => {}
        }
        self.undo.state = None;
    }
}
