//! The interval tracker: when each frame's packets left and arrived.

use std::collections::VecDeque;

use crate::cc::{Acked, Sent};
use crate::event::{Fragment, FrameId};
use crate::units::{Bytes, Rate, RemoteTime, Time};

/// Frames remembered at once. Ours: 8.5 s of video at 60 frames per second. A
/// frame is normally settled within a round trip; one that never is gives way.
const REMEMBERED: usize = 512;

/// What happened to one frame's packets on this path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    /// When the first packet left. [SQP] S_start.
    pub(super) sent: Time,
    /// The bandwidth estimate then, which set the pace and the largest size.
    pub(super) bandwidth: Rate,
    /// Bytes sent. [SQP] F.
    pub(super) size: Bytes,
    /// Packets sent.
    pub(super) packets: u32,
    /// Packets given up.
    pub(super) lost: u32,
    /// The earliest and the latest known arrival. [SQP] R_start and R_end.
    pub(super) arrived: Option<(RemoteTime, RemoteTime)>,
    /// Packets that had arrived by R_end.
    pub(super) by_end: u32,
    /// Packets that arrived after R_start, until R_end.
    pub(super) between: u32,
}

impl Interval {
    /// The size of one packet: those of a frame are equal but for a byte.
    pub(super) fn packet(&self) -> Bytes {
        self.size / u64::from(self.packets.max(1))
    }

    /// Bytes that had arrived by R_end.
    pub(super) fn heard(&self) -> Bytes {
        self.packet() * u64::from(self.by_end)
    }

    /// One more packet is known to have arrived at `at`, the `acked`-th of all.
    fn arrive(&mut self, at: RemoteTime, acked: u32) {
        let Some((start, end)) = &mut self.arrived else {
            self.arrived = Some((at, at));
            self.by_end = acked;
            return;
        };
        *start = at.min(*start);
        self.between += 1;
        if at > *end {
            // Packets of unknown arrival that were reported since lie in between.
            self.between += (acked - 1).saturating_sub(self.by_end);
            self.by_end = acked;
            *end = at;
        } else {
            self.by_end += 1;
        }
    }
}

/// A frame of which something is missing.
#[derive(Clone, Copy, Debug)]
struct Pending {
    frame: FrameId,
    fragments: u32,
    /// A later frame has begun: no more of this one will be sent here.
    closed: bool,
    acked: u32,
    interval: Interval,
}

impl Pending {
    fn settled(&self) -> bool {
        let interval = &self.interval;
        (self.closed || interval.packets >= self.fragments)
            && self.acked + interval.lost >= interval.packets
    }
}

/// Follows every frame that has packets in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Intervals {
    /// By rising frame.
    pending: VecDeque<Pending>,
}

impl Intervals {
    /// A packet with part of a frame left, while the estimate was `bandwidth`.
    /// Gives the frame before, where this is the first packet of a new one and
    /// nothing of the other is missing.
    pub(super) fn sent(
        &mut self,
        packet: &Sent,
        fragment: Fragment,
        bandwidth: Rate,
    ) -> Option<Interval> {
        let newest = self.pending.back().map(|pending| pending.frame);
        let mut before = None;
        if newest.is_none_or(|newest| newest < fragment.frame) {
            if let Some(place) = self.pending.len().checked_sub(1) {
                self.pending[place].closed = true;
                before = self.settle(place);
            }
            if self.pending.len() == REMEMBERED {
                self.pending.pop_front();
            }
            self.pending.push_back(Pending {
                frame: fragment.frame,
                fragments: u32::from(fragment.count),
                closed: false,
                acked: 0,
                interval: Interval {
                    sent: packet.at,
                    bandwidth,
                    size: Bytes::ZERO,
                    packets: 0,
                    lost: 0,
                    arrived: None,
                    by_end: 0,
                    between: 0,
                },
            });
        }
        if let Some(place) = self.place(fragment.frame) {
            let interval = &mut self.pending[place].interval;
            interval.size += packet.size;
            interval.packets += 1;
        }
        before
    }

    /// A packet with part of a frame arrived. Gives the frame where it was the
    /// last one missing.
    pub(super) fn acked(&mut self, acked: &Acked, fragment: Fragment) -> Option<Interval> {
        let place = self.place(fragment.frame)?;
        let pending = &mut self.pending[place];
        pending.acked += 1;
        if acked.spurious {
            pending.interval.lost = pending.interval.lost.saturating_sub(1);
        }
        if let Some(at) = acked.arrived {
            pending.interval.arrive(at, pending.acked);
        }
        self.settle(place)
    }

    /// A packet with part of a frame was given up. Gives the frame where it was
    /// the last one missing.
    pub(super) fn lost(&mut self, fragment: Fragment) -> Option<Interval> {
        let place = self.place(fragment.frame)?;
        self.pending[place].interval.lost += 1;
        self.settle(place)
    }

    /// Takes the frame out if nothing of it is missing.
    fn settle(&mut self, place: usize) -> Option<Interval> {
        if !self.pending[place].settled() {
            return None;
        }
        self.pending.remove(place).map(|pending| pending.interval)
    }

    /// Sending is about the newest frame and feedback about the oldest ones: a
    /// search that begins there ends at once.
    fn place(&self, frame: FrameId) -> Option<usize> {
        match self.pending.back() {
            Some(newest) if newest.frame == frame => Some(self.pending.len() - 1),
            _ => self
                .pending
                .iter()
                .position(|pending| pending.frame == frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Ecn, Kind};
    use crate::units::Span;

    const RATE: Rate = Rate::from_mbps(5);

    fn part(frame: u32, index: u16, count: u16) -> Fragment {
        Fragment {
            frame: FrameId(frame),
            index,
            count,
        }
    }

    fn packet(fragment: Fragment) -> Sent {
        Sent {
            at: Time::from_millis(u64::from(fragment.frame.0) * 16 + u64::from(fragment.index)),
            size: Bytes::new(1_000),
            kind: Kind::Video(fragment),
            ..Sent::default()
        }
    }

    fn arrival(millis: i64) -> RemoteTime {
        RemoteTime::from_nanos(0) + Span::from_millis(millis)
    }

    fn acked(fragment: Fragment, millis: Option<i64>, spurious: bool) -> Acked {
        Acked {
            packet: packet(fragment),
            arrived: millis.map(arrival),
            rtt: None,
            ecn: Ecn::NotEct,
            spurious,
        }
    }

    /// Frames 0 and up, `count` packets each, all sent.
    fn frames(frames: u32, count: u16) -> Intervals {
        let mut intervals = Intervals::default();
        for frame in 0..frames {
            for index in 0..count {
                let part = part(frame, index, count);
                assert_eq!(intervals.sent(&packet(part), part, RATE), None);
            }
        }
        intervals
    }

    /// Reports packets of a frame of four, and expects only the last to settle it.
    fn hear(reports: &[(u16, Option<i64>)]) -> Interval {
        let mut intervals = frames(2, 4);
        let mut last = None;
        for &(index, at) in reports {
            assert_eq!(last, None);
            let part = part(0, index, 4);
            last = intervals.acked(&acked(part, at, false), part);
        }
        last.expect("settled")
    }

    #[test]
    fn a_frame_is_settled_by_its_last_packet_in_any_order() {
        let in_order = hear(&[(0, Some(20)), (1, Some(21)), (2, Some(22)), (3, Some(24))]);
        assert_eq!(in_order.arrived, Some((arrival(20), arrival(24))));
        assert_eq!((in_order.sent, in_order.bandwidth), (Time::ZERO, RATE));
        assert_eq!((in_order.size, in_order.packets), (Bytes::new(4_000), 4));
        assert_eq!((in_order.by_end, in_order.between), (4, 3));
        let shuffled = hear(&[(3, Some(24)), (1, Some(21)), (0, Some(20)), (2, Some(22))]);
        assert_eq!(shuffled, in_order);
    }

    #[test]
    fn packets_of_unknown_arrival_count_only_before_the_last_known_one() {
        let middle = hear(&[(0, Some(20)), (1, None), (2, None), (3, Some(24))]);
        assert_eq!((middle.by_end, middle.between), (4, 3));
        let tail = hear(&[(0, Some(20)), (1, Some(21)), (2, None), (3, None)]);
        assert_eq!((tail.by_end, tail.between), (2, 1));
        let head = hear(&[(0, None), (1, Some(21)), (2, Some(22)), (3, Some(24))]);
        assert_eq!((head.by_end, head.between), (4, 2));
        let all = hear(&[(0, None), (1, None), (2, None), (3, None)]);
        assert_eq!((all.arrived, all.by_end), (None, 0));
    }

    #[test]
    fn a_lost_packet_that_arrives_after_all_is_not_lost() {
        let mut intervals = frames(1, 2);
        assert_eq!(intervals.lost(part(0, 0, 2)), None);
        let late = acked(part(0, 0, 2), Some(30), true);
        assert_eq!(intervals.acked(&late, part(0, 0, 2)), None);
        let last = acked(part(0, 1, 2), Some(21), false);
        let frame = intervals.acked(&last, part(0, 1, 2)).expect("settled");
        assert_eq!((frame.lost, frame.by_end), (0, 2));
        // And where the frame is gone already, nothing happens.
        assert_eq!(intervals.acked(&late, part(0, 0, 2)), None);
    }

    #[test]
    fn a_frame_that_was_not_sent_whole_is_settled_by_the_next() {
        let mut intervals = Intervals::default();
        for index in 0..2 {
            let part = part(0, index, 9);
            assert_eq!(intervals.sent(&packet(part), part, RATE), None);
            let acked = acked(part, Some(20 + i64::from(index)), false);
            assert_eq!(intervals.acked(&acked, part), None);
        }
        let next = part(3, 0, 1);
        let frame = intervals.sent(&packet(next), next, RATE).expect("settled");
        assert_eq!((frame.packets, frame.by_end), (2, 2));
        assert_eq!(intervals.pending.len(), 1);
    }

    #[test]
    fn frames_that_nobody_reports_give_way() {
        let mut intervals = frames(2_000, 2);
        assert_eq!(intervals.pending.len(), REMEMBERED);
        let capacity = intervals.pending.capacity();
        for frame in 2_000..4_000 {
            let part = part(frame, 0, 2);
            intervals.sent(&packet(part), part, RATE);
        }
        assert_eq!(intervals.pending.capacity(), capacity);
        assert_eq!(intervals.lost(part(7, 0, 2)), None);
    }
}
