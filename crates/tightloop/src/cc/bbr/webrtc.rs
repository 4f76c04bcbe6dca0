//! BBR as it was in WebRTC.
//!
//! # Idea
//! Chromium's BBR put in the place of GCC: the encoder gets the estimate, and
//! filler fills up while it asks for more.
//!
//! # Signals
//! BBR's.
//!
//! # Law
//! BBR with a ProbeRTT at three quarters of the BDP, a Startup that losses end
//! at the next round, no room for bunches of acknowledgements, and recovery
//! until any packet arrives in a feedback without losses. The target is BtlBw.
//!
//! # Departures
//! - QUIC's; and WebRTC sampled the delivery rate its own way, from the first
//!   and the last packet of a feedback.
//! - The upstream default holds one packet in ProbeRTT and has its share of the
//!   BDP as an experiment; [Razor], which [DelayBBR] ran, has it on.

use super::{Bbr, Params, RecoveryEnd, quic};
use crate::cc::{Algorithm, written};
use crate::units::Span;

/// The entry in [`crate::cc::ALGORITHMS`].
pub const BBR_WEBRTC: Algorithm = Algorithm {
    name: "bbr-webrtc",
    summary: "BBR v1 as it was in WebRTC: sets the encoder's target, pads while it probes",
    cites: &["BBRv1", "WebRTC-BBR", "Razor", "DelayBBR"],
    defaults: || written(&params()),
    new: |start| Ok(Box::new(Bbr::new(&start.over(&params()))?)),
    reporter: None,
};

/// ProbeRTT's window, in BDP. [WebRTC-BBR] probe_rtt_congestion_window_gain.
const PROBE_RTT_GAIN: f64 = 0.75;
/// The video's target, in BtlBw. [WebRTC-BBR] encoder_rate_gain.
const TARGET_GAIN: f64 = 1.0;
/// The first window in packets: 300 kbit/s for 200 ms. [WebRTC-BBR] kInitialBandwidthKbps.
const INITIAL_WINDOW: u32 = 5;
/// The round trip before one is known. [WebRTC-BBR] kInitialRttMs.
const INITIAL_RTT: Span = Span::from_millis(200);

fn params() -> Params {
    Params {
        aggregation_gain: 0.0,
        probe_rtt_gain: PROBE_RTT_GAIN,
        exit_startup_on_loss: true,
        recovery_end: RecoveryEnd::NextArrival,
        target_gain: Some(TARGET_GAIN),
        pads: true,
        initial_window: INITIAL_WINDOW,
        initial_rtt: INITIAL_RTT,
        ..quic::params()
    }
}
