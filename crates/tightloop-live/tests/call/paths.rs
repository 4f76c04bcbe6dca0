//! One call over two emulated links, of which one is cut.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use tightloop::event::{Event, FrameId, LinkId, PathId};
use tightloop::link::Settings;
use tightloop::scenario::Scenario;
use tightloop::session::rtt::Rtt;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::call::Socket;
use tightloop_live::emulate::{Drive, Ends, Engine, Side};

use crate::studio::{Sent, Studio, trust};

/// When the first link is cut, on its own clock.
const CUT: Time = Time::from_millis(1_500);
/// How long the call lasts.
const CALL: u64 = 3_000;

/// A link's two ways; the one up carries nothing from `cut` on.
fn start(ends: &Arc<Ends>, rate: Rate, delay: Span, cut: Option<Time>) -> Engine {
    let mut steps = vec![(Time::ZERO, rate)];
    steps.extend(cut.map(|cut| (cut, Rate::ZERO)));
    let up = Settings {
        steps: Some(steps),
        delay,
        ..Settings::default()
    };
    let links = [up, Settings::wire(delay)].map(|it| {
        let link = it.build(LinkId(0), "link", 3, &|_| None);
        vec![link.expect("a link")]
    });
    Engine::start(ends, links, Vec::new(), Drive::default(), |_| {}).expect("an engine")
}

/// A socket behind a link.
fn behind(ends: &Ends) -> Socket {
    let at = SocketAddr::new(ends.near_address().into(), 0);
    let socket = ends.on(Side::Near, || Socket::bind(at));
    socket.expect("inside").expect("a socket")
}

/// What the sender knew of a path's round trips at `until`.
fn rtt(sent: &Sent, path: u8, until: Time) -> Rtt {
    let mut rtt = Rtt::default();
    for (at, event) in sent.events.iter().take_while(|(at, _)| *at < until) {
        match event {
            Event::Acked {
                packet,
                rtt: Some(sample),
                ..
            } if packet.path.0 == path => rtt.on_sample(*at, *sample),
            _ => {}
        }
    }
    rtt
}

#[test]
fn a_call_over_two_links_outlives_the_cut_of_one() {
    let (first, second) = match (Ends::open(), Ends::open()) {
        (Ok(first), Ok(second)) => (Arc::new(first), Arc::new(second)),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let far = SocketAddr::new(first.far_address().into(), 0);
    let mut studio = Studio::at(&far.to_string());
    studio.scheduler = "deadline";
    // More than either link carries.
    studio.most = Rate::from_kbps(1_400);
    let each = Rate::from_kbps(1_000);
    let receiver = studio.receive(None);
    let engines = [
        start(&first, each, Span::from_millis(10), Some(CUT)),
        start(&second, each, Span::from_millis(20), None),
    ];
    let sockets = vec![behind(&first), behind(&second)];
    let sent = studio.call_over(sockets, receiver.at, &trust(&receiver), CALL);
    let sent = sent.expect("a call");
    let received = receiver.end();
    let cut = engines[0].clock().instant(CUT).expect("a moment");
    for engine in engines {
        let work = engine.stop().expect("work");
        assert!(work.failed.is_none(), "{:?}", work.failed);
    }

    let (near, far) = (sent.clock.at(cut), received.clock.at(cut));
    let acked = |path| {
        let of =
            |event: &Event| matches!(event, Event::Acked { packet, .. } if packet.path.0 == path);
        let before = sent.events.iter().take_while(|(at, _)| *at < near);
        before.filter(|(_, event)| of(event)).count()
    };
    let acked = [acked(0), acked(1)];
    let feedback = Scenario::single("copa").flow[0].feedback;
    let timeout = rtt(&sent, 0, near).probe_timeout(feedback.longest_wait());
    let other = rtt(&sent, 1, near).smoothed().expect("answers");
    let down = sent.events.iter().find_map(|(at, event)| {
        let first = matches!(
            event,
            Event::PathDown {
                path: PathId(0),
                ..
            }
        );
        first.then(|| *at - near)
    });
    let down = down.expect("the path goes down");
    // From the cut on, or from a picture to the next.
    let later = received.events.iter().filter_map(|(at, event)| {
        let later = *at >= far && matches!(event, Event::Shown { .. });
        later.then_some(*at)
    });
    let moments: Vec<Time> = std::iter::once(far).chain(later).collect();
    let still = moments.windows(2).map(|pair| pair[1] - pair[0]).max();
    let still = still.expect("frames");
    let frames = moments.len() - 1;
    // A path is known to be dead within three probe timeouts; what was on it then
    // takes the other.
    let over = timeout * 3 + other;
    let seen: BTreeSet<FrameId> = received.events.iter().filter_map(shown).collect();
    let settled = near + over..Time::from_millis(CALL) - Span::from_millis(300);
    let coded = sent.events.iter().filter_map(|(at, event)| match event {
        Event::Encoded { frame, size, .. } if *size > Bytes::ZERO && settled.contains(at) => {
            Some(*frame)
        }
        _ => None,
    });
    let coded: Vec<FrameId> = coded.collect();
    let lost = coded.iter().filter(|frame| !seen.contains(frame)).count();
    let told = format!(
        "packets {acked:?}; probe timeout {timeout}, round trip of the other {other}; down \
         after {down}; still for {still}, {frames} frames after the cut; {lost} of {} lost",
        coded.len()
    );
    println!("{told}");
    assert!(acked.iter().all(|count| *count >= 40), "{told}");
    assert!((timeout..timeout * 3).contains(&down), "{told}");
    assert!((timeout..over).contains(&still), "{told}");
    assert!((30..=47).contains(&frames), "{told}");
    assert!(lost == 0 && coded.len() >= 20, "{told}");
}

fn shown((_, event): &(Time, Event)) -> Option<FrameId> {
    match event {
        Event::Shown { frame, .. } => Some(*frame),
        _ => None,
    }
}
