//! The worlds of these claims, and what is seen in them.

use std::sync::Arc;

use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{Event, FlowId, Log, Sink};
use tightloop::link::trace::Trace;
use tightloop::scenario::Scenario;
use tightloop::units::{Rate, Span, Time, count, float};

/// What crosses a link, 25 ms each way, into a queue without end.
#[derive(Clone)]
pub(crate) struct Trial {
    /// In seconds.
    pub(crate) duration: f64,
    /// The link's rate, as in a scenario.
    pub(crate) link: String,
    /// The flow: its controller and what it sends, as in a scenario.
    pub(crate) flow: String,
    pub(crate) seed: u64,
    pub(crate) trace: Option<Arc<Trace>>,
}

/// Steps of a rate in Mbit/s, each from its second on.
pub(crate) fn steps(steps: &[(f64, f64)]) -> String {
    let steps = steps.iter().map(|(at, mbps)| {
        let at = Time::ZERO + Span::from_secs_f64(*at);
        format!("[\"{at}\", \"{}\"]", Rate::from_mbps(1) * *mbps)
    });
    let steps: Vec<String> = steps.collect();
    format!("steps = [{}]", steps.join(", "))
}

/// A video flow, 30 frames a second; settings as inline tables.
pub(crate) fn video(cc: &str, rate_control: &str, encoder: &str) -> String {
    format!(
        "cc = {{ {cc} }}\n\
         video.rate_control = {{ {rate_control} }}\n\
         video.encoder = {{ {encoder} }}\n\
         video.source.fps = 30"
    )
}

/// The same controller with something to send at any time.
pub(crate) fn backlogged(cc: &str) -> String {
    format!("cc = {{ {cc} }}\ntraffic = {{ bulk = {{}} }}")
}

impl Trial {
    pub(crate) fn new(duration: f64, link: String, flow: String) -> Self {
        Self {
            duration,
            link,
            flow,
            seed: 1,
            trace: None,
        }
    }

    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Runs, and looks at several windows of seconds.
    pub(crate) fn run(&self, windows: &[(f64, f64)]) -> Seen {
        let text = format!(
            "name = \"vidaptive\"\nduration = \"{}\"\nseed = {}\n\
             [link.a]\ndelay = \"25 ms\"\nqueue = {{ kind = \"infinite\" }}\n{}\n\
             [link.b]\ndelay = \"25 ms\"\n\
             [[flow]]\npath = {{ links = [\"a\"], back = [\"b\"] }}\n{}\n",
            Span::from_secs_f64(self.duration),
            self.seed,
            self.link,
            self.flow
        );
        let scenario: Scenario = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let built = scenario.build(&|_| self.trace.clone());
        let mut built = built.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let names = Names {
            flows: built.flows,
            links: built.links,
        };
        let at = |secs| Time::ZERO + Span::from_secs_f64(secs);
        let window = |&(from, to): &(f64, f64)| Window {
            from: at(from),
            to: at(to),
        };
        let summaries = windows.iter().map(window);
        let mut watch = Watch {
            windows: summaries.map(|w| Summary::new(names.clone(), w)).collect(),
            gauges: Vec::new(),
            windows_of: Vec::new(),
        };
        built.world.run(scenario.end(), &mut Log::to(&mut watch));
        Seen {
            reports: watch.windows.iter().map(Summary::report).collect(),
            gauges: watch.gauges,
            windows: watch.windows_of,
        }
    }
}

/// Several windows of one run, and its gauges.
struct Watch {
    windows: Vec<Summary>,
    gauges: Vec<(Time, &'static str, f64)>,
    windows_of: Vec<(Time, f64)>,
}

impl Sink for Watch {
    fn record(&mut self, at: Time, event: &Event) {
        for window in &mut self.windows {
            window.record(at, event);
        }
        match event {
            Event::Gauge {
                flow: FlowId(0),
                name,
                value,
                ..
            } => self.gauges.push((at, name, *value)),
            Event::Control { control, .. } => {
                let window = control.window.map(|window| (at, window.get_f64()));
                self.windows_of.extend(window);
            }
            _ => {}
        }
    }
}

/// What was seen of a run.
pub(crate) struct Seen {
    reports: Vec<Report>,
    gauges: Vec<(Time, &'static str, f64)>,
    /// The congestion window in bytes, whenever it changed.
    pub(crate) windows: Vec<(Time, f64)>,
}

impl Seen {
    /// A metric in one of the windows; seconds, bits per second or a number.
    #[track_caller]
    pub(crate) fn number(&self, window: usize, key: &str) -> f64 {
        let value = self.reports[window].get(key).expect("a key");
        value.number().unwrap_or(f64::NAN)
    }

    /// A time in ms.
    #[track_caller]
    pub(crate) fn millis(&self, window: usize, key: &str) -> f64 {
        Span::from_secs_f64(self.number(window, key)).millis_f64()
    }

    /// What crossed the link, in Mbit/s.
    #[track_caller]
    pub(crate) fn rate(&self, window: usize) -> f64 {
        Rate::from_bps_f64(self.number(window, "link.a.carried")).mbps_f64()
    }

    /// The encoder's output, in Mbit/s.
    pub(crate) fn bitrate(&self, window: usize) -> f64 {
        Rate::from_bps_f64(self.number(window, "flow.0.frames.bitrate")).mbps_f64()
    }

    /// A gauge's values within seconds.
    pub(crate) fn gauge(&self, name: &str, from: f64, to: f64) -> Vec<f64> {
        let inside = |at: Time| (from..to).contains(&at.secs_f64());
        let gauges = self.gauges.iter();
        gauges
            .filter(|(at, of, _)| *of == name && inside(*at))
            .map(|(_, _, value)| *value)
            .collect()
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(count(values.len()))
}
