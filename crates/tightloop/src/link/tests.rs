//! What the tests of links and queues share, and the laws of a whole link.

use std::sync::Arc;

use proptest::prelude::*;

use super::codel::{self, Codel};
use super::drop_head::DropHead;
use super::drop_tail::DropTail;
use super::limit::Limit;
use super::*;
use crate::event::{Ecn, PacketId, PathId};
use crate::rng::Stream;
use crate::units::{Rate, index};

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

/// A run's deliveries and events.
#[derive(Debug, Default, PartialEq)]
struct Run {
    delivered: Vec<(Time, u32, u64, Ecn)>,
    events: Events,
}

/// Sends packets in and takes out what comes, asking whenever `wake` says.
fn drive(
    mut link: Link<Mail>,
    arrivals: &[(Time, Mail)],
    end: Time,
    mut wake: impl FnMut(&Link<Mail>) -> Option<Time>,
) -> Run {
    let mut run = Run::default();
    let mut arrivals = arrivals.iter().peekable();
    loop {
        let arrival = arrivals.peek().map(|(at, _)| *at);
        let asked = wake(&link).filter(|at| *at <= end);
        let mut log = Log::to(&mut run.events);
        match (asked, arrival) {
            (Some(now), arrival) if arrival.is_none_or(|at| now <= at) => {
                while let Some((due, mail)) = link.pop(now, &mut log) {
                    assert!(due <= now);
                    run.delivered.push((due, mail.flow, mail.number, mail.ecn));
                }
            }
            (_, Some(_)) => {
                let (now, mail) = arrivals.next().expect("peeked");
                link.push(*now, mail.clone(), &mut log);
            }
            _ => break,
        }
    }
    let mut log = Log::to(&mut run.events);
    link.finish(end, &mut log);
    while let Some((due, mail)) = link.pop(end, &mut log) {
        run.delivered.push((due, mail.flow, mail.number, mail.ecn));
    }
    run
}

fn every_queue() -> Vec<Box<dyn Queue<Mail>>> {
    let codel = |ecn| {
        let params = codel::Params {
            ecn,
            packets: Some(60),
            // Short, so that a short run has many drops.
            target: MS,
            interval: MS * 10,
            ..codel::Params::default()
        };
        Codel::new(params).expect("good settings")
    };
    let (time, bytes) = (Limit::Time(MS * 15), Limit::Bytes(Bytes::new(9_000)));
    vec![
        Box::new(DropTail::new(Limit::Infinite)),
        Box::new(DropTail::new(Limit::Packets(5))),
        Box::new(DropTail::new(time)),
        Box::new(DropHead::new(bytes)),
        Box::new(DropHead::new(time)),
        Box::new(codel(false)),
        Box::new(codel(true)),
    ]
}

fn every_service() -> Vec<Service> {
    let schedule = [(0, 12_000), (90, 3_000), (140, 0), (170, 20_000)];
    let schedule = schedule.map(|(at, kbps)| (ms(at), Rate::from_kbps(kbps)));
    let text = "0\n1\n1\n2\n3\n9\n9\n9\n9\n30\n31\n32\n60\n";
    let trace = Arc::new(Trace::parse(text).expect("a trace"));
    let stream = Stream::named(1, "poisson");
    vec![
        Service::Unlimited,
        Service::fixed(Rate::from_mbps(10)),
        Service::steps(&schedule, None).expect("a schedule"),
        Service::steps(&schedule, Some(MS * 200)).expect("a schedule"),
        Service::trace(Arc::clone(&trace), false),
        Service::trace(trace, true),
        Service::poisson(Rate::from_mbps(10), stream).expect("a rate"),
    ]
}

fn every_flight() -> Vec<Flight<Mail>> {
    let uneven = |jitter| Flight::new(MS * 20).with_jitter(jitter, 1, "x");
    let uniform = |reorder| {
        Some(Jitter::Uniform {
            max: MS * 7,
            reorder,
        })
    };
    let mut per_flow = Flight::new(MS * 3);
    per_flow.set_flow_delay(FlowId(1), MS * 9);
    let changes = [(ms(50), MS * 5), (ms(100), MS * 30), (ms(150), Span::ZERO)];
    vec![
        Flight::none(),
        Flight::new(MS * 20),
        per_flow,
        uneven(uniform(false)),
        uneven(uniform(true)),
        Flight::new(MS * 20).with_changes(&changes).expect("sorted"),
    ]
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, Mail)>> {
    let gap = prop_oneof![2 => Just(0i64), 5 => 0..1_500_000i64, 1 => 0..20_000_000i64];
    let size = prop_oneof![Just(1500u64), 40..1501u64];
    let packet = (gap, 0u32..3, size, any::<bool>());
    prop::collection::vec(packet, 1..250).prop_map(|packets| {
        let mut at = Time::ZERO;
        let mails = (0u64..)
            .zip(packets)
            .map(|(number, (gap, flow, size, ect))| {
                at += Span::from_nanos(gap);
                let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
                let size = Bytes::new(size);
                (
                    at,
                    Mail {
                        flow,
                        number,
                        size,
                        ecn,
                    },
                )
            });
        mails.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn late_wakeups_change_nothing_logical(
        arrivals in arrivals(),
        queue in 0..every_queue().len(),
        service in 0..every_service().len(),
        flight in 0..every_flight().len(),
        impaired: bool,
        lateness in prop::collection::vec(0i64..40_000_000, 1..50),
    ) {
        let impair = if impaired {
            Impair::new(0.05, None, 0.1, 1, "x").expect("chances")
        } else {
            Impair::none()
        };
        let link = Link::new(
            LinkId(0),
            every_queue().swap_remove(queue),
            every_service().swap_remove(service),
            every_flight().swap_remove(flight),
            impair,
        );
        let end = arrivals[arrivals.len() - 1].0 + MS * 300;
        let mut watched = link.clone();
        watched.set_watched(true);
        let by_every_event = drive(watched, &arrivals, end, Link::next_event);
        let by_every_delivery = drive(link.clone(), &arrivals, end, Link::next_event);
        let never = drive(link.clone(), &arrivals, end, |_| None);
        let mut calls = lateness.iter().cycle();
        let mut asked = Time::ZERO;
        let late = drive(link, &arrivals, end, |link| {
            let wake = link.next_event()? + Span::from_nanos(*calls.next()?);
            asked = asked.max(wake);
            Some(asked)
        });
        prop_assert!(by_every_event.events.is_sorted_by_key(|(at, _)| *at));
        prop_assert_eq!(&by_every_event, &by_every_delivery);
        prop_assert_eq!(&by_every_event, &never);
        prop_assert_eq!(&by_every_event, &late);
    }

    /// Every packet that arrives is dropped, delivered or still inside.
    #[test]
    fn no_packet_vanishes(
        arrivals in arrivals(),
        queue in 0..every_queue().len(),
        service in 0..every_service().len(),
    ) {
        let queue = every_queue().swap_remove(queue);
        let service = every_service().swap_remove(service);
        let mut link = Link::new(LinkId(0), queue, service, Flight::none(), Impair::none());
        let mut events = Events::new();
        let mut log = Log::to(&mut events);
        for (at, mail) in &arrivals {
            link.push(*at, mail.clone(), &mut log);
        }
        let mut delivered = 0;
        while let Some(at) = link.next_event().filter(|at| *at < Time::from_secs(100)) {
            while link.pop(at, &mut log).is_some() {
                delivered += 1;
            }
        }
        let inside = link.packets() + usize::from(link.serving.is_some());
        let dropped = events.iter().filter(|(_, e)| matches!(e, Event::Dropped { .. })).count();
        prop_assert_eq!(delivered + dropped + inside, arrivals.len());
    }
}

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
