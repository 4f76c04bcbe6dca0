//! The sink that turns a run's events into a [`Report`].

use super::links::Link;
use super::packets::{Flow, loss_of};
use super::{
    AllReport, FlowReport, LATEST, LinkReport, Names, Report, Samples, Window, entry, fairness,
    jain,
};
use crate::event::{Direction, Event, FlowId, LinkId, PacketId, Sink};
use crate::units::{Bytes, Rate, Span, Time};

/// Follows a run and knows, at any time, every metric of a window of it.
///
/// It keeps four bytes for every delay that was measured and little else: what
/// is under way, lost, or a frame. To look at several windows feed several of
/// these.
///
/// ```
/// use tightloop::analysis::{Names, Summary, Window};
/// use tightloop::event::{Event, Kind, PacketId, Sink};
/// use tightloop::units::{Bytes, Span, Time};
///
/// let mut summary = Summary::new(Names::default(), Window::until(Time::from_secs(1)));
/// let (packet, size) = (PacketId::default(), Bytes::new(1500));
/// let (kind, in_flight) = (Kind::Bulk, size);
/// summary.record(Time::ZERO, &Event::Sent { packet, size, kind, in_flight });
/// summary.record(Time::from_millis(20), &Event::Arrived { packet, size, duplicate: false });
/// let report = summary.report();
/// assert_eq!(report.get("flow.0.owd.max")?.to_string(), "20 ms");
/// assert_eq!(report.get("flow.0.throughput")?.to_string(), "12 kbit/s");
/// # Ok::<(), tightloop::analysis::UnknownMetric>(())
/// ```
#[derive(Clone, Debug)]
pub struct Summary {
    names: Names,
    window: Window,
    slot: Span,
    flows: Vec<Flow>,
    links: Vec<Link>,
}

impl Summary {
    /// For a run whose flows and links have these names.
    #[must_use]
    pub fn new(names: Names, window: Window) -> Self {
        let mut summary = Self {
            window,
            slot: Span::from_secs(1) / 60,
            flows: Vec::new(),
            links: Vec::new(),
            names,
        };
        // A flow that does nothing is to be seen too.
        let flows = 0..summary.names.flows.len();
        let links = 0..summary.names.links.len();
        summary.flows = flows.map(|_| Flow::new(window, summary.slot)).collect();
        summary.links = links.map(|_| Link::new(window)).collect();
        summary
    }

    /// Sets the length of the slots in which bitrates are counted; without
    /// this 1/60 s, as in [SQP] §6.2. To be called before the run.
    #[must_use]
    pub fn with_slot(mut self, slot: Span) -> Self {
        self.slot = slot.max(Span::from_millis(1));
        for flow in &mut self.flows {
            *flow = Flow::new(self.window, self.slot);
        }
        self
    }

    /// States the most that the sources behind a link can use, for
    /// `link.{link}.utilisation_of_demand`. To be called before the run.
    #[must_use]
    pub fn with_demand(mut self, link: LinkId, demand: Rate) -> Self {
        let window = self.window;
        if let Some(link) = entry(&mut self.links, link.0, || Link::new(window)) {
            link.demand = Some(demand);
        }
        self
    }

    #[inline]
    fn flow(&mut self, flow: FlowId) -> Option<&mut Flow> {
        let (window, slot) = (self.window, self.slot);
        entry(&mut self.flows, flow.0, || Flow::new(window, slot))
    }

    #[inline]
    fn link(&mut self, link: LinkId) -> Option<&mut Link> {
        let window = self.window;
        entry(&mut self.links, link.0, || Link::new(window))
    }

    /// A flow and a link of one packet.
    #[inline]
    fn both(&mut self, link: LinkId, packet: &PacketId) -> Option<(&mut Link, &mut Flow)> {
        let (window, slot) = (self.window, self.slot);
        Some((
            entry(&mut self.links, link.0, || Link::new(window))?,
            entry(&mut self.flows, packet.flow.0, || Flow::new(window, slot))?,
        ))
    }

    /// Takes note of an event; nothing where it is of no interest, or of a flow
    /// or link that cannot be.
    #[inline]
    fn note(&mut self, at: Time, event: &Event) -> Option<()> {
        match *event {
            Event::Sent {
                packet, size, kind, ..
            } => {
                self.flow(packet.flow)?.sent(at, &packet, size, kind);
            }
            Event::Queued {
                link,
                packet,
                size,
                waiting,
            } => {
                let (link_of, flow) = self.both(link, &packet)?;
                if packet.direction == Direction::Feedback {
                    flow.feedback(at, &packet, size);
                }
                link_of.queued(at, flow.crossing(link, &packet), &packet, waiting);
            }
            Event::Left {
                link,
                packet,
                size,
                waited,
                sojourn,
            } => {
                let (link_of, flow) = self.both(link, &packet)?;
                let crossing = flow.crossing(link, &packet);
                link_of.left(at, crossing, (&packet, size), (waited, sojourn));
            }
            Event::Arrived {
                packet,
                size,
                duplicate,
            } => {
                self.flow(packet.flow)?
                    .arrived(at, &packet, size, duplicate);
            }
            Event::Acked {
                packet,
                rtt,
                spurious,
                ..
            } => {
                self.flow(packet.flow)?.acked(at, &packet, rtt, spurious);
            }
            Event::Dropped {
                link,
                packet,
                size,
                cause,
            } => {
                let (link_of, flow) = self.both(link, &packet)?;
                let crossing = flow.crossings.iter_mut().find(|it| it.is(link, &packet));
                link_of.dropped(at, crossing, &packet, cause);
                match packet.direction {
                    Direction::Data => flow.dropped(at, &packet, cause),
                    Direction::Feedback => flow.feedback(at, &packet, size),
                }
            }
            Event::Marked { link, packet } => {
                let (link, flow) = self.both(link, &packet)?;
                link.marked(at);
                if packet.direction == Direction::Data {
                    flow.marked(at);
                }
            }
            Event::Lost { packet, .. } => self.flow(packet.flow)?.given_up(at, &packet),
            Event::Opportunity { link, size } => self.link(link)?.opportunity(at, size),
            Event::Capacity { link, rate } => self.link(link)?.capacity(at, rate),
            Event::Captured { flow, frame } => self.flow(flow)?.frames.captured(at, frame),
            Event::Skipped { flow, frame, .. } => self.flow(flow)?.frames.skipped(frame),
            Event::Encoded {
                flow, frame, size, ..
            } => {
                self.flow(flow)?.frames.encoded(frame, size);
            }
            Event::Completed { flow, frame } => self.flow(flow)?.frames.completed(at, frame),
            Event::Shown { flow, frame } => {
                let counts = self.window.contains(at);
                self.flow(flow)?.frames.shown(at, frame, counts);
            }
            Event::Timeout { flow, .. } => self.flow(flow)?.timeout(at),
            Event::KeyWanted { .. }
            | Event::PathDown { .. }
            | Event::PathUp { .. }
            | Event::Clock { .. }
            | Event::Control { .. }
            | Event::Gauge { .. } => {}
        }
        Some(())
    }

    /// Every metric, of what has happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let links = self.links.iter().enumerate();
        let links = links.map(|(place, link)| {
            let id = LinkId(number(place));
            let crossings = self.flows.iter().flat_map(|flow| &flow.crossings);
            let fastest = self.flows.iter().filter_map(|flow| flow.fastest_over(id));
            link.report(
                self.names.link(id).into_owned(),
                crossings.filter(|it| it.link == id),
                fastest.min(),
            )
        });
        let links: Vec<LinkReport> = links.collect();
        let shares: Vec<_> = self.flows.iter().map(|flow| &flow.share).collect();
        let jain = fairness::over_time(&shares, &self.window);
        let flows = self.flows.iter().enumerate().map(|(place, flow)| {
            let name = self.names.flow(FlowId(number(place))).into_owned();
            FlowReport {
                converged: flow.share.converged(&jain, &self.window),
                ..flow.report(name, &links)
            }
        });
        let flows: Vec<FlowReport> = flows.collect();
        let mut names = self.names.clone();
        names.flows.resize(flows.len(), String::new());
        names.links.resize(links.len(), String::new());
        Report {
            window: self.window,
            names,
            all: self.all(),
            flows,
            links,
        }
    }

    /// All flows together.
    fn all(&self) -> AllReport {
        let mut owd = Samples::default();
        self.flows.iter().for_each(|flow| flow.add_owd(&mut owd));
        let arrivals = self.flows.iter().map(Flow::arrivals);
        let bytes = arrivals.clone().map(|(bytes, _)| bytes).sum::<Bytes>();
        let spans = arrivals.filter_map(|(_, span)| span);
        let first = spans.clone().map(|(first, _)| first).min();
        let last = spans.map(|(_, last)| last).max();
        let shares: Vec<_> = self.flows.iter().map(|flow| &flow.share).collect();
        let whole = self.flows.iter().map(|flow| flow.arrivals().0.get_f64());
        let whole: Vec<f64> = whole.collect();
        AllReport {
            throughput: bytes.per(self.window.length()).unwrap_or_default(),
            loss: loss_of(&self.flows),
            owd: owd.spread(),
            pantheon: first
                .zip(last)
                .and_then(|(first, last)| bytes.per(last - first)),
            jain: fairness::windows(&shares, &self.window),
            jain_whole: if whole.len() < 2 { None } else { jain(&whole) },
        }
    }
}

impl Sink for Summary {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        if at <= LATEST {
            self.note(at, event);
        }
    }
}

#[cfg(test)]
mod tests;
