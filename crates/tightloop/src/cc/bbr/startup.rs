//! Startup's end: the pipe is full once the bandwidth stops growing.

use crate::units::Rate;

/// It must grow by this factor. [BBRv1] §4.3.2.2.
const GROWTH: f64 = 1.25;
/// In so many rounds. [BBRv1] §4.3.2.2.
const ROUNDS: u32 = 3;

/// Watches for the plateau.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct FullPipe {
    plateau: Rate,
    rounds: u32,
    reached: bool,
}

impl FullPipe {
    /// A round began with this estimate, the path being the limit.
    pub(in crate::cc) fn on_round(&mut self, bandwidth: Rate) {
        if self.reached {
            return;
        }
        if bandwidth >= self.plateau * GROWTH {
            self.plateau = bandwidth;
            self.rounds = 0;
        } else {
            self.rounds += 1;
            self.reached = self.rounds >= ROUNDS;
        }
    }

    /// Something else says that it is full.
    pub(in crate::cc) const fn declare(&mut self) {
        self.reached = true;
    }

    /// Nothing arrives any more: what was known of the plateau may be wrong.
    pub(in crate::cc) const fn doubt(&mut self) {
        self.plateau = Rate::ZERO;
    }

    /// It is full, or was once.
    pub(in crate::cc) const fn reached(&self) -> bool {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_below_a_quarter_more_fill_the_pipe() {
        let mut pipe = FullPipe::default();
        let mut after = |mbps: &[u64]| {
            for mbps in mbps {
                pipe.on_round(Rate::from_mbps(*mbps));
            }
            pipe.reached()
        };
        // 100, then 125 is exactly a quarter more.
        assert!(!after(&[100, 124, 124, 125]));
        assert!(!after(&[156, 156]));
        assert!(after(&[156]));
        assert!(after(&[1_000]));
    }
}
