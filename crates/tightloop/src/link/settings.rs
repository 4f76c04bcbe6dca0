//! TEMP
use super::*;
use crate::rng::Stream;
use crate::settings::{Params, SettingError};
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
/// TEMP
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// r
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// s
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Time, Rate)>,
    /// t
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// q
    pub queue: Params,
    /// d
    pub delay: Span,
}
impl Settings {
    /// f
    pub fn fixed(rate: Rate, packets: u64, delay: Span) -> Self {
        let mut queue = Params::new();
        queue.insert("kind".into(), "drop_tail".into());
        queue.insert("packets".into(), i64::try_from(packets).unwrap().into());
        Self {
            rate: Some(rate),
            queue,
            delay,
            ..Self::default()
        }
    }
    /// w
    pub fn wire(delay: Span) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }
    /// b
    pub fn build<P: Packet>(
        &self,
        id: LinkId,
        _name: &str,
        _seed: u64,
        traces: &dyn Fn(&str) -> Option<Arc<Trace>>,
    ) -> Result<Link<P>, SettingError> {
        let service = if let Some(r) = self.rate {
            Service::fixed(r)
        } else if !self.steps.is_empty() {
            Service::steps(&self.steps, None)?
        } else if let Some(t) = &self.trace {
            Service::trace(traces(t).unwrap(), false)
        } else {
            Service::Unlimited
        };
        let mut p = self.queue.clone();
        let kind = match p.remove("kind") {
            Some(toml::Value::String(k)) => k,
            _ => "infinite".into(),
        };
        let _ = Stream::named(1, "x");
        Ok(Link::new(
            id,
            Discipline { kind, params: p }.build()?,
            service,
            Flight::new(self.delay),
            Impair::none(),
        ))
    }
}
