//! The delay-based half: groups, their trend, and the rate that follows.

use super::aimd::Aimd;
use super::arrivals::Groups;
use super::trend::{Trend, Usage};
use crate::units::{Rate, RemoteTime, Span, Time};

/// After so long without news all that is known of the delay is stale.
/// [AlphaRTC] delay-based estimator.
const STALE: Span = Span::from_secs(2);

/// Finds out from arrivals whether more is sent than the link carries.
#[derive(Clone, Debug)]
pub struct Detector {
    window: usize,
    groups: Groups,
    trend: Trend,
    heard: Option<Time>,
    overuses: u64,
}

impl Detector {
    /// A detector whose line goes through so many groups.
    #[must_use]
    pub fn new(window: usize) -> Self {
        Self {
            window,
            groups: Groups::default(),
            trend: Trend::new(window),
            heard: None,
            overuses: 0,
        }
    }

    /// A packet, in the order of arrival, that we learn of now.
    pub fn push(&mut self, now: Time, sent: Time, arrived: RemoteTime) {
        if self.heard.is_none_or(|heard| now - heard > STALE) {
            self.groups = Groups::default();
            self.trend = Trend::new(self.window);
        }
        self.heard = Some(now);
        let before = self.usage();
        if let Some(spacing) = self.groups.push(now, sent, arrived) {
            self.trend.push(spacing, arrived);
        }
        if before != Usage::Over && self.usage() == Usage::Over {
            self.overuses += 1;
        }
    }

    /// What the delay says.
    #[must_use]
    pub const fn usage(&self) -> Usage {
        self.trend.usage()
    }

    /// The trend of the delay and its threshold.
    #[must_use]
    pub const fn trend(&self) -> &Trend {
        &self.trend
    }

    /// How often an overuse began.
    #[must_use]
    pub const fn overuses(&self) -> u64 {
        self.overuses
    }
}

/// A packet as the detector wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// When it left.
    pub(super) sent: Time,
    /// When it arrived.
    pub(super) at: RemoteTime,
}

/// What a feedback changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The rate was decided upon.
    pub(super) updated: bool,
    /// It is that of a probe.
    pub(super) probed: bool,
    /// A queue has just emptied.
    pub(super) recovered: bool,
}

/// The delay-based rate.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    detector: Detector,
    aimd: Aimd,
}

impl DelayBased {
    /// A detector with this window and a rate.
    #[must_use]
    pub(super) fn new(window: usize, aimd: Aimd) -> Self {
        Self {
            detector: Detector::new(window),
            aimd,
        }
    }

    /// The detector.
    #[must_use]
    pub(super) const fn detector(&self) -> &Detector {
        &self.detector
    }

    /// The rate and its capacity.
    #[must_use]
    pub(super) const fn aimd(&self) -> &Aimd {
        &self.aimd
    }

    /// The round-trip time.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        self.aimd.set_rtt(rtt);
    }

    /// Packets that arrived, what arrives in all, and what a probe found.
    pub(super) fn update(
        &mut self,
        now: Time,
        packets: impl Iterator<Item = Arrived>,
        acked: Option<Rate>,
        probe: Option<Rate>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut any = false;
        for packet in packets {
            any = true;
            let before = self.detector.usage();
            self.detector.push(now, packet.sent, packet.at);
            outcome.recovered |= before == Usage::Under && self.detector.usage() == Usage::Normal;
        }
        if !any {
            return Outcome::default();
        }
        let usage = self.detector.usage();
        if usage == Usage::Over {
            outcome.recovered = false;
            outcome.updated = self.cut(now, acked);
        } else if let Some(probe) = probe {
            self.aimd.set(now, probe);
            outcome.updated = true;
            outcome.probed = true;
            outcome.recovered = false;
        } else {
            self.aimd.update(now, usage, acked);
            outcome.updated = self.aimd.rate().is_some();
        }
        outcome
    }

    fn cut(&mut self, now: Time, acked: Option<Rate>) -> bool {
        match (acked, self.aimd.rate()) {
            (Some(acked), _) if self.aimd.may_cut(now, acked) => {
                self.aimd.update(now, Usage::Over, Some(acked));
                true
            }
            (None, Some(rate)) if self.aimd.may_halve(now) => {
                self.aimd.set(now, rate / 2);
                true
            }
            _ => false,
        }
    }
}
