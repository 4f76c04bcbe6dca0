//! Ideal: told what the link can carry, and nothing else.
//!
//! # Idea
//! The sender by which [SpikeBound] finds what delay nobody avoids who wants all
//! of a link's capacity: it matches each new capacity exactly, as soon as the
//! news can have reached it, and never drains what has piled up until then.
//!
//! # Signals
//! None from the path. It knows the link's timetable, and of each change a time
//! `signal` after it.
//!
//! # Law
//! pacing = target = share·C(t − signal).
//!
//! After a drop from C to C/r at a moment when nothing waits, the longest wait
//! is (share·r − 1)·d, d = signal + the time its packets take to the link.
//!
//! # Departures
//! - Packets are whole: the queue is the fluid's to one packet's service.

use serde::{Deserialize, Serialize};

use super::{Algorithm, Control, Controller, Feedback, PathState, SettingError, Start, written};
use crate::units::{Rate, Span, Time};

/// The entry in [`super::ALGORITHMS`].
pub const IDEAL: Algorithm = Algorithm {
    name: "ideal",
    summary: "is told the link's capacity, a signal's delay late: reaches the bound on spikes",
    cites: &["SpikeBound"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Ideal::new(start)?)),
    reporter: None,
};

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The link's capacity, each from its time on, as a link's `steps`. Ours: 1
    /// Mbit/s, a rate most links carry.
    pub capacity: Vec<(Time, Rate)>,
    /// How long the news of a change takes. Ours: none.
    pub signal: Span,
    /// The share of the capacity to use. Ours: all of it, as the sender of [SpikeBound].
    pub share: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            capacity: vec![(Time::ZERO, Rate::from_mbps(1))],
            signal: Span::ZERO,
            share: 1.0,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Ideal {
    params: Params,
    /// How many entries of the timetable are known.
    known: usize,
}

impl Ideal {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a timetable that does not begin at 0 s, is not in order of
    /// time or ends in an outage; a negative signal; a share of nothing.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let capacity = &params.capacity;
        SettingError::unless(
            capacity.first().is_some_and(|(at, _)| *at == Time::ZERO)
                && capacity.windows(2).all(|pair| pair[0].0 < pair[1].0),
            || "capacity is not a rate at 0 s and others at later and later times".into(),
        )?;
        SettingError::unless(
            capacity.last().is_some_and(|(_, rate)| *rate > Rate::ZERO),
            || "capacity ends in an outage: nothing would ever be sent again".into(),
        )?;
        SettingError::unless(params.signal >= Span::ZERO, || {
            format!("signal = {} is negative: news of the future", params.signal)
        })?;
        SettingError::unless(params.share > 0.0 && params.share <= 10.0, || {
            format!("share = {} is not above 0 and up to 10", params.share)
        })?;
        Ok(Self { params, known: 1 })
    }

    fn rate(&self) -> Rate {
        // What is known first was known when the sender began.
        self.params.capacity[self.known - 1].1 * self.params.share
    }
}

impl Controller for Ideal {
    fn on_feedback(&mut self, _now: Time, _feedback: &Feedback<'_>, _path: &PathState) {}

    fn control(&self) -> Control {
        Control {
            window: None,
            pacing: Some(self.rate()),
            floor: None,
            target: Some(self.rate()),
        }
    }

    fn on_timeout(&mut self, now: Time, _path: &PathState) {
        while self.next_timeout().is_some_and(|due| due <= now) {
            self.known += 1;
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        let (at, _) = self.params.capacity.get(self.known)?;
        Some(*at + self.params.signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ideal(params: &str) -> Result<Ideal, String> {
        let start = Start {
            params: toml::from_str(params).expect("a table"),
            ..Start::plain()
        };
        Ideal::new(&start).map_err(|error| error.to_string())
    }

    #[test]
    fn each_rate_is_known_a_signal_late() {
        let text = "capacity = [[\"0 s\", \"60 Mbit/s\"], [\"2 s\", \"20 Mbit/s\"], \
                    [\"3 s\", \"0 bit/s\"], [\"3.1 s\", \"40 Mbit/s\"]]\nsignal = \"30 ms\"";
        let mut cc = ideal(text).expect("good settings");
        let path = PathState::default();
        for (ms, mbps, next) in [(0, 60, 2_030), (2_030, 20, 3_030), (3_030, 0, 3_130)] {
            cc.on_timeout(Time::from_millis(ms), &path);
            assert_eq!(cc.control().pacing, Some(Rate::from_mbps(mbps)));
            assert_eq!(cc.next_timeout(), Some(Time::from_millis(next)));
        }
        cc.on_timeout(Time::from_secs(9), &path);
        assert_eq!(cc.control().target, Some(Rate::from_mbps(40)));
        assert_eq!(cc.next_timeout(), None);
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        for (text, reason) in [
            ("capacity = []", "0 s"),
            ("capacity = [[\"1 s\", \"1 Mbit/s\"]]", "0 s"),
            ("capacity = [[\"0 s\", \"0 bit/s\"]]", "outage"),
            ("signal = \"-1 ms\"", "future"),
            ("share = 0.0", "share = 0"),
            ("rate = \"1 Mbit/s\"", "unknown field `rate`"),
        ] {
            let error = ideal(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
