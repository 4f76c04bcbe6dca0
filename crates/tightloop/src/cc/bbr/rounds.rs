//! Round trips, counted by what had been delivered when a packet left.

use crate::cc::Feedback;
use crate::units::Bytes;

/// Counts rounds: one ends when a packet sent after its beginning arrives.
/// [BBRv1] §4.1.1.3.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct Rounds {
    count: u64,
    /// A packet that left when this much had been delivered ends the round.
    end: Bytes,
}

impl Rounds {
    /// True where the feedback begins a round; `delivered` is all that ever arrived.
    pub(in crate::cc) fn on_feedback(&mut self, feedback: &Feedback<'_>, delivered: Bytes) -> bool {
        let left = feedback.acked.iter().map(|acked| acked.packet.delivered);
        let begins = left.max().is_some_and(|before| before >= self.end);
        if begins {
            self.count += 1;
            self.end = delivered;
        }
        begins
    }

    /// The round lasts until what leaves from now on arrives.
    pub(in crate::cc) fn restart(&mut self, delivered: Bytes) {
        self.end = delivered;
    }

    /// How many have begun.
    pub(in crate::cc) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::pipe::{MSS, acked};

    #[test]
    fn a_round_ends_with_the_first_packet_sent_after_it_began() {
        let mut rounds = Rounds::default();
        let mut begins = |sent_at: u64, delivered: u64| {
            let mut acked = acked(MSS);
            acked.packet.delivered = MSS * sent_at;
            let feedback = Feedback {
                acked: &[acked],
                ..Feedback::of_losses(&[], false)
            };
            rounds.on_feedback(&feedback, MSS * delivered)
        };
        // Two packets leave before anything arrives, then one for each that does.
        assert!(begins(0, 1));
        assert!(!begins(0, 2));
        assert!(begins(1, 3));
        assert!(!begins(2, 4));
        assert!(begins(3, 5));
        assert_eq!(rounds.count(), 3);
        assert!(!rounds.on_feedback(&Feedback::of_losses(&[], false), MSS * 9));
        rounds.restart(MSS * 9);
        assert_eq!(rounds.end, MSS * 9);
    }
}
