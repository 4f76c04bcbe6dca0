//! Fixed: a controller that never changes its mind. The file to copy.
//!
//! # Idea
//! Send at a rate somebody chose. Useful as cross traffic, as a yardstick, and
//! as the smallest complete example of a controller.
//!
//! # Signals
//! None.
//!
//! # Law
//! `pacing`, `window`, `floor` and `target` are the settings, for ever.
//!
//! # Departures
//! None: there is no paper.

use serde::{Deserialize, Serialize};

use super::{Algorithm, Control, Controller, Feedback, PathState, SettingError, Start, written};
use crate::units::{Bytes, Rate, Time};

/// The entry in [`super::ALGORITHMS`].
pub const FIXED: Algorithm = Algorithm {
    name: "fixed",
    summary: "a constant rate or window, chosen by hand",
    cites: &[],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Fixed::new(start)?)),
    reporter: None,
};

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The target for video. Ours: 1 Mbit/s, a rate most links carry.
    pub target: Rate,
    /// Ceiling on the sending rate; none by default, so that the source alone decides.
    pub pacing: Option<Rate>,
    /// Ceiling on bytes in flight; none by default.
    pub window: Option<Bytes>,
    /// Keep sending at least this, with filler; nothing by default.
    pub floor: Option<Rate>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Rate::from_mbps(1),
            pacing: None,
            window: None,
            floor: None,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Fixed {
    params: Params,
}

impl Fixed {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, and a window below one packet.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        if let Some(window) = params.window {
            SettingError::unless(window >= start.mss, || {
                format!("window = {window} is less than one packet of {}", start.mss)
            })?;
        }
        Ok(Self { params })
    }
}

impl Controller for Fixed {
    fn on_feedback(&mut self, _now: Time, _feedback: &Feedback<'_>, _path: &PathState) {}

    fn control(&self) -> Control {
        Control {
            window: self.params.window,
            pacing: self.params.pacing,
            floor: self.params.floor,
            target: Some(self.params.target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_the_control() {
        let mut start = Start::plain();
        start.params = toml::toml! { target = "3 Mbit/s" };
        let control = Fixed::new(&start).expect("good settings").control();
        assert_eq!(control.target, Some(Rate::from_mbps(3)));
        assert_eq!(
            (control.window, control.pacing, control.floor),
            (None, None, None)
        );
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |params| {
            let start = Start {
                params,
                ..Start::plain()
            };
            Fixed::new(&start).expect_err("refused").to_string()
        };
        assert!(refused(toml::toml! { rate = "3 Mbit/s" }).contains("unknown field `rate`"));
        assert!(refused(toml::toml! { target = "3" }).contains("Mbit/s"));
        assert!(refused(toml::toml! { window = "100 B" }).contains("less than one packet"));
    }
}
