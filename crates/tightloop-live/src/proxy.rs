//! The λ-proxy on real flows: the kernel's TCP behind an emulated link, whose
//! acks are delayed until every controller sees the same round trip.
//!
//! The rule is the pure crate's [`Proxy`]. What it asks for, a flow's minimum
//! RTT, comes from the kernel's [socket statistics](crate::tcp::sockets()), for
//! any controller; what it orders, a delay for the flow's acks, is carried out
//! by the link that comes down, through [`Delays`].
//!
//! The kernel remembers minima for five minutes where nobody says otherwise,
//! so [`remember`] has to say so: what the rule holds to be the window must be
//! the kernel's, too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use tightloop::proxy::{Proxy, Settings};
use tightloop::settings::SettingError;
use tightloop::units::{Span, Time};

use crate::clock::{Clock, to_std};
use crate::emulate::flows::{Connection, Delays, Flows};
use crate::emulate::{Ends, Way};
use crate::tcp::sockets;

/// What is added to a flow's acks from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// Whose.
    pub connection: Connection,
    /// What the kernel had as its minimum RTT.
    pub min_rtt: Span,
    /// What is added now.
    pub added: Span,
}

/// A proxy for all TCP flows that go up a link.
#[derive(Debug)]
pub struct Equaliser {
    thread: JoinHandle<io::Result<Vec<Change>>>,
    stop: Sender<()>,
}

/// Lets the inside's kernel remember round-trip minima for no longer than
/// `window`, which is rounded up to seconds. Concerns flows that begin later.
///
/// # Errors
///
/// The kernel has no such setting.
pub fn remember(ends: &Ends, window: Span) -> io::Result<()> {
    let seconds = window.secs_f64().ceil().max(1.0);
    ends.tune("ipv4/tcp_min_rtt_wlen", &format!("{seconds}"))
}

/// Sorts an engine's packets for a proxy: the acks of a new connection are
/// delayed by λ at first. `natural` says what else its packets fly longer, up.
///
/// # Errors
///
/// Settings that no proxy can have.
pub fn flows(
    settings: &Settings,
    mut natural: impl FnMut(&Connection) -> Span + Send + 'static,
) -> Result<(Flows, Delays), SettingError> {
    let first = Proxy::new(settings, Time::ZERO)?.added();
    Ok(Flows::new(move |connection| [natural(connection), first]))
}

impl Equaliser {
    /// Watches the flows of the inside from now on. Each change is told to
    /// `tell` as it is made.
    ///
    /// # Errors
    ///
    /// Settings that no proxy can have.
    pub fn start(
        ends: &Arc<Ends>,
        delays: Delays,
        settings: Settings,
        clock: Clock,
        tell: impl Fn(&Change) + Send + 'static,
    ) -> Result<Self, SettingError> {
        Proxy::new(&settings, Time::ZERO)?;
        let (stop, stopped) = channel();
        let ends = Arc::clone(ends);
        let thread = thread::spawn(move || {
            ends.enter()?;
            let mut watch = Watch {
                settings,
                delays,
                proxies: BTreeMap::new(),
                changes: Vec::new(),
            };
            watch.run(clock, &stopped, &tell)?;
            Ok(watch.changes)
        });
        Ok(Self { thread, stop })
    }

    /// Ends it; gives all that it has done.
    ///
    /// # Errors
    ///
    /// The kernel has no socket statistics, or it broke down.
    pub fn stop(self) -> io::Result<Vec<Change>> {
        drop(self.stop);
        let broken = |_| io::Error::other("the proxy broke down");
        self.thread.join().map_err(broken)?
    }
}

struct Watch {
    settings: Settings,
    delays: Delays,
    proxies: BTreeMap<Connection, Proxy>,
    changes: Vec<Change>,
}

impl Watch {
    fn run(
        &mut self,
        clock: Clock,
        stopped: &Receiver<()>,
        tell: &dyn Fn(&Change),
    ) -> io::Result<()> {
        let mut next = clock.now();
        loop {
            next = (next + self.settings.tick).max(clock.now());
            match stopped.recv_timeout(to_std(next - clock.now())) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Ok(()),
            }
            let seen = sockets()?;
            let now = clock.now();
            let seen: BTreeMap<Connection, Option<Span>> = seen
                .iter()
                .map(|it| {
                    let (near, far) = (it.local, it.remote);
                    (Connection { near, far }, it.info.min_rtt)
                })
                .collect();
            self.proxies.retain(|whose, _| seen.contains_key(whose));
            for (connection, min_rtt) in seen {
                if let Some(change) = self.tick(now, connection, min_rtt) {
                    tell(&change);
                    self.changes.push(change);
                }
            }
        }
    }

    fn tick(&mut self, now: Time, connection: Connection, min_rtt: Option<Span>) -> Option<Change> {
        // A flow that is not known yet has just begun.
        let proxy = match self.proxies.entry(connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(Proxy::new(&self.settings, now).ok()?),
        };
        proxy.next_tick()?;
        let before = proxy.added();
        let added = proxy.tick(now, min_rtt);
        if added == before {
            return None;
        }
        self.delays.set(connection, Way::Down, added);
        Some(Change {
            at: now,
            connection,
            min_rtt: min_rtt.unwrap_or_default(),
            added,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use tightloop::proxy::Rule;

    use super::*;

    /// What is added after each second, for the minima that the kernel tells.
    fn added(rule: Rule, millis: &[i64]) -> Vec<i64> {
        let settings = Settings {
            rule,
            ..Settings::default()
        };
        let (_, delays) = flows(&settings, |_| Span::ZERO).expect("settings");
        let mut watch = Watch {
            settings,
            delays,
            proxies: BTreeMap::new(),
            changes: Vec::new(),
        };
        let end = SocketAddr::from(([100, 64, 0, 1], 80));
        let connection = Connection {
            near: end,
            far: end,
        };
        let mut added = settings.lambda;
        let ticks = millis.iter().enumerate().map(|(second, told)| {
            let now = Time::from_secs(second as u64 + 1);
            let change = watch.tick(now, connection, Some(Span::from_millis(*told)));
            added = change.map_or(added, |it| it.added);
            added.millis_f64() as i64
        });
        ticks.collect()
    }

    #[test]
    fn a_minimum_that_a_standing_queue_keeps_is_not_believed() {
        // The path takes 40 ms; for eight seconds a queue hides that less is added.
        let mut told = [140; 9].to_vec();
        told.extend([100; 3]);
        assert_eq!(added(Rule::Patient, &told), [60; 12]);
        let published = added(Rule::Literal, &told);
        assert_eq!(published[..5], [60; 5]);
        // Its five estimates are all of a path that seems 40 ms longer.
        assert_eq!(published[5..9], [20; 4]);
    }
}
