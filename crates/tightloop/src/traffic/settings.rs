//! What a scenario says about traffic that is not video.

use serde::{Deserialize, Serialize};

use crate::cc::SettingError;
use crate::units::{Bytes, Rate, Span, Time};

/// Settings: which kind, and its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TrafficSettings {
    /// Always more to send.
    Bulk {},
    /// An elastic application that makes bytes at a rate.
    Limited(Limited),
    /// Constant bit rate, deaf to the network.
    Cbr(Cbr),
}

/// Settings of a limited application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limited {
    /// The rate outside all phases.
    pub rate: Rate,
    /// Times with another rate; where two overlap the later in the list holds.
    #[serde(default)]
    pub phases: Vec<RatePhase>,
    /// How much may wait unsent before the application stops making more.
    /// Ours: 64 kB, 26 ms at 20 Mbit/s: it bridges the gaps between a window's
    /// bursts, and a congested spell is not made up for afterwards.
    #[serde(default = "default_buffer")]
    pub buffer: Bytes,
}

/// A time with a rate of its own; zero is a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePhase {
    /// Its start.
    pub from: Time,
    /// Its end, no longer part of it.
    pub to: Time,
    /// The rate meanwhile.
    pub rate: Rate,
}

/// Settings of constant bit rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// The rate while it is on.
    pub rate: Rate,
    /// The size of its packets; by default the largest the flow may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Bytes>,
    /// Whether it goes on and off; by default it is always on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOff>,
}

/// On and off in turn, beginning with on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// How long it is on.
    pub on: Span,
    /// How long it is off.
    pub off: Span,
    /// Each length is drawn anew, exponential with these means; otherwise all
    /// are the same.
    #[serde(default)]
    pub random: bool,
}

const fn default_buffer() -> Bytes {
    Bytes::new(64_000)
}

impl TrafficSettings {
    /// Refuses what makes no sense for packets of at most `mtu` bytes.
    pub(super) fn check(&self, mtu: Bytes) -> Result<(), SettingError> {
        match self {
            Self::Bulk {} => Ok(()),
            Self::Limited(limited) => limited.check(mtu),
            Self::Cbr(cbr) => cbr.check(mtu),
        }
    }
}

impl Limited {
    /// The rate at a moment.
    pub(super) fn rate_at(&self, at: Time) -> Rate {
        let active = |phase: &&RatePhase| phase.from <= at && at < phase.to;
        let phase = self.phases.iter().rev().find(active);
        phase.map_or(self.rate, |phase| phase.rate)
    }

    fn check(&self, mtu: Bytes) -> Result<(), SettingError> {
        for RatePhase { from, to, .. } in &self.phases {
            SettingError::unless(from < to, || {
                format!("phases: from = {from} is not before to = {to}")
            })?;
        }
        SettingError::unless(self.buffer >= mtu, || {
            format!("buffer = {} holds no packet of {mtu}", self.buffer)
        })
    }
}

impl Cbr {
    fn check(&self, mtu: Bytes) -> Result<(), SettingError> {
        SettingError::unless(self.rate > Rate::ZERO, || {
            "rate = 0 bit/s sends nothing; leave the flow out".to_owned()
        })?;
        if let Some(packet) = self.packet {
            SettingError::unless(packet > Bytes::ZERO && packet <= mtu, || {
                format!("packet = {packet} is not between 1 B and the flow's {mtu}")
            })?;
        }
        if let Some(OnOff { on, off, .. }) = self.on_off {
            SettingError::unless(on.is_positive() && off.is_positive(), || {
                format!("on_off: on = {on} and off = {off} must both be longer than 0 s")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_a_text_form() {
        for text in [
            "bulk = {}",
            "[limited]\nrate = \"20 Mbit/s\"\nphases = [{ from = \"1 s\", to = \"2 s\", rate = \"0 bit/s\" }]",
            "[cbr]\nrate = \"2 Mbit/s\"\npacket = \"500 B\"\non_off = { on = \"1 s\", off = \"2 s\", random = true }",
        ] {
            let settings: TrafficSettings = toml::from_str(text).expect(text);
            let printed = toml::to_string(&settings).expect("a text");
            assert_eq!(
                toml::from_str::<TrafficSettings>(&printed).expect("the same"),
                settings
            );
        }
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |text: &str| match toml::from_str(text) {
            Err(error) => error.to_string(),
            Ok(settings) => TrafficSettings::check(&settings, Bytes::new(1500))
                .expect_err("refused")
                .to_string(),
        };
        assert!(
            refused("bulk = { rate = \"1 Mbit/s\" }").contains("unexpected keys in table: rate")
        );
        assert!(refused("cbr = { packet = \"1 kB\" }").contains("missing field `rate`"));
        assert!(refused("cbr = { rate = \"1 Mbit/s\", packet = \"2 kB\" }").contains("1.5 kB"));
        assert!(refused("cbr = { rate = \"0 bit/s\" }").contains("sends nothing"));
        let lengths = "on_off = { on = \"0 s\", off = \"1 s\" }";
        assert!(
            refused(&format!("[cbr]\nrate = \"1 Mbit/s\"\n{lengths}")).contains("longer than 0 s")
        );
        assert!(
            refused("limited = { rate = \"1 Mbit/s\", buffer = \"1 kB\" }").contains("no packet")
        );
        let phase = "phases = [{ from = \"2 s\", to = \"2 s\", rate = \"1 Mbit/s\" }]";
        assert!(
            refused(&format!("[limited]\nrate = \"1 Mbit/s\"\n{phase}")).contains("not before")
        );
    }
}
