//! RoCC: the window is what arrived in the last two round trips, and a little.
//!
//! # Idea
//! What the path delivered in two propagation round trips is twice the pipe: as
//! a window it keeps the link full with one more round trip of queue at most,
//! whatever delivery looks like in between. The little more makes it grow.
//!
//! # Signals
//! Bytes acknowledged and lost over the last two minimum RTTs; whether the
//! application was the limit.
//!
//! # Law
//! - cwnd = bytes acknowledged in the last 2·RTT_min, plus 2 packets; the history
//!   is kept in 16 intervals
//! - cwnd does not fall on account of a history in which the application was
//!   the limit
//! - losses up to 64/1024 of that history: pace at cwnd/RTT_min
//! - more: pace at (1 + 1/8)·cwnd/(2·RTT_smoothed), just above what arrives
//!
//! Nothing else starts it: below the link's rate the law alone grows, paced as
//! e^(λt/RTT) with λ = e^−λ − e^−3λ = 0.355, which doubles every two round trips;
//! limited by the window alone by 1.618 every round trip (1 − 2x + x³ = 0). On a
//! full link cwnd is 2·C·RTT_min + 2 packets, so the RTT settles at twice its
//! minimum. [RoCC].
//!
//! # Departures
//! - Until the history is as long as it should be, cwnd does not fall: the first
//!   acknowledgement would otherwise shrink the first window to three packets.
//! - RTT_min is the smallest since the path came up. A window that forgets would
//!   take its own standing queue for the path, and double it each time.
//! - Losses arrive in batches too; they shrink nothing, they count.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Algorithm, Control, Controller, Feedback, PathState, SettingError, Start, written};
use crate::units::{Bytes, Span, Time, float};

/// The entry in [`super::ALGORITHMS`].
pub const ROCC: Algorithm = Algorithm {
    name: "rocc",
    summary: "the window is what arrived in two round trips and two packets more",
    cites: &["RoCC", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Rocc::new(start)?)),
    reporter: None,
};

/// The history, in minimum RTTs. [RoCC].
const HISTORY_RTTS: i64 = 2;
/// In how many intervals it is kept. [RoCC].
const INTERVALS: i64 = 16;
/// What is added to what arrived, in packets, and the least window. [RoCC].
const EXTRA: u64 = 2;
/// 64/1024, the share of losses above which it paces by what arrives. [RoCC].
const LOSSY: f64 = 64.0 / 1024.0;
/// (1024 + 128)/1024, what is then paced of half a window per smoothed RTT. [RoCC].
const LOSSY_GAIN: f64 = 1.0 + 128.0 / 1024.0;
/// Ours: shorter RTTs count as this, so that a rate can be made of them.
const MIN_RTT: Span = Span::from_micros(1);
/// Ours: longer RTTs count as this, so that the rate is not zero.
const MAX_RTT: Span = Span::from_secs(60);

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The first window, in packets. [RFC9002] §7.2.
    pub initial_window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { initial_window: 10 }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Rocc {
    mss: Bytes,
    cwnd: Bytes,
    history: VecDeque<Interval>,
    /// When the first acknowledgement came.
    since: Option<Time>,
    /// Too much is lost to pace by the minimum RTT.
    lossy: bool,
    rtt: Option<Rtt>,
}

/// One part of the history.
#[derive(Clone, Copy, Debug)]
struct Interval {
    from: Time,
    acked: Bytes,
    lost: Bytes,
    app_limited: bool,
}

/// Both within limits.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    min: Span,
    smoothed: Span,
}

impl Rocc {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; a first window below two packets.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let initial = u64::from(params.initial_window);
        SettingError::unless(initial >= EXTRA, || {
            format!(
                "initial_window = {initial} packets is less than the {EXTRA} it never goes below"
            )
        })?;
        Ok(Self {
            mss: start.mss,
            cwnd: start.mss * initial,
            history: VecDeque::new(),
            since: None,
            lossy: false,
            rtt: None,
        })
    }

    /// Writes down what a feedback says and forgets what is too old.
    fn remember(&mut self, now: Time, feedback: &Feedback<'_>, length: Span) {
        let app_limited = feedback.acked.iter().any(|acked| acked.packet.app_limited);
        let part = length / INTERVALS;
        let fits = |last: &&mut Interval| now - last.from < part;
        match self.history.back_mut().filter(fits) {
            Some(last) => {
                last.acked += feedback.acked_bytes();
                last.lost += feedback.lost_bytes();
                last.app_limited |= app_limited;
            }
            None => self.history.push_back(Interval {
                from: now,
                acked: feedback.acked_bytes(),
                lost: feedback.lost_bytes(),
                app_limited,
            }),
        }
        while self
            .history
            .front()
            .is_some_and(|first| now - first.from > length)
        {
            self.history.pop_front();
        }
    }
}

impl Controller for Rocc {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        let (Some(min), Some(smoothed)) = (path.min_rtt, path.smoothed_rtt) else {
            return;
        };
        let rtt = Rtt {
            min: min.clamp(MIN_RTT, MAX_RTT),
            smoothed: smoothed.clamp(MIN_RTT, MAX_RTT),
        };
        self.rtt = Some(rtt);
        let length = rtt.min * HISTORY_RTTS;
        self.remember(now, feedback, length);
        let since = *self.since.get_or_insert(now);

        let acked: Bytes = self.history.iter().map(|part| part.acked).sum();
        let lost: Bytes = self.history.iter().map(|part| part.lost).sum();
        self.lossy = lost.get_f64() > LOSSY * (acked + lost).get_f64();
        let app_limited = self.history.iter().any(|part| part.app_limited);
        let cwnd = acked + self.mss * EXTRA;
        if cwnd > self.cwnd || !(app_limited || now - since < length) {
            self.cwnd = cwnd;
        }
    }

    fn control(&self) -> Control {
        let pacing = self.rtt.and_then(|rtt| {
            if self.lossy {
                (self.cwnd * LOSSY_GAIN).per(rtt.smoothed * HISTORY_RTTS)
            } else {
                self.cwnd.per(rtt.min)
            }
        });
        Control {
            window: Some(self.cwnd),
            pacing,
            floor: None,
            target: None,
        }
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("cwnd", self.cwnd.ratio(self.mss));
        gauge("lossy", float(u64::from(self.lossy)));
        if let Some(rtt) = self.rtt {
            gauge("min_rtt_s", rtt.min.secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::pipe::{MSS, Pipe};
    use crate::units::Rate;

    const RTT: Span = Span::from_millis(40);

    fn rocc() -> Rocc {
        let start = Start {
            mss: MSS,
            ..Start::plain()
        };
        Rocc::new(&start).expect("good settings")
    }

    fn packets(cc: &Rocc) -> f64 {
        cc.cwnd.ratio(MSS)
    }

    /// One second over a pipe of 12 Mbit/s, a packet per millisecond.
    fn settled() -> (Rocc, Pipe) {
        let (mut cc, mut pipe) = (rocc(), Pipe::new(RTT).with_rate(Rate::from_mbps(12)));
        pipe.start(&mut cc);
        while pipe.now < Time::from_secs(1) {
            pipe.step(&mut cc);
        }
        (cc, pipe)
    }

    #[test]
    fn on_a_full_link_the_window_is_two_round_trips_and_the_queue_is_one() {
        let (mut cc, mut pipe) = settled();
        for _ in 0..2_000 {
            pipe.step(&mut cc);
            // 80 packets arrive in 80 ms; the history ends with a whole interval of 5.
            let cwnd = packets(&cc);
            assert!((77.0..=83.0).contains(&cwnd), "{cwnd}");
            let waiting = pipe.waiting();
            assert!((36.0..=44.0).contains(&waiting), "{waiting}");
        }
    }

    #[test]
    fn the_pace_is_a_window_per_minimum_rtt_and_by_arrivals_under_loss() {
        let (mut cc, mut pipe) = settled();
        let by_minimum = cc.cwnd.per(RTT);
        assert_eq!(cc.control().pacing, by_minimum);
        // Of 80 packets 5 are less than 64/1024, 6 are more.
        for _ in 0..4 {
            pipe.lose(&mut cc);
        }
        assert!(!cc.lossy);
        for _ in 0..3 {
            pipe.lose(&mut cc);
        }
        assert!(cc.lossy);
        let smoothed = pipe.state.smoothed_rtt.expect("measured");
        let by_arrivals = (cc.cwnd * 1.125).per(smoothed * 2);
        assert_eq!(cc.control().pacing, by_arrivals);
    }

    #[test]
    fn without_a_queue_the_window_grows_by_the_golden_ratio_every_round_trip() {
        let (mut cc, mut pipe) = (rocc(), Pipe::new(RTT));
        pipe.start(&mut cc);
        let windows: Vec<f64> = (1..8)
            .map(|nth| {
                while pipe.now < Time::ZERO + RTT * (2 * nth) {
                    pipe.step(&mut cc);
                }
                packets(&cc)
            })
            .collect();
        // The first window's own shape is gone after a few round trips.
        for pair in windows[2..].windows(2) {
            let growth = pair[1] / pair[0];
            // 1.618² is 2.618; a window that grows in steps does a little better.
            assert!((2.5..3.0).contains(&growth), "{windows:?}");
        }
    }

    #[test]
    fn the_window_never_falls_while_the_application_is_the_limit() {
        for app_limited in [true, false] {
            let (mut cc, mut pipe) = settled();
            let before = packets(&cc);
            // Half of what the link could do, for a second.
            for _ in 0..500 {
                pipe.now += Span::from_millis(2);
                pipe.step_with(&mut cc, |acked| {
                    acked.packet.app_limited = app_limited;
                });
            }
            let after = packets(&cc);
            if app_limited {
                assert!((after - before).abs() < 2.5, "{before} then {after}");
            } else {
                assert!((36.0..=43.0).contains(&after), "{before} then {after}");
            }
        }
    }

    #[test]
    fn a_first_window_too_small_is_refused() {
        let start = Start {
            params: toml::toml! { initial_window = 1 },
            ..Start::plain()
        };
        let refused = Rocc::new(&start).expect_err("refused").to_string();
        assert!(refused.contains("initial_window = 1"), "{refused}");
    }

    proptest! {
        #[test]
        fn the_window_is_what_a_full_scan_of_the_history_says(
            steps in prop::collection::vec((0i64..9_000, 1u64..8), 1..200),
        ) {
            let mut cc = rocc();
            let path = PathState {
                min_rtt: Some(RTT),
                smoothed_rtt: Some(RTT),
                ..PathState::default()
            };
            let (mut now, mut all) = (Time::ZERO, vec![]);
            for (micros, packets) in steps {
                now += Span::from_micros(micros);
                let acked = crate::cc::pipe::acked(MSS * packets);
                let feedback = Feedback { acked: &[acked], ..Feedback::of_losses(&[], false) };
                cc.on_feedback(now, &feedback, &path);
                all.push((now, MSS * packets));
                let within = |age: Span| -> Bytes {
                    all.iter().filter(|(at, _)| now - *at <= age).map(|(_, size)| *size).sum()
                };
                if now - all[0].0 >= RTT * 2 {
                    let arrived = cc.cwnd - MSS * EXTRA;
                    // At most one interval of sixteen is missing.
                    prop_assert!(arrived <= within(RTT * 2));
                    prop_assert!(arrived >= within(RTT * 2 - RTT / 8));
                }
            }
            prop_assert!(cc.history.len() <= 17);
        }
    }
}
