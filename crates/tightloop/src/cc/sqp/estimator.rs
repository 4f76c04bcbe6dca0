//! From samples to the bandwidth estimate: one step per frame.

use serde::{Deserialize, Serialize};

use super::sampler::Sample;
use crate::units::Rate;

/// What a sample means that only mirrors the pace: it is the rate of a round
/// trip ago, and says nothing against the rate of now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PacingLimited {
    /// The estimate takes its full step, but not beyond T times the sample,
    /// which the link is known to carry.
    Bounded,
    /// Frames of two packets and more count as m times the estimate of now.
    /// Overshoots by what is gained in a round trip, and oscillates on long paths.
    Current,
    /// Nothing special: at low rates the estimate chases its own past and sticks.
    Literal,
}

/// Eq. 4 with its constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimator {
    /// m.
    pub(super) pacing: f64,
    /// T.
    pub(super) target: f64,
    /// δ.
    pub(super) step: Rate,
    /// r.
    pub(super) reward: f64,
    /// The most of the estimate that one step takes away.
    pub(super) max_cut: f64,
    /// The least estimate.
    pub(super) floor: Rate,
    /// The largest estimate.
    pub(super) ceiling: Rate,
    pub(super) pacing_limited: PacingLimited,
    /// The share of its pace from which a sample counts as a mirror of it.
    pub(super) mirror: f64,
}

impl Estimator {
    /// The estimate after a frame.
    pub(super) fn next(&self, bandwidth: Rate, sample: &Sample) -> Rate {
        let goal = sample.rate * self.target;
        let mirrors = sample.rate > sample.paced * self.mirror;
        let current = bandwidth * (self.pacing * self.target);
        let next = match self.pacing_limited {
            PacingLimited::Bounded if mirrors => {
                let proven = sample.proven * self.target;
                self.step(bandwidth, current).min(bandwidth.max(proven))
            }
            PacingLimited::Current if mirrors && sample.packets > 1 => {
                self.step(bandwidth, current)
            }
            _ => self.step(bandwidth, goal),
        };
        next.clamp(self.floor, self.ceiling)
    }

    /// B + δ·[r·(S_T/B − 1) − (B/S_T − 1)], S_T being the goal. [SQP] Eq. 4.
    fn step(&self, bandwidth: Rate, goal: Rate) -> Rate {
        let worst = bandwidth * (1.0 - self.max_cut);
        if goal == Rate::ZERO {
            return worst;
        }
        let steps = steps(bandwidth, goal, self.reward);
        let next = bandwidth.bps_f64() + self.step.bps_f64() * steps;
        Rate::from_bps_f64(next).max(worst)
    }
}

/// How far the estimate moves, in δ: r·(S_T/B − 1) − (B/S_T − 1), S_T being the
/// goal. [SQP] Eq. 4.
pub(super) fn steps(bandwidth: Rate, goal: Rate, reward: f64) -> f64 {
    let rewarded = reward * (goal.ratio(bandwidth) - 1.0);
    let penalty = bandwidth.ratio(goal) - 1.0;
    rewarded - penalty
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAPER: Estimator = Estimator {
        pacing: 2.0,
        target: 0.9,
        step: Rate::from_kbps(320),
        reward: 0.25,
        max_cut: 0.5,
        floor: Rate::from_kbps(500),
        ceiling: Rate::MAX,
        pacing_limited: PacingLimited::Bounded,
        mirror: 0.95,
    };

    fn measured(rate: Rate) -> Sample {
        Sample {
            rate,
            paced: rate * 2.0,
            proven: rate,
            packets: 10,
        }
    }

    /// A frame paced at twice this estimate that found no bottleneck.
    fn mirror(bandwidth: Rate) -> Sample {
        Sample {
            rate: bandwidth * 2.0,
            paced: bandwidth * 2.0,
            proven: bandwidth * 2.0,
            packets: 10,
        }
    }

    #[test]
    fn the_goal_is_the_fixed_point() {
        for mbps in [1, 5, 20, 60] {
            let goal = Rate::from_mbps(mbps);
            assert_eq!(PAPER.next(goal, &measured(goal * (1.0 / 0.9))), goal);
        }
    }

    #[test]
    fn far_below_the_link_the_estimate_grows_by_the_same_step_everywhere() {
        // S = m·B, S_T = 1.8·B: 0.25·0.8 − (1/1.8 − 1) = 0.2 + 0.444 = 0.644; × 320 = 206 kbit/s.
        for pacing_limited in [
            PacingLimited::Bounded,
            PacingLimited::Current,
            PacingLimited::Literal,
        ] {
            let estimator = Estimator {
                pacing_limited,
                ..PAPER
            };
            for mbps in [1, 5, 20] {
                let rate = Rate::from_mbps(mbps);
                let grown = estimator.next(rate, &mirror(rate)).saturating_sub(rate);
                assert!((206_200..=206_240).contains(&grown.as_bps()), "{grown}");
            }
        }
    }

    #[test]
    fn decrease_depends_on_the_ratio_alone() {
        // B = 4·S_T: 0.25·(0.25 − 1) − 3 = −3.1875; × 320 = −1020 kbit/s.
        for mbps in [8, 16] {
            let rate = Rate::from_mbps(mbps);
            let goal = (rate / 4) * (1.0 / 0.9);
            let cut = rate.saturating_sub(PAPER.next(rate, &measured(goal)));
            let off = cut.bps_f64() - 1_020_000.0;
            assert!(off.abs() < 10.0, "{cut}");
        }
    }

    #[test]
    fn nothing_received_halves_and_bounds_hold() {
        let rate = Rate::from_mbps(20);
        assert_eq!(PAPER.next(rate, &measured(Rate::ZERO)), rate / 2);
        assert_eq!(PAPER.next(rate, &measured(Rate::from_bps(9))), rate / 2);
        let floor = PAPER.floor;
        assert_eq!(PAPER.next(floor, &measured(Rate::ZERO)), floor);
        let capped = Estimator {
            ceiling: rate,
            ..PAPER
        };
        assert_eq!(capped.next(rate, &mirror(rate)), rate);
    }

    #[test]
    fn a_mirror_of_an_old_pace_is_read_in_three_ways() {
        // Sent at 0.5, heard at 1.2 Mbit/s: S_T = 0.9.
        let (now, sample) = (Rate::from_kbps(1_200), mirror(Rate::from_kbps(500)));
        let next = |pacing_limited| {
            let estimator = Estimator {
                pacing_limited,
                ..PAPER
            };
            estimator.next(now, &sample).as_bps()
        };
        // 0.25·(0.75 − 1) − (1.333 − 1) = −0.396; × 320 = −127 kbit/s.
        assert_eq!(next(PacingLimited::Literal), 1_073_333);
        assert_eq!(next(PacingLimited::Current), 1_406_222);
        assert_eq!(next(PacingLimited::Bounded), 1_200_000);
        // Up to what is proven, and no further: 0.8 + 0.206 > 0.9.
        assert_eq!(
            PAPER.next(Rate::from_kbps(800), &sample),
            Rate::from_kbps(900)
        );
    }

    #[test]
    fn a_mirror_that_proves_nothing_lifts_nothing() {
        let rate = Rate::from_mbps(18);
        let idle = Sample {
            proven: Rate::ZERO,
            packets: 1,
            ..mirror(rate)
        };
        assert_eq!(PAPER.next(rate, &idle), rate);
    }

    proptest! {
        #[test]
        fn a_step_goes_towards_the_goal(bps in 500_000u64..1_000_000_000, rate in 0u64..10_000_000_000) {
            let (bandwidth, sample) = (Rate::from_bps(bps), measured(Rate::from_bps(rate)));
            let goal = sample.rate * PAPER.target;
            let next = PAPER.next(bandwidth, &sample);
            prop_assert!(next >= PAPER.floor && next >= bandwidth / 2);
            prop_assert_eq!(next.max(bandwidth) == next, goal >= bandwidth || next == bandwidth);
        }

        #[test]
        fn a_mirror_never_lowers_the_estimate_nor_lifts_it_beyond_proof(
            bps in 500_000u64..100_000_000, then in 500_000u64..100_000_000,
        ) {
            let (bandwidth, sample) = (Rate::from_bps(bps), mirror(Rate::from_bps(then)));
            let next = PAPER.next(bandwidth, &sample);
            prop_assert!(next >= bandwidth);
            prop_assert!(next <= bandwidth.max(sample.rate * PAPER.target));
        }
    }
}
