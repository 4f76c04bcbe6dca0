//! Illinois: grows fast while the queue is short, slowly where a loss is near.
//!
//! # Idea
//! Losses say when to give way, delay says how much and how fast to come back:
//! a concave window that stays near the limit for long.
//!
//! # Signals
//! Losses and ECN marks, each at most once per round trip; the mean RTT of each
//! round trip between the smallest and the largest ever seen.
//!
//! # Law
//! In packets. Once per window, with d_a the mean and d_m the largest RTT less
//! the smallest, d₁ = d_m/100, d₂ = d_m/10, d₃ = 8 d_m/10:
//!
//! - α = α_max where d_a ≤ d₁, if it has been so for θ windows or α never left
//!   it; else α_max·D/(D + A·(α_max − α_min)/α_min), D = d_m − d₁, A = d_a − d₁
//! - β = β_min up to d₂, β_max from d₃, straight between
//! - both 1 and 1/2 where cwnd is below 15 packets
//! - each acknowledged packet: cwnd += 1 in slow start, else cwnd += α/cwnd
//! - a loss or mark: ssthresh = (1 − β)·flight, cwnd = ssthresh
//! - persistent congestion: cwnd = 1, α = 1, β = 1/2
//!
//! # Departures
//! - α starts at α_max, as in Linux; the paper starts it at 1.
//! - d_m is of single RTTs, as in Linux; the paper takes the largest mean.

use serde::{Deserialize, Serialize};

use super::window::Window;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Span, Time, float};

/// The entry in [`super::ALGORITHMS`].
pub const ILLINOIS: Algorithm = Algorithm {
    name: "illinois",
    summary: "loss decides when to give way, delay how much and how fast to return",
    cites: &["Illinois", "RFC5681", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Illinois::new(start)?)),
    reporter: None,
};

/// The share of the largest delay up to which α is largest: d₁. [Illinois]
const SHORT: f64 = 0.01;
/// The share from which more than the least is given away: d₂. [Illinois]
const LONG: f64 = 0.1;
/// The share from which the most is given away: d₃. [Illinois]
const LONGEST: f64 = 0.8;
/// α of a small window and after persistent congestion: Reno's. [Illinois]
const RENO_ALPHA: f64 = 1.0;
/// β of a small window and after persistent congestion: Reno's. [Illinois]
const RENO_BETA: f64 = 0.5;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// α_min, in packets per round trip. [Illinois]
    pub alpha_min: f64,
    /// α_max. [Illinois]
    pub alpha_max: f64,
    /// β_min, the least share given away. [Illinois]
    pub beta_min: f64,
    /// β_max. [Illinois]
    pub beta_max: f64,
    /// Below so many packets it is Reno. [Illinois]
    pub window_threshold: f64,
    /// θ: windows of short delay before α returns to its largest. [Illinois]
    pub theta: u32,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            alpha_min: 0.3,
            alpha_max: 10.0,
            beta_min: 0.125,
            beta_max: 0.5,
            window_threshold: 15.0,
            theta: 5,
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Illinois {
    params: Params,
    window: Window,
    alpha: f64,
    beta: f64,
    /// α has left its largest value since the delay was last short for long.
    was_long: bool,
    /// Windows of short delay since.
    short: u32,
    largest: Option<Span>,
    /// RTTs of this window, added up, and how many they are.
    sum: Span,
    samples: u64,
    round_end: u64,
}

impl Illinois {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; α, β or a window out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let (low, high) = (params.alpha_min, params.alpha_max);
        SettingError::unless(low > 0.0 && low <= high && high <= 1e3, || {
            format!("alpha_min = {low} and alpha_max = {high} are not 0 < alpha_min ≤ alpha_max")
        })?;
        let (low, high) = (params.beta_min, params.beta_max);
        SettingError::unless(low > 0.0 && low <= high && high < 1.0, || {
            format!("beta_min = {low} and beta_max = {high} are not 0 < beta_min ≤ beta_max < 1")
        })?;
        Ok(Self {
            window: Window::new(start, params.initial_window, params.max_window)?,
            alpha: params.alpha_max,
            beta: params.beta_max,
            was_long: false,
            short: 0,
            largest: None,
            sum: Span::ZERO,
            samples: 0,
            round_end: 0,
            params,
        })
    }

    /// Mean and largest delay of the window that ends, as seconds above the least.
    fn delays(&self) -> Option<(f64, f64)> {
        let least = self.window.min_rtt?.secs_f64();
        let mean = self.sum.secs_f64() / float(self.samples.max(1));
        let largest = self.largest?.secs_f64() - least;
        (self.samples > 0).then(|| ((mean - least).max(0.0), largest.max(0.0)))
    }

    fn on_round(&mut self) {
        let delays = self.delays();
        (self.sum, self.samples) = (Span::ZERO, 0);
        self.round_end = self.window.next_number();
        if self.window.cwnd < self.params.window_threshold {
            (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
        } else if let Some((mean, largest)) = delays {
            self.alpha = self.alpha(mean, largest);
            self.beta = self.beta(mean, largest);
        }
    }

    fn alpha(&mut self, mean: f64, largest: f64) -> f64 {
        let (low, high) = (self.params.alpha_min, self.params.alpha_max);
        let short = SHORT * largest;
        if mean <= short {
            if !self.was_long {
                return high;
            }
            self.short += 1;
            if self.short < self.params.theta {
                return self.alpha;
            }
            (self.was_long, self.short) = (false, 0);
            return high;
        }
        (self.was_long, self.short) = (true, 0);
        let (all, above) = (largest - short, mean - short);
        high * all / (all + above * (high - low) / low)
    }

    fn beta(&self, mean: f64, largest: f64) -> f64 {
        let (low, high) = (self.params.beta_min, self.params.beta_max);
        let (from, to) = (LONG * largest, LONGEST * largest);
        if mean <= from {
            low
        } else if mean >= to {
            high
        } else {
            low + (high - low) * (mean - from) / (to - from)
        }
    }
}

impl Controller for Illinois {
    fn on_feedback(&mut self, _now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.window.min_rtt = path.min_rtt;
        for acked in feedback.acked {
            if let Some(rtt) = acked.rtt {
                self.sum += rtt;
                self.samples += 1;
                self.largest = self.largest.max(Some(rtt));
            }
            if acked.packet.number >= self.round_end {
                self.on_round();
            }
        }
        let window = &mut self.window;
        window.on_congestion(feedback, path, 1.0 - self.beta);
        if feedback.persistent_congestion {
            (self.alpha, self.beta) = (RENO_ALPHA, RENO_BETA);
            (self.was_long, self.short) = (false, 0);
        }
        for packets in window.growing(feedback) {
            let more = if window.in_slow_start() {
                packets
            } else {
                packets * self.alpha / window.cwnd
            };
            window.grow(more);
        }
    }

    fn control(&self) -> Control {
        self.window.control()
    }

    fn on_sent(&mut self, _now: Time, packet: &Sent, _path: &PathState) {
        self.window.on_sent(packet);
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.window.inspect(gauge);
        gauge("alpha", self.alpha);
        gauge("beta", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};
    use crate::units::Rate;

    fn illinois() -> Illinois {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Illinois::new(&start).expect("good settings")
    }

    #[track_caller]
    fn assert_near(value: f64, wanted: f64, by: f64) {
        assert!((value - wanted).abs() <= by, "{value} is not {wanted}");
    }

    #[test]
    fn the_curves_have_the_papers_ends() {
        let mut cc = illinois();
        // d_m = 100 ms: α_max at 1 ms, α_min at 100 ms, half of D at 50.5 ms:
        // 10 · 99/(99 + 49.5 · 9.7/0.3) = 0.5825.
        assert_near(cc.alpha(0.001, 0.1), 10.0, 1e-9);
        assert_near(cc.alpha(0.1, 0.1), 0.3, 1e-9);
        assert_near(cc.alpha(0.0505, 0.1), 990.0 / 1699.5, 1e-9);
        for (mean, beta) in [(0.01, 0.125), (0.045, 0.3125), (0.08, 0.5), (0.1, 0.5)] {
            assert_near(cc.beta(mean, 0.1), beta, 1e-9);
        }
    }

    #[test]
    fn five_short_windows_bring_the_largest_step_back() {
        let mut cc = illinois();
        cc.alpha = cc.alpha(0.1, 0.1);
        let back: Vec<f64> = (0..5)
            .map(|_| {
                cc.alpha = cc.alpha(0.0, 0.1);
                cc.alpha
            })
            .collect();
        for alpha in &back[..4] {
            assert_near(*alpha, 0.3, 1e-9);
        }
        assert_near(back[4], 10.0, 0.0);
    }

    #[test]
    fn an_empty_pipe_is_filled_by_ten_packets_a_round_trip() {
        let (mut cc, mut pipe) = (illinois(), Pipe::new(Span::from_millis(40)));
        cc.window.ssthresh = Some(10.0);
        cc.window.cwnd = 40.0;
        pipe.start(&mut cc);
        let mut last = cc.window.cwnd;
        for _ in 0..6 {
            let end = pipe.now + Span::from_millis(40);
            while pipe.now < end {
                pipe.step(&mut cc);
            }
            assert_near(cc.window.cwnd - last, 10.0, 1.5);
            last = cc.window.cwnd;
        }
    }

    #[test]
    fn near_the_limit_it_grows_slowly_and_gives_half_away() {
        // 12 Mbit/s and 40 ms are 40 packets: of 100, sixty wait, and of 200, 160.
        let mut pipe = Pipe::new(Span::from_millis(40)).with_rate(Rate::from_mbps(12));
        let mut cc = illinois();
        cc.window.ssthresh = Some(10.0);
        cc.window.cwnd = 200.0;
        pipe.start(&mut cc);
        let end = pipe.now + Span::from_secs(4);
        while pipe.now < end {
            pipe.step(&mut cc);
        }
        assert!((0.3..0.5).contains(&cc.alpha), "{}", cc.alpha);
        assert_near(cc.beta, 0.5, 1e-9);
        let before = cc.window.cwnd;
        pipe.lose(&mut cc);
        assert_near(cc.window.cwnd, before / 2.0, 1.0);
    }

    proptest! {
        #[test]
        fn more_delay_never_means_faster_growth_or_less_given_away(
            largest in 0.001..2.0, a in 0.0..1.0, b in 0.0..1.0,
        ) {
            let mut cc = illinois();
            cc.was_long = true;
            let (less, more) = (f64::min(a, b) * largest, f64::max(a, b) * largest);
            cc.alpha = 10.0;
            let (fast, slow) = (cc.alpha(less, largest), cc.alpha(more, largest));
            prop_assert!((0.3 - 1e-9..=10.0).contains(&slow) && slow <= fast + 1e-9);
            let (little, much) = (cc.beta(less, largest), cc.beta(more, largest));
            prop_assert!((0.125..=0.5).contains(&little) && little <= much + 1e-12);
        }
    }
}
