//! What was sent on a path, and what became of it.
//!
//! Bytes in flight, loss detection ([RFC9002] §6.1) and delivery-rate samples
//! ([DeliveryRate] §3) are facts, kept once for every controller.

use std::collections::VecDeque;

use super::rtt::Rtt;
use super::wire::{Message, WireError};
use crate::cc::{Acked, DeliveryRate, Lost, PathState, Sent};
use crate::event::{Ecn, Kind, LostBy};
use crate::units::{Bytes, RemoteTime, Span, Time, count, index};

/// A packet is lost once one sent this many later has arrived. [RFC9002] §6.1.1.
const PACKET_THRESHOLD: u64 = 3;

/// A packet given up is remembered for this many smoothed round trips, in case
/// it arrives after all. Ours: reordering beyond four round trips is not seen
/// on paths that carry calls.
const LOST_MEMORY: i64 = 4;

/// A path is silent after this many probe timeouts, not backed off, without an
/// acknowledgement. Ours: a probe that leaves after the first is answered within
/// the second, and what was cut off three timeouts ago has been noticed.
const SILENT: i64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Outstanding,
    Acked,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    sent: Sent,
    content: Content,
    fate: Fate,
}

/// What the session must know of a packet's content to send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Content {
    /// When it was captured.
    pub captured: Time,
    /// How many frames back the one lies that its frame refers to.
    pub refers: u16,
    /// It has been sent again already, on another path, before it was known to
    /// be lost.
    pub moved: bool,
}

/// The ledger of one path.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Packets from number `first` on, without a gap.
    records: VecDeque<Record>,
    first: u64,
    /// Every packet below this one is acked or lost.
    oldest_outstanding: u64,
    largest_acked: Option<u64>,
    next_message: u64,
    rtt: Rtt,
    feedback_delay: Span,
    /// [`Rtt::probe_timeout`], kept at hand.
    probe_timeout: Span,
    /// The facts that controllers see, always current.
    state: PathState,
    delivered_at: Time,
    first_sent: Time,
    last_sent: Time,
    /// When an acknowledgement last came.
    heard: Time,
    /// The sender is application-limited until this much has been delivered.
    app_limited_until: Option<Bytes>,
    /// When the oldest outstanding packet will be given up by time.
    loss_time: Option<Time>,
    /// Probe timeouts since the last acknowledgement.
    timeouts: u32,
    /// A run of lost packets without a gap: the number after it, and when its
    /// first packet left.
    lost_run: Option<(u64, Time)>,
    /// The contents of the packets given up in the last call.
    lost_contents: Vec<Content>,
}

/// What became of a feedback message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// A delivery-rate sample.
    pub delivery: Option<DeliveryRate>,
    /// A persistent-congestion period ended.
    pub persistent_congestion: bool,
}

impl Ledger {
    /// A ledger for packets of at most `mss` and a receiver that holds feedback
    /// back for at most `feedback_delay`.
    #[must_use]
    pub fn new(mss: Bytes, feedback_delay: Span) -> Self {
        Self {
            records: VecDeque::new(),
            first: 0,
            oldest_outstanding: 0,
            largest_acked: None,
            next_message: 0,
            rtt: Rtt::default(),
            feedback_delay,
            probe_timeout: Rtt::default().probe_timeout(feedback_delay),
            state: PathState {
                mss,
                ..PathState::default()
            },
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            last_sent: Time::ZERO,
            heard: Time::ZERO,
            app_limited_until: None,
            loss_time: None,
            timeouts: 0,
            lost_run: None,
            lost_contents: Vec::new(),
        }
    }

    /// The number the next packet gets.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.first + count(self.records.len())
    }

    /// The lowest number whose fate is still of interest.
    #[must_use]
    pub const fn settled(&self) -> u64 {
        self.first
    }

    /// Bytes in flight.
    #[must_use]
    pub const fn in_flight(&self) -> Bytes {
        self.state.in_flight
    }

    /// The round-trip time.
    #[must_use]
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// What is known of the path.
    #[must_use]
    pub const fn state(&self) -> &PathState {
        &self.state
    }

    /// Bytes wait in this path's pacer: the one fact that is not the ledger's own.
    pub const fn set_backlog(&mut self, backlog: Bytes) {
        self.state.backlog = backlog;
    }

    /// A packet leaves; its number.
    pub fn on_sent(&mut self, now: Time, size: Bytes, kind: Kind, content: Content) -> u64 {
        if self.state.in_flight == Bytes::ZERO {
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.state.in_flight += size;
        self.state.sent += size;
        self.last_sent = now;
        let number = self.next_number();
        self.records.push_back(Record {
            sent: Sent {
                number,
                at: now,
                size,
                kind,
                in_flight: self.state.in_flight,
                delivered: self.state.delivered,
                delivered_at: self.delivered_at,
                first_sent: self.first_sent,
                app_limited: self.state.app_limited,
            },
            content,
            fate: Fate::Outstanding,
        });
        number
    }

    /// The application had nothing to send though path and controller would
    /// have let it. [DeliveryRate] §3.4.
    pub fn on_app_limited(&mut self) {
        self.app_limited_until =
            Some((self.state.delivered + self.state.in_flight).max(Bytes::new(1)));
        self.state.app_limited = true;
    }

    /// Takes in a feedback message; fills `acked` in the order of arrival and
    /// `lost` by number, both of which must be empty.
    ///
    /// # Errors
    ///
    /// A packet that was never sent. Nothing has changed then.
    pub fn on_message(
        &mut self,
        now: Time,
        message: &Message,
        acked: &mut Vec<Acked>,
        lost: &mut Vec<Lost>,
    ) -> Result<Outcome, WireError> {
        let next = self.next_number();
        if message.largest >= next {
            return Err(WireError::NeverSent(message.largest));
        }
        let largest_before = self.largest_acked;
        for arrived in &message.arrived {
            let arrival = Some((arrived.at, message.now));
            self.ack(now, arrived.number, arrival, arrived.ecn, acked);
        }
        if message.number != self.next_message {
            // A message went missing (or this one is late): the ranges tell which
            // packets it spoke of, though not when they arrived.
            let reported = acked.len();
            let all = [(self.first, message.largest)];
            let ranges = if message.ranges.is_empty() {
                all.as_slice()
            } else {
                message.ranges.as_slice()
            };
            for &(low, high) in ranges.iter().rev() {
                for number in low.max(self.first)..=high {
                    self.ack(now, number, None, Ecn::NotEct, acked);
                }
            }
            let recovered = acked.len() - reported;
            acked.rotate_right(recovered);
        }
        self.next_message = self.next_message.max(message.number + 1);
        let newest = acked.iter().max_by_key(|acked| acked.packet.number);
        // Only the largest newly acknowledged packet samples. [RFC9002] §5.1
        if self.largest_acked != largest_before
            && let Some(rtt) = newest.and_then(|newest| newest.rtt)
        {
            self.rtt.on_sample(now, rtt);
            self.probe_timeout = self.rtt.probe_timeout(self.feedback_delay);
            self.state.latest_rtt = self.rtt.latest();
            self.state.smoothed_rtt = self.rtt.smoothed();
            self.state.rtt_deviation = self.rtt.deviation();
            self.state.min_rtt = self.rtt.min();
        }
        let delivery = newest.and_then(|newest| self.delivery_rate(now, &newest.packet));
        if !acked.is_empty() {
            self.timeouts = 0;
            self.heard = now;
            if self
                .app_limited_until
                .is_some_and(|until| self.state.delivered > until)
            {
                self.app_limited_until = None;
                self.state.app_limited = false;
            }
        }
        let persistent_congestion = self.find_lost(now, lost);
        self.forget(now);
        Ok(Outcome {
            delivery,
            persistent_congestion,
        })
    }

    /// Gives up packets whose time has run out; fills `lost`, which must be
    /// empty. Tells whether a persistent-congestion period ended.
    pub fn on_loss_time(&mut self, now: Time, lost: &mut Vec<Lost>) -> bool {
        let persistent_congestion = self.find_lost(now, lost);
        self.forget(now);
        persistent_congestion
    }

    /// A probe timeout passed without an acknowledgement.
    pub fn on_probe_timeout(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// When packets will be given up by time.
    #[must_use]
    pub const fn loss_time(&self) -> Option<Time> {
        self.loss_time
    }

    /// When a probe is due if nothing is acknowledged until then, at most
    /// `longest` after the last packet left or probe was due.
    #[must_use]
    pub fn probe_time(&self, longest: Span) -> Option<Time> {
        if self.state.in_flight == Bytes::ZERO || self.loss_time.is_some() {
            return None;
        }
        let timeout = self.probe_timeout;
        let wait = match self.timeouts {
            0 => timeout,
            timeouts => (timeout * (1 << timeouts.min(10))).min(longest.max(timeout)),
        };
        Some(self.last_sent + wait)
    }

    /// The packet that left last, unless nothing more is of interest of it.
    #[must_use]
    pub fn latest(&self) -> Option<&Sent> {
        self.records.back().map(|record| &record.sent)
    }

    /// When the last packet left; the epoch if none has.
    #[must_use]
    pub const fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// How long ago the oldest packet in flight left.
    #[must_use]
    pub fn unanswered(&self, now: Time) -> Option<Span> {
        self.oldest().map(|oldest| now - oldest.sent.at)
    }

    /// When the path counts as silent if nothing is acknowledged until then:
    /// two probe timeouts, not backed off, after the last acknowledgement or
    /// the oldest packet in flight.
    #[must_use]
    pub fn silent_at(&self) -> Option<Time> {
        let oldest = self.oldest()?;
        Some(self.heard.max(oldest.sent.at) + self.probe_timeout * SILENT)
    }

    /// The packets in flight, by rising number, which are from now on noted as
    /// sent again elsewhere; without those that have been already.
    pub fn move_in_flight(&mut self) -> impl Iterator<Item = (Sent, Content)> {
        let from = index(self.oldest_outstanding.saturating_sub(self.first));
        let from = from.min(self.records.len());
        let waiting =
            |record: &&mut Record| record.fate == Fate::Outstanding && !record.content.moved;
        self.records
            .range_mut(from..)
            .filter(waiting)
            .map(|record| {
                let content = record.content;
                record.content.moved = true;
                (record.sent, content)
            })
    }

    fn oldest(&self) -> Option<&Record> {
        if self.state.in_flight == Bytes::ZERO {
            return None;
        }
        let from = index(self.oldest_outstanding.saturating_sub(self.first));
        self.records.get(from)
    }

    /// The contents of the packets given up in the last call, in the same order.
    #[must_use]
    pub fn lost_contents(&self) -> &[Content] {
        &self.lost_contents
    }

    /// Acknowledges one packet; `arrival` is when it arrived and when the message
    /// that told was written.
    fn ack(
        &mut self,
        now: Time,
        number: u64,
        arrival: Option<(RemoteTime, RemoteTime)>,
        ecn: Ecn,
        acked: &mut Vec<Acked>,
    ) {
        let Some(at) = number.checked_sub(self.first) else {
            return;
        };
        let Some(record) = self.records.get_mut(index(at)) else {
            return;
        };
        let size = record.sent.size;
        match record.fate {
            Fate::Acked => return,
            Fate::Outstanding => self.state.in_flight -= size,
            Fate::Lost => self.state.lost -= size,
        }
        acked.push(Acked {
            packet: record.sent,
            arrived: arrival.map(|(at, _)| at),
            rtt: arrival.map(|(at, told)| {
                let held = (told - at).max(Span::ZERO);
                (now - record.sent.at - held).max(Span::ZERO)
            }),
            ecn,
            spurious: record.fate == Fate::Lost,
        });
        record.fate = Fate::Acked;
        self.state.delivered += size;
        self.delivered_at = now;
        self.largest_acked = Some(self.largest_acked.map_or(number, |l| l.max(number)));
    }

    /// A sample from the packet sent last among those acknowledged.
    fn delivery_rate(&mut self, now: Time, last: &Sent) -> Option<DeliveryRate> {
        let interval = (last.at - last.first_sent).max(now - last.delivered_at);
        self.first_sent = last.at;
        // Shorter than a round trip: packets of one burst say nothing of the rate.
        if self.rtt.min().is_some_and(|min| interval < min) {
            return None;
        }
        Some(DeliveryRate {
            delivered: self.state.delivered - last.delivered,
            interval,
            app_limited: last.app_limited,
            prior_delivered: last.delivered,
        })
    }

    fn find_lost(&mut self, now: Time, lost: &mut Vec<Lost>) -> bool {
        self.loss_time = None;
        self.lost_contents.clear();
        let Some(largest) = self.largest_acked else {
            return false;
        };
        let delay = self.rtt.loss_delay();
        let mut persistent = false;
        while self.oldest_outstanding < largest {
            let number = self.oldest_outstanding;
            let record = &mut self.records[index(number - self.first)];
            if record.fate == Fate::Outstanding {
                let by = if largest >= number + PACKET_THRESHOLD {
                    LostBy::Packets
                } else if record.sent.at + delay <= now {
                    LostBy::Time
                } else {
                    // Later packets left later: none of them can be lost yet.
                    self.loss_time = Some(record.sent.at + delay);
                    break;
                };
                record.fate = Fate::Lost;
                let sent = record.sent;
                self.state.in_flight -= sent.size;
                self.state.lost += sent.size;
                self.lost_contents.push(record.content);
                lost.push(Lost { packet: sent, by });
                persistent |= self.extend_lost_run(&sent);
            }
            self.oldest_outstanding += 1;
        }
        if self.oldest_outstanding == largest {
            // The largest acknowledged packet itself is not outstanding.
            self.oldest_outstanding += 1;
        }
        persistent
    }

    /// Tells whether the run of losses that this packet ends is long enough to
    /// be persistent congestion. [RFC9002] §7.6.2.
    fn extend_lost_run(&mut self, sent: &Sent) -> bool {
        let Some(first_sample) = self.rtt.first_sample() else {
            return false;
        };
        if sent.at <= first_sample {
            return false;
        }
        let start = match self.lost_run {
            Some((next, start)) if next == sent.number => start,
            _ => sent.at,
        };
        self.lost_run = Some((sent.number + 1, start));
        let long = sent.at - start > self.rtt.persistent_congestion(self.feedback_delay);
        if long {
            // The next period starts afresh.
            self.lost_run = None;
        }
        long
    }

    /// Drops records nobody will ask for again.
    fn forget(&mut self, now: Time) {
        let memory = self.rtt.smoothed().unwrap_or(super::rtt::INITIAL_RTT) * LOST_MEMORY;
        while let Some(record) = self.records.front() {
            let done = match record.fate {
                Fate::Outstanding => false,
                Fate::Acked => true,
                Fate::Lost => record.sent.at + memory < now,
            };
            if !done || self.first >= self.oldest_outstanding {
                break;
            }
            self.records.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::{SmallVec, smallvec};

    use super::super::wire::Arrived;
    use super::*;

    const SIZE: Bytes = Bytes::new(1000);

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    struct Bench {
        ledger: Ledger,
        acked: Vec<Acked>,
        lost: Vec<Lost>,
        message: u64,
    }

    impl Bench {
        fn new() -> Self {
            Self {
                ledger: Ledger::new(SIZE, Span::ZERO),
                acked: Vec::new(),
                lost: Vec::new(),
                message: 0,
            }
        }

        fn send(&mut self, at: Time) -> Sent {
            self.ledger
                .on_sent(at, SIZE, Kind::Bulk, Content::default());
            *self.ledger.latest().expect("it has just been sent")
        }

        fn report(&mut self, now: Time, numbers: &[u64], ranges: &[(u64, u64)]) -> Outcome {
            let receiver_now = now.on_clock(Span::ZERO, 0);
            let ranges: SmallVec<[(u64, u64); 8]> = ranges.iter().copied().collect();
            let largest = numbers
                .iter()
                .copied()
                .chain(ranges.first().map(|r| r.1))
                .max();
            let message = Message {
                number: self.message,
                now: receiver_now,
                largest: largest.expect("something to report"),
                arrived: numbers
                    .iter()
                    .map(|&number| Arrived {
                        number,
                        at: receiver_now,
                        ecn: Ecn::NotEct,
                    })
                    .collect(),
                ranges,
                ..Message::default()
            };
            self.message += 1;
            self.acked.clear();
            self.lost.clear();
            self.ledger
                .on_message(now, &message, &mut self.acked, &mut self.lost)
                .expect("packets that were sent")
        }

        fn acked(&self) -> Vec<u64> {
            self.acked.iter().map(|acked| acked.packet.number).collect()
        }

        fn lost(&self) -> Vec<(u64, LostBy)> {
            self.lost
                .iter()
                .map(|lost| (lost.packet.number, lost.by))
                .collect()
        }
    }

    #[test]
    fn three_later_packets_make_a_loss() {
        let mut bench = Bench::new();
        for _ in 0..5 {
            bench.send(ms(0));
        }
        bench.report(ms(40), &[1], &[]);
        assert_eq!(bench.lost(), []);
        bench.report(ms(40), &[2], &[]);
        assert_eq!(bench.lost(), []);
        bench.report(ms(40), &[3], &[]);
        assert_eq!(bench.lost(), [(0, LostBy::Packets)]);
        assert_eq!(bench.ledger.in_flight(), SIZE);
        assert_eq!(bench.ledger.loss_time(), None);
    }

    #[test]
    fn time_makes_a_loss_at_nine_eighths_of_the_round_trip() {
        let mut bench = Bench::new();
        bench.send(ms(0));
        bench.send(ms(1));
        bench.report(ms(41), &[1], &[]);
        assert_eq!(bench.lost(), []);
        let due = bench.ledger.loss_time().expect("one packet is overdue");
        assert_eq!(due, ms(45));
        assert!(!bench.ledger.on_loss_time(ms(44), &mut bench.lost));
        assert_eq!(bench.lost(), []);
        bench.ledger.on_loss_time(due, &mut bench.lost);
        assert_eq!(bench.lost(), [(0, LostBy::Time)]);
        assert_eq!(bench.ledger.in_flight(), Bytes::ZERO);
    }

    #[test]
    fn a_packet_given_up_that_arrives_is_spurious() {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.send(ms(0));
        }
        bench.report(ms(40), &[1, 2, 3], &[]);
        assert_eq!(bench.lost(), [(0, LostBy::Packets)]);
        bench.report(ms(42), &[0], &[]);
        assert_eq!(bench.acked(), [0]);
        assert!(bench.acked[0].spurious);
        let state = bench.ledger.state();
        assert_eq!((state.lost, state.delivered), (Bytes::ZERO, SIZE * 4));
        bench.report(ms(43), &[0], &[]);
        assert!(bench.acked().is_empty(), "a repeated report is no news");
    }

    #[test]
    fn a_lost_message_costs_arrival_times_but_no_packets() {
        let mut bench = Bench::new();
        for _ in 0..6 {
            bench.send(ms(0));
        }
        bench.message = 1; // message 0, with packets 0 to 3, went missing
        bench.report(ms(40), &[4], &[(0, 4)]);
        assert_eq!(bench.acked(), [0, 1, 2, 3, 4]);
        assert_eq!(bench.acked[3].rtt, None);
        assert_eq!(bench.acked[4].rtt, Some(Span::from_millis(40)));
        assert_eq!(bench.lost(), []);
    }

    #[test]
    fn a_message_without_ranges_says_that_nothing_is_missing() {
        let mut bench = Bench::new();
        for _ in 0..6 {
            bench.send(ms(0));
        }
        bench.message = 1;
        bench.report(ms(40), &[4], &[]);
        assert_eq!(bench.acked(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn time_held_at_the_receiver_is_not_round_trip_time() {
        let mut bench = Bench::new();
        bench.send(ms(0));
        let message = Message {
            now: ms(30).on_clock(Span::from_secs(-9), 0),
            arrived: vec![Arrived {
                number: 0,
                at: ms(20).on_clock(Span::from_secs(-9), 0),
                ecn: Ecn::Ce,
            }],
            ranges: smallvec![(0, 0)],
            ..Message::default()
        };
        let outcome = bench
            .ledger
            .on_message(ms(50), &message, &mut bench.acked, &mut bench.lost);
        assert!(outcome.is_ok());
        assert_eq!(bench.acked[0].rtt, Some(Span::from_millis(40)));
        assert_eq!(bench.acked[0].ecn, Ecn::Ce);
    }

    #[test]
    fn packets_never_sent_are_refused() {
        let mut bench = Bench::new();
        bench.send(ms(0));
        let message = Message {
            largest: 1,
            ..Message::default()
        };
        let refused = bench
            .ledger
            .on_message(ms(1), &message, &mut bench.acked, &mut bench.lost);
        assert_eq!(refused, Err(WireError::NeverSent(1)));
        assert_eq!(bench.ledger.in_flight(), SIZE);
    }

    #[test]
    fn probes_back_off_up_to_the_longest_wait() {
        let mut bench = Bench::new();
        assert_eq!(bench.ledger.probe_time(Span::from_secs(1)), None);
        bench.send(ms(100));
        let wait = |bench: &Bench| {
            bench
                .ledger
                .probe_time(Span::from_secs(1))
                .map(|at| at - ms(100))
        };
        assert_eq!(wait(&bench), Some(Span::from_millis(666)));
        bench.ledger.on_probe_timeout();
        assert_eq!(wait(&bench), Some(Span::from_secs(1)));
    }

    #[test]
    fn steady_delivery_is_sampled_at_its_rate() {
        // A packet each ms, 40 ms of round trip: 8 Mbit/s.
        let mut bench = Bench::new();
        let mut rates = Vec::new();
        for now in 0..200 {
            if now >= 40 {
                let outcome = bench.report(ms(now), &[now - 40], &[]);
                rates.extend(outcome.delivery.and_then(|sample| sample.rate()));
            }
            bench.send(ms(now));
        }
        let settled = &rates[80..];
        assert!(settled.len() > 50);
        assert!(
            settled.iter().all(|rate| rate.as_bps() == 8_000_000),
            "{settled:?}"
        );
    }

    #[test]
    fn samples_tell_that_the_application_limited_them() {
        let mut bench = Bench::new();
        bench.send(ms(0));
        bench.ledger.on_app_limited();
        bench.send(ms(10));
        let first = bench.report(ms(40), &[0], &[]).delivery.expect("a sample");
        assert!(!first.app_limited);
        let second = bench.report(ms(50), &[1], &[]).delivery.expect("a sample");
        assert!(second.app_limited);
        bench.send(ms(60));
        let third = bench.report(ms(100), &[2], &[]).delivery.expect("a sample");
        assert!(!third.app_limited);
    }

    #[test]
    fn losing_everything_for_long_is_persistent_congestion() {
        for (spacing, expected) in [(100, true), (10, false)] {
            let mut bench = Bench::new();
            bench.send(ms(0));
            bench.report(ms(40), &[0], &[]);
            // 20 packets lost in a row, then one that arrives.
            for nth in 0..21 {
                bench.send(ms(50 + nth * spacing));
            }
            let outcome = bench.report(ms(50 + 20 * spacing + 40), &[21], &[]);
            // The last two before it may still be on their way.
            assert!((18..=20).contains(&bench.lost.len()), "{:?}", bench.lost());
            assert_eq!(
                outcome.persistent_congestion, expected,
                "spacing {spacing} ms"
            );
        }
    }

    proptest! {
        /// Whatever is reported in whatever order: each byte sent is in flight,
        /// delivered or lost, and old records go.
        #[test]
        fn every_byte_has_one_fate(steps in proptest::collection::vec((0u64..20, any::<bool>(), 0u64..8), 1..300)) {
            let mut bench = Bench::new();
            let mut now = 0;
            for (gap, send, back) in steps {
                now += gap;
                if send || bench.ledger.next_number() == 0 {
                    bench.send(ms(now));
                } else {
                    let newest = bench.ledger.next_number() - 1;
                    bench.report(ms(now), &[newest.saturating_sub(back)], &[]);
                    for lost in &bench.lost {
                        prop_assert!(!bench.acked().contains(&lost.packet.number));
                    }
                }
                if bench.ledger.loss_time().is_some_and(|due| due <= ms(now)) {
                    bench.lost.clear();
                    bench.ledger.on_loss_time(ms(now), &mut bench.lost);
                }
                let state = bench.ledger.state();
                prop_assert_eq!(state.in_flight + state.delivered + state.lost, state.sent);
                prop_assert!(bench.ledger.loss_time().is_none_or(|due| due > ms(now)));
            }
        }
    }

    #[test]
    fn a_path_is_silent_two_timeouts_after_the_last_answer_or_the_oldest_packet() {
        let mut ledger = Ledger::new(SIZE, Span::ZERO);
        assert_eq!(ledger.silent_at(), None);
        assert_eq!(ledger.unanswered(ms(50)), None);
        let send = |ledger: &mut Ledger, at| {
            ledger.on_sent(ms(at), SIZE, Kind::Filler, Content::default());
        };
        send(&mut ledger, 100);
        send(&mut ledger, 150);
        // Before there is a sample a timeout is 666 ms.
        assert_eq!(ledger.silent_at(), Some(ms(100 + 2 * 666)));
        assert_eq!(ledger.unanswered(ms(170)), Some(Span::from_millis(70)));
        let moved: Vec<u64> = ledger
            .move_in_flight()
            .map(|(sent, _)| sent.number)
            .collect();
        assert_eq!(moved, [0, 1]);
        send(&mut ledger, 180);
        let again: Vec<u64> = ledger
            .move_in_flight()
            .map(|(sent, _)| sent.number)
            .collect();
        assert_eq!(again, [2], "each packet moves once");
    }
}
