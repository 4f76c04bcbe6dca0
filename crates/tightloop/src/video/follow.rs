//! Follow: the encoder gets what the network bears.
//!
//! # Idea
//! The controllers already say what video should use; pass it on, frame by
//! frame, as the payload that fills exactly those packets.
//!
//! # Signals
//! Each path's `Control` and state; what the application allows; optionally the
//! age of the oldest packet not yet sent.
//!
//! # Law
//! `rate = clamp(share · Σ video rate over paths, min, max)`, then at most what
//! the application allows at the moment, all in bytes on the wire. A frame's
//! budget is the payload of the packets that `rate` sends in one frame
//! interval. Before any controller has an opinion the sum is `start`. With
//! `skip_when_behind` a frame is left out while packets older than that wait.
//!
//! # Departures
//! None: there is no paper. The application's cap wins over `min`.

use serde::{Deserialize, Serialize};

use super::{Frame, Order, RateControl, RateControlKind, SenderView, Verdict, VideoStart};
use crate::cc::{SettingError, written};
use crate::units::{Rate, Span, Time};

/// The entry in [`super::RATE_CONTROLS`].
pub const FOLLOW: RateControlKind = RateControlKind {
    name: "follow",
    summary: "the encoder gets what the controllers allow, frame by frame",
    cites: &[],
    defaults: || written(&Params::default()),
    new: |start| Ok(Box::new(Follow::new(start)?)),
};

/// Settings. Rates count bytes on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The part of the allowed rate that video uses. Ours: all of it.
    pub share: f64,
    /// The least an encoder is asked for. Ours: 50 kbit/s, below which there is
    /// no picture worth sending.
    pub min: Rate,
    /// The most an encoder is asked for; by default no limit.
    pub max: Option<Rate>,
    /// The rate before any controller has an opinion. Ours: 1 Mbit/s, where the
    /// house's controllers start too.
    pub start: Rate,
    /// Skip frames while a packet has waited longer than this for its
    /// departure; by default never.
    pub skip_when_behind: Option<Span>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            share: 1.0,
            min: Rate::from_kbps(50),
            max: None,
            start: Rate::from_mbps(1),
            skip_when_behind: None,
        }
    }
}

/// The rate control.
#[derive(Clone, Debug)]
pub struct Follow {
    params: Params,
    /// What the last frame was allowed.
    rate: Rate,
}

impl Follow {
    /// Builds one from settings.
    ///
    /// # Errors
    ///
    /// Unknown keys, a share outside (0, 1], a `min` above `max`.
    pub fn new(start: &VideoStart) -> Result<Self, SettingError> {
        let params: Params = start.settings()?;
        let share = params.share;
        SettingError::unless(share > 0.0 && share <= 1.0, || {
            format!("share = {share} is no part of the rate; use a number above 0, at most 1")
        })?;
        if let Some(max) = params.max {
            SettingError::unless(params.min <= max, || {
                format!("min = {} is above max = {max}", params.min)
            })?;
        }
        let rate = params.start;
        Ok(Self { params, rate })
    }

    fn allowed(&self, view: &SenderView<'_>) -> Rate {
        let opinions = view.paths.iter();
        let opinions = opinions.filter_map(|path| path.control.video_rate(&path.state));
        let sum = opinions.reduce(|sum, rate| sum + rate);
        let share = sum.unwrap_or(self.params.start) * self.params.share;
        let ceilings = [self.params.max, view.max_rate];
        let ceiling = ceilings.into_iter().flatten().min().unwrap_or(Rate::MAX);
        share.max(self.params.min).min(ceiling)
    }
}

impl RateControl for Follow {
    fn on_capture(&mut self, _now: Time, _frame: &Frame, view: &SenderView<'_>) -> Verdict {
        self.rate = self.allowed(view);
        let behind = |limit| view.oldest.is_some_and(|age| age > limit);
        if self.params.skip_when_behind.is_some_and(behind) {
            return Verdict::Skip;
        }
        let wire = self.rate.over(view.frame_interval);
        let budget = view.framing.payload_of(wire);
        Verdict::Encode(Order {
            rate: budget.per(view.frame_interval).unwrap_or(Rate::ZERO),
            budget,
            key: false,
        })
    }

    fn inspect(&self, gauge: &mut dyn FnMut(&'static str, f64)) {
        gauge("video_rate_bps", self.rate.bps_f64());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cc::{Control, PathState};
    use crate::event::FrameId;
    use crate::paths::PathView;
    use crate::units::Bytes;
    use crate::video::Framing;

    const INTERVAL: Span = Span::from_millis(20);
    const FRAMING: Framing = Framing {
        mtu: Bytes::new(1500),
        overhead: Bytes::new(60),
    };

    fn follow(params: toml::Table) -> Follow {
        let plain = VideoStart::plain();
        Follow::new(&VideoStart { params, ..plain }).expect("good settings")
    }

    fn path(target: Option<Rate>) -> PathView {
        PathView {
            control: Control {
                target,
                ..Control::default()
            },
            ..PathView::default()
        }
    }

    fn view(paths: &[PathView]) -> SenderView<'_> {
        SenderView::idle(INTERVAL, FRAMING, paths)
    }

    fn verdict(follow: &mut Follow, view: &SenderView<'_>) -> Verdict {
        let frame = Frame {
            id: FrameId(0),
            captured: Time::ZERO,
            scene_cut: false,
        };
        follow.on_capture(Time::ZERO, &frame, view)
    }

    fn order(follow: &mut Follow, view: &SenderView<'_>) -> Order {
        match verdict(follow, view) {
            Verdict::Encode(order) => order,
            other => panic!("{other:?}"),
        }
    }

    /// The rate on the wire that an order comes to.
    fn wire(order: Order) -> Rate {
        let wire = FRAMING.wire_of(order.budget);
        wire.per(INTERVAL).expect("a rate")
    }

    #[test]
    fn the_budget_fills_the_packets_of_one_interval() {
        let paths = [path(Some(Rate::from_mbps(6)))];
        let order = order(&mut follow(toml::Table::new()), &view(&paths));
        // 6 Mbit/s for 20 ms are 15 kB: ten packets of 1500 B, 60 B of each for headers.
        assert_eq!(order.budget, Bytes::new(15_000 - 600));
        assert_eq!(order.rate, Rate::from_kbps(5_760));
        assert!(!order.key);
    }

    #[test]
    fn rates_of_paths_add_up_and_those_without_opinion_do_not_count() {
        let mut follow = follow(toml::Table::new());
        let paths = [
            path(Some(Rate::from_mbps(6))),
            path(None),
            path(Some(Rate::from_mbps(3))),
        ];
        assert_eq!(wire(order(&mut follow, &view(&paths))), Rate::from_mbps(9));
        assert_eq!(
            wire(order(&mut follow, &view(&paths[1..2]))),
            Rate::from_mbps(1)
        );
    }

    #[test]
    fn a_window_and_a_pacing_rate_are_opinions_too() {
        let control = Control {
            window: Some(Bytes::new(30_000)),
            pacing: Some(Rate::from_mbps(12)),
            ..Control::default()
        };
        let state = PathState {
            smoothed_rtt: Some(Span::from_millis(40)),
            ..PathState::default()
        };
        let paths = [PathView {
            control,
            state,
            ..PathView::default()
        }];
        // A window of 30 kB per 40 ms is the lower of the two: 6 Mbit/s.
        let order = order(&mut follow(toml::Table::new()), &view(&paths));
        assert_eq!(wire(order), Rate::from_mbps(6));
    }

    #[test]
    fn share_limits_and_the_application_shape_the_rate() {
        let mut follow = follow(toml::toml! {
            share = 0.5
            min = "600 kbit/s"
            max = "3 Mbit/s"
        });
        let mut rate = |mbps, max_rate| {
            let paths = [path(Some(Rate::from_mbps(mbps)))];
            let view = SenderView {
                max_rate,
                ..view(&paths)
            };
            wire(order(&mut follow, &view))
        };
        assert_eq!(rate(4, None), Rate::from_mbps(2));
        assert_eq!(rate(1, None), Rate::from_kbps(600));
        assert_eq!(rate(20, None), Rate::from_mbps(3));
        assert_eq!(
            rate(20, Some(Rate::from_kbps(1_200))),
            Rate::from_kbps(1_200)
        );
        assert_eq!(rate(20, Some(Rate::from_kbps(300))), Rate::from_kbps(300));
    }

    #[test]
    fn frames_are_skipped_only_while_the_pacer_is_too_far_behind() {
        let paths = [path(Some(Rate::from_mbps(6)))];
        let late = |ms| SenderView {
            oldest: Some(Span::from_millis(ms)),
            ..view(&paths)
        };
        let mut follow_33 = follow(toml::toml! { skip_when_behind = "33 ms" });
        assert!(matches!(
            verdict(&mut follow_33, &late(33)),
            Verdict::Encode(_)
        ));
        assert_eq!(verdict(&mut follow_33, &late(34)), Verdict::Skip);
        assert!(matches!(
            verdict(&mut follow_33, &view(&paths)),
            Verdict::Encode(_)
        ));
        let mut never = follow(toml::Table::new());
        assert!(matches!(
            verdict(&mut never, &late(9_000)),
            Verdict::Encode(_)
        ));
    }

    #[test]
    fn wrong_settings_are_refused_with_a_reason() {
        let refused = |params| {
            let plain = VideoStart::plain();
            let built = Follow::new(&VideoStart { params, ..plain });
            built.expect_err("refused").to_string()
        };
        assert!(refused(toml::toml! { share = 0.0 }).contains("share = 0"));
        assert!(refused(toml::toml! { share = 1.5 }).contains("share = 1.5"));
        assert!(
            refused(toml::toml! {
                min = "2 Mbit/s"
                max = "1 Mbit/s"
            })
            .contains("above max")
        );
        assert!(refused(toml::toml! { target = "1 Mbit/s" }).contains("unknown field `target`"));
    }

    proptest! {
        #[test]
        fn the_rate_stays_between_its_limits(
            targets in prop::collection::vec(prop::option::of(0u64..50_000_000), 1..4),
            cap in prop::option::of(500_000u64..50_000_000),
            share in 0.01..1.0,
        ) {
            let (min, max) = (Rate::from_kbps(500), Rate::from_mbps(10));
            let mut follow = follow(toml::toml! {
                min = "500 kbit/s"
                max = "10 Mbit/s"
            });
            follow.params.share = share;
            let paths: Vec<_> = targets.iter().map(|bps| path(bps.map(Rate::from_bps))).collect();
            let cap = cap.map(Rate::from_bps);
            let view = SenderView { max_rate: cap, ..view(&paths) };
            let order = order(&mut follow, &view);
            let ceiling = cap.map_or(max, |cap| cap.min(max));
            // A rounded byte a frame, and a last packet smaller than its own header.
            let unfilled = FRAMING.overhead.per(INTERVAL).expect("a rate") + Rate::from_kbps(1);
            prop_assert!(wire(order) <= ceiling, "{:?}", order);
            prop_assert!(wire(order) + unfilled >= min, "{:?}", order);
            let opinions: Vec<u64> = targets.iter().copied().flatten().collect();
            if !opinions.is_empty() {
                let sum = Rate::from_bps(opinions.iter().sum());
                let want = (sum * share).max(min).min(ceiling);
                prop_assert!(wire(order) <= want && want <= wire(order) + unfilled, "{want}");
            }
        }
    }
}
