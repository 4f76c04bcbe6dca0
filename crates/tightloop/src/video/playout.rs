//! The decoder and the screen: which frames are complete, which can be decoded,
//! and which are shown.
//!
//! Fragments arrive in any order, doubled or not at all. A frame is *complete*
//! when its last missing fragment arrives. It can be *decoded* if it stands
//! alone or the frame it refers to has been decoded. A decoded frame newer than
//! the one on the screen is shown, at once or after a fixed delay; an older one
//! came too late. Incomplete frames are remembered until their place is needed
//! for a newer one, so a frame that comes too late still counts as complete, and
//! sets free those that waited for it.
//!
//! Where a frame waits too long for one it refers to, the picture stands still,
//! and the receiver asks for a frame that can be decoded alone.
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
    /// Take every frame for one that can be decoded alone. Ours: no, real
    /// encoders refer to what came before.
    pub independent: bool,
    /// Ask for a frame that can be decoded alone where the picture stands still.
    /// Ours: yes.
    pub ask_for_key: bool,
    /// How long a frame waits for one it refers to before a key frame is asked
    /// for, and then again. Ours: 200 ms, in which a lost packet comes again over
    /// any path fit for a call.
    pub patience: Span,
}

impl Default for PlayoutSettings {
    fn default() -> Self {
        Self {
            delay: Span::ZERO,
            memory: 256,
            independent: false,
            ask_for_key: true,
            patience: Span::from_millis(200),
        }
    }
}

/// What a fragment led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Outcome {
    /// It was the last its frame had missed.
    pub completed: bool,
    /// The frame that is on the screen now because of it: its own, or a newer one
    /// that had waited for it. Never where frames wait for a delay: then
    /// [`Playout::on_wake`] shows them.
    pub shown: Option<FrameId>,
}

/// The receiver's screen.
#[derive(Clone, Debug)]
pub struct Playout {
    settings: PlayoutSettings,
    /// Frame `n` has the place `n mod memory`.
    slots: Vec<Slot>,
    newest: FrameId,
    /// A frame too far ahead to be believed; a second one near it proves it.
    suspect: Option<FrameId>,
    shown: Option<FrameId>,
    /// Complete frames that wait for the screen, by rising number and time.
    waiting: VecDeque<(Time, FrameId)>,
    /// A frame that waits for one it refers to, since when.
    blocked: Option<(Time, FrameId)>,
    key_wanted: Option<FrameId>,
}

impl Playout {
    /// A screen that shows nothing yet.
    ///
    /// # Errors
    ///
    /// A negative delay, a memory of no frame or of far too many, no patience.
    pub fn new(settings: &PlayoutSettings) -> Result<Self, SettingError> {
        let PlayoutSettings {
            delay,
            memory,
            patience,
            ..
        } = *settings;
        SettingError::unless(delay >= Span::ZERO, || {
            format!("delay = {delay} is negative; use 0 s or more")
        })?;
        SettingError::unless((1..=MAX_MEMORY).contains(&memory), || {
            format!("memory = {memory} frames; use 1 to {MAX_MEMORY}")
        })?;
        SettingError::unless(patience.is_positive(), || {
            format!(
                "patience = {patience} would ask for ever; use more than 0 s, or `ask_for_key = false`"
            )
        })?;
        Ok(Self {
            settings: settings.clone(),
            slots: vec![Slot::default(); index(u64::from(memory))],
            newest: FrameId(0),
            suspect: None,
            shown: None,
            waiting: VecDeque::new(),
            blocked: None,
            key_wanted: None,
        })
    }

    /// A fragment arrived, of a frame that refers to the one so many frames back;
    /// zero for none.
    pub fn on_fragment(&mut self, now: Time, fragment: Fragment, refers: u16) -> Outcome {
        let frame = fragment.frame;
        if fragment.index >= fragment.count || !self.believes(frame) {
            return Outcome::default();
        }
        let refers = if self.settings.independent { 0 } else { refers };
        self.newest = self.newest.max(frame);
        let taken = self.slot_mut(frame).take(fragment, refers);
        if taken.begun && !self.can_follow(frame, refers) {
            self.blocked.get_or_insert((now, frame));
        }
        let decoded = match taken.completed {
            true => self.decode_from(frame),
            false => None,
        };
        Outcome {
            completed: taken.completed,
            shown: decoded.filter(|decoded| self.on_decoded(now, *decoded)),
        }
    }

    /// When to call [`Playout::on_wake`] and [`Playout::on_patience`].
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        let due = self.waiting.front().map(|(due, _)| *due);
        let asks = self.blocked.filter(|_| self.settings.ask_for_key);
        let asks = asks.map(|(since, _)| since + self.settings.patience);
        due.into_iter().chain(asks).min()
    }

    /// The picture has stood still for too long: a frame that can be decoded
    /// alone, newer than the one returned, is to be asked for.
    pub fn on_patience(&mut self, now: Time) -> Option<FrameId> {
        let (since, frame) = self.blocked.filter(|_| self.settings.ask_for_key)?;
        if now < since + self.settings.patience {
            return None;
        }
        // Asked for again in a while: the answer may be lost.
        self.blocked = Some((now, frame));
        self.key_wanted = Some(self.newest);
        self.key_wanted
    }

    /// The decoder waits for a frame that can be decoded alone, newer than this.
    #[must_use]
    pub const fn key_wanted(&self) -> Option<FrameId> {
        self.key_wanted
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

    fn place(&self, frame: FrameId) -> usize {
        index(u64::from(frame.0) % count(self.slots.len()))
    }

    fn slot_mut(&mut self, frame: FrameId) -> &mut Slot {
        let place = self.place(frame);
        &mut self.slots[place]
    }

    /// The frame so many frames back has been decoded, or none is needed.
    fn can_follow(&self, frame: FrameId, refers: u16) -> bool {
        let of = frame.0.checked_sub(refers.into()).map(FrameId);
        refers == 0 || of.is_some_and(|of| self.slots[self.place(of)].is_decoded(of))
    }

    /// Decodes a frame and those that waited for it: which is the newest?
    fn decode_from(&mut self, frame: FrameId) -> Option<FrameId> {
        let mut decoded = None;
        let last = self
            .newest
            .0
            .min(frame.0.saturating_add(self.settings.memory));
        for frame in (frame.0..=last).map(FrameId) {
            let waits = self.slots[self.place(frame)].waits(frame);
            if waits.is_some_and(|refers| self.can_follow(frame, refers)) {
                self.slot_mut(frame).decode();
                decoded = Some(frame);
            } else if decoded.is_none() {
                break;
            }
        }
        if self
            .blocked
            .is_some_and(|(_, blocked)| decoded >= Some(blocked))
        {
            self.blocked = None;
            self.key_wanted = None;
        }
        decoded
    }

    /// Shows a decoded frame, or lets it wait: is it on the screen?
    fn on_decoded(&mut self, now: Time, frame: FrameId) -> bool {
        // A late caller has not yet asked for frames that are on the screen by now.
        let due = self.waiting.iter().rev().find(|(due, _)| *due <= now);
        let on_screen = due.map(|(_, frame)| *frame).max(self.shown);
        if on_screen.is_some_and(|on_screen| frame <= on_screen) {
            return false;
        }
        if self.settings.delay == Span::ZERO {
            self.shown = Some(frame);
            return true;
        }
        let place = self.waiting.partition_point(|(_, other)| *other < frame);
        // Not after a newer one that is ready: it would never be seen.
        let newer = self.waiting.get(place).map(|(due, _)| *due);
        let due = now + self.settings.delay;
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

    /// What a fragment led to: its frame is complete; its frame is on the screen.
    type Took = (bool, bool);

    const DONE: Took = (true, true);
    const COMPLETE: Took = (true, false);
    const NOTHING: Took = (false, false);

    /// A fragment of a frame that can be decoded alone.
    fn take(playout: &mut Playout, now: Time, fragment: Fragment) -> Took {
        let outcome = playout.on_fragment(now, fragment, 0);
        assert!(outcome.shown.is_none_or(|shown| shown == fragment.frame));
        (outcome.completed, outcome.shown.is_some())
    }

    fn playout(delay_ms: i64, memory: u32) -> Playout {
        Playout::new(&PlayoutSettings {
            delay: Span::from_millis(delay_ms),
            memory,
            ..PlayoutSettings::default()
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
            assert_eq!(take(&mut playout, ms(1), part(0, index, 4)), NOTHING);
        }
        assert_eq!(playout.shown(), None);
        assert_eq!(take(&mut playout, ms(2), part(0, 1, 4)), DONE);
        assert_eq!(playout.shown(), Some(FrameId(0)));
        assert_eq!(
            take(&mut playout, ms(3), part(0, 1, 4)),
            NOTHING,
            "a duplicate"
        );
        assert_eq!(playout.next_wake(), None);
    }

    #[test]
    fn a_frame_older_than_the_screen_is_too_late() {
        let mut playout = playout(0, 8);
        take(&mut playout, ms(0), part(4, 0, 2));
        assert_eq!(take(&mut playout, ms(1), part(5, 0, 1)), DONE);
        assert_eq!(take(&mut playout, ms(2), part(4, 1, 2)), COMPLETE);
        assert_eq!(playout.shown(), Some(FrameId(5)));
    }

    #[test]
    fn an_incomplete_frame_is_forgotten_after_the_memory_and_not_before() {
        let late = |distance: u32| {
            let mut playout = playout(0, 8);
            take(&mut playout, ms(0), part(1, 0, 2));
            for frame in 2..=1 + distance {
                take(&mut playout, ms(1), part(frame, 0, 1));
            }
            take(&mut playout, ms(2), part(1, 1, 2))
        };
        assert_eq!(late(7), COMPLETE);
        assert_eq!(late(8), NOTHING);
    }

    #[test]
    fn frames_wait_for_the_delay_and_older_ones_go_first() {
        let mut playout = playout(20, 8);
        assert_eq!(take(&mut playout, ms(10), part(1, 0, 1)), COMPLETE);
        assert_eq!(take(&mut playout, ms(15), part(3, 0, 1)), COMPLETE);
        // Complete after frame 3, and still in time: it goes with it, and first.
        assert_eq!(take(&mut playout, ms(18), part(2, 0, 1)), COMPLETE);
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
                take(&mut playout, ms(at), part(frame, 0, 1));
            }
            shown.extend(std::iter::from_fn(|| playout.on_wake(ms(200))));
            shown
        };
        assert_eq!(shown(true), shown(false));
        assert_eq!(shown(true).len(), 5, "one of six came too late");
        // A frame that completes when its successor is on the screen is too late.
        let mut playout = playout(20, 8);
        take(&mut playout, ms(0), part(2, 0, 1));
        take(&mut playout, ms(20), part(1, 0, 1));
        assert_eq!(playout.on_wake(ms(99)), Some((ms(20), FrameId(2))));
        assert_eq!(playout.on_wake(ms(99)), None);
    }

    #[test]
    fn one_absurd_number_costs_nothing_and_a_real_jump_costs_one_fragment() {
        let mut playout = playout(0, 8);
        take(&mut playout, ms(0), part(0, 0, 1));
        assert_eq!(take(&mut playout, ms(1), part(u32::MAX, 0, 1)), NOTHING);
        assert_eq!(
            take(&mut playout, ms(2), part(3_000, 0, 1)),
            DONE,
            "a minute's outage"
        );
        assert_eq!(take(&mut playout, ms(3), part(900_000, 0, 1)), NOTHING);
        assert_eq!(take(&mut playout, ms(4), part(900_001, 0, 1)), DONE);
        assert_eq!(take(&mut playout, ms(5), part(u32::MAX, 0, 1)), NOTHING);
        assert_eq!(
            take(&mut playout, ms(6), part(u32::MAX, 0, 1)),
            DONE,
            "the last number"
        );
    }

    /// One frame of one fragment, that refers to the one so many frames back.
    fn frame(playout: &mut Playout, at: u64, number: u32, refers: u16) -> Option<u32> {
        let outcome = playout.on_fragment(ms(at), part(number, 0, 1), refers);
        assert!(outcome.completed);
        outcome.shown.map(|shown| shown.0)
    }

    #[test]
    fn a_frame_waits_for_the_one_it_refers_to_and_is_shown_with_it() {
        let mut playout = playout(0, 16);
        assert_eq!(frame(&mut playout, 0, 0, 0), Some(0));
        assert_eq!(frame(&mut playout, 10, 1, 1), Some(1));
        // Frame 2 is missing; 3 was skipped, and 4 refers to 2.
        assert_eq!(frame(&mut playout, 20, 4, 2), None);
        assert_eq!(frame(&mut playout, 30, 5, 1), None);
        assert_eq!(playout.next_wake(), Some(ms(220)));
        assert_eq!(
            frame(&mut playout, 40, 2, 1),
            Some(5),
            "all three in one go"
        );
        assert_eq!((playout.next_wake(), playout.key_wanted()), (None, None));
        assert_eq!(frame(&mut playout, 50, 6, 1), Some(6));
    }

    #[test]
    fn a_picture_that_stands_still_asks_for_a_key_frame_until_one_comes() {
        let mut playout = playout(0, 16);
        frame(&mut playout, 0, 0, 0);
        assert_eq!(frame(&mut playout, 20, 2, 1), None);
        assert_eq!(frame(&mut playout, 40, 3, 1), None);
        assert_eq!(playout.on_patience(ms(219)), None);
        assert_eq!(playout.on_patience(ms(220)), Some(FrameId(3)));
        assert_eq!(playout.key_wanted(), Some(FrameId(3)));
        // The key frame is lost; what follows it cannot be decoded.
        assert_eq!(frame(&mut playout, 300, 5, 1), None);
        assert_eq!(playout.on_patience(ms(420)), Some(FrameId(5)));
        assert_eq!(frame(&mut playout, 500, 6, 0), Some(6));
        assert_eq!((playout.next_wake(), playout.key_wanted()), (None, None));
        assert_eq!(frame(&mut playout, 510, 7, 1), Some(7));
    }

    #[test]
    fn the_switches_do_what_they_say() {
        let with = |text: &str| {
            let settings: PlayoutSettings = toml::from_str(text).expect("good settings");
            Playout::new(&settings).expect("good settings")
        };
        let mut silent = with("ask_for_key = false");
        frame(&mut silent, 0, 0, 0);
        assert_eq!(frame(&mut silent, 10, 2, 1), None);
        assert_eq!(
            (silent.next_wake(), silent.on_patience(ms(900))),
            (None, None)
        );
        let mut independent = with("independent = true");
        assert_eq!(frame(&mut independent, 0, 5, 1), Some(5));
        assert_eq!(independent.next_wake(), None);
    }

    #[test]
    fn nonsense_is_ignored() {
        let mut playout = playout(0, 8);
        for (index, count) in [(0, 0), (3, 3), (u16::MAX, 2), (u16::MAX, u16::MAX)] {
            assert_eq!(take(&mut playout, ms(0), part(1, index, count)), NOTHING);
        }
        assert_eq!(take(&mut playout, ms(1), part(1, 0, 2)), NOTHING);
        assert_eq!(take(&mut playout, ms(1), part(1, 1, 2)), DONE);
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
                    take(&mut playout, now, part(frame, index, count));
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
        assert!(refused("patience = \"0 s\"").contains("patience = 0 s"));
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
                let outcome = take(&mut playout, Time::ZERO, part(frame, place, total));
                prop_assert_eq!(outcome, (completed, shown));
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
                let outcome = take(&mut playout, now, part(frame, place, total));
                if outcome.1 {
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

        /// Against a decoder that looks at every frame whenever one arrives.
        #[test]
        fn what_is_shown_is_what_a_patient_decoder_would_show(
            refers in prop::collection::vec(0u16..3, 2..40),
            order in prop::collection::vec(any::<prop::sample::Index>(), 1..80),
        ) {
            let mut playout = playout(0, 64);
            let mut arrived = BTreeSet::new();
            let mut on_screen = None;
            for pick in order {
                let number = pick.index(refers.len());
                let refers_of = |number: usize| usize::from(refers[number]).min(number);
                arrived.insert(number);
                let mut decoded = BTreeSet::new();
                for &number in &arrived {
                    let back = refers_of(number);
                    if back == 0 || decoded.contains(&(number - back)) {
                        decoded.insert(number);
                    }
                }
                let newest = decoded.last().copied();
                let back = u16::try_from(refers_of(number)).expect("small");
                let id = u32::try_from(number).expect("small");
                let outcome = playout.on_fragment(Time::ZERO, part(id, 0, 1), back);
                let shown = outcome.shown.map(|shown| index(u64::from(shown.0)));
                prop_assert_eq!(shown, newest.filter(|newest| Some(*newest) > on_screen));
                on_screen = on_screen.max(newest);
            }
        }
    }
}
