//! Groups of packets that left together, and how their spacing changed.

use crate::units::{RemoteTime, Span, Time};

/// Packets that left within this are one group. [AlphaRTC] delay-based estimator.
const GROUP: Span = Span::from_millis(5);
/// Packets that arrive within this of each other, closer than they left, are
/// one burst and so one group. [AlphaRTC] inter-arrival.
const BURST_GAP: Span = Span::from_millis(5);
/// No burst is longer. [AlphaRTC] inter-arrival.
const LONGEST_BURST: Span = Span::from_millis(100);
/// Arrivals that run ahead of our own clock by this mean that the receiver's
/// clock was set. [AlphaRTC] inter-arrival.
const CLOCK_JUMP: Span = Span::from_secs(3);
/// So many groups in a row that arrive before the group in front of them mean
/// the same. [AlphaRTC] inter-arrival.
const REORDERED: u32 = 3;

/// What a group's spacing to the group before it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// Between their departures.
    pub sent: Span,
    /// Between their arrivals; never negative.
    pub arrived: Span,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: RemoteTime,
    last_arrived: RemoteTime,
    /// When we learnt of its last packet.
    noted: Time,
}

/// Sorts packets into groups.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    before: Option<Group>,
    current: Option<Group>,
    reordered: u32,
}

impl Groups {
    /// A packet, in the order of arrival. Gives the spacing of the last two
    /// whole groups when this one begins another.
    pub fn push(&mut self, now: Time, sent: Time, arrived: RemoteTime) -> Option<Spacing> {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrived: arrived,
            last_arrived: arrived,
            noted: now,
        };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if !current.is_left_by(sent, arrived) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrived = arrived;
            current.noted = now;
            return None;
        }
        let mut spacing = None;
        if let Some(before) = self.before {
            let arrivals = current.last_arrived - before.last_arrived;
            if arrivals - (current.noted - before.noted) >= CLOCK_JUMP {
                *self = Self::default();
                return None;
            }
            if arrivals < Span::ZERO {
                self.reordered += 1;
                if self.reordered >= REORDERED {
                    *self = Self::default();
                }
                return None;
            }
            self.reordered = 0;
            spacing = Some(Spacing {
                sent: current.last_sent - before.last_sent,
                arrived: arrivals,
            });
        }
        self.before = self.current.replace(fresh);
        spacing
    }
}

impl Group {
    /// A packet begins another group.
    fn is_left_by(&self, sent: Time, arrived: RemoteTime) -> bool {
        let gap = sent - self.last_sent;
        let arrival_gap = arrived - self.last_arrived;
        let together = gap == Span::ZERO;
        let burst = arrival_gap < gap
            && arrival_gap <= BURST_GAP
            && arrived - self.first_arrived < LONGEST_BURST;
        !together && !burst && sent - self.first_sent > GROUP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets as (sent, arrived) in ms; the spacings that come of them.
    fn spacings(packets: &[(i64, i64)]) -> Vec<(f64, f64)> {
        let mut groups = Groups::default();
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let spacing = |&(sent, arrived)| {
            let remote = at(arrived).on_clock(Span::from_secs(77), 0);
            groups.push(at(arrived), at(sent), remote)
        };
        let found = packets.iter().filter_map(spacing);
        found
            .map(|spacing| (spacing.sent.millis_f64(), spacing.arrived.millis_f64()))
            .collect()
    }

    #[test]
    fn packets_that_left_within_5_ms_are_one_group() {
        let packets = [(0, 10), (5, 15), (20, 30), (25, 36), (40, 50), (60, 70)];
        // The groups end with the packets of 5, 25, 40 and 60 ms.
        assert_eq!(spacings(&packets), [(20.0, 21.0), (15.0, 14.0)]);
    }

    #[test]
    fn packets_that_come_in_a_burst_are_one_group() {
        // Sent 10 ms apart, but all that waited arrive at once.
        let packets = [(0, 10), (20, 80), (30, 81), (40, 82), (60, 90), (80, 110)];
        assert_eq!(spacings(&packets), [(40.0, 72.0), (20.0, 8.0)]);
    }

    #[test]
    fn a_burst_ends_after_100_ms() {
        let long: Vec<_> = (0..40).map(|nth| (nth * 10, 1_000 + nth * 4)).collect();
        assert_eq!(spacings(&long).len(), 0, "the third group has just begun");
        let longer: Vec<_> = (0..60).map(|nth| (nth * 10, 1_000 + nth * 4)).collect();
        assert_eq!(spacings(&longer), [(250.0, 100.0)]);
    }

    #[test]
    fn older_packets_are_passed_over() {
        let packets = [(0, 10), (20, 30), (10, 31), (40, 50), (60, 70)];
        assert_eq!(spacings(&packets), [(20.0, 20.0), (20.0, 20.0)]);
    }
}
