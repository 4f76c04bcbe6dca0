//! Things with consecutive numbers, kept for as long as they matter.

use std::collections::{BTreeMap, VecDeque};

use crate::units::{count, index};

/// The widest gap between numbers that is believed; a wider one starts anew.
/// Ours: more packets than are ever under way at once.
const WIDEST_GAP: u64 = 1 << 20;

/// Things by number, in a ring from the lowest number that is still needed to
/// the highest: no search, no hashing, memory for what lies between.
#[derive(Clone, Debug)]
pub(super) struct Numbered<T> {
    first: u64,
    slots: VecDeque<Option<T>>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            first: 0,
            slots: VecDeque::new(),
        }
    }
}

impl<T> Numbered<T> {
    /// Puts a thing at a number, in place of what was there.
    #[inline]
    pub(super) fn put(&mut self, number: u64, thing: T) {
        let next = self.first.saturating_add(count(self.slots.len()));
        if number == next || self.slots.is_empty() {
            if self.slots.is_empty() {
                self.first = number;
            }
            self.slots.push_back(Some(thing));
        } else {
            self.put_aside(number, next, thing);
        }
    }

    #[cold]
    fn put_aside(&mut self, number: u64, next: u64, thing: T) {
        if number > next {
            if number - next > WIDEST_GAP {
                self.slots.clear();
                self.first = number;
            }
            while self.first + count(self.slots.len()) < number {
                self.slots.push_back(None);
            }
            self.slots.push_back(Some(thing));
            return;
        }
        if self.first > number && self.first - number > WIDEST_GAP {
            return;
        }
        while self.first > number {
            self.slots.push_front(None);
            self.first -= 1;
        }
        if let Some(slot) = self.slot(number) {
            *slot = Some(thing);
        }
    }

    #[inline]
    fn slot(&mut self, number: u64) -> Option<&mut Option<T>> {
        let place = number.checked_sub(self.first)?;
        self.slots.get_mut(index(place))
    }

    /// The thing at a number.
    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.slot(number)?.as_mut()
    }

    /// Takes out the thing at a number.
    #[inline]
    pub(super) fn take(&mut self, number: u64) -> Option<T> {
        let thing = self.slot(number)?.take();
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        thing
    }

    /// Takes out the first thing, unless its number is beyond `to`.
    pub(super) fn pop_to(&mut self, to: u64) -> Option<(u64, T)> {
        loop {
            let number = self.first;
            if number > to {
                return None;
            }
            let thing = self.slots.pop_front()?;
            self.first += 1;
            if let Some(thing) = thing {
                return Some((number, thing));
            }
        }
    }

    /// The things from one number to another, both included.
    pub(super) fn range_mut(&mut self, from: u64, to: u64) -> impl Iterator<Item = &mut T> {
        let place = |number: u64| index(number.saturating_sub(self.first)).min(self.slots.len());
        let after = to
            .checked_sub(self.first)
            .map_or(0, |_| place(to.saturating_add(1)));
        let from = place(from).min(after);
        self.slots.range_mut(from..after).flatten()
    }

    /// All things, by rising number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }
}

/// Packets of one path between their sending and their arrival.
///
/// Those of which the log says that they are gone leave the ring, so that one
/// lost packet does not hold up the memory of all that follow; should a copy
/// arrive after all, they are still known.
#[derive(Clone, Debug)]
pub(super) struct Journeys<T> {
    under_way: Numbered<T>,
    missing: BTreeMap<u64, T>,
}

impl<T> Default for Journeys<T> {
    fn default() -> Self {
        Self {
            under_way: Numbered::default(),
            missing: BTreeMap::new(),
        }
    }
}

impl<T> Journeys<T> {
    /// A packet was sent.
    #[inline]
    pub(super) fn start(&mut self, number: u64, journey: T) {
        self.under_way.put(number, journey);
    }

    /// A packet was dropped or given up: gives it, the first time.
    pub(super) fn miss(&mut self, number: u64) -> Option<&T> {
        let journey = self.under_way.take(number)?;
        Some(self.missing.entry(number).or_insert(journey))
    }

    /// A packet arrived: gives it, the first time, and whether it was missing.
    #[inline]
    pub(super) fn end(&mut self, number: u64) -> Option<(T, bool)> {
        match self.under_way.take(number) {
            Some(journey) => Some((journey, false)),
            None if self.missing.is_empty() => None,
            None => self.missing.remove(&number).map(|journey| (journey, true)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_ring_is_an_ordered_map(steps in proptest::collection::vec((0u64..60, 0u8..4), 1..200)) {
            let mut ring = Numbered::default();
            let mut map = BTreeMap::new();
            for (value, (number, step)) in steps.into_iter().enumerate() {
                if step < 2 {
                    ring.put(number, value);
                    map.insert(number, value);
                } else {
                    prop_assert_eq!(ring.get_mut(number).copied(), map.get(&number).copied());
                    prop_assert_eq!(ring.take(number), map.remove(&number));
                }
                prop_assert!(ring.iter().eq(map.values()));
            }
        }
    }

    #[test]
    fn wild_numbers_cost_no_memory() {
        let mut ring = Numbered::default();
        ring.put(5, 'a');
        ring.put(u64::MAX / 2, 'b');
        ring.put(0, 'c');
        assert_eq!(ring.iter().collect::<Vec<_>>(), [&'b']);
        assert_eq!(ring.take(u64::MAX / 2), Some('b'));
    }

    #[test]
    fn a_lost_packet_that_arrives_is_still_known() {
        let mut journeys = Journeys::default();
        for number in 0..4 {
            journeys.start(number, number * 10);
        }
        assert_eq!(journeys.miss(1), Some(&10));
        assert_eq!(journeys.miss(1), None);
        assert_eq!(journeys.end(0), Some((0, false)));
        assert_eq!(journeys.end(1), Some((10, true)));
        assert_eq!(journeys.end(1), None);
        assert_eq!(journeys.end(3), Some((30, false)));
    }
}
