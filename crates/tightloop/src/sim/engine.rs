//! One next event per component, and which comes first.
//!
//! A tournament tree over the components' next times. A component's place
//! breaks ties, so what happens first depends on what things are, never on the
//! order in which they were told.

use crate::units::{Time, index};

/// No event.
const NEVER: u64 = u64::MAX;

/// The tree. Node 1 is the root, node n has children 2n and 2n + 1; the last
/// nodes are the components themselves. Each node repeats the child that comes
/// first. Nodes lie in pairs, the children of node n in pair n, so that a match
/// reads one place.
#[derive(Clone, Debug)]
pub struct Engine {
    pairs: Vec<[Node; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    due: u64,
    component: u32,
}

impl Engine {
    /// An engine for this many components, none of which has an event yet.
    #[must_use]
    pub fn new(components: usize) -> Self {
        let leaves = components.max(2).next_power_of_two();
        let never = |component| Node {
            due: NEVER,
            component,
        };
        let mut engine = Self {
            pairs: vec![[never(0); 2]; leaves],
        };
        for (component, leaf) in (0..).zip(leaves..2 * leaves) {
            engine.pairs[leaf / 2][leaf % 2] = never(component);
        }
        for node in (1..leaves).rev() {
            engine.pairs[node / 2][node % 2] = engine.winner(node);
        }
        engine
    }

    #[inline]
    fn winner(&self, node: usize) -> Node {
        let [left, right] = self.pairs[node];
        // The left child has the lower component: it wins a tie.
        if right.due < left.due { right } else { left }
    }

    /// A component's next event.
    #[inline]
    pub fn set(&mut self, component: usize, next: Option<Time>) {
        let node = self.pairs.len() + component;
        let due = next.map_or(NEVER, Time::as_nanos);
        let leaf = &mut self.pairs[node / 2][node % 2];
        if leaf.due != due {
            leaf.due = due;
            self.climb(node);
        }
    }

    /// Plays the matches above a node that has changed.
    fn climb(&mut self, mut node: usize) {
        while node > 1 {
            node /= 2;
            let winner = self.winner(node);
            let place = &mut self.pairs[node / 2][node % 2];
            if *place == winner {
                // Nothing changes here, so nothing changes above.
                return;
            }
            *place = winner;
        }
    }

    /// What a component's next event was set to.
    #[inline]
    #[must_use]
    pub fn due(&self, component: usize) -> Option<Time> {
        let leaf = self.pairs.len() + component;
        time(self.pairs[leaf / 2][leaf % 2].due)
    }

    /// The component whose event comes first, and when.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<(Time, usize)> {
        let first = self.pairs[0][1];
        time(first.due).map(|due| (due, index(u64::from(first.component))))
    }
}

fn time(due: u64) -> Option<Time> {
    (due != NEVER).then(|| Time::from_nanos(due))
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
