//! genericCC's guard against losses that no one can ignore.

use crate::cc::Feedback;
use crate::units::{Span, Time, count, float};

/// Loss is counted over so many round trips. [GenericCC] markoviancc.cc.
const ROUND_TRIPS: i64 = 2;
/// It needs more than so many packets to be judged. [GenericCC] markoviancc.cc.
const MIN_PACKETS: u64 = 20;
/// Above this share it is heavy. [GenericCC] markoviancc.cc.
const SHARE: f64 = 0.3;

/// Counts what was acknowledged and what was lost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeavyLoss {
    since: Time,
    acked: u64,
    lost: u64,
}

impl HeavyLoss {
    /// True where two round trips have just ended with heavy loss.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, srtt: Span) -> bool {
        self.acked += count(feedback.acked.len());
        self.lost += count(feedback.lost.len());
        if now - self.since <= srtt * ROUND_TRIPS {
            return false;
        }
        let all = self.acked + self.lost;
        let heavy = all > MIN_PACKETS && float(self.lost) > SHARE * float(all);
        *self = Self {
            since: now,
            ..Self::default()
        };
        heavy
    }
}
