//! Reno: one packet more per round trip, half after a loss.
//!
//! # Idea
//! Fill the path until it loses; take half away; begin again. The oldest
//! competitor there is, and the plainest.
//!
//! # Signals
//! Losses and ECN marks, each at most once per round trip.
//!
//! # Law
//! In packets, for each one acknowledged that the window, not the application,
//! held back:
//!
//! - slow start, cwnd < ssthresh: cwnd += 1
//! - congestion avoidance: cwnd += 1/cwnd
//! - a loss or mark among packets sent since the last reduction: ssthresh =
//!   max(FlightSize/2, 2), cwnd = ssthresh
//! - persistent congestion: cwnd = 1, slow start up to ssthresh
//!
//! # Departures
//! - Losses one by one, no limit on growth by one feedback unless
//!   `byte_counting` is off, no pacing: see the shared window.

use serde::{Deserialize, Serialize};

use super::window::Window;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::units::{Bytes, Time};

/// The entry in [`super::ALGORITHMS`].
pub const RENO: Algorithm = Algorithm {
    name: "reno",
    summary: "loss-based, one packet more per round trip, half after a loss",
    cites: &["RFC5681", "RFC6582", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Reno::new(start)?)),
    reporter: None,
};

/// What a loss leaves of what is in flight. [RFC5681] §3.1, equation 4.
const BETA: f64 = 0.5;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Grow by what was acknowledged; otherwise by one acknowledgement as by one
    /// packet, so that delayed ones halve the growth. [RFC5681] §3.1 allows both.
    pub byte_counting: bool,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            byte_counting: true,
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Reno {
    byte_counting: bool,
    window: Window,
}

impl Reno {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a first window of nothing, or above the largest.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        Ok(Self {
            byte_counting: params.byte_counting,
            window: Window::new(start, params.initial_window, params.max_window)?,
        })
    }
}

impl Controller for Reno {
    fn on_feedback(&mut self, _now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let window = &mut self.window;
        window.min_rtt = path.min_rtt;
        window.on_congestion(feedback, path, BETA);
        let packets = window.growing(feedback);
        if self.byte_counting {
            packets.for_each(|packets| window.grow_as_reno(packets));
        } else {
            window.grow_as_reno(packets.sum::<f64>().min(1.0));
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
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};
    use crate::units::Span;

    const RTT: Span = Span::from_millis(40);

    fn reno() -> Reno {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Reno::new(&start).expect("good settings")
    }

    /// The window after each of so many round trips.
    fn windows(cc: &mut Reno, pipe: &mut Pipe, round_trips: i64) -> Vec<f64> {
        let begin = pipe.now;
        (1..=round_trips)
            .map(|nth| {
                while pipe.now < begin + RTT * nth {
                    pipe.step(cc);
                }
                cc.window.cwnd
            })
            .collect()
    }

    #[track_caller]
    fn assert_near(value: f64, wanted: f64, by: f64) {
        assert!((value - wanted).abs() <= by, "{value} is not {wanted}");
    }

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_per_round_trip() {
        let (mut cc, mut pipe) = (reno(), Pipe::new(RTT));
        pipe.start(&mut cc);
        let slow = windows(&mut cc, &mut pipe, 4);
        for pair in slow.windows(2) {
            assert_near(pair[1] / pair[0], 2.0, 0.12);
        }
        pipe.lose(&mut cc);
        let half = cc.window.cwnd;
        assert_near(half, slow[3] / 2.0, 1.0);
        // A round trip of recovery, then one packet more in each.
        windows(&mut cc, &mut pipe, 1);
        let steady = windows(&mut cc, &mut pipe, 6);
        for pair in steady.windows(2) {
            assert_near(pair[1] - pair[0], 1.0, 0.1);
        }
        assert_near(steady[0], half + 1.0, 1.0);
    }

    #[test]
    fn many_losses_of_one_window_halve_it_once() {
        let (mut cc, mut pipe) = (reno(), Pipe::new(RTT));
        pipe.start(&mut cc);
        windows(&mut cc, &mut pipe, 3);
        let before = pipe.state.in_flight.ratio(MSS);
        for _ in 0..10 {
            pipe.lose(&mut cc);
        }
        assert_near(cc.window.cwnd, before / 2.0, 0.51);
    }

    #[test]
    fn persistent_congestion_leaves_one_packet_and_slow_start_returns() {
        let (mut cc, mut pipe) = (reno(), Pipe::new(RTT));
        pipe.start(&mut cc);
        windows(&mut cc, &mut pipe, 3);
        pipe.lose(&mut cc);
        let ssthresh = cc.window.ssthresh.expect("a loss");
        cc.on_feedback(pipe.now, &Feedback::of_losses(&[], true), &pipe.state);
        assert_near(cc.window.cwnd, 1.0, 0.0);
        windows(&mut cc, &mut pipe, 1);
        let back = windows(&mut cc, &mut pipe, 8);
        assert_near(back[0], 2.0, 1.01);
        assert!(back.windows(2).all(|pair| pair[1] >= pair[0]));
        assert_near(back[7], ssthresh + 4.0, 4.0);
    }

    proptest! {
        #[test]
        fn the_window_stays_between_one_packet_and_the_largest(
            steps in prop::collection::vec(0u8..20, 1..400),
        ) {
            let (mut cc, mut pipe) = (reno(), Pipe::new(RTT));
            pipe.start(&mut cc);
            for step in steps {
                match step {
                    0 => drop(pipe.lose(&mut cc)),
                    1 => {
                        let persistent = Feedback::of_losses(&[], true);
                        cc.on_feedback(pipe.now, &persistent, &pipe.state);
                    }
                    // Nothing to acknowledge while the window is shut.
                    _ if pipe.state.in_flight > Bytes::ZERO => pipe.step(&mut cc),
                    _ => {}
                }
                prop_assert!(cc.window.cwnd >= 1.0 && cc.window.cwnd <= cc.window.ceiling, "{}", cc.window.cwnd);
            }
        }
    }
}
