//! After losses: send no more than arrives for a round, then grow again.

use serde::{Deserialize, Serialize};

use crate::cc::{Feedback, PathState};
use crate::units::Bytes;

/// What ends recovery, apart from a feedback without losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryEnd {
    /// The arrival of a packet sent after the first loss was noticed, as in TCP.
    /// Later losses begin a recovery of their own.
    FirstLoss,
    /// The arrival of a packet sent after the last loss was noticed, as in QUIC.
    LastLoss,
    /// Any arrival, as in WebRTC.
    NextArrival,
}

/// A recovery. [BBRv1] §4.2.3.4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// What may be in flight.
    pub(super) window: Bytes,
    /// The first round: what arrives may be replaced, no more.
    conserving: bool,
    /// Packets from this number on end it.
    end: u64,
}

/// What a feedback did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It has begun: a round starts here.
    Begins,
    /// Neither.
    Goes,
}

impl Recovery {
    /// Follows the losses of a feedback. `next` is the number of the next packet.
    pub(super) fn follow(
        recovery: &mut Option<Self>,
        feedback: &Feedback<'_>,
        path: &PathState,
        begins: bool,
        next: u64,
        ends: RecoveryEnd,
    ) -> Course {
        let (acked, lost) = (feedback.acked_bytes(), feedback.lost_bytes());
        let newest = feedback.acked.iter().map(|acked| acked.packet.number).max();
        let passed = |end| newest.is_some_and(|newest| newest >= end);
        if let Some(old) = recovery
            && passed(old.end)
            && (lost == Bytes::ZERO || ends == RecoveryEnd::FirstLoss)
        {
            *recovery = None;
        }
        let end = match ends {
            RecoveryEnd::NextArrival => newest.map_or(0, |newest| newest + 1),
            RecoveryEnd::FirstLoss | RecoveryEnd::LastLoss => next,
        };
        let course = match recovery {
            None if lost > Bytes::ZERO => {
                *recovery = Some(Self {
                    window: path.in_flight + acked,
                    conserving: true,
                    end,
                });
                Course::Begins
            }
            None => Course::Goes,
            Some(recovery) => {
                if begins {
                    recovery.conserving = false;
                }
                if lost > Bytes::ZERO && ends != RecoveryEnd::FirstLoss {
                    recovery.end = end;
                }
                recovery.window = recovery.window.saturating_sub(lost);
                if !recovery.conserving {
                    recovery.window += acked;
                }
                Course::Goes
            }
        };
        if let Some(recovery) = recovery {
            recovery.window = recovery.window.max(path.in_flight + acked);
        }
        course
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::pipe::{MSS, acked};
    use crate::cc::{Lost, Sent};
    use crate::event::LostBy;

    /// One packet arrives, so many are lost, so many are in flight.
    fn follow(
        recovery: &mut Option<Recovery>,
        (number, lost, in_flight): (u64, usize, u64),
        begins: bool,
        next: u64,
        ends: RecoveryEnd,
    ) -> Option<u64> {
        let mut arrived = acked(MSS);
        arrived.packet.number = number;
        let packet = Sent {
            size: MSS,
            ..Sent::default()
        };
        let by = LostBy::Packets;
        let lost = vec![Lost { packet, by }; lost];
        let feedback = Feedback {
            acked: &[arrived],
            ..Feedback::of_losses(&lost, false)
        };
        let path = PathState {
            in_flight: MSS * in_flight,
            ..PathState::default()
        };
        Recovery::follow(recovery, &feedback, &path, begins, next, ends);
        recovery.map(|recovery| recovery.window.get() / MSS.get())
    }

    #[test]
    fn a_round_of_conservation_then_one_more_per_arrival() {
        let mut recovery = None;
        let ends = RecoveryEnd::FirstLoss;
        assert_eq!(follow(&mut recovery, (10, 0, 20), false, 31, ends), None);
        // 17 are left in flight and one arrived: 18.
        assert_eq!(
            follow(&mut recovery, (11, 3, 17), false, 31, ends),
            Some(18)
        );
        assert_eq!(
            follow(&mut recovery, (12, 0, 17), false, 32, ends),
            Some(18)
        );
        assert_eq!(
            follow(&mut recovery, (13, 2, 15), false, 33, ends),
            Some(16)
        );
        assert_eq!(follow(&mut recovery, (14, 0, 15), true, 34, ends), Some(17));
        assert_eq!(
            follow(&mut recovery, (15, 0, 16), false, 35, ends),
            Some(18)
        );
        assert_eq!(
            follow(&mut recovery, (30, 0, 17), false, 36, ends),
            Some(19)
        );
        assert_eq!(follow(&mut recovery, (31, 0, 17), false, 37, ends), None);
    }

    #[test]
    fn what_ends_it_is_a_matter_of_house() {
        let lost_again = |ends| {
            let mut recovery = None;
            follow(&mut recovery, (10, 1, 20), false, 31, ends);
            follow(&mut recovery, (20, 1, 20), false, 41, ends);
            recovery.map(|recovery| recovery.end)
        };
        assert_eq!(lost_again(RecoveryEnd::FirstLoss), Some(31));
        assert_eq!(lost_again(RecoveryEnd::LastLoss), Some(41));
        assert_eq!(lost_again(RecoveryEnd::NextArrival), Some(21));
    }
}
