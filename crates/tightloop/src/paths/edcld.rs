//! EDCLD: shares that move, frame by frame, until all paths cost the same.
//!
//! # Idea
//! Estimate what a path would cost if it carried a share of the video: its
//! delay, a queue that grows without bound as the share nears its rate, and what
//! waits already. After each frame move so much from the dearest path to the
//! cheapest that both cost the same.
//!
//! # Signals
//! Half the last round-trip time `D`, the rate `μ` the controller takes the path
//! to carry, the bytes in its pacer `q`; the sizes and times of frames.
//!
//! # Law
//! `C_p(ψ) = D_p + (1 − w) L / (μ_p − ψ_p λ) + w q_p / μ_p`, `w = 0.8`.
//! [DelayBBR] Eq. 17. `L` is the mean packet, `λ` the rate of the frames,
//! averaged with a weight of 0.85 on the new one. The first frame has `ψ ∝ μ`.
//! Each frame moves `Δ` from the worst path to the best such that
//! `C_b(ψ_b + Δ) = C_w(ψ_w − Δ)`. With `S = μ − ψλ` and `x = Δλ` that is
//! `−k x² + x (2 − k (S_w − S_b)) + S_w − S_b + k S_w S_b = 0`,
//! `k = (D_b − D_w + w (q_b / μ_b − q_w / μ_w)) / ((1 − w) L)`; all of `ψ_w` where
//! no root is within reach.
//!
//! # Departures
//! The formula is the paper's and the solution is ours: the paper's program has
//! a sign and a term wrong, and mixes milliseconds with bits. Video that would
//! need more than 95 % of all paths together counts as so much: beyond, the
//! formula has no answer. Packets take turns by share and what a frame is short of is made up in
//! the next.

use serde::{Deserialize, Serialize};

use super::shares::Shares;
use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, SettingError, settings, written};
use crate::units::{Bytes, Rate, Span, Time, float};

/// What all paths carry together is at most so far used up. Ours: the queue in
/// the formula is then twenty packets, as long as pacers have in practice.
const MOST_USED: f64 = 0.95;

/// The entry in [`super::SCHEDULERS`].
pub const EDCLD: SchedulerKind = SchedulerKind {
    name: "edcld",
    summary: "shares that move until all paths cost the same",
    cites: &["DelayBBR"],
    defaults: || written(&Params::default()),
    new: |params: &Table| Ok(Box::new(Edcld::new(params)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The weight `w` of what waits already. [DelayBBR] Eq. 17
    pub backlog_weight: f64,
    /// The weight of the newest frame in the rate of the frames. [DelayBBR] Eq. 17
    pub rate_gain: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            backlog_weight: 0.8,
            rate_gain: 0.85,
        }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Edcld {
    params: Params,
    shares: Shares,
    /// When the last frame came, and how large it was.
    last: Option<Time>,
    /// The rate of the frames, in bits per second.
    lambda: Option<f64>,
}

/// One path's part of the cost, in seconds, bits and bits per second.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Delay, and the weighted wait in the pacer.
    fixed: f64,
    /// The rate that the video leaves free.
    spare: f64,
    /// The rate of the video on it.
    carried: f64,
}

impl Part {
    /// The cost where `scale` is `(1 − w) L`: without bound where nothing is spare.
    fn cost(&self, scale: f64) -> f64 {
        match self.spare > 0.0 {
            true => self.fixed + scale / self.spare,
            false => f64::INFINITY,
        }
    }
}

/// The rate to move from the worst path to the best so that both cost the same;
/// all that the worst carries where that is still too little.
fn moved(best: &Part, worst: &Part, scale: f64) -> f64 {
    let k = (best.fixed - worst.fixed) / scale;
    let (a, b, c) = (
        -k,
        2.0 - k * (worst.spare - best.spare),
        worst.spare - best.spare + k * worst.spare * best.spare,
    );
    let within = |x: f64| x >= 0.0 && x <= worst.carried && best.spare > x && worst.spare + x > 0.0;
    let root = b * b - 4.0 * a * c;
    let roots = match root >= 0.0 {
        true => {
            // The stable form: no difference of near numbers, also for k near zero.
            let half = -0.5 * (b + libm::copysign(libm::sqrt(root), b));
            [half / a, c / half]
        }
        false => [f64::NAN; 2],
    };
    let found = roots.into_iter().filter(|x| within(*x)).reduce(f64::min);
    found.unwrap_or(worst.carried)
}

impl Edcld {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a weight outside [0, 1), a gain outside (0, 1].
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        let (weight, gain) = (params.backlog_weight, params.rate_gain);
        SettingError::unless((0.0..1.0).contains(&weight), || {
            format!("backlog_weight = {weight}; use 0 or more and less than 1")
        })?;
        SettingError::unless(gain > 0.0 && gain <= 1.0, || {
            format!("rate_gain = {gain}; use more than 0, at most 1")
        })?;
        Ok(Self {
            params,
            shares: Shares::default(),
            last: None,
            lambda: None,
        })
    }

    fn part(&self, path: &PathView, lambda: f64) -> Part {
        let carried = self.shares.of(path.id) * lambda;
        let waits = path.service(path.state.backlog).secs_f64();
        Part {
            fixed: path.delay().secs_f64() + self.params.backlog_weight * waits,
            spare: path.rate().unwrap_or(Rate::ZERO).bps_f64() - carried,
            carried,
        }
    }

    /// Moves shares from the dearest path to the cheapest.
    fn shift(&mut self, lambda: f64, scale: f64, paths: &[PathView]) {
        let cost = |path: &PathView| self.part(path, lambda).cost(scale);
        let order = |a: &&PathView, b: &&PathView| cost(a).total_cmp(&cost(b));
        let (Some(best), Some(worst)) = (paths.iter().min_by(order), paths.iter().max_by(order))
        else {
            return;
        };
        let (b, w) = (self.part(best, lambda), self.part(worst, lambda));
        let more = moved(&b, &w, scale) / lambda;
        let (b, w) = (self.shares.of(best.id), self.shares.of(worst.id));
        if best.id != worst.id {
            self.shares.set(best.id, b + more);
            self.shares.set(worst.id, (w - more).max(0.0));
        }
    }
}

/// A size in bits, as a float.
fn bits(size: Bytes) -> f64 {
    size.per(Span::from_secs(1)).map_or(0.0, Rate::bps_f64)
}

impl Scheduler for Edcld {
    fn on_frame(&mut self, now: Time, size: Bytes, packets: u64, paths: &[PathView]) {
        let gap = self.last.replace(now).map(|last| now - last);
        let rate = gap.and_then(|gap| size.per(gap)).map(Rate::bps_f64);
        let gain = self.params.rate_gain;
        let lambda = match (self.lambda, rate) {
            (Some(old), Some(new)) => Some(old + gain * (new - old)),
            (old, new) => old.or(new),
        };
        self.lambda = lambda;
        if !self.shares.normalise(paths) {
            self.shares.by_rate(paths);
        }
        let rates = paths.iter().filter_map(PathView::rate);
        let all: f64 = rates.map(Rate::bps_f64).sum();
        let lambda = lambda.map(|lambda| lambda.min(MOST_USED * all));
        if let Some(lambda) = lambda.filter(|lambda| *lambda > 0.0) {
            let mean = bits(size) / float(packets.max(1));
            let scale = (1.0 - self.params.backlog_weight) * mean;
            self.shift(lambda, scale, paths);
        }
    }

    fn pick(&mut self, _now: Time, _packet: &Queued, paths: &[PathView]) -> Choice {
        let known = paths.iter().any(|path| self.shares.of(path.id) > 0.0);
        if !known {
            self.shares.by_rate(paths);
        }
        Choice::Send(self.shares.next(paths))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{queue, split};
    use super::*;

    impl Part {
        fn with(&self, more: f64) -> Self {
            Self {
                spare: self.spare - more,
                carried: self.carried + more,
                ..*self
            }
        }
    }

    #[test]
    fn the_root_is_the_one_by_hand() {
        // Equal fixed costs: half the difference of what is spare moves.
        let part = |fixed, spare, carried| Part {
            fixed,
            spare,
            carried,
        };
        let x = moved(&part(0.02, 3e6, 0.0), &part(0.02, 1e6, 2e6), 2_400.0);
        assert!((x - 1e6).abs() < 1e-3, "{x}");
        // Ten milliseconds nearer, (1 − w) L = 2.4 kbit: 0.01 = 2400/(1e6 − x) −
        // 2400/(1e6 + x) has its root at x = 786 882 bit/s.
        let x = moved(&part(0.01, 1e6, 0.0), &part(0.02, 1e6, 1e6), 2_400.0);
        let off = 2_400.0 / (1e6 - x) - 2_400.0 / (1e6 + x);
        assert!((off - 0.01).abs() < 1e-9, "{x}: {off}");
        // So much nearer that all there is moves.
        let x = moved(&part(0.0, 9e6, 0.0), &part(1.0, 1e6, 5e5), 2_400.0);
        assert!((x - 5e5).abs() < 1e-3, "{x}");
    }

    #[test]
    fn the_first_frame_follows_the_rates_and_then_the_near_path_gets_more() {
        let mut paths = [queue(0, 40, 3_000, 0), queue(1, 200, 1_000, 0)];
        let mut edcld = Edcld::new(&Table::new()).expect("defaults");
        let first = split(&mut edcld, Time::ZERO, 8, &mut paths.clone());
        assert_eq!(first, [6, 2]);
        // 8 packets each 40 ms are 2.4 Mbit/s.
        let mut last = first;
        for frame in 1..20 {
            let now = Time::from_millis(40 * frame);
            last = split(&mut edcld, now, 8, &mut paths);
            paths
                .iter_mut()
                .for_each(|path| path.state.backlog = Bytes::ZERO);
        }
        assert_eq!(last, [8, 0], "80 ms are dearer than any queue");
    }

    proptest! {
        #[test]
        fn what_moves_makes_both_costs_equal_or_is_all(
            near in 0.0f64..0.3, far in 0.0f64..0.3,
            spare in 1e4f64..1e7, other in -1e6f64..1e7, carried in 1.0f64..5e6,
        ) {
            let scale = 2_400.0;
            let best = Part { fixed: near, spare, carried: 0.0 };
            let worst = Part { fixed: far, spare: other, carried };
            prop_assume!(best.cost(scale) < worst.cost(scale));
            let x = moved(&best, &worst, scale);
            prop_assert!((0.0..=carried).contains(&x), "{x}");
            let (b, w) = (best.with(x).cost(scale), worst.with(-x).cost(scale));
            let equal = (b - w).abs() <= 1e-4 * b.max(w);
            let all = x >= carried && b <= w;
            prop_assert!(equal || all, "{x} of {carried}: {b} and {w}");
        }
    }
}
