use super::*;
use crate::cc::{Acked, Lost, PathState, Sent};
use crate::event::{Ecn, Fragment, FrameId, Kind, LostBy};
use crate::paths::PathView;
use crate::video::Framing;

const INTERVAL: Span = Span::from_millis(40);
const FRAMING: Framing = Framing {
    mtu: Bytes::new(1500),
    overhead: Bytes::new(100),
};

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn salsify() -> Salsify {
    let start = VideoStart {
        params: toml::toml! { min = "50 kbit/s" },
        ..VideoStart::plain()
    };
    Salsify::new(&start).expect("good settings")
}

/// A path with so many packets under way.
fn path(in_flight: u64) -> PathView {
    PathView {
        state: PathState {
            in_flight: FRAMING.mtu * in_flight,
            ..PathState::default()
        },
        ..PathView::default()
    }
}

fn capture(salsify: &mut Salsify, id: u32, in_flight: u64) -> Verdict {
    let now = ms(u64::from(id) * 40);
    let frame = Frame {
        id: FrameId(id),
        captured: now,
        scene_cut: false,
    };
    let paths = [path(in_flight)];
    let view = SenderView::idle(INTERVAL, FRAMING, &paths);
    salsify.on_capture(now, &frame, &view)
}

fn choose(salsify: &mut Salsify, id: u32, in_flight: u64) -> Candidates {
    match capture(salsify, id, in_flight) {
        Verdict::Choose(candidates) => candidates,
        other => panic!("{other:?}"),
    }
}

fn take(salsify: &mut Salsify, id: u32, order: Order) {
    let encoded = Encoded {
        frame: FrameId(id),
        size: order.budget,
        key: id == 0,
        ready: ms(u64::from(id) * 40),
    };
    salsify.on_encoded(encoded.ready, &encoded, &order);
}

/// A whole frame in two packets, so far apart.
fn arrive(salsify: &mut Salsify, id: u32, gap: i64) {
    let gap = Span::from_millis(gap);
    let left = ms(u64::from(id) * 40);
    let acked = [0, 1].map(|index| Acked {
        packet: Sent {
            at: left,
            kind: Kind::Video(Fragment {
                frame: FrameId(id),
                index,
                count: 2,
            }),
            ..Sent::default()
        },
        arrived: Some((left + gap * i64::from(index)).on_clock(Span::ZERO, 0)),
        rtt: Some(INTERVAL),
        ecn: Ecn::NotEct,
        spurious: false,
    });
    let feedback = Feedback {
        acked: &acked,
        ..Feedback::of_losses(&[], false)
    };
    salsify.on_feedback(left + INTERVAL, PathId(0), &feedback);
}

fn lose(salsify: &mut Salsify, now: Time) {
    let lost = [Lost {
        packet: Sent::default(),
        by: LostBy::Packets,
    }];
    salsify.on_feedback(now, PathId(0), &Feedback::of_losses(&lost, false));
}

#[test]
fn a_frame_may_have_what_arrives_in_a_tenth_of_a_second_less_what_is_under_way() {
    let mut salsify = salsify();
    // Before anything is known the rate is the setting: 300 kbit/s, 14/15 of it payload.
    let Verdict::Encode(order) = capture(&mut salsify, 0, 0) else {
        panic!("an order")
    };
    assert_eq!(order.rate, Rate::from_kbps(280));
    take(&mut salsify, 0, order);
    arrive(&mut salsify, 0, 10);
    let candidates = choose(&mut salsify, 1, 4);
    // Ten packets less four, 1400 B each.
    assert_eq!(candidates.limit, Bytes::new(6 * 1400));
    assert_eq!(candidates.refers_to, None);
    let rates = candidates.orders.map(|order| order.rate);
    assert_eq!(rates[0], Rate::from_kbps(280) * 1.77);
    assert_eq!(rates[1], Rate::from_kbps(280) * 0.46);
    assert_eq!(choose(&mut salsify, 2, 40).limit, Bytes::ZERO);
}

#[test]
fn versions_are_made_around_the_last_frame_sent() {
    let mut salsify = salsify();
    capture(&mut salsify, 0, 0);
    arrive(&mut salsify, 0, 10);
    let first = choose(&mut salsify, 1, 0);
    take(&mut salsify, 1, first.orders[0]);
    let second = choose(&mut salsify, 2, 0);
    assert_eq!(second.orders[0].rate, first.orders[0].rate * 1.77);
    // A frame left out changes nothing.
    assert_eq!(choose(&mut salsify, 3, 0).orders, second.orders);
}

#[test]
fn after_three_gaps_the_coarser_version_goes_whatever_its_size() {
    let mut salsify = salsify();
    capture(&mut salsify, 0, 0);
    arrive(&mut salsify, 0, 10);
    let first = choose(&mut salsify, 1, 99);
    choose(&mut salsify, 2, 99);
    choose(&mut salsify, 3, 99);
    let verdict = capture(&mut salsify, 4, 99);
    assert_eq!(verdict, Verdict::Encode(first.orders[1]));
    take(&mut salsify, 4, first.orders[1]);
    choose(&mut salsify, 5, 99);
}

#[test]
fn for_five_seconds_after_a_loss_frames_refer_to_what_is_there() {
    let mut salsify = salsify();
    for id in 0..3 {
        let order = match capture(&mut salsify, id, 0) {
            Verdict::Encode(order) => order,
            Verdict::Choose(candidates) => candidates.orders[1],
            Verdict::Skip => panic!("skipped"),
        };
        take(&mut salsify, id, order);
        if id < 2 {
            arrive(&mut salsify, id, 10);
        }
    }
    lose(&mut salsify, ms(100));
    assert_eq!(choose(&mut salsify, 3, 0).refers_to, Some(FrameId(1)));
    // Five seconds are 125 frames.
    assert_eq!(choose(&mut salsify, 127, 99).refers_to, Some(FrameId(1)));
    choose(&mut salsify, 127, 99);
    // Even the fourth, which has to go, refers to it.
    let last = choose(&mut salsify, 127, 99);
    assert_eq!(last.refers_to, Some(FrameId(1)));
    assert_eq!((last.orders[0], last.limit), (last.orders[1], Bytes::MAX));
    let Verdict::Encode(_) = capture(&mut salsify, 128, 0) else {
        panic!("an order")
    };
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| {
        let plain = VideoStart::plain();
        let built = Salsify::new(&VideoStart { params, ..plain });
        built.expect_err("refused").to_string()
    };
    assert!(refused(toml::toml! { finer = 0.5 }).contains("finer = 0.5"));
    assert!(refused(toml::toml! { min = "13 Mbit/s" }).contains("above max"));
    assert!(refused(toml::toml! { quantiser = 3 }).contains("unknown field `quantiser`"));
}
