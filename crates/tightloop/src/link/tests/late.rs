//! Whether a link is driven late or punctually makes no difference, and no
//! packet vanishes: for every queue, service and flight.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::link::codel;
use crate::link::drop_head::DropHead;

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
