//! Theory and independent readings of the rules, against the link.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use tightloop::event::{Ecn, LinkId, Log, PacketId};
use tightloop::link::drop_tail::DropTail;
use tightloop::link::limit::Limit;
use tightloop::link::{Flight, Impair, Link, Packet, Service, Trace};
use tightloop::rng::Stream;
use tightloop::units::{Bytes, Rate, Span, Time};

/// A packet, by its number and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mail {
    number: u64,
    size: Bytes,
}

impl Packet for Mail {
    fn size(&self) -> Bytes {
        self.size
    }

    fn id(&self) -> PacketId {
        PacketId {
            number: self.number,
            ..PacketId::default()
        }
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}

fn mail(number: u64, size: u64) -> Mail {
    let size = Bytes::new(size);
    Mail { number, size }
}

fn link(service: Service) -> Link<Mail> {
    let queue = Box::new(DropTail::new(Limit::Infinite));
    Link::new(LinkId(0), queue, service, Flight::none(), Impair::none())
}

/// When each packet left, and its number.
type Departures = Vec<(Time, u64)>;

/// Arrivals, each with its time and size, through a link without flight.
fn departures(service: Service, arrivals: &[(Time, u64)], end: Time) -> Departures {
    let mut link = link(service);
    let mut log = Log::off();
    let mut left = Vec::new();
    for (number, (at, size)) in (0..).zip(arrivals) {
        link.push(*at, mail(number, *size), &mut log);
        while let Some((at, mail)) = link.pop(*at, &mut log) {
            left.push((at, mail.number));
        }
    }
    while let Some((at, mail)) = link.pop(end, &mut log) {
        left.push((at, mail.number));
    }
    left
}

/// A measurement that lies beside the project, if it does.
fn shared(path: &str) -> Option<String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let text = std::fs::read_to_string(beside.join(path)).ok();
    if text.is_none() {
        // Straight to stderr: the harness hides what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: no {path} beside the project");
    }
    text
}

fn nanos(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

#[test]
fn a_fixed_link_carries_packets_at_its_rate_one_after_another() {
    let service = Service::fixed(Rate::from_kbps(9_600));
    let mut rng = Stream::named(1, "fixed");
    let (mut arrivals, mut expected) = (Vec::new(), Vec::new());
    let (mut at, mut free) = (0, 0);
    for number in 0..20_000 {
        at += rng.bits() % 1_300_000;
        let size = 40 + rng.bits() % 1_461;
        arrivals.push((nanos(at), size));
        // A byte takes 833 1/3 ns; packets end on whole ones.
        free = free.max(at) + (size * 2_500).div_ceil(3);
        expected.push((nanos(free), number));
    }
    assert_eq!(departures(service, &arrivals, nanos(free)), expected);
}

#[test]
fn a_stepped_link_splits_packets_exactly_at_the_steps() {
    // Half-thousandths of a byte per ns in the four ms of a round.
    let pace = [2, 1, 5, 0];
    let schedule = [(0, 8_000), (1, 4_000), (2, 20_000), (3, 0)];
    let schedule = schedule.map(|(ms, kbps)| (Time::from_millis(ms), Rate::from_kbps(kbps)));
    let service = Service::steps(&schedule, Some(Span::from_millis(4))).expect("a schedule");
    let mut rng = Stream::named(1, "stepped");
    let (mut arrivals, mut expected) = (Vec::new(), Vec::new());
    let (mut at, mut free) = (0, 0);
    for number in 0..20_000 {
        at += rng.bits() % 1_600_000;
        let size = 40 + rng.bits() % 1_461;
        arrivals.push((nanos(at), size));
        free = free.max(at);
        let mut rest = size * 2_000;
        while rest > 0 {
            let ms = free / 1_000_000;
            let (end, pace) = (
                (ms + 1) * 1_000_000,
                pace[usize::try_from(ms % 4).expect("few")],
            );
            let within = (end - free) * pace;
            if rest <= within {
                free += rest.div_ceil(pace);
                break;
            }
            rest -= within;
            free = end;
        }
        expected.push((nanos(free), number));
    }
    assert_eq!(departures(service, &arrivals, nanos(free)), expected);
}

/// Mean wait ρ/(2(1 − ρ)) services: Pollaczek–Khinchine for fixed sizes.
#[test]
fn random_arrivals_wait_as_queueing_theory_says() {
    for (rho, packets) in [(0.5, 1_000_000), (0.8, 4_000_000)] {
        let service = Span::from_millis(1);
        let mut link = link(Service::fixed(Rate::from_mbps(12)));
        let mut rng = Stream::named(2, "M/D/1");
        let mut log = Log::off();
        let mut inside = VecDeque::new();
        let (mut at, mut waited, mut left) = (Time::ZERO, 0.0, 0.0);
        for number in 0..packets {
            at += service * (rng.exponential() / rho);
            link.push(at, mail(number, 1_500), &mut log);
            inside.push_back(at);
            while let Some((gone, _)) = link.pop(at, &mut log) {
                let since = inside.pop_front().expect("as many as left");
                waited += (gone - since - service).ratio(service);
                left += 1.0;
            }
        }
        let theory = rho / (2.0 * (1.0 - rho));
        let off = waited / left / theory - 1.0;
        assert!(off.abs() < 0.02, "at load {rho} the mean wait is {off} off");
    }
}

/// Mahimahi's rules read anew, opportunity by opportunity and byte by byte:
/// 1504 bytes each, a packet costs 4 more than its size, what is left of an
/// opportunity goes to packets that wait already, the trace begins again after
/// its last stamp, and a packet that arrives with an opportunity misses it.
fn by_the_rules(stamps: &[u64], arrivals: &[(Time, u64)], end: Time) -> Departures {
    let period = stamps[stamps.len() - 1];
    let mut left = Vec::new();
    let (mut next, mut sent) = (0, 0);
    for round in 0.. {
        for stamp in stamps {
            let now = Time::from_millis(round * period + stamp);
            if now > end {
                return left;
            }
            for _byte in 0..1504 {
                match arrivals.get(next) {
                    Some((arrived, size)) if *arrived < now => {
                        sent += 1;
                        if sent == size + 4 {
                            left.push((now, u64::try_from(next).expect("few")));
                            (next, sent) = (next + 1, 0);
                        }
                    }
                    _ => break,
                }
            }
        }
    }
    left
}

fn stamps_of(text: &str) -> Vec<u64> {
    let number = |line: &str| line.parse().expect("a number");
    text.lines().map(number).collect()
}

fn replay(text: &str) -> Service {
    Service::trace(Arc::new(Trace::parse(text).expect("a trace")), false)
}

#[test]
fn a_small_trace_delivers_by_mahimahis_rules() {
    for seed in 0..50 {
        let mut rng = Stream::named(seed, "small trace");
        let mut stamp = 0;
        let mut text = String::new();
        for _ in 0..20 {
            stamp += rng.bits() % 4;
            text.push_str(&format!("{stamp}\n"));
        }
        text.push_str(&format!("{}\n", stamp + 20));
        let mut at = Time::ZERO;
        let mut arrivals = Vec::new();
        for _ in 0..400 {
            // Mostly at whole milliseconds, where opportunities are.
            let gap = Span::from_millis(2) * rng.exponential();
            let whole = Span::from_millis(gap.as_nanos() / 1_000_000);
            at += if rng.chance(0.9) { whole } else { gap };
            let full = rng.chance(0.5);
            arrivals.push((at, if full { 1_500 } else { 1 + rng.bits() % 1_500 }));
        }
        let end = Time::from_secs(5);
        let left = departures(replay(&text), &arrivals, end);
        assert_eq!(
            left,
            by_the_rules(&stamps_of(&text), &arrivals, end),
            "{seed}"
        );
        assert_eq!(left.len(), 400);
    }
}

#[test]
fn a_recorded_trace_delivers_a_constant_stream_by_mahimahis_rules() {
    let Some(text) = shared("mahimahi/ATT-LTE-driving-2016.down") else {
        return;
    };
    let mean = Trace::parse(&text).expect("a recorded trace").mean();
    for size in [1_500, 1_000, 200] {
        // At 90 % of the mean rate, for a little more than a period.
        let gap = Bytes::new(size).at(mean * 0.9).expect("a rate");
        let end = Time::from_secs(130);
        let stream = (1..).map(|n| (Time::ZERO + gap * n, size));
        let arrivals: Vec<(Time, u64)> = stream.take_while(|(at, _)| *at < end).collect();
        let left = departures(replay(&text), &arrivals, end);
        assert_eq!(
            left,
            by_the_rules(&stamps_of(&text), &arrivals, end),
            "{size} bytes"
        );
        assert!(left.len() > arrivals.len() * 9 / 10, "{} left", left.len());
    }
}

#[test]
fn recorded_traces_have_the_mean_rates_that_are_known_of_them() {
    for (path, mbps) in [
        ("mahimahi/ATT-LTE-driving-2016.down", 4.56),
        ("mahimahi/ATT-LTE-driving.up", 0.83),
        ("mahimahi/TMobile-LTE-short.up", 13.32),
        ("opportunities/nyc-lte-walking-1711.down", 3.97),
        ("opportunities/verus-city_drive.first120s.down", 4.66),
        ("pantheon/0.57mbps-poisson.trace", 0.56),
        ("pantheon/2.64mbps-poisson.trace", 2.44),
    ] {
        let Some(text) = shared(path) else {
            continue;
        };
        let trace = Trace::parse(&text).expect(path);
        let mean = trace.mean().mbps_f64();
        assert!((mean - mbps).abs() < 0.006, "{path}: {mean}");
        assert!(
            // Some files end without a newline.
            trace.write().trim_end() == text.trim_end(),
            "{path} is written otherwise than read"
        );
    }
}
