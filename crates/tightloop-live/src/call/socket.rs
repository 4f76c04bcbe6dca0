//! A UDP socket that tells when datagrams came and which ECN field they had.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};

use tightloop::event::Ecn;
use tightloop::units::Time;

use super::sys;
use crate::clock::Clock;

/// What the kernel may hold for us while we are elsewhere, in bytes. Ours: a
/// second of 16 Mbit/s; the kernel gives what it allows.
const ROOM: libc::c_int = 2 << 20;

/// The largest datagram that is looked at. Ours: larger ones are nobody's of ours.
pub(super) const LARGEST: usize = 2048;

/// A datagram that has come in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub(super) length: usize,
    pub(super) from: SocketAddr,
    pub(super) at: Time,
    pub(super) ecn: Ecn,
}

/// Why a datagram did not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// The way is not there at the moment, or the kernel is full.
    Now,
    /// It is larger than the path carries.
    TooLarge,
}

/// A bound socket.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    local: SocketAddr,
    /// The ECN field of what leaves.
    ecn: Ecn,
}

impl Socket {
    /// Binds to a local address; port 0 for any port.
    ///
    /// # Errors
    ///
    /// An address that this machine does not have, or that is taken.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        sys::set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // More room is welcome where it can be had.
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
            let _ = sys::set(&socket, libc::SOL_SOCKET, option, ROOM);
        }
        // A socket of IPv6 may carry IPv4, too, and has the options of both then.
        let four = [
            (libc::IP_RECVTOS, 1),
            (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
        ];
        for (option, value) in four {
            let set = sys::set(&socket, libc::IPPROTO_IP, option, value);
            if local.is_ipv4() {
                set?;
            }
        }
        if local.is_ipv6() {
            sys::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            let never = libc::IP_PMTUDISC_DO;
            sys::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, never)?;
        }
        let local = socket.local_addr()?;
        Ok(Self {
            socket,
            local,
            ecn: Ecn::NotEct,
        })
    }

    /// The address it is bound to.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The next datagram that is there.
    pub(super) fn receive(&self, clock: &Clock, room: &mut [u8]) -> io::Result<Option<Came>> {
        loop {
            let told = match sys::receive(&self.socket, room) {
                Ok(told) => told,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(None),
                    io::ErrorKind::Interrupted => continue,
                    // What came back of something sent before: somebody is not there.
                    _ if is_passing(&error) => continue,
                    _ => return Err(error),
                },
            };
            let now = clock.now();
            let at = told.moment.map_or(now, |moment| clock.at_system(moment));
            return Ok(Some(Came {
                length: told.length,
                from: told.from,
                at: at.min(now),
                ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(told.ecn)],
            }));
        }
    }

    /// Sends a datagram.
    pub(super) fn send(&mut self, bytes: &[u8], to: SocketAddr, ecn: Ecn) -> Result<(), Unsent> {
        if ecn != self.ecn {
            self.ecn = ecn;
            let _ = self.mark(to.ip(), ecn);
        }
        let to = match (self.local, to.ip()) {
            (SocketAddr::V6(_), IpAddr::V4(ip)) => (ip.to_ipv6_mapped(), to.port()).into(),
            _ => to,
        };
        match self.socket.send_to(bytes, to) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => Err(Unsent::TooLarge),
            Err(_) => Err(Unsent::Now),
        }
    }

    fn mark(&self, to: IpAddr, ecn: Ecn) -> io::Result<()> {
        let bits = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        if self.local.is_ipv6() {
            sys::set(&self.socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, bits)?;
        }
        if to.to_canonical().is_ipv4() {
            sys::set(&self.socket, libc::IPPROTO_IP, libc::IP_TOS, bits)?;
        }
        Ok(())
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Errors of a network that may be better in a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::ENETUNREACH
                | libc::EHOSTUNREACH
                | libc::ENETDOWN
                | libc::EPERM
                | libc::ENOBUFS
                | libc::ENOMEM
                | libc::EMSGSIZE
        )
    )
}

/// The largest packet that the way to an address carries, as far as the kernel
/// knows, in IP bytes.
///
/// # Errors
///
/// No way there.
pub fn path_mtu(to: SocketAddr) -> io::Result<u64> {
    let (any, level, option) = match to {
        SocketAddr::V4(_) => ("0.0.0.0:0", libc::IPPROTO_IP, libc::IP_MTU),
        SocketAddr::V6(_) => ("[::]:0", libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    let mtu = sys::get(&socket, level, option)?;
    Ok(u64::try_from(mtu).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use tightloop::units::Span;

    use super::*;

    fn pair(at: &str) -> io::Result<[Socket; 2]> {
        let address = at.parse().expect("an address");
        Ok([Socket::bind(address)?, Socket::bind(address)?])
    }

    /// Takes a datagram that has been sent over the loopback device already.
    fn taken(socket: &Socket, clock: &Clock) -> (Came, Vec<u8>) {
        let mut room = [0; LARGEST];
        loop {
            if let Some(came) = socket.receive(clock, &mut room).expect("a socket") {
                return (came, room[..came.length].to_vec());
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_datagram_tells_when_it_came_and_how_it_is_marked() {
        let clock = Clock::start();
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let Ok([mut one, other]) = pair(at) else {
                eprintln!("skipped: this machine has no {at}");
                continue;
            };
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
                let before = clock.now();
                one.send(b"hello", other.local(), ecn).expect("sent");
                let after = clock.now();
                let (came, bytes) = taken(&other, &clock);
                assert_eq!(bytes, b"hello");
                assert_eq!((came.from, came.ecn), (one.local(), ecn), "{at}");
                // The kernel's clock and ours are read one after the other.
                let slack = Span::from_micros(200);
                assert!(came.at + slack >= before && came.at <= after + slack);
            }
        }
    }

    #[test]
    fn a_socket_of_both_kinds_speaks_to_both() {
        let (clock, any) = (Clock::start(), "[::]:0".parse().expect("an address"));
        let Ok(mut both) = Socket::bind(any) else {
            eprintln!("skipped: this machine has no IPv6");
            return;
        };
        let [mut four, _] = pair("127.0.0.1:0").expect("sockets");
        let port = both.local().port();
        let there = SocketAddr::new("127.0.0.1".parse().expect("an address"), port);
        four.send(b"there", there, Ecn::Ect0).expect("sent");
        let (came, _) = taken(&both, &clock);
        assert_eq!(came.ecn, Ecn::Ect0);
        assert_eq!(came.from.ip().to_canonical(), four.local().ip());
        both.send(b"back", came.from, Ecn::Ect1).expect("sent");
        let (came, bytes) = taken(&four, &clock);
        assert_eq!(
            (came.ecn, bytes.as_slice()),
            (Ecn::Ect1, b"back".as_slice())
        );
    }

    #[test]
    fn what_is_larger_than_the_path_is_told() {
        let [mut one, other] = pair("127.0.0.1:0").expect("sockets");
        let sent = one.send(&vec![0; 70_000], other.local(), Ecn::NotEct);
        assert_eq!(sent, Err(Unsent::TooLarge));
        assert!(path_mtu(other.local()).expect("a way") >= 1280);
    }
}
