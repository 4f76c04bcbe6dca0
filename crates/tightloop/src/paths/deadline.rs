//! Deadline: min-cost that mistrusts what it cannot know.
//!
//! # Idea
//! A frame is as late as its last packet, and what makes frames late is not the
//! mean of an estimate but its errors. A wait in a pacer is the least certain of
//! them: it is long whenever the controller backs off. So a fast path must not
//! be loaded until it is as slow as the slow one; what a path's delay varies by
//! counts as delay; an answer that is overdue counts at once; and a path is not
//! left for another that is hardly better. A key frame that might miss its
//! deadline goes twice.
//!
//! # Signals
//! Each path's round trip, its minimum and its deviation, the age of the oldest
//! packet in flight, the rate its controller takes it to carry, and the bytes in
//! its pacer.
//!
//! # Law
//! - outlook: `RTT_min / 2 + queue · (RTT − RTT_min) + jitter · deviation`, and what
//!   the oldest packet in flight is overdue beyond the last round trip
//! - cost: `outlook + caution · Q_p / c_p`, and `margin` for every path but the home
//!   path; the packet takes the path of least cost
//! - with each frame the home path becomes the one of least outlook, if that is
//!   better by more than `margin`
//! - a packet of a key frame whose age and cost exceed `duplicate · budget` also
//!   takes the second-best path, where it arrives within `budget`
//!
//! # Departures
//! None: there is no paper. With `caution = 1`, `queue = 0.5` and neither jitter nor
//! margin this is [DelayBBR] Alg. 6, but for what is overdue.

use serde::{Deserialize, Serialize};

use super::{Choice, PathSet, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params as Table, SettingError, settings, written};
use crate::event::PathId;
use crate::units::{Bytes, Span, Time};

/// The entry in [`super::SCHEDULERS`].
pub const DEADLINE: SchedulerKind = SchedulerKind {
    name: "deadline",
    summary: "min-cost that keeps fast paths from filling up, without flapping",
    cites: &["DelayBBR", "G114"],
    defaults: || written(&Params::default()),
    new: |params: &Table| Ok(Box::new(Deadline::new(params)?)),
};

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// When a frame must have arrived, from its capture: what bothers nobody.
    /// [G114] §3
    pub budget: Span,
    /// How many times the expected wait in a pacer counts. Ours: twice, which
    /// leaves room for a controller that halves its rate.
    pub caution: f64,
    /// How much of a round trip above the minimum counts. Ours: half, as in
    /// [DelayBBR]; all of it is stale by the time it is known, and measured worse.
    pub queue: f64,
    /// How many mean deviations of the round trip count as delay. Ours: a quarter;
    /// a whole one keeps paths idle that are merely probed by their controller.
    pub jitter: f64,
    /// How much better another path must be. Ours: 2 ms, less than a packet takes
    /// at the rates of calls.
    pub margin: Span,
    /// Key frames that would use up more than this part of the budget go twice;
    /// zero for never. Ours: never, since it costs others' room.
    pub duplicate: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            budget: Span::from_millis(150),
            caution: 2.0,
            queue: 0.5,
            jitter: 0.25,
            margin: Span::from_millis(2),
            duplicate: 0.0,
        }
    }
}

/// The scheduler.
#[derive(Clone, Debug)]
pub struct Deadline {
    params: Params,
    home: Option<PathId>,
}

impl Deadline {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, a budget that is no time, negative values.
    pub fn new(params: &Table) -> Result<Self, SettingError> {
        let params: Params = settings(params)?;
        SettingError::unless(params.budget.is_positive(), || {
            format!("budget = {} is no time; use 150 ms", params.budget)
        })?;
        SettingError::unless(params.margin >= Span::ZERO, || {
            format!("margin = {} is negative; use 0 s or more", params.margin)
        })?;
        for (name, value) in [
            ("caution", params.caution),
            ("queue", params.queue),
            ("jitter", params.jitter),
            ("duplicate", params.duplicate),
        ] {
            SettingError::unless(value >= 0.0, || {
                format!("{name} = {value} is negative; use 0 or more")
            })?;
        }
        Ok(Self { params, home: None })
    }

    /// The delay of a packet that leaves now, as bad as it may well be.
    fn outlook(&self, path: &PathView) -> Span {
        let Some(rtt) = path.state.latest_rtt else {
            // Tried, or it would stay unknown.
            return Span::ZERO;
        };
        let min = path.state.min_rtt.unwrap_or(rtt).min(rtt);
        let overdue = path.unanswered.unwrap_or(Span::ZERO) - rtt;
        min / 2
            + (rtt - min) * self.params.queue
            + path.state.rtt_deviation * self.params.jitter
            + overdue.max(Span::ZERO)
    }

    fn cost(&self, path: &PathView) -> Span {
        let away = self.home.is_some_and(|home| home != path.id);
        let margin = if away { self.params.margin } else { Span::ZERO };
        self.outlook(path) + path.service(path.state.backlog) * self.params.caution + margin
    }

    /// Where frames start, unless another path is better by more than the margin.
    fn settle(&mut self, paths: &[PathView]) {
        let Some(best) = paths
            .iter()
            .min_by_key(|path| (self.outlook(path), path.id))
        else {
            return;
        };
        let home = paths.iter().find(|path| Some(path.id) == self.home);
        let least = self.outlook(best) + self.params.margin;
        if home.is_none_or(|home| self.outlook(home) > least) {
            self.home = Some(best.id);
        }
    }
}

impl Scheduler for Deadline {
    fn on_frame(&mut self, _now: Time, _size: Bytes, _packets: u64, paths: &[PathView]) {
        self.settle(paths);
    }

    fn pick(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        if !paths.iter().any(|path| Some(path.id) == self.home) {
            self.settle(paths);
        }
        let Some(best) = paths.iter().min_by_key(|path| (self.cost(path), path.id)) else {
            return Choice::Wait;
        };
        let spent = |path: &PathView| now - packet.captured + self.cost(path);
        let limit = self.params.budget * self.params.duplicate;
        if !packet.is_key() || !limit.is_positive() || spent(best) <= limit {
            return Choice::Send(best.id);
        }
        let second = paths
            .iter()
            .filter(|path| path.id != best.id && spent(path) <= self.params.budget)
            .min_by_key(|path| (self.cost(path), path.id));
        match second {
            Some(second) => Choice::Copy(PathSet::default().with(best.id).with(second.id)),
            None => Choice::Send(best.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{packet, queue, split};
    use super::*;
    use crate::event::{Fragment, FrameId, Kind};

    fn deadline(params: Table) -> Deadline {
        Deadline::new(&params).expect("good settings")
    }

    /// A path of this round trip, its minimum and deviation, and an idle pacer.
    fn path(id: u8, rtt_ms: i64, min_ms: i64, deviation_ms: i64) -> PathView {
        let mut path = queue(id, rtt_ms, 3_000, 0);
        path.state.min_rtt = Some(Span::from_millis(min_ms));
        path.state.rtt_deviation = Span::from_millis(deviation_ms);
        path
    }

    #[test]
    fn the_outlook_and_the_cost_are_the_law_by_hand() {
        let scheduler = deadline(toml::toml! {
            caution = 1.5
            queue = 0.25
            jitter = 2.0
            margin = "5 ms"
        });
        let mut path = path(0, 80, 40, 3);
        // 40/2 + (80 − 40)/4 + 2·3
        assert_eq!(scheduler.outlook(&path), Span::from_millis(36));
        path.unanswered = Some(Span::from_millis(70));
        assert_eq!(scheduler.outlook(&path), Span::from_millis(36));
        path.unanswered = Some(Span::from_millis(95));
        assert_eq!(scheduler.outlook(&path), Span::from_millis(51));
        // 15 kB at 3 Mbit/s are 40 ms, which count for 60.
        path.state.backlog = Bytes::new(15_000);
        assert_eq!(scheduler.cost(&path), Span::from_millis(111));
        let away = Deadline {
            home: Some(PathId(1)),
            ..scheduler
        };
        assert_eq!(away.cost(&path), Span::from_millis(116));
    }

    #[test]
    fn the_home_path_is_kept_until_another_is_better_by_the_margin() {
        let mut scheduler = deadline(toml::toml! {
            margin = "5 ms"
            jitter = 0
        });
        let mut home = |first_ms| {
            let paths = [path(0, first_ms, first_ms, 0), path(1, 40, 40, 0)];
            scheduler.on_frame(Time::ZERO, Bytes::new(3_000), 2, &paths);
            scheduler.home.map(|home| home.0)
        };
        assert_eq!(home(38), Some(0));
        assert_eq!(home(50), Some(0), "25 ms against 20 + 5");
        assert_eq!(home(52), Some(1));
        assert_eq!(home(32), Some(1));
        assert_eq!(home(28), Some(0));
    }

    #[test]
    fn a_silent_path_is_left_before_it_has_answered() {
        let mut scheduler = deadline(Table::new());
        let mut paths = [path(0, 40, 40, 0), path(1, 60, 60, 0)];
        assert_eq!(
            split(&mut scheduler, Time::ZERO, 1, &mut paths.clone()),
            [1, 0]
        );
        paths[0].unanswered = Some(Span::from_millis(90));
        assert_eq!(split(&mut scheduler, Time::ZERO, 3, &mut paths), [0, 3]);
    }

    #[test]
    fn only_a_key_frame_that_might_be_late_goes_twice() {
        let mut scheduler = deadline(toml::toml! {
            budget = "150 ms"
            duplicate = 0.5
            jitter = 0
            margin = "0 s"
        });
        let paths = [path(0, 100, 100, 0), path(1, 200, 200, 0)];
        let mut pick = |refers, age| {
            let packet = Queued {
                kind: Kind::Video(Fragment {
                    frame: FrameId(7),
                    index: 0,
                    count: 1,
                }),
                refers,
                ..packet()
            };
            scheduler.pick(Time::from_millis(age), &packet, &paths)
        };
        let both = Choice::Copy(PathSet::default().with(PathId(0)).with(PathId(1)));
        let one = Choice::Send(PathId(0));
        // 25 + 50 ms are half the budget; 26 + 100 ms are within it; 51 + 100 are not.
        assert_eq!([pick(0, 25), pick(0, 26), pick(0, 51)], [one, both, one]);
        assert_eq!(pick(1, 26), one, "not a key frame");
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        for (params, reason) in [
            (toml::toml! { budget = "0 s" }, "is no time"),
            (toml::toml! { margin = "-1 ms" }, "is negative"),
            (toml::toml! { caution = -1.0 }, "caution = -1"),
            (toml::toml! { hurry = 1 }, "unknown field"),
        ] {
            let refused = Deadline::new(&params).expect_err("refused").to_string();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    proptest! {
        /// The fast path is never left with a longer wait than the law allows.
        #[test]
        fn no_wait_exceeds_the_difference_of_outlooks(
            near in 1i64..200, far in 1i64..200, packets in 1u64..60,
        ) {
            let mut scheduler = deadline(toml::toml! {
                jitter = 0
                margin = "0 s"
                caution = 2
            });
            let mut paths = [path(0, near, near, 0), path(1, far, far, 0)];
            split(&mut scheduler, Time::ZERO, packets, &mut paths);
            let [a, b] = paths.map(|path| path.service(path.state.backlog));
            let apart = Span::from_millis((near - far).abs()) / 2;
            // One packet more than what makes both equal: 4 ms.
            let limit = (apart / 2).max(a.min(b) + apart / 2) + Span::from_millis(4);
            prop_assert!(a.max(b) <= limit, "{a} and {b}, {apart} apart");
        }
    }
}
