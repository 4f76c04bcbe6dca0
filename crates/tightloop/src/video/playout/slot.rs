//! The place of one frame while its fragments arrive.

use smallvec::SmallVec;

use crate::event::{Fragment, FrameId};

/// Bits in a word, by definition.
const WORD: u16 = 64;

/// What a fragment led to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// It is the first of its frame.
    pub(super) begun: bool,
    /// It was the last its frame had missed.
    pub(super) completed: bool,
}

/// A frame that has begun to arrive.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    frame: FrameId,
    /// Its fragments; zero in a place never used.
    count: u16,
    missing: u16,
    /// How many frames back the one lies that it refers to; zero for none.
    refers: u16,
    decoded: bool,
    /// A bit for each fragment that has arrived. Kept from frame to frame.
    arrived: SmallVec<[u64; 2]>,
}

impl Slot {
    /// Takes a fragment in.
    pub(super) fn take(&mut self, fragment: Fragment, refers: u16) -> Taken {
        let mut taken = Taken::default();
        if self.count == 0 || self.frame < fragment.frame {
            self.begin(fragment, refers);
            taken.begun = true;
        } else if self.frame > fragment.frame || self.count != fragment.count {
            // Forgotten long ago; or of two sizes the first is believed.
            return taken;
        }
        let bit = 1 << (fragment.index % WORD);
        let word = &mut self.arrived[usize::from(fragment.index / WORD)];
        if *word & bit == 0 {
            *word |= bit;
            self.missing -= 1;
            taken.completed = self.missing == 0;
        }
        taken
    }

    /// What the frame refers to, if it is complete and not decoded yet.
    pub(super) fn waits(&self, frame: FrameId) -> Option<u16> {
        let waits = self.holds(frame) && self.missing == 0 && !self.decoded;
        waits.then_some(self.refers)
    }

    /// The frame has been decoded.
    pub(super) fn is_decoded(&self, frame: FrameId) -> bool {
        self.holds(frame) && self.decoded
    }

    /// The frame in this place is decoded now.
    pub(super) const fn decode(&mut self) {
        self.decoded = true;
    }

    fn holds(&self, frame: FrameId) -> bool {
        self.count > 0 && self.frame == frame
    }

    fn begin(&mut self, fragment: Fragment, refers: u16) {
        self.frame = fragment.frame;
        self.count = fragment.count;
        self.missing = fragment.count;
        self.refers = refers;
        self.decoded = false;
        self.arrived.clear();
        let words = usize::from(fragment.count.div_ceil(WORD));
        self.arrived.resize(words, 0);
    }

    /// Words that fit without growing.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.arrived.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(frame: u32, index: u16, count: u16) -> Fragment {
        Fragment {
            frame: FrameId(frame),
            index,
            count,
        }
    }

    #[test]
    fn the_last_missing_fragment_is_told_once() {
        for count in [1, 2, 63, 64, 65, 128, 129, u16::MAX] {
            let mut slot = Slot::default();
            let last = count / 2;
            for index in (0..count).filter(|index| *index != last) {
                assert!(!slot.take(part(7, index, count), 0).completed);
                assert!(
                    !slot.take(part(7, index, count), 0).completed,
                    "a duplicate"
                );
            }
            assert!(
                slot.take(part(7, last, count), 0).completed,
                "{last} of {count}"
            );
            assert!(!slot.take(part(7, last, count), 0).completed, "a duplicate");
        }
    }

    #[test]
    fn a_newer_frame_takes_the_place_of_an_older_one_and_not_the_other_way() {
        let mut slot = Slot::default();
        assert!(!slot.take(part(8, 0, 2), 0).completed);
        assert!(!slot.take(part(16, 1, 2), 0).completed);
        assert!(!slot.take(part(8, 1, 2), 0).completed);
        assert!(slot.take(part(16, 0, 2), 0).completed);
    }

    #[test]
    fn of_two_sizes_the_first_is_believed() {
        let mut slot = Slot::default();
        assert!(!slot.take(part(8, 0, 2), 0).completed);
        assert!(!slot.take(part(8, 0, 1), 0).completed);
        assert!(!slot.take(part(8, 1, 3), 0).completed);
        assert!(slot.take(part(8, 1, 2), 0).completed);
    }
}
