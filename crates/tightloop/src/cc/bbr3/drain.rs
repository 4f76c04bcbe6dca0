//! Drain: empty the queue that Startup made.

use super::{Bbr3, PathState, State, Time};

/// Rounds after which Drain ends in any case. [BBR-Draft] §5.3.2.
const MAX_ROUNDS: u64 = 3;

impl Bbr3 {
    /// EnterDrain. [BBR-Draft] §5.3.2.
    pub(super) const fn enter_drain(&mut self) {
        self.state = State::Drain;
        self.drain_start_round = self.round.count;
    }

    /// CheckDrainDone. [BBR-Draft] §5.3.2.
    pub(super) fn check_drain_done(&mut self, now: Time, path: &PathState) {
        if self.state == State::Drain
            && (path.in_flight <= self.inflight(self.model.bw)
                || self.round.count > self.drain_start_round + MAX_ROUNDS)
        {
            self.start_probe_bw_down(now, path);
        }
    }
}
