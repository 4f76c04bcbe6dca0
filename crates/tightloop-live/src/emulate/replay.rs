//! What an engine did, done again in a simulation.
//!
//! The arrivals of a live run, at the times at which the engine pushed them,
//! are fed to links built from the same settings and seed. Every drop, mark and
//! departure must then come again at the same nanosecond: that is what it means
//! that the emulator and the simulator have one model.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use tightloop::event::{Direction, Ecn, Event, Log, PacketId, PathId};
use tightloop::link::{Link, Packet};
use tightloop::units::{Bytes, Time};

use super::packet::{Datagram, Way};
use super::pipe::Pipe;
use super::record::{Batch, Output};

/// A packet without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the engine had it.
    pub at: Time,
    /// Which way it goes.
    pub way: Way,
    id: PacketId,
    size: Bytes,
    ecn: Ecn,
}

impl Arrival {
    /// A packet that arrived: the `number`th of its way, from zero.
    #[must_use]
    pub const fn new(at: Time, way: Way, number: u64, size: Bytes, ecn: Ecn) -> Self {
        let id = PacketId {
            flow: way.flow(),
            path: PathId(0),
            direction: Direction::Data,
            number,
        };
        Self {
            at,
            way,
            id,
            size,
            ecn,
        }
    }
}

impl Packet for Arrival {
    fn size(&self) -> Bytes {
        self.size
    }

    fn id(&self) -> PacketId {
        self.id
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// A run, kept in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What arrived.
    pub arrivals: Vec<Arrival>,
    /// Everything the links did, in the order of time.
    pub events: Vec<(Time, Event)>,
}

impl Memory {
    /// What the links did on one way, up to a time, in an order that does not
    /// depend on how often anybody looked.
    fn of(&self, way: Way, end: Time) -> Vec<(Time, Event)> {
        deeds(&self.events, way, end)
    }

    /// Feeds the arrivals of one way to these links and compares all that
    /// happened up to `end` with what happened live. Gives how many events were
    /// the same.
    ///
    /// # Errors
    ///
    /// The first event that differs.
    pub fn again(
        &self,
        way: Way,
        links: Vec<Link<Arrival>>,
        end: Time,
    ) -> Result<usize, Box<Difference>> {
        let mut pipe = Pipe::new(links);
        let mut events: Vec<(Time, Event)> = Vec::new();
        for arrival in self.arrivals.iter().filter(|it| it.way == way) {
            let mut log = Log::to(&mut events);
            while pipe.pop(arrival.at, &mut log).is_some() {}
            pipe.push(arrival.at, *arrival, &mut log);
        }
        while pipe.pop(end, &mut Log::to(&mut events)).is_some() {}
        pipe.finish(end, &mut Log::to(&mut events));
        let (live, again) = (self.of(way, end), deeds(&events, way, end));
        for place in 0..live.len().max(again.len()) {
            let (live, again) = (live.get(place), again.get(place));
            if live != again {
                return Err(Box::new(Difference {
                    place,
                    live: live.copied(),
                    again: again.copied(),
                }));
            }
        }
        Ok(live.len())
    }
}

/// Drops, marks and departures of a way, by time and packet.
fn deeds(events: &[(Time, Event)], way: Way, end: Time) -> Vec<(Time, Event)> {
    let mut deeds = BTreeMap::new();
    for (place, (at, event)) in events.iter().enumerate() {
        let (kind, link, packet) = match event {
            Event::Queued { link, packet, .. } => (0, link, packet),
            Event::Dropped { link, packet, .. } => (1, link, packet),
            Event::Marked { link, packet, .. } => (2, link, packet),
            Event::Left { link, packet, .. } => (3, link, packet),
            _ => continue,
        };
        if Way::of(packet.flow) == way && *at <= end {
            deeds.insert((*at, packet.number, link.0, kind, place), *event);
        }
    }
    let times = deeds.into_iter();
    times.map(|((at, ..), event)| (at, event)).collect()
}

/// Where the simulation did something else.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The event's place.
    pub place: usize,
    /// What happened live.
    pub live: Option<(Time, Event)>,
    /// What happened in the simulation.
    pub again: Option<(Time, Event)>,
}

/// An output that keeps a run in memory.
#[derive(Clone, Debug, Default)]
pub struct Keeper(Arc<Mutex<Memory>>);

impl Keeper {
    /// What was kept.
    #[must_use]
    pub fn memory(&self) -> Memory {
        self.0.lock().map(|it| it.clone()).unwrap_or_default()
    }
}

impl Output for Keeper {
    fn name(&self) -> String {
        "memory".into()
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let broken = |_| io::Error::other("whoever looked broke down");
        let mut memory = self.0.lock().map_err(broken)?;
        let mut numbers = Way::BOTH.map(|way| {
            let of = |it: &&Arrival| it.way == way;
            memory
                .arrivals
                .iter()
                .rev()
                .find(of)
                .map_or(0, |it| it.id.number + 1)
        });
        for seen in batch.packets.iter().filter(|seen| !seen.crossed) {
            let bytes = batch.bytes(seen);
            let mut room = Datagram::room();
            room[..bytes.len()].copy_from_slice(bytes);
            let number = &mut numbers[seen.way.place()];
            if let Ok(packet) = Datagram::new(room, bytes.len(), seen.way, *number) {
                *number += 1;
                let (number, size) = (packet.id().number, packet.size());
                let arrival = Arrival::new(seen.at, seen.way, number, size, packet.ecn());
                memory.arrivals.push(arrival);
            }
        }
        memory.events.extend_from_slice(&batch.events);
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tightloop::event::LinkId;
    use tightloop::link::{Discipline, Jitter, Settings};
    use tightloop::settings::Params;
    use tightloop::units::{Rate, Span};

    use super::*;

    /// Links of each kind of queue and service.
    fn settings(kind: usize) -> Settings {
        let queue = |kind: &str, key: &str, value: toml::Value| Discipline {
            kind: kind.into(),
            params: Params::from_iter([(key.to_owned(), value)]),
        };
        let common = Settings {
            rate: Some(Rate::from_mbps(20)),
            delay: Span::from_millis(5),
            ..Settings::default()
        };
        match kind {
            0 => Settings {
                queue: queue("drop_tail", "packets", 20.into()),
                ..common
            },
            1 => Settings {
                queue: queue("codel", "ecn", true.into()),
                loss: 0.02,
                ..common
            },
            _ => Settings {
                rate: None,
                poisson: Some(Rate::from_mbps(15)),
                jitter: Some(Jitter::Uniform {
                    max: Span::from_millis(4),
                    reorder: true,
                }),
                ..common
            },
        }
    }

    fn link(settings: &Settings) -> Link<Arrival> {
        let link = settings.build(LinkId(0), "up", 7, &|_| None);
        link.expect("a link")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// As an engine does: arrivals pushed when they come, departures asked
        /// for now and then, late, and the links brought up to date for the log.
        #[test]
        fn a_run_driven_late_comes_again_to_the_nanosecond(
            gaps in prop::collection::vec((0_i64..900_000, 60_u64..1500, 0_usize..4), 1..800),
            looks in prop::collection::vec(0_u8..4, 16),
        ) {
            for settings in [0, 1, 2].map(settings) {
                let mut live = Pipe::new(vec![link(&settings)]);
                let mut memory = Memory::default();
                let mut at = Time::ZERO;
                for (place, (gap, size, field)) in gaps.iter().enumerate() {
                    at += Span::from_nanos(*gap);
                    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ect0][*field];
                    let number = place as u64;
                    let arrival = Arrival::new(at, Way::Up, number, Bytes::new(*size), ecn);
                    memory.arrivals.push(arrival);
                    let mut log = Log::to(&mut memory.events);
                    match looks[place % looks.len()] {
                        0 => while live.pop(at, &mut log).is_some() {},
                        1 => live.finish(at, &mut log),
                        _ => {}
                    }
                    live.push(at, arrival, &mut log);
                }
                let end = at + Span::from_secs(1);
                live.finish(end, &mut Log::to(&mut memory.events));
                let same = memory.again(Way::Up, vec![link(&settings)], end);
                prop_assert!(same.is_ok(), "{:?}: {:?}", settings, same);
                prop_assert!(same.unwrap_or(0) >= gaps.len());
            }
        }
    }

    #[test]
    fn another_link_is_told_apart() {
        let mut live = Pipe::new(vec![link(&settings(0))]);
        let mut memory = Memory::default();
        let size = Bytes::new(1500);
        for number in 0..40 {
            let arrival = Arrival::new(Time::from_millis(1), Way::Up, number, size, Ecn::NotEct);
            memory.arrivals.push(arrival);
            live.push(arrival.at, arrival, &mut Log::to(&mut memory.events));
        }
        let end = Time::from_secs(1);
        live.finish(end, &mut Log::to(&mut memory.events));
        assert_eq!(memory.again(Way::Up, vec![link(&settings(0))], end), Ok(61));
        let other = Settings {
            rate: Some(Rate::from_kbps(20_001)),
            ..settings(0)
        };
        let difference = memory.again(Way::Up, vec![link(&other)], end);
        let difference = difference.expect_err("another rate");
        assert!(
            matches!(difference.live, Some((_, Event::Left { .. }))),
            "{difference:?}"
        );
        assert_eq!(memory.again(Way::Down, Vec::new(), end), Ok(0));
    }
}
