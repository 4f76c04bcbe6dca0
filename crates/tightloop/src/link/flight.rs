//! Flight: the time between leaving service and being delivered.
//!
//! A packet flies for the link's delay, plus its flow's own extra delay, plus
//! jitter. The delay may change while packets fly.
//!
//! **Order.** A packet is never delivered before an earlier one of its flow:
//! where a shorter delay would let it overtake, it arrives together with the
//! one before. Only jitter that says `reorder` lets packets of a flow overtake
//! each other. Flows overtake each other freely, and packets that are due at
//! the same moment come in the order in which they left service, as far as
//! they kept it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

use super::queue::Packet;
use crate::event::FlowId;
use crate::rng::Stream;
use crate::settings::SettingError;
use crate::units::{Span, Time, index};

/// Delay that differs from packet to packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Jitter {
    /// Between nothing and `max`, evenly.
    Uniform {
        /// The most that is added.
        max: Span,
        /// Packets of a flow may overtake each other.
        #[serde(default)]
        reorder: bool,
    },
    /// Gaussian around the delay, cut at both ends; never below no delay at
    /// all. [RFC8868] has σ 5 ms and a cut at 3σ.
    Gaussian {
        /// The standard deviation before the cut.
        sigma: Span,
        /// Where it is cut, in standard deviations.
        #[serde(default = "three")]
        cut: f64,
        /// Packets of a flow may overtake each other.
        #[serde(default)]
        reorder: bool,
    },
}

/// [RFC8868]: the cut of its truncated Gaussian, in standard deviations.
const fn three() -> f64 {
    3.0
}

/// Ours: below this, most draws of a Gaussian would be drawn again.
const SMALLEST_CUT: f64 = 0.5;

impl Jitter {
    /// Fails where the numbers make no jitter.
    ///
    /// # Errors
    ///
    /// Spans that are not positive, and a cut that leaves almost nothing.
    pub fn check(&self) -> Result<(), SettingError> {
        let (name, span) = match self {
            Self::Uniform { max, .. } => ("max", *max),
            Self::Gaussian { sigma, .. } => ("sigma", *sigma),
        };
        SettingError::unless(span.is_positive(), || {
            format!("jitter: {name} = {span} is no jitter; leave jitter out for none")
        })?;
        if let Self::Gaussian { cut, .. } = self {
            SettingError::unless(*cut >= SMALLEST_CUT && cut.is_finite(), || {
                format!("jitter: cut = {cut} must be at least {SMALLEST_CUT}; [RFC8868] has 3")
            })?;
        }
        Ok(())
    }

    const fn reorders(&self) -> bool {
        match self {
            Self::Uniform { reorder, .. } | Self::Gaussian { reorder, .. } => *reorder,
        }
    }

    /// The least it can add; negative where it can take away.
    fn least(&self) -> Span {
        match self {
            Self::Uniform { .. } => Span::ZERO,
            Self::Gaussian { sigma, cut, .. } => -(*sigma * *cut),
        }
    }

    fn draw(&self, rng: &mut Stream) -> Span {
        match self {
            Self::Uniform { max, .. } => rng.span_between(Span::ZERO, *max),
            Self::Gaussian { sigma, cut, .. } => loop {
                let deviations = rng.normal();
                if deviations.abs() <= *cut {
                    return *sigma * deviations;
                }
            },
        }
    }
}

/// Packets between service and delivery.
#[derive(Clone, Debug)]
pub struct Flight<P> {
    delay: Span,
    /// Changes of the delay to come, by time.
    changes: VecDeque<(Time, Span)>,
    jitter: Option<Jitter>,
    /// The shortest flight that can happen from now on.
    least: Span,
    /// Where the streams of chance come from.
    seed: u64,
    name: String,
    /// What is known of each flow; in use only once flights are uneven.
    lanes: Vec<Lane>,
    /// Flights differ, so order within each flow needs watching.
    uneven: bool,
    /// Due in the order of the ring.
    ring: VecDeque<(Time, P)>,
    /// Those that are due before one that was already in the ring.
    early: BinaryHeap<Reverse<Early<P>>>,
    entered: u64,
    /// The latest time at which any packet so far is or was due.
    latest: Time,
}

/// A flow's own delay, luck and order.
#[derive(Clone, Debug, Default)]
struct Lane {
    extra: Span,
    due: Time,
    rng: Option<Stream>,
}

#[derive(Clone, Debug)]
struct Early<P> {
    due: Time,
    number: u64,
    packet: P,
}

impl<P: Packet> Flight<P> {
    /// No delay.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Span::ZERO)
    }

    /// The same delay for every packet. A negative delay is none.
    #[must_use]
    pub fn new(delay: Span) -> Self {
        let delay = delay.max(Span::ZERO);
        Self {
            delay,
            changes: VecDeque::new(),
            jitter: None,
            least: delay,
            seed: 0,
            name: String::new(),
            lanes: Vec::new(),
            uneven: false,
            ring: VecDeque::new(),
            early: BinaryHeap::new(),
            entered: 0,
            latest: Time::ZERO,
        }
    }

    /// With jitter: each flow has a stream of chance of its own, named after
    /// the link and the flow.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Option<Jitter>, seed: u64, link: &str) -> Self {
        self.jitter = jitter;
        self.seed = seed;
        self.name = link.to_owned();
        self.uneven |= jitter.is_some();
        self.refresh();
        self
    }

    /// With changes of the delay to come. A packet that leaves service at the
    /// moment of a change meets the new delay.
    ///
    /// # Errors
    ///
    /// Negative delays, and changes that do not go forward.
    pub fn with_changes(mut self, changes: &[(Time, Span)]) -> Result<Self, SettingError> {
        if let Some(pair) = changes.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let (before, after) = (pair[0].0, pair[1].0);
            return Err(SettingError(format!(
                "delay_steps: {after} does not come after {before}; sort the steps by time"
            )));
        }
        for (at, delay) in changes {
            SettingError::unless(*delay >= Span::ZERO, || {
                format!("delay_steps: {delay} from {at} on is negative")
            })?;
        }
        self.changes = changes.iter().copied().collect();
        self.refresh();
        Ok(self)
    }

    /// The delay of packets that leave service from now on, before their
    /// flow's own and jitter.
    pub(super) fn set_delay(&mut self, delay: Span) {
        let delay = delay.max(Span::ZERO);
        if delay < self.delay {
            self.watch_order();
        }
        self.delay = delay;
        self.refresh();
    }

    /// What one flow's packets fly longer than others'.
    pub(super) fn set_flow_delay(&mut self, flow: FlowId, extra: Span) {
        self.watch_order();
        lane(&mut self.lanes, flow).extra = extra.max(Span::ZERO);
    }

    /// Until now every flight was as long as the one before or longer; no more.
    fn watch_order(&mut self) {
        if self.uneven {
            return;
        }
        self.uneven = true;
        for (due, packet) in &self.ring {
            lane(&mut self.lanes, packet.id().flow).due = *due;
        }
    }

    fn refresh(&mut self) {
        let coming = self.changes.iter().map(|(_, delay)| *delay);
        let least = coming.fold(self.delay, Span::min);
        let jitter = self.jitter.map_or(Span::ZERO, |jitter| jitter.least());
        self.least = (least + jitter).max(Span::ZERO);
    }

    /// The shortest flight that can happen from now on.
    #[inline]
    pub(super) const fn least(&self) -> Span {
        self.least
    }

    /// A packet leaves service.
    #[inline]
    pub(super) fn push(&mut self, now: Time, packet: P) {
        while let Some((at, delay)) = self.changes.front().copied()
            && at <= now
        {
            self.changes.pop_front();
            self.set_delay(delay);
        }
        let due = if self.uneven {
            self.due(now, packet.id().flow)
        } else {
            now + self.delay
        };
        if due >= self.latest {
            self.latest = due;
            self.ring.push_back((due, packet));
        } else {
            self.entered += 1;
            self.early.push(Reverse(Early {
                due,
                number: self.entered,
                packet,
            }));
        }
    }

    fn due(&mut self, now: Time, flow: FlowId) -> Time {
        let lane = lane(&mut self.lanes, flow);
        let mut delay = self.delay + lane.extra;
        let mut reorders = false;
        if let Some(jitter) = &self.jitter {
            let (seed, link) = (self.seed, &self.name);
            let rng = lane.rng.get_or_insert_with(|| {
                Stream::named(seed, &format!("link.{link}.flow.{}.jitter", flow.0))
            });
            delay = (delay + jitter.draw(rng)).max(Span::ZERO);
            reorders = jitter.reorders();
        }
        let due = now + delay;
        if reorders {
            return due;
        }
        lane.due = lane.due.max(due);
        lane.due
    }

    /// When the next packet is due.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        let ring = self.ring.front().map(|(due, _)| *due);
        match self.early.peek() {
            None => ring,
            Some(Reverse(early)) => Some(ring.map_or(early.due, |due| due.min(early.due))),
        }
    }

    /// The next packet, if it is due.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, P)> {
        let ring = self.ring.front().map(|(due, _)| *due);
        // On a tie the ring goes first: a packet of its flow that is due at the
        // same moment and is in the heap left service later.
        if let Some(Reverse(early)) = self.early.peek()
            && ring.is_none_or(|due| early.due < due)
        {
            if early.due > now {
                return None;
            }
            return self
                .early
                .pop()
                .map(|Reverse(early)| (early.due, early.packet));
        }
        if ring? > now {
            return None;
        }
        self.ring.pop_front()
    }
}

fn lane(lanes: &mut Vec<Lane>, flow: FlowId) -> &mut Lane {
    let place = index(flow.0.into());
    if lanes.len() <= place {
        lanes.resize_with(place + 1, Lane::default);
    }
    &mut lanes[place]
}

impl<P> PartialEq for Early<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Early<P> {}

impl<P> PartialOrd for Early<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Early<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[cfg(test)]
#[path = "flight/tests.rs"]
mod tests;
