//! One way of an emulated link: one or more links in a row.

use tightloop::event::{FlowId, Log};
use tightloop::link::{Link, Packet};
use tightloop::units::{Bytes, Span, Time, earlier};

/// Links in a row. What leaves one arrives at the next at the logical moment,
/// however late anybody looks.
#[derive(Clone, Debug)]
pub struct Pipe<P: Packet> {
    links: Vec<Link<P>>,
}

impl<P: Packet> Pipe<P> {
    /// A pipe of these links, the first first. Without any, packets pass at once.
    #[must_use]
    pub const fn new(links: Vec<Link<P>>) -> Self {
        Self { links }
    }

    /// A packet arrives; given back where there is no link to take it.
    pub fn push(&mut self, now: Time, packet: P, log: &mut Log<'_>) -> Option<P> {
        self.settle(now, log);
        match self.links.first_mut() {
            Some(link) => {
                link.push(now, packet, log);
                None
            }
            None => Some(packet),
        }
    }

    /// The next packet that has come through, with the moment it should have.
    #[inline]
    pub fn pop(&mut self, now: Time, log: &mut Log<'_>) -> Option<(Time, P)> {
        self.settle(now, log);
        self.links.last_mut()?.pop(now, log)
    }

    /// No packet comes through before this; `None` while none is under way.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        self.links
            .iter()
            .fold(None, |next, link| earlier(next, link.next_event()))
    }

    /// Brings all links up to `now`.
    pub fn finish(&mut self, now: Time, log: &mut Log<'_>) {
        self.settle(now, log);
        if let Some(link) = self.links.last_mut() {
            link.finish(now, log);
        }
    }

    /// Sets what packets of one flow fly longer than others' over the last link.
    pub fn set_flow_delay(&mut self, now: Time, flow: FlowId, extra: Span, log: &mut Log<'_>) {
        self.settle(now, log);
        if let Some(link) = self.links.last_mut() {
            link.set_flow_delay(now, flow, extra, log);
        }
    }

    /// Bytes waiting in its queues.
    #[must_use]
    pub fn waiting(&self) -> Bytes {
        self.links.iter().map(Link::waiting).sum()
    }

    /// Packets waiting in its queues.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.links.iter().map(Link::packets).sum()
    }

    /// Moves on what has left each link but the last. A link is brought up to
    /// date only after all that arrives there until then has been pushed.
    #[inline]
    fn settle(&mut self, now: Time, log: &mut Log<'_>) {
        for place in 1..self.links.len() {
            let (before, after) = self.links.split_at_mut(place);
            while let Some((at, packet)) = before[place - 1].pop(now, log) {
                after[0].push(at, packet, log);
            }
        }
    }
}
