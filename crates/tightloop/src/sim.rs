//! A world of endpoints and links, in virtual time.
//!
//! The world owns the clock and nothing else that decides: endpoints and links
//! say when they next change, the [`engine`] says which is first, and the
//! world carries datagrams between them. A run is a pure function of what was
//! put in.

use std::fmt;

use smallvec::SmallVec;

use crate::event::{Direction, Ecn, Event, FlowId, LinkId, Log, PacketId, PathId};
use crate::link::{Link, Packet};
use crate::session::receiver::Clock;
use crate::session::{Endpoint, Received, Transmit};
use crate::units::{Bytes, Time, index};

pub mod engine;
pub mod late;
pub mod proxied;

use engine::Engine;
use proxied::Proxied;

/// A datagram on its way through the network: one word for links to pass on. Its
/// memory is used again when it has arrived.
#[derive(Clone, Debug, Default)]
pub struct Datagram(Box<Letter>);

/// What was sent, and how far it has come.
#[derive(Clone, Debug, Default)]
struct Letter {
    sent: Transmit,
    route: u32,
    hop: u8,
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        self.0.sent.size
    }

    fn id(&self) -> PacketId {
        self.0.sent.id
    }

    fn ecn(&self) -> Ecn {
        self.0.sent.ecn
    }

    fn mark_ce(&mut self) {
        self.0.sent.ecn = Ecn::Ce;
    }
}

/// An endpoint's place in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostId(usize);

/// The way from one host to another.
#[derive(Clone, Debug)]
struct Route {
    links: SmallVec<[usize; 4]>,
    to: usize,
    path: PathId,
    /// Bytes of data that have arrived this way.
    delivered: Bytes,
}

#[derive(Debug)]
struct Host {
    endpoint: Box<dyn Endpoint>,
    /// Which route its datagrams take, by path.
    routes: SmallVec<[u32; 2]>,
}

/// The world. Built once, then run.
#[derive(Debug)]
pub struct World {
    now: Time,
    links: Vec<Link<Datagram>>,
    hosts: Vec<Host>,
    routes: Vec<Route>,
    proxies: Vec<Proxied>,
    clocks: Vec<(FlowId, Clock)>,
    engine: Engine,
    started: bool,
    watched: bool,
    /// Datagrams that have arrived, used again.
    spare: Vec<Datagram>,
    /// The one that is written next.
    next: Datagram,
    packets: u64,
    malformed: u64,
}

/// Some part of the world cannot be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CannotFork(
    /// The host that refused.
    pub HostId,
);

impl fmt::Display for CannotFork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "host {} holds something that cannot be copied, such as a real codec",
            self.0.0
        )
    }
}

impl std::error::Error for CannotFork {}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    /// An empty world at time zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            now: Time::ZERO,
            links: Vec::new(),
            hosts: Vec::new(),
            routes: Vec::new(),
            proxies: Vec::new(),
            clocks: Vec::new(),
            engine: Engine::new(0),
            started: false,
            watched: false,
            spare: Vec::new(),
            next: Datagram::default(),
            packets: 0,
            malformed: 0,
        }
    }

    /// Adds a link. Its id must be the number of links before it.
    pub fn add_link(&mut self, link: Link<Datagram>) -> LinkId {
        self.links.push(link);
        LinkId(u32::try_from(self.links.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds an endpoint.
    pub fn add_host(&mut self, endpoint: Box<dyn Endpoint>) -> HostId {
        self.hosts.push(Host {
            endpoint,
            routes: SmallVec::new(),
        });
        HostId(self.hosts.len() - 1)
    }

    /// Gives `from` its next path: datagrams it sends on that path cross
    /// `links`, of which there must be at least one, and arrive at `to`.
    pub fn add_route(&mut self, from: HostId, to: HostId, links: &[LinkId]) {
        let host = &mut self.hosts[from.0];
        let path = PathId(u8::try_from(host.routes.len()).unwrap_or(u8::MAX));
        host.routes
            .push(u32::try_from(self.routes.len()).unwrap_or(u32::MAX));
        self.routes.push(Route {
            links: links.iter().map(|link| index(u64::from(link.0))).collect(),
            to: to.0,
            path,
            delivered: Bytes::ZERO,
        });
    }

    /// Puts a proxy where acknowledgements come in to a sender.
    pub fn add_proxy(&mut self, proxied: Proxied) {
        self.proxies.push(proxied);
    }

    /// Notes a receiver's clock, for the log alone.
    pub fn note_clock(&mut self, flow: FlowId, clock: Clock) {
        self.clocks.push((flow, clock));
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Data packets delivered so far.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of data that have arrived from a host so far, copies made by links
    /// counted too.
    #[must_use]
    pub fn delivered(&self, from: HostId) -> Bytes {
        let routes = self.hosts[from.0].routes.iter();
        routes
            .map(|route| self.routes[index(u64::from(*route))].delivered)
            .sum()
    }

    /// Datagrams that an endpoint could not read. Zero unless a foreign stack
    /// is in the world.
    #[must_use]
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// A link, to look at or to change while the world stands still. Follow a
    /// change by [`World::touch_link`].
    pub fn link_mut(&mut self, link: LinkId) -> Option<&mut Link<Datagram>> {
        self.links.get_mut(index(u64::from(link.0)))
    }

    /// A link was changed from outside: when it next acts may have changed.
    pub fn touch_link(&mut self, link: LinkId) {
        let at = index(u64::from(link.0));
        if let Some(link) = self.links.get(at)
            && self.started
        {
            self.engine.set(at, link.next_event());
        }
    }

    /// An endpoint, to look at.
    #[must_use]
    pub fn host(&self, host: HostId) -> &dyn Endpoint {
        &*self.hosts[host.0].endpoint
    }

    /// A copy that goes on from the same state.
    ///
    /// # Errors
    ///
    /// A host that cannot be copied.
    pub fn fork(&self) -> Result<Self, CannotFork> {
        let mut hosts = Vec::with_capacity(self.hosts.len());
        for (at, host) in self.hosts.iter().enumerate() {
            hosts.push(Host {
                endpoint: host.endpoint.fork().ok_or(CannotFork(HostId(at)))?,
                routes: host.routes.clone(),
            });
        }
        Ok(Self {
            now: self.now,
            links: self.links.clone(),
            hosts,
            routes: self.routes.clone(),
            proxies: self.proxies.clone(),
            clocks: self.clocks.clone(),
            engine: self.engine.clone(),
            started: self.started,
            watched: self.watched,
            spare: Vec::new(),
            next: Datagram::default(),
            packets: self.packets,
            malformed: self.malformed,
        })
    }

    /// Runs until nothing is due before or at `until`; the time is `until` then.
    pub fn run(&mut self, until: Time, log: &mut Log<'_>) {
        if !self.started {
            self.start(log);
        }
        self.watch(log);
        while let Some((due, component)) = self.engine.first()
            && due <= until
        {
            self.now = due;
            if component < self.links.len() {
                self.run_link(component, log);
            } else if component < self.links.len() + self.hosts.len() {
                self.wake(component - self.links.len(), log);
            } else {
                self.tick_proxy(component - self.links.len() - self.hosts.len(), log);
            }
        }
        self.now = self.now.max(until);
    }

    fn start(&mut self, log: &mut Log<'_>) {
        self.started = true;
        self.engine = Engine::new(self.links.len() + self.hosts.len() + self.proxies.len());
        for &(flow, clock) in &self.clocks {
            log.emit(self.now, || Event::Clock {
                flow,
                offset: clock.offset,
                drift_ppb: clock.drift_ppb,
            });
        }
        for proxy in 0..self.proxies.len() {
            self.delay_acks(proxy, log);
        }
        for host in 0..self.hosts.len() {
            self.drain(host, log);
        }
    }

    /// While somebody listens, every change of a link is an event, so that the
    /// log is in the order of time.
    fn watch(&mut self, log: &mut Log<'_>) {
        if self.watched == log.on() {
            return;
        }
        self.watched = log.on();
        for (at, link) in self.links.iter_mut().enumerate() {
            link.set_watched(self.watched);
            // What nobody heard is not told afterwards.
            link.finish(self.now, &mut Log::off());
            link.finish(self.now, log);
            self.engine.set(at, link.next_event());
        }
    }

    /// A host's alarm rings. It may have been put off since it was set.
    fn wake(&mut self, host: usize, log: &mut Log<'_>) {
        let endpoint = &mut *self.hosts[host].endpoint;
        let next = endpoint.next_wake();
        if next.is_some_and(|next| next <= self.now) {
            endpoint.wake(self.now, log);
            self.drain(host, log);
        } else {
            self.engine.set(self.links.len() + host, next);
        }
    }

    /// Takes out of a link what has arrived by now, and carries it on.
    fn run_link(&mut self, at: usize, log: &mut Log<'_>) {
        while let Some((_, datagram)) = self.links[at].pop(self.now, log) {
            self.carry(datagram, log);
            // Asking is cheaper than being told that there is nothing.
            if self.links[at]
                .next_event()
                .is_none_or(|next| next > self.now)
            {
                break;
            }
        }
        self.engine.set(at, self.links[at].next_event());
    }

    /// A datagram is at the end of a hop: on to the next, or to its host.
    fn carry(&mut self, datagram: Datagram, log: &mut Log<'_>) {
        let route = &mut self.routes[index(u64::from(datagram.0.route))];
        if usize::from(datagram.0.hop) < route.links.len() {
            return self.forward(datagram, log);
        }
        let (to, path) = (route.to, route.path);
        if datagram.0.sent.id.direction == Direction::Data {
            route.delivered += datagram.0.sent.size;
            self.packets += 1;
        }
        let received = Received {
            bytes: &datagram.0.sent.bytes,
            payload: datagram.0.sent.payload,
            ecn: datagram.0.sent.ecn,
            arrived: self.now,
        };
        let endpoint = &mut *self.hosts[to].endpoint;
        let read = endpoint.receive(self.now, path, received, log);
        self.malformed += u64::from(read.is_err());
        self.spare.push(datagram);
        self.drain(to, log);
    }

    /// Puts a datagram on its next link.
    #[inline]
    fn forward(&mut self, mut datagram: Datagram, log: &mut Log<'_>) {
        let route = &self.routes[index(u64::from(datagram.0.route))];
        let link = route.links[usize::from(datagram.0.hop)];
        datagram.0.hop += 1;
        self.links[link].push(self.now, datagram, log);
        self.engine.set(link, self.links[link].next_event());
    }

    /// The rule: after each call drain what it sends, then read when it wakes.
    fn drain(&mut self, host: usize, log: &mut Log<'_>) {
        while self.hosts[host]
            .endpoint
            .transmit(self.now, &mut self.next.0.sent, log)
        {
            let spare = self.spare.pop().unwrap_or_default();
            let mut datagram = std::mem::replace(&mut self.next, spare);
            let more = datagram.0.sent.more;
            datagram.0.route = self.hosts[host].routes[usize::from(datagram.0.sent.id.path.0)];
            datagram.0.hop = 0;
            self.forward(datagram, log);
            if !more {
                break;
            }
        }
        // Most timers are put off again and again: an alarm that rings too early
        // once in a while costs less than moving it each time.
        let component = self.links.len() + host;
        let next = self.hosts[host].endpoint.next_wake();
        let early = self
            .engine
            .due(component)
            .is_some_and(|due| due > self.now && next.is_none_or(|next| due <= next));
        if !early {
            self.engine.set(component, next);
        }
    }
}
