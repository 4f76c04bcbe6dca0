//! Namespaces, priority and sleep of the calling thread.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use tightloop::units::Span;

use super::checked;

/// The priority among real-time threads. Ours: above none that matter to the
/// system.
const PRIORITY: libc::c_int = 10;

/// Moves the calling thread into a network namespace of its own.
pub(in super::super) fn leave_network() -> io::Result<()> {
    // SAFETY: takes no pointers; concerns the calling thread alone.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves the process, which must have one thread alone, into a user and a
/// network namespace of its own.
pub(in super::super) fn leave_user() -> io::Result<()> {
    // SAFETY: takes no pointers; fails where there are other threads.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) }).map(drop)
}

/// Moves the calling thread into a network namespace.
pub(in super::super) fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: takes no pointers, and the descriptor is open.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Lets the calling thread's sleeps end as precisely as the kernel can.
pub(crate) fn sleep_precisely() {
    // SAFETY: takes no pointers; cannot fail for a positive value.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Gives the calling thread real-time priority, or takes it away.
pub(crate) fn set_urgent(urgent: bool) -> io::Result<()> {
    let (policy, priority) = if urgent {
        (libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, PRIORITY)
    } else {
        (libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
    };
    // SAFETY: sched_param is a C struct of integers, and the pointer is good for
    // the call.
    unsafe {
        let mut param: libc::sched_param = std::mem::zeroed();
        param.sched_priority = priority;
        checked(libc::sched_setscheduler(0, policy, &param)).map(drop)
    }
}

/// Sleeps until one of the descriptors is readable or closed, for `longest` at
/// most. Returns which are.
pub(crate) fn sleep<const N: usize>(
    descriptors: [RawFd; N],
    longest: Option<Span>,
) -> io::Result<[bool; N]> {
    let mut polled = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = longest.map(|span| {
        let nanos = span.as_nanos().max(0);
        libc::timespec {
            tv_sec: nanos / 1_000_000_000,
            tv_nsec: nanos % 1_000_000_000,
        }
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the array has N entries, and both pointers are good for the call.
    let result =
        unsafe { libc::ppoll(polled.as_mut_ptr(), N as libc::nfds_t, timeout, ptr::null()) };
    match checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(polled.map(|it| it.revents != 0)),
    }
}
