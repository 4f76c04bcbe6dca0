//! Hybla: on a long path as fast as Reno would be on a short one.
//!
//! # Idea
//! Reno's window grows by round trips, so that a path ten times as long gains a
//! hundredth of the rate in the same time. Hybla grows as a connection would
//! whose round trip is short.
//!
//! # Signals
//! Losses and ECN marks, each at most once per round trip; the smallest RTT.
//!
//! # Law
//! With ρ = max(RTT_min/RTT₀, 1), in packets for each one acknowledged:
//!
//! - slow start: cwnd += 2^ρ − 1
//! - congestion avoidance: cwnd += ρ²/cwnd
//! - all else as Reno
//!
//! # Departures
//! - ρ is of the smallest RTT, as in Linux, where the paper has the smoothed one:
//!   a queue does not make a path longer.
//! - RTT₀ is Linux's 25 ms, where the paper has 25 too and ns-3 50.
//! - The first window and the first ssthresh are not multiplied by ρ, and there
//!   is no pacing: the paper asks for both, Linux for neither.
//! - A bound on ρ in slow start, where one acknowledgement opens 2^ρ packets.

use serde::{Deserialize, Serialize};

use super::window::Window;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Span, Time};

/// The entry in [`super::ALGORITHMS`].
pub const HYBLA: Algorithm = Algorithm {
    name: "hybla",
    summary: "loss-based, grows on a long path as Reno would on a short one",
    cites: &["Hybla", "RFC5681", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Hybla::new(start)?)),
    reporter: None,
};

/// What a loss leaves of what is in flight: as Reno. [RFC5681] §3.1 (4).
const BETA: f64 = 0.5;
/// The largest ρ in slow start. Ours: 2¹⁶ packets for one are more than any path
/// holds.
const MAX_EXPONENT: f64 = 16.0;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// RTT₀: the round trip of the connection that is imitated. [Hybla]
    pub reference_rtt: Span,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            reference_rtt: Span::from_millis(25),
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Hybla {
    reference_rtt: Span,
    window: Window,
}

impl Hybla {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a first window of nothing, or above the largest; no reference.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        SettingError::unless(params.reference_rtt.is_positive(), || {
            format!(
                "reference_rtt = {} is no round trip; the usual one is 25 ms",
                params.reference_rtt
            )
        })?;
        Ok(Self {
            reference_rtt: params.reference_rtt,
            window: Window::new(start, params.initial_window, params.max_window)?,
        })
    }

    fn rho(&self) -> f64 {
        let rtt = self.window.min_rtt.unwrap_or(self.reference_rtt);
        rtt.ratio(self.reference_rtt).max(1.0)
    }
}

impl Controller for Hybla {
    fn on_feedback(&mut self, _now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let window = &mut self.window;
        window.min_rtt = path.min_rtt;
        window.on_congestion(feedback, path, BETA);
        let rho = self.rho();
        let window = &mut self.window;
        for packets in window.growing(feedback) {
            let more = if window.in_slow_start() {
                let open = window.ssthresh.unwrap_or(window.ceiling) - window.cwnd;
                let growth = libm::exp2(rho.min(MAX_EXPONENT)) - 1.0;
                // Steps are large: none goes beyond ssthresh.
                (packets * growth).min(open)
            } else {
                packets * rho * rho / window.cwnd
            };
            window.grow(more);
        }
    }

    fn control(&self) -> Control {
        self.window.control()
    }

    fn on_sent(&mut self, _now: Time, packet: &Sent, _path: &PathState) {
        self.window.on_sent(packet);
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        self.window.inspect(gauge);
        gauge("rho", self.rho());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};

    fn hybla() -> Hybla {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Hybla::new(&start).expect("good settings")
    }

    /// The window after each of so many round trips.
    fn windows(rtt: Span, round_trips: i64, lose_at: i64) -> Vec<f64> {
        let (mut cc, mut pipe) = (hybla(), Pipe::new(rtt));
        pipe.start(&mut cc);
        let begin = pipe.now;
        let after = |nth| {
            while pipe.now < begin + rtt * nth {
                pipe.step(&mut cc);
            }
            if nth == lose_at {
                pipe.lose(&mut cc);
            }
            cc.window.cwnd
        };
        (1..=round_trips).map(after).collect()
    }

    #[track_caller]
    fn assert_near(value: f64, wanted: f64, by: f64) {
        assert!((value - wanted).abs() <= by, "{value} is not {wanted}");
    }

    #[test]
    fn on_the_reference_path_it_is_reno() {
        let windows = windows(Span::from_millis(25), 12, 4);
        for pair in windows[..3].windows(2) {
            assert_near(pair[1] / pair[0], 2.0, 0.12);
        }
        for pair in windows[5..].windows(2) {
            assert_near(pair[1] - pair[0], 1.0, 0.1);
        }
    }

    #[test]
    fn twice_as_long_it_gains_four_packets_a_round_trip() {
        // ρ = 2: slow start times 2² a round trip, then ρ² packets.
        let windows = windows(Span::from_millis(50), 12, 3);
        assert_near(windows[1] / windows[0], 4.0, 0.4);
        for pair in windows[4..].windows(2) {
            assert_near(pair[1] - pair[0], 4.0, 0.2);
        }
    }

    proptest! {
        #[test]
        fn growth_in_packets_a_second_depends_on_the_path_only_through_its_rate(
            ms in 25i64..400,
        ) {
            // ρ² packets a round trip are a rate that grows as on the reference path:
            // d(cwnd/RTT)/dt = ρ²/RTT² = 1/RTT₀².
            let rtt = Span::from_millis(ms);
            let (mut cc, mut pipe) = (hybla(), Pipe::new(rtt));
            cc.window.ssthresh = Some(10.0);
            pipe.start(&mut cc);
            let begin = (pipe.now, cc.window.cwnd);
            while pipe.now < begin.0 + rtt * 6 {
                pipe.step(&mut cc);
            }
            let grown = (cc.window.cwnd - begin.1) / rtt.secs_f64();
            let growth = grown / (pipe.now - begin.0).secs_f64();
            let wanted = 1.0 / (0.025 * 0.025);
            prop_assert!((0.6..1.1).contains(&(growth / wanted)), "{}", growth / wanted);
        }
    }
}
