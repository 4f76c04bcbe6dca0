//! VP8 of the paper: an encoder that reacts slowly and unevenly.
//!
//! # Idea
//! A real-time software encoder takes a second or two to reach a new rate, more
//! to rise than to fall, and no two frames are alike. [Vidaptive] Fig. 1b shows
//! it for VP8 in a browser; this model puts out that curve.
//!
//! # Signals
//! The order, the time since the frame before, scene cuts.
//!
//! # Law
//! The rate `r` goes towards the asked one as `r += (asked − r)(1 − e^(−t/τ))`,
//! with one τ upwards and another downwards. A frame is as large as `r` makes
//! it, times log-normal noise with mean 1. The first frame, those asked for and
//! those after a scene cut are key frames: larger by a factor, and paid for by
//! the frames after them.
//!
//! # Departures
//! The paper shows a measured curve and no model; the shape is ours, fitted to
//! its two durations.

use serde::{Deserialize, Serialize};

use super::super::{Encoded, Encoder, EncoderKind, Frame, Order, VideoStart};
use super::{Burst, steady_size, whole};
use crate::cc::{SettingError, written};
use crate::rng::Stream;
use crate::units::{Rate, Span, Time};

/// The entry in [`super::super::ENCODERS`].
pub const VP8_PAPER: EncoderKind = EncoderKind {
    name: "vp8-paper",
    summary: "follows the asked rate with a lag and noise, as VP8 in a browser",
    cites: &["Vidaptive", "RFC8593"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Lag::new(start)?)),
};

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The time constant upwards. Ours: 0.7 s, so that nine tenths of
    /// 0.5 → 2 Mbit/s take 1.6 s and all of it about the 2 s of [Vidaptive] Fig. 1b.
    pub rise: Span,
    /// The time constant downwards. Ours: 0.35 s, so that nine tenths of
    /// 2 → 0.5 Mbit/s take 0.8 s and all of it about the 1 s of [Vidaptive] Fig. 1b.
    pub fall: Span,
    /// The standard deviation of a frame size's logarithm. Ours: 0.21, the
    /// spread √2 · 0.15 of the noise in [RFC8593] §5.3.
    pub noise: f64,
    /// How many times as large as an ordinary frame a key frame is. Ours: 3.24,
    /// from 13.5 kB where frames have 4.17 kB in [RFC8593] §5.
    pub key_size: f64,
    /// The frames over which a key frame is paid for, itself included.
    /// [RFC8593] §5: 8.
    pub key_frames: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rise: Span::from_millis(700),
            fall: Span::from_millis(350),
            noise: 0.21,
            key_size: 3.24,
            key_frames: 8,
        }
    }
}

/// The encoder.
#[derive(Clone, Debug)]
pub struct Lag {
    params: Params,
    interval: Span,
    /// The last frame's time and the rate reached with it.
    last: Option<(Time, Rate)>,
    burst: Burst,
    rng: Stream,
}

impl Lag {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, times and factors that make no sense.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let Params { rise, fall, .. } = params;
        SettingError::unless(rise >= Span::ZERO && fall >= Span::ZERO, || {
            format!("rise = {rise} and fall = {fall} must both be at least 0 s")
        })?;
        let (noise, key) = (params.noise, params.key_size);
        SettingError::unless((0.0..=1.0).contains(&noise), || {
            format!("noise = {noise} is no spread of frame sizes; use 0 to 1")
        })?;
        SettingError::unless((1.0..=100.0).contains(&key), || {
            format!("key_size = {key} is no factor of a key frame; use 1 to 100")
        })?;
        Ok(Self {
            params,
            interval: start.frame_interval,
            last: None,
            burst: Burst::default(),
            rng: start.rng.clone(),
        })
    }

    /// The rate reached by now on the way to `asked`.
    fn reached(&self, now: Time, asked: Rate) -> Rate {
        let Some((then, rate)) = self.last else {
            return asked;
        };
        let rises = asked > rate;
        let tau = if rises {
            self.params.rise
        } else {
            self.params.fall
        };
        if !tau.is_positive() {
            return asked;
        }
        let left = libm::exp(-(now - then).ratio(tau));
        let (asked, rate) = (asked.bps_f64(), rate.bps_f64());
        Rate::from_bps_f64(asked + (rate - asked) * left)
    }

    /// Log-normal with mean 1.
    fn noise(&mut self) -> f64 {
        let sigma = self.params.noise;
        libm::exp(sigma * self.rng.normal() - sigma * sigma / 2.0)
    }
}

impl Encoder for Lag {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let key = order.key || frame.scene_cut || self.last.is_none();
        let rate = self.reached(now, order.rate);
        self.last = Some((now, rate));
        let steady = steady_size(order, rate, self.interval);
        let size = if key {
            let size = steady * self.params.key_size;
            self.burst.start(steady, size, self.params.key_frames)
        } else {
            self.burst.follow(steady)
        };
        Encoded {
            frame: frame.id,
            size: whole(size * self.noise()),
            key,
            ready: now,
        }
    }

    fn fork(&self) -> Option<Box<dyn Encoder>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, INTERVAL, order};
    use super::*;
    use crate::units::{count, float};

    fn plain(seed: u64) -> Bench {
        Bench::new(VP8_PAPER, toml::Table::new(), seed)
    }

    /// Seconds from a change of the asked rate until nine tenths of it are
    /// reached, by the mean size of each frame over many encoders.
    fn reaction(from: Rate, to: Rate) -> f64 {
        let mut sums = vec![0.0; 300];
        let runs = 4_000;
        for seed in 0..runs {
            let mut bench = plain(seed);
            bench.sizes(from, 60);
            for (sum, size) in sums.iter_mut().zip(bench.sizes(to, 300)) {
                *sum += size / float(runs);
            }
        }
        let (from, to) = (order(from).budget.get_f64(), order(to).budget.get_f64());
        let left = |mean: f64| (mean - to) / (from - to);
        let frames = sums.iter().position(|mean| left(*mean) <= 0.1);
        (INTERVAL * 1).secs_f64() * float(count(frames.expect("a reaction")))
    }

    #[test]
    fn a_rise_takes_two_seconds_and_a_fall_one() {
        let (low, high) = (Rate::from_kbps(500), Rate::from_mbps(2));
        let rise = reaction(low, high);
        assert!((1.4..2.6).contains(&rise), "{rise} s");
        let fall = reaction(high, low);
        assert!((0.7..1.3).contains(&fall), "{fall} s");
    }

    #[test]
    fn the_law_gives_the_hand_computed_rate() {
        let mut lag = Lag::new(&VideoStart::plain()).expect("good settings");
        lag.last = Some((Time::ZERO, Rate::from_mbps(2)));
        // One time constant downwards leaves 1/e of the way: 0.5 + 1.5/e.
        let rate = lag.reached(Time::from_millis(350), Rate::from_kbps(500));
        assert_eq!(rate, Rate::from_bps(1_051_819));
        // And upwards: 4 − 2/e.
        let rate = lag.reached(Time::from_millis(700), Rate::from_mbps(4));
        assert_eq!(rate, Rate::from_bps(3_264_241));
    }

    #[test]
    fn the_mean_is_the_asked_rate_and_frames_differ() {
        let mut bench = plain(1);
        let mean = bench.mean(Rate::from_mbps(6), 40_000);
        assert!((0.99..1.01).contains(&mean), "{mean}");
        let budget = order(Rate::from_mbps(6)).budget.get_f64();
        let sizes = bench.sizes(Rate::from_mbps(6), 40_000);
        let square: f64 = sizes
            .iter()
            .map(|size| (size / budget - 1.0) * (size / budget - 1.0))
            .sum();
        let deviation = libm::sqrt(square / float(count(sizes.len())));
        // √(e^σ² − 1) for σ = 0.21.
        assert!((0.205..0.220).contains(&deviation), "{deviation}");
    }

    #[test]
    fn scene_cuts_make_key_frames_without_changing_the_mean() {
        let rate = Rate::from_mbps(3);
        let (mut sum, mut keys) = (0.0, 0.0);
        let (mut bench, mut of_keys) = (plain(2), 0.0);
        for number in 0..60_000 {
            let cut = number % 60 == 30;
            let encoded = bench.encode(order(rate), cut);
            let size = encoded.size.ratio(order(rate).budget);
            assert_eq!(encoded.key, cut || number == 0);
            sum += size;
            if encoded.key {
                keys += 1.0;
                of_keys += size;
            }
        }
        let (mean, key) = (sum / 60_000.0, of_keys / keys);
        assert!((0.98..1.02).contains(&mean), "{mean}");
        assert!((3.1..3.4).contains(&key), "{key}");
    }

    #[test]
    fn a_key_frame_comes_when_asked_for() {
        let mut bench = plain(3);
        let rate = Rate::from_mbps(1);
        bench.sizes(rate, 20);
        let asked = Order {
            key: true,
            ..order(rate)
        };
        assert!(bench.encode(asked, false).key);
        assert!(!bench.encode(order(rate), false).key);
    }

    #[test]
    fn without_lag_and_noise_it_is_ideal() {
        let params = toml::toml! {
            rise = "0 s"
            fall = "0 s"
            noise = 0
            key_size = 1
        };
        let mut bench = Bench::new(VP8_PAPER, params, 1);
        for rate in [1, 9, 3].map(Rate::from_mbps) {
            assert_eq!(bench.encode(order(rate), true).size, order(rate).budget);
        }
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |params| {
            let plain = VideoStart::plain();
            let built = Lag::new(&VideoStart { params, ..plain });
            built.expect_err("refused").to_string()
        };
        assert!(refused(toml::toml! { rise = "-1 s" }).contains("rise = -1 s"));
        assert!(refused(toml::toml! { noise = 2.0 }).contains("noise = 2"));
        assert!(refused(toml::toml! { key_size = 0.5 }).contains("key_size = 0.5"));
        assert!(refused(toml::toml! { tau = "1 s" }).contains("unknown field `tau`"));
    }
}
