//! The propagation round trip: the smallest one seen lately.

use crate::units::{Span, Time};

/// The smallest round trip, and when it was last seen. [BBRv1] §4.1.2.
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    window: Span,
    /// An equal one counts as seen again.
    renews: bool,
    min: Option<Span>,
    seen: Time,
}

impl MinRtt {
    /// That is too old after this long; `renews` tells whether an equal round
    /// trip keeps it young.
    pub(super) const fn new(window: Span, renews: bool) -> Self {
        Self {
            window,
            renews,
            min: None,
            seen: Time::ZERO,
        }
    }

    /// A round trip. True where the minimum was too old: then this is the new
    /// one, whatever it is.
    pub(super) fn on_sample(&mut self, now: Time, rtt: Span) -> bool {
        let expired = self.min.is_some() && now - self.seen > self.window;
        let counts = |min| rtt < min || (self.renews && rtt == min);
        if expired || self.min.is_none_or(counts) {
            self.min = Some(rtt);
            self.seen = now;
        }
        expired
    }

    /// It has just been measured on purpose.
    pub(super) const fn refresh(&mut self, now: Time) {
        self.seen = now;
    }

    /// The minimum; `None` before the first sample.
    pub(super) const fn get(&self) -> Option<Span> {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_without_a_smaller_one_make_it_too_old() {
        let (ms, at) = (Span::from_millis, Time::from_millis);
        let mut min = MinRtt::new(Span::from_secs(10), true);
        assert!(!min.on_sample(at(20_000), ms(50)));
        assert!(!min.on_sample(at(21_000), ms(40)));
        assert!(!min.on_sample(at(22_000), ms(45)));
        // As small as it gets: seen again.
        assert!(!min.on_sample(at(23_000), ms(40)));
        assert!(!min.on_sample(at(33_000), ms(60)));
        assert_eq!(min.get(), Some(ms(40)));
        assert!(min.on_sample(at(33_001), ms(60)));
        assert_eq!(min.get(), Some(ms(60)));
        min.refresh(at(34_000));
        assert!(!min.on_sample(at(44_000), ms(61)));
        assert!(min.on_sample(at(44_001), ms(61)));
    }
    #[test]
    fn an_equal_one_renews_it_or_not() {
        let (ms, at) = (Span::from_millis, Time::from_secs);
        for renews in [true, false] {
            let mut min = MinRtt::new(Span::from_secs(10), renews);
            min.on_sample(at(1), ms(40));
            min.on_sample(at(9), ms(40));
            assert_eq!(min.on_sample(at(12), ms(41)), !renews);
        }
    }
}
