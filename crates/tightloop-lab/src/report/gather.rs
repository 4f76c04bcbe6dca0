//! Everything a page needs, from one reading of a run's events.

use std::collections::BTreeMap;

use tightloop::analysis::{Names, Samples, Series, Summary, Window, percentile};
use tightloop::event::{Cause, Direction, Event, FlowId, LinkId, Sink};
use tightloop::units::{Bytes, Span, Time};

/// What a page shows of a run.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) summary: Summary,
    pub(super) series: Series,
    /// How long data packets of each flow waited, all queues together.
    pub(super) waits: BTreeMap<FlowId, Waits>,
    pub(super) links: BTreeMap<LinkId, Crossings>,
    bin: Span,
}

/// What a link did, beyond its metrics.
#[derive(Clone, Debug, Default)]
pub(super) struct Crossings {
    pub(super) carried: u64,
    pub(super) dropped: BTreeMap<&'static str, u64>,
    /// When packets were dropped, in seconds.
    pub(super) drops: Vec<f64>,
    /// When packets were marked, in seconds.
    pub(super) marks: Vec<f64>,
    /// Bytes times seconds of waiting.
    pub(super) waited: f64,
}

/// Waiting times in bins.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    bin: i64,
    samples: Samples,
    /// A bin's number, and the mean and 95th percentile of its waits in seconds.
    pub(super) rows: Vec<(i64, f64, f64)>,
}

impl Gather {
    pub(super) fn new(names: Names, window: Window, bin: Span) -> Self {
        Self {
            summary: Summary::new(names.clone(), window),
            series: Series::new(names, bin),
            waits: BTreeMap::new(),
            links: BTreeMap::new(),
            bin,
        }
    }

    fn link(&mut self, link: LinkId) -> &mut Crossings {
        self.links.entry(link).or_default()
    }

    fn left(&mut self, link: LinkId, size: Bytes, waited: Span) {
        let crossings = self.link(link);
        crossings.carried += 1;
        crossings.waited += size.get_f64() * waited.secs_f64();
    }

    fn dropped(&mut self, at: Time, link: LinkId, cause: Cause) {
        let crossings = self.link(link);
        *crossings.dropped.entry(cause.name()).or_default() += 1;
        crossings.drops.push(at.secs_f64());
    }
}

impl Sink for Gather {
    fn record(&mut self, at: Time, event: &Event) {
        self.summary.record(at, event);
        self.series.record(at, event);
        match *event {
            Event::Left {
                link,
                packet,
                size,
                waited,
                ..
            } => {
                self.left(link, size, waited);
                if packet.direction == Direction::Data {
                    let bin = at.since_epoch().as_nanos() / self.bin.as_nanos();
                    self.waits.entry(packet.flow).or_default().push(bin, waited);
                }
            }
            Event::Dropped { link, cause, .. } => self.dropped(at, link, cause),
            Event::Marked { link, .. } => self.link(link).marks.push(at.secs_f64()),
            _ => {}
        }
    }
}

impl Waits {
    fn push(&mut self, bin: i64, waited: Span) {
        if bin != self.bin {
            self.close();
            self.bin = bin;
        }
        self.samples.push(waited);
    }

    /// Ends the last bin.
    pub(super) fn close(&mut self) {
        if self.samples.is_empty() {
            return;
        }
        let mut waits: Vec<f64> = self.samples.iter().map(|wait| wait.secs_f64()).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        let p95 = percentile(&waits, 0.95).unwrap_or_default();
        self.rows.push((self.bin, mean, p95));
        self.samples.clear();
    }
}
