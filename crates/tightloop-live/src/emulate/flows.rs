//! Which packets belong together, where a link is to treat flows differently.
//!
//! Usually all packets of one way are one flow to the link. An engine that
//! sorts gives each connection a number of its own, k from 1: its packets are
//! flow 2k up and 2k + 1 down, and 0 and 1 stay for what belongs to no
//! connection. Each may then have a delay of its own, which whoever holds the
//! [`Delays`] can change at any time.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tightloop::event::FlowId;
use tightloop::units::Span;

use super::packet::{Version, Way, version};

/// So many connections are told apart; those that began first lose their
/// numbers to later ones. Ours.
const MOST: u32 = 4096;

/// The two ends of a conversation by TCP or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// The side where the command is.
    pub near: SocketAddr,
    /// The far side.
    pub far: SocketAddr,
}

impl Connection {
    /// What a packet belongs to; `None` where it is neither TCP nor UDP, or a
    /// fragment.
    #[must_use]
    pub fn of(packet: &[u8], way: Way) -> Option<Self> {
        let (protocol, from, to, ports) = match version(packet)? {
            Version::Four => {
                let address = |at: usize| {
                    let four: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
                    Some(IpAddr::from(Ipv4Addr::from(four)))
                };
                // More fragments, or not the first.
                if packet[6] & 0x3f != 0 || packet[7] != 0 {
                    return None;
                }
                let header = usize::from(packet[0] & 0xf) * 4;
                (packet[9], address(12)?, address(16)?, header)
            }
            Version::Six => {
                let address = |at: usize| {
                    let six: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
                    Some(IpAddr::from(Ipv6Addr::from(six)))
                };
                (packet[6], address(8)?, address(24)?, 40)
            }
        };
        if ![libc::IPPROTO_TCP, libc::IPPROTO_UDP].contains(&i32::from(protocol)) {
            return None;
        }
        let port = |at: usize| {
            let bytes = packet.get(at..at + 2)?;
            Some(u16::from_be_bytes(bytes.try_into().ok()?))
        };
        let from = SocketAddr::new(from, port(ports)?);
        let to = SocketAddr::new(to, port(ports + 2)?);
        Some(match way {
            Way::Up => Self {
                near: from,
                far: to,
            },
            Way::Down => Self {
                near: to,
                far: from,
            },
        })
    }
}

/// What a new connection's packets fly longer, up and down.
type Initial = dyn FnMut(&Connection) -> [Span; 2] + Send;

/// The delays of connections, for whoever sets them.
#[derive(Clone, Debug, Default)]
pub struct Delays(Arc<Wanted>);

#[derive(Debug, Default)]
struct Wanted {
    fresh: AtomicBool,
    /// Orders that the engine has not carried out yet.
    orders: Mutex<Vec<(Connection, Way, Span)>>,
}

impl Delays {
    /// Lets packets of a connection, those that leave service from about now
    /// on, fly longer than others by `extra`. Nothing happens to a connection
    /// of which no packet has been seen.
    pub fn set(&self, connection: Connection, way: Way, extra: Span) {
        self.orders().push((connection, way, extra));
        self.0.fresh.store(true, Ordering::Release);
    }

    fn orders(&self) -> MutexGuard<'_, Vec<(Connection, Way, Span)>> {
        let orders = self.0.orders.lock();
        orders.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an engine knows of connections.
pub struct Flows {
    numbers: BTreeMap<Connection, u32>,
    /// By number, less one.
    known: Vec<Connection>,
    next: u32,
    initial: Box<Initial>,
    delays: Delays,
}

impl fmt::Debug for Flows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flows({})", self.known.len())
    }
}

impl Flows {
    /// Sorts packets by connection. `initial` says what the packets of a new
    /// connection fly longer, up and down; later the [`Delays`] do.
    #[must_use]
    pub fn new(initial: impl FnMut(&Connection) -> [Span; 2] + Send + 'static) -> (Self, Delays) {
        let delays = Delays::default();
        let flows = Self {
            numbers: BTreeMap::new(),
            known: Vec::new(),
            next: 0,
            initial: Box::new(initial),
            delays: delays.clone(),
        };
        (flows, delays)
    }

    /// A packet's flow; with the delays to set, up and down, where its
    /// connection is new.
    pub(super) fn sort(
        &mut self,
        packet: &[u8],
        way: Way,
    ) -> (FlowId, Option<[(FlowId, Span); 2]>) {
        let Some(connection) = Connection::of(packet, way) else {
            return (way.flow(), None);
        };
        if let Some(number) = self.numbers.get(&connection) {
            return (flow(*number, way), None);
        }
        let place = self.next;
        self.next = (place + 1) % MOST;
        match self.known.get_mut(place as usize) {
            Some(before) => {
                self.numbers.remove(before);
                *before = connection;
            }
            None => self.known.push(connection),
        }
        self.numbers.insert(connection, place + 1);
        let [up, down] = (self.initial)(&connection);
        let [this, other] = Way::BOTH.map(|way| flow(place + 1, way));
        (flow(place + 1, way), Some([(this, up), (other, down)]))
    }

    /// Delays that have been ordered since the last call.
    #[inline]
    pub(super) fn orders(&mut self) -> Vec<(FlowId, Way, Span)> {
        if !self.delays.0.fresh.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        let orders = std::mem::take(&mut *self.delays.orders());
        let known = orders.into_iter().filter_map(|(connection, way, extra)| {
            let number = self.numbers.get(&connection)?;
            Some((flow(*number, way), way, extra))
        });
        known.collect()
    }
}

fn flow(number: u32, way: Way) -> FlowId {
    FlowId(2 * number + way.flow().0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet of TCP, by IPv4.
    fn packet(from: (u8, u16), to: (u8, u16)) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[9]) = (0x45, 6);
        bytes[12..16].copy_from_slice(&[100, 64, 0, from.0]);
        bytes[16..20].copy_from_slice(&[100, 64, 0, to.0]);
        bytes[20..22].copy_from_slice(&from.1.to_be_bytes());
        bytes[22..24].copy_from_slice(&to.1.to_be_bytes());
        bytes
    }

    #[test]
    fn both_ways_of_a_connection_have_one_number() {
        let ms = Span::from_millis;
        let (mut flows, delays) =
            Flows::new(move |connection| [ms(i64::from(connection.far.port())), ms(7)]);
        let (up, down) = (packet((2, 5000), (1, 80)), packet((1, 80), (2, 5000)));
        let first = flows.sort(&up, Way::Up);
        let set = [(FlowId(2), ms(80)), (FlowId(3), ms(7))];
        assert_eq!(first, (FlowId(2), Some(set)));
        assert_eq!(flows.sort(&down, Way::Down), (FlowId(3), None));
        let other = flows.sort(&packet((1, 81), (2, 5000)), Way::Down);
        assert_eq!(other.0, FlowId(5));
        // No ports, so no connection.
        let mut ping = up.clone();
        ping[9] = 1;
        assert_eq!(flows.sort(&ping, Way::Up), (FlowId(0), None));
        let mut fragment = down.clone();
        fragment[7] = 9;
        assert_eq!(flows.sort(&fragment, Way::Down), (FlowId(1), None));

        let connection = Connection::of(&up, Way::Up).expect("a connection");
        assert_eq!(Connection::of(&down, Way::Down), Some(connection));
        assert!(flows.orders().is_empty());
        delays.set(connection, Way::Down, ms(50));
        let far = SocketAddr::from(([9, 9, 9, 9], 9));
        delays.set(Connection { far, ..connection }, Way::Down, ms(50));
        assert_eq!(flows.orders(), [(FlowId(3), Way::Down, ms(50))]);
        assert!(flows.orders().is_empty());
    }

    #[test]
    fn the_oldest_connection_gives_its_number_to_a_new_one() {
        let (mut flows, _) = Flows::new(|_| [Span::ZERO; 2]);
        for port in 0..=MOST as u16 {
            let (flow, fresh) = flows.sort(&packet((2, port), (1, 80)), Way::Up);
            assert!(fresh.is_some());
            assert_eq!(flow.0, 2 * (u32::from(port) % MOST + 1));
        }
        // The first has lost its number and takes the second's.
        let again = flows.sort(&packet((2, 0), (1, 80)), Way::Up);
        assert_eq!(again.0, FlowId(4));
        assert_eq!(flows.numbers.len(), MOST as usize);
    }

    proptest! {
        #[test]
        fn any_packet_has_a_flow_of_its_way(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let (mut flows, _) = Flows::new(|_| [Span::ZERO; 2]);
            for way in Way::BOTH {
                let (flow, _) = flows.sort(&bytes, way);
                prop_assert_eq!(Way::of(flow), way);
            }
        }
    }
}
