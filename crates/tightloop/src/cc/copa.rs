//! Copa: aims at a rate that leaves 1/δ packets in the queue.
//!
//! # Idea
//! The rate that balances throughput against delay is 1/(δ·d_q), d_q being the
//! queueing delay: about 1/δ packets per flow in the bottleneck's queue. Step
//! the window towards it, empty the queue regularly on the way, and use that to
//! tell whether somebody else fills it.
//!
//! # Signals
//! The smallest RTT of 10 s and of half a round trip (*standing*: it ignores
//! jitter); losses in competition only.
//!
//! # Law
//! d_q = RTT_standing − RTT_min. In packets, on every acknowledgement:
//!
//! - cwnd/RTT_standing ≤ 1/(δ·d_q): cwnd += v/(δ·cwnd), otherwise −= the same
//! - pace at 2·cwnd/RTT_standing
//! - once per window compare cwnd with what it was: the same direction for more
//!   than three round trips doubles v, another direction resets it to 1
//! - slow start: cwnd doubles per round trip until the rate exceeds its target
//! - `mode = "auto"`: competes by AIMD on 1/δ where the queue has not been nearly
//!   empty (d_q ≤ a tenth of RTT_max − RTT_min) for five round trips
//!
//! Alone, the queue swings between 0 and 2.5/δ packets with a period of five
//! round trips. [Copa] §3.
//!
//! `variant = "pantheon"` is what the authors' genericCC does and Pantheon
//! measured: v doubles every round trip without waiting for three; δ is 0.1;
//! the queue is judged by the smallest RTT of four round trips; nothing moves
//! before 19 acknowledgements; more than 30 % of loss over two round trips
//! takes 30 % of the window; two silent seconds start it anew.
//!
//! # Departures
//! - A turn at v > 1 starts a new window, so that the speed is kept for one round
//!   trip and then gone. By the paper's text the speed found on the way up may
//!   double once more and rules the way down for up to two round trips; at some δ
//!   and rates (0.25 at 12 Mbit/s, 40 ms) the loop then swings with a period of
//!   eight round trips and leaves a quarter of the link unused for ever.
//!   `restart_at_turn = false` is the text.
//! - Mode switching is off by default: without a competitor it may find one in
//!   its own queue (a drop from 20 to 5 Mbit/s is enough), and then stays.
//! - v/δ stays within the window, as in genericCC: at most a doubling per round
//!   trip. The paper sets no limit.
//! - *Nearly empty* includes equality, or a path without any queue would never
//!   count as empty.
//! - Persistent congestion ([RFC9002] §7.6) restarts the paper's variant from
//!   the smallest window in slow start; the paper does not speak of outages.
//! - The window does not grow on packets sent while the application, not the
//!   window, was the limit; `grow_when_app_limited` switches that off, and
//!   [`webrtc`] shows what becomes of it.

use serde::{Deserialize, Serialize};

use self::heavy::HeavyLoss;
use self::mode::{Mode, Sample};
use self::velocity::{Ack, Velocity};
use super::{Acked, Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::filter::WindowedMin;
use crate::units::{Bytes, Span, Time};

mod heavy;
mod mode;
mod velocity;
pub mod webrtc;

/// The entry in [`super::ALGORITHMS`].
pub const COPA: Algorithm = Algorithm {
    name: "copa",
    summary: "delay-based, aims at 1/delta packets in the queue; competes where it must",
    cites: &["Copa", "GenericCC", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Copa::new(start)?)),
    reporter: None,
};

/// The smallest window, in packets. [GenericCC] markoviancc.cc.
const MIN_WINDOW: f64 = 2.0;
/// Windows per standing RTT that are paced. [Copa] §2.1.
const PACING_GAIN: u64 = 2;
/// RTT_min is sought over this. [Copa] §2.1.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// And, by genericCC, over at least so many times itself. [GenericCC] rtt-window.cc.
const MIN_RTT_WINDOW_RTTS: i64 = 20;
/// Ours: RTT_min need not be forgotten sooner than to a tenth of a second.
const MIN_RTT_GRAIN: Span = Span::from_millis(100);
/// Of the difference, what a new sample adds to the smoothed RTT. [RFC9002] §5.3.
const SRTT_DIVISOR: i64 = 8;
/// The same, by the authors' code. [GenericCC] rtt-window.cc.
const SRTT_DIVISOR_PANTHEON: i64 = 16;
/// The standing RTT is sought over a smoothed RTT divided by this. [Copa] §2.1.
const STANDING_DIVISOR: i64 = 2;
/// Ours: shorter RTTs count as this, so that a rate can be made of them.
const MIN_RTT: Span = Span::from_micros(1);
/// Ours: longer RTTs count as this, so that the rate is not zero.
const MAX_RTT: Span = Span::from_secs(60);
/// Acknowledgements before anything moves. [GenericCC] markoviancc.cc.
const PROBE_ACKS: u32 = 19;
/// What heavy loss leaves of the window. [GenericCC] markoviancc.cc.
const HEAVY_BETA: f64 = 0.7;
/// Silence after which it starts anew. [GenericCC] ctcp.hh.
const SILENCE: Span = Span::from_secs(2);

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The paper's. [Copa].
    Paper,
    /// The authors' code, as Pantheon ran it. [GenericCC].
    Pantheon,
}

/// What decides δ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// The setting.
    Fixed,
    /// Mode switching.
    Auto,
}

/// Settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// δ of the default mode. 0.5 for the paper's variant, [Copa] §2.2; 0.1 for
    /// Pantheon's, [Pantheon].
    pub delta: Option<f64>,
    /// Whether δ is fixed or follows the competition. Ours: fixed; see Departures.
    pub mode: Delta,
    /// Whose rules. Ours: the paper's.
    pub variant: Variant,
    /// A turn at v > 1 starts a new window. Ours: on; see Departures. Pantheon's
    /// variant has no such thing.
    pub restart_at_turn: bool,
    /// The first window, in packets. [GenericCC] markoviancc.cc; [RFC9002] §7.2.
    pub initial_window: u32,
    /// Grow on packets the application, not the window, limited. Ours: off;
    /// [RFC9002] §7.8.
    pub grow_when_app_limited: bool,
    /// The largest window. [RFC7323] §2.3: the largest TCP can announce.
    pub max_window: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            delta: None,
            mode: Delta::Fixed,
            variant: Variant::Paper,
            restart_at_turn: true,
            initial_window: 10,
            grow_when_app_limited: false,
            max_window: Bytes::new(1 << 30),
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Copa {
    params: Params,
    mss: Bytes,
    /// The largest window, in packets.
    ceiling: f64,
    cwnd: f64,
    slow_start: bool,
    velocity: Velocity,
    mode: Mode,
    min_rtt: WindowedMin<Span>,
    standing: WindowedMin<Span>,
    queue: Option<Queue>,
    next_number: u64,
    acks: u32,
    heavy: HeavyLoss,
    /// Since when packets under way have met silence.
    silent_since: Option<Time>,
}

/// What the last acknowledgement said about the queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    srtt: Span,
    latest: Span,
    min_rtt: Span,
    standing: Span,
}

impl Copa {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys; δ or a window out of range.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let delta = params.delta.unwrap_or(match params.variant {
            Variant::Paper => 0.5,
            Variant::Pantheon => 0.1,
        });
        SettingError::unless((1e-3..=10.0).contains(&delta), || {
            format!("delta = {delta} is not between 0.001 and 10; the paper uses 0.5")
        })?;
        let (initial, ceiling) = (
            f64::from(params.initial_window),
            params.max_window.ratio(start.mss),
        );
        SettingError::unless(initial >= MIN_WINDOW && ceiling >= initial, || {
            format!(
                "initial_window = {initial} packets is not between {MIN_WINDOW} and max_window = {}",
                params.max_window
            )
        })?;
        Ok(Self {
            mss: start.mss,
            ceiling,
            cwnd: initial,
            slow_start: true,
            velocity: Velocity::new(Time::ZERO, initial, 0),
            mode: Mode::new(delta),
            min_rtt: WindowedMin::new(MIN_RTT_WINDOW).with_grain(MIN_RTT_GRAIN),
            standing: WindowedMin::new(Span::ZERO).keeping_newest(),
            queue: None,
            next_number: 0,
            acks: 0,
            heavy: HeavyLoss::default(),
            silent_since: None,
            params,
        })
    }

    /// Slow start again, from a window.
    fn restart(&mut self, now: Time, cwnd: f64) {
        self.cwnd = cwnd;
        self.slow_start = true;
        self.velocity = Velocity::new(now, cwnd, self.next_number);
        self.acks = 0;
    }

    fn measure(&mut self, now: Time, rtt: Span) {
        let rtt = rtt.clamp(MIN_RTT, MAX_RTT);
        let srtt = self.queue.map_or(rtt, |last| {
            let news = rtt - last.srtt;
            last.srtt
                + match self.params.variant {
                    Variant::Paper => news / SRTT_DIVISOR,
                    Variant::Pantheon => news / SRTT_DIVISOR_PANTHEON,
                }
        });
        self.min_rtt.push(now, rtt);
        self.standing.set_window(srtt / STANDING_DIVISOR);
        self.standing.push(now, rtt);
        let queue = Queue {
            srtt,
            latest: rtt,
            min_rtt: self.min_rtt.get(now).unwrap_or(rtt),
            standing: self.standing.get(now).unwrap_or(rtt),
        };
        if self.params.variant == Variant::Pantheon {
            let window = MIN_RTT_WINDOW.max(queue.min_rtt * MIN_RTT_WINDOW_RTTS);
            self.min_rtt.set_window(window);
        }
        if self.params.mode == Delta::Auto {
            let sample = Sample {
                now,
                rtt,
                min_rtt: queue.min_rtt,
                standing: queue.standing,
                srtt,
            };
            self.mode.on_acked(&sample, self.params.variant);
        }
        self.queue = Some(queue);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        if let Some(rtt) = acked.rtt {
            self.measure(now, rtt);
        }
        let Some(queue) = self.queue else { return };
        self.acks = self.acks.saturating_add(1);
        if self.params.variant == Variant::Pantheon && self.acks < PROBE_ACKS {
            return;
        }
        let delta = self.mode.delta();
        let packets = acked.packet.size.ratio(self.mss);
        let d_q = (queue.standing - queue.min_rtt).secs_f64();
        let up = self.cwnd * delta * d_q <= queue.standing.secs_f64();
        let may_grow = self.params.grow_when_app_limited || !acked.packet.app_limited;
        if self.slow_start {
            if up {
                self.cwnd += if may_grow { packets } else { 0.0 };
                self.cwnd = self.cwnd.min(self.ceiling);
                return;
            }
            self.slow_start = false;
            self.velocity = Velocity::new(now, self.cwnd, self.next_number);
        }
        if self.params.restart_at_turn && self.params.variant == Variant::Paper {
            self.velocity.turn(up, self.cwnd, self.next_number);
        }
        let step = self.velocity.value() * packets / (delta * self.cwnd);
        if !up {
            self.cwnd -= step;
        } else if may_grow {
            self.cwnd += step;
        }
        self.cwnd = self.cwnd.clamp(MIN_WINDOW, self.ceiling);
        self.velocity.count(up);
        let ack = Ack {
            now,
            number: acked.packet.number,
            next_number: self.next_number,
            rtt: queue.latest,
            cwnd: self.cwnd,
            delta,
        };
        self.velocity.on_acked(&ack, self.params.variant);
    }

    fn on_losses(&mut self, now: Time, feedback: &Feedback<'_>) {
        let Some(queue) = self.queue else { return };
        if !feedback.lost.is_empty() && self.params.mode == Delta::Auto {
            self.mode.on_loss(now, queue.srtt);
        }
        if self.params.variant == Variant::Pantheon {
            if self.heavy.on_feedback(now, feedback, queue.srtt) {
                self.cwnd = (self.cwnd * HEAVY_BETA).max(MIN_WINDOW);
            }
        } else if feedback.persistent_congestion {
            self.restart(now, MIN_WINDOW);
        }
    }
}

impl Controller for Copa {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        for acked in feedback.acked {
            self.on_acked(now, acked);
        }
        self.on_losses(now, feedback);
        if !feedback.acked.is_empty() {
            self.silent_since = (path.in_flight > Bytes::ZERO).then_some(now);
        }
    }

    fn control(&self) -> Control {
        let window = self.mss * self.cwnd;
        let pace = |queue: Queue| (window * PACING_GAIN).per(queue.standing);
        Control {
            window: Some(window),
            pacing: self.queue.and_then(pace),
            floor: None,
            target: None,
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Sent, _path: &PathState) {
        self.next_number = self.next_number.max(packet.number + 1);
        self.silent_since.get_or_insert(now);
    }

    fn on_timeout(&mut self, now: Time, _path: &PathState) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.restart(now, f64::from(self.params.initial_window));
            self.min_rtt.clear();
            self.standing.clear();
            self.silent_since = Some(now);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.params.variant == Variant::Pantheon)
            .then(|| self.silent_since.map(|since| since + SILENCE))
            .flatten()
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("cwnd", self.cwnd);
        gauge("delta", self.mode.delta());
        gauge("velocity", self.velocity.value());
        gauge("competing", f64::from(u8::from(self.mode.competing())));
        if let Some(queue) = self.queue {
            gauge("min_rtt_s", queue.min_rtt.secs_f64());
            gauge("standing_rtt_s", queue.standing.secs_f64());
        }
    }
}

#[cfg(test)]
mod tests;
