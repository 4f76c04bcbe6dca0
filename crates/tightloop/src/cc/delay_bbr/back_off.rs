//! The back-off: send less than arrives until a pipe full is in flight.

use crate::units::{Bytes, Span, Time};

/// One that was entered because the minimum was too old lasts for more than so
/// many of it. [DelayBBR-Code] bbr_sender_v5.
const MIN_RTTS: i64 = 4;

/// A back-off, named ProbeRTT in the paper's state machine. [DelayBBR] Alg. 5.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackOff {
    /// What may be in flight at its end: the BDP as of its beginning.
    bdp: Bytes,
    since: Time,
    /// The minimum round trip was too old, and then is; not a queue.
    expiry: bool,
    /// The smallest round trip meanwhile.
    min: Option<Span>,
}

impl BackOff {
    pub(super) const fn new(now: Time, bdp: Bytes, expiry: bool) -> Self {
        Self {
            bdp,
            since: now,
            expiry,
            min: None,
        }
    }

    /// A round trip meanwhile.
    pub(super) fn on_sample(&mut self, rtt: Span) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// Enough of the queue is gone.
    pub(super) fn is_over(&self, now: Time, in_flight: Bytes, min_rtt: Span) -> bool {
        let long_enough = !self.expiry || now - self.since > min_rtt * MIN_RTTS;
        long_enough && in_flight <= self.bdp
    }

    /// The new minimum round trip, where it was about that.
    pub(super) fn measured(&self) -> Option<Span> {
        self.min.filter(|_| self.expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_ends_with_a_pipe_in_flight_and_expiry_takes_four_round_trips() {
        let (ms, at, pipe) = (Span::from_millis, Time::from_millis, Bytes::new(75_000));
        let congested = BackOff::new(at(1_000), pipe, false);
        assert!(!congested.is_over(at(1_001), pipe + Bytes::new(1), ms(200)));
        assert!(congested.is_over(at(1_001), pipe, ms(200)));
        let mut expired = BackOff::new(at(1_000), pipe, true);
        assert!(!expired.is_over(at(1_800), pipe, ms(200)));
        assert!(!expired.is_over(at(1_801), pipe + Bytes::new(1), ms(200)));
        assert!(expired.is_over(at(1_801), pipe, ms(200)));
        for rtt in [240, 210, 230] {
            expired.on_sample(ms(rtt));
        }
        assert_eq!(expired.measured(), Some(ms(210)));
        assert_eq!(congested.measured(), None);
    }
}
