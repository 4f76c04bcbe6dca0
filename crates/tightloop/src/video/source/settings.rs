//! What a scenario says about the camera.

use serde::{Deserialize, Serialize};

use crate::cc::SettingError;
use crate::units::{ParseUnitError, Rate, Span, Time};

/// The fastest frame clock. Ours: no camera or game is faster, and a number
/// above it is a slip.
const MAX_FPS: f64 = 1_000.0;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceSettings {
    /// Frames per second. [SQP] §6: 60.
    pub fps: f64,
    /// When the first frame is captured. Ours: random, see the module's text.
    pub phase: Phase,
    /// The width of the uniform error of each interval; the errors add up. None
    /// by default; runs with several flows use 1 ms. [SQP] §6.
    pub jitter: Span,
    /// When the application limits the video, and to what. Never by default.
    pub caps: Vec<Cap>,
    /// When nothing is captured. Never by default.
    pub pauses: Vec<Pause>,
    /// The mean time between scene cuts, which come at random (Poisson). None
    /// by default: no cuts.
    pub scene_cuts: Option<Span>,
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self {
            fps: 60.0,
            phase: Phase::Random,
            jitter: Span::ZERO,
            caps: Vec::new(),
            pauses: Vec::new(),
            scene_cuts: None,
        }
    }
}

/// When the first frame is captured, counted from the flow's start. Written as
/// `"random"` or as a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Phase {
    /// Uniform over one frame interval.
    #[default]
    Random,
    /// After this long.
    After(Span),
}

impl TryFrom<String> for Phase {
    type Error = ParseUnitError;

    fn try_from(text: String) -> Result<Self, ParseUnitError> {
        match text.as_str() {
            "random" => Ok(Self::Random),
            span => span.parse().map(Self::After),
        }
    }
}

impl From<Phase> for String {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Random => "random".to_owned(),
            Phase::After(span) => span.to_string(),
        }
    }
}

/// A time during which the application limits the video.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cap {
    /// Its start.
    pub from: Time,
    /// Its end, no longer part of it.
    pub to: Time,
    /// The most the video may use meanwhile, in bytes on the wire.
    pub max_rate: Rate,
}

/// A time during which nothing is captured. The frame clock runs on unseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Its start.
    pub from: Time,
    /// Its end, no longer part of it; without one it lasts for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
}

impl Pause {
    /// True within the pause.
    pub(super) fn contains(&self, at: Time) -> bool {
        self.from <= at && self.to.is_none_or(|to| at < to)
    }
}

impl SourceSettings {
    /// The nominal time between frames.
    #[must_use]
    pub fn frame_interval(&self) -> Span {
        Span::from_secs_f64(1.0 / self.fps)
    }

    /// Refuses what makes no sense.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        let fps = self.fps;
        SettingError::unless(fps > 0.0 && fps <= MAX_FPS, || {
            format!("fps = {fps} is not a frame rate; use a number above 0, at most {MAX_FPS}")
        })?;
        let (jitter, interval) = (self.jitter, self.frame_interval());
        SettingError::unless(jitter >= Span::ZERO && jitter < interval * 2, || {
            format!(
                "jitter = {jitter} would turn the frame clock back; it must be at least 0 s \
                 and below two frame intervals of {interval}"
            )
        })?;
        if let Phase::After(phase) = self.phase {
            SettingError::unless(phase >= Span::ZERO, || {
                format!(
                    "phase = {phase} is before the flow's start; use 0 s or more, or \"random\""
                )
            })?;
        }
        let ends = self.caps.iter().map(|cap| ("caps", cap.from, cap.to));
        let pauses = self.pauses.iter();
        let ends = ends.chain(pauses.filter_map(|p| Some(("pauses", p.from, p.to?))));
        for (name, from, to) in ends {
            SettingError::unless(from < to, || {
                format!("{name}: from = {from} is not before to = {to}")
            })?;
        }
        if let Some(mean) = self.scene_cuts {
            SettingError::unless(mean.is_positive(), || {
                format!("scene_cuts = {mean} is no time between cuts; leave it out for no cuts")
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
        let text = "fps = 30.0\nphase = \"5 ms\"\njitter = \"1 ms\"\nscene_cuts = \"4 s\"\n\
                    caps = [{ from = \"10 s\", to = \"12 s\", max_rate = \"2 Mbit/s\" }]\n\
                    pauses = [{ from = \"40 s\", to = \"60 s\" }]\n";
        let settings: SourceSettings = toml::from_str(text).expect("good settings");
        assert_eq!(settings.phase, Phase::After(Span::from_millis(5)));
        let printed = toml::to_string(&settings).expect("a text");
        assert_eq!(
            toml::from_str::<SourceSettings>(&printed).expect("the same"),
            settings
        );
        let random: SourceSettings = toml::from_str("phase = \"random\"").expect("good settings");
        assert_eq!(random, SourceSettings::default());
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |text: &str| {
            let settings: SourceSettings = toml::from_str(text).expect("the right types");
            settings.check().expect_err("refused").to_string()
        };
        assert!(refused("fps = 0.0").contains("fps = 0"));
        assert!(refused("fps = nan").contains("fps = NaN"));
        assert!(refused("jitter = \"40 ms\"").contains("turn the frame clock back"));
        assert!(refused("phase = \"-1 ms\"").contains("before the flow's start"));
        assert!(refused("scene_cuts = \"0 s\"").contains("no time between cuts"));
        assert!(refused("pauses = [{ from = \"2 s\", to = \"1 s\" }]").contains("not before"));
        let unknown = toml::from_str::<SourceSettings>("rate = 3").expect_err("refused");
        assert!(unknown.to_string().contains("unknown field `rate`"));
    }
}
