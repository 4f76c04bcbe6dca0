//! The screen: which frames are complete, and which are shown.
//!
//! Fragments arrive in any order, doubled or not at all. A frame is *complete*
//! when its last missing fragment arrives. A complete frame newer than the one
//! on the screen is shown, at once or after a fixed delay; an older one came
//! too late. Incomplete frames are remembered until their place is needed for a
//! newer one, so a frame that comes too late still counts as complete.
//!
//! What arrives may be nonsense: memory is bounded, and one absurd frame number
//! does not make all real ones look old. Nothing allocates per frame.
//! Latencies and freezes are computed elsewhere, from events.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::cc::SettingError;
use crate::event::{Fragment, FrameId};
use crate::units::{Span, Time, count, index};

use slot::Slot;

mod slot;

/// How far ahead of all others a frame may be and still be believed at once.
/// [RFC3550] A.1: a jump of 3000 numbers.
const MAX_JUMP: u32 = 3_000;

/// The most frames that can be remembered. Ours: many minutes of video.
const MAX_MEMORY: u32 = 1 << 16;

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlayoutSettings {
    /// How long a complete frame waits before it is shown. Ours: not at all,
    /// for interaction.
    pub delay: Span,
    /// How many frames back an incomplete one is remembered, and how many may
    /// wait for the screen. Ours: 256, four seconds at 60 frames per second,
    /// longer than a retransmission takes.
    pub memory: u32,
}

impl Default for PlayoutSettings {
    fn default() -> Self {
        Self {
            delay: Span::ZERO,
            memory: 256,
        }
    }
}

/// What a fragment led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// It was the last its frame had missed.
    pub completed: bool,
    /// Its frame is on the screen now. Never where frames wait for a delay:
    /// then [`Playout::on_wake`] shows them.
    pub shown: bool,
}

/// The receiver's screen.
#[derive(Clone, Debug)]
pub struct Playout {
    delay: Span,
    /// Frame `n` has the place `n mod memory`.
    slots: Vec<Slot>,
    newest: FrameId,
    /// A frame too far ahead to be believed; a second one near it proves it.
    suspect: Option<FrameId>,
    shown: Option<FrameId>,
    /// Complete frames that wait for the screen, by rising number and time.
    waiting: VecDeque<(Time, FrameId)>,
}

impl Playout {
    /// A screen that shows nothing yet.
    ///
    /// # Errors
    ///
    /// A negative delay, a memory of no frame or of far too many.
    pub fn new(settings: &PlayoutSettings) -> Result<Self, SettingError> {
        let PlayoutSettings { delay, memory } = *settings;
        SettingError::unless(delay >= Span::ZERO, || {
            format!("delay = {delay} is negative; use 0 s or more")
        })?;
        SettingError::unless((1..=MAX_MEMORY).contains(&memory), || {
            format!("memory = {memory} frames; use 1 to {MAX_MEMORY}")
        })?;
        Ok(Self {
            delay,
            slots: vec![Slot::default(); index(u64::from(memory))],
            newest: FrameId(0),
            suspect: None,
            shown: None,
            waiting: VecDeque::new(),
        })
    }

    /// A fragment arrived.
    pub fn on_fragment(&mut self, now: Time, fragment: Fragment) -> Outcome {
        if fragment.index >= fragment.count || !self.believes(fragment.frame) {
            return Outcome::default();
        }
        self.newest = self.newest.max(fragment.frame);
        let place = index(u64::from(fragment.frame.0) % count(self.slots.len()));
        let completed = self.slots[place].take(fragment);
        Outcome {
            completed,
            shown: completed && self.on_complete(now, fragment.frame),
        }
    }

    /// When to call [`Playout::on_wake`]; never without a delay.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.waiting.front().map(|(due, _)| *due)
    }

    /// Shows the next frame that is due by `now`, if any, and says when it was
    /// due. To be called until there is none.
    pub fn on_wake(&mut self, now: Time) -> Option<(Time, FrameId)> {
        let (due, frame) = self.waiting.pop_front_if(|(due, _)| *due <= now)?;
        self.shown = Some(frame);
        Some((due, frame))
    }

    /// The frame on the screen.
    #[must_use]
    pub const fn shown(&self) -> Option<FrameId> {
        self.shown
    }

    /// One absurd number must not make all real ones look old.
    fn believes(&mut self, frame: FrameId) -> bool {
        if frame.0 <= self.newest.0.saturating_add(MAX_JUMP) {
            return true;
        }
        let near = |suspect: FrameId| suspect.0.abs_diff(frame.0) <= MAX_JUMP;
        if self.suspect.is_some_and(near) {
            self.suspect = None;
            return true;
        }
        self.suspect = Some(frame);
        false
    }

    /// Shows a complete frame, or lets it wait: is it on the screen?
    fn on_complete(&mut self, now: Time, frame: FrameId) -> bool {
        // A late caller has not yet asked for frames that are on the screen by now.
        let due = self.waiting.iter().rev().find(|(due, _)| *due <= now);
        let on_screen = due.map(|(_, frame)| *frame).max(self.shown);
        if on_screen.is_some_and(|on_screen| frame <= on_screen) {
            return false;
        }
        if self.delay == Span::ZERO {
            self.shown = Some(frame);
            return true;
        }
        let place = self.waiting.partition_point(|(_, other)| *other < frame);
        // Not after a newer one that is ready: it would never be seen.
        let newer = self.waiting.get(place).map(|(due, _)| *due);
        let due = now + self.delay;
        let due = newer.map_or(due, |newer| newer.min(due));
        self.waiting.insert(place, (due, frame));
        if self.waiting.len() > self.slots.len() {
            self.waiting.pop_front();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    const DONE: Outcome = Outcome {
        completed: true,
        shown: true,
    };
    const COMPLETE: Outcome = Outcome {
        completed: true,
        shown: false,
    };
    const NOTHING: Outcome = Outcome {
        completed: false,
        shown: false,
    };

    fn playout(delay_ms: i64, memory: u32) -> Playout {
        Playout::new(&PlayoutSettings {
            delay: Span::from_millis(delay_ms),
            memory,
        })
        .expect("good settings")
    }

    fn part(frame: u32, index: u16, count: u16) -> Fragment {
        Fragment {
            frame: FrameId(frame),
            index,
            count,
        }
    }

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn a_frame_is_shown_with_its_last_missing_fragment() {
        let mut playout = playout(0, 8);
        let order = [3, 0, 2, 0, 3];
        for index in order {
            assert_eq!(playout.on_fragment(ms(1), part(0, index, 4)), NOTHING);
        }
        assert_eq!(playout.shown(), None);
        assert_eq!(playout.on_fragment(ms(2), part(0, 1, 4)), DONE);
        assert_eq!(playout.shown(), Some(FrameId(0)));
        assert_eq!(
            playout.on_fragment(ms(3), part(0, 1, 4)),
            NOTHING,
            "a duplicate"
        );
        assert_eq!(playout.next_wake(), None);
    }

    #[test]
    fn a_frame_older_than_the_screen_is_too_late() {
        let mut playout = playout(0, 8);
        playout.on_fragment(ms(0), part(4, 0, 2));
        assert_eq!(playout.on_fragment(ms(1), part(5, 0, 1)), DONE);
        assert_eq!(playout.on_fragment(ms(2), part(4, 1, 2)), COMPLETE);
        assert_eq!(playout.shown(), Some(FrameId(5)));
    }

    #[test]
    fn an_incomplete_frame_is_forgotten_after_the_memory_and_not_before() {
        let late = |distance: u32| {
            let mut playout = playout(0, 8);
            playout.on_fragment(ms(0), part(1, 0, 2));
            for frame in 2..=1 + distance {
                playout.on_fragment(ms(1), part(frame, 0, 1));
            }
            playout.on_fragment(ms(2), part(1, 1, 2))
        };
        assert_eq!(late(7), COMPLETE);
        assert_eq!(late(8), NOTHING);
    }

    #[test]
    fn frames_wait_for_the_delay_and_older_ones_go_first() {
        let mut playout = playout(20, 8);
        assert_eq!(playout.on_fragment(ms(10), part(1, 0, 1)), COMPLETE);
        assert_eq!(playout.on_fragment(ms(15), part(3, 0, 1)), COMPLETE);
        // Complete after frame 3, and still in time: it goes with it, and first.
        assert_eq!(playout.on_fragment(ms(18), part(2, 0, 1)), COMPLETE);
        assert_eq!(playout.next_wake(), Some(ms(30)));
        assert_eq!(playout.on_wake(ms(29)), None);
        let shown: Vec<_> = std::iter::from_fn(|| playout.on_wake(ms(99))).collect();
        let expected = [
            (ms(30), FrameId(1)),
            (ms(35), FrameId(2)),
            (ms(35), FrameId(3)),
        ];
        assert_eq!(shown, expected);
        assert_eq!(playout.next_wake(), None);
    }

    #[test]
    fn a_late_wake_up_changes_nothing_logical() {
        let shown = |punctual: bool| {
            let mut playout = playout(20, 8);
            let mut shown = Vec::new();
            for (at, frame) in [(0, 2), (5, 1), (21, 3), (40, 4), (41, 2), (70, 5)] {
                if punctual {
                    shown.extend(std::iter::from_fn(|| playout.on_wake(ms(at))));
                }
                playout.on_fragment(ms(at), part(frame, 0, 1));
            }
            shown.extend(std::iter::from_fn(|| playout.on_wake(ms(200))));
            shown
        };
        assert_eq!(shown(true), shown(false));
        assert_eq!(shown(true).len(), 5, "one of six came too late");
        // A frame that completes when its successor is on the screen is too late.
        let mut playout = playout(20, 8);
        playout.on_fragment(ms(0), part(2, 0, 1));
        playout.on_fragment(ms(20), part(1, 0, 1));
        assert_eq!(playout.on_wake(ms(99)), Some((ms(20), FrameId(2))));
        assert_eq!(playout.on_wake(ms(99)), None);
    }

    #[test]
    fn one_absurd_number_costs_nothing_and_a_real_jump_costs_one_fragment() {
        let mut playout = playout(0, 8);
        playout.on_fragment(ms(0), part(0, 0, 1));
        assert_eq!(playout.on_fragment(ms(1), part(u32::MAX, 0, 1)), NOTHING);
        assert_eq!(
            playout.on_fragment(ms(2), part(3_000, 0, 1)),
            DONE,
            "a minute's outage"
        );
        assert_eq!(playout.on_fragment(ms(3), part(900_000, 0, 1)), NOTHING);
        assert_eq!(playout.on_fragment(ms(4), part(900_001, 0, 1)), DONE);
        assert_eq!(playout.on_fragment(ms(5), part(u32::MAX, 0, 1)), NOTHING);
        assert_eq!(
            playout.on_fragment(ms(6), part(u32::MAX, 0, 1)),
            DONE,
            "the last number"
        );
    }

    #[test]
    fn nonsense_is_ignored() {
        let mut playout = playout(0, 8);
        for (index, count) in [(0, 0), (3, 3), (u16::MAX, 2), (u16::MAX, u16::MAX)] {
            assert_eq!(playout.on_fragment(ms(0), part(1, index, count)), NOTHING);
        }
        assert_eq!(playout.on_fragment(ms(1), part(1, 0, 2)), NOTHING);
        assert_eq!(playout.on_fragment(ms(1), part(1, 1, 2)), DONE);
    }

    #[test]
    fn memory_does_not_grow_from_frame_to_frame() {
        let capacity = |playout: &Playout| {
            let words = playout.slots.iter().map(Slot::capacity);
            words.sum::<usize>() + playout.waiting.capacity() + playout.slots.capacity()
        };
        let mut playout = playout(50, 16);
        let mut play = |frames: std::ops::Range<u32>| {
            for frame in frames {
                let now = ms(16 * u64::from(frame));
                while playout.on_wake(now).is_some() {}
                let count = 150 + u16::try_from(frame % 150).expect("small");
                for index in (0..count).rev() {
                    playout.on_fragment(now, part(frame, index, count));
                }
            }
            capacity(&playout)
        };
        let before = play(0..2_400);
        assert_eq!(play(2_400..9_600), before);
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |text: &str| {
            let settings: PlayoutSettings = toml::from_str(text).expect("the right types");
            Playout::new(&settings).expect_err("refused").to_string()
        };
        assert!(refused("delay = \"-1 ms\"").contains("delay = -1 ms"));
        assert!(refused("memory = 0").contains("memory = 0"));
        assert!(refused("memory = 100000").contains("memory = 100000"));
    }

    proptest! {
        /// Against a receiver that remembers everything.
        #[test]
        fn outcomes_are_those_of_a_receiver_with_endless_memory(
            counts in prop::collection::vec(1u16..200, 1..40),
            picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4_000),
        ) {
            let mut playout = playout(0, 64);
            let mut arrived: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
            let mut on_screen = None;
            for (frame, place) in picks {
                let frame = frame.index(counts.len());
                let total = counts[frame];
                let place = u16::try_from(place.index(usize::from(total))).expect("small");
                let frame = u32::try_from(frame).expect("small");
                let parts = arrived.entry(frame).or_default();
                let completed = parts.insert(place) && parts.len() == usize::from(total);
                let shown = completed && on_screen < Some(frame);
                if shown {
                    on_screen = Some(frame);
                }
                let outcome = playout.on_fragment(Time::ZERO, part(frame, place, total));
                prop_assert_eq!(outcome, Outcome { completed, shown });
            }
        }

        #[test]
        fn garbage_does_no_harm(
            delay in 0i64..50,
            memory in 1u32..20,
            garbage in prop::collection::vec((0i64..20, any::<(u32, u16, u16)>(), 0u32..40, 1u32..30), 1..300),
        ) {
            let (delay, memory) = (delay * i64::from(delay > 10), memory);
            let mut playout = playout(delay, memory);
            let (mut now, mut last) = (Time::ZERO, None);
            for (pause, (frame, place, total), far, small) in garbage {
                now += Span::from_millis(pause);
                while let Some((due, frame)) = playout.on_wake(now) {
                    prop_assert!(due <= now && Some(frame) > last);
                    last = Some(frame);
                }
                // Most numbers are near each other and most frames small.
                let frame = frame >> far.min(31);
                let shift = u16::try_from(small / 2).expect("small");
                let (place, total) = (place >> shift, total >> shift);
                let outcome = playout.on_fragment(now, part(frame, place, total));
                if outcome.shown {
                    prop_assert!(Some(FrameId(frame)) > last);
                    last = Some(FrameId(frame));
                }
                prop_assert_eq!(playout.shown(), last);
                let waiting = playout.waiting.iter().collect::<Vec<_>>();
                prop_assert!(waiting.len() <= playout.slots.len());
                prop_assert!(waiting.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(playout.next_wake().is_none_or(|due| due > now));
            }
        }
    }
}
