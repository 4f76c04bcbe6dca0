//! What BBR does at the moment.

use super::probe_rtt::ProbeRtt;

/// Its state. [BBRv1] §4.3.1.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    /// Looks for the rate.
    Startup,
    /// Empties the queue that this made.
    Drain,
    /// Sends at the rate, and a little more in turns.
    ProbeBw,
    /// Looks for the empty path's round trip.
    ProbeRtt(ProbeRtt),
}

impl State {
    /// In the order in which they are first entered, for a gauge.
    pub(super) const fn number(self) -> u64 {
        match self {
            Self::Startup => 0,
            Self::Drain => 1,
            Self::ProbeBw => 2,
            Self::ProbeRtt(_) => 3,
        }
    }
}
