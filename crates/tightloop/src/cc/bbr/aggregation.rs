//! Acknowledgements that come in bunches: how much more at once than the rate.

use crate::filter::WindowedMax;
use crate::units::{Bytes, Rate, Span, Time};

/// Remembered for so many rounds. [BBRv2] §4.5.5; [QuicBBR].
const ROUNDS: u64 = 10;

/// The largest excess of the last rounds.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    /// Counted since then.
    since: Time,
    acked: Bytes,
    excess: WindowedMax<Bytes, u64>,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            since: Time::ZERO,
            acked: Bytes::ZERO,
            excess: WindowedMax::new(ROUNDS),
        }
    }

    /// So much was acknowledged; `most` bounds what counts as excess.
    pub(super) fn on_acked(&mut self, now: Time, round: u64, acked: Bytes, rate: Rate, most: Span) {
        let mut expected = rate.over(now - self.since);
        if self.acked <= expected {
            // No longer ahead of the rate: a new count.
            self.since = now;
            self.acked = Bytes::ZERO;
            expected = Bytes::ZERO;
        }
        self.acked += acked;
        let excess = self.acked.saturating_sub(expected);
        self.excess.push(round, excess.min(rate.over(most)));
    }

    /// The largest excess.
    pub(super) fn excess(&self, round: u64) -> Bytes {
        self.excess.get(round).unwrap_or(Bytes::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::pipe::MSS;

    #[test]
    fn the_excess_is_what_comes_beyond_the_rate() {
        let (rate, most) = (Rate::from_mbps(12), Span::from_millis(100));
        let mut aggregation = Aggregation::new();
        // A packet a millisecond is the rate.
        for ms in 1..50 {
            aggregation.on_acked(Time::from_millis(ms), 1, MSS, rate, most);
        }
        assert_eq!(aggregation.excess(1), MSS);
        // Nothing for 10 ms, then ten at once: nine more than one.
        for _ in 0..10 {
            aggregation.on_acked(Time::from_millis(60), 2, MSS, rate, most);
        }
        assert_eq!(aggregation.excess(2), MSS * 10);
        for ms in 70..80 {
            aggregation.on_acked(Time::from_millis(ms), 13, MSS, rate, most);
        }
        assert_eq!(aggregation.excess(13), MSS);
        // A whole second's worth counts as a tenth.
        aggregation.on_acked(Time::from_secs(9), 30, MSS * 1_000, rate, most);
        assert_eq!(aggregation.excess(30), MSS * 100);
    }
}
