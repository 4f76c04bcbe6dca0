use proptest::prelude::*;

use super::*;
use crate::paths::PathView;
use crate::video::Framing;

const INTERVAL: Span = Span::from_millis(40);
const FRAMING: Framing = Framing {
    mtu: Bytes::new(1500),
    overhead: Bytes::new(60),
};

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn vidaptive(params: toml::Table) -> Vidaptive {
    let start = VideoStart {
        params,
        frame_interval: INTERVAL,
        ..VideoStart::plain()
    };
    Vidaptive::new(&start).expect("good settings")
}

/// A window of this many kB per 50 ms.
fn path(kilobytes: u64) -> PathView {
    PathView {
        control: Control {
            window: Some(Bytes::new(1_000) * kilobytes),
            pacing: Some(Rate::from_mbps(99)),
            ..Control::default()
        },
        state: PathState {
            smoothed_rtt: Some(Span::from_millis(50)),
            ..PathState::default()
        },
        ..PathView::default()
    }
}

fn view(paths: &[PathView]) -> SenderView<'_> {
    SenderView::idle(INTERVAL, FRAMING, paths)
}

fn frame(id: u32, captured: Time) -> Frame {
    Frame {
        id: FrameId(id),
        captured,
        scene_cut: false,
    }
}

/// Captures and encodes a frame, and lets it take so long.
fn serve(vidaptive: &mut Vidaptive, id: u32, at: u64, millis: u64, view: &SenderView<'_>) -> Order {
    let verdict = vidaptive.on_capture(ms(at), &frame(id, ms(at)), view);
    let Verdict::Encode(order) = verdict else {
        panic!("{verdict:?}")
    };
    vidaptive.on_head(ms(at), FrameId(id));
    vidaptive.on_sent(ms(at + millis), FrameId(id));
    order
}

/// The rate on the wire that an order comes to.
fn wire(order: Order) -> Rate {
    FRAMING.wire_of(order.budget).per(INTERVAL).expect("a rate")
}

#[test]
fn the_pace_is_a_window_per_round_trip_with_and_without_filler() {
    let path = path(25);
    for (filler, floor) in [(true, Some(Rate::from_mbps(4))), (false, None)] {
        let mut params = toml::Table::new();
        params.insert("filler".to_owned(), filler.into());
        let vidaptive = vidaptive(params);
        let shaped = vidaptive.shape(path.control, &path.state);
        assert_eq!(shaped.pacing, Some(Rate::from_mbps(4)));
        assert_eq!(shaped.floor, floor);
        assert_eq!(shaped.window, path.control.window);
        // No window, no change.
        let other = Control {
            window: None,
            ..path.control
        };
        assert_eq!(vidaptive.shape(other, &path.state).pacing, other.pacing);
    }
}

#[test]
fn all_of_the_rate_is_used_until_frames_take_too_long() {
    let mut vidaptive = vidaptive(toml::Table::new());
    let paths = [path(25), path(25)];
    let view = view(&paths);
    // 8 Mbit/s for 40 ms.
    assert_eq!(
        wire(serve(&mut vidaptive, 0, 0, 44, &view)),
        Rate::from_mbps(8)
    );
    // α = 33/44.
    assert_eq!(
        wire(serve(&mut vidaptive, 1, 100, 33, &view)),
        Rate::from_mbps(6)
    );
    // 33 ms at three quarters are 44 ms again: nothing changes.
    assert_eq!(
        wire(serve(&mut vidaptive, 2, 200, 33, &view)),
        Rate::from_mbps(6)
    );
}

#[test]
fn a_change_of_rate_does_not_change_what_frames_said() {
    for kilobytes in [5, 60] {
        let mut vidaptive = vidaptive(toml::Table::new());
        let (before, after) = ([path(25)], [path(kilobytes)]);
        serve(&mut vidaptive, 0, 0, 44, &view(&before));
        serve(&mut vidaptive, 1, 100, 33, &view(&after));
        serve(&mut vidaptive, 2, 200, 33, &view(&after));
        assert!((vidaptive.share.alpha() - 0.75).abs() < 1e-9);
    }
}

#[test]
fn a_target_that_a_limit_cut_counts_as_it_was() {
    let mut vidaptive = vidaptive(toml::toml! { max = "2 Mbit/s" });
    let paths = [path(25)];
    // At half of the rate in 22 ms: at all of it, 44 ms.
    serve(&mut vidaptive, 0, 0, 22, &view(&paths));
    serve(&mut vidaptive, 1, 100, 22, &view(&paths));
    assert!((vidaptive.share.alpha() - 0.75).abs() < 1e-9);
}

#[test]
fn a_late_packet_pauses_and_an_empty_queue_takes_the_frame_held() {
    let mut vidaptive = vidaptive(toml::Table::new());
    let paths = [path(25)];
    let late = |millis| SenderView {
        oldest: Some(Span::from_millis(millis)),
        ..view(&paths)
    };
    let capture = |vidaptive: &mut Vidaptive, id, at, view: &SenderView<'_>| {
        vidaptive.on_capture(ms(at), &frame(id, ms(at)), view)
    };
    assert!(matches!(
        capture(&mut vidaptive, 0, 0, &late(33)),
        Verdict::Encode(_)
    ));
    assert_eq!(capture(&mut vidaptive, 1, 40, &late(34)), Verdict::Skip);
    assert_eq!(capture(&mut vidaptive, 2, 80, &late(5)), Verdict::Skip);
    let mut fork = vidaptive.clone();
    let held = frame(2, ms(80));
    let order = vidaptive.on_drained(ms(100), Some(&held), &view(&paths));
    assert!(order.is_some());
    // Once is enough, and one older than half an interval is too old.
    assert_eq!(
        vidaptive.on_drained(ms(100), Some(&held), &view(&paths)),
        None
    );
    assert_eq!(fork.on_drained(ms(101), Some(&held), &view(&paths)), None);
    assert!(matches!(
        capture(&mut fork, 3, 120, &view(&paths)),
        Verdict::Encode(_)
    ));
}

#[test]
fn filler_ends_where_the_video_has_all_it_can_use() {
    let mut vidaptive = vidaptive(toml::Table::new());
    let few = [path(25)];
    let mut filling = |kilobytes, max_rate| {
        let paths = [path(kilobytes)];
        let view = SenderView {
            max_rate,
            ..view(&paths)
        };
        vidaptive.on_capture(ms(0), &frame(0, ms(0)), &view);
        vidaptive
            .shape(few[0].control, &few[0].state)
            .floor
            .is_some()
    };
    assert!(filling(74, None));
    assert!(!filling(75, None));
    assert!(filling(25, None));
    assert!(!filling(25, Some(Rate::from_mbps(4))));
}

#[test]
fn every_ablation_lacks_one_thing() {
    let lacks = [
        (VIDAPTIVE, [true, true, true]),
        (NO_FILLER, [false, true, true]),
        (NO_PAUSE, [true, false, true]),
        (NO_SHARE, [true, true, false]),
    ];
    for (kind, [filler, pause, share]) in lacks {
        let wanted = Params {
            filler,
            pause,
            share,
            ..Params::default()
        };
        assert_eq!((kind.defaults)(), written(&wanted), "{}", kind.name);
        (kind.new)(&VideoStart::plain()).expect("good settings");
    }
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| {
        let plain = VideoStart::plain();
        let built = Vidaptive::new(&VideoStart { params, ..plain });
        built.expect_err("refused").to_string()
    };
    assert!(refused(toml::toml! { quantile = 0.0 }).contains("quantile = 0"));
    assert!(refused(toml::toml! { smoothing = 2.0 }).contains("smoothing = 2"));
    assert!(refused(toml::toml! { memory = "0 s" }).contains("above 0 s"));
    assert!(refused(toml::toml! { guard = 1.5 }).contains("guard = 1.5"));
    assert!(refused(toml::toml! { min = "13 Mbit/s" }).contains("above max"));
    assert!(refused(toml::toml! { tau = "1 s" }).contains("unknown field `tau`"));
}

proptest! {
    /// Frames that come, are skipped, take as long as they like or never leave,
    /// on a path that does what it likes.
    #[test]
    fn the_target_stays_within_its_limits_and_alpha_is_a_share(
        steps in prop::collection::vec(
            (0u64..200, 0u64..1_000, prop::option::of(0i64..200), prop::option::of(0u64..500)),
            1..120,
        ),
        max_kbps in 60u64..20_000,
    ) {
        let mut vidaptive = vidaptive(toml::Table::new());
        let max = Rate::from_kbps(max_kbps);
        let (mut now, mut id) = (0, 0);
        for (passed, kilobytes, oldest, service) in steps {
            now += passed;
            let paths = [path(kilobytes)];
            let view = SenderView {
                oldest: oldest.map(Span::from_millis),
                max_rate: Some(max),
                ..view(&paths)
            };
            let captured = frame(id, ms(now));
            let verdict = vidaptive.on_capture(ms(now), &captured, &view);
            let order = match verdict {
                Verdict::Encode(order) => Some(order),
                _ => vidaptive.on_drained(ms(now + 5), Some(&captured), &view),
            };
            if let Some(order) = order {
                let wire = wire(order);
                let cap = max.min(Rate::from_mbps(12));
                prop_assert!(wire <= cap, "{wire} above {cap}");
                // A last packet smaller than its own header cannot be filled.
                prop_assert!(wire + Rate::from_kbps(20) >= Rate::from_kbps(50), "{wire}");
            }
            if let Some(service) = service {
                vidaptive.on_head(ms(now), FrameId(id));
                now += service;
                vidaptive.on_sent(ms(now), FrameId(id));
            }
            id += 1;
            let alpha = vidaptive.share.alpha();
            prop_assert!((0.05..=1.0).contains(&alpha), "{alpha}");
            let shaped = vidaptive.shape(paths[0].control, &paths[0].state);
            prop_assert!(shaped.floor.is_none_or(|floor| Some(floor) == shaped.pacing));
        }
    }
}
