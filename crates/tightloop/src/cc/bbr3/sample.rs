//! RS: what one feedback says of the path, by its packet sent last.

use super::losses::Losses;
use crate::cc::{Feedback, PathState, Sent};
use crate::units::{Bytes, Rate, Span};

/// The rate sample of a feedback. [BBR-Draft] §2.3, §4.1.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// RS.delivery_rate; zero where the interval is too short for one.
    pub(super) delivery_rate: Rate,
    /// RS.delivered: since the packet left.
    pub(super) delivered: Bytes,
    /// RS.prior_delivered: when the packet left.
    pub(super) prior_delivered: Bytes,
    /// In flight before this feedback.
    pub(super) prior_in_flight: Bytes,
    /// RS.newly_acked.
    pub(super) newly_acked: Bytes,
    /// RS.tx_in_flight: when the packet left, itself included.
    pub(super) tx_in_flight: Bytes,
    /// RS.lost: given up since the packet left.
    pub(super) lost: Bytes,
    /// RS.rtt, of the latest packet whose arrival time is known.
    pub(super) rtt: Option<Span>,
    /// RS.is_app_limited.
    pub(super) app_limited: bool,
}

impl Sample {
    /// The sample of a feedback; `None` where it acknowledges nothing.
    pub(super) fn of(
        feedback: &Feedback<'_>,
        path: &PathState,
        losses: &Losses,
        bubble: Bubble,
    ) -> Option<Self> {
        let acked = feedback.acked.iter();
        let newest = acked.max_by_key(|acked| acked.packet.number)?.packet;
        let gone = feedback.acked.iter().filter(|acked| !acked.spurious);
        let gone: Bytes = gone.map(|acked| acked.packet.size).sum();
        let timed = feedback.acked.iter().filter(|acked| acked.rtt.is_some());
        Some(Self {
            delivery_rate: feedback
                .delivery
                .and_then(|delivery| delivery.rate())
                .unwrap_or(Rate::ZERO),
            delivered: path.delivered.saturating_sub(newest.delivered),
            prior_delivered: newest.delivered,
            prior_in_flight: path.in_flight + gone + feedback.lost_bytes(),
            newly_acked: feedback.acked_bytes(),
            tx_in_flight: newest.in_flight,
            lost: losses.since(newest.number),
            rtt: timed
                .max_by_key(|acked| acked.packet.number)
                .and_then(|acked| acked.rtt),
            app_limited: bubble.holds(&newest),
        })
    }
}

/// What ProbeRTT adds to the application's limits: packets sent since it marked
/// the connection, until what was in flight then has been delivered. The
/// draft's MarkConnectionAppLimited, kept here because sessions mark for the
/// application alone. [BBR-Draft] §4.1.2.4, §5.3.4.3.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bubble {
    /// The first packet that can be in it, and the delivery that ends it.
    marked: Option<(u64, Bytes)>,
}

impl Bubble {
    /// Marks; `next_number` is the next packet's.
    pub(super) fn mark(&mut self, next_number: u64, path: &PathState) {
        let until = path.delivered + path.in_flight;
        let first = match self.marked {
            Some((first, end)) if path.delivered <= end => first,
            _ => next_number,
        };
        self.marked = Some((first, until));
    }

    /// Whether the application, or the bubble, limited the sender when this left.
    pub(super) fn holds(&self, packet: &Sent) -> bool {
        let marked = self.marked;
        packet.app_limited
            || marked.is_some_and(|(first, end)| packet.number >= first && packet.delivered <= end)
    }
}
