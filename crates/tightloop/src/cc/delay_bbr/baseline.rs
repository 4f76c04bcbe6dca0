//! The round trip that a queue is told by: the smallest since the last back-off.

use crate::units::Span;

/// The smallest round trip of packets sent since the last back-off, and a mean
/// of the latest ones. [DelayBBR] Alg. 2 and Eq. 12.
#[derive(Clone, Copy, Debug)]
pub(super) struct Baseline {
    /// α, the weight of the newest round trip.
    alpha: f64,
    /// Packets before this one left before the last back-off.
    first: u64,
    known: Option<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    min: Span,
    smoothed: Span,
}

impl Baseline {
    pub(super) const fn new(alpha: f64) -> Self {
        Self {
            alpha,
            first: 0,
            known: None,
        }
    }

    /// A back-off: only what is sent from this number on counts.
    pub(super) const fn forget(&mut self, next: u64) {
        self.first = next;
        self.known = None;
    }

    /// A packet's round trip.
    pub(super) fn on_acked(&mut self, number: u64, rtt: Span) {
        if number < self.first {
            return;
        }
        self.known = Some(match self.known {
            Some(known) if rtt >= known.min => Known {
                smoothed: known.smoothed + (rtt - known.smoothed) * self.alpha,
                ..known
            },
            // A new minimum is the mean too.
            _ => Known {
                min: rtt,
                smoothed: rtt,
            },
        });
    }

    /// The mean exceeds the minimum by this factor. [DelayBBR] Alg. 4.
    pub(super) fn exceeds(&self, factor: f64) -> bool {
        self.known
            .is_some_and(|known| known.smoothed > known.min * factor)
    }

    pub(super) fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        if let Some(known) = self.known {
            gauge("srtt_s", known.smoothed.secs_f64());
            gauge("base_line_rtt_s", known.min.secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(i64) -> Span = Span::from_millis;

    #[test]
    fn the_newest_round_trip_weighs_nine_tenths() {
        let mut baseline = Baseline::new(0.9);
        baseline.on_acked(0, MS(200));
        baseline.on_acked(1, MS(230));
        // 0.1 · 200 + 0.9 · 230 = 227.
        assert_eq!(baseline.known.map(|known| known.smoothed), Some(MS(227)));
        assert!(!baseline.exceeds(1.2));
        // 0.1 · 227 + 0.9 · 250 = 247.7, above 240.
        baseline.on_acked(2, MS(250));
        assert!(baseline.exceeds(1.2));
        // A new minimum starts both again.
        baseline.on_acked(3, MS(190));
        assert!(!baseline.exceeds(1.0));
    }

    #[test]
    fn packets_sent_before_the_back_off_say_nothing() {
        let mut baseline = Baseline::new(0.9);
        baseline.on_acked(0, MS(200));
        baseline.forget(10);
        baseline.on_acked(9, MS(400));
        assert!(baseline.known.is_none());
        baseline.on_acked(10, MS(260));
        assert_eq!(baseline.known.map(|known| known.min), Some(MS(260)));
    }
}
