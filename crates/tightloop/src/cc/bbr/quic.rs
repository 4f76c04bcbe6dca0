//! BBR as in Chromium's QUIC.
//!
//! # Idea
//! BBR for a sender in user space, which paces packets rather than bunches.
//!
//! # Signals
//! BBR's.
//!
//! # Law
//! BBR with a first window of 32 packets and at most 2000, no pacing margin, no
//! room for bunches sent, room for all of a bunch acknowledged; recovery lasts
//! until a packet arrives that was sent after the last loss; a round trip equal
//! to RTprop does not renew it.
//!
//! # Departures
//! - BBR's; and without a round trip known, QUIC paces for 100 ms, after that
//!   without gain until the first sample, here always with it.
//! - None of its many experiments.

use super::{Bbr, Params, RecoveryEnd};
use crate::cc::{Algorithm, written};
use crate::units::{Bytes, Span};

/// The entry in [`crate::cc::ALGORITHMS`].
pub const BBR_QUIC: Algorithm = Algorithm {
    name: "bbr-quic",
    summary: "BBR v1 as in Chromium's QUIC: no pacing margin, longer recovery",
    cites: &["BBRv1", "QuicBBR"],
    defaults: || written(&params()),
    new: |start| Ok(Box::new(Bbr::new(&start.over(&params()))?)),
    reporter: None,
};

/// The first window, in packets. [QuicBBR] kInitialCongestionWindow.
const INITIAL_WINDOW: u32 = 32;
/// The round trip before one is known. [QuicBBR] kInitialRttMs.
const INITIAL_RTT: Span = Span::from_millis(100);
/// The largest window: 2000 packets of 1460 bytes. [QuicBBR] kDefaultMaxCongestionWindowPackets.
const MAX_WINDOW: Bytes = Bytes::new(2_920_000);

pub(super) fn params() -> Params {
    Params {
        pacing_margin: 0.0,
        send_quantum: false,
        // Unlimited: a minute.
        aggregation_limit: super::LONGEST_RTT,
        min_rtt_renews: false,
        recovery_end: RecoveryEnd::LastLoss,
        initial_window: INITIAL_WINDOW,
        initial_rtt: INITIAL_RTT,
        max_window: MAX_WINDOW,
        ..Params::default()
    }
}
