//! A flow whose acknowledgements a λ-proxy delays.

use super::{Datagram, HostId, World};
use crate::event::{Event, FlowId, LinkId, Log, PathId};
use crate::link::Link;
use crate::proxy::Proxy;
use crate::session::Endpoint;
use crate::units::{Span, Time, index};

/// The gauge of what a proxy adds, in seconds.
pub const ADDED: &str = "proxy_added_s";

/// A proxy in its place: it listens to one path's sender, and what it adds is
/// added to that flow's share of the link by which acknowledgements come in.
#[derive(Clone, Debug)]
pub struct Proxied {
    /// The flow.
    pub flow: FlowId,
    /// Its sender.
    pub sender: HostId,
    /// The path.
    pub path: PathId,
    /// The last link of the path's way back.
    pub link: LinkId,
    /// What this flow's acknowledgements fly longer than others' by nature.
    pub extra: Span,
    /// The rule.
    pub proxy: Proxy,
}

impl Proxied {
    /// The proxy's turn: asks the sender, and tells the link.
    fn tick(&mut self, now: Time, sender: &dyn Endpoint) {
        self.proxy.tick(now, sender.min_rtt(self.path));
    }

    /// Delays acknowledgements as the proxy has it, and says by how much.
    fn apply(&self, now: Time, links: &mut [Link<Datagram>], log: &mut Log<'_>) {
        let added = self.proxy.added();
        if let Some(link) = links.get_mut(index(u64::from(self.link.0))) {
            link.set_flow_delay(now, self.flow, self.extra + added, log);
        }
        log.emit(now, || Event::Gauge {
            flow: self.flow,
            path: self.path,
            name: ADDED,
            value: added.secs_f64(),
        });
    }
}

impl World {
    /// A proxy's turn.
    pub(super) fn tick_proxy(&mut self, proxy: usize, log: &mut Log<'_>) {
        let proxied = &mut self.proxies[proxy];
        let sender = &*self.hosts[proxied.sender.0].endpoint;
        proxied.tick(self.now, sender);
        self.delay_acks(proxy, log);
    }

    pub(super) fn delay_acks(&mut self, proxy: usize, log: &mut Log<'_>) {
        let proxied = &self.proxies[proxy];
        proxied.apply(self.now, &mut self.links, log);
        let component = self.links.len() + self.hosts.len() + proxy;
        self.engine.set(component, proxied.proxy.next_tick());
        let link = proxied.link;
        self.touch_link(link);
    }
}
