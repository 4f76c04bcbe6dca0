//! One scenario of an experiment, and what is seen of a run of it.

use anyhow::{Context, Result};
use tightloop::analysis::{Curve, Names, Report, Series, Summary, Value, Window};
use tightloop::event::{Event, Log, Sink};
use tightloop::rng::Stream;
use tightloop::scenario::Scenario;
use tightloop::units::{Rate, Span, Time};

/// A scenario and how to look at it.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    scenario: Scenario,
    windows: Vec<Window>,
    bin: Option<Span>,
    stagger: Span,
}

/// What was seen of one run, in the reader's units: Mbit/s, ms, and plain numbers.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    reports: Vec<Report>,
    curves: Vec<Curve>,
}

/// Seconds as a moment.
pub(crate) fn second(second: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(second)
}

/// A rate in bit/s as Mbit/s.
pub(crate) fn mbps(bps: f64) -> f64 {
    bps / Rate::from_mbps(1).bps_f64()
}

impl Trial {
    /// Looks at these windows, each from a second to another.
    pub(crate) fn new(scenario: Scenario, windows: &[(f64, f64)]) -> Self {
        let window = |&(from, to): &(f64, f64)| Window {
            from: second(from),
            to: second(to),
        };
        Self {
            windows: windows.iter().map(window).collect(),
            scenario,
            bin: None,
            stagger: Span::ZERO,
        }
    }

    /// Draws curves too, in bins of this length.
    pub(crate) fn curves(mut self, bin: Span) -> Self {
        self.bin = Some(bin);
        self
    }

    /// Starts each flow up to so much later, as the seed has it: flows without
    /// frames have no other luck.
    pub(crate) fn stagger(mut self, most: Span) -> Self {
        self.stagger = most;
        self
    }

    pub(crate) fn run(&self, seed: u64) -> Result<Seen> {
        let mut scenario = self.scenario.clone();
        scenario.seed = seed;
        for (place, flow) in scenario.flow.iter_mut().enumerate() {
            let mut luck = Stream::named(seed, &format!("papers.start.{place}"));
            flow.start += luck.span_between(Span::ZERO, self.stagger);
        }
        let built = scenario.build(&|_| None);
        let built = built.with_context(|| format!("the trial {}", scenario.name))?;
        let names = Names {
            flows: built.flows,
            links: built.links,
        };
        let windows = self.windows.iter();
        let mut watch = Watch {
            windows: windows.map(|it| Summary::new(names.clone(), *it)).collect(),
            series: self.bin.map(|bin| Series::new(names.clone(), bin)),
        };
        let mut world = built.world;
        world.run(scenario.end(), &mut Log::to(&mut watch));
        let curves = watch.series.map(|series| series.curves(scenario.end()));
        Ok(Seen {
            reports: watch.windows.iter().map(Summary::report).collect(),
            curves: curves.unwrap_or_default(),
        })
    }
}

struct Watch {
    windows: Vec<Summary>,
    series: Option<Series>,
}

impl Sink for Watch {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        for window in &mut self.windows {
            window.record(at, event);
        }
        if let Some(series) = &mut self.series {
            series.record(at, event);
        }
    }
}

impl Seen {
    /// What a metric says of a window; not a number where there was nothing to
    /// measure.
    pub(crate) fn get(&self, window: usize, key: &str) -> f64 {
        let value = self.reports[window].get(key);
        match value.unwrap_or_else(|error| panic!("an experiment asks for {error}")) {
            Value::Rate(rate) => rate.mbps_f64(),
            Value::Span(span) => span.millis_f64(),
            other => other.number().unwrap_or(f64::NAN),
        }
    }

    /// A curve, in its own units.
    pub(crate) fn curve(&self, key: &str) -> &Curve {
        let curve = self.curves.iter().find(|curve| curve.key == key);
        curve.unwrap_or_else(|| panic!("an experiment asks for the curve {key}"))
    }

    /// A curve as points, at the middle of its bins in seconds; not a number
    /// where there is none.
    pub(crate) fn points(&self, key: &str) -> Vec<(f64, f64)> {
        let curve = self.curve(key);
        let bin = curve.bin.secs_f64();
        let point = |(place, value): (usize, &Option<f64>)| {
            ((place as f64 + 0.5) * bin, value.unwrap_or(f64::NAN))
        };
        curve.values.iter().enumerate().map(point).collect()
    }

    /// A curve's values in bins that lie between two seconds.
    pub(crate) fn within(&self, key: &str, from: f64, to: f64) -> Vec<f64> {
        let points = self.points(key).into_iter();
        let inside = points.filter(|(at, value)| from < *at && *at < to && value.is_finite());
        inside.map(|(_, value)| value).collect()
    }
}

/// What each seed gave.
pub(crate) fn values(seeds: &[Seen], read: impl Fn(&Seen) -> f64) -> Vec<f64> {
    seeds.iter().map(read).collect()
}

/// The mean; not a number where there is nothing.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
