//! When the kernel received a packet, without the time until a program wakes.
#![allow(unsafe_code)]

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, mem, ptr};

use tightloop::units::{Span, Time};
use tightloop_live::clock::Clock;

pub(crate) struct Stamps {
    /// What the wall clock reads beyond ours.
    offset: i128,
}

impl Stamps {
    pub(crate) fn of(socket: &UdpSocket, clock: Clock) -> io::Result<Self> {
        let on: libc::c_int = 1;
        // SAFETY: the option takes an int, which is good for the call.
        let set = unsafe {
            let size = mem::size_of_val(&on) as libc::socklen_t;
            let (level, name) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                name,
                ptr::from_ref(&on).cast(),
                size,
            )
        };
        if set < 0 {
            return Err(io::Error::last_os_error());
        }
        // The closest of a few readings of both clocks.
        let reading = |_| {
            let before = clock.now();
            let wall = SystemTime::now().duration_since(UNIX_EPOCH);
            let after = clock.now();
            let wall = wall.unwrap_or_default().as_nanos() as i128;
            let middle = (before.as_nanos() + after.as_nanos()) / 2;
            (after - before, wall - i128::from(middle))
        };
        let closest = (0..100).map(reading).min_by_key(|(gap, _)| *gap);
        let offset = closest.map_or(0, |(_, offset)| offset);
        Ok(Self { offset })
    }

    /// The next packet, and when the kernel had it.
    pub(crate) fn receive(&self, socket: &UdpSocket, room: &mut [u8]) -> io::Result<Time> {
        let mut control = [0_u64; 8];
        let mut part = libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        };
        // SAFETY: all pointers are to live memory of the lengths given, and
        // the control message is read only where the kernel says it wrote one.
        unsafe {
            let mut message: libc::msghdr = mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = mem::size_of_val(&control);
            if libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) < 0 {
                return Err(io::Error::last_os_error());
            }
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            if header.is_null() || (*header).cmsg_type != libc::SCM_TIMESTAMPNS {
                return Err(io::Error::other("the kernel gave no time"));
            }
            let time: libc::timespec = ptr::read_unaligned(libc::CMSG_DATA(header).cast());
            let wall = i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec);
            let nanos = i64::try_from(wall - self.offset).unwrap_or(0);
            Ok(Time::ZERO + Span::from_nanos(nanos))
        }
    }
}
