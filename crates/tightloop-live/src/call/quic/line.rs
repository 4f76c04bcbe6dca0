//! One line: a QUIC connection and what is said at its beginning.

use std::sync::Arc;
use std::time::{Duration, Instant};

use noq_proto::{Connection, Dir, Side, StreamId};

use crate::call::yielding::Numbers;

/// QUIC's timers are looked at this often once a line is up. Ours: four
/// acknowledgements a second cost a few hundred bytes.
const TICK: Duration = Duration::from_millis(250);
/// The longest question or answer. Ours: a flow's settings are a few kilobytes.
pub(super) const LONGEST: usize = 1 << 16;

/// A line, and what has been said on it.
pub(super) struct Line {
    pub(super) connection: Connection,
    pub(super) numbers: Arc<Numbers>,
    pub(super) born: Instant,
    pub(super) up: Option<Instant>,
    pub(super) ticked: Instant,
    /// What has been said so far, and whether all of it was handed on.
    pub(super) heard: Vec<u8>,
    pub(super) said: bool,
    pub(super) over: bool,
}

/// QUIC's first stream of the side that dials.
pub(super) fn question() -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, 0)
}

impl Line {
    /// When its timers want to be looked at.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = self.connection.poll_timeout()?;
        // A line that comes or goes is in a hurry.
        match self.up {
            Some(up) if !self.over && self.ticked > up + TICK => Some(due.max(self.ticked + TICK)),
            _ => Some(due),
        }
    }

    /// Reads what the other side says.
    pub(super) fn listen(&mut self) {
        if self.connection.side().is_server() {
            let _ = self.connection.streams().accept(Dir::Bi);
        }
        let mut stream = self.connection.recv_stream(question());
        let Ok(mut chunks) = stream.read(true) else {
            return;
        };
        loop {
            match chunks.next(LONGEST) {
                Ok(Some(chunk)) => {
                    self.heard.extend_from_slice(&chunk.bytes);
                    if self.heard.len() > LONGEST {
                        break;
                    }
                }
                Ok(None) => {
                    self.said = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }
}
