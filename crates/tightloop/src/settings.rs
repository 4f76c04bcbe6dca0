//! Settings as written in a scenario, and why some are refused.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Settings of one part (a controller, a queue, …), as written in a scenario.
pub type Params = toml::Table;

/// Reads settings as a part's own type.
///
/// # Errors
///
/// Unknown keys and values that do not fit.
pub fn settings<S: DeserializeOwned>(params: &Params) -> Result<S, SettingError> {
    S::deserialize(params.clone()).map_err(|error| SettingError(error.message().to_owned()))
}

/// A part's own settings, written out as a scenario would. What has no value
/// is left out.
#[must_use]
pub fn written<S: Serialize>(settings: &S) -> Params {
    Params::try_from(settings).unwrap_or_default()
}

/// What `params` say, and `defaults` where they say nothing: for entries that
/// are another one with settings of their own.
#[must_use]
pub fn over<S: Serialize>(defaults: &S, params: &Params) -> Params {
    let mut merged = written(defaults);
    merged.extend(params.clone());
    merged
}

/// A setting that cannot be used: which, why, and what would do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingError(pub String);

impl SettingError {
    /// Fails with a message unless `holds`.
    ///
    /// # Errors
    ///
    /// The message, where the condition does not hold.
    pub fn unless(holds: bool, message: impl FnOnce() -> String) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self(message())) }
    }
}
