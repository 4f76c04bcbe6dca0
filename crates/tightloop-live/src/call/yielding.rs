//! QUIC's own congestion control, out of the way: the session decides when each
//! packet leaves, and hands QUIC one at a time.
//!
//! What QUIC tells its controller is put to use: how far packet numbers are
//! ahead of acknowledgements is how long they are on the wire.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory};

/// A window that nothing fills. Ours: a gigabyte.
const WINDOW: u64 = 1 << 30;

/// Packet numbers of a connection.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    sent: AtomicU64,
    acked: AtomicU64,
}

impl Numbers {
    /// How far after the newest acknowledged packet the next one is.
    pub(super) fn distance(&self) -> u64 {
        let read = |it: &AtomicU64| it.load(Ordering::Relaxed);
        (read(&self.sent) + 1).saturating_sub(read(&self.acked))
    }

    /// A packet that needs no acknowledgement took a number, too.
    pub(super) fn skip(&self) {
        self.sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Never in the way.
#[derive(Clone, Debug)]
pub(super) struct Yielding {
    numbers: Arc<Numbers>,
}

/// Makes one for a connection.
#[derive(Debug)]
pub(super) struct Yield(pub(super) Arc<Numbers>);

impl ControllerFactory for Yield {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Yielding {
            numbers: Arc::clone(&self.0),
        })
    }
}

impl Controller for Yielding {
    fn on_packet_sent(&mut self, _now: Instant, _bytes: u16, number: u64) {
        self.numbers.sent.store(number, Ordering::Relaxed);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _bytes: u64,
        number: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.numbers.acked.fetch_max(number, Ordering::Relaxed);
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_number: u64,
    ) {
    }

    fn on_mtu_update(&mut self, _mtu: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
