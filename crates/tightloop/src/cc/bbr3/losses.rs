//! What has been lost since when, in how many pieces, and whether it arrived
//! after all.

use std::collections::VecDeque;

use crate::cc::Sent;
use crate::units::Bytes;

/// C.lost with its past, loss recovery, and the episode that may be undone.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// C.lost: everything ever given up.
    total: Bytes,
    /// Before packet `.0` left, `.1` had been given up: P.lost of the packets
    /// that a session sent, without a field in each.
    marks: VecDeque<(u64, Bytes)>,
    /// The highest number given up.
    highest: Option<u64>,
    /// Runs of lost numbers in this round.
    pub(super) runs: u32,
    /// Packets before this one left before the recovery began. `None` outside.
    recovery_end: Option<u64>,
    /// The episode's first lost packet, and how many of its packets are still
    /// thought lost. `None` once nothing can be undone.
    episode: Option<(u64, u64)>,
}

impl Losses {
    /// A packet is given up; `next_number` is the number of the next to leave.
    pub(super) fn add(&mut self, packet: &Sent, next_number: u64) {
        if self.marks.back().is_none_or(|mark| mark.0 < next_number) {
            self.marks.push_back((next_number, self.total));
        }
        self.total += packet.size;
        let follows = self.highest.is_some_and(|high| packet.number == high + 1);
        self.runs += u32::from(!follows);
        self.highest = self.highest.max(Some(packet.number));
        // Losses come by rising number: what left before the last needs no past.
        while self.marks.len() > 1 && self.marks[0].0 <= packet.number {
            self.marks.pop_front();
        }
        if let Some((first, missing)) = &mut self.episode
            && packet.number >= *first
        {
            *missing += 1;
        }
    }

    /// What was given up since a packet left: C.lost − P.lost.
    pub(super) fn since(&self, number: u64) -> Bytes {
        let later = self.marks.partition_point(|mark| mark.0 <= number);
        let before = self.marks.get(later).map_or(self.total, |mark| mark.1);
        self.total.saturating_sub(before)
    }

    /// In fast recovery, which lasts until a packet sent after its beginning is
    /// acknowledged. [RFC9002] §7.3.2.
    pub(super) const fn in_recovery(&self) -> bool {
        self.recovery_end.is_some()
    }

    /// Begins a recovery, and an episode, with this loss.
    pub(super) const fn begin(&mut self, lost: &Sent, next_number: u64) {
        self.recovery_end = Some(next_number);
        self.episode = Some((lost.number, 0));
    }

    /// A packet was acknowledged: tells whether that ends the recovery.
    pub(super) fn ends_with(&mut self, acked: &Sent) -> bool {
        let ends = self.recovery_end.is_some_and(|end| acked.number >= end);
        if ends {
            self.recovery_end = None;
        }
        ends
    }

    /// A packet given up has arrived after all: tells whether that was the last
    /// of the episode, which then has been none.
    pub(super) fn on_spurious(&mut self, number: u64) -> bool {
        let Some((first, missing)) = &mut self.episode else {
            return false;
        };
        if number < *first || *missing == 0 {
            return false;
        }
        *missing -= 1;
        let none_left = *missing == 0;
        if none_left {
            self.episode = None;
            self.recovery_end = None;
        }
        none_left
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: Bytes = Bytes::new(1000);

    fn packet(number: u64) -> Sent {
        Sent {
            number,
            size: SIZE,
            ..Sent::default()
        }
    }

    proptest! {
        /// The same as a field in every packet would say.
        #[test]
        fn what_was_lost_before_a_packet_left_is_remembered(
            steps in prop::collection::vec((1usize..20, 0u64..20), 1..60)
        ) {
            let mut losses = Losses::default();
            let (mut at_send, mut next_lost, mut total) = (vec![], 0, Bytes::ZERO);
            for (sent, lost) in steps {
                at_send.extend(std::iter::repeat_n(total, sent));
                let next_number = crate::units::count(at_send.len());
                for _ in 0..lost.min(next_number - next_lost) {
                    losses.add(&packet(next_lost), next_number);
                    total += SIZE;
                    // At the moment of a loss the lost packet itself is asked for.
                    let first = crate::units::index(next_lost);
                    for number in [next_lost, next_number - 1] {
                        let before = at_send[crate::units::index(number)];
                        prop_assert_eq!(losses.since(number), total - before);
                    }
                    for (number, before) in (next_lost..).zip(&at_send[first..]) {
                        prop_assert_eq!(losses.since(number), total - *before);
                    }
                    next_lost += 1;
                }
            }
            prop_assert!(losses.marks.len() <= 61);
        }
    }

    #[test]
    fn runs_of_lost_packets_are_counted_not_packets() {
        let mut losses = Losses::default();
        for number in [3, 4, 5, 9, 11, 12] {
            losses.add(&packet(number), 20);
        }
        assert_eq!(losses.runs, 3);
    }

    #[test]
    fn an_episode_was_none_once_all_of_it_arrived() {
        let mut losses = Losses::default();
        losses.begin(&packet(5), 20);
        for number in [5, 6] {
            losses.add(&packet(number), 20);
        }
        assert!(!losses.on_spurious(2), "before the episode");
        assert!(!losses.on_spurious(6));
        assert!(losses.in_recovery());
        assert!(losses.on_spurious(5));
        assert!(!losses.in_recovery());
        assert!(!losses.on_spurious(5));
    }

    #[test]
    fn a_recovery_lasts_until_something_newer_arrives() {
        let mut losses = Losses::default();
        losses.begin(&packet(5), 20);
        assert!(!losses.ends_with(&packet(19)) && losses.in_recovery());
        assert!(losses.ends_with(&packet(20)) && !losses.in_recovery());
        assert!(!losses.ends_with(&packet(21)));
    }
}
