//! When a path may send: one virtual clock for the pacing rate, one for the floor.

use crate::units::{Bytes, Rate, Span, Time};

/// A path's pacer.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    next: Time,
    floor_next: Time,
    /// How much of a late wake-up may be caught up with. Zero where timers are
    /// exact; a socket's driver sets what its timers need.
    slack: Span,
}

impl Pacer {
    /// A pacer that may send at once.
    #[must_use]
    pub const fn new(slack: Span) -> Self {
        Self {
            next: Time::ZERO,
            floor_next: Time::ZERO,
            slack,
        }
    }

    /// When the next packet may leave.
    #[must_use]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// When filler is due if nothing else was sent.
    #[must_use]
    pub const fn floor_next(&self) -> Time {
        self.floor_next
    }

    /// A packet leaves. A rate of zero holds the next one until the rate
    /// changes; [`Pacer::on_change`] then frees it.
    pub fn on_sent(&mut self, now: Time, size: Bytes, pacing: Option<Rate>, floor: Option<Rate>) {
        if let Some(rate) = pacing {
            let earliest = self.next.max(now - self.slack);
            self.next = size.at(rate).map_or(FAR, |span| earliest + span);
        }
        if let Some(rate) = floor.filter(|rate| *rate > Rate::ZERO) {
            let earliest = self.floor_next.max(now - self.slack);
            self.floor_next = size.at(rate).map_or(FAR, |span| earliest + span);
        }
    }

    /// The controller changed its mind: a wait that the new rate would not
    /// have asked for is cut short.
    pub fn on_change(&mut self, now: Time, mss: Bytes, pacing: Option<Rate>, floor: Option<Rate>) {
        let cut = |next: Time, rate: Option<Rate>| match rate {
            None => now.min(next),
            Some(rate) => next.min(mss.at(rate).map_or(FAR, |span| now + span)),
        };
        self.next = cut(self.next, pacing);
        // A floor that has just appeared starts to count now.
        self.floor_next = match floor {
            None => now,
            Some(_) => cut(self.floor_next.max(now), floor),
        };
    }
}

/// Beyond any run: a rate of zero never sends.
const FAR: Time = Time::from_nanos(u64::MAX);

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1500);

    #[test]
    fn packets_are_spaced_by_the_rate() {
        let mut pacer = Pacer::new(Span::ZERO);
        let rate = Some(Rate::from_mbps(12));
        for nth in 0..5 {
            assert_eq!(pacer.next(), Time::from_millis(nth));
            pacer.on_sent(Time::from_millis(nth), PACKET, rate, None);
        }
    }

    #[test]
    fn idle_time_is_not_saved_up_but_lateness_within_the_slack_is() {
        let rate = Some(Rate::from_mbps(12));
        let mut exact = Pacer::new(Span::ZERO);
        let mut lenient = Pacer::new(Span::from_millis(2));
        for pacer in [&mut exact, &mut lenient] {
            pacer.on_sent(Time::from_millis(100), PACKET, rate, None);
        }
        assert_eq!(exact.next(), Time::from_millis(101));
        assert_eq!(lenient.next(), Time::from_millis(99));
    }

    #[test]
    fn a_rate_of_zero_holds_until_it_changes() {
        let mut pacer = Pacer::new(Span::ZERO);
        pacer.on_sent(Time::ZERO, PACKET, Some(Rate::ZERO), None);
        assert_eq!(pacer.next(), FAR);
        pacer.on_change(
            Time::from_millis(5),
            PACKET,
            Some(Rate::from_mbps(12)),
            None,
        );
        assert_eq!(pacer.next(), Time::from_millis(6));
    }

    #[test]
    fn any_packet_counts_towards_the_floor() {
        let mut pacer = Pacer::new(Span::ZERO);
        let floor = Some(Rate::from_mbps(12));
        pacer.on_change(Time::from_millis(10), PACKET, None, floor);
        assert_eq!(pacer.floor_next(), Time::from_millis(10));
        pacer.on_sent(Time::from_millis(10), PACKET, None, floor);
        pacer.on_sent(Time::from_millis(10), PACKET, None, floor);
        assert_eq!(pacer.floor_next(), Time::from_millis(12));
    }
}
