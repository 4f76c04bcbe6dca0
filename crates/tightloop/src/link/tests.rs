//! What the tests of links and queues share, and the laws of a whole link.

use std::sync::Arc;

use super::codel::{self, Codel};
use super::drop_tail::DropTail;
use super::limit::Limit;
use super::trace::FULL_PACKET;
use super::*;
use crate::event::{Ecn, PacketId, PathId};
use crate::rng::Stream;
use crate::units::{Rate, index};

mod late;

/// A packet for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) flow: u32,
    pub(crate) number: u64,
    pub(crate) size: Bytes,
    pub(crate) ecn: Ecn,
}

impl Packet for Mail {
    fn size(&self) -> Bytes {
        self.size
    }

    fn id(&self) -> PacketId {
        PacketId {
            flow: FlowId(self.flow),
            path: PathId(0),
            number: self.number,
            ..PacketId::default()
        }
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// A full packet of a flow.
pub(crate) fn mail_of(flow: u32, number: u64) -> Mail {
    Mail {
        flow,
        number,
        size: FULL_PACKET,
        ecn: Ecn::NotEct,
    }
}

pub(crate) fn mail(number: u64, size: u64) -> Mail {
    Mail {
        size: Bytes::new(size),
        ..mail_of(0, number)
    }
}

pub(crate) fn parcel(number: u64, size: u64, arrived: Time) -> Parcel<Mail> {
    Parcel {
        packet: mail(number, size),
        size: Bytes::new(size),
        arrived,
    }
}

/// A queue without a link, with what it did.
pub(crate) struct Bench<Q> {
    pub(crate) queue: Q,
    pub(crate) dropped: Vec<(Time, u64)>,
    pub(crate) marked: Vec<(Time, u64)>,
    pub(crate) left: Vec<u64>,
}

struct Notes<'a> {
    dropped: &'a mut Vec<(Time, u64)>,
    marked: &'a mut Vec<(Time, u64)>,
}

impl Verdicts<Mail> for Notes<'_> {
    fn drop(&mut self, at: Time, parcel: Parcel<Mail>, _cause: Cause) {
        self.dropped.push((at, parcel.packet.number));
    }

    fn mark(&mut self, at: Time, packet: &Mail) {
        assert_eq!(packet.ecn, Ecn::Ce);
        self.marked.push((at, packet.number));
    }
}

impl<Q: Queue<Mail>> Bench<Q> {
    pub(crate) fn new(queue: Q) -> Self {
        Self {
            queue,
            dropped: Vec::new(),
            marked: Vec::new(),
            left: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, now: Time, parcel: Parcel<Mail>, rate: Rate) {
        let (before, number) = (self.dropped.len(), parcel.packet.number);
        let mut notes = Notes {
            dropped: &mut self.dropped,
            marked: &mut self.marked,
        };
        let joined = self.queue.push(now, parcel, Some(rate), &mut notes);
        let refused = self.dropped[before..].contains(&(now, number));
        assert_ne!(joined, refused);
    }

    pub(crate) fn pop(&mut self, now: Time) -> bool {
        let mut notes = Notes {
            dropped: &mut self.dropped,
            marked: &mut self.marked,
        };
        let popped = self.queue.pop(now, Some(Rate::ZERO), &mut notes);
        self.left.extend(popped.iter().map(|p| p.packet.number));
        popped.is_some()
    }

    /// Takes out all that waits.
    pub(crate) fn drain(&mut self, now: Time) -> Vec<u64> {
        let before = self.left.len();
        while self.pop(now) {}
        assert_eq!((self.queue.packets(), self.queue.bytes()), (0, Bytes::ZERO));
        self.left.split_off(before)
    }
}

const MS: Span = Span::from_millis(1);

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn link(queue: Limit, service: Service, delay: Span) -> Link<Mail> {
    let queue = Box::new(DropTail::new(queue));
    Link::new(
        LinkId(3),
        queue,
        service,
        Flight::new(delay),
        Impair::none(),
    )
}

type Events = Vec<(Time, Event)>;

#[test]
fn the_packet_in_service_does_not_count_as_waiting() {
    let rate = Rate::from_mbps(12);
    let mut link = link(Limit::Packets(2), Service::fixed(rate), Span::ZERO);
    let mut events = Events::new();
    for number in 0..5 {
        link.push(Time::ZERO, mail_of(0, number), &mut Log::to(&mut events));
    }
    assert_eq!((link.packets(), link.waiting()), (2, FULL_PACKET * 2));
    let waiting: Vec<u64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Queued { waiting, .. } => Some(waiting.get()),
            _ => None,
        })
        .collect();
    assert_eq!(waiting, [0, 1500, 3000]);
    // As a packet leaves, one takes its place in service and one may join.
    link.push(ms(1), mail_of(0, 5), &mut Log::to(&mut events));
    link.push(ms(1), mail_of(0, 6), &mut Log::to(&mut events));
    let dropped: Vec<u64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Dropped {
                packet,
                cause: Cause::Full,
                ..
            } => Some(packet.number),
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [3, 4, 6]);
}

#[test]
fn the_log_tells_when_and_how_long() {
    let schedule =
        [(0, 12), (5, 12), (7, 0), (9, 6)].map(|(at, mbps)| (ms(at), Rate::from_mbps(mbps)));
    let service = Service::steps(&schedule, None).expect("a schedule");
    let mut link = link(Limit::Infinite, service, MS * 20);
    let mut events = Events::new();
    let mut log = Log::to(&mut events);
    link.push(ms(6), mail_of(0, 0), &mut log);
    link.push(ms(6), mail_of(0, 1), &mut log);
    link.finish(ms(20), &mut log);
    let link = LinkId(3);
    let capacity = |at, mbps| {
        (
            ms(at),
            Event::Capacity {
                link,
                rate: Rate::from_mbps(mbps),
            },
        )
    };
    let queued = |number, waiting| {
        let packet = mail_of(0, number).id();
        (
            ms(6),
            Event::Queued {
                link,
                packet,
                size: FULL_PACKET,
                waiting,
            },
        )
    };
    let left = |at, number, waited, sojourn| {
        let packet = mail_of(0, number).id();
        let (waited, sojourn) = (MS * waited, MS * sojourn);
        (
            ms(at),
            Event::Left {
                link,
                packet,
                size: FULL_PACKET,
                waited,
                sojourn,
            },
        )
    };
    let expected = [
        capacity(0, 12),
        queued(0, Bytes::ZERO),
        queued(1, FULL_PACKET),
        capacity(7, 0),
        left(7, 0, 0, 1),
        capacity(9, 6),
        left(11, 1, 1, 5),
    ];
    assert_eq!(events, expected);
}

#[test]
fn opportunities_are_logged_whether_used_or_not() {
    let trace = Arc::new(Trace::parse("2\n5\n").expect("a trace"));
    let mut link = link(Limit::Infinite, Service::trace(trace, false), Span::ZERO);
    let mut events = Events::new();
    link.push(ms(6), mail_of(0, 0), &mut Log::to(&mut events));
    link.finish(ms(13), &mut Log::to(&mut events));
    let at: Vec<Time> = events
        .iter()
        .filter(
            |(_, event)| matches!(event, Event::Opportunity { size, .. } if *size == FULL_PACKET),
        )
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(at, [2, 5, 7, 10, 12].map(ms));
}

#[test]
fn an_opportunity_is_shared_carried_over_and_missed_by_the_rule() {
    let trace = Arc::new(Trace::parse("10\n20\n20\n30\n40\n").expect("a trace"));
    let mut link = link(Limit::Infinite, Service::trace(trace, true), Span::ZERO);
    let mut events = Events::new();
    let mut log = Log::to(&mut events);
    // 500 + 4 and 496 + 4 share an opportunity with 500 of the next packet,
    // whose 1004 rest come at 20 ms, where 500 are left for packet 3's 1000.
    for (number, size) in [(0, 500), (1, 496), (2, 1500), (3, 996)] {
        link.push(ms(1), mail(number, size), &mut log);
    }
    link.push(ms(2), mail(4, 1501), &mut log);
    // Arrives with the last but one opportunity and misses it.
    link.push(ms(30), mail(5, 40), &mut log);
    let mut left = Vec::new();
    while let Some((at, mail)) = link.pop(ms(50), &mut log) {
        left.push((at, mail.number));
    }
    assert_eq!(
        left,
        [
            (ms(10), 0),
            (ms(10), 1),
            (ms(20), 2),
            (ms(20), 3),
            (ms(40), 5)
        ]
    );
    let too_big = |(_, event): &&(Time, Event)| matches!(event, Event::Dropped { packet, cause: Cause::TooBig, .. } if packet.number == 4);
    assert_eq!(events.iter().filter(too_big).count(), 1);
}

#[test]
fn a_delay_set_while_running_holds_for_what_leaves_later() {
    let mut link = link(Limit::Infinite, Service::Unlimited, MS * 10);
    let mut log = Log::off();
    link.push(ms(0), mail_of(0, 0), &mut log);
    link.set_delay(ms(1), MS * 2, &mut log);
    link.push(ms(1), mail_of(0, 1), &mut log);
    link.push(ms(1), mail_of(1, 2), &mut log);
    link.set_flow_delay(ms(2), FlowId(1), MS * 50, &mut log);
    link.push(ms(2), mail_of(1, 3), &mut log);
    let mut out = Vec::new();
    while let Some((at, mail)) = link.pop(ms(100), &mut log) {
        out.push((at, mail.number));
    }
    assert_eq!(out, [(ms(3), 2), (ms(10), 0), (ms(10), 1), (ms(54), 3)]);
}

#[test]
fn a_clone_goes_on_exactly_like_the_original() {
    let stream = Stream::named(4, "poisson");
    let service = Service::poisson(Rate::from_mbps(8), stream).expect("a rate");
    let jitter = Some(Jitter::Uniform {
        max: MS * 9,
        reorder: true,
    });
    let flight = Flight::new(MS * 20).with_jitter(jitter, 1, "x");
    let impair = Impair::new(0.1, None, 0.1, 1, "x").expect("chances");
    let queue = Box::new(Codel::new(codel::Params::default()).expect("good settings"));
    let mut original = Link::new(LinkId(0), queue, service, flight, impair);
    let mut log = Log::off();
    for number in 0..500 {
        original.push(ms(number), mail_of(0, number), &mut log);
    }
    let mut clone = original.clone();
    for number in 500..1_000 {
        original.push(ms(number), mail_of(0, number), &mut log);
        clone.push(ms(number), mail_of(0, number), &mut log);
        assert_eq!(
            original.pop(ms(number), &mut log),
            clone.pop(ms(number), &mut log)
        );
    }
}

#[test]
fn lost_packets_are_logged_and_doubled_ones_arrive_twice() {
    let flight = Flight::none();
    let impair = |loss, duplicate| Impair::new(loss, None, duplicate, 1, "x").expect("chances");
    for (impair, delivered, lost) in [(impair(1.0, 0.0), 0, 10), (impair(0.0, 1.0), 20, 0)] {
        let queue = Box::new(DropTail::new(Limit::Infinite));
        let mut link = Link::new(LinkId(0), queue, Service::Unlimited, flight.clone(), impair);
        let mut events = Events::new();
        for number in 0..10 {
            link.push(ms(number), mail_of(0, number), &mut Log::to(&mut events));
        }
        let out: Vec<u64> = std::iter::from_fn(|| link.pop(ms(10), &mut Log::off()))
            .map(|(_, mail)| mail.number)
            .collect();
        assert_eq!(out, (0..delivered).map(|n| n / 2).collect::<Vec<_>>());
        let random = |(_, event): &&(Time, Event)| {
            matches!(
                event,
                Event::Dropped {
                    cause: Cause::Random,
                    ..
                }
            )
        };
        assert_eq!(events.iter().filter(random).count(), index(lost));
    }
}
