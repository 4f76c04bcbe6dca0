//! Fragments become frames again.

use std::collections::BTreeMap;

use bytes::Bytes;
use tightloop::event::FrameId;
use tightloop::session::wire::Header;

/// Frames that may be incomplete at a time. As many as the playout remembers.
const FRAMES: usize = 256;
/// Bytes that may wait for others of their frames. Ours: seconds of the fastest
/// video that anybody calls with.
const BYTES: usize = 32 << 20;

/// A frame whose every fragment has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The frame.
    pub frame: FrameId,
    /// How many frames back the one lies that it refers to; zero for none.
    pub refers: u16,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
struct Part {
    count: u16,
    refers: u16,
    pieces: BTreeMap<u16, Bytes>,
    /// All have come, and were handed on.
    done: bool,
}

/// Frames that are not whole yet.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    parts: BTreeMap<FrameId, Part>,
    bytes: usize,
}

impl Assembly {
    /// Takes a data packet's payload; gives the frame that it was the last of.
    pub(super) fn take(&mut self, header: &Header, payload: &Bytes) -> Option<Whole> {
        let fragment = header.kind.fragment()?;
        let part = self.parts.entry(fragment.frame).or_insert_with(|| Part {
            count: fragment.count,
            refers: header.refers,
            pieces: BTreeMap::new(),
            done: false,
        });
        // Of two sizes the first is believed, as by the playout.
        if part.done || part.count != fragment.count || part.pieces.contains_key(&fragment.index) {
            return None;
        }
        part.pieces.insert(fragment.index, payload.clone());
        self.bytes += payload.len();
        let whole = (part.pieces.len() == usize::from(part.count)).then(|| {
            part.done = true;
            let pieces = std::mem::take(&mut part.pieces);
            let bytes: Vec<u8> = pieces.into_values().flatten().collect();
            self.bytes -= bytes.len();
            Whole {
                frame: fragment.frame,
                refers: part.refers,
                bytes,
            }
        });
        while self.parts.len() > FRAMES || self.bytes > BYTES {
            let Some((_, oldest)) = self.parts.pop_first() else {
                break;
            };
            self.bytes -= oldest.pieces.values().map(Bytes::len).sum::<usize>();
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tightloop::event::{Fragment, Kind, PathId};
    use tightloop::session::packetize::place;
    use tightloop::units::{self, Time};

    use super::*;

    fn header(frame: u32, index: u16, count: u16) -> Header {
        Header {
            path: PathId(0),
            number: 0,
            kind: Kind::Video(Fragment {
                frame: FrameId(frame),
                index,
                count,
            }),
            refers: 1,
            captured: Time::ZERO,
            settled: 0,
        }
    }

    proptest! {
        #[test]
        fn a_frame_comes_together_in_any_order(
            frame in prop::collection::vec(any::<u8>(), 1..4_000),
            count in 1u16..40,
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            let mut assembly = Assembly::default();
            let size = units::Bytes::len_of(frame.len());
            let picks = order.iter().map(|it| it.index(count.into()) as u16);
            let mut wholes = Vec::new();
            for index in picks.chain(0..count) {
                let (from, length) = place(size, index, count).expect("a place");
                let (from, length) = (from.get() as usize, length.get() as usize);
                let payload = Bytes::copy_from_slice(&frame[from..from + length]);
                wholes.extend(assembly.take(&header(9, index, count), &payload));
            }
            let whole = Whole { frame: FrameId(9), refers: 1, bytes: frame };
            prop_assert_eq!(wholes, [whole]);
            prop_assert_eq!(assembly.bytes, 0);
        }

        #[test]
        fn garbage_takes_little_room(frames in prop::collection::vec((any::<u32>(), any::<(u16, u16)>()), 1..600)) {
            let mut assembly = Assembly::default();
            let payload = Bytes::from_static(&[7; 1_000]);
            for (frame, (index, count)) in frames {
                assembly.take(&header(frame, index, count.max(index.saturating_add(1))), &payload);
                prop_assert!(assembly.parts.len() <= FRAMES && assembly.bytes <= BYTES);
            }
        }
    }
}
