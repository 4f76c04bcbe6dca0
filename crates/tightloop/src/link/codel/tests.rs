//! CoDel against a literal transcription of RFC 8289's pseudocode.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;
use crate::link::tests::{Bench, Mail, parcel};

const TARGET: Span = Span::from_millis(5);
const INTERVAL: Span = Span::from_millis(100);
const MTU: u64 = 1500;

// The pseudocode of RFC 8289 §5, in its own names and order. `mark` is the one
// addition: what Linux does where ECN is on.

#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Debug)]
struct packet_t {
    number: u64,
    size: u64,
    tstamp: Time,
    ect: bool,
}

#[allow(non_camel_case_types)]
struct dodequeue_result {
    p: Option<packet_t>,
    ok_to_drop: bool,
}

#[allow(non_camel_case_types)]
#[derive(Clone, Debug, Default)]
struct codel_queue_t {
    queue: VecDeque<packet_t>,
    ecn: bool,
    dropped: Vec<(Time, u64)>,
    marked: Vec<(Time, u64)>,
    first_above_time_: Time,
    drop_next_: Time,
    count_: u32,
    lastcount_: u32,
    dropping_: bool,
}

fn control_law(t: Time, count: u32) -> Time {
    t + INTERVAL * (1.0 / f64::from(count).sqrt())
}

impl codel_queue_t {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|p| p.size).sum()
    }

    fn enqueue(&mut self, now: Time, mut pkt: packet_t) {
        pkt.tstamp = now;
        self.queue.push_back(pkt);
    }

    fn drop_(&mut self, now: Time, p: Option<packet_t>) {
        self.dropped.push((now, p.expect("a packet").number));
    }

    /// True where the packet was marked, and so must not be dropped.
    fn mark(&mut self, now: Time, p: Option<packet_t>) -> bool {
        let p = p.expect("a packet");
        if self.ecn && p.ect {
            self.marked.push((now, p.number));
        }
        self.ecn && p.ect
    }

    fn dodequeue(&mut self, now: Time) -> dodequeue_result {
        let mut r = dodequeue_result {
            p: self.queue.pop_front(),
            ok_to_drop: false,
        };
        let Some(p) = r.p else {
            self.first_above_time_ = Time::ZERO;
            return r;
        };
        let sojourn_time = now - p.tstamp;
        if sojourn_time < TARGET || self.bytes() <= MTU {
            self.first_above_time_ = Time::ZERO;
        } else if self.first_above_time_ == Time::ZERO {
            self.first_above_time_ = now + INTERVAL;
        } else if now >= self.first_above_time_ {
            r.ok_to_drop = true;
        }
        r
    }

    fn dequeue(&mut self, now: Time) -> Option<packet_t> {
        let mut r = self.dodequeue(now);
        if self.dropping_ {
            if !r.ok_to_drop {
                self.dropping_ = false;
            }
            while now >= self.drop_next_ && self.dropping_ {
                if self.mark(now, r.p) {
                    self.count_ += 1;
                    self.drop_next_ = control_law(self.drop_next_, self.count_);
                    return r.p;
                }
                self.drop_(now, r.p);
                self.count_ += 1;
                r = self.dodequeue(now);
                if !r.ok_to_drop {
                    self.dropping_ = false;
                } else {
                    self.drop_next_ = control_law(self.drop_next_, self.count_);
                }
            }
        } else if r.ok_to_drop {
            if !self.mark(now, r.p) {
                self.drop_(now, r.p);
                r = self.dodequeue(now);
            }
            self.dropping_ = true;
            let delta = self.count_ - self.lastcount_;
            self.count_ = 1;
            if delta > 1 && now - self.drop_next_ < INTERVAL * 16 {
                self.count_ = delta;
            }
            self.drop_next_ = control_law(now, self.count_);
            self.lastcount_ = self.count_;
        }
        r.p
    }
}

/// One packet arrives after a gap, then the service asks a number of times.
#[derive(Clone, Copy, Debug)]
struct Step {
    gap: Span,
    size: u64,
    ect: bool,
    asks: u64,
    wait: Span,
}

/// Arrivals and requests of a link that is overloaded at some times and idle at
/// others: bursts, long waits, small and full packets.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = |overload: bool| {
        let asks = if overload { 0..2u64 } else { 0..4 };
        (
            0i64..20_000,
            prop_oneof![Just(1500u64), 40..1500u64],
            any::<bool>(),
            asks,
            0i64..12_000,
        )
            .prop_map(|(gap, size, ect, asks, wait)| Step {
                gap: Span::from_micros(gap),
                size,
                ect,
                asks,
                wait: Span::from_micros(wait),
            })
    };
    let phase = any::<bool>().prop_flat_map(move |over| prop::collection::vec(step(over), 50..300));
    prop::collection::vec(phase, 1..5).prop_map(|phases| phases.concat())
}

/// What one walk through the steps did: drops, marks and departures, with the
/// number of the request before which each happened.
fn walk(steps: &[Step], ecn: bool, force_ect: bool) -> (Bench<Codel<Mail>>, Reference) {
    let params = Params {
        ecn,
        ..Params::default()
    };
    let mut bench = Bench::new(Codel::new(params).expect("good settings"));
    let mut reference = codel_queue_t {
        ecn,
        ..Default::default()
    };
    let mut left = Vec::new();
    // Not at zero: the pseudocode's zero means "never".
    let mut now = Time::from_secs(1);
    for (number, step) in (0u64..).zip(steps) {
        now += step.gap;
        let mut mail = parcel(number, step.size, now);
        let ect = force_ect || step.ect;
        mail.packet.ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
        bench.push(now, mail, Rate::ZERO);
        reference.enqueue(
            now,
            packet_t {
                number,
                size: step.size,
                tstamp: Time::ZERO,
                ect,
            },
        );
        for _ in 0..step.asks {
            now += step.wait;
            bench.pop(now);
            left.extend(reference.dequeue(now).map(|p| p.number));
        }
    }
    let reference = Reference {
        dropped: reference.dropped,
        marked: reference.marked,
        left,
    };
    (bench, reference)
}

struct Reference {
    dropped: Vec<(Time, u64)>,
    marked: Vec<(Time, u64)>,
    left: Vec<u64>,
}

proptest! {
    #[test]
    fn drops_differ_nowhere_from_the_pseudocode(steps in steps()) {
        let (bench, reference) = walk(&steps, false, false);
        prop_assert_eq!(bench.dropped, reference.dropped);
        prop_assert_eq!(bench.left, reference.left);
        prop_assert!(bench.marked.is_empty());
    }

    #[test]
    fn marks_and_drops_differ_nowhere_from_the_pseudocode_with_ecn(steps in steps()) {
        let (bench, reference) = walk(&steps, true, false);
        prop_assert_eq!(bench.dropped, reference.dropped);
        prop_assert_eq!(bench.marked, reference.marked);
        prop_assert_eq!(bench.left, reference.left);
    }

    /// "Marks where the other drops", made exact. After its first drop the two
    /// modes hold different packets, so they are compared request by request:
    /// from the same state, ECN mode marks a packet if and only if drop mode
    /// drops one, and it is the packet that drop mode drops first. What ECT
    /// packets meet is never a drop.
    #[test]
    fn a_packet_is_marked_exactly_where_it_would_be_dropped(steps in steps()) {
        let params = Params { ecn: true, ..Params::default() };
        let mut marking = Bench::new(Codel::<Mail>::new(params).expect("good settings"));
        let mut now = Time::from_secs(1);
        for (number, step) in (0u64..).zip(&steps) {
            now += step.gap;
            let mut mail = parcel(number, step.size, now);
            mail.packet.ecn = Ecn::Ect1;
            marking.push(now, mail, Rate::ZERO);
            for _ in 0..step.asks {
                now += step.wait;
                let mut dropping = Bench::new(marking.queue.clone());
                dropping.queue.params.ecn = false;
                let marks = marking.marked.len();
                marking.pop(now);
                dropping.pop(now);
                let first_drop = dropping.dropped.first().copied();
                prop_assert_eq!(marking.marked.get(marks).copied(), first_drop);
            }
        }
        prop_assert!(marking.dropped.is_empty());
    }
}

#[test]
fn the_random_walks_reach_every_branch() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut drops, mut twice_at_once) = (0, 0);
    for _ in 0..64 {
        let steps = steps().new_tree(&mut runner).expect("steps").current();
        let dropped = walk(&steps, false, false).0.dropped;
        drops += dropped.len();
        twice_at_once += dropped.windows(2).filter(|w| w[0].0 == w[1].0).count();
    }
    assert!(drops > 500, "{drops} drops");
    assert!(
        twice_at_once > 5,
        "{twice_at_once} drops at the same instant as the one before"
    );
}

/// 12 Mbit/s offered at 24: the drop times follow interval/√count, by hand.
#[test]
fn the_first_drops_come_at_the_hand_computed_times() {
    let mut bench = Bench::new(Codel::new(Params::default()).expect("good settings"));
    let millis = Span::from_millis(1);
    let mut now = Time::ZERO;
    for number in 0..600 {
        bench.push(now, parcel(2 * number, 1500, now), Rate::ZERO);
        bench.push(now, parcel(2 * number + 1, 1500, now), Rate::ZERO);
        now += millis;
        bench.pop(now);
    }
    // The packet asked for at 8 ms is the first to have waited 5 ms; an
    // interval later drops begin; then after 100, 100/√2, 100/√3 … ms.
    let times: Vec<f64> = bench
        .dropped
        .iter()
        .map(|(at, _)| at.since_epoch().millis_f64())
        .collect();
    let mut expected = vec![108.0];
    let mut due = 108.0 + 100.0;
    for count in 2..6u32 {
        expected.push(f64::ceil(due));
        due += 100.0 / f64::from(count).sqrt();
    }
    assert_eq!(times[..5], expected[..]);
}

#[test]
fn nothing_is_dropped_while_no_more_than_a_full_packet_waits() {
    let mut bench = Bench::new(Codel::new(Params::default()).expect("good settings"));
    // A packet takes 200 ms here: each waits far longer than the target.
    for number in 0..100u64 {
        let at = Time::from_millis(200 * number);
        bench.push(at, parcel(number, 1500, at), Rate::ZERO);
        if number > 0 {
            bench.pop(at);
        }
    }
    assert!(bench.dropped.is_empty(), "{:?}", bench.dropped);
    assert_eq!(bench.left.len(), 99);
}

#[test]
fn wrong_settings_are_refused_with_a_reason() {
    for (params, reason) in [
        (toml::toml! { target = "0 s" }, "target"),
        (toml::toml! { interval = "-1 ms" }, "interval"),
        (toml::toml! { packets = 0 }, "no room"),
        (toml::toml! { limit = 3 }, "unknown field `limit`"),
    ] {
        let error = (codel::<Mail>().new)(&params)
            .expect_err("refused")
            .to_string();
        assert!(error.contains(reason), "{error}");
    }
}
