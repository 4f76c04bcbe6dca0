//! What a cluster of packets, sent faster than usual, says of the link.

use crate::units::{Bytes, Rate, RemoteTime, Span, Time};

/// The share of a cluster's packets, and of its bytes, that must arrive.
/// [AlphaRTC] probe bitrate estimator.
const LEAST_ARRIVED: f64 = 0.8;
/// Packets that arrive this many times as fast as they left say nothing.
/// [AlphaRTC] probe bitrate estimator.
const FASTEST: f64 = 2.0;
/// Slower than this share of the sending rate the link is the limit.
/// [AlphaRTC] probe bitrate estimator.
const UNSATURATED: f64 = 0.9;
/// Then this share of the link is used. [AlphaRTC] probe bitrate estimator.
const UTILISATION: f64 = 0.95;
/// No cluster lasts longer. [AlphaRTC] probe bitrate estimator.
const LONGEST: Span = Span::from_secs(1);

/// The cluster that a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The cluster.
    pub(crate) cluster: u64,
    /// The packets it was to have.
    pub(crate) packets: u32,
    /// The bytes it was to have.
    pub(crate) bytes: Bytes,
}

/// What has arrived of a cluster.
#[derive(Clone, Copy, Debug)]
struct Tally {
    cluster: u64,
    packets: u32,
    bytes: Bytes,
    first_sent: Time,
    last_sent: Time,
    last_sent_size: Bytes,
    first_arrived: RemoteTime,
    first_arrived_size: Bytes,
    last_arrived: RemoteTime,
}

/// Rates that clusters found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimates {
    tallies: Vec<Tally>,
}

impl Estimates {
    /// A packet of a cluster arrived: what the cluster says now.
    pub(crate) fn push(
        &mut self,
        probe: Probe,
        size: Bytes,
        sent: Time,
        arrived: RemoteTime,
    ) -> Option<Rate> {
        self.tallies
            .retain(|tally| arrived - tally.last_arrived <= LONGEST);
        let fresh = Tally {
            cluster: probe.cluster,
            packets: 0,
            bytes: Bytes::ZERO,
            first_sent: sent,
            last_sent: sent,
            last_sent_size: size,
            first_arrived: arrived,
            first_arrived_size: size,
            last_arrived: arrived,
        };
        let known = self
            .tallies
            .iter()
            .position(|tally| tally.cluster == probe.cluster);
        let at = known.unwrap_or_else(|| {
            self.tallies.push(fresh);
            self.tallies.len() - 1
        });
        let tally = &mut self.tallies[at];
        tally.take(size, sent, arrived);
        let enough = f64::from(tally.packets) >= (f64::from(probe.packets) * LEAST_ARRIVED).floor()
            && tally.bytes >= probe.bytes * LEAST_ARRIVED;
        if enough { tally.rate() } else { None }
    }
}

impl Tally {
    fn take(&mut self, size: Bytes, sent: Time, arrived: RemoteTime) {
        self.first_sent = self.first_sent.min(sent);
        if sent > self.last_sent {
            self.last_sent = sent;
            self.last_sent_size = size;
        }
        if arrived < self.first_arrived {
            self.first_arrived = arrived;
            self.first_arrived_size = size;
        }
        self.last_arrived = self.last_arrived.max(arrived);
        self.bytes += size;
        self.packets += 1;
    }

    /// The last packet's bytes take no part in the sending time, the first
    /// one's none in the receiving time.
    fn rate(&self) -> Option<Rate> {
        let sending = self.last_sent - self.first_sent;
        let receiving = self.last_arrived - self.first_arrived;
        if sending > LONGEST || receiving > LONGEST {
            return None;
        }
        let sent = self
            .bytes
            .saturating_sub(self.last_sent_size)
            .per(sending)?;
        let received = self.bytes.saturating_sub(self.first_arrived_size);
        let received = received.per(receiving)?;
        if received > sent * FASTEST {
            return None;
        }
        if received < sent * UNSATURATED {
            return Some(received * UTILISATION);
        }
        Some(sent.min(received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of a cluster as (bytes, sent, arrived), times in ms, with the
    /// cluster's least bytes: the estimate after the last one, in bit/s.
    type Case = (&'static str, u64, &'static [(u64, u64, u64, u64)], u64);

    /// [AlphaRTC] probe_bitrate_estimator_unittest: packets as (cluster, bytes,
    /// sent ms, arrived ms).
    const REFERENCE: &[Case] = &[
        (
            "one cluster",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (0, 1000, 30, 40),
            ],
            800_000,
        ),
        (
            "too few packets",
            5_000,
            &[(0, 2000, 0, 10), (0, 2000, 10, 20), (0, 2000, 20, 30)],
            0,
        ),
        (
            "too few bytes",
            6_000,
            &[
                (0, 800, 0, 10),
                (0, 800, 10, 20),
                (0, 800, 20, 30),
                (0, 800, 30, 40),
                (0, 800, 40, 50),
            ],
            0,
        ),
        (
            "small cluster",
            1_000,
            &[
                (0, 150, 0, 10),
                (0, 150, 10, 20),
                (0, 150, 20, 30),
                (0, 150, 30, 40),
                (0, 150, 40, 50),
                (0, 150, 50, 60),
            ],
            120_000,
        ),
        (
            "fast receive",
            5_000,
            &[
                (0, 1000, 0, 15),
                (0, 1000, 10, 30),
                (0, 1000, 20, 35),
                (0, 1000, 30, 40),
            ],
            800_000,
        ),
        (
            "too fast receive",
            5_000,
            &[
                (0, 1000, 0, 19),
                (0, 1000, 10, 22),
                (0, 1000, 20, 25),
                (0, 1000, 40, 27),
            ],
            0,
        ),
        (
            "slow receive",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 40),
                (0, 1000, 20, 70),
                (0, 1000, 30, 85),
            ],
            304_000,
        ),
        (
            "burst receive",
            5_000,
            &[
                (0, 1000, 0, 50),
                (0, 1000, 10, 50),
                (0, 1000, 20, 50),
                (0, 1000, 40, 50),
            ],
            0,
        ),
        (
            "the last packet sent is not counted",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (0, 1000, 30, 40),
                (0, 1500, 40, 50),
            ],
            800_000,
        ),
        (
            "the first packet received is not counted",
            5_000,
            &[
                (0, 1500, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (0, 1000, 30, 40),
            ],
            760_000,
        ),
        (
            "first cluster, four packets",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (0, 1000, 40, 60),
            ],
            456_000,
        ),
        (
            "first cluster, five packets",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (0, 1000, 40, 60),
                (0, 1000, 50, 60),
            ],
            640_000,
        ),
        (
            "second cluster",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (1, 1000, 60, 70),
                (1, 1000, 65, 77),
                (1, 1000, 70, 84),
                (1, 1000, 75, 90),
            ],
            1_140_000,
        ),
        (
            "an old cluster's packet 6 s later",
            5_000,
            &[
                (0, 1000, 0, 10),
                (0, 1000, 10, 20),
                (0, 1000, 20, 30),
                (1, 1000, 60, 70),
                (1, 1000, 65, 77),
                (1, 1000, 70, 84),
                (1, 1000, 75, 90),
                (0, 1000, 6040, 6060),
            ],
            0,
        ),
    ];

    fn last_estimate(
        packets: u32,
        bytes: u64,
        arrivals: impl IntoIterator<Item = (u64, u64, u64, u64)>,
    ) -> u64 {
        let mut estimates = Estimates::default();
        let mut last = None;
        for (cluster, size, sent, arrived) in arrivals {
            let probe = Probe {
                cluster,
                packets,
                bytes: Bytes::new(bytes),
            };
            let arrived = Time::from_millis(arrived).on_clock(Span::from_secs(9), 0);
            last = estimates.push(probe, Bytes::new(size), Time::from_millis(sent), arrived);
        }
        last.map_or(0, Rate::as_bps)
    }

    #[test]
    fn the_references_clusters_give_the_references_rates() {
        for (name, bytes, packets, expected) in REFERENCE {
            let found = last_estimate(5, *bytes, packets.iter().copied());
            assert!(
                found.abs_diff(*expected) <= 10,
                "{name}: {found} against {expected}"
            );
        }
        let large = (0..25).map(|nth| (0, 12_500, nth, 5 + nth));
        let found = last_estimate(30, 312_500, large);
        assert!(found.abs_diff(100_000_000) <= 10, "large cluster: {found}");
    }
}
