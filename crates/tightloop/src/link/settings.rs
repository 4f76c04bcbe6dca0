//! A link as a scenario writes it.
//!
//! ```toml
//! rate = "20 Mbit/s"
//! queue = { kind = "drop_tail", packets = 200 }
//! delay = "20 ms"
//! jitter = { kind = "gaussian", sigma = "5 ms", reorder = true }
//! loss = 0.001
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::flight::{Flight, Jitter};
use super::impair::{GilbertElliott, Impair};
use super::queue::{Discipline, Packet};
use super::service::Service;
use super::trace::Trace;
use super::{Link, LinkId};
use crate::event::FlowId;
use crate::rng::Stream;
use crate::settings::{Params, SettingError};
use crate::units::{Rate, Span, Time};

/// Everything that can be said of a link. Nothing said is a link without limit
/// and without delay.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// One rate for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Each rate from its time on, zero for an outage; the first at 0 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<(Time, Rate)>>,
    /// The steps begin again after this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// The name of a trace of delivery opportunities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The trace is played once instead of again and again; then nothing more
    /// is delivered. Ours: off, as traces are repeated in Mahimahi.
    #[serde(skip_serializing_if = "is_false")]
    pub once: bool,
    /// Opportunities at random, at this mean rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poisson: Option<Rate>,
    /// The queue. Ours: infinite, as in Mahimahi.
    pub queue: Discipline,
    /// How long packets fly. Ours: not at all, so that what is not said is not there.
    pub delay: Span,
    /// Other delays, each from its time on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delay_steps: Vec<(Time, Span)>,
    /// What the packets of some flows fly longer, by the flow's number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flow_delays: Vec<(u32, Span)>,
    /// Delay that differs from packet to packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// The chance that a packet is lost on arrival, from 0 to 1. Ours: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub loss: f64,
    /// Losses in bursts, besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<GilbertElliott>,
    /// The chance that a packet arrives twice, from 0 to 1. Ours: none.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicate: f64,
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_zero(value: &f64) -> bool {
    value.abs() <= 0.0
}

impl Settings {
    /// One rate for ever, drop-tail by packets, and a fixed delay.
    #[must_use]
    pub fn fixed(rate: Rate, packets: u64, delay: Span) -> Self {
        let mut params = Params::new();
        // A limit beyond what a table can hold is no limit.
        let packets = i64::try_from(packets).unwrap_or(i64::MAX);
        params.insert("packets".into(), packets.into());
        Self {
            rate: Some(rate),
            queue: Discipline {
                kind: "drop_tail".into(),
                params,
            },
            delay,
            ..Self::default()
        }
    }

    /// No limit, only a fixed delay.
    #[must_use]
    pub fn wire(delay: Span) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// Packets need time to cross it: it has a delay or a rate.
    #[must_use]
    pub fn takes_time(&self) -> bool {
        self.rate.is_some()
            || self.steps.is_some()
            || self.trace.is_some()
            || self.poisson.is_some()
            || self.delay.is_positive()
    }

    /// Builds the link. `name` and `seed` say which streams of chance it has,
    /// `traces` gives a trace by its name.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be used, with the link's name.
    pub fn build<P: Packet>(
        &self,
        id: LinkId,
        name: &str,
        seed: u64,
        traces: &dyn Fn(&str) -> Option<Arc<Trace>>,
    ) -> Result<Link<P>, SettingError> {
        self.parts(id, name, seed, traces)
            .map_err(|SettingError(why)| SettingError(format!("link `{name}`: {why}")))
    }

    fn parts<P: Packet>(
        &self,
        id: LinkId,
        name: &str,
        seed: u64,
        traces: &dyn Fn(&str) -> Option<Arc<Trace>>,
    ) -> Result<Link<P>, SettingError> {
        let service = self.service(name, seed, traces)?;
        let bursts = self.gilbert_elliott;
        let impair = Impair::new(self.loss, bursts, self.duplicate, seed, name)?;
        Ok(Link::new(
            id,
            self.queue.build()?,
            service,
            self.flight(name, seed)?,
            impair,
        ))
    }

    fn service(
        &self,
        name: &str,
        seed: u64,
        traces: &dyn Fn(&str) -> Option<Arc<Trace>>,
    ) -> Result<Service, SettingError> {
        SettingError::unless(self.repeat.is_none() || self.steps.is_some(), || {
            "repeat is about steps, and there are none".into()
        })?;
        SettingError::unless(!self.once || self.trace.is_some(), || {
            "once is about a trace, and there is none".into()
        })?;
        match (self.rate, &self.steps, &self.trace, self.poisson) {
            (None, None, None, None) => Ok(Service::Unlimited),
            (Some(Rate::ZERO), None, None, None) => Err(SettingError(
                "at rate = 0 bit/s nothing ever leaves; write an outage as steps, for example \
                 [[\"0 s\", \"20 Mbit/s\"], [\"10 s\", \"0 bit/s\"], [\"12 s\", \"20 Mbit/s\"]]"
                    .into(),
            )),
            (Some(rate), None, None, None) => Ok(Service::fixed(rate)),
            (None, Some(steps), None, None) => Service::steps(steps, self.repeat),
            (None, None, Some(trace), None) => {
                let found = traces(trace).ok_or_else(|| {
                    SettingError(format!("there is no trace `{trace}`; is its path right?"))
                })?;
                Ok(Service::trace(found, self.once))
            }
            (None, None, None, Some(rate)) => {
                Service::poisson(rate, Stream::named(seed, &format!("link.{name}.poisson")))
            }
            _ => Err(SettingError(
                "only one of rate, steps, trace and poisson can say how fast the link is".into(),
            )),
        }
    }

    fn flight<P: Packet>(&self, name: &str, seed: u64) -> Result<Flight<P>, SettingError> {
        SettingError::unless(self.delay >= Span::ZERO, || {
            format!("delay = {} is negative", self.delay)
        })?;
        if let Some(jitter) = &self.jitter {
            jitter.check()?;
        }
        let mut flight = Flight::new(self.delay)
            .with_jitter(self.jitter, seed, name)
            .with_changes(&self.delay_steps)?;
        for (flow, extra) in &self.flow_delays {
            SettingError::unless(*extra >= Span::ZERO, || {
                format!("flow_delays: {extra} for flow {flow} is negative; lower delay instead")
            })?;
            flight.set_flow_delay(FlowId(*flow), *extra);
        }
        Ok(flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Log;
    use crate::link::tests::{Mail, mail_of};

    fn build(text: &str) -> Result<Link<Mail>, String> {
        let settings: Settings = toml::from_str(text).map_err(|error| error.to_string())?;
        let trace = Arc::new(Trace::parse("10\n20\n").expect("a trace"));
        let traces = |name: &str| (name == "known").then(|| Arc::clone(&trace));
        let link = settings.build(LinkId(0), "bottleneck", 1, &traces);
        link.map_err(|error| error.to_string())
    }

    /// When two packets sent at zero are delivered, in milliseconds.
    fn delivered(text: &str) -> Vec<f64> {
        let mut link = build(text).expect(text);
        let mut log = Log::off();
        link.push(Time::ZERO, mail_of(0, 0), &mut log);
        link.push(Time::ZERO, mail_of(3, 1), &mut log);
        std::iter::from_fn(|| link.pop(Time::from_secs(9), &mut log))
            .map(|(at, _)| at.since_epoch().millis_f64())
            .collect()
    }

    #[test]
    fn each_setting_does_what_it_says() {
        for (text, expected) in [
            ("", vec![0.0, 0.0]),
            ("delay = \"20 ms\"", vec![20.0, 20.0]),
            ("rate = \"12 Mbit/s\"\ndelay = \"20 ms\"", vec![21.0, 22.0]),
            (
                "steps = [[\"0 s\", \"12 Mbit/s\"], [\"1 ms\", \"0 bit/s\"], [\"5 ms\", \"6 Mbit/s\"]]",
                vec![1.0, 7.0],
            ),
            (
                "steps = [[\"0 s\", \"12 Mbit/s\"], [\"1 ms\", \"0 bit/s\"]]\nrepeat = \"4 ms\"",
                vec![1.0, 5.0],
            ),
            ("trace = \"known\"", vec![10.0, 20.0]),
            ("trace = \"known\"\nonce = true\nloss = 0", vec![10.0, 20.0]),
            (
                "flow_delays = [[3, \"7 ms\"]]\ndelay = \"1 ms\"",
                vec![1.0, 8.0],
            ),
            ("delay_steps = [[\"0 s\", \"9 ms\"]]", vec![9.0, 9.0]),
            ("loss = 1.0", vec![]),
            ("duplicate = 1", vec![0.0; 4]),
            (
                "rate = \"12 Mbit/s\"\nqueue = { kind = \"drop_tail\", packets = 1 }",
                vec![1.0, 2.0],
            ),
            (
                "gilbert_elliott = { to_bad = 0, to_good = 1, loss_good = 1 }",
                vec![],
            ),
        ] {
            assert_eq!(delivered(text), expected, "{text}");
        }
        let poisson = delivered("poisson = \"12 Mbit/s\"");
        assert!(poisson.is_sorted() && poisson[0] > 0.0, "{poisson:?}");
        let jitter = delivered("jitter = { kind = \"uniform\", max = \"30 ms\" }");
        assert!(
            jitter.iter().all(|ms| (0.0..30.0).contains(ms)),
            "{jitter:?}"
        );
    }

    #[test]
    fn settings_written_out_read_back_the_same() {
        for text in [
            "",
            "steps = [[\"0 s\", \"12 Mbit/s\"], [\"1 s\", \"0 bit/s\"]]\nrepeat = \"2 s\"\nqueue = \"codel\"",
            "rate = \"1 Mbit/s\"\nqueue = { kind = \"codel\", ecn = true }\nflow_delays = [[3, \"7 ms\"]]\n\
             jitter = { kind = \"gaussian\", sigma = \"5 ms\" }\nloss = 0.1\n\
             gilbert_elliott = { to_bad = 0.1, to_good = 0.5 }\ndelay_steps = [[\"1 s\", \"9 ms\"]]",
        ] {
            let settings: Settings = toml::from_str(text).expect(text);
            let written = toml::to_string(&settings).expect("a table");
            assert_eq!(
                toml::from_str::<Settings>(&written).as_ref(),
                Ok(&settings),
                "{written}"
            );
        }
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        for (text, reason) in [
            ("rat = \"1 Mbit/s\"", "unknown field `rat`"),
            ("rate = 20", "a text with a unit"),
            ("rate = \"0 bit/s\"", "write an outage as steps"),
            ("rate = \"1 Mbit/s\"\npoisson = \"1 Mbit/s\"", "only one of"),
            ("repeat = \"1 s\"", "repeat is about steps"),
            ("once = true", "once is about a trace"),
            ("steps = []", "at least one pair"),
            ("trace = \"unknown\"", "no trace `unknown`"),
            ("poisson = \"0 bit/s\"", "never deliver"),
            ("delay = \"-1 ms\"", "negative"),
            ("delay_steps = [[\"1 s\", \"-1 ms\"]]", "negative"),
            ("flow_delays = [[0, \"-1 ms\"]]", "negative"),
            (
                "jitter = { kind = \"uniform\", max = \"0 s\" }",
                "no jitter",
            ),
            ("loss = 2", "loss = 2"),
            (
                "queue = \"red\"",
                "link `bottleneck`: no queue is called `red`",
            ),
            (
                "queue = { kind = \"drop_tail\", packets = 0 }",
                "queue `drop_tail`: ",
            ),
        ] {
            let error = build(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
