//! A video call: the session of the pure crate over real sockets.
//!
//! ```text
//!  Caller                                                        Callee
//!  source → encoder (its thread) ─┐              ┌─ decoder (its thread) → outputs
//!            session::sender ─────┤              ├───── session::receiver
//!            one QUIC packet for each message: TLS 1.3, no control of QUIC's own
//!            UDP socket ──────────┴── network ───┴── UDP socket
//! ```
//!
//! [`Caller`] and [`Callee`] each run one loop on the caller's thread: what the
//! socket has, what the session wants to send, and a punctual wait. Everything
//! that takes long is elsewhere: [`Apart`] encodes, [`Screen`] decodes and
//! writes. The same bytes travel as in a simulation, each message in a packet of
//! the size that the session counts ([`overhead`]).
//!
//! A sender knows its receiver by a certificate's fingerprint, or both know a
//! token ([`Trust`]); there is no call without either, and none in plain text.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use tightloop::session::receiver;
use tightloop::units::{Bytes, Span};

use crate::clock::Clock;

mod apart;
mod assembly;
mod callee;
mod caller;
mod envelope;
mod identity;
mod interrupt;
mod marks;
mod opening;
pub mod output;
mod quic;
mod screen;
mod socket;
mod sys;
mod wait;
mod way;
mod yielding;

pub use apart::Apart;
pub use assembly::Whole;
pub use callee::{Callee, Manners, Opened};
pub use caller::{Caller, Dial};
pub use envelope::overhead;
pub use identity::{Fingerprint, Identity, Trust};
pub use interrupt::on_interrupt;
pub use marks::{Mark, Marks};
pub use opening::{Film, Hello, VERSION};
pub use screen::{Screen, Seen};
pub use socket::{Socket, path_mtu};

/// How much of a late wake-up a live sender's pacer may catch up with. Ours: what
/// a busy machine's scheduler takes.
pub const SLACK: Span = Span::from_millis(2);

/// A receiver's clock that one started anew on this machine reads on, so that its
/// sender's estimate of the path stays good.
#[must_use]
pub fn machine_clock(clock: &Clock) -> receiver::Clock {
    let since = clock.now().since_epoch();
    let machine = i64::try_from(sys::monotonic().as_nanos()).unwrap_or(i64::MAX);
    receiver::Clock {
        offset: Span::from_nanos(machine) - since,
        drift_ppb: 0,
    }
}

/// The sides, in proofs of the token.
const SENDER: &str = "sender";
const RECEIVER: &str = "receiver";

/// Why a line is closed, in QUIC's words: the call is over.
const OVER: u32 = 0;
/// The call is not wanted.
const REFUSED: u32 = 1;
/// Another line has taken its place.
const REPLACED: u32 = 2;

/// Why there is no call, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nobody to trust.
    #[error(
        "whom to trust? Give the receiver's fingerprint (--pin, it prints it at start), or the \
         same secret on both sides (--token)"
    )]
    Trustless,
    /// TLS or its keys.
    #[error("encryption cannot be set up: {0}")]
    Crypto(String),
    /// A file of ours.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// An address that cannot be used.
    #[error("{address} cannot be used: {why}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// Nobody answers.
    #[error(
        "{to} does not answer within {after}; does `tightloop receive` run there, and may UDP \
         pass?"
    )]
    Silence {
        /// The receiver's address.
        to: SocketAddr,
        /// How long we have tried.
        after: Span,
    },
    /// We were told to stop before anybody has answered.
    #[error("ended before {0} has answered")]
    Ended(SocketAddr),
    /// The other side does not want this call.
    #[error("the receiver refuses the call: {0}")]
    Refused(String),
    /// It is not the receiver that we were told of.
    #[error(
        "{0}; that is another receiver, one that was started anew (keep its identity with \
         --identity FILE), or somebody in between"
    )]
    Stranger(String),
    /// It does not know the token.
    #[error("the receiver does not know the token: that is somebody else, or the tokens differ")]
    Token,
    /// Packets do not fit the path.
    #[error("the path does not carry packets of {0}; try a smaller --mtu, 1280 fits everywhere")]
    TooLarge(Bytes),
    /// The socket.
    #[error("the socket broke")]
    Socket(#[from] io::Error),
}

/// Wakes a call's thread from another, or ends the call.
#[derive(Debug)]
pub struct Signal {
    bell: sys::Bell,
    begun: AtomicBool,
    stop: AtomicBool,
    gone: AtomicBool,
}

impl Signal {
    /// One for a call.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            bell: sys::Bell::new()?,
            begun: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            gone: AtomicBool::new(false),
        })
    }

    /// There is news for the session.
    pub fn wake(&self) {
        self.bell.ring();
    }

    /// Ends the call in good order.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Ends this side of the call as if the process had died: the other hears
    /// nothing of it.
    pub fn vanish(&self) {
        self.gone.store(true, Ordering::Release);
        self.stop();
    }

    /// Somebody looks at it from now on.
    fn begin(&self) {
        self.begun.store(true, Ordering::Release);
    }

    fn begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    fn gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    fn woken(&self) -> bool {
        self.bell.heard()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// What one end of a call has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// UDP datagrams that came and went.
    pub received: u64,
    /// UDP datagrams that went.
    pub sent: u64,
    /// The session's messages among those that went.
    pub messages: u64,
    /// Messages that were lost here, as there was no line.
    pub unsent: u64,
    /// Datagrams that the kernel did not take.
    pub refused_by_kernel: u64,
    /// Packets of another size than the session counted.
    pub odd_sizes: u64,
    /// Datagrams that belonged to no call: garbage, scans, leftovers.
    pub strangers: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Messages that no session of ours writes.
    pub misread: u64,
    /// Lines that were opened after the first.
    pub redialled: u64,
    /// Times that the receiver was another one after that.
    pub restarted: u64,
    /// Times that the other side's address has changed.
    pub moved: u64,
}
