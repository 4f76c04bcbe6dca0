//! When a receiver speaks, and what it says.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::wire::{Arrived, Message};
use crate::cc::Report;
use crate::event::{Ecn, FrameId, PathId};
use crate::units::{RemoteTime, Span, Time};

/// Ranges told in each message, the highest first. [RFC9000] §13.2.3 leaves
/// the number open; ours: enough for sixteen separate losses in a round trip.
const RANGES: usize = 16;

/// A message is due at the latest when it has this many reports. Ours: with all
/// its ranges it still fits a packet of 1500 bytes.
const MOST_REPORTS: usize = 128;

/// Settings of a receiver's feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A message once this many packets have arrived. Ours: each packet, as in
    /// the papers' experiments.
    pub packets: u32,
    /// Instead: a message at this interval, if anything has arrived.
    pub interval: Option<Span>,
    /// Reports of the message before that are told again, so that a single
    /// lost message costs nothing. Ours: one, eight bytes.
    pub repeat: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            packets: 1,
            interval: None,
            repeat: 1,
        }
    }
}

impl Settings {
    /// The longest a report waits while packets keep coming.
    #[must_use]
    pub fn longest_wait(&self) -> Span {
        // By packets alone a last packet could wait for ever: it goes after this.
        self.interval.unwrap_or(if self.packets > 1 {
            STRAGGLER
        } else {
            Span::ZERO
        })
    }
}

/// A lone packet is reported after this. [RFC9000] §13.2.1's default
/// `max_ack_delay`.
const STRAGGLER: Span = Span::from_millis(25);

/// The feedback of one path.
#[derive(Clone, Debug)]
pub struct Feedback {
    settings: Settings,
    message: Message,
    /// Of `message.arrived`, how many were told already.
    told: usize,
    last_sent: Option<Time>,
    /// When the oldest untold report arrived, by the session's clock.
    waiting_since: Option<Time>,
    ready: bool,
    /// Nobody wants to hear of numbers below.
    settled: u64,
    /// Received numbers, inclusive, from the highest down.
    ranges: Ranges,
}

type Ranges = SmallVec<[(u64, u64); 8]>;

impl Feedback {
    /// Feedback of a path.
    #[must_use]
    pub fn new(path: PathId, settings: Settings) -> Self {
        Self {
            settings,
            message: Message {
                path,
                ..Message::default()
            },
            told: 0,
            last_sent: None,
            waiting_since: None,
            ready: false,
            settled: 0,
            ranges: Ranges::new(),
        }
    }

    /// A packet arrived whose sender wants to hear of numbers from `settled` on.
    /// Tells whether it is news: the first copy, and not below `settled`.
    pub fn on_packet(
        &mut self,
        now: Time,
        number: u64,
        settled: u64,
        at: RemoteTime,
        ecn: Ecn,
    ) -> bool {
        self.settled = self.settled.max(settled);
        let ranges = &mut self.ranges;
        while ranges.len() > 1 && ranges.last().is_some_and(|&(_, high)| high < self.settled) {
            ranges.pop();
        }
        if number < self.settled || !insert(ranges, number) {
            return false;
        }
        self.message.largest = self.message.largest.max(number);
        self.message.arrived.push(Arrived { number, at, ecn });
        self.waiting_since.get_or_insert(now);
        let untold = self.message.arrived.len() - self.told;
        self.ready |= untold >= MOST_REPORTS;
        self.ready |= match self.settings.interval {
            Some(interval) => self.last_sent.is_none_or(|last| now >= last + interval),
            None => u32::try_from(untold).is_ok_and(|untold| untold >= self.settings.packets),
        };
        true
    }

    /// When [`Feedback::on_timeout`] should be called.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Time> {
        if self.ready {
            return None;
        }
        let since = self.waiting_since?;
        Some(match (self.settings.interval, self.last_sent) {
            (Some(interval), Some(last)) => last + interval,
            _ => since + self.settings.longest_wait(),
        })
    }

    /// Time passes: what waits may be due.
    pub fn on_timeout(&mut self, now: Time) {
        self.ready |= self.next_timeout().is_some_and(|due| due <= now);
    }

    /// It is time for a message.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready
    }

    /// What the receiver's half of the algorithm has to say in the next message.
    pub fn set_report(&mut self, report: Option<Report>) {
        self.message.report = report;
    }

    /// Something besides arrivals must be told now.
    pub fn ask(&mut self) {
        self.ready = true;
    }

    /// The message to send, if it is time for one. The caller encodes it before
    /// anything else happens.
    pub fn take(
        &mut self,
        now: Time,
        remote: RemoteTime,
        key_wanted: Option<FrameId>,
    ) -> Option<&Message> {
        if !self.ready {
            return None;
        }
        // Of what was told already, the last few are told again.
        let skipped = self.told - self.told.min(self.settings.repeat);
        let arrived = &mut self.message.arrived;
        arrived.copy_within(skipped.., 0);
        arrived.truncate(arrived.len() - skipped);
        self.told = arrived.len();
        self.message.ranges.clear();
        if self
            .ranges
            .first()
            .is_some_and(|&(low, _)| low > self.settled)
        {
            self.message.ranges.extend_from_slice(&self.ranges);
        }
        self.message.now = remote;
        self.message.key_wanted = key_wanted;
        self.ready = false;
        self.waiting_since = None;
        self.last_sent = Some(now);
        Some(&self.message)
    }

    /// The message taken last is on its way: the next has a new number.
    pub fn on_sent(&mut self) -> u64 {
        self.message.number += 1;
        self.message.number - 1
    }
}

/// Adds a number to ranges kept from the highest down. False if it was there,
/// or is so low that it can no longer be told apart.
fn insert(ranges: &mut Ranges, number: u64) -> bool {
    for at in 0..ranges.len() {
        let (low, high) = ranges[at];
        if number > high + 1 {
            ranges.insert(at, (number, number));
            ranges.truncate(RANGES);
            return true;
        }
        if number == high + 1 {
            // The range above cannot touch: it would have been met first.
            ranges[at].1 = number;
            return true;
        }
        if number >= low {
            return false;
        }
        if number + 1 == low {
            ranges[at].0 = number;
            if let Some(&(next_low, next_high)) = ranges.get(at + 1)
                && next_high + 1 == number
            {
                ranges[at].0 = next_low;
                ranges.remove(at + 1);
            }
            return true;
        }
    }
    if ranges.len() < RANGES {
        ranges.push((number, number));
        true
    } else {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_a_set(numbers in proptest::collection::vec(0u64..12, 0..60)) {
            let mut ranges = SmallVec::new();
            let mut naive = BTreeSet::new();
            for number in numbers {
                prop_assert_eq!(insert(&mut ranges, number), naive.insert(number));
                let told: Vec<u64> = ranges.iter().rev().flat_map(|&(low, high)| low..=high).collect();
                prop_assert!(told.iter().eq(naive.iter()), "{ranges:?}");
                for pair in ranges.windows(2) {
                    prop_assert!(pair[1].1 + 1 < pair[0].0, "neither touching nor out of order");
                }
            }
        }
    }

    fn remote(now: Time) -> RemoteTime {
        now.on_clock(Span::from_secs(77), 0)
    }

    fn numbers(feedback: &mut Feedback, now: Time) -> Option<Vec<u64>> {
        let told = feedback.take(now, remote(now), None).map(|message| {
            message
                .arrived
                .iter()
                .map(|arrived| arrived.number)
                .collect()
        });
        if told.is_some() {
            feedback.on_sent();
        }
        told
    }

    fn arrive(feedback: &mut Feedback, now: Time, number: u64) -> bool {
        feedback.on_packet(now, number, 0, remote(now), Ecn::NotEct)
    }

    #[test]
    fn each_packet_is_reported_at_once_and_repeated() {
        let mut feedback = Feedback::new(PathId(0), Settings::default());
        for number in 0..5 {
            let now = Time::from_millis(number);
            assert!(arrive(&mut feedback, now, number));
            let told = numbers(&mut feedback, now).expect("due at once");
            let expected: Vec<u64> = (number.saturating_sub(1)..=number).collect();
            assert_eq!(told, expected);
            assert_eq!(feedback.next_timeout(), None);
        }
        assert!(!arrive(&mut feedback, Time::from_millis(9), 3), "a copy");
        assert_eq!(numbers(&mut feedback, Time::from_millis(9)), None);
    }

    #[test]
    fn what_is_settled_is_forgotten() {
        let mut feedback = Feedback::new(PathId(0), Settings::default());
        let now = Time::from_millis(1);
        for number in [0, 2, 4, 6, 8] {
            arrive(&mut feedback, now, number);
        }
        assert_eq!(feedback.ranges.len(), 5);
        assert!(feedback.on_packet(now, 9, 6, remote(now), Ecn::NotEct));
        assert_eq!(feedback.ranges.as_slice(), [(8, 9), (6, 6)]);
        assert!(!arrive(&mut feedback, now, 5), "nobody asks any more");
        assert!(arrive(&mut feedback, now, 7));
        assert_eq!(feedback.ranges.as_slice(), [(6, 9)]);
    }

    #[test]
    fn ranges_are_told_only_while_something_is_missing() {
        let mut feedback = Feedback::new(PathId(0), Settings::default());
        let now = Time::from_millis(1);
        let told = |feedback: &mut Feedback, number, settled| {
            feedback.on_packet(now, number, settled, remote(now), Ecn::NotEct);
            let message = feedback.take(now, remote(now), None).expect("due");
            message.ranges.to_vec()
        };
        assert_eq!(told(&mut feedback, 0, 0), []);
        assert_eq!(told(&mut feedback, 2, 0), [(2, 2), (0, 0)]);
        assert_eq!(told(&mut feedback, 3, 2), []);
    }

    #[test]
    fn by_packets_a_straggler_still_goes() {
        let settings = Settings {
            packets: 3,
            repeat: 0,
            ..Settings::default()
        };
        let mut feedback = Feedback::new(PathId(0), settings);
        arrive(&mut feedback, Time::from_millis(1), 0);
        arrive(&mut feedback, Time::from_millis(2), 1);
        assert_eq!(numbers(&mut feedback, Time::from_millis(2)), None);
        let due = feedback.next_timeout().expect("a straggler");
        assert_eq!(due, Time::from_millis(26));
        feedback.on_timeout(due);
        assert_eq!(numbers(&mut feedback, due), Some(vec![0, 1]));
        for number in 2..5 {
            arrive(&mut feedback, due, number);
        }
        assert_eq!(numbers(&mut feedback, due), Some(vec![2, 3, 4]));
    }

    #[test]
    fn a_full_message_does_not_wait_for_its_time() {
        let settings = Settings {
            interval: Some(Span::from_millis(50)),
            ..Settings::default()
        };
        let mut feedback = Feedback::new(PathId(0), settings);
        let now = Time::from_millis(1);
        arrive(&mut feedback, now, 0);
        assert!(numbers(&mut feedback, now).is_some());
        for number in 1..128 {
            arrive(&mut feedback, now, number);
            assert!(!feedback.ready, "{number} reports wait");
        }
        arrive(&mut feedback, now, 128);
        assert!(feedback.ready);
    }

    #[test]
    fn by_time_messages_keep_their_interval() {
        let settings = Settings {
            interval: Some(Span::from_millis(10)),
            repeat: 0,
            ..Settings::default()
        };
        let mut feedback = Feedback::new(PathId(0), settings);
        let mut sent = Vec::new();
        for now in (0..60).map(Time::from_millis) {
            feedback.on_timeout(now);
            arrive(&mut feedback, now, now.as_nanos());
            if numbers(&mut feedback, now).is_some() {
                sent.push(now);
            }
        }
        let gaps: Vec<Span> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(sent.len() >= 5);
        assert!(
            gaps.iter().all(|gap| *gap == Span::from_millis(10)),
            "{gaps:?}"
        );
    }
}
