//! RFC 8593: the statistical model of a live encoder.
//!
//! # Idea
//! The reference traffic on which RTP congestion control is evaluated: frames
//! that scatter around the target, a large frame after an abrupt change of it,
//! and a rest after each change during which the encoder does not listen.
//!
//! # Signals
//! The order and the time.
//!
//! # Law
//! - *Damping* (§5.1): a new target `R_v` is taken up with the next frame, and
//!   then no other for `tau_v`.
//! - *Transient* (§5.2): after an abrupt change the first frame has `K_B` bytes;
//!   it and the `K_d − 1` smaller ones after it keep the rate `R_v`.
//! - *Steady state* (§5.3): sizes are `B0 (1 + Laplace(SCALE_B))` with
//!   `B0 = R_v t0`, and the intervals between frames `t0 (1 + Laplace(SCALE_t))`.
//! - *Range* (§5.4): `R_v` is held within `[R_min, R_max]`.
//!
//! # Departures
//! - Frames are captured on the source's clock, so here it is the encoder that
//!   is uneven: each frame is ready an exponential time of mean `SCALE_t t0`
//!   after its capture. The difference of two such times has the RFC's Laplace
//!   distribution, and the intervals do not add up to a random walk.
//! - The RFC does not say when a change is abrupt; the threshold is that of its
//!   authors' code, which also gives the least size of the frames that pay.
//! - Frames that must be decodable alone (the first, those asked for, those
//!   after a scene cut) start a transient, as §5.2 suggests for I-frames.

use serde::{Deserialize, Serialize};

use super::super::{Encoded, Encoder, EncoderKind, Frame, Order, VideoStart};
use super::{Burst, steady_size, whole};
use crate::cc::{SettingError, written};
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::super::ENCODERS`].
pub const RFC8593: EncoderKind = EncoderKind {
    name: "rfc8593",
    summary: "the statistical encoder of RTP congestion control evaluations",
    cites: &["RFC8593", "Syncodecs"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Rfc8593::new(start)?)),
};

/// Settings, by the RFC's names. Rates and sizes count payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How long it takes no other target after a change. [RFC8593] §5: 0.2 s.
    pub tau_v: Span,
    /// The length of a transient in frames. [RFC8593] §5: 8.
    pub k_d: u32,
    /// The size of a transient's first frame. [RFC8593] §5: 13.5 kB, its
    /// example for 720p at 30 frames per second.
    pub k_b: Bytes,
    /// The scale of the deviation of intervals. [RFC8593] §5: 0.15.
    pub scale_t: f64,
    /// The scale of the deviation of sizes. [RFC8593] §5: 0.15.
    pub scale_b: f64,
    /// The lowest rate of the content. [RFC8593] §5: 150 kbit/s.
    pub r_min: Rate,
    /// The highest rate of the content. [RFC8593] §5: 1.5 Mbit/s.
    pub r_max: Rate,
    /// A change by more than this part of the lower of two rates is abrupt.
    /// [Syncodecs] StatisticsCodec: 0.5.
    pub abrupt: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            tau_v: Span::from_millis(200),
            k_d: 8,
            k_b: Bytes::new(13_500),
            scale_t: 0.15,
            scale_b: 0.15,
            r_min: Rate::from_kbps(150),
            r_max: Rate::from_kbps(1_500),
            abrupt: 0.5,
        }
    }
}

/// The encoder.
#[derive(Clone, Debug)]
pub struct Rfc8593 {
    params: Params,
    t0: Span,
    /// The target taken up last, and when.
    target: Option<(Rate, Time)>,
    /// When the last frame was ready: frames do not overtake.
    ready: Time,
    burst: Burst,
    rng: Stream,
}

impl Rfc8593 {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, scales and ranges that make no sense.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let Params { r_min, r_max, .. } = params;
        SettingError::unless(r_min <= r_max && r_max > Rate::ZERO, || {
            format!("r_min = {r_min} to r_max = {r_max} is no range of rates")
        })?;
        for (name, scale) in [("scale_t", params.scale_t), ("scale_b", params.scale_b)] {
            // Far above 0.3 the sizes would so often be cut at zero that the mean shifts.
            SettingError::unless((0.0..=0.3).contains(&scale), || {
                format!("{name} = {scale} is no scale of deviations; use 0 to 0.3")
            })?;
        }
        let (abrupt, tau_v) = (params.abrupt, params.tau_v);
        SettingError::unless(abrupt >= 0.0 && tau_v >= Span::ZERO, || {
            format!("abrupt = {abrupt} and tau_v = {tau_v} must not be negative")
        })?;
        Ok(Self {
            params,
            t0: start.frame_interval,
            target: None,
            ready: Time::ZERO,
            burst: Burst::default(),
            rng: start.rng.clone(),
        })
    }

    /// Takes up a new target if it may: the target now, and whether it changed
    /// abruptly.
    fn damped(&mut self, now: Time, asked: Rate) -> (Rate, bool) {
        let asked = asked.clamp(self.params.r_min, self.params.r_max);
        let Some((target, since)) = self.target else {
            self.target = Some((asked, now));
            return (asked, true);
        };
        if asked == target || now - since < self.params.tau_v {
            return (target, false);
        }
        self.target = Some((asked, now));
        let step = asked.max(target).saturating_sub(asked.min(target));
        let abrupt = step.bps_f64() > asked.min(target).bps_f64() * self.params.abrupt;
        (asked, abrupt)
    }
}

impl Encoder for Rfc8593 {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let key = order.key || frame.scene_cut || self.target.is_none();
        let (target, abrupt) = self.damped(now, order.rate);
        let steady = steady_size(order, target, self.t0);
        let size = if key || abrupt {
            let first = self.params.k_b.get_f64();
            self.burst.start(steady, first, self.params.k_d)
        } else {
            self.burst.follow(steady)
        };
        let deviation = self.params.scale_b * self.rng.laplace();
        let delay = self.t0 * (self.params.scale_t * self.rng.exponential());
        self.ready = self.ready.max(now + delay);
        Encoded {
            frame: frame.id,
            size: whole(size * (1.0 + deviation)),
            key,
            ready: self.ready,
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

    fn quiet() -> toml::Table {
        toml::toml! {
            scale_t = 0
            scale_b = 0
            k_b = "1 B"
        }
    }

    /// Rates put out, frame by frame, by an encoder without noise.
    fn rates(bench: &mut Bench, asked: Rate, frames: usize) -> Vec<f64> {
        let sizes = bench.sizes(asked, frames);
        let rate = |size: f64| {
            Bytes::from_f64(size)
                .per(INTERVAL)
                .expect("a rate")
                .mbps_f64()
        };
        sizes.into_iter().map(rate).collect()
    }

    #[test]
    fn a_change_is_taken_up_at_once_and_then_none_for_tau_v() {
        let mut bench = Bench::new(RFC8593, quiet(), 1);
        rates(&mut bench, Rate::from_mbps(1), 30);
        let up = rates(&mut bench, Rate::from_kbps(1_200), 1)[0];
        assert!((1.199..1.201).contains(&up), "{up}");
        // The rest of 0.2 s is 12 intervals of 60 a second.
        let rest = rates(&mut bench, Rate::from_kbps(800), 20);
        let waited = rest.iter().position(|rate| *rate < 1.0);
        assert_eq!(waited, Some(11));
        assert!((0.799..0.801).contains(&rest[11]), "{}", rest[11]);
    }

    #[test]
    fn an_abrupt_change_starts_a_transient_that_keeps_the_rate() {
        let params = toml::toml! {
            scale_t = 0
            scale_b = 0
            k_b = "6 kB"
            r_max = "9 Mbit/s"
        };
        let mut bench = Bench::new(RFC8593, params, 1);
        bench.sizes(Rate::from_mbps(1), 30);
        let sizes = bench.sizes(Rate::from_mbps(2), 12);
        let steady = order(Rate::from_mbps(2)).budget.get_f64();
        assert!((sizes[0] - 6_000.0).abs() < 1.0, "{sizes:?}");
        let paid = (8.0 * steady - 6_000.0) / 7.0;
        assert!(
            sizes[1..8].iter().all(|size| (size - paid).abs() < 1.0),
            "{sizes:?}"
        );
        assert!(
            sizes[8..].iter().all(|size| (size - steady).abs() < 1.0),
            "{sizes:?}"
        );
        // A gentle change starts none.
        let sizes = bench.sizes(Rate::from_kbps(2_800), 12);
        let steady = order(Rate::from_kbps(2_800)).budget.get_f64();
        assert!(
            sizes.iter().all(|size| (size - steady).abs() < 1.0),
            "{sizes:?}"
        );
    }

    #[test]
    fn the_rate_stays_in_its_range() {
        let mut bench = Bench::new(RFC8593, quiet(), 1);
        let high = rates(&mut bench, Rate::from_mbps(20), 20)[19];
        assert!((1.499..1.501).contains(&high), "{high}");
        let low = rates(&mut bench, Rate::from_kbps(20), 40)[39];
        assert!((0.149..0.151).contains(&low), "{low}");
    }

    #[test]
    fn sizes_scatter_with_the_laplace_scale_around_the_asked_mean() {
        let mut bench = Bench::new(RFC8593, toml::Table::new(), 7);
        let rate = Rate::from_mbps(1);
        let mean = bench.mean(rate, 40_000);
        assert!((0.99..1.01).contains(&mean), "{mean}");
        let budget = order(rate).budget.get_f64();
        let sizes = bench.sizes(rate, 40_000);
        // The mean magnitude of a Laplace deviation is its scale.
        let scale: f64 = sizes.iter().map(|size| (size / budget - 1.0).abs()).sum();
        let scale = scale / float(count(sizes.len()));
        assert!((0.145..0.155).contains(&scale), "{scale}");
    }

    #[test]
    fn intervals_scatter_with_the_laplace_scale_and_keep_their_order() {
        let mut bench = Bench::new(RFC8593, toml::Table::new(), 8);
        let mut ready = Vec::new();
        for _ in 0..40_000 {
            ready.push(bench.encode(order(Rate::from_mbps(1)), false).ready);
        }
        assert!(ready.windows(2).all(|pair| pair[0] <= pair[1]));
        let deviation = |pair: &[Time]| (pair[1] - pair[0]).ratio(INTERVAL) - 1.0;
        let (mut sum, mut magnitude, mut beyond) = (0.0, 0.0, 0.0);
        for pair in ready.windows(2) {
            sum += deviation(pair);
            magnitude += deviation(pair).abs();
            beyond += if deviation(pair).abs() > 0.3 {
                1.0
            } else {
                0.0
            };
        }
        let intervals = float(count(ready.len() - 1));
        let (mean, scale, tail) = (sum / intervals, magnitude / intervals, beyond / intervals);
        assert!(mean.abs() < 0.001, "{mean}");
        assert!((0.145..0.155).contains(&scale), "{scale}");
        // Two scales and more away: e⁻² of a Laplace distribution.
        assert!((0.125..0.145).contains(&tail), "{tail}");
    }

    #[test]
    fn key_frames_start_a_transient_without_changing_the_mean() {
        let mut bench = Bench::new(RFC8593, toml::Table::new(), 9);
        let rate = Rate::from_kbps(1_500);
        let (mut sum, mut of_keys, mut keys) = (0.0, 0.0, 0.0);
        for number in 0..60_000 {
            let asked = Order {
                key: number % 120 == 60,
                ..order(rate)
            };
            let encoded = bench.encode(asked, false);
            assert_eq!(encoded.key, asked.key || number == 0);
            sum += encoded.size.ratio(order(rate).budget);
            if encoded.key {
                of_keys += encoded.size.get_f64();
                keys += 1.0;
            }
        }
        let (mean, key) = (sum / 60_000.0, of_keys / keys);
        assert!((0.98..1.02).contains(&mean), "{mean}");
        assert!((13_200.0..13_800.0).contains(&key), "{key}");
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |params| {
            let plain = VideoStart::plain();
            let built = Rfc8593::new(&VideoStart { params, ..plain });
            built.expect_err("refused").to_string()
        };
        assert!(refused(toml::toml! { r_min = "2 Mbit/s" }).contains("no range of rates"));
        assert!(refused(toml::toml! { scale_b = 0.5 }).contains("scale_b = 0.5"));
        assert!(refused(toml::toml! { scale_t = -0.1 }).contains("scale_t = -0.1"));
        assert!(refused(toml::toml! { tau_v = "-1 s" }).contains("tau_v = -1 s"));
        assert!(refused(toml::toml! { fps = 30 }).contains("unknown field `fps`"));
    }
}
