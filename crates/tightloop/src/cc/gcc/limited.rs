//! Is the application the limit? A budget that fills at a share of the target
//! and empties with what is sent.

use crate::units::{Bytes, Rate, Span, Time};

/// The share of the target below which the application is the limit.
/// [AlphaRTC] ALR detector.
const SHARE: f64 = 0.65;
/// The budget holds this much, both ways. [AlphaRTC] interval budget.
const WINDOW: Span = Span::from_millis(500);
/// The application is the limit once the budget is this full. [AlphaRTC] ALR detector.
const BEGIN: f64 = 0.8;
/// And no longer once it is less full than this. [AlphaRTC] ALR detector.
const END: f64 = 0.5;

/// Tells when the application limits the sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Limited {
    rate: Rate,
    /// In bytes.
    budget: f64,
    last_sent: Option<Time>,
    since: Option<Time>,
}

impl Limited {
    /// Since when the application has been the limit.
    #[must_use]
    pub(super) const fn since(&self) -> Option<Time> {
        self.since
    }

    /// The sender's target has changed.
    pub(super) fn set_target(&mut self, target: Rate) {
        self.rate = target * SHARE;
        let most = self.most();
        self.budget = self.budget.clamp(-most, most);
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Time, size: Bytes) {
        let Some(last) = self.last_sent.replace(now) else {
            return;
        };
        let most = self.most();
        if most <= 0.0 {
            return;
        }
        let used = (self.budget - size.get_f64()).max(-most);
        let earned = self.rate.over(now - last).get_f64();
        self.budget = (used + earned).min(most);
        let full = self.budget / most;
        if full > BEGIN && self.since.is_none() {
            self.since = Some(now);
        } else if full < END {
            self.since = None;
        }
    }

    fn most(&self) -> f64 {
        self.rate.over(WINDOW).get_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends at a rate for so long.
    fn send(limited: &mut Limited, now: &mut Time, kbps: u64, span: Span) {
        let gap = Bytes::new(1_000).at(Rate::from_kbps(kbps)).expect("a rate");
        let end = *now + span;
        while *now < end {
            limited.on_sent(*now, Bytes::new(1_000));
            *now += gap;
        }
    }

    #[test]
    fn less_than_two_thirds_of_the_target_is_limited_and_more_is_not() {
        let mut limited = Limited::default();
        limited.set_target(Rate::from_mbps(1));
        let mut now = Time::from_secs(1);
        send(&mut limited, &mut now, 700, Span::from_secs(8));
        assert_eq!(limited.since(), None);
        // From empty to 80 % at 250 of 650 kbit/s takes 1.8 · 500 · 650/400 ms = 1.46 s.
        send(&mut limited, &mut now, 250, Span::from_millis(1_400));
        assert_eq!(limited.since(), None);
        send(&mut limited, &mut now, 250, Span::from_millis(200));
        assert!(limited.since().is_some());
        // From 80 % and a little more to 50 % at 1.2 of 0.65 Mbit/s.
        send(&mut limited, &mut now, 1_200, Span::from_millis(400));
        assert_eq!(limited.since(), None);
    }
}
