//! Signals, children and privileges of the process.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::ptr;

use super::checked;

/// The user and group that the process has.
pub(in super::super) fn ids() -> (u32, u32) {
    // SAFETY: take nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// What a program run by an ordinary user may do in the namespaces that belong
/// to it: make links inside the link, and use raw sockets.
const RIGHTS: [u32; 3] = [12, 13, 21]; // CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN

/// Lets programs that this process starts keep its rights over its own
/// namespaces.
pub(in super::super) fn pass_rights_on() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: libc::c_int,
    }
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Rights {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let mut header = Header {
        version: 0x2008_0522, // The third version: two words of bits.
        pid: 0,
    };
    let mut rights = [Rights::default(); 2];
    // SAFETY: the structs are the kernel's for this version, and the pointers
    // are good for the calls.
    unsafe {
        let got = libc::syscall(libc::SYS_capget, &raw mut header, rights.as_mut_ptr());
        checked(got as libc::c_int)?;
        for right in RIGHTS {
            rights[0].inheritable |= rights[0].permitted & (1 << right);
        }
        let set = libc::syscall(libc::SYS_capset, &raw mut header, rights.as_ptr());
        checked(set as libc::c_int)?;
        for right in RIGHTS {
            let raise = libc::PR_CAP_AMBIENT_RAISE;
            checked(libc::prctl(libc::PR_CAP_AMBIENT, raise, right, 0, 0))?;
        }
    }
    Ok(())
}

/// Children whose parents have died become this process's own.
pub(in super::super) fn adopt_orphans() {
    // SAFETY: takes no pointers; cannot fail on kernels with namespaces.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Makes a command take signals as usual, though its parent does not, and hear
/// of it when the thread that starts it dies with its process, as if a terminal
/// had closed.
pub(in super::super) fn prepare(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are made; the
    // set is initialised by sigemptyset before use.
    unsafe {
        command.pre_exec(|| {
            let mut none: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut none);
            checked(libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut()))?;
            // A shell starts what runs in its background deaf to the keyboard; what
            // is passed on to a command must reach it all the same.
            for number in [libc::SIGINT, libc::SIGQUIT] {
                libc::signal(number, libc::SIG_DFL);
            }
            checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGHUP, 0, 0, 0)).map(drop)
        });
    }
}

/// Signals as a stream, instead of their usual effects. Dropping it brings
/// those back.
#[derive(Debug)]
pub(crate) struct Signals {
    file: File,
    before: libc::sigset_t,
}

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) number: libc::c_int,
    /// The terminal sent it, to all programs in the foreground.
    pub(crate) by_terminal: bool,
}

pub(crate) const CHILD: libc::c_int = libc::SIGCHLD;

impl Signals {
    /// Takes the signals that end a program, and the one that says that a child
    /// has ended. Threads started later take none of them.
    pub(crate) fn take() -> io::Result<Self> {
        // SAFETY: the sets are initialised by sigemptyset before use, and the
        // pointers are good for the calls; the descriptor is new.
        unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            libc::sigemptyset(&mut set);
            for number in [
                libc::SIGINT,
                libc::SIGTERM,
                libc::SIGHUP,
                libc::SIGQUIT,
                CHILD,
            ] {
                libc::sigaddset(&mut set, number);
            }
            let mut before: libc::sigset_t = mem::zeroed();
            let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut before);
            if blocked != 0 {
                return Err(io::Error::from_raw_os_error(blocked));
            }
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let file = File::from_raw_fd(checked(libc::signalfd(-1, &set, flags))?);
            Ok(Self { file, before })
        }
    }

    /// The next signal that has come.
    pub(crate) fn next(&self) -> Option<Signal> {
        let mut bytes = [0_u8; mem::size_of::<libc::signalfd_siginfo>()];
        (&self.file).read_exact(&mut bytes).ok()?;
        // SAFETY: the kernel fills the whole struct, which is of integers.
        let it: libc::signalfd_siginfo = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
        Some(Signal {
            number: it.ssi_signo as libc::c_int,
            by_terminal: it.ssi_code == libc::SI_KERNEL,
        })
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: `before` was filled when the signals were taken.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// Sends a signal to a child.
pub(in super::super) fn send(child: u32, number: libc::c_int) {
    // SAFETY: takes no pointers; a child that is gone is no harm, as none is
    // reaped but here.
    unsafe { libc::kill(child as libc::pid_t, number) };
}

/// A child that has ended and was not asked about yet.
pub(in super::super) fn ended() -> Option<(u32, ExitStatus)> {
    let mut status = 0;
    // SAFETY: the pointer is good for the call.
    let child = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    (child > 0).then(|| (child as u32, ExitStatus::from_raw(status)))
}
