//! The kernel's own TCP as a peer: bulk flows under a chosen controller, and
//! what the kernel thinks of them meanwhile.
//!
//! A [`Bulk`] flow runs beside anything else over an emulated link, as cross
//! traffic or to be held against the same controller in a simulation.
//! [`sockets()`] finds the flows of other programs.
//!
//! **What a link sees.** The kernel hands TCP to a device in segments of up to
//! 64 KiB. The emulator's devices take none of these offloads, so the kernel
//! cuts them itself and every packet on the link is one of at most 1500 bytes.
//! What stays is that packets come in bursts: as large as a millisecond at the
//! pacing rate, two packets at least, where the controller paces, and as acks
//! let them where it does not.

use std::fs;
use std::io;

pub mod bulk;
pub mod info;
mod netlink;
mod socket;
pub mod sockets;

pub use bulk::{Bulk, Carried, Sample, Settings};
pub use info::Info;
pub use socket::{congestion, info_of, set_congestion};
pub use sockets::{Socket, sockets};

/// Where the kernel lists the controllers that it has loaded.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Why there is no such flow.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no such controller, or has not loaded it.
    #[error(
        "the kernel offers no TCP congestion control `{name}`; it has {has}; try `modprobe \
         tcp_{name}` as root"
    )]
    Unavailable {
        /// The controller.
        name: String,
        /// Those that there are.
        has: String,
    },
    /// The kernel has it, and lets root alone use it.
    #[error(
        "only root may use TCP congestion control `{name}` here; try `sysctl -w \
         net.ipv4.tcp_allowed_congestion_control='{has}'` as root"
    )]
    Refused {
        /// The controller.
        name: String,
        /// All that there are.
        has: String,
    },
    /// Something else of the kernel's.
    #[error("the TCP flow broke")]
    Kernel(#[from] io::Error),
    /// A thread panicked.
    #[error("a part of the TCP flow broke down; please report what was run")]
    Broken,
}

/// The controllers that the kernel has loaded. Others may be there as modules.
#[must_use]
pub fn available() -> Vec<String> {
    let listed = fs::read_to_string(AVAILABLE).unwrap_or_default();
    listed.split_whitespace().map(str::to_owned).collect()
}

/// Fails where the kernel would refuse this controller, before anything is
/// started.
///
/// # Errors
///
/// It is unknown; says which there are.
pub fn check(name: &str) -> Result<(), Error> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0");
    match socket {
        // Asking loads the module where the caller may do that.
        Ok(socket) => set_congestion(&socket, name),
        Err(_) if available().iter().any(|it| it == name) => Ok(()),
        Err(_) => Err(refusal(name, io::ErrorKind::NotFound)),
    }
}

fn refusal(name: &str, kind: io::ErrorKind) -> Error {
    let (name, has) = (name.to_owned(), available());
    match kind {
        io::ErrorKind::PermissionDenied if has.contains(&name) => Error::Refused {
            name,
            has: has.join(" "),
        },
        _ => Error::Unavailable {
            name,
            has: has.join(", "),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_controller_is_refused_with_what_there_is() {
        let told = check("no_such_cc").expect_err("refused").to_string();
        assert!(told.contains("`no_such_cc`"), "{told}");
        assert!(told.contains("modprobe tcp_no_such_cc"), "{told}");
        for name in available() {
            assert!(told.contains(&name), "{told}");
        }
        // A name that no kernel could have.
        let told = check("a name that is too long for any kernel").expect_err("refused");
        assert!(matches!(told, Error::Unavailable { .. }), "{told}");
    }
}
