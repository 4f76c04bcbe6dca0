//! What a controller did in groups of frame slots, and the delay that frames
//! of an even bitrate would have had. [SQP] §6.2
//!
//! Time is cut into slots of one frame interval, and slots into groups of n, one
//! after the other. A group's *bitrate* is what was sent in it. Suppose now that
//! its n frames, one at the start of each slot, all had an nth of what the group
//! sent: a frame leaves when the bytes really sent cover it, but not before it
//! exists, and arrives with the packet that holds its last byte (if that never
//! arrives: with the next one that does). That is its *simulated delay*. A frame
//! without bytes is charged the time until the next frame that has some. Groups
//! from the flow's first packet to its last count.

use std::collections::VecDeque;

use super::{Samples, SlotReport, Spread, Window, steps};
use crate::units::{Bytes, Span, Time, count, index};

/// Slots in a group. [SQP] §6.2
pub(super) const GROUPS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Slots in a block: every group lies within one.
const BLOCK: usize = 32;

/// Where a packet that was sent in the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Flying,
    Gone,
    Arrived(Time),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Time,
    size: u32,
    fate: Fate,
}

/// Frames of groups of one size.
#[derive(Clone, Debug, Default)]
struct Group {
    delays: Samples,
    /// When frames without bytes were due.
    empty: Vec<Time>,
    /// When frames were due whose packet and all after it in its block were lost.
    stranded: Vec<Time>,
}

/// Follows one flow.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    window: Window,
    slot: Span,
    /// Bytes sent in each slot.
    bytes: Vec<Bytes>,
    first: Option<usize>,
    /// Packets of blocks that are not done yet, and the number of the first.
    packets: VecDeque<Packet>,
    done: u64,
    /// Packets still flying in each of these blocks, and the first block's number.
    flying: VecDeque<u32>,
    block: usize,
    groups: [Group; GROUPS.len()],
}

impl Slots {
    pub(super) fn new(window: Window, slot: Span) -> Self {
        Self {
            window,
            slot,
            bytes: Vec::new(),
            first: None,
            packets: VecDeque::new(),
            done: 0,
            flying: VecDeque::new(),
            block: 0,
            groups: Default::default(),
        }
    }

    /// A packet was sent: gives the number to speak of it, where it counts.
    #[inline]
    pub(super) fn sent(&mut self, at: Time, size: Bytes) -> Option<u64> {
        let at = self.packets.back().map_or(at, |last| last.at.max(at));
        let slot = self.window.step(at, self.slot)?;
        if slot >= self.bytes.len() {
            self.enter(slot);
        }
        let block = (slot / BLOCK).checked_sub(self.block)?;
        self.flying[block] += 1;
        self.bytes[slot] += size;
        self.packets.push_back(Packet {
            at,
            size: u32::try_from(size.get()).unwrap_or(u32::MAX),
            fate: Fate::Flying,
        });
        Some(self.done + count(self.packets.len()) - 1)
    }

    /// The first packet of a new slot.
    fn enter(&mut self, slot: usize) {
        self.bytes.resize(slot + 1, Bytes::ZERO);
        if self.first.is_none() {
            self.first = Some(slot);
            self.block = slot / BLOCK;
        }
        let blocks = slot / BLOCK - self.block + 1;
        if blocks > self.flying.len() {
            self.flying.resize(blocks, 0);
            self.finish();
        }
    }

    /// A packet arrived for the first time.
    #[inline]
    pub(super) fn arrived(&mut self, number: u64, at: Time) {
        self.settle(number, Fate::Arrived(at));
    }

    /// A packet was dropped by a link.
    pub(super) fn gone(&mut self, number: u64) {
        self.settle(number, Fate::Gone);
    }

    #[inline]
    fn settle(&mut self, number: u64, fate: Fate) {
        let Some(place) = number.checked_sub(self.done) else {
            return;
        };
        let Some(packet) = self.packets.get_mut(index(place)) else {
            return;
        };
        let before = std::mem::replace(&mut packet.fate, fate);
        if before != Fate::Flying {
            return;
        }
        let block = steps(packet.at - self.window.from, self.slot) / BLOCK - self.block;
        self.flying[block] -= 1;
        if block == 0 && self.flying[0] == 0 {
            self.finish();
        }
    }

    /// Evaluates the blocks at the front whose packets have all come to their end,
    /// one block late: of two copies of a packet one may be dropped and one arrive.
    fn finish(&mut self) {
        while self.flying.len() > 2 && self.flying[0] == 0 {
            self.evaluate(usize::MAX);
        }
    }

    /// Evaluates the first block, and in it the groups before slot `end`.
    fn evaluate(&mut self, end: usize) {
        let next = self.start(self.block * BLOCK + BLOCK);
        let len = self.packets.partition_point(|packet| packet.at < next);
        let packets: Vec<Packet> = self.packets.drain(..len).collect();
        self.done += count(len);
        // The next packet that arrived, from each place on: when sent, when there.
        let mut rescue = vec![None; len + 1];
        for (place, packet) in packets.iter().enumerate().rev() {
            rescue[place] = match packet.fate {
                Fate::Arrived(at) => Some((packet.at, at)),
                _ => rescue[place + 1],
            };
        }
        for (group, n) in GROUPS.into_iter().enumerate() {
            if let Some((_, at)) = rescue[0] {
                let group = &mut self.groups[group];
                let stranded = group.stranded.drain(..);
                stranded.for_each(|due| group.delays.push(at - due));
            }
            let mut rest = &packets[..];
            for start in (self.block * BLOCK..self.block * BLOCK + BLOCK).step_by(n) {
                let until = self.start(start + n);
                let (inside, after) =
                    rest.split_at(rest.partition_point(|packet| packet.at < until));
                let offset = packets.len() - rest.len();
                rest = after;
                if self.first.is_some_and(|first| first <= start) && start + n <= end {
                    self.frames(group, start, inside, &rescue[offset..]);
                }
            }
        }
        self.flying.pop_front();
        self.block += 1;
    }

    /// Sends the frames of one group over its packets.
    fn frames(
        &mut self,
        group: usize,
        start: usize,
        packets: &[Packet],
        rescue: &[Option<(Time, Time)>],
    ) {
        let n = GROUPS[group];
        let total: u64 = packets.iter().map(|packet| u64::from(packet.size)).sum();
        let (mut place, mut sent) = (0, 0);
        for frame in 0..n {
            let due = self.start(start + frame);
            let group = &mut self.groups[group];
            if total == 0 {
                group.empty.push(due);
                continue;
            }
            let empty = group.empty.drain(..);
            empty.for_each(|empty| group.delays.push(due - empty));
            // The last byte of frame k of n is byte k/n of the total.
            while (sent + u64::from(packets[place].size)) * count(n) < total * count(frame + 1) {
                sent += u64::from(packets[place].size);
                place += 1;
            }
            match rescue[place] {
                // A packet sent before the frame existed stands for one sent then.
                Some((sent, at)) => group.delays.push(at - due.min(sent)),
                None => group.stranded.push(due),
            }
        }
    }

    fn start(&self, slot: usize) -> Time {
        self.window.from + self.slot * i64::try_from(slot).unwrap_or(i64::MAX)
    }

    /// What was sent in each group of `n` slots, as a rate.
    fn bitrates(&self, n: usize, end: usize) -> Vec<f64> {
        let first = self.first.unwrap_or(end).div_ceil(n);
        let length = self.slot * i64::try_from(n).unwrap_or(i64::MAX);
        (first..end / n)
            .map(|group| {
                self.bytes[group * n..group * n + n]
                    .iter()
                    .copied()
                    .sum::<Bytes>()
            })
            .filter_map(|sent| sent.per(length))
            .map(|rate| rate.bps_f64())
            .collect()
    }

    /// How bitrates and simulated delays spread, for each size of group.
    pub(super) fn report(&self) -> Vec<SlotReport> {
        let mut rest = self.clone();
        let end = self.bytes.len().min(steps(self.window.length(), self.slot));
        while !rest.flying.is_empty() {
            rest.evaluate(end);
        }
        let groups = rest.groups.iter_mut().zip(GROUPS);
        groups
            .map(|(group, slots)| SlotReport {
                slots,
                bitrate: Spread::of(self.bitrates(slots, end)),
                frame_delay: group.delays.spread(),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Slots of 10 ms; packets as (sent, bytes, arrived), in ms.
    fn run(packets: &[(u64, u64, Option<u64>)]) -> Vec<SlotReport> {
        let mut slots = Slots::new(Window::until(ms(10_000)), Span::from_millis(10));
        for &(at, size, arrived) in packets {
            let number = slots.sent(ms(at), Bytes::new(size)).expect("in the window");
            match arrived {
                Some(arrived) => slots.arrived(number, ms(arrived)),
                None => slots.gone(number),
            }
        }
        slots.report()
    }

    fn delays(report: &SlotReport) -> (u64, Span, Span) {
        let spread = report.frame_delay.expect("delays");
        (spread.count, spread.min, spread.max)
    }

    #[test]
    fn frames_leave_when_the_bytes_sent_cover_them() {
        let reports = run(&[(0, 3_000, Some(20)), (15, 1_000, Some(40))]);
        // n = 1: 3000 bytes at 0 arrive at 20; 1000 due at 10 leave at 15, arrive at 40.
        // n = 2: 2000 bytes each: the first with packet 0, the second with packet 1.
        for report in &reports[..2] {
            assert_eq!(
                delays(report),
                (2, Span::from_millis(20), Span::from_millis(30))
            );
        }
        let rates = reports[0].bitrate.expect("rates");
        assert_eq!(
            (rates.min, rates.max),
            (Rate::from_kbps(800), Rate::from_kbps(2_400))
        );
        let rates = reports[1].bitrate.expect("rates");
        assert_eq!((rates.count, rates.p50), (1, Rate::from_kbps(1_600)));
        // No group of four is whole.
        assert_eq!((reports[2].bitrate, reports[2].frame_delay), (None, None));
    }

    #[test]
    fn bytes_sent_ahead_of_a_frame_cost_it_the_way_alone() {
        let reports = run(&[
            (0, 4_000, Some(25)),
            (30, 4_000, Some(55)),
            (40, 1, Some(65)),
        ]);
        // n = 2: the second frame of each group is due after its bytes have left,
        // or, in slots 2 and 3, the first one is due before.
        assert_eq!(
            delays(&reports[1]),
            (4, Span::from_millis(25), Span::from_millis(35))
        );
        // n = 1: slots 1 and 2 are empty until slot 3: 20 and 10 ms.
        let spread = reports[0].frame_delay.expect("delays");
        assert_eq!((spread.count, spread.min), (5, Span::from_millis(10)));
        assert_eq!(
            (spread.p25, spread.p50),
            (Span::from_millis(20), Span::from_millis(25))
        );
    }

    #[test]
    fn a_lost_packet_delivers_with_the_next_one_even_a_block_later() {
        let reports = run(&[(0, 500, None), (3, 9, Some(30)), (15, 9, Some(40))]);
        assert_eq!(
            delays(&reports[0]),
            (2, Span::from_millis(30), Span::from_millis(30))
        );
        let reports = run(&[(0, 500, None), (325, 9, Some(350))]);
        // The frame of slot 0 arrives at 350; slots 1 to 31 wait for slot 32.
        assert_eq!(
            delays(&reports[0]),
            (33, Span::from_millis(10), Span::from_millis(350))
        );
        // With 500/32 bytes each, the frames due at 0, 10 … 310 all arrive then.
        assert_eq!(
            delays(&reports[5]),
            (32, Span::from_millis(40), Span::from_millis(350))
        );
    }

    #[test]
    fn a_late_start_and_an_early_end_are_no_empty_frames() {
        let reports = run(&[(5_000, 100, Some(5_020)), (5_015, 100, Some(5_040))]);
        assert_eq!(delays(&reports[0]).0, 2);
        assert_eq!(reports[0].bitrate.expect("rates").min, Rate::from_kbps(80));
    }

    #[test]
    fn memory_is_given_back_as_packets_arrive() {
        let mut slots = Slots::new(Window::until(ms(100_000)), Span::from_millis(10));
        for at in 0..90_000 {
            let number = slots
                .sent(ms(at), Bytes::new(1_500))
                .expect("in the window");
            slots.arrived(number, ms(at + 20));
            assert!(slots.packets.len() <= 3 * 320 && slots.flying.len() <= 3);
        }
    }
}
