//! Calls over the loopback device: whole ones, and what can happen to them.
#![cfg(target_os = "linux")]

use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tightloop::event::Event;
use tightloop::units::Span;
use tightloop_live::call::{CallError, Trust};
use tightloop_live::footage::{Footage, FootageSettings};

use relay::Relay;
use studio::{Studio, trust};

mod paths;
mod relay;
mod studio;

/// Frames shown in a log, and the longest time between two.
fn shown(events: &[(tightloop::units::Time, Event)]) -> (usize, Span) {
    let times = events
        .iter()
        .filter(|(_, event)| matches!(event, Event::Shown { .. }))
        .map(|(at, _)| *at);
    let times: Vec<_> = times.collect();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    (times.len(), gaps.max().unwrap_or(Span::ZERO))
}

#[test]
fn a_call_crosses_real_sockets_and_its_file_plays() {
    for (at, ending) in [("127.0.0.1:0", "y4m"), ("[::1]:0", "mp4")] {
        if UdpSocket::bind(at).is_err() {
            eprintln!("skipped: this machine has no {at}");
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("seen").with_extension(ending);
        let file = file.display().to_string();
        let mut studio = Studio::at(at);
        studio.out = Some(file.clone());
        let receiver = studio.receive(None);
        let sent = studio
            .call(receiver.at, &trust(&receiver), 1_000)
            .expect("a call");
        let received = receiver.end();
        let (frames, _) = shown(&received.events);
        assert!((20..=31).contains(&frames), "{frames} of 30 frames");
        assert_eq!(sent.tally.odd_sizes, 0, "{:?}", sent.tally);
        assert_eq!(received.tally.odd_sizes, 0, "{:?}", received.tally);
        assert!(
            sent.tally.messages > 50 && sent.tally.unsent == 0,
            "{:?}",
            sent.tally
        );
        // QUIC's own packets are few.
        let own = sent.tally.sent - sent.tally.messages;
        assert!((4..30).contains(&own), "{own}");
        let seen = received.seen.expect("a screen");
        assert_eq!(
            (seen.undecoded, seen.missed, seen.failures.len()),
            (0, 0, 0)
        );
        let footage = Footage::open(&file, &FootageSettings::default()).expect("plays");
        assert!((20..=31).contains(&footage.count()), "{}", footage.count());
    }
}

#[test]
fn a_call_over_two_local_addresses_is_one_call() {
    let mut studio = Studio::at("127.0.0.1:0");
    studio.more = vec!["127.0.0.2:0".parse().expect("an address")];
    studio.scheduler = "round_robin";
    let receiver = studio.receive(Some("token"));
    let sent = studio
        .call(receiver.at, &trust(&receiver), 1_200)
        .expect("a call");
    let received = receiver.end();
    let acked = |path| {
        let of =
            |event: &Event| matches!(event, Event::Acked { packet, .. } if packet.path.0 == path);
        sent.events.iter().filter(|(_, event)| of(event)).count()
    };
    assert!(acked(0) > 20 && acked(1) > 20, "{} {}", acked(0), acked(1));
    let (frames, _) = shown(&received.events);
    assert!((20..=37).contains(&frames), "{frames}");
}

#[test]
fn a_wrong_token_and_a_wrong_fingerprint_are_refused() {
    let studio = Studio::at("127.0.0.1:0");
    let receiver = studio.receive(Some("right"));
    let with = |pin, token: Option<&str>| Trust {
        pin,
        token: token.map(str::to_owned),
    };
    let print = receiver.fingerprint;
    let wrong = studio.call(receiver.at, &with(Some(print), Some("wrong")), 200);
    assert!(matches!(wrong, Err(CallError::Refused(_))), "{wrong:?}");
    let none = studio.call(receiver.at, &with(Some(print), None), 200);
    assert!(matches!(none, Err(CallError::Refused(_))), "{none:?}");
    let other = tightloop_live::call::Identity::generate().expect("an identity");
    let stranger = studio.call(receiver.at, &with(Some(other.fingerprint()), None), 200);
    assert!(
        matches!(stranger, Err(CallError::Stranger(_))),
        "{stranger:?}"
    );
    // The right one still gets through, and needs no fingerprint.
    let right = studio.call(receiver.at, &with(None, Some("right")), 300);
    assert!(right.is_ok(), "{right:?}");
    let received = receiver.end();
    assert_eq!(received.tally.refused, 2);
}

#[test]
fn a_receiver_without_the_token_is_not_believed() {
    let studio = Studio::at("127.0.0.1:0");
    let receiver = studio.receive(None);
    let token = Trust {
        pin: None,
        token: Some("ours".into()),
    };
    let error = studio.call(receiver.at, &token, 200).expect_err("refused");
    assert!(matches!(error, CallError::Token), "{error}");
    receiver.stop();
    receiver.end();
}

#[test]
fn a_strangers_garbage_is_dropped_and_counted_and_gets_nothing_back() {
    let studio = Studio::at("127.0.0.1:0");
    let receiver = studio.receive(None);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    stranger.set_nonblocking(true).expect("a socket");
    let at = receiver.at;
    let mut sent = 0;
    let call = std::thread::scope(|scope| {
        let call = scope.spawn(|| studio.call(at, &trust(&receiver), 600));
        let mut chance = 7_u64;
        let mut garbage = vec![0_u8; 1_400];
        for nth in 0..400_usize {
            for byte in &mut garbage {
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = (chance >> 56) as u8;
            }
            // Some look like the first packet of a connection, or of a version
            // unknown.
            garbage[0] = [0xc3, 0x40, 0xff, garbage[0]][nth % 4];
            let length = [1, 7, 30, 1_200, 1_400][nth % 5];
            sent += stranger.send_to(&garbage[..length], at).expect("sent");
            std::thread::sleep(Duration::from_millis(1));
        }
        call.join().expect("no panic").expect("a call")
    });
    let (mut back, mut room) = (0, [0; 2_000]);
    while let Ok((length, _)) = stranger.recv_from(&mut room) {
        back += length;
    }
    let received = receiver.end();
    assert!(received.tally.strangers >= 390, "{:?}", received.tally);
    assert!(back <= sent, "{back} bytes for {sent}");
    let (frames, _) = shown(&received.events);
    assert!(frames >= 10 && call.tally.messages > 20, "{frames}");
}

#[test]
fn a_receiver_that_is_started_anew_gets_the_rest_of_the_call() {
    let studio = Studio::at("127.0.0.1:0");
    let first = studio.receive(Some("token"));
    let (at, knows) = (first.at, trust(&first));
    let (sent, second) = std::thread::scope(|scope| {
        let call = scope.spawn(|| studio.call(at, &knows, 2_800));
        std::thread::sleep(Duration::from_millis(700));
        // Killed: no good-bye.
        first.kill();
        let second = studio.receive_at(at, Some("token"));
        (call.join().expect("no panic").expect("a call"), second)
    });
    let received = second.end();
    assert_eq!((sent.tally.restarted, sent.tally.redialled), (1, 1));
    let (frames, gap) = shown(&received.events);
    assert!(
        (20..=90).contains(&frames) && gap < Span::from_millis(700),
        "{frames} {gap}"
    );
    assert!(
        received
            .events
            .iter()
            .any(|(_, event)| matches!(event, Event::KeyWanted { .. }))
    );
}

#[test]
fn a_sender_whose_address_changes_goes_on() {
    let studio = Studio::at("127.0.0.1:0");
    let receiver = studio.receive(None);
    let relay = Relay::to(receiver.at);
    let sent = std::thread::scope(|scope| {
        let call = scope.spawn(|| studio.call(relay.at, &trust(&receiver), 1_600));
        std::thread::sleep(Duration::from_millis(800));
        relay.knobs.rebind.store(true, Ordering::Relaxed);
        call.join().expect("no panic").expect("a call")
    });
    let received = receiver.end();
    let (frames, gap) = shown(&received.events);
    assert_eq!(received.tally.moved, 1, "{:?}", received.tally);
    assert_eq!(sent.tally.redialled, 0, "{:?}", sent.tally);
    assert!(
        frames >= 35 && gap < Span::from_millis(500),
        "{frames} {gap}"
    );
}

/// A call through a relay that does something between `from` and `to`.
fn troubled(
    millis: u64,
    from: u64,
    to: u64,
    trouble: impl Fn(&relay::Knobs, bool),
) -> (studio::Sent, studio::Received) {
    let studio = Studio::at("127.0.0.1:0");
    let receiver = studio.receive(None);
    let relay = Relay::to(receiver.at);
    let sent = std::thread::scope(|scope| {
        let call = scope.spawn(|| studio.call(relay.at, &trust(&receiver), millis));
        std::thread::sleep(Duration::from_millis(from));
        trouble(&relay.knobs, true);
        std::thread::sleep(Duration::from_millis(to - from));
        trouble(&relay.knobs, false);
        call.join().expect("no panic").expect("a call")
    });
    (sent, receiver.end())
}

fn outage(millis: u64) {
    let (_, received) = troubled(millis + 1_900, 600, 600 + millis, |knobs, on| {
        for way in [&knobs.up, &knobs.down] {
            way.store(if on { 1_000 } else { 0 }, Ordering::Relaxed);
        }
    });
    let (frames, gap) = shown(&received.events);
    let [least, most] = [millis, millis + 1_500].map(|it| Span::from_millis(it as i64));
    assert!((least..most).contains(&gap), "{gap}");
    assert!(frames >= 30, "{frames}");
}

#[test]
fn an_outage_is_survived() {
    outage(1_200);
}

#[test]
#[ignore = "takes 33 s"]
fn an_outage_of_thirty_seconds_is_survived() {
    outage(30_000);
}

#[test]
fn half_of_all_packets_lost_leaves_a_call() {
    let (sent, received) = troubled(2_600, 400, 1_700, |knobs, on| {
        for way in [&knobs.up, &knobs.down] {
            way.store(if on { 500 } else { 0 }, Ordering::Relaxed);
        }
    });
    let (frames, gap) = shown(&received.events);
    let late = late(&received.events);
    assert!(
        frames >= 18 && late >= 5 && gap < Span::from_millis(1_500),
        "{frames} {late} {gap}"
    );
    assert!(sent.tally.messages > 50);
}

/// Frames shown in the last part of a log.
fn late(events: &[(tightloop::units::Time, Event)]) -> usize {
    let end = events.last().expect("events").0;
    let late = events.iter().filter(|(at, event)| {
        matches!(event, Event::Shown { .. }) && end - *at < Span::from_millis(800)
    });
    late.count()
}

fn deaf(millis: u64) {
    let (_, received) = troubled(millis + 1_600, 600, 600 + millis, |knobs, on| {
        knobs
            .down
            .store(if on { 1_000 } else { 0 }, Ordering::Relaxed);
    });
    let (frames, _) = shown(&received.events);
    let late = late(&received.events);
    assert!(frames >= 25 && late >= 5, "{frames} {late}");
}

#[test]
fn feedback_that_is_dead_for_a_while_is_survived() {
    deaf(1_200);
}

#[test]
#[ignore = "takes 7 s"]
fn feedback_that_is_dead_for_five_seconds_is_survived() {
    deaf(5_000);
}

#[test]
fn a_full_disk_is_told_and_the_call_goes_on() {
    let mut studio = Studio::at("127.0.0.1:0");
    studio.out = Some("/dev/full".into());
    let receiver = studio.receive(None);
    let sent = studio
        .call(receiver.at, &trust(&receiver), 900)
        .expect("a call");
    let received = receiver.end();
    let seen = received.seen.expect("a screen");
    assert_eq!(seen.failures.len(), 1);
    let (name, error) = &seen.failures[0];
    assert_eq!(
        (name.as_str(), error.raw_os_error()),
        ("/dev/full", Some(28))
    );
    assert!(seen.decoded >= 18 && sent.tally.messages > 30, "{seen:?}");
}

#[test]
fn whoever_calls_nobody_is_told() {
    let mut studio = Studio::at("127.0.0.1:0");
    studio.patience = Span::from_millis(300);
    let nobody = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let at = nobody.local_addr().expect("an address");
    let pin = tightloop_live::call::Identity::generate()
        .expect("an identity")
        .fingerprint();
    let trust = Trust {
        pin: Some(pin),
        token: None,
    };
    let error = studio.call(at, &trust, 100).expect_err("nobody");
    assert!(
        error.to_string().contains("does not answer within"),
        "{error}"
    );
}
