//! Startup: double the rate each round, until the pipe is full.

use super::{Bbr3, Sample, State};

/// BBRStartupFullLossCnt: so many runs of losses in a round fill the pipe.
/// [BBR-Draft] §5.3.1.3.
const FULL_LOSS_COUNT: u32 = 6;

impl Bbr3 {
    /// EnterStartup. [BBR-Draft] §5.3.1.1.
    pub(super) const fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckStartupDone. [BBR-Draft] §5.3.1.1.
    pub(super) fn check_startup_done(&mut self, sample: &Sample) {
        self.check_startup_high_loss(sample);
        if self.state == State::Startup && self.full_pipe.reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss: a round since the first loss has passed, and too
    /// much was lost in it, in too many places. [BBR-Draft] §5.3.1.3.
    fn check_startup_high_loss(&mut self, sample: &Sample) {
        if !self.model.loss_round_start {
            return;
        }
        let runs = std::mem::take(&mut self.losses.runs);
        if self.state != State::Startup
            || self.full_pipe.reached
            || runs < FULL_LOSS_COUNT
            || !sample.is_inflight_too_high()
        {
            return;
        }
        self.undo.state = Some(State::Startup);
        self.full_pipe.reached = true;
        // §5.3.1.3 names the former alone, the test in the appendix both.
        self.full_pipe.now = true;
        let safe = self.bdp().max(self.model.inflight_latest);
        self.model.inflight_longterm = Some(safe);
    }
}
