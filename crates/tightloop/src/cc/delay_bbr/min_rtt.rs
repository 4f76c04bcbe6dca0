//! The propagation round trip: a minimum that near misses keep alive.

use crate::units::{Span, Time};

/// A round trip this close to the minimum shows that it still holds. [DelayBBR-Code] bbr_sender_v5.
const SIMILAR: f64 = 1.125;

/// The smallest round trip, and when one like it was last seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    window: Span,
    /// Before the first sample.
    initial: Span,
    min: Option<Span>,
    seen: Time,
}

impl MinRtt {
    pub(super) const fn new(window: Span, initial: Span) -> Self {
        Self {
            window,
            initial,
            min: None,
            seen: Time::ZERO,
        }
    }

    /// A round trip.
    pub(super) fn on_sample(&mut self, now: Time, rtt: Span) {
        match self.min {
            Some(min) if rtt > min * SIMILAR => {}
            Some(min) if rtt > min => self.seen = now,
            _ => self.set(now, rtt),
        }
    }

    /// Measured on purpose: whatever it was before.
    pub(super) const fn set(&mut self, now: Time, rtt: Span) {
        self.min = Some(rtt);
        self.seen = now;
    }

    /// None like it has been seen for too long.
    pub(super) fn is_expired(&self, now: Time) -> bool {
        self.min.is_some() && now - self.seen > self.window
    }

    /// The minimum.
    pub(super) fn get(&self) -> Span {
        self.min.unwrap_or(self.initial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_more_keeps_it_alive_and_does_not_raise_it() {
        let (ms, at) = (Span::from_millis, Time::from_secs);
        let mut min = MinRtt::new(Span::from_secs(10), ms(200));
        assert_eq!(min.get(), ms(200));
        assert!(!min.is_expired(at(60)));
        min.on_sample(at(1), ms(80));
        min.on_sample(at(9), ms(90));
        assert_eq!(min.get(), ms(80));
        assert!(!min.is_expired(at(19)));
        min.on_sample(at(18), ms(91));
        assert!(min.is_expired(at(20)));
        min.on_sample(at(20), ms(80));
        assert!(!min.is_expired(at(30)));
        min.set(at(31), ms(120));
        assert_eq!(min.get(), ms(120));
    }
}
