//! Service: how fast a link carries what waits.
//!
//! All of it is known in advance, so the moment a packet will have left is
//! computed once, when its service begins.

use std::sync::Arc;

use super::trace::{FULL_PACKET, Trace, WINDOW};
use crate::rng::Stream;
use crate::settings::SettingError;
use crate::units::{Bytes, Rate, Span, Time};

/// How a link carries what waits. Closed, so that all of physics is one match.
#[derive(Clone, Debug)]
pub enum Service {
    /// Packets leave the moment they arrive, and nothing ever waits.
    Unlimited,
    /// One packet at a time, at a rate that changes at known moments.
    Steps(Steps),
    /// Delivery opportunities of a fixed size, Mahimahi's way.
    Opportunities(Opportunities),
}

impl Service {
    /// One rate for ever.
    #[must_use]
    pub fn fixed(rate: Rate) -> Self {
        Self::Steps(Steps::from_schedule(Arc::from([(Time::ZERO, rate)]), None))
    }

    /// Each rate from its time on; a rate of zero is an outage. With `repeat`
    /// the schedule begins again after that long.
    ///
    /// # Errors
    ///
    /// Schedules that are empty, do not begin at zero or do not go forward, and
    /// repetition that comes too early or repeats nothing but outage.
    pub fn steps(schedule: &[(Time, Rate)], repeat: Option<Span>) -> Result<Self, SettingError> {
        let Some((first, _)) = schedule.first() else {
            return Err(SettingError(
                "steps needs at least one pair, for example [[\"0 s\", \"20 Mbit/s\"]]".into(),
            ));
        };
        SettingError::unless(*first == Time::ZERO, || {
            format!("the first of steps is at {first}; the first must be at 0 s")
        })?;
        if let Some(pair) = schedule.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let (before, after) = (pair[0].0, pair[1].0);
            return Err(SettingError(format!(
                "steps: {after} does not come after {before}; sort the steps by time"
            )));
        }
        if let Some(repeat) = repeat {
            let last = schedule[schedule.len() - 1].0;
            SettingError::unless(Time::ZERO + repeat > last, || {
                format!("repeat = {repeat} is not after the last of steps, at {last}")
            })?;
            SettingError::unless(schedule.iter().any(|(_, rate)| *rate > Rate::ZERO), || {
                "steps repeats nothing but rates of zero, so no packet would ever leave".into()
            })?;
        }
        Ok(Self::Steps(Steps::from_schedule(
            Arc::from(schedule),
            repeat,
        )))
    }

    /// The next change of the rate, or the next opportunity.
    #[must_use]
    #[inline]
    pub const fn next_change(&self) -> Option<Time> {
        match self {
            Self::Unlimited => None,
            Self::Steps(steps) => steps.next_change(),
            Self::Opportunities(opportunities) => opportunities.next(),
        }
    }

    /// The opportunities of a trace, from its beginning; repeated for ever
    /// unless `once`.
    #[must_use]
    pub fn trace(trace: Arc<Trace>, once: bool) -> Self {
        let next = trace.stamps().first().copied();
        let place = Place::default();
        Self::Opportunities(Opportunities {
            next,
            source: Source::Trace(Replay {
                mean: trace.mean(),
                trace,
                once,
                head: place,
                passed: 0,
                tail: place,
                forgotten: 0,
            }),
        })
    }

    /// Opportunities at random, with exponential gaps. `rate` is the mean, in
    /// IP bytes of full packets.
    ///
    /// # Errors
    ///
    /// A rate of zero.
    pub fn poisson(rate: Rate, rng: Stream) -> Result<Self, SettingError> {
        let Some(gap) = FULL_PACKET.at(rate) else {
            return Err(SettingError(
                "poisson = 0 bit/s would never deliver; give a mean rate, for example \
                 \"2.64 Mbit/s\""
                    .into(),
            ));
        };
        let mut opportunities = Opportunities {
            next: Some(Time::ZERO),
            source: Source::Poisson { rate, gap, rng },
        };
        opportunities.advance();
        Ok(Self::Opportunities(opportunities))
    }
}

/// Where in a list that may repeat: the entry, and when this round began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Place {
    index: usize,
    round: Time,
}

/// A rate that changes at known moments.
#[derive(Clone, Debug)]
pub struct Steps {
    schedule: Arc<[(Time, Rate)]>,
    repeat: Option<Span>,
    /// The step in force.
    place: Place,
    rate: Rate,
    /// When the next step comes into force.
    until: Option<Time>,
    /// The last size served within one step, and how long it took: nearly
    /// every packet has the size of the one before.
    last: (Bytes, Span),
}

impl Steps {
    fn from_schedule(schedule: Arc<[(Time, Rate)]>, repeat: Option<Span>) -> Self {
        let mut steps = Self {
            schedule,
            repeat,
            place: Place::default(),
            rate: Rate::ZERO,
            until: None,
            last: (Bytes::ZERO, Span::ZERO),
        };
        steps.enter(Place::default());
        steps
    }

    /// The rate in force.
    #[must_use]
    #[inline]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Since when it is in force.
    #[must_use]
    pub fn since(&self) -> Time {
        self.place.round + self.schedule[self.place.index].0.since_epoch()
    }

    /// When the rate next changes.
    #[must_use]
    #[inline]
    pub const fn next_change(&self) -> Option<Time> {
        self.until
    }

    /// Puts the next step into force.
    pub(super) fn advance(&mut self) {
        if let Some((place, _)) = self.after(self.place) {
            self.enter(place);
        }
    }

    fn enter(&mut self, place: Place) {
        let rate = self.schedule[place.index].1;
        if rate != self.rate {
            self.last = (Bytes::ZERO, Span::ZERO);
        }
        self.place = place;
        self.rate = rate;
        self.until = self.after(place).map(|(_, at)| at);
    }

    /// The step after one, and when it comes into force.
    fn after(&self, place: Place) -> Option<(Place, Time)> {
        let index = place.index + 1;
        if let Some((at, _)) = self.schedule.get(index) {
            let at = place.round + at.since_epoch();
            return Some((Place { index, ..place }, at));
        }
        let round = place.round + self.repeat?;
        Some((Place { index: 0, round }, round))
    }

    /// When the last bit of a packet will have left whose service begins now,
    /// in the step in force; `None` where the rate stays zero for ever.
    #[inline]
    pub(super) fn finish(&mut self, now: Time, size: Bytes) -> Option<Time> {
        if self.last.0 != size {
            let Some(span) = size.at(self.rate) else {
                return self.finish_later(now, size);
            };
            self.last = (size, span);
        }
        let end = now + self.last.1;
        match self.until {
            Some(until) if end > until => self.finish_later(now, size),
            _ => Some(end),
        }
    }

    /// The same across steps: bit by bit, exactly.
    fn finish_later(&self, now: Time, size: Bytes) -> Option<Time> {
        let (mut from, mut place, mut work) = (now, self.place, size.work());
        loop {
            let rate = self.schedule[place.index].1;
            let end = work.at(rate).map(|span| from + span);
            let Some((next, until)) = self.after(place) else {
                return end;
            };
            if let Some(end) = end
                && end <= until
            {
                return Some(end);
            }
            work = work.less(rate.work(until - from));
            (from, place) = (until, next);
        }
    }
}

/// Moments at which a fixed number of bytes may leave.
#[derive(Clone, Debug)]
pub struct Opportunities {
    next: Option<Time>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Trace(Replay),
    Poisson { rate: Rate, gap: Span, rng: Stream },
}

/// The rate of one opportunity in the window.
const ONE_A_WINDOW: Rate = match FULL_PACKET.per(WINDOW) {
    Some(rate) => rate,
    None => Rate::ZERO,
};

/// A trace being replayed.
#[derive(Clone, Debug)]
struct Replay {
    trace: Arc<Trace>,
    once: bool,
    mean: Rate,
    /// The next opportunity, and how many came before it.
    head: Place,
    passed: u64,
    /// The first opportunity of the last second, and how many came before it.
    tail: Place,
    forgotten: u64,
}

impl Opportunities {
    /// The next opportunity; `None` after the last.
    #[must_use]
    #[inline]
    pub const fn next(&self) -> Option<Time> {
        self.next
    }

    /// Goes past the next opportunity.
    pub(super) fn advance(&mut self) {
        self.next = match (&mut self.source, self.next) {
            (Source::Trace(replay), _) => replay.advance(),
            (Source::Poisson { gap, rng, .. }, Some(now)) => Some(now + *gap * rng.exponential()),
            (Source::Poisson { .. }, None) => None,
        };
    }

    /// The rate a queue may expect: the mean over the last second for a trace
    /// (its whole mean in the first second), the mean for Poisson
    /// opportunities. Every opportunity up to `now` must have been passed.
    pub(super) fn rate(&mut self, now: Time) -> Rate {
        match &mut self.source {
            Source::Trace(replay) => replay.rate(now),
            Source::Poisson { rate, .. } => *rate,
        }
    }
}

impl Replay {
    fn at(&self, place: Place) -> Time {
        place.round + self.trace.stamps()[place.index].since_epoch()
    }

    fn after(&self, place: Place) -> Place {
        let index = place.index + 1;
        if index < self.trace.stamps().len() {
            return Place { index, ..place };
        }
        Place {
            index: 0,
            round: place.round + self.trace.period(),
        }
    }

    fn advance(&mut self) -> Option<Time> {
        self.passed += 1;
        self.head = self.after(self.head);
        if self.once && self.head.index == 0 {
            return None;
        }
        Some(self.at(self.head))
    }

    fn rate(&mut self, now: Time) -> Rate {
        if now < Time::ZERO + WINDOW {
            return self.mean;
        }
        while self.forgotten < self.passed && self.at(self.tail) + WINDOW <= now {
            self.tail = self.after(self.tail);
            self.forgotten += 1;
        }
        Rate::from_bps(ONE_A_WINDOW.as_bps() * (self.passed - self.forgotten))
    }
}

#[cfg(test)]
#[path = "service/tests.rs"]
mod tests;
