//! A run as curves over time, for plots.

use serde::{Serialize, Serializer};

use super::fairness::{self, Share};
use super::ring::{Journeys, Numbered};
use super::{LATEST, Names, Unit, Window, entry, steps};

use crate::event::{Control, Direction, Event, FlowId, FrameId, LinkId, PathId, Sink};
use crate::units::{Bytes, Rate, Span, Time, index};

mod plot;

use plot::{Bins, Delays, Held, Plot, bin_start};

/// One quantity over time, in bins from the run's epoch on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// What it is, in the words of [`METRICS`](super::METRICS) where there is such a metric.
    pub key: String,
    /// What its values are in; see [`Unit::symbol`].
    #[serde(serialize_with = "symbol")]
    pub unit: Unit,
    /// How long a bin is.
    pub bin: Span,
    /// A value for each bin, in bit/s, s, B or plain; nothing where there was nothing to measure.
    pub values: Vec<Option<f64>>,
}

fn symbol<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.symbol())
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The frame.
    #[serde(serialize_with = "frame_number")]
    pub frame: FrameId,
    /// When it was captured.
    pub captured: Time,
    /// Until it, or the next one that was, was shown.
    pub latency: Span,
    /// Whether it was shown itself.
    pub shown: bool,
}

fn frame_number<S: Serializer>(frame: &FrameId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(frame.0)
}

/// The sink that makes curves of a run.
///
/// A flow's curves are `sending`, `throughput`, `in_flight`, `target`, `pacing`,
/// `floor`, `window`, `owd.mean`, `owd.p95`, `owd.max`, the same of `rtt`,
/// `lost` and `gauge.NAME`, after `flow.{flow}.` for a flow with one path and after
/// `flow.{flow}.path.{path}.` for one with several. A link's are `capacity`,
/// `carried`, `waiting`, `waited.mean`, `waited.p95`, `waited.max`, `drops` and
/// `marks`. `all.jain` is Jain's index over all flows. What a controller allows,
/// and gauges, have the value at the end of each bin; bytes in flight and bytes
/// waiting have the bin's largest.
#[derive(Clone, Debug)]
pub struct Series {
    names: Names,
    bin: Span,
    flows: Vec<Flow>,
    links: Vec<Link>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    paths: Vec<Path>,
    captured: Numbered<Time>,
    points: Vec<Point>,
    share: Share,
}

#[derive(Clone, Debug, Default)]
struct Path {
    journeys: Journeys<Time>,
    sent: Bins,
    arrived: Bins,
    in_flight: Bins,
    lost: Bins,
    owd: Delays,
    rtt: Delays,
    target: Held,
    pacing: Held,
    floor: Held,
    window: Held,
    gauges: Vec<(&'static str, Held)>,
}

#[derive(Clone, Debug, Default)]
struct Link {
    rate: Option<(Rate, Time)>,
    /// Bits that the rate could have carried in each bin.
    capacity: Vec<f64>,
    offered: Bins,
    carried: Bins,
    waiting: Bins,
    waited: Delays,
    drops: Bins,
    marks: Bins,
}

impl Series {
    /// The bins where nobody asks for others. Ours: a few frames, and shorter
    /// than the half second in which people judge a call.
    pub const BIN: Span = Span::from_millis(100);

    /// For a run whose flows and links have these names, in bins of this length.
    #[must_use]
    pub fn new(names: Names, bin: Span) -> Self {
        Self {
            names,
            bin: bin.max(Span::from_millis(1)),
            flows: Vec::new(),
            links: Vec::new(),
        }
    }

    fn path(&mut self, flow: FlowId, path: PathId) -> Option<&mut Path> {
        let flow = entry(&mut self.flows, flow.0, Flow::default)?;
        entry(&mut flow.paths, path.0.into(), Path::default)
    }

    fn link(&mut self, link: LinkId) -> Option<&mut Link> {
        entry(&mut self.links, link.0, Link::default)
    }

    fn note(&mut self, at: Time, event: &Event) -> Option<()> {
        let length = self.bin;
        let bin = steps(at.since_epoch(), length);
        match *event {
            Event::Sent {
                packet,
                size,
                in_flight,
                ..
            } => {
                let path = self.path(packet.flow, packet.path)?;
                path.journeys.start(packet.number, at);
                path.sent.add(bin, size);
                path.in_flight.most(bin, in_flight);
                self.flows
                    .get_mut(index(packet.flow.0.into()))?
                    .share
                    .sent(at);
            }
            Event::Arrived {
                packet,
                size,
                duplicate: false,
            } => {
                let path = self.path(packet.flow, packet.path)?;
                path.arrived.add(bin, size);
                if let Some((sent, _)) = path.journeys.end(packet.number) {
                    path.owd.push(bin, at - sent);
                }
                let flow = self.flows.get_mut(index(packet.flow.0.into()))?;
                flow.share
                    .arrived(steps(at.since_epoch(), fairness::BIN), size);
            }
            Event::Acked {
                packet,
                rtt: Some(rtt),
                ..
            } => {
                self.path(packet.flow, packet.path)?.rtt.push(bin, rtt);
            }
            Event::Lost { packet, .. } => {
                let path = self.path(packet.flow, packet.path)?;
                *path.lost.at(bin) += 1;
                path.journeys.miss(packet.number);
            }
            Event::Control {
                flow,
                path,
                control,
            } => {
                self.path(flow, path)?.control(bin, &control);
            }
            Event::Gauge {
                flow,
                path,
                name,
                value,
            } => {
                self.path(flow, path)?.gauge(name).set(bin, Some(value));
            }
            Event::Queued { link, waiting, .. } => self.link(link)?.waiting.most(bin, waiting),
            Event::Left {
                link, size, waited, ..
            } => {
                let link = self.link(link)?;
                link.carried.add(bin, size);
                link.waited.push(bin, waited);
            }
            Event::Dropped { link, packet, .. } => {
                *self.link(link)?.drops.at(bin) += 1;
                if packet.direction == Direction::Data {
                    self.path(packet.flow, packet.path)?
                        .journeys
                        .miss(packet.number);
                }
            }
            Event::Marked { link, .. } => *self.link(link)?.marks.at(bin) += 1,
            Event::Capacity { link, rate } => self.link(link)?.capacity(at, Some(rate), length),
            Event::Opportunity { link, size } => self.link(link)?.offered.add(bin, size),
            Event::Captured { flow, frame } => {
                let flow = entry(&mut self.flows, flow.0, Flow::default)?;
                flow.captured.put(frame.0.into(), at);
            }
            Event::Shown { flow, frame } => {
                entry(&mut self.flows, flow.0, Flow::default)?.shown(at, frame);
            }
            _ => {}
        }
        Some(())
    }

    /// The frames of a flow that have been shown or passed over, in their order.
    #[must_use]
    pub fn frames(&self, flow: FlowId) -> &[Point] {
        let flow = self.flows.get(index(flow.0.into()));
        flow.map_or(&[], |flow| &flow.points)
    }

    /// All curves of a run that ended at `end`.
    #[must_use]
    pub fn curves(&self, end: Time) -> Vec<Curve> {
        let mut plot = Plot {
            bin: self.bin,
            end,
            curves: Vec::new(),
        };
        let whole = steps(end.since_epoch(), fairness::BIN);
        let shares: Vec<&Share> = self.flows.iter().map(|flow| &flow.share).collect();
        let mut values = fairness::over_time(&shares, &Window::until(end));
        values.resize(whole, None);
        plot.curves.push(Curve {
            key: "all.jain".into(),
            unit: Unit::Number,
            bin: fairness::BIN,
            values,
        });
        for (number, flow) in (0..).zip(&self.flows) {
            let name = format!("flow.{}", self.names.flow(FlowId(number)));
            for (number, path) in flow.paths.iter().enumerate() {
                match flow.paths.len() {
                    1 => path.plot(&name, &mut plot),
                    _ => path.plot(&format!("{name}.path.{number}"), &mut plot),
                }
            }
        }
        for (number, link) in (0..).zip(&self.links) {
            link.plot(
                &format!("link.{}", self.names.link(LinkId(number))),
                &mut plot,
            );
        }
        plot.curves
    }
}

impl Sink for Series {
    fn record(&mut self, at: Time, event: &Event) {
        if at <= LATEST {
            self.note(at, event);
        }
    }
}

impl Flow {
    fn shown(&mut self, at: Time, shown: FrameId) {
        while let Some((number, captured)) = self.captured.pop_to(shown.0.into()) {
            let frame = FrameId(u32::try_from(number).unwrap_or(u32::MAX));
            self.points.push(Point {
                frame,
                captured,
                latency: at - captured,
                shown: frame == shown,
            });
        }
    }
}

impl Path {
    fn control(&mut self, bin: usize, control: &Control) {
        let rate = |rate: Option<Rate>| rate.map(Rate::bps_f64);
        self.target.set(bin, rate(control.target));
        self.pacing.set(bin, rate(control.pacing));
        self.floor.set(bin, rate(control.floor));
        self.window.set(bin, control.window.map(Bytes::get_f64));
    }

    fn gauge(&mut self, name: &'static str) -> &mut Held {
        let known = self.gauges.iter().position(|(known, _)| *known == name);
        let place = known.unwrap_or_else(|| {
            self.gauges.push((name, Held::default()));
            self.gauges.len() - 1
        });
        &mut self.gauges[place].1
    }

    fn plot(&self, name: &str, plot: &mut Plot) {
        plot.rate(name, "sending", &self.sent);
        plot.rate(name, "throughput", &self.arrived);
        plot.plain(name, "in_flight", Unit::Bytes, &self.in_flight);
        plot.plain(name, "lost", Unit::Count, &self.lost);
        plot.delays(name, "owd", &self.owd);
        plot.delays(name, "rtt", &self.rtt);
        plot.held(name, "target", Unit::Rate, &self.target);
        plot.held(name, "pacing", Unit::Rate, &self.pacing);
        plot.held(name, "floor", Unit::Rate, &self.floor);
        plot.held(name, "window", Unit::Bytes, &self.window);
        for (gauge, held) in &self.gauges {
            plot.held(name, &format!("gauge.{gauge}"), Unit::Number, held);
        }
    }
}

impl Link {
    /// The rate from now on; what the old one carried goes into its bins.
    fn capacity(&mut self, at: Time, rate: Option<Rate>, length: Span) {
        if let Some((before, mut since)) = self.rate {
            while since < at {
                let bin = steps(since.since_epoch(), length);
                let next = bin_start(bin + 1, length).min(at);
                self.capacity.resize(bin + 1, 0.0);
                self.capacity[bin] += before.bps_f64() * (next - since).secs_f64();
                since = next;
            }
        }
        self.rate = rate.map(|rate| (rate, at)).or(self.rate);
    }

    fn plot(&self, name: &str, plot: &mut Plot) {
        let mut link = self.clone();
        link.capacity(plot.end, None, plot.bin);
        match (link.offered.is_empty(), link.rate) {
            (false, _) => plot.rate(name, "capacity", &link.offered),
            (true, Some(_)) => {
                let (bin, end) = (plot.bin, plot.end);
                plot.push(name, "capacity", Unit::Rate, |place| {
                    let length = (end - bin_start(place, bin)).min(bin);
                    Some(link.capacity.get(place)? / length.secs_f64())
                });
            }
            (true, None) => {}
        }
        plot.rate(name, "carried", &link.carried);
        plot.plain(name, "waiting", Unit::Bytes, &link.waiting);
        plot.delays(name, "waited", &link.waited);
        plot.plain(name, "drops", Unit::Count, &link.drops);
        plot.plain(name, "marks", Unit::Count, &link.marks);
    }
}

#[cfg(test)]
mod tests;
