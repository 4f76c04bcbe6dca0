//! How QUIC is set up where the session controls what leaves.

use std::sync::Arc;
use std::time::Duration;

use noq_proto::{AckFrequencyConfig, IdleTimeout, TransportConfig, VarInt};

use super::line::LONGEST;
use crate::call::yielding::{Numbers, Yield};

/// A line this long without a word is gone. Ours: an outage of 30 s is survived.
const IDLE: Duration = Duration::from_secs(60);

/// A connection's, for packets of `mtu` UDP bytes, and the numbers of its packets.
pub(super) fn transport(mtu: u16) -> (Arc<TransportConfig>, Arc<Numbers>) {
    let numbers = Arc::new(Numbers::default());
    let mut often = AckFrequencyConfig::default();
    often
        .ack_eliciting_threshold(VarInt::MAX)
        .reordering_threshold(VarInt::from_u32(0));
    let mut it = TransportConfig::default();
    it.max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .max_idle_timeout(IdleTimeout::try_from(IDLE).ok())
        .stream_receive_window(VarInt::from_u32(LONGEST as u32))
        .initial_mtu(mtu)
        .min_mtu(mtu)
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .ack_frequency_config(Some(often))
        .congestion_controller_factory(Arc::new(Yield(Arc::clone(&numbers))));
    (Arc::new(it), numbers)
}
