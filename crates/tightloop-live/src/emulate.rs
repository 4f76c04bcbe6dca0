//! A link emulator: any program behind the pure crate's own [`Link`], in real
//! time.
//!
//! ```text
//!   namespace of its own                       namespace of the caller
//!   command ── uplink ──► │ engine: up   links │ ──► tightloop0 ── anything
//!                 (TUN) ◄─│         down links │◄──── (TUN)
//! ```
//!
//! The parts: [`Ends`] makes the devices and namespaces, [`calibrate()`]
//! measures what this machine can do, an [`Engine`] moves the packets, a
//! [`Child`](child::Family) runs the command, [`record::Output`]s write down
//! what happened. Because a link acts at logical instants, what the engine did
//! can be done again in a simulation: [`replay`] holds the two against each
//! other.
//!
//! Packets come one by one, without segmentation offload: a link that is to
//! judge each packet must meet each packet.
//!
//! [`Link`]: tightloop::link::Link

use std::io;

pub mod calibrate;
pub mod child;
pub mod ends;
pub mod engine;
pub mod flows;
pub mod lateness;
pub mod mahimahi;
pub mod pace;
pub mod packet;
pub mod pcapng;
pub mod pipe;
pub mod place;
pub mod record;
pub mod replay;
pub(crate) mod sys;
mod work;

pub use calibrate::{Ability, calibrate};
pub use ends::Ends;
pub use engine::{Drive, Engine, Passage, Work};
pub use lateness::Lateness;
pub use packet::{Datagram, Side, Way};

/// Why there is no emulated link.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no TUN devices.
    #[error(
        "there is no /dev/net/tun, which emulation needs; try `modprobe tun` as root, or start \
         the container with --device /dev/net/tun"
    )]
    NoTun,
    /// Neither root nor user namespaces.
    #[error(
        "no permission to make a network device; run this as root, or let users make \
         namespaces of their own: sysctl -w user.max_user_namespaces=10000, \
         kernel.unprivileged_userns_clone=1 on Debian, kernel.apparmor_restrict_unprivileged_userns=0 \
         on Ubuntu; in a container, add --cap-add NET_ADMIN --cap-add SYS_ADMIN"
    )]
    NoPermission(#[source] io::Error),
    /// The device could not be made or set up.
    #[error("cannot make the emulated link's network device")]
    Device(#[source] io::Error),
    /// The namespace could not be made.
    #[error(
        "cannot make a network namespace; in a container, add --cap-add NET_ADMIN --cap-add \
         SYS_ADMIN"
    )]
    Namespace(#[source] io::Error),
    /// All addresses are taken.
    #[error(
        "no addresses are left for another link here: links nest seven deep, three side by side \
         within another and 64 elsewhere"
    )]
    NoPlace,
    /// The command could not be started.
    #[error("cannot start `{command}`{}", hint(.error))]
    Command {
        /// The command.
        command: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// Something else of the kernel's.
    #[error("the emulated link broke")]
    Kernel(#[from] io::Error),
    /// A thread panicked.
    #[error("a part of the emulator broke down; please report what was run")]
    Broken,
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; is it installed, and spelt right?",
        io::ErrorKind::PermissionDenied => "; is it a program, and may you run it?",
        _ => "",
    }
}
