//! DCTCP: give way in proportion to how many packets were marked.
//!
//! # Idea
//! A queue that marks from a small length on, and a sender that reads from the
//! share of marked packets how much too fast it is: short queues without losing
//! the rate.
//!
//! # Signals
//! ECN marks, counted in bytes; losses, at most once per round trip.
//!
//! # Law
//! - once per window: F = bytes marked/bytes acknowledged, α = (1 − g)·α + g·F
//! - marks, once per window: ssthresh = cwnd·(1 − α/2), cwnd = ssthresh
//! - a loss, once per window: half of what is in flight, as Reno
//! - growth as Reno
//!
//! The flow must be marked as capable of ECN and the queue must mark: `ecn` of
//! both. Elsewhere this is Reno.
//!
//! # Departures
//! - α and the cut are exact. With `steps` they are whole, as kernels count: shares
//!   of marks below one step of g·F count as none, and an α of less than 1/g steps
//!   is forgotten at once, so that a queue with few marks grows long.
//! - Each packet reports its own mark, so that the receiver's state machine for
//!   delayed acknowledgements ([RFC8257] §3.2) has nothing to do.

use serde::{Deserialize, Serialize};

use super::window::Window;
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::event::Ecn;
use crate::units::{Bytes, Time};

/// The entry in [`super::ALGORITHMS`].
pub const DCTCP: Algorithm = Algorithm {
    name: "dctcp",
    summary: "gives way in proportion to the share of packets marked by the queue",
    cites: &["RFC8257", "RFC5681", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Dctcp::new(start)?)),
    reporter: None,
};

/// What a loss leaves of what is in flight. [RFC8257] §3.5: as conventional TCP.
const BETA: f64 = 0.5;

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// g, the weight of a window's share in α. [RFC8257] §4.
    pub gain: f64,
    /// The first α. [RFC8257] §4: 1, so that the first mark halves.
    pub initial_alpha: f64,
    /// Into how many steps 1 is divided where α and the cut are whole numbers of
    /// steps and packets. Ours: none, exact; Linux has 1024.
    pub steps: Option<u32>,
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            gain: 1.0 / 16.0,
            initial_alpha: 1.0,
            steps: None,
            initial_window: 10,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Dctcp {
    gain: f64,
    steps: Option<f64>,
    window: Window,
    alpha: f64,
    /// Bytes of this observation window, and of these the marked.
    acked: Bytes,
    marked: Bytes,
    round_end: u64,
}

impl Dctcp {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a first window of nothing, or above the largest; g or α not
    /// between 0 and 1.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        for (name, value) in [
            ("gain", params.gain),
            ("initial_alpha", params.initial_alpha),
        ] {
            SettingError::unless((0.0..=1.0).contains(&value), || {
                format!("{name} = {value} is not between 0 and 1")
            })?;
        }
        SettingError::unless(params.steps != Some(0), || {
            "steps = 0 leaves no α; Linux has 1024".into()
        })?;
        Ok(Self {
            gain: params.gain,
            steps: params.steps.map(f64::from),
            window: Window::new(start, params.initial_window, params.max_window)?,
            alpha: params.initial_alpha,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            round_end: 0,
        })
    }

    /// α after a window with such a share of marks.
    fn next_alpha(&self, share: f64) -> f64 {
        let Some(steps) = self.steps else {
            return self.alpha + self.gain * (share - self.alpha);
        };
        let alpha = self.alpha * steps;
        let decay = libm::floor(alpha * self.gain);
        let left = if decay > 0.0 { alpha - decay } else { 0.0 };
        let more = libm::floor(share * steps * self.gain);
        ((left + more) / steps).min(1.0)
    }

    /// What a mark leaves of the window.
    fn cut(&self) -> f64 {
        let cut = self.window.cwnd * self.alpha / 2.0;
        self.window.cwnd - self.steps.map_or(cut, |_| libm::floor(cut))
    }

    fn observe(&mut self, feedback: &Feedback<'_>) {
        for acked in feedback.acked {
            self.acked += acked.packet.size;
            if acked.ecn == Ecn::Ce {
                self.marked += acked.packet.size;
            }
            if acked.packet.number >= self.round_end {
                let share = self.marked.ratio(self.acked.max(Bytes::new(1)));
                self.alpha = self.next_alpha(share);
                (self.acked, self.marked) = (Bytes::ZERO, Bytes::ZERO);
                self.round_end = self.window.next_number();
            }
        }
    }
}

impl Controller for Dctcp {
    fn on_feedback(&mut self, _now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.window.min_rtt = path.min_rtt;
        self.observe(feedback);
        let cut = self.cut();
        let window = &mut self.window;
        if window.lost(feedback) {
            window.reduce(window.flight(feedback, path) * BETA);
        } else if window.marked(feedback) {
            window.reduce(cut);
        }
        if feedback.persistent_congestion {
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
        gauge("alpha", self.alpha);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};
    use crate::units::Span;

    const RTT: Span = Span::from_millis(20);

    fn dctcp() -> Dctcp {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Dctcp::new(&start).expect("good settings")
    }

    /// A window of 64 packets for so many round trips, of which every `nth`
    /// packet is marked.
    fn marked(round_trips: i64, nth: u64) -> (Dctcp, Pipe) {
        let (mut cc, mut pipe) = (dctcp(), Pipe::new(RTT));
        cc.window.cwnd = 64.0;
        cc.window.ceiling = 64.0;
        pipe.start(&mut cc);
        let end = pipe.now + RTT * round_trips;
        while pipe.now < end {
            // The mark is counted, but the window is held where it is.
            cc.window.cwnd = 64.0;
            cc.window.ssthresh = Some(2.0);
            pipe.step_with(&mut cc, |acked| {
                if acked.packet.number % nth == 0 {
                    acked.ecn = Ecn::Ce;
                }
            });
        }
        (cc, pipe)
    }

    #[test]
    fn alpha_becomes_the_share_of_marked_packets() {
        for (nth, share) in [(1, 1.0), (2, 0.5), (8, 0.125)] {
            let (cc, _) = marked(200, nth);
            assert!((cc.alpha - share).abs() < 0.03, "{} for {share}", cc.alpha);
        }
        // One of 16 steps from 1 towards nothing each window.
        let (cc, _) = marked(16, u64::MAX);
        assert!((0.30..=0.45).contains(&cc.alpha), "{}", cc.alpha);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_a_loss_half() {
        let (mut cc, mut pipe) = marked(200, 8);
        let before = 64.0;
        cc.window.cwnd = before;
        // Until all that was sent before the last reduction has arrived.
        while cc.window.cwnd >= before {
            pipe.step_with(&mut cc, |acked| acked.ecn = Ecn::Ce);
        }
        let left = cc.window.cwnd / before;
        assert!((left - (1.0 - cc.alpha / 2.0)).abs() < 0.01, "{left}");
        assert!((0.8..0.97).contains(&left), "α was an eighth: {left}");

        let (mut cc, mut pipe) = marked(200, u64::MAX);
        pipe.lose(&mut cc);
        assert!(
            (31.0..=33.0).contains(&cc.window.cwnd),
            "{}",
            cc.window.cwnd
        );
    }

    #[test]
    fn in_whole_steps_few_marks_are_none() {
        let mut cc = dctcp();
        cc.steps = Some(1_024.0);
        // 1024 less a 16th, and 64 for a share of all.
        assert!((cc.next_alpha(1.0) - 1.0).abs() < 1e-12);
        assert!((cc.next_alpha(0.0) - 960.0 / 1_024.0).abs() < 1e-12);
        // Fifteen steps have no whole 16th: all are forgotten. One mark of 100 is no
        // step, two are one.
        cc.alpha = 15.0 / 1_024.0;
        assert!(cc.next_alpha(0.01).abs() < 1e-12);
        assert!((cc.next_alpha(0.02) - 1.0 / 1_024.0).abs() < 1e-12);
        cc.window.cwnd = 300.0;
        assert!((cc.cut() - 298.0).abs() < 1e-9, "{}", cc.cut());
        cc.alpha = 6.0 / 1_024.0;
        assert!((cc.cut() - 300.0).abs() < 1e-9, "{}", cc.cut());
    }

    proptest! {
        #[test]
        fn alpha_stays_a_share(marks in prop::collection::vec(any::<bool>(), 1..500)) {
            let (mut cc, mut pipe) = (dctcp(), Pipe::new(RTT));
            pipe.start(&mut cc);
            for mark in marks {
                pipe.step_with(&mut cc, |acked| if mark { acked.ecn = Ecn::Ce });
                prop_assert!((0.0..=1.0).contains(&cc.alpha));
                prop_assert!(cc.window.cwnd >= 2.0 && cc.window.cwnd <= cc.window.ceiling);
            }
        }
    }
}
