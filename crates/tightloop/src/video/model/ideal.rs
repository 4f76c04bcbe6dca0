//! Ideal: every frame has exactly the size that was asked for.
//!
//! # Idea
//! What a rate control is worth, with an encoder that cannot be blamed.
//!
//! # Signals
//! The order.
//!
//! # Law
//! `size = budget`, ready at once; a key frame where one is asked for, first, and
//! then every so many frames.
//!
//! # Departures
//! None. [SQP] evaluates with such an encoder: its target can change with every
//! frame, and it never misses.

use serde::{Deserialize, Serialize};

use super::super::{Encoded, Encoder, EncoderKind, Frame, Order, VideoStart};
use crate::cc::{SettingError, written};
use crate::units::{Bytes, Time};

/// The entry in [`super::super::ENCODERS`].
pub const IDEAL: EncoderKind = EncoderKind {
    name: "ideal",
    summary: "every frame exactly as large as asked for, at once",
    cites: &["SQP"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Ideal::new(start)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A key frame at least every so many frames; zero for never. Ours: never,
    /// as calls do.
    pub key_every: u32,
}

#[expect(
    clippy::derivable_impls,
    reason = "defaults are written out, as everywhere"
)]
impl Default for Params {
    fn default() -> Self {
        Self { key_every: 0 }
    }
}

/// The encoder.
#[derive(Clone, Copy, Debug)]
pub struct Ideal {
    params: Params,
    /// Frames since the last key frame, that one included; none before the first.
    since_key: u32,
}

impl Ideal {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Unknown keys.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        Ok(Self {
            params: start.settings()?,
            since_key: 0,
        })
    }
}

impl Encoder for Ideal {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let due = [0, self.params.key_every].contains(&self.since_key);
        let key = order.key || due;
        self.since_key = if key {
            1
        } else {
            self.since_key.saturating_add(1)
        };
        Encoded {
            frame: frame.id,
            size: order.budget.max(Bytes::new(1)),
            key,
            ready: now,
        }
    }

    fn fork(&self) -> Option<Box<dyn Encoder>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Bench, order};
    use super::*;
    use crate::units::Rate;

    #[test]
    fn frames_have_their_budget_and_are_ready_at_once() {
        let mut bench = Bench::new(IDEAL, toml::Table::new(), 1);
        for (mbps, asked, key) in [(6, false, true), (1, false, false), (50, true, true)] {
            let order = Order {
                key: asked,
                ..order(Rate::from_mbps(mbps))
            };
            let encoded = bench.encode(order, true);
            assert_eq!((encoded.size, encoded.key), (order.budget, key));
            assert_eq!(encoded.ready + super::super::tests::INTERVAL, bench.now());
        }
    }

    #[test]
    fn key_frames_come_every_so_many_frames_since_the_last() {
        let mut bench = Bench::new(IDEAL, toml::toml! { key_every = 3 }, 1);
        let keys: Vec<bool> = (0..9)
            .map(|nth| {
                let order = Order {
                    key: nth == 4,
                    ..order(Rate::from_mbps(1))
                };
                bench.encode(order, false).key
            })
            .collect();
        let expected = [0, 3, 4, 7];
        assert!(
            keys.iter()
                .enumerate()
                .all(|(at, key)| *key == expected.contains(&at)),
            "{keys:?}"
        );
    }

    #[test]
    fn unknown_settings_are_refused() {
        let start = VideoStart {
            params: toml::toml! { noise = 0.1 },
            ..VideoStart::plain()
        };
        let refused = Ideal::new(&start).expect_err("refused");
        assert!(refused.to_string().contains("unknown field `noise`"));
    }
}
