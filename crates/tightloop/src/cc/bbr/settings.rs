//! The settings of BBR, in any of its forms.

use serde::{Deserialize, Serialize};

use super::RecoveryEnd;
use crate::cc::SettingError;
use crate::units::{Bytes, Span};

/// Ours: shorter RTTs count as this, so that a rate can be made of them.
pub(super) const LEAST_RTT: Span = Span::from_micros(1);
/// Ours: longer RTTs count as this, so that no rate is zero.
pub(super) const LONGEST_RTT: Span = Span::from_secs(60);

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Startup's gains, 2/ln 2. [BBRv1] §4.3.2.1.
    pub startup_gain: f64,
    /// Drain's pacing gain, its inverse. [BBRv1] §4.3.3.
    pub drain_gain: f64,
    /// ProbeBW's gain that asks for more. [BBRv1] §4.3.4.2.
    pub probe_gain: f64,
    /// ProbeBW's gain that gives it back. [BBRv1] §4.3.4.2.
    pub yield_gain: f64,
    /// ProbeBW's window, in BDP. [BBRv1] §4.2.3.2.
    pub window_gain: f64,
    /// What is left out of the pacing rate so that queues drain. [BBRv2] §4.6.2.
    pub pacing_margin: f64,
    /// The window has room for a sender that sends in bunches. [BBRv1] §4.2.3.2.
    pub send_quantum: bool,
    /// And for acknowledgements in bunches, this much of the largest. [BBRv2] §4.6.4.
    pub aggregation_gain: f64,
    /// A bunch counts as no more than BtlBw in this. Ours: 100 ms, as the kernel
    /// does, so that one stall does not open the window by all it held.
    pub aggregation_limit: Span,
    /// RTprop is too old after this. [BBRv1] §4.1.2.
    pub min_rtt_window: Span,
    /// A round trip that equals RTprop keeps it young. [BBRv1] §4.1.2.
    pub min_rtt_renews: bool,
    /// How long ProbeRTT holds. [BBRv1] §4.3.5.
    pub probe_rtt: Span,
    /// Its window, in BDP, where that is more than `min_window`. [BBRv1] §4.3.5: none.
    pub probe_rtt_gain: f64,
    /// Losses end Startup. [BBRv1] §4.3.2: they do not.
    pub exit_startup_on_loss: bool,
    /// What ends the window's limit after losses. [RFC6582] §3.2.
    pub recovery_end: RecoveryEnd,
    /// The video's target, in BtlBw; without one it follows the ceilings.
    /// [BBRv1] knows of no video.
    pub target_gain: Option<f64>,
    /// Fill up with filler while asking for more. [BBRv1] knows of no filler.
    pub pads: bool,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The round trip before one is known. [BBRv1] §4.2.1.
    pub initial_rtt: Span,
    /// The smallest window, in packets. [BBRv1] §4.2.3.
    pub min_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

/// 2/ln 2: the least gain that lets the rate double each round. [BBRv1] §4.3.2.1.
const STARTUP_GAIN: f64 = 2.885;

impl Default for Params {
    fn default() -> Self {
        Self {
            startup_gain: STARTUP_GAIN,
            drain_gain: 1.0 / STARTUP_GAIN,
            probe_gain: 1.25,
            yield_gain: 0.75,
            window_gain: 2.0,
            pacing_margin: 0.01,
            send_quantum: true,
            aggregation_gain: 1.0,
            aggregation_limit: Span::from_millis(100),
            min_rtt_window: Span::from_secs(10),
            min_rtt_renews: true,
            probe_rtt: Span::from_millis(200),
            probe_rtt_gain: 0.0,
            exit_startup_on_loss: false,
            recovery_end: RecoveryEnd::FirstLoss,
            target_gain: None,
            pads: false,
            initial_window: 10,
            initial_rtt: Span::from_millis(1),
            min_window: 4,
            max_window: Bytes::new(1 << 30),
        }
    }
}

impl Params {
    /// Refuses what makes no sense.
    pub(super) fn check(&self) -> Result<(), SettingError> {
        let gains = [
            ("startup_gain", self.startup_gain, 1.0),
            ("drain_gain", self.drain_gain, 0.1),
            ("probe_gain", self.probe_gain, 1.0),
            ("yield_gain", self.yield_gain, 0.1),
            ("window_gain", self.window_gain, 1.0),
            ("aggregation_gain", self.aggregation_gain, 0.0),
            ("probe_rtt_gain", self.probe_rtt_gain, 0.0),
            ("target_gain", self.target_gain.unwrap_or(1.0), 0.1),
        ];
        for (name, gain, least) in gains {
            SettingError::unless((least..=10.0).contains(&gain), || {
                format!("{name} = {gain} is not between {least} and 10; see the defaults")
            })?;
        }
        let margin = self.pacing_margin;
        SettingError::unless((0.0..=0.5).contains(&margin), || {
            format!("pacing_margin = {margin} is not between 0 and 0.5; the usual value is 0.01")
        })?;
        let spans = [
            ("min_rtt_window", self.min_rtt_window),
            ("probe_rtt", self.probe_rtt),
            ("initial_rtt", self.initial_rtt),
            ("aggregation_limit", self.aggregation_limit),
        ];
        for (name, span) in spans {
            SettingError::unless(span >= LEAST_RTT && span <= LONGEST_RTT, || {
                format!("{name} = {span} is not between {LEAST_RTT} and {LONGEST_RTT}")
            })?;
        }
        let (initial, least) = (self.initial_window, self.min_window);
        SettingError::unless(least >= 1 && initial >= least, || {
            format!(
                "initial_window = {initial} packets is less than min_window = {least}, or that is 0"
            )
        })
    }
}
