//! The path's model: what it carries, for the long and the short term.

use super::sample::Sample;
use crate::filter::WindowedMax;
use crate::units::{Bytes, Rate, Span, Time};

/// BBR.Beta, what a round with losses leaves at least. [BBR-Draft] §2.8.
pub(super) const BETA: f64 = 0.7;
/// BBR.LossThresh, of what was in flight. [BBR-Draft] §2.8.
pub(super) const LOSS_THRESH: f64 = 0.02;
/// BBR.Headroom, of BBR.inflight_longterm. [BBR-Draft] §2.8.
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd in packets. [BBR-Draft] §2.8.
const MIN_PIPE: u64 = 4;
/// Besides the current cycle, what BBR.MaxBwFilterLen = 2 cycles remember.
/// [BBR-Draft] §2.11, §5.5.6.
const EARLIER_CYCLES: u64 = 1;
/// BBR.MinRTTFilterLen. [BBR-Draft] §2.16.1.
const MIN_RTT_FILTER_LEN: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval. [BBR-Draft] §2.16.2.
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);

/// The rates and volumes of the path. Where the draft says Infinity, `None`.
#[derive(Clone, Debug)]
pub(super) struct Model {
    mss: Bytes,
    max_bw_filter: WindowedMax<Rate, u64>,
    cycle_count: u64,
    /// BBR.max_bw.
    pub(super) max_bw: Rate,
    /// BBR.bw: the smaller of `max_bw` and `bw_shortterm`.
    pub(super) bw: Rate,
    /// BBR.bw_shortterm.
    pub(super) bw_shortterm: Option<Rate>,
    /// BBR.inflight_shortterm.
    pub(super) inflight_shortterm: Option<Bytes>,
    /// BBR.inflight_longterm.
    pub(super) inflight_longterm: Option<Bytes>,
    /// BBR.bw_latest.
    bw_latest: Rate,
    /// BBR.inflight_latest.
    pub(super) inflight_latest: Bytes,
    /// BBR.loss_round_delivered.
    loss_round_delivered: Bytes,
    /// BBR.loss_round_start.
    pub(super) loss_round_start: bool,
    /// BBR.is_loss_in_round.
    pub(super) is_loss_in_round: bool,
}

impl Model {
    pub(super) fn new(mss: Bytes) -> Self {
        Self {
            mss,
            max_bw_filter: WindowedMax::new(EARLIER_CYCLES),
            cycle_count: 0,
            max_bw: Rate::ZERO,
            bw: Rate::ZERO,
            bw_shortterm: None,
            inflight_shortterm: None,
            inflight_longterm: None,
            bw_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
            loss_round_delivered: Bytes::ZERO,
            loss_round_start: false,
            is_loss_in_round: false,
        }
    }

    /// BBR.MinPipeCwnd.
    pub(super) fn min_pipe_cwnd(&self) -> Bytes {
        self.mss * MIN_PIPE
    }

    /// UpdateLatestDeliverySignals. [BBR-Draft] §5.5.10.3.
    pub(super) fn update_latest(&mut self, sample: &Sample, delivered: Bytes) {
        self.bw_latest = self.bw_latest.max(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// AdvanceLatestDeliverySignals. [BBR-Draft] §5.5.10.3.
    pub(super) const fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate;
            self.inflight_latest = sample.delivered;
        }
    }

    /// UpdateMaxBw without the round. [BBR-Draft] §5.5.5.
    pub(super) fn update_max_bw(&mut self, sample: &Sample) {
        let rate = sample.delivery_rate;
        if rate > Rate::ZERO && (rate >= self.max_bw || !sample.app_limited) {
            self.max_bw_filter.push(self.cycle_count, rate);
            self.max_bw = self.max_bw_filter.get(self.cycle_count).unwrap_or(rate);
        }
    }

    /// AdvanceMaxBwFilter. [BBR-Draft] §5.5.6.
    pub(super) const fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    /// The loss half of NoteLoss. [BBR-Draft] §5.5.10.2.
    pub(super) const fn note_loss(&mut self, delivered: Bytes) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
    }

    /// UpdateCongestionSignals after UpdateMaxBw: a round with losses, in which
    /// nobody probed for bandwidth, lowers the short-term model.
    /// [BBR-Draft] §5.5.10.3.
    pub(super) fn adapt_lower_bounds(&mut self, probing_bw: bool, cwnd: Bytes) {
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !probing_bw {
            let bw = self.bw_shortterm.unwrap_or(self.max_bw);
            self.bw_shortterm = Some(self.bw_latest.max(bw * BETA));
            let inflight = self.inflight_shortterm.unwrap_or(cwnd);
            self.inflight_shortterm = Some(self.inflight_latest.max(inflight * BETA));
        }
        self.is_loss_in_round = false;
    }

    /// ResetCongestionSignals. [BBR-Draft] §5.5.10.3.
    pub(super) const fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = Rate::ZERO;
        self.inflight_latest = Bytes::ZERO;
    }

    /// ResetShortTermModel. [BBR-Draft] §5.5.10.3.
    pub(super) const fn reset_short_term(&mut self) {
        self.bw_shortterm = None;
        self.inflight_shortterm = None;
    }

    /// BoundBWForModel. [BBR-Draft] §5.5.10.3.
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.bw_shortterm.unwrap_or(self.max_bw).min(self.max_bw);
    }

    /// InflightWithHeadroom. [BBR-Draft] §5.3.3.9.
    pub(super) fn inflight_with_headroom(&self) -> Option<Bytes> {
        let longterm = self.inflight_longterm?;
        let headroom = self.mss.max(longterm * HEADROOM);
        Some(longterm.saturating_sub(headroom).max(self.min_pipe_cwnd()))
    }
}

/// BBR.min_rtt, and when the next ProbeRTT is due. [BBR-Draft] §5.3.4.3.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt; `None` before the first sample.
    pub(super) min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    /// BBR.probe_rtt_min_delay.
    probe_rtt_min_delay: Option<Span>,
    /// BBR.probe_rtt_min_stamp.
    pub(super) probe_rtt_min_stamp: Time,
    /// BBR.probe_rtt_expired.
    pub(super) probe_rtt_expired: bool,
}

impl MinRtt {
    /// The flow begins.
    pub(super) const fn begin(&mut self, now: Time) {
        self.min_rtt_stamp = now;
        self.probe_rtt_min_stamp = now;
    }

    /// UpdateMinRTT.
    pub(super) fn update(&mut self, now: Time, rtt: Option<Span>) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        let below = |rtt: Span, least: Option<Span>| least.is_none_or(|least| rtt < least);
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || below(rtt, self.probe_rtt_min_delay))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || below(delay, self.min_rtt))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }
}
