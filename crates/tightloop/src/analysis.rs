//! What a run was like: every metric once, from events alone.
//!
//! A [`Summary`] is a sink that one run feeds; its [`Report`] answers by dotted
//! keys such as `flow.0.owd.p95` or `link.bottleneck.utilisation`. All keys are
//! in [`METRICS`], each with unit, definition and source. [`Series`] keeps the
//! same run as curves over time, and [`life`] tells what happened to one packet
//! or frame.
//!
//! # Conventions
//! - Sizes and rates count IP bytes, except where a metric says payload.
//! - A metric covers a [`Window`], from its start until just before its end. A
//!   packet counts for rates of sending and loss if it was *sent* in the window,
//!   for rates of arrival and delay if it *arrived* in it, for a link if it
//!   *left* the link in it. A frame counts if it was *captured* in the window,
//!   for frame rate and freezes if it was *shown* in it. What happens to such a
//!   packet or frame later still counts.
//! - Percentiles interpolate linearly between neighbours: see [`percentile`].
//! - Copies of a packet made by a link arrive as duplicates: they are counted
//!   as such, and count for nothing else.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::event::{FlowId, LinkId};
use crate::units::{Span, Time, count, index};

mod band;
pub mod bound;
mod fairness;
mod frames;
mod key;
pub mod life;
mod links;
mod metrics;
#[cfg(test)]
mod oracle;
mod packets;
mod report;
mod ring;
mod samples;
mod sensitivity;
mod series;
mod slots;
pub mod spike;
mod summary;
pub mod unavoidable;

pub use band::{Band, BandError, Unit, Value};
pub use fairness::{converged, jain};
pub use key::{Key, UnknownMetric, nearest};
pub use metrics::{METRICS, Metric, STATISTICS};
pub use report::{
    AllReport, ByCause, ByKind, CrossingReport, FlowReport, FrameReport, LinkReport, PathReport,
    Report, SlotReport, SpikeReport,
};
pub use samples::{Samples, Spread, percentile};
pub use sensitivity::{FLOOR, Sensitivity};
pub use series::{Curve, Point, Series};
pub use summary::Summary;

/// The part of a run that metrics look at: from `from` until just before `to`.
///
/// In a window without length all rates are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The first moment that counts.
    pub from: Time,
    /// The first moment that does not count any more.
    pub to: Time,
}

impl Window {
    /// From the run's epoch to its end.
    #[must_use]
    pub const fn until(end: Time) -> Self {
        Self {
            from: Time::ZERO,
            to: end,
        }
    }

    /// The last `span` of a run that ends at `end`.
    #[must_use]
    pub fn last(span: Span, end: Time) -> Self {
        Self {
            from: end - span,
            to: end,
        }
    }

    /// Whether a moment counts.
    #[must_use]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }

    /// How long it is.
    #[must_use]
    pub fn length(&self) -> Span {
        (self.to - self.from).max(Span::ZERO)
    }

    /// How much of the time between two moments counts.
    #[must_use]
    pub fn overlap(&self, from: Time, to: Time) -> Span {
        (to.min(self.to) - from.max(self.from)).max(Span::ZERO)
    }

    /// Which of the equal steps from the window's start a moment falls into;
    /// nothing outside the window.
    fn step(&self, at: Time, step: Span) -> Option<usize> {
        self.contains(at).then(|| steps(at - self.from, step))
    }
}

/// How many whole steps fit into a span.
fn steps(span: Span, step: Span) -> usize {
    let nanos = |span: Span| u64::try_from(span.as_nanos()).unwrap_or(0);
    index(nanos(span) / nanos(step).max(1))
}

/// What flows and links are called. Keys accept these names and numbers alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// The flows' names, in the order of their numbers.
    pub flows: Vec<String>,
    /// The links' names, in the order of their numbers.
    pub links: Vec<String>,
}

impl Names {
    /// A flow's name, or its number where it has none.
    #[must_use]
    pub fn flow(&self, flow: FlowId) -> Cow<'_, str> {
        Self::of(&self.flows, index(flow.0.into()))
    }

    /// A link's name, or its number where it has none.
    #[must_use]
    pub fn link(&self, link: LinkId) -> Cow<'_, str> {
        Self::of(&self.links, index(link.0.into()))
    }

    fn of(names: &[String], number: usize) -> Cow<'_, str> {
        match names.get(number) {
            Some(name) if !name.is_empty() => Cow::Borrowed(name),
            _ => Cow::Owned(count(number).to_string()),
        }
    }
}

/// A moment later than this is damage to a log, not part of a run. Ours: eleven days.
const LATEST: Time = Time::from_secs(1_000_000);

/// The entry of a number in a vector that grows where needed. Numbers that no
/// run has, as in a damaged log, have no entry.
fn entry<T>(entries: &mut Vec<T>, number: u32, new: impl FnMut() -> T) -> Option<&mut T> {
    /// More flows or links than anybody simulates.
    const MOST: usize = 1 << 16;
    let number = index(number.into());
    if number >= entries.len() {
        if number >= MOST {
            return None;
        }
        entries.resize_with(number + 1, new);
    }
    entries.get_mut(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_its_start_and_not_its_end() {
        let window = Window::last(Span::from_secs(10), Time::from_secs(60));
        assert!(window.contains(Time::from_secs(50)));
        assert!(!window.contains(Time::from_secs(60)));
        assert!(!window.contains(Time::from_nanos(49_999_999_999)));
        assert_eq!(window.length(), Span::from_secs(10));
        let overlap = |from, to| window.overlap(Time::from_secs(from), Time::from_secs(to));
        assert_eq!(overlap(0, 52), Span::from_secs(2));
        assert_eq!(overlap(58, 90), Span::from_secs(2));
        assert_eq!(overlap(0, 90), Span::from_secs(10));
        assert_eq!(overlap(0, 50), Span::ZERO);
        let step = |ms| window.step(Time::from_millis(ms), Span::from_millis(500));
        assert_eq!(
            [
                step(49_999),
                step(50_000),
                step(50_499),
                step(50_500),
                step(60_000)
            ],
            [None, Some(0), Some(0), Some(1), None]
        );
    }

    #[test]
    fn what_has_no_name_is_called_by_its_number() {
        let names = Names {
            flows: vec!["game".into(), String::new()],
            links: Vec::new(),
        };
        assert_eq!(names.flow(FlowId(0)), "game");
        assert_eq!(names.flow(FlowId(1)), "1");
        assert_eq!(names.link(LinkId(7)), "7");
    }
}
