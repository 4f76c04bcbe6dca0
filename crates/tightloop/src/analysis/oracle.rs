//! Every metric once more, slowly, from the whole list of events at once.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::event::*;
use crate::units::{Bytes, Rate, float};

mod log;
mod over_time;

use log::{CAPACITY, draws, log};

const DEMAND: Rate = Rate::from_mbps(4);

/// A span in nanoseconds, exactly.
fn nanos(span: Span) -> f64 {
    let nanos = u64::try_from(span.as_nanos()).expect("no span here is negative");
    float(nanos)
}

/// All there is to know, by simple means.
struct Oracle<'a> {
    log: &'a [(Time, Event)],
    window: Window,
    sent: BTreeMap<PacketId, (Time, Bytes, Kind)>,
    arrived: BTreeMap<PacketId, Time>,
    gone: BTreeMap<PacketId, ()>,
}

impl<'a> Oracle<'a> {
    fn new(log: &'a [(Time, Event)], window: Window) -> Self {
        let (mut sent, mut arrived, mut gone) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for (at, event) in log {
            match *event {
                Event::Sent {
                    packet, size, kind, ..
                } => {
                    sent.insert(packet, (*at, size, kind));
                }
                Event::Arrived {
                    packet,
                    duplicate: false,
                    ..
                } => {
                    arrived.insert(packet, *at);
                }
                Event::Dropped { packet, .. } | Event::Lost { packet, .. } => {
                    gone.insert(packet, ());
                }
                _ => {}
            }
        }
        Self {
            log,
            window,
            sent,
            arrived,
            gone,
        }
    }

    fn secs(&self) -> f64 {
        self.window.length().secs_f64()
    }

    /// The sum of what a function makes of each event in the window.
    fn sum(&self, part: impl Fn(&Event) -> Option<f64>) -> f64 {
        let inside = self.log.iter().filter(|(at, _)| self.window.contains(*at));
        inside.filter_map(|(_, event)| part(event)).sum()
    }

    fn values(&self, part: impl Fn(Time, &Event) -> Option<Span>) -> Vec<f64> {
        let inside = self.log.iter().filter(|(at, _)| self.window.contains(*at));
        let spans = inside.filter_map(|(at, event)| part(*at, event));
        spans.map(nanos).collect()
    }

    fn owd(&self, packet: PacketId) -> Option<Span> {
        Some(*self.arrived.get(&packet)? - self.sent.get(&packet)?.0)
    }

    fn check_packets(&self, report: &Report, flow: FlowId) -> Result<(), TestCaseError> {
        let mine = |packet: &PacketId| packet.flow == flow;
        let it = |what: &str| {
            let value = report.get(&format!("flow.{}.{what}", flow.0));
            value.expect("a key").number()
        };
        let rate = |what: &str, bytes: f64| near(it(what), Some(bytes * 8.0 / self.secs()), what);
        let arrived = |kind: &str| {
            self.sum(|event| match event {
                Event::Arrived {
                    packet,
                    size,
                    duplicate: false,
                } if mine(packet) => {
                    let known = self.sent[packet].2.name();
                    (kind.is_empty() || known == kind).then(|| size.get_f64())
                }
                _ => None,
            })
        };
        let sent = |kind: &str| {
            self.sum(|event| match event {
                Event::Sent {
                    packet,
                    size,
                    kind: known,
                    ..
                } if mine(packet) => {
                    (kind.is_empty() || known.name() == kind).then(|| size.get_f64())
                }
                _ => None,
            })
        };
        rate("throughput", arrived(""))?;
        rate("sending", sent(""))?;
        for kind in ["video", "retransmit", "filler", "bulk"] {
            rate(&format!("throughput.{kind}"), arrived(kind))?;
            rate(&format!("sending.{kind}"), sent(kind))?;
        }
        let inside = |at: Time| self.window.contains(at);
        let all: Vec<_> = self
            .sent
            .iter()
            .filter(|(id, sent)| mine(id) && inside(sent.0))
            .collect();
        let lost = all
            .iter()
            .filter(|(id, _)| self.gone.contains_key(id) && !self.arrived.contains_key(id));
        let lost = float(count(lost.count()));
        near(it("sent"), Some(float(count(all.len()))), "sent")?;
        near(it("lost"), Some(lost), "lost")?;
        let counted = |part: fn(&Event) -> Option<PacketId>| {
            Some(self.sum(|event| part(event).filter(mine).map(|_| 1.0)))
        };
        let duplicates = counted(|event| match event {
            Event::Arrived {
                packet,
                duplicate: true,
                ..
            } => Some(*packet),
            _ => None,
        });
        near(it("duplicates"), duplicates, "duplicates")?;
        let drops = counted(|event| match event {
            Event::Dropped {
                packet,
                cause: Cause::Aqm,
                ..
            } => Some(*packet),
            _ => None,
        });
        near(it("drops.aqm"), drops, "drops")?;
        let spurious = counted(|event| match event {
            Event::Acked {
                packet,
                spurious: true,
                ..
            } => Some(*packet),
            _ => None,
        });
        near(it("spurious"), spurious, "spurious")?;
        let feedback = self.sum(|event| match event {
            Event::Queued { packet, size, .. } if mine(packet) => {
                (packet.direction == Direction::Feedback).then(|| size.get_f64())
            }
            _ => None,
        });
        rate("feedback", feedback)?;
        let delays = |less: &dyn Fn(PathId) -> Span| {
            Spread::of(self.values(|_, event| match event {
                Event::Arrived {
                    packet,
                    duplicate: false,
                    ..
                } if mine(packet) => Some(self.owd(*packet)? - less(packet.path)),
                _ => None,
            }))
        };
        let owd: Option<Spread<Span>> = delays(&|_| Span::ZERO);
        prop_assert_eq!(&report.flows[index(flow.0.into())].owd, &owd);
        let base = |path| {
            let of_path = |id: &&PacketId| mine(id) && id.path == path;
            let owds = self
                .arrived
                .keys()
                .filter(of_path)
                .filter_map(|id| self.owd(*id));
            owds.min().unwrap_or_default()
        };
        prop_assert_eq!(
            &report.flows[index(flow.0.into())].owd_above_base,
            &delays(&base)
        );
        let rtt = self.values(|_, event| match event {
            Event::Acked { packet, rtt, .. } if mine(packet) => *rtt,
            _ => None,
        });
        prop_assert_eq!(&report.flows[index(flow.0.into())].rtt, &Spread::of(rtt));
        Ok(())
    }

    /// New, late and repeated parts, told by going back over the list each time.
    fn check_goodput(&self, report: &Report, flow: FlowId) -> Result<(), TestCaseError> {
        let (mut new, mut late) = (0.0, 0.0);
        let known = |frame: FrameId, until: usize| {
            self.log[..until].iter().any(|(_, event)| {
                matches!(event, Event::Captured { flow: of, frame: it } if *of == flow && *it == frame)
            })
        };
        for (place, (at, event)) in self.log.iter().enumerate() {
            let Event::Arrived {
                packet,
                size,
                duplicate: false,
            } = event
            else {
                continue;
            };
            if packet.flow != flow || !self.window.contains(*at) {
                continue;
            }
            let kind = self.sent[packet].2;
            let Some(fragment) = kind.fragment() else {
                new += if kind == Kind::Bulk {
                    size.get_f64()
                } else {
                    0.0
                };
                continue;
            };
            let before = &self.log[..place];
            let repeated = before
                .iter()
                .enumerate()
                .any(|(earlier, (_, event))| match event {
                    Event::Arrived {
                        packet: other,
                        duplicate: false,
                        ..
                    } => {
                        other.flow == flow
                            && self.sent[other].2.fragment() == Some(fragment)
                            && known(fragment.frame, earlier)
                    }
                    _ => false,
                });
            let passed = known(fragment.frame, place)
                && before.iter().any(|(_, event)| {
                    matches!(event, Event::Shown { flow: of, frame }
                        if *of == flow && *frame >= fragment.frame)
                });
            match (repeated, passed) {
                (true, _) => {}
                (false, true) => late += size.get_f64(),
                (false, false) => new += size.get_f64(),
            }
        }
        let report = &report.flows[index(flow.0.into())];
        near(
            Some(report.goodput.bps_f64()),
            Some(new * 8.0 / self.secs()),
            "goodput",
        )?;
        near(
            Some(report.late.bps_f64()),
            Some(late * 8.0 / self.secs()),
            "late",
        )
    }

    fn check_frames(&self, report: &Report, flow: FlowId) -> Result<(), TestCaseError> {
        let at_of = |part: &dyn Fn(&Event) -> bool| {
            let found = self.log.iter().find(|(_, event)| part(event));
            found.map(|(at, _)| *at)
        };
        let (mut latency, mut delay, mut undelivered) = (Vec::new(), Vec::new(), 0);
        let mut captured = 0;
        for (at, event) in self.log.iter().filter(|(at, _)| self.window.contains(*at)) {
            let Event::Captured { flow: of, frame } = *event else {
                continue;
            };
            if of != flow {
                continue;
            }
            captured += 1;
            let shown = at_of(&|event| *event == Event::Shown { flow, frame });
            // The next frame that was shown, or itself.
            let next = (frame.0..200).find_map(|later| {
                let frame = FrameId(later);
                at_of(&|event| *event == Event::Shown { flow, frame })
            });
            latency.extend(next.map(|shown| nanos(shown - *at)));
            let completed = at_of(&|event| *event == Event::Completed { flow, frame });
            delay.extend(completed.map(|done| nanos(done - *at)));
            let encoded = at_of(&|event| {
                matches!(event, Event::Encoded { flow: of, frame: it, .. }
                    if *of == flow && *it == frame)
            });
            undelivered += u64::from(encoded.is_some() && shown.is_none() && next.is_some());
        }
        match &report.flows[index(flow.0.into())].frames {
            Some(frames) => {
                prop_assert_eq!(
                    (frames.captured, frames.undelivered),
                    (captured, undelivered)
                );
                prop_assert_eq!(&frames.latency, &Spread::of(latency));
                prop_assert_eq!(&frames.delay, &Spread::of(delay));
            }
            None => prop_assert_eq!(captured, 0),
        }
        Ok(())
    }
}

/// Equal but for the part of a bit per second that is rounded away.
fn near(found: Option<f64>, expected: Option<f64>, what: &str) -> Result<(), TestCaseError> {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            let close = (found - expected).abs() < 1.0 - 1e-6 + 1e-9 * expected.abs();
            prop_assert!(close, "{}: {} instead of {}", what, found, expected);
        }
        _ => prop_assert_eq!(found, expected, "{}", what),
    }
    Ok(())
}

proptest! {
    /// The stream of events gives what the whole list gives.
    #[test]
    fn a_summary_agrees_with_slow_and_simple_sums(
        first in draws(),
        second in draws(),
        from in 0u64..1_500,
        length in 100u64..3_000,
    ) {
        let log = log(&[first, second]);
        let from = Time::from_millis(from);
        let window = Window { from, to: from + Span::from_micros(1_000) * i64::try_from(length).expect("small") };
        let mut summary = Summary::new(Names::default(), window).with_demand(LinkId(0), DEMAND);
        for (at, event) in &log {
            summary.record(*at, event);
        }
        let report = summary.report();
        let oracle = Oracle::new(&log, window);
        for flow in [FlowId(0), FlowId(1)] {
            oracle.check_packets(&report, flow)?;
            oracle.check_goodput(&report, flow)?;
            oracle.check_frames(&report, flow)?;
            oracle.check_shares(&report, flow)?;
            oracle.check_slots(&report, flow)?;
        }
        for link in [LinkId(0), LinkId(1)] {
            oracle.check_link(&report, link)?;
        }
        oracle.check_fairness(&report)?;
        oracle.check_spikes(&report)?;
    }
}
