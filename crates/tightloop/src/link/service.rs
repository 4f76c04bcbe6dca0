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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(schedule: &[(u64, u64)], repeat_ms: Option<i64>) -> Steps {
        let schedule: Vec<(Time, Rate)> = schedule
            .iter()
            .map(|&(ms, kbps)| (Time::from_millis(ms), Rate::from_kbps(kbps)))
            .collect();
        match Service::steps(&schedule, repeat_ms.map(Span::from_millis)) {
            Ok(Service::Steps(steps)) => steps,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_change_of_the_rate_splits_a_packet_exactly() {
        // 12000 bits: 4000 in the first ms at 4 Mbit/s, nothing for 10 ms, then
        // 2000 in 2 ms, and 6000 at 3 Mbit/s.
        let mut steps = steps(&[(0, 4_000), (1, 0), (11, 1_000), (13, 3_000)], None);
        let left = steps.finish(Time::ZERO, Bytes::new(1500));
        assert_eq!(left, Some(Time::from_millis(15)));
        // A packet that ends as the rate changes does not see the change.
        let left = steps.finish(Time::ZERO, Bytes::new(500));
        assert_eq!(left, Some(Time::from_millis(1)));
    }

    #[test]
    fn an_outage_without_end_never_finishes() {
        let mut steps = steps(&[(0, 12_000), (1, 0)], None);
        assert_eq!(
            steps.finish(Time::ZERO, Bytes::new(1500)),
            Some(Time::from_millis(1))
        );
        assert_eq!(steps.finish(Time::ZERO, Bytes::new(1501)), None);
        steps.advance();
        assert_eq!(steps.next_change(), None);
        assert_eq!(steps.finish(Time::from_secs(1), Bytes::new(40)), None);
    }

    #[test]
    fn a_repeated_schedule_begins_again() {
        let mut steps = steps(&[(0, 1_000), (10, 0)], Some(20));
        // 1250 bytes a round: the packet takes a round and 2 ms of the next.
        let left = steps.finish(Time::ZERO, Bytes::new(1500));
        assert_eq!(left, Some(Time::from_millis(22)));
        let mut changes = Vec::new();
        for _ in 0..4 {
            changes.push((steps.next_change().expect("repeats"), steps.rate()));
            steps.advance();
        }
        let (on, off) = (Rate::from_mbps(1), Rate::ZERO);
        let ms = Time::from_millis;
        assert_eq!(
            changes,
            [(ms(10), on), (ms(20), off), (ms(30), on), (ms(40), off)]
        );
    }

    proptest! {
        /// However a schedule is cut into steps of equal rate, nothing changes.
        #[test]
        fn steps_that_change_nothing_change_nothing(
            kbps in 1u64..100_000,
            cuts in prop::collection::btree_set(1u64..500, 0..40),
            size in 1u64..100_000,
            at in 0u64..1_000_000,
        ) {
            let mut schedule = vec![(0, kbps)];
            schedule.extend(cuts.into_iter().map(|ms| (ms, kbps)));
            let at = Time::from_nanos(at);
            let cut = steps(&schedule, Some(500)).finish(at, Bytes::new(size));
            let plain = steps(&[(0, kbps)], None).finish(at, Bytes::new(size));
            prop_assert_eq!(cut, plain);
        }
    }

    #[test]
    fn the_rate_of_a_trace_is_that_of_its_last_second() {
        // 10 opportunities in the first second, one in each later one.
        let mut text: String = (1..=10).map(|n| format!("{}\n", n * 100)).collect();
        text.push_str("2000\n3000\n4000\n");
        let trace = Arc::new(Trace::parse(&text).expect("a trace"));
        let Service::Opportunities(mut opportunities) = Service::trace(Arc::clone(&trace), false)
        else {
            panic!("a trace gives opportunities");
        };
        let mut rates = Vec::new();
        for ms in [0, 1000, 1500, 2000, 4000, 5000, 9150] {
            let now = Time::from_millis(ms);
            while opportunities.next().is_some_and(|next| next <= now) {
                opportunities.advance();
            }
            let expected = match ms {
                0 => trace.mean(),
                _ => trace.rate_between(now - WINDOW, now),
            };
            assert_eq!(opportunities.rate(now), expected, "at {ms} ms");
            rates.push(expected.as_bps() / Rate::from_kbps(12).as_bps());
        }
        assert_eq!(rates[1..], [10, 5, 1, 1, 10, 9]);
    }

    #[test]
    fn a_trace_played_once_ends() {
        let trace = Arc::new(Trace::parse("3\n7\n").expect("a trace"));
        for (once, expected) in [(true, vec![3, 7]), (false, vec![3, 7, 10, 14, 17])] {
            let Service::Opportunities(mut opportunities) =
                Service::trace(Arc::clone(&trace), once)
            else {
                panic!("a trace gives opportunities");
            };
            let mut seen = Vec::new();
            while let (Some(next), true) = (opportunities.next(), seen.len() < 5) {
                seen.push(next);
                opportunities.advance();
            }
            let expected: Vec<Time> = expected.into_iter().map(Time::from_millis).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn poisson_opportunities_have_the_mean_rate_and_scattered_gaps() {
        let rate = Rate::from_mbps(12);
        let stream = Stream::named(1, "poisson");
        let Ok(Service::Opportunities(mut opportunities)) = Service::poisson(rate, stream) else {
            panic!("a rate gives opportunities");
        };
        const N: u32 = 200_000;
        let (mut last, mut squares) = (Time::ZERO, 0.0);
        for _ in 0..N {
            let next = opportunities.next().expect("never ends");
            squares += (next - last).millis_f64() * (next - last).millis_f64();
            last = next;
            opportunities.advance();
        }
        // The mean gap is 1 ms; of exponential gaps the mean square is 2 ms².
        let mean = last.since_epoch().millis_f64() / f64::from(N);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((squares / f64::from(N) - 2.0).abs() < 0.05, "{squares}");
    }

    #[test]
    fn wrong_schedules_are_refused_with_a_reason() {
        let (ms, on, off) = (Time::from_millis, Rate::from_mbps(1), Rate::ZERO);
        for (schedule, repeat, reason) in [
            (vec![], None, "at least one pair"),
            (vec![(ms(1), on)], None, "must be at 0 s"),
            (
                vec![(ms(0), on), (ms(5), on), (ms(5), off)],
                None,
                "sort the steps",
            ),
            (
                vec![(ms(0), on), (ms(5), off)],
                Some(Span::from_millis(5)),
                "repeat",
            ),
            (
                vec![(ms(0), off)],
                Some(Span::from_millis(5)),
                "nothing but",
            ),
        ] {
            let error = Service::steps(&schedule, repeat)
                .expect_err(reason)
                .to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(Service::poisson(Rate::ZERO, Stream::named(0, "x")).is_err());
    }
}
