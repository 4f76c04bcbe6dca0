//! Clusters of packets that leave faster than usual.

use std::collections::VecDeque;

use super::estimate::Probe;
use crate::units::{Bytes, Rate, Span, Time};

/// A cluster has at least this many packets. [AlphaRTC] bitrate prober.
const LEAST_PACKETS: u32 = 5;
/// And lasts at least this long. [AlphaRTC] bitrate prober.
const LEAST_DURATION: Span = Span::from_millis(15);
/// A cluster that has waited longer for a packet is dropped. [AlphaRTC] bitrate prober.
const LONGEST_WAIT: Span = Span::from_secs(5);
/// Clusters that have left and may still be reported. Ours: probes come seconds
/// apart, and at most two at once.
const REMEMBERED: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Wanted {
    rate: Rate,
    asked: Time,
}

#[derive(Clone, Copy, Debug)]
struct Leaving {
    rate: Rate,
    probe: Probe,
    first: u64,
    packets: u32,
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug)]
struct Left {
    probe: Probe,
    first: u64,
    last: u64,
}

/// Clusters that wait, leave and have left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    wanted: VecDeque<Wanted>,
    leaving: Option<Leaving>,
    left: VecDeque<Left>,
    next: u64,
    wake: Option<Time>,
}

impl Clusters {
    /// Asks for a cluster at a rate. It begins with the next packet of the
    /// application, or behind the cluster that leaves now.
    pub(crate) fn want(&mut self, now: Time, rate: Rate) {
        self.wanted
            .retain(|wanted| now - wanted.asked <= LONGEST_WAIT);
        self.wanted.push_back(Wanted { rate, asked: now });
    }

    /// The rate of the cluster that leaves now.
    #[must_use]
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.leaving.map(|leaving| leaving.rate)
    }

    /// When to call [`Clusters::on_timeout`].
    #[must_use]
    pub(crate) const fn next_timeout(&self) -> Option<Time> {
        self.wake
    }

    /// A packet left; `filler` if it is none of the application's.
    pub(crate) fn on_sent(&mut self, now: Time, number: u64, size: Bytes, filler: bool) {
        let Some(leaving) = &mut self.leaving else {
            if !filler && !self.wanted.is_empty() && self.wake.is_none() {
                self.wake = Some(now);
            }
            return;
        };
        if leaving.packets == 0 {
            leaving.first = number;
        }
        leaving.packets += 1;
        leaving.bytes += size;
        if leaving.packets >= leaving.probe.packets && leaving.bytes >= leaving.probe.bytes {
            if self.left.len() == REMEMBERED {
                self.left.pop_front();
            }
            self.left.push_back(Left {
                probe: leaving.probe,
                first: leaving.first,
                last: number,
            });
            self.leaving = None;
            // The control must change at once.
            self.wake = Some(now);
        }
    }

    /// The time has come: the next cluster begins, if there is one.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.wake.is_none_or(|wake| wake > now) {
            return;
        }
        self.wake = None;
        self.wanted
            .retain(|wanted| now - wanted.asked <= LONGEST_WAIT);
        if let Some(wanted) = self.wanted.pop_front() {
            let probe = Probe {
                cluster: self.next,
                packets: LEAST_PACKETS,
                bytes: wanted.rate.over(LEAST_DURATION),
            };
            self.next += 1;
            self.leaving = Some(Leaving {
                rate: wanted.rate,
                probe,
                first: 0,
                packets: 0,
                bytes: Bytes::ZERO,
            });
        }
    }

    /// The cluster that a packet was part of.
    #[must_use]
    pub(crate) fn of(&self, number: u64) -> Option<Probe> {
        let leaving = self
            .leaving
            .filter(|leaving| leaving.packets > 0 && number >= leaving.first)
            .map(|leaving| leaving.probe);
        let left = self
            .left
            .iter()
            .find(|left| (left.first..=left.last).contains(&number));
        left.map(|left| left.probe).or(leaving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_begins_with_the_applications_packets_and_has_five_or_15_ms() {
        let mut clusters = Clusters::default();
        let (now, size) = (Time::from_secs(1), Bytes::new(1_500));
        clusters.want(now, Rate::from_kbps(900));
        clusters.want(now, Rate::from_mbps(8));
        assert_eq!(clusters.next_timeout(), None);
        clusters.on_sent(now, 0, size, true);
        assert_eq!(clusters.next_timeout(), None, "filler begins nothing");
        clusters.on_sent(now, 1, size, false);
        assert_eq!(clusters.next_timeout(), Some(now));
        clusters.on_timeout(now);
        assert_eq!(clusters.rate(), Some(Rate::from_kbps(900)));
        // 15 ms are 1688 bytes: five packets are more.
        for number in 2..7 {
            assert!(clusters.rate().is_some());
            clusters.on_sent(now, number, size, true);
        }
        assert_eq!(clusters.rate(), None);
        clusters.on_timeout(now);
        assert_eq!(clusters.rate(), Some(Rate::from_mbps(8)));
        // 15 ms are 15 kB: ten packets.
        for number in 7..17 {
            assert!(clusters.rate().is_some());
            clusters.on_sent(now, number, size, true);
        }
        clusters.on_timeout(now);
        assert_eq!((clusters.rate(), clusters.next_timeout()), (None, None));
        let of = |number| clusters.of(number).map(|probe| probe.cluster);
        assert_eq!(
            [1, 2, 6, 7, 16, 17].map(of),
            [None, Some(0), Some(0), Some(1), Some(1), None]
        );
    }

    #[test]
    fn a_cluster_that_waits_for_5_s_is_dropped() {
        let mut clusters = Clusters::default();
        clusters.want(Time::ZERO, Rate::from_mbps(1));
        let late = Time::from_millis(5_001);
        clusters.on_sent(late, 0, Bytes::new(1_500), false);
        clusters.on_timeout(late);
        assert_eq!(clusters.rate(), None);
    }
}
