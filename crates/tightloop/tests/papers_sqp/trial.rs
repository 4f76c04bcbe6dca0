//! The worlds of these claims, and what is seen in them.

use serde::Deserialize as _;
use tightloop::analysis::{Names, Report, Summary, Window, jain};
use tightloop::event::{Event, FlowId, Log, Sink};
use tightloop::link;
use tightloop::scenario::Scenario;
use tightloop::settings::Params;
use tightloop::units::{Rate, Span, Time};
use tightloop::video::source::SourceSettings;

pub(crate) fn mbps(rate: f64) -> Rate {
    Rate::from_mbps(1) * rate
}

pub(crate) fn secs(secs: f64) -> Span {
    Span::from_secs_f64(secs)
}

pub(crate) fn millis(millis: f64) -> Span {
    Span::from_millis(1) * millis
}

/// A world, put together step by step.
#[derive(Clone)]
pub(crate) struct Trial(pub(crate) Scenario);

/// One flow over 20 Mbit/s, 40 ms, 200 packets.
pub(crate) fn alone(duration: f64) -> Trial {
    Trial(Scenario {
        duration: secs(duration),
        ..Scenario::single("sqp")
    })
}

impl Trial {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Scenario)) -> Self {
        change(&mut self.0);
        self
    }

    /// A buffer of so many packets, or one without end.
    pub(crate) fn buffer(self, packets: Option<u32>) -> Self {
        self.bottleneck(|link| {
            let mut queue = toml::toml! { kind = "infinite" };
            if let Some(packets) = packets {
                queue = toml::toml! { kind = "drop_tail" };
                queue.insert("packets".to_owned(), i64::from(packets).into());
            }
            link.insert("queue".to_owned(), queue.into());
        })
    }

    /// Rates in Mbit/s, each from its second on.
    pub(crate) fn steps(self, steps: &[(u64, f64)]) -> Self {
        let steps = steps.iter().map(|&(at, rate)| {
            let pair = [Time::from_secs(at).to_string(), mbps(rate).to_string()];
            toml::Value::from(pair.to_vec())
        });
        let steps: Vec<_> = steps.collect();
        self.bottleneck(|link| {
            link.remove("rate");
            link.insert("steps".to_owned(), steps.into());
        })
    }

    /// Changes the link as a scenario's text would.
    fn bottleneck(self, change: impl FnOnce(&mut Params)) -> Self {
        self.with(|scenario| {
            let link = scenario.link.get_mut("bottleneck").expect("a bottleneck");
            let mut table = Params::try_from(&*link).expect("settings");
            change(&mut table);
            *link = link::Settings::deserialize(table).expect("settings");
        })
    }

    /// The controller's settings.
    pub(crate) fn set(self, params: Params) -> Self {
        self.with(|scenario| scenario.flow[0].cc.params = params)
    }

    pub(crate) fn seed(self, seed: u64) -> Self {
        self.with(|scenario| scenario.seed = seed)
    }

    /// So many flows like the first, each with its own phase, and an error of
    /// each frame interval that adds up.
    pub(crate) fn flows(self, flows: usize, jitter: Span) -> Self {
        self.source(|source| source.jitter = jitter)
            .with(|scenario| scenario.flow = vec![scenario.flow[0].clone(); flows])
    }

    pub(crate) fn source(self, change: impl FnOnce(&mut SourceSettings)) -> Self {
        self.with(|scenario| {
            let video = scenario.flow[0].video.get_or_insert_default();
            change(&mut video.source);
        })
    }

    /// The flows' round trips in ms.
    pub(crate) fn round_trips(self, round_trips: &[i64]) -> Self {
        self.with(|scenario| {
            for link in scenario.link.values_mut() {
                link.delay = Span::ZERO;
            }
            for (flow, millis) in scenario.flow.iter_mut().zip(round_trips) {
                flow.path[0].delay = Span::from_millis(*millis) / 2;
                flow.path[0].back_delay = Span::from_millis(*millis) / 2;
            }
        })
    }

    /// Runs, and looks at several windows.
    pub(crate) fn windows<const N: usize>(&self, windows: [(f64, f64); N]) -> [Seen; N] {
        self.run(windows).0
    }

    /// Runs, and looks at one.
    pub(crate) fn window(&self, from: f64, to: f64) -> Seen {
        let [seen] = self.windows([(from, to)]);
        seen
    }

    /// Runs; gives the first flow's bandwidth estimate besides.
    pub(crate) fn run<const N: usize>(
        &self,
        windows: [(f64, f64); N],
    ) -> ([Seen; N], Vec<(Time, f64)>) {
        let mut built = self.0.build(&|_| None).expect("a good scenario");
        let names = Names {
            flows: built.flows,
            links: built.links,
        };
        let at = |at| Time::ZERO + secs(at);
        let mut watch = Watch {
            windows: windows
                .map(|(from, to)| Window {
                    from: at(from),
                    to: at(to),
                })
                .map(|window| Summary::new(names.clone(), window))
                .into(),
            estimate: Vec::new(),
        };
        let end = self.0.end();
        built.world.run(end, &mut Log::to(&mut watch));
        let mut seen = watch.windows.iter().map(|window| Seen(window.report()));
        let seen = std::array::from_fn(|_| seen.next().expect("as many as windows"));
        (seen, watch.estimate)
    }
}

/// Several windows of one run, and the bandwidth estimate of its first flow.
struct Watch {
    windows: Vec<Summary>,
    estimate: Vec<(Time, f64)>,
}

impl Sink for Watch {
    fn record(&mut self, at: Time, event: &Event) {
        for window in &mut self.windows {
            window.record(at, event);
        }
        if let Event::Gauge {
            flow: FlowId(0),
            name: "B_bps",
            value,
            ..
        } = event
        {
            let rate = Rate::from_bps_f64(*value);
            self.estimate.push((at, rate.mbps_f64()));
        }
    }
}

/// One window of a run.
pub(crate) struct Seen(Report);

impl Seen {
    #[track_caller]
    pub(crate) fn number(&self, key: &str) -> f64 {
        let value = self.0.get(key).expect("a key");
        value.number().unwrap_or_else(|| panic!("{key}: nothing"))
    }

    /// In Mbit/s.
    pub(crate) fn megabits(&self, key: &str) -> f64 {
        Rate::from_bps_f64(self.number(key)).mbps_f64()
    }

    /// In ms.
    pub(crate) fn millis(&self, key: &str) -> f64 {
        secs(self.number(key)).millis_f64()
    }

    pub(crate) fn rate(&self, flow: usize) -> f64 {
        self.megabits(&format!("flow.{flow}.throughput"))
    }

    pub(crate) fn queue(&self) -> f64 {
        self.millis("link.bottleneck.waited.p90")
    }

    pub(crate) fn utilisation(&self) -> f64 {
        self.number("link.bottleneck.utilisation")
    }

    pub(crate) fn drops(&self) -> f64 {
        self.number("link.bottleneck.drops")
    }

    pub(crate) fn jain(&self, flows: std::ops::Range<usize>) -> f64 {
        let rates: Vec<f64> = flows.map(|flow| self.rate(flow)).collect();
        jain(&rates).expect("rates")
    }
}
