//! One next event per component, and which comes first.
//!
//! A tournament tree over the components' next times. A component's place
//! breaks ties, so what happens first depends on what things are, never on the
//! order in which they were told.

use crate::units::{Time, index};

/// No event.
const NEVER: u64 = u64::MAX;

/// The tree. Node 1 is the root, node n has children 2n and 2n + 1; the last
/// nodes are the components themselves. Each node names the component that
/// comes first below it.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The next time of each component, padded to a power of two.
    due: Vec<u64>,
    winners: Vec<u32>,
}

impl Engine {
    /// An engine for this many components, none of which has an event yet.
    #[must_use]
    pub fn new(components: usize) -> Self {
        let leaves = components.max(2).next_power_of_two();
        let mut winners = vec![0; leaves];
        winners.extend((0..).take(leaves));
        let mut engine = Self {
            due: vec![NEVER; leaves],
            winners,
        };
        for node in (1..leaves).rev() {
            engine.winners[node] = engine.winner(node);
        }
        engine
    }

    #[inline]
    fn winner(&self, node: usize) -> u32 {
        let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
        // The left child has the lower component: it wins a tie.
        if self.due[index(u64::from(right))] < self.due[index(u64::from(left))] {
            right
        } else {
            left
        }
    }

    /// A component's next event.
    #[inline]
    pub fn set(&mut self, component: usize, next: Option<Time>) {
        let due = next.map_or(NEVER, Time::as_nanos);
        if self.due[component] == due {
            return;
        }
        self.due[component] = due;
        let mut node = (component + self.due.len()) / 2;
        while node >= 1 {
            let (before, winner) = (self.winners[node], self.winner(node));
            if before == winner && index(u64::from(winner)) != component {
                // It lost here before and loses again: nothing above changes.
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// What a component's next event was set to.
    #[inline]
    #[must_use]
    pub fn due(&self, component: usize) -> Option<Time> {
        let due = self.due[component];
        (due != NEVER).then(|| Time::from_nanos(due))
    }

    /// The component whose event comes first, and when.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(Time, usize)> {
        let winner = index(u64::from(self.winners[1]));
        let due = self.due[winner];
        (due != NEVER).then(|| (Time::from_nanos(due), winner))
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle: a plain heap of (time, component), stale entries skipped.
        #[test]
        fn gives_the_order_of_a_plain_heap(
            components in 1usize..40,
            steps in proptest::collection::vec((0usize..40, proptest::option::of(0u64..20)), 1..300),
        ) {
            let mut engine = Engine::new(components);
            let mut heap = BinaryHeap::new();
            let mut current = vec![None; components];
            for (component, next) in steps {
                let component = component % components;
                engine.set(component, next.map(Time::from_nanos));
                current[component] = next;
                if let Some(next) = next {
                    heap.push(Reverse((next, component)));
                }
                while let Some(&Reverse((next, component))) = heap.peek() {
                    if current[component] == Some(next) {
                        break;
                    }
                    heap.pop();
                }
                let expected = heap.peek().map(|&Reverse((next, component))| (Time::from_nanos(next), component));
                prop_assert_eq!(engine.first(), expected);
            }
        }
    }
}
