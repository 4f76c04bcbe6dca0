//! The delay that a sender who wants all of a link's capacity cannot avoid,
//! whatever the capacity does.
//!
//! The ideal capacity-seeking sender of [SpikeBound] learns of every delivery
//! opportunity at once, and what it sends for it arrives d later: its packets
//! reach the link as the link's opportunities were, shifted by d. They wait where
//! the link has become slower since. After a single drop from C to C/r the
//! longest wait is (r − 1) d; on a recorded trace there is no formula, but the
//! same sender can be played against it. A sender that uses a share u of the
//! capacity is held against an ideal one that does: it answers each opportunity
//! with that share of a packet, and r becomes u r.

use crate::units::{Bytes, Rate, Span, Time};

/// The packet in which a link with a rate is thought to serve, at least. Ours: a
/// full one.
const PACKET: Bytes = Bytes::new(1500);

/// Of those a run has at most about so many; else they are larger. Ours: a minute
/// at 40 Mbit/s, which takes a millisecond to play.
const PACKETS: f64 = 200_000.0;

/// More opportunities than this are not remembered: the rest of a run has no
/// say. Ours: 16 MB, ten minutes at 40 Mbit/s.
const MOST: usize = 2_000_000;

/// When a link could have delivered a packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Opportunities {
    at: Vec<Time>,
    /// A link's rates, each from its time on.
    rates: Vec<(Time, Rate)>,
}

impl Opportunities {
    /// An opportunity of a link that works by them.
    #[inline]
    pub(super) fn push(&mut self, at: Time) {
        if self.at.len() < MOST {
            self.at.push(at);
        }
    }

    /// The link's rate from now on.
    pub(super) fn change(&mut self, at: Time, rate: Rate) {
        if self.rates.len() < MOST {
            self.rates.push((at, rate));
        }
    }

    /// The longest wait of the ideal sender's packets until `end`, where news of
    /// the link and what is sent on it take `d` together, and it uses a share of
    /// the capacity, from 0 to 1.
    pub(super) fn peak(&self, d: Span, share: f64, end: Time) -> Option<Span> {
        if self.rates.is_empty() {
            return peak(&self.at, d, share);
        }
        peak(&self.served(end), d, share)
    }

    /// When a link with rates is done with packet after packet.
    fn served(&self, end: Time) -> Vec<Time> {
        let carried =
            |(rate, from, to): (Rate, Time, Time)| rate.bps_f64() * (to - from).secs_f64();
        let total: f64 = self.stretches(end).map(carried).sum();
        let share = Rate::from_bps_f64(total / PACKETS).over(Span::from_secs(1));
        let packet = PACKET.max(share);
        let (mut served, mut spare) = (Vec::new(), 0.0);
        for (rate, mut from, to) in self.stretches(end) {
            let Some(each) = packet.at(rate).filter(|each| each.is_positive()) else {
                continue;
            };
            // Of the packet begun at another rate, the rest is served at this one.
            let mut next = from + each * (1.0 - spare);
            while next <= to && served.len() < MOST {
                served.push(next);
                (from, spare) = (next, 0.0);
                next = from + each;
            }
            spare += (to - from).ratio(each);
        }
        served
    }

    /// Each rate, since when and until when.
    fn stretches(&self, end: Time) -> impl Iterator<Item = (Rate, Time, Time)> {
        let ends = self.rates.iter().skip(1).map(|(at, _)| *at).chain([end]);
        let each = self.rates.iter().zip(ends);
        each.map(move |((from, rate), to)| (*rate, *from, to.min(end)))
    }
}

/// The longest wait of packets that come at such a share of the opportunities,
/// evenly spread, `d` later. One that the run did not serve says nothing.
fn peak(opportunities: &[Time], d: Span, share: f64) -> Option<Span> {
    let waits = Waits::new(opportunities, d, share);
    waits.map(|(arrival, served)| served - arrival).max()
}

/// When each packet of the ideal sender arrives, and when it is served.
struct Waits<'a> {
    opportunities: &'a [Time],
    d: Span,
    share: f64,
    /// The next opportunity to answer, and the next to be used.
    answer: usize,
    next: usize,
    owed: f64,
}

impl<'a> Waits<'a> {
    fn new(opportunities: &'a [Time], d: Span, share: f64) -> Self {
        Self {
            opportunities,
            d,
            share: share.min(1.0),
            answer: 0,
            next: 0,
            owed: 0.0,
        }
    }
}

impl Iterator for Waits<'_> {
    type Item = (Time, Time);

    fn next(&mut self) -> Option<(Time, Time)> {
        loop {
            let at = *self.opportunities.get(self.answer)?;
            self.answer += 1;
            self.owed += self.share;
            if self.owed < 1.0 {
                continue;
            }
            self.owed -= 1.0;
            let arrival = at + self.d;
            let skipped = self.opportunities[self.next..].partition_point(|at| *at < arrival);
            self.next += skipped;
            let served = *self.opportunities.get(self.next)?;
            self.next += 1;
            return Some((arrival, served));
        }
    }
}

/// When each packet of the ideal sender arrives and how long it waits, against a
/// trace's opportunities, where news and what is sent on it take `d` together and
/// a share of the capacity is used, from 0 to 1.
pub fn waits(opportunities: &[Time], d: Span, share: f64) -> impl Iterator<Item = (Time, Span)> {
    let waits = Waits::new(opportunities, d, share);
    waits.map(|(arrival, served)| (arrival, served - arrival))
}

/// A drop of a trace's capacity, as the ideal sender meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fall {
    /// When its packets begin to wait, or to wait longer than before.
    pub from: Time,
    /// When the packet arrives that waits longest.
    pub at: Time,
    /// How long packets wait at most that come from its beginning until then, if
    /// nothing waits as it begins.
    pub alone: Span,
    /// How long that packet waits if nothing is ever drained.
    pub wait: Span,
}

/// Waits that differ by less are the same. Ours: 10 ms, more than the gaps between
/// a trace's opportunities and less than anybody notices.
const SAME: Span = Span::from_millis(10);

/// By more than this a wait has grown. Ours: twice the millisecond in which
/// Mahimahi's traces count.
const GROWN: Span = Span::from_millis(2);

/// Each drop of capacity that a trace's opportunities have: a stretch in which the
/// ideal sender's waits grow, which ends where they fall or have not grown for
/// 2 d. The arguments are those of [`waits`].
#[must_use]
pub fn falls(opportunities: &[Time], d: Span, share: f64) -> Vec<Fall> {
    let mut falls: Vec<Fall> = Vec::new();
    // The least since the last drop; the most since, once it is one, and where it
    // last grew.
    let mut least: Option<(Time, Span)> = None;
    let mut most: Option<(Time, Span)> = None;
    let mut grew = (Time::ZERO, Span::ZERO);
    let fall = |from: (Time, Span), most: (Time, Span)| Fall {
        from: from.0,
        at: most.0,
        alone: alone(opportunities, d, share, from.0, most.0),
        wait: most.1,
    };
    for (at, wait) in waits(opportunities, d, share) {
        let from = *least.get_or_insert((at, wait));
        match most {
            Some(top) if wait + SAME < top.1 || at - grew.0 > d * 2 => {
                falls.push(fall(from, top));
                (least, most) = (Some((at, wait)), None);
            }
            Some(top) => {
                if wait > top.1 {
                    most = Some((at, wait));
                }
                if wait > grew.1 + GROWN {
                    grew = (at, wait);
                }
            }
            None if wait <= from.1 => least = Some((at, wait)),
            None if wait > from.1 + SAME => {
                most = Some((at, wait));
                grew = (at, wait);
            }
            None => {}
        }
    }
    falls.extend(least.zip(most).map(|(from, most)| fall(from, most)));
    falls
}

/// The longest wait of packets that arrive after one moment and up to another, where
/// nothing waits at the first.
fn alone(opportunities: &[Time], d: Span, share: f64, from: Time, to: Time) -> Span {
    let first = |after: Time| opportunities.partition_point(|at| *at <= after);
    let waits = Waits {
        answer: opportunities.partition_point(|at| *at + d <= from),
        next: first(from),
        ..Waits::new(opportunities, d, share)
    };
    let until = waits.take_while(|(arrival, _)| *arrival <= to);
    until
        .map(|(arrival, served)| served - arrival)
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// (r − 1) d to one packet's service at the new rate.
        #[test]
        fn a_single_drop_gives_the_closed_form(
            mbps in 2u64..60,
            r in 1.2..8.0,
            d in 5i64..200,
            share in 0.5..1.0,
        ) {
            let (before, d) = (Rate::from_mbps(mbps), Span::from_millis(d));
            let after = before * (1.0 / r);
            let mut link = Opportunities::default();
            link.change(Time::ZERO, before);
            link.change(Time::from_secs(2), after);
            let packet = PACKET.at(after).expect("a rate");
            let r: f64 = r;
            for share in [1.0_f64, share] {
                let peak = link.peak(d, share, Time::from_secs(10)).expect("a link");
                let expected = (d * (share * r - 1.0)).max(Span::ZERO);
                let off = peak - expected;
                prop_assert!(off <= packet * 2 && -off <= packet, "{peak} against {expected}");
            }
        }

        #[test]
        fn a_steady_link_makes_nobody_wait_longer_than_a_packet(mbps in 1u64..80, d in 0i64..300) {
            let mut link = Opportunities::default();
            link.change(Time::ZERO, Rate::from_mbps(mbps));
            let peak = link.peak(Span::from_millis(d), 1.0, Time::from_secs(3)).expect("a link");
            prop_assert!(peak <= PACKET.at(Rate::from_mbps(mbps)).expect("a rate"));
        }
    }

    #[test]
    fn an_outage_makes_what_was_under_way_wait_for_its_end() {
        let mut link = Opportunities::default();
        for ms in (0..1_000).chain(3_000..4_000) {
            link.push(Time::from_millis(ms));
        }
        // The packet that left the sender with the outage's beginning, 40 ms before
        // it could know, waits from 1 s to 3 s.
        let peak = link.peak(Span::from_millis(40), 1.0, Time::from_secs(4));
        assert_eq!(peak, Some(Span::from_secs(2)));
        assert_eq!(
            Opportunities::default().peak(Span::ZERO, 1.0, Time::from_secs(1)),
            None
        );
    }

    #[test]
    fn each_fall_of_a_trace_is_told_with_its_longest_wait() {
        // A packet a millisecond; every third from 1 s to 2 s, every other from 5 s to
        // 6 s. What has piled up is gone a signal's delay after the return.
        let slow = |ms: &u64| match ms {
            1_000..2_000 => ms.is_multiple_of(3),
            5_000..6_000 => ms.is_multiple_of(2),
            _ => true,
        };
        let stamps: Vec<Time> = (0..9_000).filter(slow).map(Time::from_millis).collect();
        let falls = falls(&stamps, Span::from_millis(30), 1.0);
        let near = |a: Span, ms: i64| (a - Span::from_millis(ms)).abs() <= Span::from_millis(3);
        let [first, second] = falls[..] else {
            panic!("two, not {falls:?}");
        };
        assert!(near(first.wait, 60) && near(second.wait, 30), "{falls:?}");
        for (fall, from) in [(first, 1_000), (second, 5_000)] {
            assert!(near(fall.from - Time::from_millis(from), 0), "{fall:?}");
            assert!(near(fall.alone - fall.wait, 0), "{fall:?}");
        }
        let longest = peak(&stamps, Span::from_millis(30), 1.0).expect("packets");
        assert!(near(first.wait - longest, 0), "{longest}");
    }

    #[test]
    fn a_second_fall_finds_what_the_first_has_left() {
        // 12, 6 and 3 Mbit/s: 30 packets come too many at the first drop. They wait
        // twice as long after the second, which alone makes 30 ms.
        let there = |ms: &u64| match ms {
            0..1_000 => true,
            1_000..2_000 => ms.is_multiple_of(2),
            _ => ms.is_multiple_of(4),
        };
        let stamps: Vec<Time> = (0..4_000).filter(there).map(Time::from_millis).collect();
        let falls = falls(&stamps, Span::from_millis(30), 1.0);
        let near = |a: Span, ms: i64| (a - Span::from_millis(ms)).abs() <= Span::from_millis(4);
        let [first, second] = falls[..] else {
            panic!("two, not {falls:?}");
        };
        assert!(near(first.wait, 30) && near(first.alone, 30), "{falls:?}");
        assert!(near(second.wait, 90) && near(second.alone, 30), "{falls:?}");
    }

    #[test]
    fn a_step_in_the_middle_of_a_packet_is_served_through() {
        let mut link = Opportunities::default();
        // 1 ms a packet, then a stop at 2.5 ms, then 2 ms a packet.
        link.change(Time::ZERO, Rate::from_mbps(12));
        link.change(Time::from_nanos(2_500_000), Rate::ZERO);
        link.change(Time::from_millis(10), Rate::from_mbps(6));
        let served = link.served(Time::from_millis(15));
        assert_eq!(served, [1, 2, 11, 13, 15].map(Time::from_millis));
    }
}
