//! How much may wait: by packets, bytes, time or bandwidth-delay products.
//!
//! Only *waiting* packets count, never the one in service. A limit in time or
//! in bandwidth-delay products follows the service's rate: when the rate drops,
//! arrivals are refused until there is room again, and nothing that waits is
//! evicted for it. An empty queue takes any packet, else a low rate would close
//! the link for good.

use serde::{Deserialize, Serialize};

use crate::settings::SettingError;
use crate::units::{Bytes, Rate, Span, count};

/// A limit on what waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// No limit.
    Infinite,
    /// This many packets.
    Packets(u64),
    /// This many IP bytes.
    Bytes(Bytes),
    /// What the service carries in this time at its current rate.
    Time(Span),
}

/// A limit as written in a scenario: exactly one of `packets`, `bytes`, `time`
/// and `bdp`, the last with its `rtt`.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Packets that may wait.
    pub packets: Option<u64>,
    /// IP bytes that may wait.
    pub bytes: Option<Bytes>,
    /// Waiting time at the current rate.
    pub time: Option<Span>,
    /// Bandwidth-delay products: current rate × `rtt` × this.
    pub bdp: Option<f64>,
    /// The round-trip time that `bdp` is about.
    pub rtt: Option<Span>,
}

impl TryFrom<LimitSettings> for Limit {
    type Error = SettingError;

    fn try_from(settings: LimitSettings) -> Result<Self, SettingError> {
        let LimitSettings {
            packets,
            bytes,
            time,
            bdp,
            rtt,
        } = settings;
        let limit = match (packets, bytes, time, bdp, rtt) {
            (Some(packets), None, None, None, None) => Self::Packets(packets),
            (None, Some(bytes), None, None, None) => Self::Bytes(bytes),
            (None, None, Some(time), None, None) => Self::Time(time),
            (None, None, None, Some(bdp), Some(rtt)) => Self::Time(rtt * bdp),
            (None, None, None, Some(_), None) => {
                return Err(SettingError(
                    "bdp needs the round-trip time it is about, for example rtt = \"40 ms\"".into(),
                ));
            }
            _ => {
                return Err(SettingError(
                    "exactly one of packets, bytes, time or bdp (with rtt) limits the queue, \
                     for example packets = 200"
                        .into(),
                ));
            }
        };
        let some = match limit {
            Self::Infinite => true,
            Self::Packets(packets) => packets > 0,
            Self::Bytes(bytes) => bytes > Bytes::ZERO,
            Self::Time(time) => time.is_positive(),
        };
        SettingError::unless(some, || {
            "the queue's limit must be more than nothing".into()
        })?;
        Ok(limit)
    }
}

/// A limit at work: remembers what it comes to at the last rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    limit: Limit,
    rate: Option<Rate>,
    bytes: Bytes,
}

impl Room {
    pub(super) const fn new(limit: Limit) -> Self {
        Self {
            limit,
            rate: None,
            bytes: Bytes::MAX,
        }
    }

    /// Whether a packet of this size may join those that wait.
    #[inline]
    pub(super) fn admits(
        &mut self,
        size: Bytes,
        packets: usize,
        bytes: Bytes,
        rate: Option<Rate>,
    ) -> bool {
        match self.limit {
            Limit::Infinite => true,
            Limit::Packets(limit) => count(packets) < limit,
            _ if packets == 0 => true,
            Limit::Bytes(limit) => bytes + size <= limit,
            Limit::Time(time) => {
                if rate != self.rate {
                    self.rate = rate;
                    self.bytes = rate.map_or(Bytes::MAX, |rate| rate.over(time));
                }
                bytes + size <= self.bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(text: &str) -> Result<Limit, String> {
        let settings: LimitSettings = toml::from_str(text).map_err(|error| error.to_string())?;
        Limit::try_from(settings).map_err(|error| error.to_string())
    }

    /// How many packets of 1500 bytes fit, one after another, at this rate.
    fn fit(limit: Limit, rate: Rate) -> u64 {
        let size = Bytes::new(1500);
        let mut room = Room::new(limit);
        (0..)
            .find(|&n| !room.admits(size, crate::units::index(n), size * n, Some(rate)))
            .expect("a finite limit")
    }

    #[test]
    fn each_kind_of_limit_admits_what_it_says() {
        let (slow, fast) = (Rate::from_mbps(12), Rate::from_mbps(24));
        for (text, at_slow, at_fast) in [
            ("packets = 7", 7, 7),
            ("bytes = \"4.5 kB\"", 3, 3),
            ("bytes = \"4499 B\"", 2, 2),
            ("time = \"10 ms\"", 10, 20),
            ("bdp = 2.0\nrtt = \"40 ms\"", 80, 160),
            // An empty queue takes one packet whatever the limit.
            ("time = \"1 us\"", 1, 1),
            ("bytes = \"1 B\"", 1, 1),
        ] {
            let limit = limit(text).expect(text);
            assert_eq!(
                (fit(limit, slow), fit(limit, fast)),
                (at_slow, at_fast),
                "{text}"
            );
        }
        assert_eq!(fit(Limit::Time(Span::from_secs(1)), Rate::ZERO), 1);
    }

    #[test]
    fn wrong_limits_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "exactly one of"),
            ("packets = 3\ntime = \"10 ms\"", "exactly one of"),
            ("packets = 3\nrtt = \"10 ms\"", "exactly one of"),
            ("bdp = 1.0", "rtt = \"40 ms\""),
            ("packets = 0", "more than nothing"),
            ("bdp = -1.0\nrtt = \"40 ms\"", "more than nothing"),
            ("time = \"0 s\"", "more than nothing"),
            ("packet = 3", "unknown field `packet`"),
        ] {
            let error = limit(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
