//! The measurements.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::stamps;
use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{LinkId, Log, Sink};
use tightloop::link::{Link, Settings};
use tightloop::scenario::Scenario;
use tightloop::traffic::TrafficSettings;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::clock::{Clock, to_std};
use tightloop_live::emulate::calibrate::Pickup;
use tightloop_live::emulate::record::Output;
use tightloop_live::emulate::replay::Keeper;
use tightloop_live::emulate::{
    Ability, Datagram, Drive, Ends, Engine, Lateness, Way, Work, calibrate,
};
use tightloop_live::tcp::set_congestion;

type Outcome<T> = Result<T, Box<dyn Error>>;

pub(crate) fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: f64| words.get(place).map_or(Ok(default), |word| word.parse());
    let ends = Arc::new(Ends::open()?);
    match words.first().map(String::as_str) {
        Some("capacity") => capacity(&ends, number(1, 5.0)? as usize, number(2, 1.0)?),
        Some("probe") => {
            let ability = calibrate(&ends, true)?;
            tell(&ability);
            for rate in [20, 50, 100] {
                probe(&ends, &ability, Rate::from_mbps(rate), number(1, 5.0)?)?;
            }
            Ok(())
        }
        Some("bulk") => {
            let name = words.get(1).map_or("cubic", String::as_str);
            versus(&ends, name, number(2, 60.0)?)
        }
        _ => Err(
            "say bulk [CONTROLLER [SECONDS]], capacity [ROUNDS [SECONDS]] or probe [SECONDS]"
                .into(),
        ),
    }
}

fn tell(ability: &Ability) {
    println!(
        "calibrated: {:.0} packets/s, {:.0} Mbit/s, margin {}, urgent {}",
        ability.packets,
        ability.rate.mbps_f64(),
        ability.drive.margin,
        ability.not_urgent.is_none(),
    );
    row("oversleep", &ability.oversleep);
    row("pickup", &ability.pickup);
    row("dispatch", &ability.dispatch);
}

fn row(name: &str, it: &Lateness) {
    let micros = |share| it.quantile(share).millis_f64() * 1e3;
    let shares = [0.5, 0.9, 0.99, 0.999, 1.0].map(micros);
    println!(
        "  {name:10} n {:6}  p50 {:6.1}  p90 {:6.1}  p99 {:6.1}  p99.9 {:7.1}  max {:8.1} us",
        it.total(),
        shares[0],
        shares[1],
        shares[2],
        shares[3],
        shares[4]
    );
}

/// A kernel's TCP under a controller against ours in a simulation, over
/// 20 Mbit/s, 40 ms and 200 packets; and the live links simulated.
fn versus(ends: &Arc<Ends>, name: &str, seconds: f64) -> Outcome<()> {
    let mut scenario = Scenario::single(name);
    scenario.duration = Span::from_secs_f64(seconds);
    scenario.flow[0].video = None;
    scenario.flow[0].traffic = Some(TrafficSettings::Bulk {});
    let [up, down] = ["bottleneck", "return"].map(|link| scenario.link[link].clone());
    let window = Window {
        from: Time::from_secs(5),
        to: scenario.end(),
    };
    let names = |flows: [&str; 2]| Names {
        flows: flows.map(str::to_owned).to_vec(),
        links: vec!["bottleneck".into(), "return".into()],
    };
    let mut simulated = Summary::new(names(["bulk", ""]), window);
    let mut world = scenario.build(&|_| None)?.world;
    world.run(scenario.end(), &mut Log::to(&mut simulated));

    let ability = calibrate(ends, true)?;
    tell(&ability);
    let keeper = Keeper::default();
    let outputs: Vec<Box<dyn Output>> = vec![Box::new(keeper.clone())];
    let links = [
        vec![up.build(LinkId(0), "bottleneck", 1, &|_| None)?],
        vec![down.build(LinkId(1), "return", 1, &|_| None)?],
    ];
    let before = ends.kernel_drops();
    let engine = Engine::start(ends, links, outputs, ability.drive, |_| {})?;
    bulk(ends, Duration::from_secs_f64(seconds), Some(name))?;
    let work = engine.stop()?;
    let memory = keeper.memory();
    let mut live = Summary::new(names(["bulk", "acks"]), window);
    for (at, event) in &memory.events {
        live.record(*at, event);
    }
    let [live, simulated] = [live, simulated].map(|it| it.report());
    for key in [
        "throughput",
        "link.bottleneck.waited.mean",
        "link.bottleneck.waited.p95",
    ] {
        let read = |report: &Report| report.get(&format!("flow.bulk.{key}"));
        let (live, simulated) = (read(&live)?, read(&simulated)?);
        let share = live.number().unwrap_or(0.0) / simulated.number().unwrap_or(1.0) - 1.0;
        println!(
            "{key:28} live {live:14} simulated {simulated:14} {:+.1} %",
            share * 100.0
        );
    }
    row("late, up", &work.ways[0].lateness);
    row("late, down", &work.ways[1].lateness);
    let end = Time::ZERO + work.lasted - Span::from_millis(100);
    let links = vec![up.build(LinkId(0), "bottleneck", 1, &|_| None)?];
    let same = memory.again(Way::Up, links, end);
    let same = same.map_err(|difference| format!("{difference:?}"))?;
    println!("replayed in a simulation: {same} events, all the same");
    let after = ends.kernel_drops();
    println!(
        "kernel drops {} and {}",
        after[0] - before[0],
        after[1] - before[1]
    );
    Ok(())
}

/// One TCP flow from inside to outside; what arrived, in Mbit/s.
fn bulk(ends: &Ends, time: Duration, controller: Option<&str>) -> Outcome<f64> {
    let listener = TcpListener::bind((ends.far_address(), 0))?;
    let address = listener.local_addr()?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let sender = scope.spawn(|| -> io::Result<()> {
            ends.enter()?;
            let mut stream = TcpStream::connect(address)?;
            if let Some(name) = controller {
                set_congestion(&stream, name).map_err(io::Error::other)?;
            }
            let bytes = vec![7; 1 << 17];
            while !stop.load(Ordering::Relaxed) {
                stream.write_all(&bytes)?;
            }
            Ok(())
        });
        let (mut stream, _) = listener.accept()?;
        let mut room = vec![0; 1 << 18];
        // The ramp is no capacity.
        let ramp = Instant::now() + Duration::from_millis(200);
        while Instant::now() < ramp {
            let _ = stream.read(&mut room)?;
        }
        let (begin, mut bytes) = (Instant::now(), 0);
        while begin.elapsed() < time {
            bytes += stream.read(&mut room)?;
        }
        let mbps = bytes as f64 * 8e-6 / begin.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        // Lets the sender out of its last write.
        stream.set_nonblocking(false)?;
        while stream.read(&mut room)? > 0 {}
        sender.join().map_err(|_| "the sender broke down")??;
        Ok(mbps)
    })
}

/// Small packets from inside as fast as can be; those that crossed, per second.
fn flood(ends: &Ends, time: Duration) -> Outcome<u64> {
    let target = UdpSocket::bind((ends.far_address(), 0))?;
    let address = target.local_addr()?;
    thread::scope(|scope| {
        let sender = scope.spawn(|| -> io::Result<u64> {
            ends.enter()?;
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(address)?;
            let (begin, mut sent) = (Instant::now(), 0);
            while begin.elapsed() < time {
                socket.send(&[0; 72])?;
                sent += 1;
            }
            Ok(sent)
        });
        Ok(sender.join().map_err(|_| "the sender broke down")??)
    })
}

/// A loop that reads a packet and writes it, of both ways in turn.
fn plain<T>(
    ends: &Arc<Ends>,
    greedy: bool,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<(T, u64)> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mover = scope.spawn(|| -> io::Result<u64> {
            let mut room = vec![0; 2048];
            let mut packets = 0;
            let mut polled = ends.descriptors().map(|fd| libc::pollfd {
                fd: fd.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            });
            while !stop.load(Ordering::Relaxed) {
                #[allow(unsafe_code)]
                // SAFETY: the array has two entries and lives through the call.
                unsafe {
                    libc::poll(polled.as_mut_ptr(), 2, 100);
                }
                for way in Way::BOTH {
                    if polled[way.place()].revents == 0 {
                        continue;
                    }
                    while let Some(length) = ends.take(way, &mut room)? {
                        ends.give(way, &room[..length])?;
                        packets += 1;
                        if !greedy {
                            break;
                        }
                    }
                }
            }
            Ok(packets)
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        let packets = mover.join().map_err(|_| "the loop broke down")??;
        Ok((done?, packets))
    })
}

fn links(settings: &Settings) -> [Vec<Link<Datagram>>; 2] {
    ["up", "down"].map(|name| {
        let id = LinkId(u32::from(name == "down"));
        let link = settings.build(id, name, 1, &|_| None);
        link.into_iter().collect()
    })
}

fn emulated<T>(
    ends: &Arc<Ends>,
    settings: &Settings,
    drive: Drive,
    work: impl FnOnce(Clock) -> Outcome<T>,
) -> Outcome<(T, Work)> {
    let engine = Engine::start(ends, links(settings), Vec::new(), drive, |_| {})?;
    let done = work(engine.clock());
    let work = engine.stop()?;
    if let Some(error) = work.failed {
        return Err(error.into());
    }
    Ok((done?, work))
}

fn capacity(ends: &Arc<Ends>, rounds: usize, seconds: f64) -> Outcome<()> {
    let time = Duration::from_secs_f64(seconds);
    let free = Settings::default();
    let long = Settings {
        rate: Some(Rate::from_mbps(10_000)),
        ..Settings::default()
    };
    let normal = Drive {
        urgent: false,
        ..Drive::default()
    };
    let names = ["plain", "greedy", "free", "10 Gbit/s", "free, normal"];
    let mut tcp = vec![Vec::new(); names.len()];
    let mut udp = vec![Vec::new(); names.len()];
    for round in 0..rounds {
        for place in 0..names.len() {
            // Turned, so that no contender always follows the same other.
            let place = (place + round) % names.len();
            let (mbps, packets) = match place {
                0 | 1 => {
                    let greedy = place == 1;
                    let (mbps, _) = plain(ends, greedy, || bulk(ends, time, None))?;
                    let (_, packets) = plain(ends, greedy, || flood(ends, time))?;
                    (mbps, packets)
                }
                _ => {
                    let settings = if place == 3 { &long } else { &free };
                    let drive = if place == 4 { normal } else { Drive::default() };
                    let (mbps, _) = emulated(ends, settings, drive, |_| bulk(ends, time, None))?;
                    let (_, work) = emulated(ends, settings, drive, |_| flood(ends, time))?;
                    (mbps, work.ways[0].delivered)
                }
            };
            tcp[place].push(mbps);
            udp[place].push(packets as f64 / seconds);
        }
    }
    let median = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let [base_tcp, base_udp] = [&tcp, &udp].map(|it| median(&it[0]).max(median(&it[1])));
    for (place, name) in names.iter().enumerate() {
        let (mbps, packets) = (median(&tcp[place]), median(&udp[place]));
        println!(
            "{name:12}  TCP {mbps:6.0} Mbit/s ({:.3})  UDP 100 B {packets:7.0} packets/s ({:.3})",
            mbps / base_tcp,
            packets / base_udp
        );
    }
    Ok(())
}

/// Sends stamped packets and takes them in; how long each took beyond `ideal`.
fn stamped(
    clock: Clock,
    target: &UdpSocket,
    enter: &(dyn Fn() -> io::Result<UdpSocket> + Sync),
    (count, apart, size): (u64, Span, usize),
    ideal: Span,
) -> Outcome<Lateness> {
    let address = target.local_addr()?;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| -> io::Result<Lateness> {
            target.set_read_timeout(Some(Duration::from_millis(300)))?;
            let mut late = Lateness::default();
            let mut room = [0; 2048];
            let kernel = stamps::Stamps::of(target, clock)?;
            while let Ok(now) = kernel.receive(target, &mut room) {
                let stamp = room[..8].try_into().map_or(0, u64::from_be_bytes);
                late.record(now - Time::from_nanos(stamp) - ideal);
            }
            Ok(late)
        });
        let sender = scope.spawn(move || -> io::Result<()> {
            let socket = enter()?;
            socket.connect(address)?;
            let mut next = clock.now();
            let mut probe = vec![0; size];
            for _ in 0..count {
                next += apart;
                thread::sleep(to_std(next - clock.now()));
                probe[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
                socket.send(&probe)?;
            }
            Ok(())
        });
        sender.join().map_err(|_| "the sender broke down")??;
        Ok(receiver.join().map_err(|_| "the receiver broke down")??)
    })
}

/// Probes from outside: what a program sees, against what the engine says.
fn probe(ends: &Arc<Ends>, ability: &Ability, rate: Rate, seconds: f64) -> Outcome<()> {
    let delay = Span::from_millis(20);
    let settings = Settings::fixed(rate, 1000, delay);
    let serialised = Bytes::new(1500).at(rate).unwrap_or_default();
    let inside = || {
        ends.enter()?;
        UdpSocket::bind("0.0.0.0:0")
    };
    println!("{rate}");
    // Nine tenths of the link: what the engine says of itself.
    let apart = serialised * (1.0 / 0.9);
    let count = |apart: Span| (seconds / apart.secs_f64()) as u64;
    let target = UdpSocket::bind((ends.far_address(), 0))?;
    let (_, work) = emulated(ends, &settings, ability.drive, |clock| {
        stamped(clock, &target, &inside, (count(apart), apart, 1472), delay)
    })?;
    row("at 90 %", &work.ways[0].lateness);
    // Seldom, so that no packet waits for another: from outside.
    let seldom = Span::from_millis(2);
    let plan = (count(seldom), seldom, 1472);
    let (pickup, measured) = Pickup::new();
    let outputs: Vec<Box<dyn Output>> = vec![Box::new(pickup)];
    let engine = Engine::start(ends, links(&settings), outputs, ability.drive, |_| {})?;
    let seen = stamped(engine.clock(), &target, &inside, plan, delay + serialised)?;
    let work = engine.stop()?;
    let pickup = measured.lock().map_err(|_| "broken")?.clone();
    row("pickup", &pickup);
    row("dispatch", &work.ways[0].lateness);
    row("outside", &seen);
    let here = || UdpSocket::bind("127.0.0.1:0");
    let own = stamped(Clock::start(), &here()?, &here, plan, Span::ZERO)?;
    row("own cost", &own);
    let median = |it: &Lateness| it.quantile(0.5).millis_f64() * 1e3;
    let engine = median(&pickup) + median(&work.ways[0].lateness);
    let outside = median(&seen) - median(&own);
    println!(
        "  p50: the engine says {engine:.1} us (pickup and dispatch), the probe {outside:.1} us \
         beyond its own cost: {:+.1} us apart",
        outside - engine
    );
    Ok(())
}
