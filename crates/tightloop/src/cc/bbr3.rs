//! BBRv3: a model of the path, its bandwidth and its round trip, probed in turns.
//!
//! By draft-ietf-ccwg-bbr as of 3 August 2026: revision 06 and three commits,
//! 4ce5e87 of the working group's repository ietf-wg-ccwg/draft-ietf-ccwg-bbr.
//! Functions and quantities bear the draft's names.
//!
//! # Idea
//! What a path carries and how long it takes, measured apart, say how fast to
//! send and how much to keep in flight, without filling a buffer. Losses bound
//! the model: for long, where a probe for bandwidth met too many; until the next
//! probe, where they came by themselves.
//!
//! # Signals
//! One delivery-rate sample per feedback with what was in flight and lost since
//! its packet left; the round-trip time of the packet sent last; losses, also
//! those that turn out to be none; ECN marks count as losses.
//!
//! # Law
//! `bw` = min(`max_bw` of two cycles, `bw_shortterm`), `bdp` = `bw`·`min_rtt` of
//! 10 s. Pace at 0.99·gain·`bw`; the window is gain·`bdp` + `extra_acked`, at
//! least 4 packets, at most `inflight_longterm` and `inflight_shortterm`.
//!
//! | state | pacing | window | until |
//! | --- | --- | --- | --- |
//! | Startup | 2.77 | 2 | three rounds grow the rate by less than 25 % each, or a round loses more than 2 % in 6 places |
//! | Drain | 0.5 | 2 | in flight ≤ `bdp`, or three rounds have passed |
//! | ProbeBW_DOWN | 0.9 | 2 | in flight ≤ `bdp` and ≤ 0.85·`inflight_longterm`; or a probe is due |
//! | ProbeBW_CRUISE | 1 | 2, ≤ 0.85·`inflight_longterm` | a probe is due: after 2 to 3 s, or min(`bdp` in packets, 63) rounds |
//! | ProbeBW_REFILL | 1 | 2 | a round has passed |
//! | ProbeBW_UP | 1.25 | 2.25 | the rate has stopped growing; or more than 2 % are lost |
//! | ProbeRTT | 1 | 0.5 | 200 ms and a round; begins when no RTT below the least was seen for 5 s |
//!
//! A probe that loses too much sets `inflight_longterm` to what was in flight,
//! not below 0.7·`bdp`; the probe after it ends as soon as it gets there, and
//! is followed by another if nothing was lost. A round with losses outside
//! probes lowers both short-term bounds to what arrived, not below 0.7 of them.
//!
//! # Departures
//! - The session knows no handshake: the first flight is paced by the draft's
//!   1 ms, and the initial pacing rate is computed again with the first RTT.
//! - Fast recovery is QUIC's ([RFC9002] §7.3.2), a retransmission timeout is
//!   persistent congestion (§7.6).
//! - The state to undo is saved once per recovery. The draft saves it with a
//!   round's first loss too; but the end of a probe resets what tells the first,
//!   so that the next loss of the same batch would overwrite what was saved.
//! - A sample whose interval is too short for a rate is no evidence of a full
//!   pipe, rather than of a rate of zero.
//! - A precautionary probe has reached `inflight_longterm` when, before the
//!   feedback, not one packet more would have fitted below it. By the text it is
//!   what is in flight after the feedback, which a window of that size never is.
//! - `Inflight(max_bw, 1.0)` has two arguments in one place and one in the rest;
//!   here ProbeBW_DOWN ends by `max_bw`, Drain by `bw`.
//! - The window of `max_bw` is the current cycle and the one before, as the text
//!   says; a filter of length 2 would keep one more.
//! - Nothing is said of a rate for the encoder: video may use what is paced, and
//!   follows the probes. While it does not fill the path the draft has no end of
//!   Startup and ProbeBW_UP but losses.

use serde::{Deserialize, Serialize};

use self::aggregation::Aggregation;
use self::control::Undo;
use self::full_pipe::FullPipe;
use self::losses::Losses;
use self::model::{MinRtt, Model};
use self::probe_bw::Cycle;
use self::probe_rtt::ProbeRtt;
use self::round::Round;
use self::sample::{Bubble, Sample};
use super::{Algorithm, Control, Controller, Feedback, PathState, Sent};
use super::{SettingError, Start, written};
use crate::event::Ecn;
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Span, Time, float};

mod aggregation;
mod control;
mod drain;
mod full_pipe;
mod losses;
mod model;
mod probe_bw;
mod probe_rtt;
mod round;
mod sample;
mod startup;
mod state;

use state::State;

/// The entry in [`super::ALGORITHMS`].
pub const BBR3: Algorithm = Algorithm {
    name: "bbr3",
    summary: "model-based: probes bandwidth and round trip in turns, bounded by loss",
    cites: &["BBR-Draft", "RFC9002"],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Bbr3::new(start)?)),
    reporter: None,
};

/// Settings. What the draft fixes is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// C.InitialCwnd, in packets. [BBR-Draft] §5.6.4.1 leaves it to the
    /// transport; [RFC9002] §7.2.
    pub initial_window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { initial_window: 10 }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mss: Bytes,
    rng: Stream,
    initial_cwnd: Bytes,
    state: State,
    round: Round,
    model: Model,
    rtt: MinRtt,
    full_pipe: FullPipe,
    aggregation: Aggregation,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    bubble: Bubble,
    losses: Losses,
    undo: Undo,
    /// BBR.drain_start_round.
    drain_start_round: u64,
    /// BBR.idle_restart.
    idle_restart: bool,
    cwnd: Bytes,
    prior_cwnd: Bytes,
    pacing_rate: Rate,
    /// The next packet's number.
    next_number: u64,
    /// The first packet has left.
    begun: bool,
    /// The initial pacing rate knows the round trip.
    paced_by_rtt: bool,
    /// A restart from idle has changed the control: to be read again at once.
    changed: Option<Time>,
}

impl Bbr3 {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, and a first window of no packets.
    pub fn new(start: &Start) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let initial = params.initial_window;
        SettingError::unless((1..=10_000).contains(&initial), || {
            format!("initial_window = {initial} packets is not between 1 and 10000; usual is 10")
        })?;
        let initial_cwnd = start.mss * u64::from(initial);
        let mut bbr = Self {
            mss: start.mss,
            rng: start.rng.clone(),
            initial_cwnd,
            state: State::Startup,
            round: Round::default(),
            model: Model::new(start.mss),
            rtt: MinRtt::default(),
            full_pipe: FullPipe::default(),
            aggregation: Aggregation::new(),
            cycle: Cycle::new(),
            probe_rtt: ProbeRtt::default(),
            bubble: Bubble::default(),
            losses: Losses::default(),
            undo: Undo::default(),
            drain_start_round: 0,
            idle_restart: false,
            cwnd: initial_cwnd,
            prior_cwnd: Bytes::ZERO,
            pacing_rate: Rate::ZERO,
            next_number: 0,
            begun: false,
            paced_by_rtt: false,
            changed: None,
        };
        bbr.init_pacing_rate(None);
        Ok(bbr)
    }

    /// HandleLostPacket, for a loss or a mark. [BBR-Draft] §5.5.10.2, §3.7.
    fn handle_lost_packet(&mut self, now: Time, packet: &Sent, path: &PathState) {
        if !self.losses.in_recovery() {
            // OnEnterFastRecovery. [BBR-Draft] §5.6.4.4.
            self.save_state_upon_loss();
            self.losses.begin(packet, self.next_number);
        }
        self.losses.add(packet, self.next_number);
        self.model.note_loss(path.delivered);
        self.check_probe_loss(now, packet, path);
    }

    /// Losses, those that were none, and recovery, which come before the sample.
    fn on_losses(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        for acked in feedback.acked {
            if acked.spurious && self.losses.on_spurious(acked.packet.number) {
                self.handle_spurious_loss(path);
            }
            if self.losses.ends_with(&acked.packet) {
                self.restore_cwnd();
            }
        }
        for lost in feedback.lost {
            self.handle_lost_packet(now, &lost.packet, path);
        }
        for acked in feedback.acked.iter().filter(|acked| acked.ecn == Ecn::Ce) {
            self.handle_lost_packet(now, &acked.packet, path);
        }
        if feedback.persistent_congestion {
            // OnEnterRTO. [BBR-Draft] §5.6.4.4.
            self.save_cwnd();
            self.cwnd = path.in_flight + self.mss;
        }
    }

    /// UpdateModelAndState. [BBR-Draft] §5.2.3.
    fn update_model_and_state(&mut self, now: Time, sample: &Sample, path: &PathState) {
        self.model.update_latest(sample, path.delivered);
        if self.round.update(sample, path) {
            self.cycle.rounds_since_probe_up += 1;
        }
        self.model.update_max_bw(sample);
        self.model
            .adapt_lower_bounds(self.state.is_probing_bw(), self.cwnd);
        self.aggregation.on_acked(
            now,
            sample.newly_acked,
            self.model.bw,
            self.cwnd,
            self.round.count,
            self.full_pipe.reached,
        );
        if self.round.start {
            self.full_pipe.on_round(sample);
        }
        self.check_startup_done(sample);
        self.check_drain_done(now, path);
        self.update_probe_bw(now, sample, path);
        self.rtt.update(now, sample.rtt);
        self.check_probe_rtt(now, sample, path);
        self.model.advance_latest(sample);
        self.model.bound_bw();
    }

    /// HandleRestartFromIdle. [BBR-Draft] §5.4.1.
    fn handle_restart_from_idle(&mut self, now: Time, path: &PathState) {
        self.idle_restart = true;
        self.aggregation.interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now, path);
        }
        self.changed = Some(now);
    }
}

impl Controller for Bbr3 {
    fn on_feedback(&mut self, now: Time, feedback: &Feedback<'_>, path: &PathState) {
        self.on_losses(now, feedback, path);
        let Some(sample) = Sample::of(feedback, path, &self.losses, self.bubble) else {
            return;
        };
        if !self.paced_by_rtt && sample.rtt.is_some() {
            self.paced_by_rtt = true;
            self.init_pacing_rate(path.smoothed_rtt);
        }
        self.update_model_and_state(now, &sample, path);
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(&sample, path);
    }

    fn control(&self) -> Control {
        Control {
            window: Some(self.cwnd),
            pacing: Some(self.pacing_rate),
            floor: None,
            target: None,
        }
    }

    fn on_sent(&mut self, now: Time, packet: &Sent, path: &PathState) {
        self.next_number = self.next_number.max(packet.number + 1);
        if !self.begun {
            self.begun = true;
            self.rtt.begin(now);
            self.aggregation.interval_start = now;
        } else if packet.in_flight <= packet.size && packet.app_limited {
            self.handle_restart_from_idle(now, path);
        }
        self.round.on_sent(packet.in_flight + self.mss > self.cwnd);
    }

    fn on_timeout(&mut self, _now: Time, _path: &PathState) {
        self.changed = None;
    }

    fn next_timeout(&self) -> Option<Time> {
        self.changed
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("state", self.state.gauge());
        gauge("max_bw_bps", self.model.max_bw.bps_f64());
        gauge("bw_bps", self.model.bw.bps_f64());
        gauge("pacing_gain", self.state.pacing_gain());
        gauge("cwnd_bytes", self.cwnd.get_f64());
        gauge("round_count", float(self.round.count));
        gauge("extra_acked_bytes", self.aggregation.extra_acked.get_f64());
        gauge("full_bw_reached", float(u64::from(self.full_pipe.reached)));
        let rate = |bound: Option<Rate>| bound.map(Rate::bps_f64);
        let volume = |bound: Option<Bytes>| bound.map(Bytes::get_f64);
        for (name, bound) in [
            ("bw_shortterm_bps", rate(self.model.bw_shortterm)),
            (
                "inflight_shortterm_bytes",
                volume(self.model.inflight_shortterm),
            ),
            (
                "inflight_longterm_bytes",
                volume(self.model.inflight_longterm),
            ),
            ("min_rtt_s", self.rtt.min_rtt.map(Span::secs_f64)),
        ] {
            if let Some(bound) = bound {
                gauge(name, bound);
            }
        }
    }
}

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
