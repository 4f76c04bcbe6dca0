//! BBR.extra_acked: how much more arrives at once than the rate explains.

use crate::filter::WindowedMax;
use crate::units::{Bytes, Rate, Time};

/// BBR.ExtraAckedFilterLen in rounds. [BBR-Draft] §2.12.
const FILTER_LEN: u64 = 10;
/// The same in Startup. [BBR-Draft] §5.5.9.
const FILTER_LEN_STARTUP: u64 = 1;

/// The estimator. [BBR-Draft] §5.5.9.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    /// BBR.extra_acked_interval_start.
    pub(super) interval_start: Time,
    /// BBR.extra_acked_delivered.
    delivered: Bytes,
    filter: WindowedMax<Bytes, u64>,
    /// BBR.extra_acked.
    pub(super) extra_acked: Bytes,
}

impl Aggregation {
    pub(super) fn new() -> Self {
        Self {
            interval_start: Time::ZERO,
            delivered: Bytes::ZERO,
            filter: WindowedMax::new(FILTER_LEN_STARTUP),
            extra_acked: Bytes::ZERO,
        }
    }

    /// UpdateACKAggregation, where `most` is C.cwnd. The window holds the current
    /// round, which has only begun, and so many before it.
    pub(super) fn on_acked(
        &mut self,
        now: Time,
        newly_acked: Bytes,
        bw: Rate,
        most: Bytes,
        round: u64,
        full_bw_reached: bool,
    ) {
        let mut expected = bw.over(now - self.interval_start);
        if self.delivered <= expected {
            self.delivered = Bytes::ZERO;
            self.interval_start = now;
            expected = Bytes::ZERO;
        }
        self.delivered += newly_acked;
        let extra = self.delivered.saturating_sub(expected).min(most);
        let length = if full_bw_reached {
            FILTER_LEN
        } else {
            FILTER_LEN_STARTUP
        };
        self.filter.set_window(length);
        self.filter.push(round, extra);
        self.extra_acked = self.filter.get(round).unwrap_or(extra);
    }
}
