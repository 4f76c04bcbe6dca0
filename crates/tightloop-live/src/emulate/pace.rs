//! How to wait: sleep until shortly before, then spin, within limits.
//!
//! A sleeping thread wakes late, by tens of microseconds where its processor
//! has gone idle; a spinning one is punctual but keeps a core busy. So the
//! last part of a wait is spun, as far as a budget allows. A thread of
//! real-time priority that never sleeps is stopped by the kernel for tens of
//! milliseconds at a time: when there is that much to do it gives its priority
//! back for a while.

use tightloop::units::{Span, Time};

/// The share of one core that may be spun away. Ours: the kernel stops
/// real-time threads at 95 %.
const SPIN_SHARE: f64 = 0.8;
/// How long may be spun without a pause after a rest. Ours.
const SPIN_MOST: Span = Span::from_millis(5);
/// Over this long the share of time awake is taken. Ours: the kernel's own
/// period is a second.
const WINDOW: Span = Span::from_millis(100);
/// Above this share of time awake real-time priority is given back, below the
/// other it is taken again. Ours, with room to the kernel's 95 %.
const TOO_BUSY: f64 = 0.9;
const CALM: f64 = 0.6;

/// What to do until the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Look again at once.
    Spin,
    /// Sleep until something arrives, this long at most.
    Sleep(Option<Span>),
}

/// Keeps the budget of a thread that waits.
#[derive(Clone, Debug)]
pub struct Pace {
    margin: Span,
    credit: Span,
    /// No spinning until some credit is back.
    resting: bool,
    last: Time,
    window: Time,
    asleep: Span,
    urgent: bool,
}

impl Pace {
    /// Spins the last `margin` of each wait.
    #[must_use]
    pub fn new(margin: Span, now: Time) -> Self {
        Self {
            margin,
            credit: SPIN_MOST,
            resting: false,
            last: now,
            window: now,
            asleep: Span::ZERO,
            urgent: true,
        }
    }

    /// What to do at `now`, with nothing left to do before `next`.
    #[inline]
    pub fn wait(&mut self, now: Time, next: Option<Time>) -> Wait {
        let passed = now - self.last;
        self.last = now;
        self.credit = (self.credit + passed * SPIN_SHARE).min(SPIN_MOST);
        let Some(next) = next else {
            return Wait::Sleep(None);
        };
        let left = next - now;
        if !left.is_positive() {
            return Wait::Spin;
        }
        if left > self.margin {
            return Wait::Sleep(Some(left - self.margin));
        }
        if self.resting && self.credit < self.margin {
            return Wait::Sleep(Some(left));
        }
        self.resting = !self.credit.is_positive();
        if self.resting {
            return Wait::Sleep(Some(left));
        }
        Wait::Spin
    }

    /// The time until `now` since the last wait was spun.
    #[inline]
    pub fn spun(&mut self, now: Time) {
        self.credit -= now - self.last;
    }

    /// The time from `from` to `now` was slept.
    #[inline]
    pub fn slept(&mut self, from: Time, now: Time) {
        self.asleep += now - from;
    }

    /// Whether real-time priority should be had from now on, where that changes.
    #[inline]
    pub fn urgency(&mut self, now: Time) -> Option<bool> {
        let passed = now - self.window;
        if passed < WINDOW {
            return None;
        }
        let awake = 1.0 - self.asleep.ratio(passed);
        self.window = now;
        self.asleep = Span::ZERO;
        let urgent = awake < if self.urgent { TOO_BUSY } else { CALM };
        let changed = urgent != self.urgent;
        self.urgent = urgent;
        changed.then_some(urgent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: Span = Span::from_micros(150);

    /// Events every `gap` for a second, sleeps that end `late` too late: the
    /// share of time spun, and of events that were met on time.
    fn live(gap: Span, late: Span) -> (f64, f64) {
        let mut pace = Pace::new(MARGIN, Time::ZERO);
        let (mut now, mut spun) = (Time::ZERO, Span::ZERO);
        let (mut met, mut all) = (0, 0);
        let mut next = now + gap;
        let look = Span::from_nanos(500);
        while now < Time::from_secs(1) {
            match pace.wait(now, Some(next)) {
                Wait::Spin if now < next => {
                    now += look;
                    spun += look;
                    pace.spun(now);
                }
                Wait::Sleep(Some(span)) => now += span + late,
                _ => {}
            }
            if now >= next {
                all += 1;
                met += i32::from(now - next <= look);
                next += gap;
            }
        }
        let second = Span::from_secs(1);
        (spun.ratio(second), f64::from(met) / f64::from(all))
    }

    #[test]
    fn rare_events_are_met_on_time_for_a_little_spinning() {
        let (spun, met) = live(Span::from_millis(1), Span::from_micros(60));
        assert!((0.05..0.16).contains(&spun), "{spun}");
        assert!(met > 0.999, "{met}");
    }

    #[test]
    fn dense_events_never_take_more_than_the_share() {
        for micros in [20, 60, 120] {
            let (spun, met) = live(Span::from_micros(micros), Span::from_micros(60));
            assert!((0.6..0.82).contains(&spun), "{micros}: {spun}");
            assert!((0.7..1.0).contains(&met), "{micros}: {met}");
        }
    }

    #[test]
    fn without_events_it_sleeps() {
        let mut pace = Pace::new(MARGIN, Time::ZERO);
        assert_eq!(pace.wait(Time::from_secs(1), None), Wait::Sleep(None));
        let next = Time::from_secs(2);
        let left = Span::from_secs(1) - MARGIN;
        let wait = pace.wait(Time::from_secs(1), Some(next));
        assert_eq!(wait, Wait::Sleep(Some(left)));
        assert_eq!(pace.wait(next, Some(next)), Wait::Spin);
    }

    #[test]
    fn priority_is_given_back_while_there_is_no_sleep() {
        let mut pace = Pace::new(MARGIN, Time::ZERO);
        let at = Time::from_millis;
        assert_eq!(pace.urgency(at(50)), None);
        assert_eq!(pace.urgency(at(100)), Some(false));
        // Three tenths asleep is not calm enough.
        pace.slept(at(120), at(150));
        assert_eq!(pace.urgency(at(200)), None);
        pace.slept(at(210), at(260));
        assert_eq!(pace.urgency(at(300)), Some(true));
        pace.slept(at(310), at(325));
        assert_eq!(pace.urgency(at(400)), None);
    }
}
