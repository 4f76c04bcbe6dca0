//! The λ-proxy: delays a flow's acknowledgements until its controller sees the
//! same round trip as everybody else's. [Sensitivity] Alg. 1.
//!
//! What a controller takes for its path's round trip decides what it takes of a
//! shared link. The proxy sits where acknowledgements come in to the sender, asks
//! the controller for its minimum RTT m, and adds delay until that is λ. With
//! every flow behind one and no natural delay above λ, propagation no longer
//! decides who gets what.
//!
//! [`Proxy`] is the rule alone, without I/O: [`Proxy::tick`] takes what the
//! controller reports and returns the delay to add from now on. A simulated link
//! and a real machine's queue are told the same number.
//!
//! # The rules
//! - [`Rule::Literal`], the published loop: once a second, the natural delay is
//!   m less what is added, d̂ the least of the last five, and where λ − added − d̂
//!   is more than 3 ms off, that is what changes. m is a *windowed* minimum, so
//!   after an increase it keeps its old value, the natural delay seems to have
//!   fallen again, and the same step is added again until the window has passed:
//!   a route that gets 5 ms shorter is answered with 35 ms too much.
//! - [`Rule::Patient`], ours: the same, but after a change nothing is believed that
//!   may have been measured before it. For one window only a lower report is news,
//!   since an old sample cannot lower a minimum; after that, any report that is
//!   not still the old one. So a minimum that never forgets, as some stacks
//!   report, does no harm either; nor does a queue of the flow's own, which keeps
//!   a decrease from being seen. The price: where the route gets shorter a second
//!   time by exactly as much, the new report equals the old one, and the round
//!   trip stays short of λ by that much.
//! - [`Rule::Constant`], the naive proxy: λ is added to everybody, whatever the
//!   natural delay, so that round trips differ less as a share.
//!
//! ```
//! use tightloop::proxy::{Proxy, Settings};
//! use tightloop::units::{Span, Time};
//!
//! let mut proxy = Proxy::new(&Settings::default(), Time::ZERO)?;
//! assert_eq!(proxy.added(), Span::from_millis(100));
//! let first = proxy.next_tick().expect("it asks once a second");
//! // The controller sees 100 ms of ours and 40 ms of the path.
//! proxy.tick(first, Some(Span::from_millis(140)));
//! assert_eq!(proxy.added(), Span::from_millis(60));
//! # Ok::<(), tightloop::settings::SettingError>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::settings::SettingError;
use crate::units::{Span, Time};

/// The least natural delay among so many ticks is believed. [Sensitivity] Alg. 1, as
/// its artifact.
const ESTIMATES: usize = 5;

/// What is done with a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The paper's loop, with a hold-off after each change.
    #[default]
    Patient,
    /// The paper's loop.
    Literal,
    /// λ is added to every natural delay.
    Constant,
}

/// A proxy's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The round trip that controllers shall see. [Sensitivity] Alg. 1.
    pub lambda: Span,
    /// What is done with a report.
    pub rule: Rule,
    /// How often the controller is asked. [Sensitivity] Alg. 1, as its artifact has it.
    pub tick: Span,
    /// Smaller changes are not made. [Sensitivity] Alg. 1, as its artifact has it.
    pub dead_band: Span,
    /// The longest that controllers remember a round trip. [BBR] has 10 s.
    pub window: Span,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lambda: Span::from_millis(100),
            rule: Rule::Patient,
            tick: Span::from_secs(1),
            dead_band: Span::from_millis(3),
            window: Span::from_secs(10),
        }
    }
}

/// The proxy of one flow's acknowledgements.
#[derive(Clone, Debug)]
pub struct Proxy {
    settings: Settings,
    added: Span,
    /// The last natural delays, the newest over the oldest.
    natural: [Span; ESTIMATES],
    newest: usize,
    next: Option<Time>,
    hold: Option<Hold>,
}

/// Since a change, reports may be old.
#[derive(Clone, Copy, Debug)]
struct Hold {
    /// Until here a report may be of before.
    until: Time,
    /// The report that led to the change.
    before: Span,
    /// What a report must be below to be news. After an increase that is known at
    /// the first tick, when nothing is under way any more that left before it.
    least: Option<Span>,
}

impl Proxy {
    /// A proxy that begins at `start`, with all of λ added.
    ///
    /// # Errors
    ///
    /// Spans that are negative, and ticks without end.
    pub fn new(settings: &Settings, start: Time) -> Result<Self, SettingError> {
        for (name, span) in [
            ("lambda", settings.lambda),
            ("dead_band", settings.dead_band),
            ("window", settings.window),
        ] {
            SettingError::unless(span >= Span::ZERO, || {
                format!("{name} = {span} is negative")
            })?;
        }
        SettingError::unless(settings.tick.is_positive(), || {
            format!("tick = {} asks without end; use 1 s", settings.tick)
        })?;
        let ticks = settings.rule != Rule::Constant;
        Ok(Self {
            settings: *settings,
            added: settings.lambda,
            natural: [settings.lambda; ESTIMATES],
            newest: 0,
            next: ticks.then(|| start + settings.tick),
            hold: None,
        })
    }

    /// What to add to the delay of acknowledgements.
    #[must_use]
    pub const fn added(&self) -> Span {
        self.added
    }

    /// When to call [`Proxy::tick`] next; never where what is added is constant.
    #[must_use]
    pub const fn next_tick(&self) -> Option<Time> {
        self.next
    }

    /// The controller's minimum RTT, if it has one, as of `now`. Returns what to
    /// add to the delay of acknowledgements from now on.
    ///
    /// A call that comes late is followed by the next one a whole tick later.
    pub fn tick(&mut self, now: Time, min_rtt: Option<Span>) -> Span {
        if self.next.is_some() {
            self.next = Some(now + self.settings.tick);
        }
        let min_rtt = min_rtt.filter(|min_rtt| min_rtt.is_positive());
        match (self.settings.rule, min_rtt) {
            (Rule::Constant, _) | (_, None) => {}
            (Rule::Literal, Some(min_rtt)) => self.literal(min_rtt),
            (Rule::Patient, Some(min_rtt)) => self.patient(now, min_rtt),
        }
        self.added
    }

    /// The published loop, which counts in whole milliseconds and notes even
    /// delays that cannot be.
    fn literal(&mut self, min_rtt: Span) {
        let natural = whole_millis(min_rtt) - self.added;
        let change = self.change(natural);
        if change.abs() > self.settings.dead_band
            && natural.is_positive()
            && (self.added + change).is_positive()
        {
            self.added += change;
        }
    }

    fn patient(&mut self, now: Time, min_rtt: Span) {
        let natural = min_rtt - self.added;
        if !self.is_news(now, min_rtt) || !natural.is_positive() {
            return;
        }
        self.hold = None;
        let change = self.change(natural).max(-self.added);
        if change.abs() <= self.settings.dead_band {
            return;
        }
        self.added += change;
        self.hold = Some(Hold {
            // Acknowledgements under way still have the old delay.
            until: now + self.settings.window + self.settings.tick,
            before: min_rtt,
            least: (!change.is_positive()).then_some(min_rtt),
        });
    }

    /// The report cannot be from before the last change.
    fn is_news(&mut self, now: Time, min_rtt: Span) -> bool {
        let Some(hold) = &mut self.hold else {
            return true;
        };
        if now >= hold.until {
            return min_rtt != hold.before;
        }
        match hold.least {
            None => {
                hold.least = Some(min_rtt);
                false
            }
            Some(least) => min_rtt < least,
        }
    }

    /// Notes a natural delay; returns what is missing to λ.
    fn change(&mut self, natural: Span) -> Span {
        self.newest = (self.newest + 1) % ESTIMATES;
        self.natural[self.newest] = natural;
        let least = self.natural.iter().fold(natural, |a, b| a.min(*b));
        self.settings.lambda - self.added - least
    }
}

fn whole_millis(span: Span) -> Span {
    let milli = Span::from_millis(1);
    milli * (span.as_nanos() / milli.as_nanos())
}

#[cfg(test)]
#[path = "proxy/tests.rs"]
mod tests;
