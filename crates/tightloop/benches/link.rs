//! Nanoseconds a packet costs from [`Link::push`] to [`Link::pop`].
//!
//! Arrivals come in bursts of 16 at 90 % of the rate, so that some packets wait
//! and some find the link idle. The log is off.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use tightloop::event::{Ecn, FlowId, LinkId, Log, PacketId};
use tightloop::link::codel::{self, Codel};
use tightloop::link::drop_tail::DropTail;
use tightloop::link::limit::Limit;
use tightloop::link::{Flight, Impair, Jitter, Link, Packet, Queue, Service, Trace};
use tightloop::units::{Bytes, Rate, Span, Time};

const RATE: Rate = Rate::from_mbps(100);
const SIZE: Bytes = Bytes::new(1500);
const PACKETS: u64 = 100_000;
const BURST: u64 = 16;

/// As large as a simulated datagram with its header.
#[derive(Clone, Debug)]
struct Datagram {
    id: PacketId,
    _header: [u64; 8],
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        SIZE
    }

    fn id(&self) -> PacketId {
        self.id
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    fn mark_ce(&mut self) {}
}

fn main() {
    divan::main();
}

type Parts = (Box<dyn Queue<Datagram>>, Service, Flight<Datagram>);

fn drop_tail(limit: Limit) -> Box<dyn Queue<Datagram>> {
    Box::new(DropTail::new(limit))
}

fn delay() -> Flight<Datagram> {
    Flight::new(Span::from_millis(20))
}

fn run(bencher: Bencher<'_, '_>, new: impl Fn() -> Parts + Sync) {
    let gap = (SIZE * BURST).at(RATE * 0.9).expect("a rate");
    bencher
        .counter(ItemsCount::new(PACKETS))
        .with_inputs(|| {
            let (queue, service, flight) = new();
            Link::new(LinkId(0), queue, service, flight, Impair::none())
        })
        .bench_refs(|link| {
            let mut log = Log::off();
            let (mut now, mut delivered) = (Time::ZERO, 0u64);
            for number in 0..PACKETS {
                if number % BURST == 0 {
                    now += gap;
                    while let Some(wake) = link.next_event().filter(|wake| *wake <= now) {
                        while link.pop(wake, &mut log).is_some() {
                            delivered += 1;
                        }
                    }
                }
                let id = PacketId {
                    flow: FlowId(0),
                    number,
                    ..PacketId::default()
                };
                link.push(
                    now,
                    Datagram {
                        id,
                        _header: [0; 8],
                    },
                    &mut log,
                );
            }
            delivered
        });
}

#[divan::bench]
fn fixed_drop_tail(bencher: Bencher<'_, '_>) {
    let queue = || drop_tail(Limit::Packets(200));
    run(bencher, || (queue(), Service::fixed(RATE), delay()));
}

#[divan::bench]
fn fixed_drop_tail_by_time(bencher: Bencher<'_, '_>) {
    let queue = || drop_tail(Limit::Time(Span::from_millis(300)));
    run(bencher, || (queue(), Service::fixed(RATE), delay()));
}

#[divan::bench]
fn fixed_codel(bencher: Bencher<'_, '_>) {
    let queue = || Box::new(Codel::new(codel::Params::default()).expect("good settings"));
    run(bencher, || (queue(), Service::fixed(RATE), delay()));
}

#[divan::bench]
fn fixed_drop_tail_jitter(bencher: Bencher<'_, '_>) {
    let max = Span::from_millis(5);
    let jitter = Some(Jitter::Uniform { max, reorder: true });
    let flight = || delay().with_jitter(jitter, 1, "bench");
    let queue = || drop_tail(Limit::Packets(200));
    run(bencher, || (queue(), Service::fixed(RATE), flight()));
}

#[divan::bench]
fn unlimited(bencher: Bencher<'_, '_>) {
    let queue = || drop_tail(Limit::Infinite);
    run(bencher, || (queue(), Service::Unlimited, delay()));
}

#[divan::bench]
fn opportunities_drop_tail(bencher: Bencher<'_, '_>) {
    let gap = SIZE.at(RATE).expect("a rate");
    let stamps = (1..100_000).map(|n| Time::ZERO + gap * n).collect();
    let trace = Arc::new(Trace::new(stamps).expect("rising times"));
    let queue = || drop_tail(Limit::Packets(200));
    run(bencher, || {
        (queue(), Service::trace(Arc::clone(&trace), false), delay())
    });
}
