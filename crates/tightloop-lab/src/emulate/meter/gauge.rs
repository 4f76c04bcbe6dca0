//! What the link's counters say, second by second.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ratatui_core::style::Stylize;
use ratatui_core::text::Line;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::Way;
use tightloop_live::emulate::engine::Tally;

use super::panel::{COLUMNS, Column, Lane, Panel};
use crate::emulate::capacity::Capacity;

/// Rates are means of this long.
const SECOND: Span = Span::from_secs(1);

/// Looks at counters, and remembers the last minute.
#[derive(Debug)]
pub(super) struct Gauge {
    pub(super) title: String,
    pub(super) tallies: Arc<[Tally; 2]>,
    pub(super) clock: Clock,
    pub(super) capacity: [Capacity; 2],
    /// Bytes at several moments of the last second, the oldest first.
    recent: VecDeque<(Time, [u64; 2])>,
    past: [VecDeque<Column>; 2],
    /// When the current column began, and the bytes then.
    begun: (Time, [u64; 2]),
}

impl Gauge {
    pub(super) fn new(
        title: String,
        tallies: Arc<[Tally; 2]>,
        clock: Clock,
        capacity: [Capacity; 2],
    ) -> Self {
        Self {
            title,
            tallies,
            clock,
            capacity,
            recent: VecDeque::new(),
            past: Default::default(),
            begun: (Time::ZERO, [0; 2]),
        }
    }

    pub(super) fn look(&mut self) -> Panel {
        self.look_at(self.clock.now())
    }

    fn look_at(&mut self, now: Time) -> Panel {
        let bytes = [0, 1].map(|way| read(&self.tallies[way].bytes));
        // The last one that is a second old, or older, stays.
        while let Some((next, _)) = self.recent.get(1)
            && now - *next >= SECOND
        {
            self.recent.pop_front();
        }
        let (from, before) = *self.recent.front().unwrap_or(&self.begun);
        self.recent.push_back((now, bytes));
        let (begun, then) = self.begun;
        let whole = now - begun >= SECOND;
        if whole {
            self.begun = (now, bytes);
        }
        let lanes = Way::BOTH.map(|way| {
            let place = way.place();
            let column = |from: Time, before: [u64; 2]| Column {
                rate: Bytes::new(bytes[place].saturating_sub(before[place]))
                    .per(now - from)
                    .unwrap_or(Rate::ZERO),
                limit: self.capacity[place].between(from, now),
            };
            let past = &mut self.past[place];
            if whole {
                past.push_back(column(begun, then));
                if past.len() > COLUMNS {
                    past.pop_front();
                }
            }
            let now = column(from, before);
            Lane {
                name: way.name(),
                now,
                past: past.clone(),
                words: words(&self.tallies[place], now.limit),
            }
        });
        Panel {
            title: self.title.clone(),
            elapsed: now.since_epoch(),
            lanes: lanes.into(),
        }
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn words(tally: &Tally, capacity: Option<Rate>) -> Vec<Line<'static>> {
    let mut queue = format!("queue {} packets", read(&tally.queued));
    let waiting = Bytes::new(read(&tally.waiting));
    if let Some(wait) = capacity.and_then(|rate| waiting.at(rate)) {
        queue += &format!(", {:.1} ms", wait.millis_f64());
    }
    let (dropped, marked) = (read(&tally.dropped), read(&tally.marked));
    let lost = format!("{dropped} dropped");
    let queue = vec![
        format!("{queue}; ").into(),
        if dropped > 0 {
            lost.yellow()
        } else {
            lost.into()
        },
        format!(", {marked} marked").into(),
    ];
    let late = if read(&tally.delivered) > 0 {
        let micros = |it: &AtomicU64| {
            let nanos = i64::try_from(read(it)).unwrap_or(i64::MAX);
            Span::from_nanos(nanos).millis_f64() * 1e3
        };
        let [half, most] = &tally.late;
        format!(
            "late {:.1} µs (p50), {:.1} µs (p99)",
            micros(half),
            micros(most)
        )
    } else {
        "nothing yet".into()
    };
    vec![Line::from(queue), Line::from(late.dim())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauge() -> Gauge {
        let tallies = Arc::new(<[Tally; 2]>::default());
        Gauge::new("".into(), tallies, Clock::start(), Default::default())
    }

    fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }

    #[test]
    fn rates_are_of_the_last_second_and_columns_of_whole_seconds() {
        let mut gauge = gauge();
        let mut panel = gauge.look_at(Time::ZERO);
        for tick in 1..=50 {
            // 8 Mbit/s up, and from 5 s on nothing.
            add(
                &gauge.tallies[0].bytes,
                if tick <= 25 { 200_000 } else { 0 },
            );
            panel = gauge.look_at(Time::from_millis(tick * 200));
            let expected = match tick {
                ..=25 => Some(Rate::from_mbps(8)),
                30.. => Some(Rate::ZERO),
                _ => None,
            };
            if let Some(expected) = expected {
                assert_eq!(panel.lanes[0].now.rate, expected, "{tick}");
            }
            assert_eq!(panel.lanes[1].now.rate, Rate::ZERO);
        }
        let past: Vec<Rate> = panel.lanes[0].past.iter().map(|it| it.rate).collect();
        let expected = [[Rate::from_mbps(8); 5], [Rate::ZERO; 5]].concat();
        assert_eq!(past, expected);
        assert_eq!(panel.elapsed, Span::from_secs(10));
    }

    #[test]
    fn a_minute_is_kept() {
        let mut gauge = gauge();
        let mut panel = gauge.look_at(Time::ZERO);
        for second in 1..=100 {
            add(&gauge.tallies[1].bytes, second);
            panel = gauge.look_at(Time::from_secs(second));
        }
        let past = &panel.lanes[1].past;
        assert_eq!(past.len(), COLUMNS);
        assert_eq!(past[0].rate, Bytes::new(41).per(SECOND).expect("a second"));
    }

    #[test]
    fn the_queue_is_told_in_packets_and_as_a_delay() {
        let tally = Tally::default();
        add(&tally.queued, 3);
        add(&tally.waiting, 4_500);
        add(&tally.delivered, 1);
        add(&tally.late[0], 11_000);
        add(&tally.late[1], 84_500);
        let text = |capacity| {
            words(&tally, capacity)
                .iter()
                .map(Line::to_string)
                .collect()
        };
        let told: Vec<String> = text(Some(Rate::from_mbps(12)));
        assert_eq!(told[0], "queue 3 packets, 3.0 ms; 0 dropped, 0 marked");
        assert_eq!(told[1], "late 11.0 µs (p50), 84.5 µs (p99)");
        // In an outage nobody knows how long.
        let told: Vec<String> = text(Some(Rate::ZERO));
        assert_eq!(told[0], "queue 3 packets; 0 dropped, 0 marked");
    }
}
