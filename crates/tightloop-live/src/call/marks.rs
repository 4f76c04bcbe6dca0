//! Which packet of the session is in which datagram, for whoever sees datagrams
//! alone: an emulated link's log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tightloop::event::PacketId;

/// A datagram's last bytes: half of its tag, as good as random.
pub type Mark = [u8; 8];

/// Marks of all datagrams that carry a message; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Marks(Arc<Mutex<BTreeMap<Mark, PacketId>>>);

impl Marks {
    /// A datagram's mark; `None` for one that is too short to be encrypted.
    #[must_use]
    pub fn of(datagram: &[u8]) -> Option<Mark> {
        datagram.last_chunk().copied()
    }

    /// The packet in a datagram; `None` for QUIC's own.
    #[must_use]
    pub fn packet(&self, mark: &Mark) -> Option<PacketId> {
        let marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        marks.get(mark).copied()
    }

    pub(super) fn note(&self, datagram: &[u8], packet: PacketId) {
        if let Some(mark) = Self::of(datagram) {
            let mut marks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            marks.insert(mark, packet);
        }
    }
}
