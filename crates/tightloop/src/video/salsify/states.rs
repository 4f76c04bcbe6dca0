//! Which frames the receiver is known to be able to build on.

use std::collections::VecDeque;

use crate::event::{Fragment, FrameId};
use crate::video::Encoded;

/// Frames that are remembered. Ours: many seconds more than a round trip.
const MEMORY: usize = 512;

/// The frames sent, what each refers to and what has arrived of it.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    frames: VecDeque<State>,
    /// What the next frame refers to, in place of the last one.
    refers_to: Option<FrameId>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    frame: FrameId,
    /// `None` where it can be decoded alone.
    refers_to: Option<FrameId>,
    arrived: u16,
    /// All of it has arrived.
    whole: bool,
    /// And all that it builds on.
    there: bool,
}

impl States {
    /// The next frame refers to this one; `None` for the one before it.
    pub(super) fn refer_to(&mut self, frame: Option<FrameId>) {
        self.refers_to = frame;
    }

    /// A frame is about to be sent.
    pub(super) fn on_encoded(&mut self, encoded: &Encoded) {
        let before = self.frames.back().map(|state| state.frame);
        let refers_to = self.refers_to.take().or(before).filter(|_| !encoded.key);
        if self.frames.len() == MEMORY {
            self.frames.pop_front();
        }
        self.frames.push_back(State {
            frame: encoded.frame,
            refers_to,
            arrived: 0,
            whole: false,
            there: false,
        });
    }

    /// A fragment arrived, for the first time.
    pub(super) fn on_arrival(&mut self, fragment: Fragment) {
        let place = self
            .frames
            .binary_search_by_key(&fragment.frame, |state| state.frame);
        let Ok(place) = place else { return };
        let state = &mut self.frames[place];
        state.arrived = state.arrived.saturating_add(1);
        state.whole = state.arrived >= fragment.count;
        if !state.whole || state.there {
            return;
        }
        // Frames refer backwards: one pass finds all that can be built on now.
        for later in place..self.frames.len() {
            let State {
                whole, refers_to, ..
            } = self.frames[later];
            self.frames[later].there = whole && refers_to.is_none_or(|of| self.is_there(of));
        }
    }

    /// The newest frame that the receiver can build on.
    pub(super) fn newest_there(&self) -> Option<FrameId> {
        let mut newest = self.frames.iter().rev();
        newest.find(|state| state.there).map(|state| state.frame)
    }

    fn is_there(&self, frame: FrameId) -> bool {
        let place = self
            .frames
            .binary_search_by_key(&frame, |state| state.frame);
        place.is_ok_and(|place| self.frames[place].there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Time};

    fn encoded(frame: u32, key: bool) -> Encoded {
        Encoded {
            frame: FrameId(frame),
            size: Bytes::new(1),
            key,
            ready: Time::ZERO,
        }
    }

    fn arrive(states: &mut States, frame: u32) {
        states.on_arrival(Fragment {
            frame: FrameId(frame),
            index: 0,
            count: 1,
        });
    }

    #[test]
    fn a_frame_is_there_when_all_that_it_builds_on_is() {
        let mut states = States::default();
        for frame in 0..4 {
            states.on_encoded(&encoded(frame, frame == 0));
        }
        assert_eq!(states.newest_there(), None);
        arrive(&mut states, 0);
        // Frame 1 is missing.
        arrive(&mut states, 2);
        assert_eq!(states.newest_there(), Some(FrameId(0)));
        // One that refers to what is there needs no frame 1.
        states.refer_to(Some(FrameId(0)));
        states.on_encoded(&encoded(7, false));
        arrive(&mut states, 7);
        assert_eq!(states.newest_there(), Some(FrameId(7)));
        arrive(&mut states, 3);
        arrive(&mut states, 1);
        assert!(states.is_there(FrameId(3)));
    }
}
