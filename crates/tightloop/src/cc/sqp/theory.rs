//! Closed forms of SQP: what the mechanism should do, on paper.
//!
//! Equations 1, 2 and 4 are the algorithm itself and live in
//! `sampler` and `estimator`; these are their consequences on
//! a link of constant rate, with cross traffic that does not respond or, as in
//! Fig. 6, is another such flow. The
//! equation numbers are those of [SQP]; the forms without a number are derived
//! from them.

use super::estimator;
use crate::units::{Rate, Span};

/// What matters of the settings: the pacing multiplier `m` and the target
/// multiplier `T`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multipliers {
    /// Packets leave at `m` times the bandwidth estimate.
    pub pacing: f64,
    /// The estimator aims at `T` times the sample.
    pub target: f64,
}

impl Multipliers {
    /// m = 2 and T = 0.9. [SQP].
    pub const PAPER: Self = Self {
        pacing: 2.0,
        target: 0.9,
    };

    /// How long the link needs for a frame of `bandwidth` over one `interval`,
    /// sent at `m` times that rate beside cross traffic: (B·I + R·I/m)/C. Eq. 5.
    #[must_use]
    pub fn transmission(self, bandwidth: Rate, interval: Span, cross: Rate, link: Rate) -> Span {
        interval * ((bandwidth.bps_f64() + cross.bps_f64() / self.pacing) / link.bps_f64())
    }

    /// The sample that a frame sent at `bandwidth` gives: m·B·C/(m·B + R) where
    /// that overfills the link, else m·B. Eq. 7.
    #[must_use]
    pub fn sample(self, bandwidth: Rate, cross: Rate, link: Rate) -> Rate {
        let paced = bandwidth * self.pacing;
        if paced + cross > link {
            paced * link.ratio(paced + cross)
        } else {
            paced
        }
    }

    /// How far Eq. 4 moves the estimate for one frame beside cross traffic, in
    /// steps of δ, with reward `r`.
    #[must_use]
    pub fn steps(self, bandwidth: Rate, cross: Rate, link: Rate, reward: f64) -> f64 {
        let goal = self.sample(bandwidth, cross, link) * self.target;
        estimator::steps(bandwidth, goal, reward)
    }

    /// How far the estimate would jump, in bit/s, if it were set to the target
    /// share of the sample at once: T·S − B.
    #[must_use]
    pub fn jump(self, bandwidth: Rate, cross: Rate, link: Rate) -> f64 {
        let goal = self.sample(bandwidth, cross, link) * self.target;
        goal.bps_f64() - bandwidth.bps_f64()
    }

    /// Where the estimate comes to rest: T·C − R/m. Eq. 8.
    #[must_use]
    pub fn rest(self, cross: Rate, link: Rate) -> Rate {
        (link * self.target).saturating_sub(cross * (1.0 / self.pacing))
    }

    /// The share used of what cross traffic leaves free, where the free share
    /// of the link is `available`: (mT − 1 + A)/(mA), at most 1. Eq. 9.
    #[must_use]
    pub fn utilisation(self, available: f64) -> f64 {
        let share = (self.pacing * self.target - 1.0 + available) / (self.pacing * available);
        share.min(1.0)
    }

    /// The free share of a link below which SQP fills it; also its largest share
    /// beside an elastic flow that leaves no queue: (mT − 1)/(m − 1).
    #[must_use]
    pub fn full_below(self) -> f64 {
        (self.pacing * self.target - 1.0) / (self.pacing - 1.0)
    }

    /// Sum of the rates of `flows` SQP flows, as a share of the link:
    /// N·T/(1 + (N − 1)/m), at most 1.
    #[must_use]
    pub fn utilisation_of(self, flows: u32) -> f64 {
        let flows = f64::from(flows);
        (flows * self.target / (1.0 + (flows - 1.0) / self.pacing)).min(1.0)
    }

    /// The largest target multiplier with which `flows` flows leave no standing
    /// queue: (m + N − 1)/(mN).
    #[must_use]
    pub fn queue_free_target(self, flows: u32) -> f64 {
        let flows = f64::from(flows);
        (self.pacing + flows - 1.0) / (self.pacing * flows)
    }

    /// The longest queue that a frame builds for itself, as time on the link:
    /// (m·B/C − 1)·I/m.
    #[must_use]
    pub fn burst_queue(self, bandwidth: Rate, interval: Span, link: Rate) -> Span {
        let excess = (bandwidth * self.pacing).ratio(link) - 1.0;
        interval * (excess.max(0.0) / self.pacing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Multipliers = Multipliers::PAPER;
    const LINK: Rate = Rate::from_mbps(20);

    fn frame() -> Span {
        Span::from_secs(1) / 60
    }

    #[track_caller]
    fn near(value: f64, want: f64, within: f64) {
        assert!((value - want).abs() <= within, "{value} is not {want}");
    }

    #[test]
    fn the_estimate_rests_where_the_target_meets_the_sample() {
        // 0.9·20 − 4/2 = 16; its sample is 2·16·20/(32 + 4) = 17.777…; times 0.9 it is 16 again.
        let cross = Rate::from_mbps(4);
        let rest = PAPER.rest(cross, LINK);
        assert_eq!(rest, Rate::from_mbps(16));
        let sample = PAPER.sample(rest, cross, LINK);
        assert_eq!(sample, Rate::from_bps(17_777_778));
        near((sample * PAPER.target).mbps_f64(), 16.0, 1e-6);
        // Eq. 6 and 7 agree: a frame's bytes over its transmission time is the sample.
        let span = PAPER.transmission(rest, frame(), cross, LINK);
        near(
            rest.over(frame()).per(span).expect("positive").mbps_f64(),
            17.778,
            0.01,
        );
        // Below the link's rate the sample only mirrors the pacing.
        assert_eq!(
            PAPER.sample(Rate::from_mbps(7), cross, LINK),
            Rate::from_mbps(14)
        );
    }

    #[test]
    fn while_no_queue_stands_both_flows_move_alike_and_jumps_keep_their_ratio() {
        let (few, many) = (Rate::from_mbps(2), Rate::from_mbps(5));
        // Eq. 4: 0.25·(1.8 − 1) − (1/1.8 − 1) = 0.6444, whatever the share.
        for (own, other) in [(few, many), (many, few)] {
            near(PAPER.steps(own, other, LINK, 0.25), 0.644_444, 1e-6);
            // Without it, T·m·B − B = 0.8·B, away from the origin.
            near(PAPER.jump(own, other, LINK), 0.8 * own.bps_f64(), 1.0);
        }
        // Both full, 14 beside 10: 14 takes 0.9·28·20/38 = 13.26, 10 takes 0.9·20·20/34.
        let (large, small) = (Rate::from_mbps(14), Rate::from_mbps(10));
        near(PAPER.jump(large, small, LINK) / 1e6, -0.737, 0.001);
        near(PAPER.jump(small, large, LINK) / 1e6, 0.588, 0.001);
        // At rest nothing moves.
        let rest = PAPER.rest(Rate::from_mbps(4), LINK);
        near(PAPER.steps(rest, Rate::from_mbps(4), LINK, 0.25), 0.0, 1e-6);
    }

    #[test]
    fn utilisation_is_the_target_alone_and_full_below_four_fifths() {
        for (available, want) in [(1.0, 0.9), (0.9, 0.944_444), (0.85, 0.970_588), (0.8, 1.0)] {
            near(PAPER.utilisation(available), want, 1e-6);
            // Eq. 9 is Eq. 8 over what is free.
            let free = LINK * available;
            let rest = PAPER.rest(LINK.saturating_sub(free), LINK);
            near(rest.ratio(free), want, 1e-6);
        }
        near(PAPER.utilisation(0.5), 1.0, 0.0);
    }

    #[test]
    fn the_largest_share_beside_elastic_traffic_follows_the_target() {
        for (target, want) in [
            (0.75, 0.5),
            (0.8, 0.6),
            (0.85, 0.7),
            (0.9, 0.8),
            (0.95, 0.9),
        ] {
            let multipliers = Multipliers { target, ..PAPER };
            near(multipliers.full_below(), want, 1e-12);
        }
    }

    #[test]
    fn two_flows_of_the_paper_fill_the_link() {
        near(PAPER.utilisation_of(1), 0.9, 1e-12);
        // 2·0.9/1.5 = 1.2.
        near(PAPER.utilisation_of(2), 1.0, 0.0);
        near(PAPER.queue_free_target(1), 1.0, 1e-12);
        near(PAPER.queue_free_target(2), 0.75, 1e-12);
        near(PAPER.queue_free_target(3), 2.0 / 3.0, 1e-12);
        near(PAPER.queue_free_target(1_000_000), 0.5, 1e-6);
        let gentle = Multipliers {
            target: 0.6,
            ..PAPER
        };
        // 2·0.6/1.5 = 0.8 and 4·0.6/2.5 = 0.96.
        near(gentle.utilisation_of(2), 0.8, 1e-12);
        near(gentle.utilisation_of(4), 0.96, 1e-12);
    }

    #[test]
    fn a_frame_queues_behind_itself_for_half_an_interval_at_most() {
        // B = C: (2 − 1)·16.67/2 = 8.33 ms, 13.9 packets at 20 Mbit/s.
        let most = PAPER.burst_queue(LINK, frame(), LINK);
        near(most.millis_f64(), 8.333, 0.001);
        let packet = crate::units::Bytes::new(1500).at(LINK).expect("a rate");
        near(most.ratio(packet), 13.9, 0.05);
        // At rest, B = 0.9·C: (1.8 − 1)·16.67/2 = 6.67 ms.
        let rest = PAPER.burst_queue(LINK * 0.9, frame(), LINK);
        near(rest.millis_f64(), 6.667, 0.001);
        assert_eq!(PAPER.burst_queue(LINK * 0.5, frame(), LINK), Span::ZERO);
    }
}
