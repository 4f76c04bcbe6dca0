//! The one bridge between the machine's clock and [`tightloop::units::Time`].

use std::time::{Duration, Instant, SystemTime};

use tightloop::units::{Span, Time};

/// The oldest moment of the system's clock that is believed. Ours: no packet
/// waits longer to be taken from the kernel.
pub const OLDEST: Duration = Duration::from_secs(1);

/// A monotonic clock whose zero is the moment it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Starts a clock at [`Time::ZERO`].
    #[must_use]
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// A clock that read zero at an instant.
    #[must_use]
    pub const fn since(start: Instant) -> Self {
        Self { start }
    }

    /// The time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        self.at(Instant::now())
    }

    /// The clock's reading at an instant; instants before the start read as zero.
    #[must_use]
    pub fn at(&self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.start);
        Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The clock's reading at a moment of the system's clock, in which the kernel
    /// tells when packets came. That clock may be set at any time: a moment that
    /// is not of the last [`OLDEST`] reads as now.
    #[must_use]
    pub fn at_system(&self, moment: SystemTime) -> Time {
        let (system, now) = (SystemTime::now(), Instant::now());
        self.at(now.checked_sub(age(moment, system)).unwrap_or(now))
    }

    /// The instant at which this clock reads `time`, or `None` beyond what the
    /// machine's clock can name.
    #[must_use]
    pub fn instant(&self, time: Time) -> Option<Instant> {
        self.start
            .checked_add(Duration::from_nanos(time.as_nanos()))
    }
}

/// How old a moment of the system's clock is; nothing where that is not to be
/// believed.
fn age(moment: SystemTime, now: SystemTime) -> Duration {
    let age = now.duration_since(moment).unwrap_or_default();
    if age > OLDEST { Duration::ZERO } else { age }
}

/// How long to sleep for a span; none for a span that is not positive.
#[must_use]
pub fn to_std(span: Span) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_and_instant_are_inverse() {
        let clock = Clock::start();
        let time = Time::from_nanos(123_456_789);
        let instant = clock.instant(time).expect("within range");
        assert_eq!(clock.at(instant), time);
    }

    #[test]
    fn a_moment_of_the_system_is_as_old_on_this_clock() {
        let now = SystemTime::now();
        let old = Duration::from_millis(700);
        assert_eq!(age(now - old, now), old);
        for unbelievable in [now - Duration::from_secs(3600), now + OLDEST] {
            assert_eq!(age(unbelievable, now), Duration::ZERO);
        }
        let clock = Clock::since(Instant::now() - Duration::from_secs(5));
        let (before, read) = (clock.now(), clock.at_system(now - old));
        assert!(read + Span::from_millis(700) <= clock.now(), "{read}");
        assert!(read < before, "{read}");
    }

    #[test]
    fn instants_before_the_start_read_as_zero() {
        let before = Instant::now();
        let clock = Clock {
            start: before + Duration::from_millis(5),
        };
        assert_eq!(clock.at(before), Time::ZERO);
        assert_eq!(to_std(Span::from_millis(-3)), Duration::ZERO);
        assert_eq!(to_std(Span::from_millis(3)), Duration::from_millis(3));
    }
}
