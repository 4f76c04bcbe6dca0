//! What of sockets the standard library does not have: when a datagram came,
//! with which ECN field, and a bell that other threads ring.
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Room for what the kernel tells beside a datagram: a time and two ECN fields.
const BESIDE: usize = 128;

/// What the kernel told of a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) length: usize,
    pub(super) from: SocketAddr,
    /// When it came to this machine, where the kernel said so.
    pub(super) moment: Option<SystemTime>,
    /// The last two bits of the IP header's traffic class.
    pub(super) ecn: u8,
}

fn checked(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// What the machine's monotonic clock reads: the same in every process.
pub(super) fn monotonic() -> Duration {
    let mut it = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is good for the call, which cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut it) };
    Duration::new(it.tv_sec.max(0) as u64, it.tv_nsec.max(0) as u32)
}

/// Sets an option that is one integer.
pub(super) fn set(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to an integer of the length given, good for the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    checked(result as libc::ssize_t).map(drop)
}

/// Reads an option that is one integer.
pub(super) fn get(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut length = mem::size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are good for the call, and the length is the value's.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    checked(result as libc::ssize_t)?;
    Ok(value)
}

/// Takes the next datagram that is there.
pub(super) fn receive(socket: &impl AsRawFd, room: &mut [u8]) -> io::Result<Told> {
    let mut part = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    // The kernel writes headers of eight bytes' alignment.
    let mut beside = [0_u64; BESIDE / 8];
    // SAFETY: both are C structs of integers and pointers, for which all zeros is
    // a value.
    let (mut name, mut message): (libc::sockaddr_storage, libc::msghdr) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = mem::size_of_val(&name) as libc::socklen_t;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = beside.as_mut_ptr().cast();
    message.msg_controllen = BESIDE as _;
    // SAFETY: every pointer in the message is to room of the length given there,
    // good for the call.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let mut told = Told {
        length: checked(length)?,
        from: address(&name).ok_or_else(|| io::Error::other("a datagram from no address"))?,
        moment: None,
        ecn: 0,
    };
    // SAFETY: the kernel has just written the control buffer, and its macros keep
    // within the length it has set; what lies behind a header may be unaligned.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(header) = next.as_ref() {
            let at = libc::CMSG_DATA(next);
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let it: libc::timespec = at.cast::<libc::timespec>().read_unaligned();
                    let (secs, nanos) = (it.tv_sec.max(0) as u64, it.tv_nsec.max(0) as u32);
                    told.moment = UNIX_EPOCH.checked_add(Duration::new(secs, nanos));
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => told.ecn = at.read() & 3,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    told.ecn = at.cast::<libc::c_int>().read_unaligned() as u8 & 3;
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(&raw const message, next);
        }
    }
    Ok(told)
}

fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let at = &raw const *name;
    match i32::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the kernel wrote this struct, which is
            // smaller than its storage.
            let it: libc::sockaddr_in = unsafe { at.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(it.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let it: libc::sockaddr_in6 = unsafe { at.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(it.sin6_addr.s6_addr);
            let port = u16::from_be(it.sin6_port);
            Some(std::net::SocketAddrV6::new(ip, port, 0, it.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Wakes a thread that sleeps on its descriptor.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: takes no pointers; the descriptor is new and nobody else's.
        unsafe {
            let number = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            checked(number as libc::ssize_t)?;
            Ok(Self(OwnedFd::from_raw_fd(number)))
        }
    }

    /// Wakes whoever sleeps, or the next who would.
    pub(super) fn ring(&self) {
        let one = 1_u64;
        // SAFETY: the pointer is to eight bytes, good for the call. It can fail only
        // where it has rung for ever, and then it rings.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Takes the ringing back: true if there was any.
    pub(super) fn heard(&self) -> bool {
        let mut times = 0_u64;
        // SAFETY: the pointer is to eight bytes, good for the call.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut times).cast(), 8) > 0 }
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
