//! How an engine is driven, and what it has done.

use std::io;
use std::sync::atomic::AtomicU64;

use tightloop::units::{Bytes, Span};

use super::lateness::Lateness;
use super::record::Failure;

/// What has happened on one way so far, for whoever looks from outside.
#[derive(Debug, Default)]
pub struct Tally {
    /// Packets that came.
    pub arrived: AtomicU64,
    /// Packets that went on.
    pub delivered: AtomicU64,
    /// IP bytes that went on.
    pub bytes: AtomicU64,
    /// Packets that a queue or chance dropped.
    pub dropped: AtomicU64,
    /// Packets that a queue marked.
    pub marked: AtomicU64,
    /// Bytes that wait.
    pub waiting: AtomicU64,
    /// Packets that wait.
    pub queued: AtomicU64,
    /// How late packets went on so far, in nanoseconds: p50 and p99. Brought up
    /// to date every fifth of a second.
    pub late: [AtomicU64; 2],
}

/// How an engine drives its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// The last part of each wait is spun.
    pub margin: Span,
    /// Ask for real-time priority.
    pub urgent: bool,
}

impl Default for Drive {
    /// Ours: to leave a halted processor takes 50 to 100 µs.
    fn default() -> Self {
        Self {
            margin: Span::from_micros(150),
            urgent: true,
        }
    }
}

/// What an engine has done on one way.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    /// Packets that came.
    pub arrived: u64,
    /// Packets that went on.
    pub delivered: u64,
    /// IP bytes that went on.
    pub bytes: Bytes,
    /// Packets that a queue or chance dropped.
    pub dropped: u64,
    /// Of these, by chance.
    pub lost: u64,
    /// Packets that a queue marked.
    pub marked: u64,
    /// Packets that the kernel would not take on the other side.
    pub refused: u64,
    /// How much later packets went on than they should.
    pub lateness: Lateness,
}

/// What an engine has done.
#[derive(Debug)]
pub struct Work {
    /// Up and down.
    pub ways: [Passage; 2],
    /// How long it ran.
    pub lasted: Span,
    /// Real-time priority was not to be had, and why.
    pub not_urgent: Option<io::Error>,
    /// Why it stopped by itself.
    pub failed: Option<io::Error>,
    /// Outputs that are not complete.
    pub failures: Vec<Failure>,
    /// Events that outputs do not have, as writing was too slow.
    pub missing: u64,
}
