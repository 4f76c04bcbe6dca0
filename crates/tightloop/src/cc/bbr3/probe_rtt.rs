//! ProbeRTT: half of the pipe for a moment, to see the path without a queue.

use super::probe_bw::AckPhase;
use super::{Bbr3, Bytes, PathState, Sample, Span, State, Time};

/// BBR.ProbeRTTDuration. [BBR-Draft] §2.16.2.
const DURATION: Span = Span::from_millis(200);

/// How far a ProbeRTT has come. [BBR-Draft] §5.3.4.3.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// BBR.probe_rtt_done_stamp.
    done_stamp: Option<Time>,
    /// BBR.probe_rtt_round_done.
    round_done: bool,
}

impl Bbr3 {
    /// CheckProbeRTT. [BBR-Draft] §5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, now: Time, sample: &Sample, path: &PathState) {
        if self.state != State::ProbeRtt && self.rtt.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt = ProbeRtt::default();
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.round.restart(path);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now, path);
        }
        if sample.delivered > Bytes::ZERO {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT. [BBR-Draft] §5.3.4.3.
    fn handle_probe_rtt(&mut self, now: Time, path: &PathState) {
        self.bubble.mark(self.next_number, path);
        if self.probe_rtt.done_stamp.is_none() {
            if path.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done_stamp = Some(now + DURATION);
                self.probe_rtt.round_done = false;
                self.round.restart(path);
            }
            return;
        }
        self.probe_rtt.round_done |= self.round.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(now, path);
        }
    }

    /// CheckProbeRTTDone. [BBR-Draft] §5.3.4.3.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time, path: &PathState) {
        if self.probe_rtt.done_stamp.is_some_and(|done| now > done) {
            self.rtt.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now, path);
        }
    }

    /// ExitProbeRTT. [BBR-Draft] §5.3.4.4.
    fn exit_probe_rtt(&mut self, now: Time, path: &PathState) {
        self.model.reset_short_term();
        if self.full_pipe.reached {
            self.start_probe_bw_down(now, path);
            self.state = State::ProbeBwCruise;
        } else {
            self.enter_startup();
        }
    }
}
