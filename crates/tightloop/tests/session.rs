//! What the session promises every controller, seen from the events of whole
//! runs.

mod worlds;

use std::collections::BTreeMap;

use tightloop::event::{Direction, Event, FrameId, Kind, PathId};
use tightloop::units::{Bytes, Rate, Span, Time, count};

type Events = Vec<(Time, Event)>;

/// A run of one flow; `flow` holds its settings and `links` change the links.
fn run(flow: &str, bottleneck: &str, back: &str) -> Events {
    worlds::events(&worlds::scenario(&format!(
        r#"
        name = "session"
        duration = "10 s"
        [link.bottleneck]
        delay = "20 ms"
        {bottleneck}
        [link.return]
        delay = "20 ms"
        {back}
        [[flow]]
        path = {{ links = ["bottleneck"], back = ["return"] }}
        {flow}
        "#
    )))
}

const BULK: &str = r#"cc = { name = "fixed", window = "150 kB" }
traffic = { bulk = {} }"#;
const LINK: &str = r#"rate = "20 Mbit/s"
queue = { kind = "drop_tail", packets = 200 }"#;

fn arrived(events: &Events, from: Time) -> Rate {
    let bytes: Bytes = events
        .iter()
        .filter(|(at, _)| *at >= from)
        .filter_map(|(_, event)| match event {
            Event::Arrived {
                size,
                duplicate: false,
                ..
            } => Some(*size),
            _ => None,
        })
        .sum();
    let last = events.last().expect("a run has events").0;
    bytes.per(last - from).expect("some time has passed")
}

fn number(events: &Events, is: impl Fn(&Event) -> bool) -> u64 {
    count(events.iter().filter(|(_, event)| is(event)).count())
}

fn close(value: Rate, mbps: f64, tolerance: f64) {
    let off = (value.mbps_f64() - mbps).abs();
    assert!(
        off <= tolerance,
        "{value} is not {mbps} ± {tolerance} Mbit/s"
    );
}

#[test]
fn a_window_is_never_exceeded_and_always_used() {
    let events = run(BULK, LINK, "");
    let in_flight = |event: &Event| match event {
        Event::Sent { in_flight, .. } => Some(*in_flight),
        _ => None,
    };
    let most = events
        .iter()
        .filter_map(|(_, event)| in_flight(event))
        .max();
    assert_eq!(most, Some(Bytes::new(150_000)));
    close(arrived(&events, Time::from_secs(1)), 20.0, 0.01);
    assert_eq!(
        number(&events, |event| matches!(event, Event::Lost { .. })),
        0
    );
}

#[test]
fn a_pacing_rate_spaces_packets_to_the_nanosecond() {
    let flow = r#"cc = { name = "fixed", pacing = "12 Mbit/s" }
traffic = { bulk = {} }"#;
    let sent: Vec<Time> = run(flow, LINK, "")
        .iter()
        .filter(|(_, event)| matches!(event, Event::Sent { .. }))
        .map(|(at, _)| *at)
        .collect();
    assert!(sent.len() > 9_000);
    let odd = sent
        .windows(2)
        .find(|pair| pair[1] - pair[0] != Span::from_millis(1));
    assert_eq!(odd, None);
}

#[test]
fn a_floor_is_filled_up_and_no_more() {
    let flow = r#"cc = { name = "fixed", target = "1 Mbit/s", floor = "3 Mbit/s" }"#;
    let events = run(flow, LINK, "");
    let from = Time::from_secs(1);
    close(arrived(&events, from), 3.0, 0.05);
    let sent = |wanted: &str| -> u64 {
        number(
            &events,
            |event| matches!(event, Event::Sent { kind, .. } if kind.name() == wanted),
        )
    };
    // 1 Mbit/s of video is two packets a frame; filler is full packets.
    let video = sent("video");
    assert!((1_190..=1_210).contains(&video), "{video} video packets");
    let filler = sent("filler");
    assert!((1_600..=1_750).contains(&filler), "{filler} filler packets");
}

#[test]
fn lost_feedback_costs_no_packets() {
    let events = run(BULK, LINK, "loss = 0.3");
    close(arrived(&events, Time::from_secs(1)), 20.0, 0.05);
    let lost = number(&events, |event| matches!(event, Event::Lost { .. }));
    let sent = number(&events, |event| matches!(event, Event::Sent { .. }));
    // A packet is given up wrongly only where all messages of the next three
    // arrivals were lost as well and one after them came.
    assert!(lost * 50 < sent, "{lost} of {sent} given up");
    let without_time = number(&events, |event| {
        matches!(event, Event::Acked { rtt: None, .. })
    });
    assert!(
        (1..sent / 5).contains(&without_time),
        "{without_time} of {sent}"
    );
}

#[test]
fn doubled_and_reordered_feedback_is_told_once() {
    let back = r#"duplicate = 0.3
jitter = { kind = "uniform", max = "10 ms", reorder = true }"#;
    let events = run(BULK, LINK, back);
    let mut acked = BTreeMap::new();
    for (_, event) in &events {
        if let Event::Acked { packet, .. } = event {
            *acked.entry(packet.number).or_insert(0) += 1;
        }
    }
    assert!(acked.len() > 15_000);
    assert!(acked.values().all(|times| *times == 1));
    assert_eq!(
        number(&events, |event| matches!(event, Event::Lost { .. })),
        0
    );
}

#[test]
fn doubled_packets_are_seen_and_counted_once() {
    let events = run(BULK, &format!("{LINK}\nduplicate = 0.1"), "");
    let doubles = number(&events, |event| {
        matches!(
            event,
            Event::Arrived {
                duplicate: true,
                ..
            }
        )
    });
    let firsts = number(&events, |event| {
        matches!(
            event,
            Event::Arrived {
                duplicate: false,
                ..
            }
        )
    });
    let share = doubles * 100 / firsts;
    assert!(
        (8..=12).contains(&share),
        "{doubles} doubles, {firsts} firsts"
    );
}

#[test]
fn reordered_packets_given_up_come_back_as_spurious() {
    let jitter = "jitter = { kind = \"uniform\", max = \"5 ms\", reorder = true }";
    let events = run(BULK, &format!("{LINK}\n{jitter}"), "");
    let lost = number(&events, |event| matches!(event, Event::Lost { .. }));
    let spurious = number(&events, |event| {
        matches!(event, Event::Acked { spurious: true, .. })
    });
    assert!(lost > 100, "{lost} given up");
    // All but those whose copy was still on its way at the end.
    assert!(
        spurious <= lost && lost - spurious < 20,
        "{spurious} of {lost} came back"
    );
}

#[test]
fn lost_fragments_are_sent_again_until_frames_are_whole() {
    let flow = r#"cc = { name = "fixed", target = "8 Mbit/s" }"#;
    let shown = |flow: &str| {
        let events = run(flow, &format!("{LINK}\nloss = 0.02"), "");
        number(&events, |event| matches!(event, Event::Shown { .. }))
    };
    let independent = "video.playout.independent = true";
    let with = shown(flow);
    let without = shown(&format!("{flow}\nretransmit = false"));
    let alone = shown(&format!("{flow}\nretransmit = false\n{independent}"));
    // 12 packets a frame: .98^12 = 78 % arrive whole.
    assert!((430..=510).contains(&alone), "{alone} of 600 shown");
    // A lost frame takes those with it that refer to it, until a key frame comes
    // some 260 ms later; the next loss comes after 75 ms already.
    assert!((60..=160).contains(&without), "{without} of 600 shown");
    // Sent again, it holds up what follows for a round trip and a few packets,
    // 2.6 frames: .78^3.6 = 41 % are shown at once, and each of the 22 % that come
    // late is shown itself or brings a newer one.
    assert!((340..=420).contains(&with), "{with} of 600 shown");
}

#[test]
fn every_fragment_of_a_frame_arrives_in_spite_of_losses() {
    let flow = r#"cc = { name = "fixed", target = "8 Mbit/s" }"#;
    let events = run(flow, &format!("{LINK}\nloss = 0.02"), "");
    let completed = number(&events, |event| matches!(event, Event::Completed { .. }));
    let captured = number(&events, |event| matches!(event, Event::Captured { .. }));
    assert!(
        completed <= captured && captured - completed <= 6,
        "{completed} of {captured}"
    );
}

#[test]
fn fragments_past_saving_do_not_hold_up_new_frames() {
    // Far too much for the pace: retransmissions pile up in front.
    let flow = r#"cc = { name = "fixed", target = "8 Mbit/s", pacing = "7 Mbit/s" }"#;
    let events = run(flow, &format!("{LINK}\nloss = 0.2"), "");
    let oldest = events.iter().filter_map(|(at, event)| match event {
        Event::Sent {
            kind: Kind::Retransmit(fragment),
            ..
        } => {
            // Frames are 1/60 s apart.
            Some(at.secs_f64() - f64::from(fragment.frame.0) / 60.0)
        }
        _ => None,
    });
    let oldest = oldest.fold(0.0, f64::max);
    assert!(
        (0.3..=0.53).contains(&oldest),
        "sent again after {oldest} s"
    );
}

#[test]
fn the_tail_of_a_pause_is_probed_and_found_lost() {
    // The video pauses for good at 2 s; its last packets meet a dead link.
    let flow = r#"cc = { name = "fixed", target = "4 Mbit/s" }
video = { source = { pauses = [{ from = "2 s" }] } }"#;
    let link = r#"steps = [["0 s", "20 Mbit/s"], ["1.99 s", "0 bit/s"], ["3 s", "20 Mbit/s"]]
queue = { kind = "drop_tail", packets = 1 }"#;
    let events = run(flow, link, "");
    let timeouts = number(&events, |event| matches!(event, Event::Timeout { .. }));
    assert!((1..=20).contains(&timeouts), "{timeouts} timeouts");
    let last = events
        .iter()
        .rev()
        .find(|(_, event)| matches!(event, Event::Sent { .. }))
        .expect("packets were sent");
    // The first probe that comes through settles everything.
    assert!(last.0 < Time::from_secs(5), "still probing at {}", last.0);
    let settled = |event: &Event| matches!(event, Event::Acked { .. } | Event::Lost { .. });
    let sent = number(&events, |event| matches!(event, Event::Sent { .. }));
    assert_eq!(number(&events, settled), sent);
}

#[test]
fn a_flow_survives_an_outage_with_a_zero_window_open() {
    let link = r#"steps = [["0 s", "20 Mbit/s"], ["3 s", "0 bit/s"], ["5 s", "20 Mbit/s"]]
queue = { kind = "drop_tail", packets = 10 }"#;
    let events = run(BULK, link, "");
    close(arrived(&events, Time::from_secs(6)), 20.0, 0.5);
}

#[test]
fn two_paths_carry_what_neither_could() {
    let text = |scheduler: &str| {
        format!(
            r#"
            name = "two paths"
            duration = "10 s"
            [link.a]
            rate = "5 Mbit/s"
            delay = "20 ms"
            queue = {{ kind = "drop_tail", packets = 50 }}
            [link.b]
            rate = "5 Mbit/s"
            delay = "30 ms"
            queue = {{ kind = "drop_tail", packets = 50 }}
            [link.return]
            delay = "20 ms"
            [[flow]]
            cc = {{ name = "fixed", target = "4 Mbit/s", window = "60 kB" }}
            scheduler = "{scheduler}"
            path = [
                {{ links = ["a"], back = ["return"] }},
                {{ links = ["b"], back = ["return"] }},
            ]
            "#
        )
    };
    for scheduler in ["min_rtt", "round_robin"] {
        let events = worlds::events(&worlds::scenario(&text(scheduler)));
        let mut next: BTreeMap<PathId, u64> = BTreeMap::new();
        for (_, event) in &events {
            if let Event::Sent { packet, .. } = event
                && packet.direction == Direction::Data
            {
                let expected = next.entry(packet.path).or_default();
                assert_eq!(packet.number, *expected, "numbers run on each path alone");
                *expected += 1;
            }
        }
        assert_eq!(next.len(), 2, "{scheduler} uses both paths");
        close(arrived(&events, Time::from_secs(1)), 8.0, 0.1);
        let whole = number(&events, |event| matches!(event, Event::Completed { .. }));
        assert!((590..=600).contains(&whole), "{scheduler}: {whole} frames");
    }
    let single = worlds::events(&worlds::scenario(&text("single")));
    close(arrived(&single, Time::from_secs(1)), 5.0, 0.05);
}

#[test]
fn fragments_of_a_frame_leave_in_order() {
    let flow = r#"cc = { name = "fixed", target = "8 Mbit/s", pacing = "16 Mbit/s" }"#;
    let mut last: Option<(FrameId, u16)> = None;
    for (_, event) in &run(flow, LINK, "") {
        if let Event::Sent {
            kind: Kind::Video(fragment),
            ..
        } = event
        {
            let this = (fragment.frame, fragment.index);
            assert!(
                last.is_none_or(|last| last < this),
                "{last:?} then {this:?}"
            );
            last = Some(this);
        }
    }
    assert!(last.is_some());
}

/// What a scenario with this link and flow is refused for.
fn refused(link: &str, flow: &str) -> String {
    let scenario = worlds::scenario(&format!(
        "name = \"refused\"\nduration = \"1 s\"\n[link.a]\n{link}\n[link.b]\n\
         [[flow]]\npath = {{ links = [\"a\"], back = [\"b\"] }}\n{flow}\n"
    ));
    let refused = scenario.build(&|_| None).expect_err("a run without an end");
    refused.to_string()
}

#[test]
fn runs_that_would_never_pass_an_instant_are_refused() {
    let timeless = refused("", r#"cc = "copa""#);
    assert!(
        timeless.contains("flow.0.path: ") && timeless.contains("`delay`"),
        "{timeless}"
    );
    let unlimited = refused(LINK, "cc = \"fixed\"\ntraffic = { bulk = {} }");
    assert!(
        unlimited.contains("flow.0.cc: ") && unlimited.contains("`window`"),
        "{unlimited}"
    );
}

/// What a viewer sees of a video over a link that loses packets for good: the
/// times at which frames were shown, and how many key frames were made.
fn viewing(playout: &str) -> (Vec<Time>, u64, u64) {
    let flow = format!(
        r#"cc = {{ name = "fixed", target = "4 Mbit/s" }}
        retransmit = false
        video.source.fps = 60
        video.playout = {playout}"#
    );
    let events = run(&flow, &format!("{LINK}\nloss = 0.003"), "");
    let shown = |(at, event): &(Time, Event)| match event {
        Event::Shown { .. } => Some(*at),
        _ => None,
    };
    let keys = number(&events, |event| {
        matches!(event, Event::Encoded { key: true, .. })
    });
    let asked = number(&events, |event| matches!(event, Event::KeyWanted { .. }));
    (events.iter().filter_map(shown).collect(), keys, asked)
}

#[test]
fn a_key_frame_brings_a_broken_picture_back() {
    let (shown, keys, asked) = viewing("{}");
    let freeze = shown.windows(2).map(|pair| pair[1] - pair[0]).max();
    // The patience of 200 ms, a round trip, and the frame interval.
    let freeze = freeze.expect("many frames");
    let expected = Span::from_millis(200)..Span::from_millis(600);
    assert!(expected.contains(&freeze), "{freeze}");
    assert!((2..40).contains(&asked), "{asked}");
    assert!((2..=asked + 1).contains(&keys), "{keys} for {asked}");
    // Without asking, the first loss is the end.
    let (silent, keys, asked) = viewing("{ ask_for_key = false }");
    assert_eq!((keys, asked), (1, 0));
    assert!(
        silent.len() * 2 < shown.len(),
        "{} of {}",
        silent.len(),
        shown.len()
    );
    // Were every frame decodable alone, only frames with a hole would be missing.
    let (independent, ..) = viewing("{ independent = true }");
    assert!(independent.len() > shown.len(), "{}", independent.len());
    assert!(
        independent.len() > 570 && independent.len() < 600,
        "{}",
        independent.len()
    );
}
