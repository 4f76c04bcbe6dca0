//! A frame becomes packets of equal size.
//!
//! Sizes differ by one byte at most: an estimator that reads the spread of a
//! frame's packets must not trip over a small last one (papers' pitfall P1 of
//! [SQP]).

use crate::event::{Fragment, FrameId, Kind};
use crate::paths::Queued;
use crate::units::{Bytes, Time};
use crate::video::Framing;

/// The packets of one frame, in order, queued now. `refers` is as in [`Queued`].
///
/// A frame of more fragments than the wire can count is cut: its tail is left
/// out, which no real frame reaches.
pub fn packets(
    frame: FrameId,
    payload: Bytes,
    refers: u16,
    captured: Time,
    now: Time,
    framing: Framing,
) -> impl Iterator<Item = Queued> {
    let pieces = payload.pieces(framing.payload()).min(u64::from(u16::MAX));
    let count = u16::try_from(pieces).unwrap_or(u16::MAX);
    let (each, larger) = (payload / pieces, payload.get() % pieces);
    (0..count).map(move |index| {
        let payload = each + Bytes::new(u64::from(u64::from(index) < larger));
        Queued {
            kind: Kind::Video(Fragment {
                frame,
                index,
                count,
            }),
            payload,
            size: payload + framing.overhead,
            captured,
            since: now,
            refers,
            lost_on: None,
        }
    })
}

/// Where a fragment's bytes lie in a frame that [`packets`] has split: its first
/// byte's place, and how many it has. `None` where there is no such fragment.
#[must_use]
pub fn place(payload: Bytes, index: u16, count: u16) -> Option<(Bytes, Bytes)> {
    if index >= count {
        return None;
    }
    let (each, larger) = (payload / u64::from(count), payload.get() % u64::from(count));
    let index = u64::from(index);
    let length = each + Bytes::new(u64::from(index < larger));
    Some((each * index + Bytes::new(index.min(larger)), length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn packets_are_equal_and_sum_to_the_frame(payload in 1u64..5_000_000) {
            let framing = Framing { mtu: Bytes::new(1500), overhead: Bytes::new(56) };
            let all: Vec<_> = packets(FrameId(3), Bytes::new(payload), 3, Time::ZERO, Time::ZERO, framing).collect();
            let total: Bytes = all.iter().map(|packet| packet.payload).sum();
            let wire: Bytes = all.iter().map(|packet| packet.size).sum();
            prop_assert_eq!(total, Bytes::new(payload));
            prop_assert_eq!(wire, framing.wire_of(Bytes::new(payload)));
            let largest = all.iter().map(|packet| packet.size).max().expect("one at least");
            let smallest = all.iter().map(|packet| packet.size).min().expect("one at least");
            prop_assert!(largest <= framing.mtu);
            prop_assert!(largest - smallest <= Bytes::new(1));
            for (nth, packet) in (0u16..).zip(&all) {
                let fragment = packet.kind.fragment().expect("video");
                prop_assert_eq!((fragment.index, fragment.frame), (nth, FrameId(3)));
                prop_assert_eq!(fragment.last(), usize::from(nth) + 1 == all.len());
                let before: Bytes = all[..usize::from(nth)].iter().map(|packet| packet.payload).sum();
                let found = place(Bytes::new(payload), nth, fragment.count);
                prop_assert_eq!(found, Some((before, packet.payload)));
            }
            prop_assert_eq!(place(Bytes::new(payload), 3, 3), None);
        }
    }
}
