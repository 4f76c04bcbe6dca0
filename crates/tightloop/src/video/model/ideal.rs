//! Ideal: every frame has exactly the size that was asked for.
//!
//! # Idea
//! What a rate control is worth, with an encoder that cannot be blamed.
//!
//! # Signals
//! The order.
//!
//! # Law
//! `size = budget`, ready at once; a key frame where one is asked for, and first.
//!
//! # Departures
//! None. [SQP] evaluates with such an encoder: its target can change with every
//! frame, and it never misses.

use super::super::{Encoded, Encoder, EncoderKind, Frame, Order, VideoStart};
use crate::cc::SettingError;
use crate::units::{Bytes, Time};

/// The entry in [`super::super::ENCODERS`].
pub const IDEAL: EncoderKind = EncoderKind {
    name: "ideal",
    summary: "every frame exactly as large as asked for, at once",
    cites: &["SQP"],
    defaults: crate::settings::Params::new,
    new: |start| Ok(Box::new(Ideal::new(start)?)),
};

/// An encoder without settings refuses any.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {}

/// The encoder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ideal {
    running: bool,
}

impl Ideal {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Any setting.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        start.settings::<Params>()?;
        Ok(Self::default())
    }
}

impl Encoder for Ideal {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let first = !std::mem::replace(&mut self.running, true);
        Encoded {
            frame: frame.id,
            size: order.budget.max(Bytes::new(1)),
            key: order.key || first,
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
    fn any_setting_is_refused() {
        let start = VideoStart {
            params: toml::toml! { noise = 0.1 },
            ..VideoStart::plain()
        };
        let refused = Ideal::new(&start).expect_err("refused");
        assert!(refused.to_string().contains("unknown field `noise`"));
    }
}
