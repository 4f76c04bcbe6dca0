//! The emulator: a recorded run comes again in a simulation, and so does one
//! made here and now where there are TUN devices and permission.
#![cfg(target_os = "linux")]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;

use tightloop::event::{Cause, Ecn, Event, LinkId};
use tightloop::link::{Discipline, Jitter, Link, Packet, Settings};
use tightloop::settings::Params;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::emulate::record::Output;
use tightloop_live::emulate::replay::{Arrival, Keeper, Memory};
use tightloop_live::emulate::{Drive, Ends, Engine, Way};

const RECORDED: &str = include_str!("recorded.txt");

fn queue(kind: &str, key: &str, value: toml::Value) -> Discipline {
    Discipline {
        kind: kind.into(),
        params: Params::from_iter([(key.to_owned(), value)]),
    }
}

fn links<P: Packet>(settings: &Settings) -> Vec<Link<P>> {
    let link = settings.build(LinkId(0), "link", 3, &|_| None);
    vec![link.expect("a link")]
}

#[test]
fn a_recorded_run_comes_again_to_the_nanosecond() {
    let mut memory = Memory::default();
    let (mut left, mut dropped) = (Vec::new(), Vec::new());
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let kind = words.next().expect("a kind");
        let [at, value] = [(); 2].map(|()| words.next().and_then(|it| it.parse().ok()));
        let (at, value) = (
            Time::from_nanos(at.expect("a time")),
            value.expect("a number"),
        );
        match kind {
            "+" => {
                let (number, size) = (memory.arrivals.len() as u64, Bytes::new(value));
                let arrival = Arrival::new(at, Way::Up, number, size, Ecn::NotEct);
                memory.arrivals.push(arrival);
            }
            "-" => left.push((at, value)),
            _ => dropped.push((at, value)),
        }
    }
    assert!(
        left.len() > 300 && dropped.len() > 10,
        "{} {}",
        left.len(),
        dropped.len()
    );
    let settings = Settings::fixed(Rate::from_mbps(20), 40, Span::from_millis(2));
    // What the simulated link does is what the recording is held against.
    let mut link = links::<Arrival>(&settings).remove(0);
    let mut events: Vec<(Time, Event)> = Vec::new();
    for arrival in &memory.arrivals {
        let mut log = tightloop::event::Log::to(&mut events);
        link.push(arrival.at, *arrival, &mut log);
    }
    let end = memory.arrivals.last().expect("arrivals").at;
    let told = |wanted: fn(&Event) -> Option<u64>| -> Vec<(Time, u64)> {
        let told = events
            .iter()
            .filter_map(|(at, event)| Some((*at, wanted(event)?)));
        told.filter(|(at, _)| *at <= end).collect()
    };
    let simulated_left = told(|event| match event {
        Event::Left { packet, .. } => Some(packet.number),
        _ => None,
    });
    let simulated_dropped = told(|event| match event {
        Event::Dropped { packet, cause, .. } if *cause == Cause::Full => Some(packet.number),
        _ => None,
    });
    assert_eq!(simulated_left, left);
    assert_eq!(simulated_dropped, dropped);
}

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

/// A few hundred kilobytes of TCP upwards, and datagrams that understand marks
/// downwards.
fn talk(ends: &Ends) -> io::Result<usize> {
    const BYTES: usize = 600_000;
    let listener = TcpListener::bind((ends.far_address(), 0))?;
    let address = listener.local_addr()?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| -> io::Result<()> {
            ends.enter()?;
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(&vec![1; BYTES])
        });
        let (mut stream, peer) = listener.accept()?;
        let down = UdpSocket::bind((ends.far_address(), 0))?;
        for _ in 0..200 {
            down.send_to(&[0; 900], peer)?;
        }
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        sender.join().expect("the sender")?;
        Ok(bytes.len())
    })
}

#[test]
fn a_live_run_comes_again_to_the_nanosecond() {
    let Some(ends) = ends() else { return };
    let up = Settings {
        rate: Some(Rate::from_mbps(30)),
        delay: Span::from_millis(3),
        queue: queue("codel", "target", "1 ms".into()),
        loss: 0.01,
        ..Settings::default()
    };
    let down = Settings {
        poisson: Some(Rate::from_mbps(40)),
        queue: queue("drop_head", "packets", 50.into()),
        jitter: Some(Jitter::Uniform {
            max: Span::from_millis(2),
            reorder: false,
        }),
        ..Settings::default()
    };
    let keeper = Keeper::default();
    let outputs: Vec<Box<dyn Output>> = vec![Box::new(keeper.clone())];
    let both = [links(&up), links(&down)];
    let drive = Drive {
        // Nothing here is about being on time.
        urgent: false,
        ..Drive::default()
    };
    let engine = Engine::start(&ends, both, outputs, drive, |_| {}).expect("an engine");
    let bytes = talk(&ends).expect("a connection");
    let work = engine.stop().expect("work");
    assert_eq!(bytes, 600_000);
    assert!(work.failed.is_none() && work.failures.is_empty() && work.missing == 0);

    let memory = keeper.memory();
    let end = Time::ZERO + work.lasted - Span::from_nanos(1);
    let mut events = 0;
    for (way, settings) in [(Way::Up, &up), (Way::Down, &down)] {
        let came = memory.arrivals.iter().filter(|it| it.way == way).count() as u64;
        let passage = &work.ways[way.place()];
        assert_eq!(came, passage.arrived);
        assert!(passage.delivered + passage.dropped <= came);
        let same = memory.again(way, links(settings), end);
        events += same.unwrap_or_else(|difference| panic!("{way:?}: {difference:?}"));
    }
    assert!((1_000..20_000).contains(&events), "{events}");
    assert!(work.ways[1].dropped > 20, "{:?}", work.ways[1].dropped);
}

#[test]
fn two_links_side_by_side_have_addresses_of_their_own() {
    let (Some(one), Some(other)) = (ends(), ends()) else {
        return;
    };
    assert_ne!(one.far_address(), other.far_address());
    assert_ne!(one.device(), other.device());
    assert_eq!(one.kernel_drops(), [0; 2]);
    let device = one.device().to_owned();
    let there = |name: &str| std::path::Path::new("/sys/class/net").join(name).exists();
    assert!(one.secluded() || there(&device));
    drop(one);
    assert!(!there(&device), "{device} is still there");
}
