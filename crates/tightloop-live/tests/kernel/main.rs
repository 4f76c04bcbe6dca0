//! The kernel's own TCP over emulated links, where there are TUN devices and
//! permission.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::thread;

use tightloop::event::LinkId;
use tightloop::link::{Link, Settings};
use tightloop::proxy;
use tightloop::units::{Bytes, Rate, Span};
use tightloop_live::emulate::{Datagram, Drive, Ends, Engine, Way};
use tightloop_live::proxy::{Equaliser, flows};
use tightloop_live::tcp::{self, Bulk};

/// Nothing here is about being on time.
const DRIVE: Drive = Drive {
    margin: Span::from_micros(150),
    urgent: false,
};

/// The ends of a link, or a word why there are none.
fn ends() -> Option<Arc<Ends>> {
    match Ends::open() {
        Ok(ends) => Some(Arc::new(ends)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn links(up: &Settings, down: &Settings) -> [Vec<Link<Datagram>>; 2] {
    [(0, up), (1, down)].map(|(id, settings)| {
        let link = settings.build(LinkId(id), "link", 3, &|_| None);
        vec![link.expect("a link")]
    })
}

/// Lets flows run until their sinks have this much each.
fn carry(flows: &[Bulk], wanted: Bytes) {
    while flows.iter().any(|flow| flow.received() < wanted) {
        thread::yield_now();
    }
}

#[test]
fn flows_of_both_ways_are_the_kernels_and_cross_the_link() {
    let Some(ends) = ends() else { return };
    let delay = Span::from_millis(2);
    let link = Settings::fixed(Rate::from_mbps(100), 100, delay);
    let engine = Engine::start(&ends, links(&link, &link), Vec::new(), DRIVE, |_| {});
    let engine = engine.expect("an engine");
    let wanted = Bytes::new(400_000);
    for (way, name) in [(Way::Up, "reno"), (Way::Down, "cubic")] {
        if let Err(error) = tcp::check(name) {
            eprintln!("skipped: {error}");
            continue;
        }
        let settings = tcp::Settings {
            every: Span::from_millis(5),
            ..tcp::Settings::under(name)
        };
        let flow = Bulk::start(&ends, way, &settings, engine.clock()).expect("a flow");
        let connection = flow.connection();
        assert_eq!(connection.near.ip(), ends.near_address());
        assert_eq!(connection.far.ip(), ends.far_address());
        carry(std::slice::from_ref(&flow), wanted);
        let carried = flow.stop().expect("its end");
        assert!(carried.bytes >= wanted, "{}", carried.bytes);
        assert!(carried.samples.is_sorted_by_key(|it| it.at));
        let last = carried.samples.last().expect("a sample").info;
        let floor = last.min_rtt.expect("a round trip");
        // Both flights, and no more than both queues besides.
        assert!((delay * 2..Span::from_secs(1)).contains(&floor), "{floor}");
        assert!((1300..1461).contains(&last.segment.get()), "{last:?}");
        assert!(last.acked < wanted * 100, "{last:?}");
    }
    let work = engine.stop().expect("work");
    assert!(work.failed.is_none(), "{:?}", work.failed);
    for passage in &work.ways {
        assert!((250..20_000).contains(&passage.arrived), "{passage:?}");
    }
}

#[test]
fn a_controller_that_the_kernel_lacks_is_refused_before_anything_is_sent() {
    let Some(ends) = ends() else { return };
    let wire = Settings::default();
    let engine = Engine::start(&ends, links(&wire, &wire), Vec::new(), DRIVE, |_| {});
    let engine = engine.expect("an engine");
    let settings = tcp::Settings::under("no_such_cc");
    let refused = Bulk::start(&ends, Way::Up, &settings, engine.clock());
    let told = refused.expect_err("refused").to_string();
    assert!(
        told.contains("no_such_cc") && told.contains("modprobe"),
        "{told}"
    );
    engine.stop().expect("work");
}

#[test]
fn a_proxy_makes_unlike_round_trips_alike() {
    let Some(ends) = ends() else { return };
    let ms = Span::from_millis;
    let settings = proxy::Settings {
        lambda: ms(60),
        tick: ms(20),
        ..proxy::Settings::default()
    };
    const PORT: u16 = 9500;
    let natural = [ms(5), ms(30)];
    let (sorted, delays) = flows(&settings, move |connection| {
        natural[usize::from(connection.far.port() != PORT)]
    })
    .expect("settings");
    let wire = Settings::default();
    let links = links(&wire, &wire);
    let engine = Engine::start_sorting(&ends, links, Vec::new(), DRIVE, |_| {}, Some(sorted));
    let engine = engine.expect("an engine");
    let equaliser = Equaliser::start(&ends, delays, settings, engine.clock(), |_| {});
    let equaliser = equaliser.expect("a proxy");
    let both = [0, 1].map(|place| {
        let settings = tcp::Settings {
            port: PORT + place,
            ..tcp::Settings::under("reno")
        };
        Bulk::start(&ends, Way::Up, &settings, engine.clock()).expect("a flow")
    });
    // What is left of the round trip when the delays have been set.
    let floor = |flow: &Bulk| flow.info().ok().and_then(|info| info.min_rtt);
    let alike = |it: Span| (ms(57)..ms(70)).contains(&it);
    while !both.iter().all(|flow| floor(flow).is_some_and(alike)) {
        thread::yield_now();
    }
    let ends_of = both.each_ref().map(Bulk::connection);
    for flow in both {
        flow.stop().expect("its end");
    }
    let changes = equaliser.stop().expect("changes");
    engine.stop().expect("work");
    for (connection, natural) in ends_of.iter().zip(natural) {
        let first = changes.iter().find(|it| it.connection == *connection);
        let first = first.expect("a change");
        // What packets take besides may be counted as the path's.
        let exact = settings.lambda - natural;
        assert!((exact - ms(12)..=exact).contains(&first.added), "{first:?}");
    }
}
