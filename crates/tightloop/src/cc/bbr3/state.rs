//! The states, with what each asks of the sender. [BBR-Draft] §5.6.1.

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Search for the bandwidth, doubling.
    Startup,
    /// Empty the queue of Startup.
    Drain,
    /// Make room.
    ProbeBwDown,
    /// Keep.
    ProbeBwCruise,
    /// Fill the pipe before a probe.
    ProbeBwRefill,
    /// Probe for more bandwidth.
    ProbeBwUp,
    /// Probe for the round trip.
    ProbeRtt,
}

/// BBR.StartupPacingGain, 4·ln 2. [BBR-Draft] §2.5.
const STARTUP_PACING_GAIN: f64 = 2.77;
/// BBR.DrainPacingGain. [BBR-Draft] §2.5.
const DRAIN_PACING_GAIN: f64 = 0.5;
/// ProbeBW_DOWN's. [BBR-Draft] §5.3.3.1.
const DOWN_PACING_GAIN: f64 = 0.9;
/// ProbeBW_UP's. [BBR-Draft] §5.3.3.5.
const UP_PACING_GAIN: f64 = 1.25;
/// BBR.DefaultCwndGain. [BBR-Draft] §2.6.
const DEFAULT_CWND_GAIN: f64 = 2.0;
/// ProbeBW_UP's. [BBR-Draft] §5.3.3.5.
const UP_CWND_GAIN: f64 = 2.25;
/// BBR.ProbeRTTCwndGain. [BBR-Draft] §2.16.2.
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

impl State {
    /// BBR.pacing_gain.
    pub(super) const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => DRAIN_PACING_GAIN,
            Self::ProbeBwDown => DOWN_PACING_GAIN,
            Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeRtt => 1.0,
            Self::ProbeBwUp => UP_PACING_GAIN,
        }
    }

    /// BBR.cwnd_gain.
    pub(super) const fn cwnd_gain(self) -> f64 {
        match self {
            Self::ProbeBwUp => UP_CWND_GAIN,
            Self::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }

    /// IsInAProbeBWState. [BBR-Draft] §5.3.3.9.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp
        )
    }

    /// IsProbingBW. [BBR-Draft] §5.3.3.9.
    pub(super) const fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// A number for plots, in the order of the draft's diagram.
    pub(super) const fn gauge(self) -> f64 {
        match self {
            Self::Startup => 0.0,
            Self::Drain => 1.0,
            Self::ProbeBwDown => 2.0,
            Self::ProbeBwCruise => 3.0,
            Self::ProbeBwRefill => 4.0,
            Self::ProbeBwUp => 5.0,
            Self::ProbeRtt => 6.0,
        }
    }
}
