//! Round-trip times of one path. [RFC9002] §5.

use crate::units::{Span, Time};

/// Initial round-trip time, until there is a sample. [RFC9002] §6.2.2.
pub const INITIAL_RTT: Span = Span::from_millis(333);
/// Timer granularity. [RFC9002] §6.1.2.
pub const GRANULARITY: Span = Span::from_millis(1);
/// Time threshold of loss detection, as a ratio of the RTT. [RFC9002] §6.1.2.
const TIME_THRESHOLD: (i64, i64) = (9, 8);
/// Persistent congestion lasts this many probe timeouts. [RFC9002] §7.6.1.
const PERSISTENT: i64 = 3;

/// The estimator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    latest: Option<Span>,
    smoothed: Option<Span>,
    deviation: Span,
    min: Option<Span>,
    first_sample: Option<Time>,
}

impl Rtt {
    /// Takes a sample.
    pub fn on_sample(&mut self, now: Time, rtt: Span) {
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.deviation = rtt / 2;
                self.first_sample = Some(now);
            }
            Some(smoothed) => {
                self.deviation += ((smoothed - rtt).abs() - self.deviation) / 4;
                self.smoothed = Some(smoothed + (rtt - smoothed) / 8);
            }
        }
    }

    /// The last sample.
    #[must_use]
    pub const fn latest(&self) -> Option<Span> {
        self.latest
    }

    /// The smoothed round-trip time.
    #[must_use]
    pub const fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }

    /// The mean deviation.
    #[must_use]
    pub const fn deviation(&self) -> Span {
        self.deviation
    }

    /// The smallest sample since the path came up.
    #[must_use]
    pub const fn min(&self) -> Option<Span> {
        self.min
    }

    /// When the first sample came.
    #[must_use]
    pub const fn first_sample(&self) -> Option<Time> {
        self.first_sample
    }

    /// How much later than a packet that arrived another must have been sent
    /// before it is given up.
    #[must_use]
    pub fn loss_delay(&self) -> Span {
        let rtt = self.smoothed.unwrap_or(INITIAL_RTT);
        let rtt = rtt.max(self.latest.unwrap_or(rtt));
        let (numerator, denominator) = TIME_THRESHOLD;
        (rtt * numerator / denominator).max(GRANULARITY)
    }

    /// The probe timeout without back-off, for a receiver that holds feedback
    /// back for at most `feedback_delay`.
    #[must_use]
    pub fn probe_timeout(&self, feedback_delay: Span) -> Span {
        match self.smoothed {
            None => INITIAL_RTT * 2 + feedback_delay,
            Some(smoothed) => smoothed + (self.deviation * 4).max(GRANULARITY) + feedback_delay,
        }
    }

    /// Losing everything sent over this long is persistent congestion.
    #[must_use]
    pub fn persistent_congestion(&self, feedback_delay: Span) -> Span {
        self.probe_timeout(feedback_delay) * PERSISTENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn smoothing_follows_the_rfc_by_hand() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.probe_timeout(Span::ZERO), ms(666));
        rtt.on_sample(Time::ZERO, ms(40));
        assert_eq!((rtt.smoothed(), rtt.deviation()), (Some(ms(40)), ms(20)));
        assert_eq!(rtt.probe_timeout(ms(5)), ms(40 + 80 + 5));
        rtt.on_sample(Time::ZERO, ms(80));
        // deviation 3/4·20 + 1/4·40 = 25; smoothed 7/8·40 + 1/8·80 = 45.
        assert_eq!((rtt.smoothed(), rtt.deviation()), (Some(ms(45)), ms(25)));
        assert_eq!((rtt.latest(), rtt.min()), (Some(ms(80)), Some(ms(40))));
        assert_eq!(rtt.loss_delay(), ms(90));
        assert_eq!(rtt.persistent_congestion(Span::ZERO), ms(3 * 145));
    }

    #[test]
    fn a_zero_round_trip_leaves_the_granularity() {
        let mut rtt = Rtt::default();
        rtt.on_sample(Time::ZERO, Span::ZERO);
        assert_eq!(rtt.loss_delay(), GRANULARITY);
        assert_eq!(rtt.probe_timeout(Span::ZERO), GRANULARITY);
    }
}
