//! Whether the pipe is full: a delivery rate that has stopped growing.

use super::sample::Sample;
use crate::units::Rate;

/// Growth by less than this is none. [BBR-Draft] §5.3.1.2.
const GROWTH: f64 = 1.25;
/// So many rounds without growth fill the pipe. [BBR-Draft] §5.3.1.2.
const ROUNDS: u32 = 3;

/// The estimator. [BBR-Draft] §2.13, §5.3.1.2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw_reached: ever.
    pub(super) reached: bool,
    /// BBR.full_bw_now: since it was last reset.
    pub(super) now: bool,
    /// BBR.full_bw: the baseline.
    pub(super) bw: Rate,
    /// BBR.full_bw_count.
    pub(super) count: u32,
}

impl FullPipe {
    /// Starts looking, from this baseline.
    pub(super) const fn reset(&mut self, baseline: Rate) {
        self.bw = baseline;
        self.count = 0;
        self.now = false;
    }

    /// CheckFullBWReached, with a sample that starts a round.
    pub(super) fn on_round(&mut self, sample: &Sample) {
        // Ours: a round whose sample has no rate is no evidence either way.
        if self.now || sample.app_limited || sample.delivery_rate == Rate::ZERO {
            return;
        }
        if sample.delivery_rate >= self.bw * GROWTH {
            self.reset(sample.delivery_rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= ROUNDS;
        self.reached |= self.now;
    }
}
