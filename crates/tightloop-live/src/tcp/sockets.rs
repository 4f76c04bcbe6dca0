//! Every TCP flow of a network namespace, whosever it is, by the kernel's
//! socket statistics: what `ss --tcp --info` shows. [Linux]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Info;
use super::netlink::Netlink;

/// `SOCK_DIAG_BY_FAMILY`, with which each question and each answer begins.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`: all there are.
const ALL: u16 = 0x301;
/// `INET_DIAG_INFO`, an attribute, and the bit that asks for it.
const INFO: u16 = 2;
const WANT_INFO: u8 = 1 << (INFO - 1);
/// `TCP_ESTABLISHED` as a bit: flows that carry something.
const ESTABLISHED: u32 = 1 << 1;

/// `struct nlmsghdr`, `struct inet_diag_req_v2`, `struct inet_diag_msg`.
const HEADER: usize = 16;
const QUESTION: usize = 56;
const ANSWER: usize = 72;

/// A flow of some program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its own side.
    pub local: SocketAddr,
    /// The other side.
    pub remote: SocketAddr,
    /// What the kernel thinks of it.
    pub info: Info,
}

/// All established TCP flows of the calling thread's network namespace.
///
/// # Errors
///
/// The kernel's reason; it may have been built without socket statistics.
pub fn sockets() -> io::Result<Vec<Socket>> {
    let kernel = Netlink::open()?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        kernel.send(&question(family as u8))?;
        while !take(&kernel.receive()?, &mut found)? {}
    }
    Ok(found)
}

fn question(family: u8) -> [u8; HEADER + QUESTION] {
    let mut bytes = [0; HEADER + QUESTION];
    bytes[0..4].copy_from_slice(&((HEADER + QUESTION) as u32).to_ne_bytes());
    bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&ALL.to_ne_bytes());
    bytes[HEADER] = family;
    bytes[HEADER + 1] = libc::IPPROTO_TCP as u8;
    bytes[HEADER + 2] = WANT_INFO;
    bytes[HEADER + 4..HEADER + 8].copy_from_slice(&ESTABLISHED.to_ne_bytes());
    bytes
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(bytes.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Takes the flows out of a part of an answer. True if it was the last part.
fn take(mut part: &[u8], found: &mut Vec<Socket>) -> io::Result<bool> {
    while part.len() >= HEADER {
        let length = word(part, 0).unwrap_or(0) as usize;
        let Some(message) = part.get(HEADER..length) else {
            return Err(io::Error::other(
                "the kernel's socket statistics make no sense",
            ));
        };
        match half(part, 4) {
            Some(DONE) => return Ok(true),
            Some(ERROR) => {
                let code = word(message, 0).unwrap_or(0) as i32;
                return Err(io::Error::from_raw_os_error(code.wrapping_neg()));
            }
            _ => found.extend(socket(message)),
        }
        part = part.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// A flow, where the kernel says enough of it.
fn socket(message: &[u8]) -> Option<Socket> {
    let (ports, addresses) = (message.get(4..8)?, message.get(8..40)?);
    let side = |place: usize| {
        let port = &ports[place * 2..place * 2 + 2];
        let port = u16::from_be_bytes(port.try_into().ok()?);
        let address: [u8; 16] = addresses[place * 16..place * 16 + 16].try_into().ok()?;
        let address = if i32::from(message[0]) == libc::AF_INET {
            let [a, b, c, d, ..] = address;
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        } else {
            // A socket for both kinds has the other's flows in this clothing.
            Ipv6Addr::from(address).to_canonical()
        };
        Some(SocketAddr::new(address, port))
    };
    let mut attributes = message.get(ANSWER..)?;
    while let (Some(length), Some(kind)) = (half(attributes, 0), half(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(4..length)?;
        if kind == INFO {
            return Some(Socket {
                local: side(0)?,
                remote: side(1)?,
                info: Info::parse(value)?,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_flow_of_ones_own_is_among_them() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("an address");
        let stream = TcpStream::connect(address).expect("a connection");
        let own = stream.local_addr().expect("an address");
        let found = match sockets() {
            Ok(found) => found,
            Err(error) => {
                eprintln!("skipped: no socket statistics: {error}");
                return;
            }
        };
        let both = [(own, address), (address, own)];
        let seen = both.map(|ends| {
            found
                .iter()
                .filter(|it| (it.local, it.remote) == ends)
                .count()
        });
        assert_eq!(seen, [1, 1]);
        let info = super::super::info_of(&stream).expect("an answer");
        assert!((500..70_000).contains(&info.segment.get()), "{info:?}");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut found = Vec::new();
            let _ = take(&bytes, &mut found);
            // One with a length that fits.
            if bytes.len() >= HEADER {
                let length = bytes.len() as u32;
                bytes[0..4].copy_from_slice(&length.to_ne_bytes());
                bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
                prop_assert!(!take(&bytes, &mut found).expect("whole"));
            }
            prop_assert!(found.len() <= 1);
        }
    }
}
