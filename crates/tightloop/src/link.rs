//! A link: queue, then service, then flight.
//!
//! A packet *arrives*, may be lost or doubled at random ([`impair`]), waits in
//! the **queue**, occupies the **service** until its last bit has left, and is
//! in **flight** until it is delivered. The three are apart: the queue's
//! occupancy counts waiting packets alone, never the one in service; a packet
//! leaves at the end of its service; delay, jitter and reordering belong to
//! flight.
//!
//! A link owns no clock. Every call first brings it up to `now` at *logical*
//! instants, so driving it late changes nothing but lateness: the same packets
//! are dropped, and [`Link::pop`] says when each *should* have been delivered.
//! The simulator and the emulator own links of the same type. At one instant,
//! what leaves the link comes first and what arrives comes last: an arrival
//! finds the place free that was left at that moment, and misses an
//! opportunity of that moment.
//!
//! By opportunities ([`trace`]), packets wait in the queue until one comes; a
//! packet is in service only while it is sent in part. A packet too big for an
//! opportunity is dropped on arrival.
//!
//! ```
//! # use tightloop::event::{Ecn, LinkId, Log, PacketId};
//! # use tightloop::link::{Flight, Impair, Link, Packet, Service};
//! # use tightloop::units::{Bytes, Rate, Span, Time};
//! # #[derive(Clone, Debug)]
//! # struct Mail;
//! # impl Packet for Mail {
//! #     fn size(&self) -> Bytes { Bytes::new(1500) }
//! #     fn id(&self) -> PacketId { PacketId::default() }
//! #     fn ecn(&self) -> Ecn { Ecn::NotEct }
//! #     fn mark_ce(&mut self) {}
//! # }
//! use tightloop::link::drop_tail::DropTail;
//! use tightloop::link::limit::Limit;
//!
//! let queue = Box::new(DropTail::new(Limit::Packets(200)));
//! let service = Service::fixed(Rate::from_mbps(12));
//! let flight = Flight::new(Span::from_millis(20));
//! let mut link = Link::new(LinkId(0), queue, service, flight, Impair::none());
//! let mut log = Log::off();
//!
//! link.push(Time::ZERO, Mail, &mut log);
//! let wake = link.next_event().expect("a packet is under way");
//! let (delivered, Mail) = link.pop(wake, &mut log).expect("it has arrived");
//! assert_eq!(delivered, Time::from_millis(21));
//! ```

use crate::event::{Cause, Event, FlowId, LinkId, Log};
use crate::units::{Bytes, Span, Time, earlier};

mod advance;
pub mod alphartc;
pub mod codel;
pub mod drop_head;
pub mod drop_tail;
pub mod flight;
pub mod formats;
pub mod generate;
pub mod impair;
pub mod limit;
mod netem;
pub mod queue;
pub mod series;
pub mod service;
pub mod settings;
pub mod trace;

pub use flight::{Flight, Jitter};
pub use impair::{GilbertElliott, Impair};
pub use queue::{Discipline, Packet, Parcel, Queue, QueueKind, Verdicts, queues};
pub use service::Service;
pub use settings::Settings;
pub use trace::Trace;

use impair::Fate;
use trace::{DEVICE_HEADER, OPPORTUNITY};

/// A link. See the module's text for its parts.
#[derive(Clone, Debug)]
pub struct Link<P: Packet> {
    id: LinkId,
    impair: Impair,
    queue: Box<dyn Queue<P>>,
    service: Service,
    /// The packet in service, since when, and what opportunities have not
    /// carried of it yet.
    serving: Option<Parcel<P>>,
    began: Time,
    rest: Bytes,
    /// When service next does something for a packet: the one in service has
    /// left, or an opportunity comes while somebody waits.
    due: Option<Time>,
    /// When there is next anything to bring up to date: `due`, or a change of
    /// the rate, or an opportunity for nobody.
    wake: Option<Time>,
    flight: Flight<P>,
    /// The first rate has been logged.
    announced: bool,
    watched: bool,
}

impl<P: Packet> Link<P> {
    /// An empty link.
    #[must_use]
    pub fn new(
        id: LinkId,
        queue: Box<dyn Queue<P>>,
        service: Service,
        flight: Flight<P>,
        impair: Impair,
    ) -> Self {
        Self {
            id,
            impair,
            queue,
            serving: None,
            began: Time::ZERO,
            rest: Bytes::ZERO,
            due: None,
            wake: service.next_change(),
            service,
            flight,
            announced: false,
            watched: false,
        }
    }

    /// A packet arrives at the link.
    #[inline]
    pub fn push(&mut self, now: Time, packet: P, log: &mut Log<'_>) {
        self.advance(now, log);
        if !self.impair.active() {
            return self.arrive(now, packet, log);
        }
        match self.impair.fate(packet.id().flow) {
            Fate::Passed => self.arrive(now, packet, log),
            Fate::Lost => {
                log.emit(now, || dropped(self.id, &packet, Cause::Random));
            }
            Fate::Doubled => {
                self.arrive(now, packet.clone(), log);
                self.arrive(now, packet, log);
            }
        }
    }

    /// When to call [`Link::pop`] next: no packet is delivered earlier than
    /// this. A fixed delay makes it exact; with jitter a call may come for
    /// nothing. `None` while the link is empty or its outage never ends.
    ///
    /// What happens inside (packets leaving service, changes of the rate) does
    /// not count, as it needs no punctual call, unless the link is
    /// [watched](Link::set_watched).
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Option<Time> {
        let delivery = self.flight.next();
        if self.watched {
            return earlier(delivery, self.wake);
        }
        earlier(delivery, self.due.map(|due| due + self.flight.least()))
    }

    /// Brings the link up to `now` and takes out the next packet whose flight
    /// has ended, with the moment it should have been delivered. Call it until
    /// it gives `None`.
    #[inline]
    pub fn pop(&mut self, now: Time, log: &mut Log<'_>) -> Option<(Time, P)> {
        self.advance(now, log);
        self.flight.pop(now)
    }

    /// Brings the link up to `now`, the end of a run, so that the log has every
    /// event until then. Packets in flight stay there.
    pub fn finish(&mut self, now: Time, log: &mut Log<'_>) {
        self.advance(now, log);
    }

    /// Makes [`Link::next_event`] count everything that is worth an event, so
    /// that an owner who calls punctually gets a log in the order of time. For
    /// owners who log; it changes nothing else.
    pub fn set_watched(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Sets the delay of packets that leave service after `now`. A shorter
    /// delay lets nobody overtake within a flow: see [`flight`].
    pub fn set_delay(&mut self, now: Time, delay: Span, log: &mut Log<'_>) {
        self.advance(now, log);
        self.flight.set_delay(delay);
    }

    /// Sets what packets of one flow fly longer than others', for those that
    /// leave service after `now`.
    pub fn set_flow_delay(&mut self, now: Time, flow: FlowId, extra: Span, log: &mut Log<'_>) {
        self.advance(now, log);
        self.flight.set_flow_delay(flow, extra);
    }

    /// Bytes waiting, the packet in service not counted, as of the last call.
    #[must_use]
    pub fn waiting(&self) -> Bytes {
        self.queue.bytes()
    }

    /// Packets waiting, the one in service not counted, as of the last call.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn arrive(&mut self, now: Time, packet: P, log: &mut Log<'_>) {
        let parcel = Parcel {
            size: packet.size(),
            packet,
            arrived: now,
        };
        match self.service {
            Service::Unlimited => {
                log.emit(now, || Event::Queued {
                    link: self.id,
                    packet: parcel.packet.id(),
                    size: parcel.size,
                    waiting: Bytes::ZERO,
                });
                log.emit(now, || left(self.id, &parcel, now, now));
                self.flight.push(now, parcel.packet);
            }
            Service::Steps(_) => self.arrive_at_steps(now, parcel, log),
            Service::Opportunities(_) => self.arrive_at_opportunities(now, parcel, log),
        }
    }

    fn arrive_at_steps(&mut self, now: Time, parcel: Parcel<P>, log: &mut Log<'_>) {
        let Service::Steps(steps) = &self.service else {
            return;
        };
        let id = self.id;
        let (packet, size) = (parcel.packet.id(), parcel.size);
        let rate = Some(steps.rate());
        if !self.queue.push(now, parcel, rate, &mut Judge { id, log }) {
            return;
        }
        let idle = self.serving.is_none();
        log.emit(now, || Event::Queued {
            link: id,
            packet,
            size,
            // Into an idle link a packet goes straight into service.
            waiting: if idle {
                Bytes::ZERO
            } else {
                self.queue.bytes()
            },
        });
        if idle {
            self.begin(now, log);
            self.set_wake();
        }
    }

    fn arrive_at_opportunities(&mut self, now: Time, parcel: Parcel<P>, log: &mut Log<'_>) {
        let Service::Opportunities(opportunities) = &mut self.service else {
            return;
        };
        let id = self.id;
        if parcel.size + DEVICE_HEADER > OPPORTUNITY {
            return Judge { id, log }.drop(now, parcel, Cause::TooBig);
        }
        let (packet, size) = (parcel.packet.id(), parcel.size);
        let rate = Some(opportunities.rate(now));
        if !self.queue.push(now, parcel, rate, &mut Judge { id, log }) {
            return;
        }
        self.due = opportunities.next();
        log.emit(now, || Event::Queued {
            link: id,
            packet,
            size,
            waiting: self.queue.bytes(),
        });
    }
}

/// Writes a queue's verdicts into the log.
struct Judge<'a, 'log> {
    id: LinkId,
    log: &'a mut Log<'log>,
}

impl<P: Packet> Verdicts<P> for Judge<'_, '_> {
    fn drop(&mut self, at: Time, parcel: Parcel<P>, cause: Cause) {
        self.log
            .emit(at, || dropped(self.id, &parcel.packet, cause));
    }

    fn mark(&mut self, at: Time, packet: &P) {
        self.log.emit(at, || Event::Marked {
            link: self.id,
            packet: packet.id(),
        });
    }
}

fn dropped<P: Packet>(link: LinkId, packet: &P, cause: Cause) -> Event {
    Event::Dropped {
        link,
        packet: packet.id(),
        size: packet.size(),
        cause,
    }
}

fn left<P: Packet>(link: LinkId, parcel: &Parcel<P>, began: Time, at: Time) -> Event {
    Event::Left {
        link,
        packet: parcel.packet.id(),
        size: parcel.size,
        waited: began - parcel.arrived,
        sojourn: at - parcel.arrived,
    }
}

#[cfg(test)]
pub(crate) mod tests;
