//! What a scenario expects of its metrics.

use anyhow::Result;
use tightloop::analysis::{Band, Key, Names, Report, Value};
use tightloop::scenario::ScenarioError;

use crate::file::File;

/// The bands of a scenario.
#[derive(Debug)]
pub(super) struct Expectations(Vec<(String, Key, Band)>);

/// A band and what was measured.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) low: String,
    pub(super) high: String,
    pub(super) passed: bool,
}

impl Expectations {
    /// Understands a scenario's bands before anything is run.
    pub(super) fn of(file: &File, names: &Names) -> Result<Self> {
        let mut bands = Vec::new();
        for (text, [low, high]) in &file.scenario.expect {
            let fail = |message: String| {
                file.explain(&ScenarioError {
                    at: format!("expect.{text}"),
                    message,
                })
            };
            let key = Key::parse(text, names).map_err(|error| {
                fail(error.to_string()).help("`tightloop list metrics` has all keys")
            })?;
            let band = Band::parse(key.metric.unit, low, high);
            let band = band.map_err(|error| fail(error.to_string()))?;
            bands.push((text.clone(), key, band));
        }
        Ok(Self(bands))
    }

    /// Compares what was measured with them.
    pub(super) fn check(&self, report: &Report, file: &File) -> Vec<Check> {
        let check = |(text, key, band): &(String, Key, Band)| {
            let value = key.value(report);
            let [low, high] = file.scenario.expect.get(text).cloned().unwrap_or_default();
            Check {
                key: text.clone(),
                passed: band.contains(&value),
                value,
                low,
                high,
            }
        };
        self.0.iter().map(check).collect()
    }
}
