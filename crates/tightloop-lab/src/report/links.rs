//! A run's links.

use tightloop::analysis::LinkReport;
use tightloop::event::LinkId;
use tightloop::link;
use tightloop::units::Time;

use super::compose::{KB, Parts};
use super::gather::Crossings;
use super::gauges::middle;
use super::page::{Link, Series};

impl Parts<'_> {
    pub(super) fn links(&self, end: Time) -> Vec<Link> {
        let links = self.report.links.iter().enumerate();
        links
            .filter_map(|(place, report)| {
                let settings = self.scenario.link.get(&report.name)?;
                let crossings = self.gather.links.get(&LinkId(place as u32));
                let crossings = crossings.cloned().unwrap_or_default();
                Some(self.link(report, settings, crossings, end))
            })
            .collect()
    }

    fn link(
        &self,
        report: &LinkReport,
        settings: &link::Settings,
        crossings: Crossings,
        end: Time,
    ) -> Link {
        let waiting = self.curve(&format!("link.{}.waiting", report.name));
        Link {
            name: report.name.clone(),
            description: describe(settings),
            utilisation: report.utilisation,
            mean_wait: report.waited.map(|waited| waited.mean.millis_f64()),
            mean_queue: Some(crossings.waited / end.secs_f64().max(1e-9) * KB),
            carried: crossings.carried,
            dropped: crossings
                .dropped
                .into_iter()
                .map(|(cause, count)| (cause.to_owned(), count))
                .collect(),
            marked: crossings.marks.len() as u64,
            spikes: report.spikes.clone(),
            queue: waiting.map_or_else(Series::default, |curve| middle(curve, KB)),
            drops: crossings.drops,
            marks: crossings.marks,
        }
    }
}

/// Queue, service and flight in words.
fn describe(settings: &link::Settings) -> String {
    let mut parts = Vec::new();
    let mut queue = settings.queue.kind.replace('_', "-");
    for (key, value) in &settings.queue.params {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        queue += &format!(" {key} {value}");
    }
    match (
        &settings.rate,
        &settings.steps,
        &settings.trace,
        &settings.poisson,
    ) {
        (Some(rate), ..) => parts.extend([queue, rate.to_string()]),
        (_, Some(steps), ..) => parts.extend([queue, format!("{} rates in turn", steps.len())]),
        (_, _, Some(trace), _) => parts.extend([queue, format!("trace {trace}")]),
        (.., Some(rate)) => parts.extend([queue, format!("{rate} at random")]),
        _ => parts.push("no limit".to_owned()),
    }
    parts.push(settings.delay.to_string());
    if settings.jitter.is_some() {
        parts.push("jitter".to_owned());
    }
    if settings.loss > 0.0 || settings.gilbert_elliott.is_some() {
        parts.push("random loss".to_owned());
    }
    parts.join(", ")
}
