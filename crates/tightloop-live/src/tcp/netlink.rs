//! A socket to the kernel, for what it tells of other programs' sockets.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Room for one answer: the kernel sends no more than this at a time.
const ROOM: usize = 1 << 16;

/// A socket of the family that answers about sockets, in the network namespace
/// of the thread that opened it.
#[derive(Debug)]
pub(super) struct Netlink(OwnedFd);

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: takes no pointers; the descriptor is new and nobody else's.
        unsafe {
            let socket = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
            if socket < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(socket)))
        }
    }

    /// Asks; the kernel answers on the same socket.
    pub(super) fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the message is as long as said, and lives through the call.
        let sent = unsafe {
            let (bytes, length) = (message.as_ptr().cast(), message.len());
            libc::sendto(self.0.as_raw_fd(), bytes, length, 0, ptr::null(), 0)
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// The next part of an answer.
    pub(super) fn receive(&self) -> io::Result<Vec<u8>> {
        let mut room = vec![0; ROOM];
        // SAFETY: the kernel writes at most as much as there is room for.
        let got = unsafe {
            let (bytes, length) = (room.as_mut_ptr().cast(), room.len());
            libc::recv(self.0.as_raw_fd(), bytes, length, 0)
        };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        room.truncate(got as usize);
        Ok(room)
    }
}
