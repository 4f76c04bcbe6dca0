//! A window of packets as the classic TCPs keep it: slow start, at most one
//! reduction per window, one packet after persistent congestion.
//!
//! What they share beyond that: losses are known one by one, as with SACK, so
//! recovery needs neither duplicate acknowledgements nor a window inflated by
//! three packets: the window is ssthresh at once, and stays there until a packet
//! arrives that was sent after the loss was noticed ([RFC9002] §7.3.2). NewReno's
//! partial acknowledgements [RFC6582] §3.2 come to the same: one reduction per
//! window. No limit on growth by one feedback, which may report a whole window.
//! Not paced, as in the kernel without a pacing queue. HyStart is Cubic's alone
//! there.

use super::{Acked, Control, Feedback, PathState, Sent, SettingError, Start};
use crate::event::Ecn;
use crate::units::{Bytes, Span};

/// The least ssthresh, in packets. [RFC5681] §3.1, equation 4.
pub(super) const MIN_SSTHRESH: f64 = 2.0;
/// The window after persistent congestion, in packets. [RFC5681] §3.1: the loss window.
const LOSS_WINDOW: f64 = 1.0;

/// The window. Sizes are in packets.
#[derive(Clone, Debug)]
pub(super) struct Window {
    mss: Bytes,
    pub(super) ceiling: f64,
    pub(super) cwnd: f64,
    /// `None` until the first loss.
    pub(super) ssthresh: Option<f64>,
    next_number: u64,
    /// Packets before this one left before the last reduction.
    recovery_end: u64,
    pub(super) min_rtt: Option<Span>,
}

impl Window {
    /// With its first size, and the largest.
    ///
    /// # Errors
    ///
    /// A first window of nothing, or above the largest.
    pub(super) fn new(start: &Start, initial: u32, largest: Bytes) -> Result<Self, SettingError> {
        let (initial, ceiling) = (f64::from(initial), largest.ratio(start.mss));
        SettingError::unless(initial >= LOSS_WINDOW && ceiling >= initial, || {
            format!(
                "initial_window = {initial} packets is not between {LOSS_WINDOW} and max_window = \
                 {largest}"
            )
        })?;
        Ok(Self {
            mss: start.mss,
            ceiling,
            cwnd: initial,
            ssthresh: None,
            next_number: 0,
            recovery_end: 0,
            min_rtt: None,
        })
    }

    /// The next packet's number: a round ends when it is acknowledged.
    pub(super) const fn next_number(&self) -> u64 {
        self.next_number
    }

    /// A packet sent since the last reduction was lost.
    pub(super) fn lost(&self, feedback: &Feedback<'_>) -> bool {
        let mut lost = feedback.lost.iter();
        lost.any(|lost| lost.packet.number >= self.recovery_end)
    }

    /// A packet sent since the last reduction was marked.
    pub(super) fn marked(&self, feedback: &Feedback<'_>) -> bool {
        let mut acked = feedback.acked.iter();
        acked.any(|acked| acked.ecn == Ecn::Ce && acked.packet.number >= self.recovery_end)
    }

    /// What was in flight before this feedback.
    pub(super) fn flight(&self, feedback: &Feedback<'_>, path: &PathState) -> f64 {
        let flight = path.in_flight + feedback.acked_bytes() + feedback.lost_bytes();
        self.packets(flight)
    }

    /// Some bytes as packets.
    pub(super) const fn packets(&self, bytes: Bytes) -> f64 {
        bytes.ratio(self.mss)
    }

    /// Down to `ssthresh`, once per window.
    pub(super) fn reduce(&mut self, ssthresh: f64) {
        let ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.ssthresh = Some(ssthresh);
        // A window that was not used is not made larger.
        self.cwnd = ssthresh.min(self.cwnd.max(MIN_SSTHRESH));
        self.recovery_end = self.next_number;
    }

    /// A loss or a mark leaves the share `beta` of what was in flight, once per
    /// window; persistent congestion leaves one packet.
    pub(super) fn on_congestion(&mut self, feedback: &Feedback<'_>, path: &PathState, beta: f64) {
        if self.lost(feedback) || self.marked(feedback) {
            self.reduce(self.flight(feedback, path) * beta);
        }
        if feedback.persistent_congestion {
            self.collapse();
        }
    }

    /// Persistent congestion: one packet, and slow start up to ssthresh.
    pub(super) fn collapse(&mut self) {
        self.cwnd = LOSS_WINDOW;
        self.recovery_end = self.next_number;
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// What of a feedback makes the window grow: packets sent since the last
    /// reduction that the window, not the application, held back, in packets.
    pub(super) fn growing<'a>(
        &self,
        feedback: &Feedback<'a>,
    ) -> impl Iterator<Item = f64> + use<'a> {
        let (end, mss) = (self.recovery_end, self.mss);
        let counts = move |acked: &&Acked| acked.packet.number >= end && !acked.packet.app_limited;
        let sizes = feedback.acked.iter().filter(counts);
        sizes.map(move |acked| acked.packet.size.ratio(mss))
    }

    /// More packets, up to the largest window.
    pub(super) fn grow(&mut self, more: f64) {
        self.cwnd = (self.cwnd + more).min(self.ceiling);
    }

    /// As Reno does, for so many packets acknowledged.
    pub(super) fn grow_as_reno(&mut self, packets: f64) {
        let more = if self.in_slow_start() {
            packets
        } else {
            packets / self.cwnd
        };
        self.grow(more);
    }

    pub(super) fn control(&self) -> Control {
        Control {
            window: Some(self.mss * self.cwnd),
            pacing: None,
            floor: None,
            target: None,
        }
    }

    pub(super) fn on_sent(&mut self, packet: &Sent) {
        self.next_number = self.next_number.max(packet.number + 1);
    }

    pub(super) fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("cwnd", self.cwnd);
        if let Some(ssthresh) = self.ssthresh {
            gauge("ssthresh", ssthresh);
        }
        if let Some(min_rtt) = self.min_rtt {
            gauge("min_rtt_s", min_rtt.secs_f64());
        }
    }
}
