//! How well an inherent loss and a bandwidth explain what was observed.

use super::observed::Observations;
use crate::units::Rate;

/// The least inherent loss. [Str0m] loss controller.
const LEAST_INHERENT: f64 = 1e-3;
/// The most inherent loss that any bandwidth explains. [Str0m] loss controller.
const MOST_INHERENT: f64 = 0.05;
/// And this rate's part of the bandwidth besides. [Str0m] loss controller.
const MOST_INHERENT_BALANCE: Rate = Rate::from_kbps(100);
/// Probabilities keep away from 0 and 1 by this. [Str0m] loss controller.
const CERTAINTY: f64 = 1e-6;
/// The share of a Newton step that is taken. [Str0m] loss controller.
const STEP: f64 = 0.75;
/// The curvature where there is none. [Str0m] loss controller.
const LEAST_CURVATURE: f64 = 1e-6;
/// How much a higher bandwidth is liked, per kbit/s. [Str0m] loss controller.
const BIAS: f64 = 0.0002;
/// And per unit of its logarithm. [Str0m] loss controller.
const LOG_BIAS: f64 = 0.02;
/// Below this loss higher bandwidths are liked, above it lower ones.
/// [Str0m] loss controller.
const BIAS_TURNS: f64 = 0.2;
/// How softly. [Str0m] loss controller.
const BIAS_SOFTNESS: f64 = 0.002;
/// What the biases count in. [Str0m] loss controller.
const UNIT: Rate = Rate::from_kbps(1);

/// A belief about the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belief {
    /// The share lost whatever the rate.
    pub(super) inherent: f64,
    /// The rate above which the rest is lost.
    pub(super) bandwidth: Rate,
}

impl Belief {
    /// The nearest that may be believed.
    pub(super) fn feasible(mut self) -> Self {
        let most = if self.bandwidth == Rate::ZERO {
            1.0
        } else {
            MOST_INHERENT + MOST_INHERENT_BALANCE.ratio(self.bandwidth)
        };
        self.inherent = self.inherent.max(LEAST_INHERENT).min(most.min(1.0));
        self
    }

    fn loss_at(&self, sending: Rate) -> f64 {
        let excess = sending.saturating_sub(self.bandwidth).ratio(sending);
        let loss = self.inherent + (1.0 - self.inherent) * excess;
        loss.clamp(CERTAINTY, 1.0 - CERTAINTY)
    }

    /// The inherent loss moved towards its likeliest value, the bandwidth fixed.
    pub(super) fn refined(self, seen: &Observations) -> Self {
        let (mut slope, mut curvature) = (0.0, 0.0);
        for (weight, observation) in seen.weighed() {
            let loss = self.loss_at(observation.sending);
            let (lost, arrived) = (observation.lost, observation.arrived);
            slope += weight * (lost / loss - arrived / (1.0 - loss));
            curvature -= weight * (lost / (loss * loss) + arrived / ((1.0 - loss) * (1.0 - loss)));
        }
        if curvature >= 0.0 {
            curvature = -LEAST_CURVATURE;
        }
        Self {
            inherent: self.inherent - STEP * slope / curvature,
            ..self
        }
        .feasible()
    }

    /// How likely what was observed is, and how much such a bandwidth is liked.
    pub(super) fn merit(&self, seen: &Observations) -> f64 {
        let turned = BIAS_TURNS - seen.loss();
        let liking = turned / (BIAS_SOFTNESS + turned.abs());
        let bandwidth = self.bandwidth.ratio(UNIT);
        let bias = liking * (BIAS * bandwidth + LOG_BIAS * libm::log1p(bandwidth));
        let merit = |(weight, observation): (f64, &super::observed::Observation)| {
            let loss = self.loss_at(observation.sending);
            let likelihood =
                observation.lost * libm::log(loss) + observation.arrived * libm::log(1.0 - loss);
            weight * (likelihood + bias * observation.size())
        };
        seen.weighed().map(merit).sum()
    }
}
