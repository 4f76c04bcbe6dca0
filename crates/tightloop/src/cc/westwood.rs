//! Westwood+: after a loss, keep what the path has been delivering.
//!
//! # Idea
//! Reno takes half away whatever the loss meant. Westwood+ measures the rate at
//! which acknowledgements return and sets the window to what that rate fills
//! without a queue, so that a random loss costs little and a full queue drains.
//!
//! # Signals
//! Losses and ECN marks, each at most once per round trip; bytes acknowledged
//! per round trip; the smallest RTT.
//!
//! # Law
//! - once per smoothed RTT, at least 50 ms: sample b = bytes acknowledged since
//!   the last one over the time since; b̂₁ = 7/8·b̂₁ + 1/8·b, BWE = 7/8·BWE + 1/8·b̂₁
//! - growth as Reno
//! - a loss or mark: ssthresh = max(BWE·RTT_min, 2 packets), cwnd = ssthresh
//! - persistent congestion: the same ssthresh, cwnd = 1
//!
//! # Departures
//! - The filter is Linux's of two equal stages, the first sample setting both;
//!   the paper's is one of Tustin's form.
//! - A window that was not used is not made larger by a reduction.

use serde::{Deserialize, Serialize};

use super::window::Window;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::filter::Ewma;
use crate::units::{Bytes, Rate, Span, Time};

/// The entry in [`super::ALGORITHMS`].
pub const WESTWOOD: Algorithm = Algorithm {
    name: "westwood",
    summary: "Westwood+: grows as Reno, after a loss keeps what the path delivered",
    cites: &["Westwood", "RFC5681", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Westwood::new(start)?)),
    reporter: None,
};

/// The weight of a new sample in each stage. Ours: Linux's, 1/8.
const GAIN: f64 = 1.0 / 8.0;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The shortest time to take a sample over. Ours: 50 ms, as Linux does.
    pub least_interval: Span,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            least_interval: Span::from_millis(50),
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Westwood {
    least_interval: Span,
    window: Window,
    /// Both stages of the filter, in bit/s.
    first: Ewma,
    second: Ewma,
    estimate: Option<Rate>,
    /// Since when bytes are counted, and how many there are.
    since: Option<Time>,
    bytes: Bytes,
}

impl Westwood {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a first window of nothing, or above the largest; no interval.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        SettingError::unless(params.least_interval.is_positive(), || {
            format!(
                "least_interval = {} is no time; the usual one is 50 ms",
                params.least_interval
            )
        })?;
        Ok(Self {
            least_interval: params.least_interval,
            window: Window::new(start, params.initial_window, params.max_window)?,
            first: Ewma::new(GAIN),
            second: Ewma::new(GAIN),
            estimate: None,
            since: None,
            bytes: Bytes::ZERO,
        })
    }

    fn measure(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += feedback.acked_bytes();
        let interval = path.smoothed_rtt.unwrap_or_default();
        if now - since < interval.max(self.least_interval) {
            return;
        }
        if let Some(sample) = self.bytes.per(now - since) {
            let first = self.first.push(sample.bps_f64());
            self.estimate = Some(Rate::from_bps_f64(self.second.push(first)));
        }
        (self.since, self.bytes) = (Some(now), Bytes::ZERO);
    }

    /// What the path holds without a queue, in packets.
    fn pipe(&self) -> Option<f64> {
        let bytes = self.estimate?.over(self.window.min_rtt?);
        Some(self.window.packets(bytes))
    }
}

impl Controller for Westwood {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.window.min_rtt = path.min_rtt;
        self.measure(now, feedback, path);
        let pipe = self.pipe().unwrap_or(0.0);
        let window = &mut self.window;
        if window.lost(feedback) || window.marked(feedback) {
            window.reduce(pipe);
        }
        if feedback.persistent_congestion {
            window.reduce(pipe);
            window.collapse();
        }
        for packets in window.growing(feedback) {
            window.grow_as_reno(packets);
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
        if let Some(estimate) = self.estimate {
            gauge("bwe_bps", estimate.bps_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};

    const RTT: Span = Span::from_millis(100);

    fn westwood() -> Westwood {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Westwood::new(&start).expect("good settings")
    }

    /// A window of so many packets over 12 Mbit/s and 100 ms, which hold 100, for
    /// ten seconds.
    fn steady(window: f64) -> (Westwood, Pipe) {
        let mut pipe = Pipe::new(RTT).with_rate(Rate::from_mbps(12));
        let mut cc = westwood();
        cc.window.ssthresh = Some(2.0);
        cc.window.cwnd = window;
        cc.window.ceiling = window;
        pipe.start(&mut cc);
        while pipe.now < Time::from_secs(10) {
            pipe.step(&mut cc);
        }
        (cc, pipe)
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds_however_much_waits() {
        for (window, left) in [(200.0, 100.0), (150.0, 100.0), (60.0, 60.0)] {
            let (mut cc, mut pipe) = steady(window);
            pipe.lose(&mut cc);
            let cwnd = cc.window.cwnd;
            assert!((0.97 * left..=1.03 * left).contains(&cwnd), "{cwnd}");
        }
    }

    #[test]
    fn persistent_congestion_leaves_one_packet_and_the_way_back() {
        let (mut cc, pipe) = steady(150.0);
        cc.on_feedback(pipe.now, &Feedback::of_losses(&[], true), &pipe.state);
        assert!((0.99..=1.01).contains(&cc.window.cwnd));
        let ssthresh = cc.window.ssthresh.expect("one");
        assert!((97.0..=103.0).contains(&ssthresh), "{ssthresh}");
    }

    #[test]
    fn the_filter_has_two_stages_of_an_eighth() {
        let mut cc = westwood();
        let path = PathState {
            smoothed_rtt: Some(Span::from_millis(40)),
            ..PathState::default()
        };
        let mut at = Time::ZERO;
        let mut feed = |packets: u64| {
            let acked = vec![crate::cc::pipe::acked(MSS); crate::units::index(packets)];
            let feedback = Feedback {
                acked: &acked,
                ..Feedback::of_losses(&[], false)
            };
            cc.measure(at, &feedback, &path);
            at += Span::from_millis(50);
            cc.estimate.map_or(0.0, Rate::mbps_f64)
        };
        assert!(feed(1) <= 0.0);
        // 50 packets in 50 ms are 12 Mbit/s; then twice that: 12 + 12/64.
        assert!((feed(50) - 12.0).abs() < 1e-6);
        assert!((feed(100) - 12.1875).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn the_window_stays_between_one_packet_and_the_largest(
            steps in prop::collection::vec(0u8..20, 1..300),
        ) {
            let (mut cc, mut pipe) = (westwood(), Pipe::new(RTT));
            pipe.start(&mut cc);
            for step in steps {
                match step {
                    0 => drop(pipe.lose(&mut cc)),
                    1 => cc.on_feedback(pipe.now, &Feedback::of_losses(&[], true), &pipe.state),
                    _ if pipe.state.in_flight > Bytes::ZERO => pipe.step(&mut cc),
                    _ => {}
                }
                let cwnd = cc.window.cwnd;
                prop_assert!(cwnd >= 1.0 && cwnd <= cc.window.ceiling, "{}", cwnd);
            }
        }
    }
}
