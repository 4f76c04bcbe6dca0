//! Round trips timed by packets. [BBR-Draft] §5.5.1.

use super::sample::Sample;
use crate::cc::PathState;
use crate::units::Bytes;

/// BBR.round_count, and whether the window was the limit in the last round.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// BBR.next_round_delivered.
    next_delivered: Bytes,
    /// BBR.round_start.
    pub(super) start: bool,
    /// BBR.round_count.
    pub(super) count: u64,
    /// The window was full in this round, and in the one before.
    limited: [bool; 2],
}

impl Round {
    /// UpdateRound: tells whether a round begins.
    pub(super) fn update(&mut self, sample: &Sample, path: &PathState) -> bool {
        self.start = sample.prior_delivered >= self.next_delivered;
        if self.start {
            self.restart(path);
            self.count += 1;
            self.limited = [false, self.limited[0]];
        }
        self.start
    }

    /// StartRound: a round begins with the next packet.
    pub(super) const fn restart(&mut self, path: &PathState) {
        self.next_delivered = path.delivered;
    }

    /// A packet left, and perhaps filled the window.
    pub(super) const fn on_sent(&mut self, fills_window: bool) {
        self.limited[0] |= fills_window;
    }

    /// C.is_cwnd_limited: within the last round. [BBR-Draft] §2.2.
    pub(super) const fn is_cwnd_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }
}
