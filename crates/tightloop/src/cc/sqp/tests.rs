use proptest::prelude::*;

use super::*;
use crate::cc::{Acked, Lost};
use crate::event::{Ecn, Fragment, FrameId, Kind, LostBy};
use crate::units::{Bytes, RemoteTime};

/// The link of most experiments. [SQP] Fig. 1.
const LINK: Rate = Rate::from_mbps(20);
/// One way. [SQP] Fig. 2.
const DELAY: Span = Span::from_millis(20);

fn sqp(params: toml::Table) -> Result<Sqp, SettingError> {
    Sqp::new(&Start {
        params,
        ..Start::plain()
    })
}

fn plain() -> Sqp {
    sqp(toml::Table::new()).expect("the defaults are good")
}

fn path() -> PathState {
    PathState {
        mss: Bytes::new(1500),
        latest_rtt: Some(DELAY * 2),
        ..PathState::default()
    }
}

fn frame_interval() -> Span {
    Span::from_secs(1) / 60
}

/// Frame after frame over a link that is idle when each begins.
struct Trains {
    clock: Span,
    frame: u32,
    number: u64,
}

impl Trains {
    fn new(clock: Span) -> Self {
        Self {
            clock,
            frame: 0,
            number: 0,
        }
    }

    fn start(&self) -> Time {
        Time::ZERO + frame_interval() * i64::from(self.frame)
    }

    /// One frame of `size`, as one feedback each packet. Every `loss`-th packet is lost.
    fn frame(&mut self, cc: &mut Sqp, size: Bytes, kind: fn(Fragment) -> Kind, loss: Option<u64>) {
        let packets = size.pieces(path().mss);
        let pace = cc.control().pacing.expect("a pace");
        let (mut leaves, mut free) = (self.start(), self.start());
        let mut sent = Vec::new();
        for index in 0..packets {
            let count = u16::try_from(packets).expect("few");
            let packet = Sent {
                number: self.number,
                at: leaves,
                size: size / packets,
                kind: kind(Fragment {
                    frame: FrameId(self.frame),
                    index: u16::try_from(index).expect("few"),
                    count,
                }),
                ..Sent::default()
            };
            self.number += 1;
            cc.on_sent(leaves, &packet, &path());
            free = free.max(leaves) + packet.size.at(LINK).expect("a rate");
            sent.push((packet, free + DELAY));
            leaves += packet.size.at(pace).expect("a rate");
        }
        for (packet, arrives) in sent {
            let lost = loss.is_some_and(|every| packet.number.is_multiple_of(every));
            let acked = Acked {
                packet,
                arrived: Some(arrives.on_clock(self.clock, 0)),
                rtt: Some(DELAY * 2),
                ecn: Ecn::NotEct,
                spurious: false,
            };
            let given_up = Lost {
                packet,
                by: LostBy::Packets,
            };
            hear(
                cc,
                arrives + DELAY,
                (!lost).then_some(acked),
                lost.then_some(given_up),
            );
        }
        self.frame += 1;
    }

    /// Frames as large as the target allows.
    fn full(&mut self, cc: &mut Sqp, frames: u32) {
        for _ in 0..frames {
            let size = cc
                .control()
                .target
                .expect("a target")
                .over(frame_interval());
            self.frame(cc, size, Kind::Video, None);
        }
    }
}

fn hear(cc: &mut Sqp, now: Time, acked: Option<Acked>, lost: Option<Lost>) {
    let feedback = Feedback {
        acked: acked.as_slice(),
        ..Feedback::of_losses(lost.as_slice(), false)
    };
    cc.on_feedback(now, &feedback, &path());
}

fn gauge(cc: &Sqp, name: &str) -> Option<f64> {
    let mut found = None;
    cc.inspect(&mut |gauge, value| {
        if gauge == name {
            found = Some(value);
        }
    });
    found
}

#[test]
fn alone_the_estimate_rests_at_the_target_share_of_the_link() {
    let mut cc = plain();
    Trains::new(Span::from_secs(-3_600)).full(&mut cc, 600);
    let control = cc.control();
    let target = control.target.expect("a target");
    assert!((17.98..18.02).contains(&target.mbps_f64()), "{target}");
    assert_eq!(control.pacing, Some(target * 2.0));
    assert_eq!((control.window, control.floor), (None, None));
    let sample = gauge(&cc, "S_bps").map(Rate::from_bps_f64);
    let sample = sample.expect("a sample").mbps_f64();
    assert!((19.98..20.02).contains(&sample), "{sample}");
}

#[test]
fn the_receivers_clock_makes_no_difference() {
    let rest = |clock| {
        let mut cc = plain();
        Trains::new(clock).full(&mut cc, 100);
        cc.control()
    };
    for hours in [-1, 1] {
        assert_eq!(rest(Span::from_secs(3_600 * hours)), rest(Span::ZERO));
    }
}

#[test]
fn small_frames_hold_the_estimate_up() {
    let mut cc = plain();
    let mut trains = Trains::new(Span::ZERO);
    trains.full(&mut cc, 600);
    // 2 Mbit/s of video: frames of three packets where 25 would be allowed.
    for _ in 0..120 {
        trains.frame(&mut cc, Bytes::new(4_167), Kind::Video, None);
        let target = cc.control().target.expect("a target");
        assert!((17.8..18.2).contains(&target.mbps_f64()), "{target}");
    }
}

#[test]
fn only_first_transmissions_of_video_teach_anything() {
    for kind in [Kind::Retransmit, |_| Kind::Filler, |_| Kind::Bulk] {
        let mut cc = plain();
        let before = cc.control();
        let mut trains = Trains::new(Span::ZERO);
        for _ in 0..20 {
            trains.frame(&mut cc, Bytes::new(30_000), kind, Some(7));
        }
        assert_eq!(cc.control(), before);
    }
}

#[test]
fn random_loss_lowers_the_share_by_as_much() {
    let mut cc = plain();
    let mut trains = Trains::new(Span::ZERO);
    for _ in 0..900 {
        let size = cc
            .control()
            .target
            .expect("a target")
            .over(frame_interval());
        trains.frame(&mut cc, size, Kind::Video, Some(10));
    }
    // A tenth of 18 Mbit/s, and a little for packets on the link that died later.
    let target = cc.control().target.expect("a target").mbps_f64();
    assert!((15.7..16.5).contains(&target), "{target}");
}

#[test]
fn the_application_and_the_floor_bound_the_estimate() {
    let mut cc = Sqp::new(&Start {
        max_rate: Some(Rate::from_mbps(3)),
        ..Start::plain()
    })
    .expect("good settings");
    let mut trains = Trains::new(Span::ZERO);
    trains.full(&mut cc, 60);
    assert_eq!(cc.control().target, Some(Rate::from_mbps(3)));
    for _ in 0..20 {
        trains.frame(&mut cc, Bytes::new(6_000), Kind::Video, Some(1));
    }
    assert_eq!(cc.control().target, Some(Rate::from_kbps(500)));
}

#[test]
fn a_bridge_holds_the_target_while_the_estimate_hardly_moves() {
    let mut cc = sqp(toml::toml! { bridge = { change = 0.1 } }).expect("good settings");
    let mut trains = Trains::new(Span::ZERO);
    let (mut held, mut moved) = (0, 0);
    let mut before = cc.control().target.expect("a target");
    for _ in 0..100 {
        trains.full(&mut cc, 1);
        let (target, estimate) = (cc.control().target.expect("a target"), cc.bandwidth);
        if target == before {
            held += 1;
            assert!((estimate.ratio(target) - 1.0).abs() <= 0.1);
        } else {
            moved += 1;
            assert_eq!(target, estimate);
        }
        before = target;
    }
    // From 1 to nearly 18 Mbit/s in steps of a tenth: 30 at most, and most frames hold.
    assert!((15..=30).contains(&moved), "{moved}");
    assert!(held >= 70, "{held}");
    // A second later any difference is taken over.
    trains.full(&mut cc, 300);
    assert!(cc.bandwidth.ratio(cc.target) < 1.001);
}

#[test]
fn one_message_for_many_packets_teaches_the_same() {
    let rest = |batch: usize| {
        let mut cc = plain();
        for number in 0..400_u32 {
            let start = Time::ZERO + frame_interval() * i64::from(number);
            let size = cc
                .control()
                .target
                .expect("a target")
                .over(frame_interval());
            let packets = size.pieces(path().mss);
            let mut acked = Vec::new();
            for index in 0..packets {
                let served = (size / packets).at(LINK).expect("a rate");
                let leaves = (size / packets).at(cc.control().pacing.expect("a pace"));
                let step = |span: Span| span * i64::try_from(index).expect("few");
                let packet = Sent {
                    at: start + step(leaves.expect("a rate")),
                    size: size / packets,
                    kind: Kind::Video(Fragment {
                        frame: FrameId(number),
                        index: u16::try_from(index).expect("few"),
                        count: u16::try_from(packets).expect("few"),
                    }),
                    ..Sent::default()
                };
                cc.on_sent(packet.at, &packet, &path());
                let free = (start + step(served)).max(packet.at) + served;
                acked.push(Acked {
                    packet,
                    arrived: Some((free + DELAY).on_clock(Span::ZERO, 0)),
                    rtt: None,
                    ecn: Ecn::NotEct,
                    spurious: false,
                });
            }
            for acked in acked.chunks(batch) {
                let feedback = Feedback {
                    acked,
                    ..Feedback::of_losses(&[], false)
                };
                cc.on_feedback(start + DELAY * 3, &feedback, &path());
            }
        }
        cc.control()
    };
    assert_eq!(rest(1), rest(7));
    assert_eq!(rest(1), rest(usize::MAX));
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    let refused = |params| sqp(params).expect_err("refused").to_string();
    assert!(refused(toml::toml! { delta = 3 }).contains("unknown field `delta`"));
    assert!(refused(toml::toml! { target_multiplier = 0.5 }).contains("cannot grow"));
    assert!(refused(toml::toml! { max_cut = 0.0 }).contains("max_cut must be above 0"));
    assert!(refused(toml::toml! { floor = "0 bit/s" }).contains("floor must be above zero"));
    assert!(refused(toml::toml! { fence_post = "picket" }).contains("literal"));
    assert!(refused(toml::toml! { bridge = { age = "-1 s" } }).contains("bridge"));
    let no_frames = Sqp::new(&Start {
        frame_interval: None,
        ..Start::plain()
    });
    let why = no_frames.expect_err("refused").to_string();
    assert!(why.contains("video source"), "{why}");
}

/// What may happen to a packet, by one random byte.
fn fate(cc: &mut Sqp, now: Time, packet: Sent, luck: u8) {
    let arrived = (!luck.is_multiple_of(7))
        .then(|| RemoteTime::from_nanos(u64::from(luck) << 56) + (now - Time::ZERO));
    let acked = Acked {
        packet,
        arrived,
        rtt: arrived.map(|_| DELAY),
        ecn: Ecn::NotEct,
        spurious: luck.is_multiple_of(5),
    };
    let lost = Lost {
        packet,
        by: LostBy::Time,
    };
    hear(
        cc,
        now,
        (!luck.is_multiple_of(3)).then_some(acked),
        luck.is_multiple_of(4).then_some(lost),
    );
}

proptest! {
    #[test]
    fn whatever_is_reported_the_control_stays_within_bounds(
        events in prop::collection::vec((any::<u8>(), 0u32..40, 0u16..6, 1u16..6), 1..200),
    ) {
        let mut cc = plain();
        for (step, (luck, frame, index, count)) in events.into_iter().enumerate() {
            let now = Time::from_millis(u64::try_from(step).expect("few"));
            let packet = Sent {
                at: now,
                size: Bytes::new(u64::from(luck) * 8),
                kind: Kind::Video(Fragment { frame: FrameId(frame), index, count }),
                ..Sent::default()
            };
            if luck.is_multiple_of(2) {
                cc.on_sent(now, &packet, &path());
            }
            fate(&mut cc, now, packet, luck);
            let target = cc.control().target.expect("a target");
            prop_assert!(target >= Rate::from_kbps(500));
            prop_assert!(target <= Rate::from_mbps(1) + Rate::from_kbps(207) * 200.0);
        }
    }
}
