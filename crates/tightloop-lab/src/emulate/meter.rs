//! What is shown while a link carries packets: a title, a line, or all of it.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tightloop::units::{Bytes, Rate, Time};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::Way;
use tightloop_live::emulate::engine::Tally;

use super::capacity::Capacity;
use gauge::Gauge;
use panel::Panel;
use strip::Strip;

mod gauge;
pub(crate) mod panel;
pub(crate) mod strip;

/// A frame takes this long. Ours: what the eye still takes for steady.
const FRAME: Duration = Duration::from_millis(200);

/// Where the meter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the title: a shell has the terminal.
    Title,
    /// In a line, which what the command writes may overwrite.
    Line,
    /// The terminal is ours.
    Full,
}

/// What is shown of a running link.
#[derive(Debug)]
pub(super) enum Meter {
    Small(Small),
    Full { _drawing: Drawing },
    Nowhere,
}

impl Meter {
    /// Begins to show; nothing without a terminal.
    pub(super) fn new(
        place: Place,
        title: String,
        tallies: Arc<[Tally; 2]>,
        clock: Clock,
        capacity: [Capacity; 2],
    ) -> Self {
        if place == Place::Full {
            let mut gauge = Gauge::new(title, tallies, clock, capacity);
            let drawing = Drawing::start(move || gauge.look());
            return drawing.map_or(Self::Nowhere, |drawing| Self::Full { _drawing: drawing });
        }
        if !stderr().is_terminal() {
            return Self::Nowhere;
        }
        Self::Small(Small {
            tallies,
            clock,
            last: (clock.now(), [0; 2]),
            title: place == Place::Title,
            drawn: false,
        })
    }

    /// To be called now and then.
    pub(super) fn tick(&mut self) {
        if let Self::Small(small) = self {
            small.draw();
        }
    }
}

/// A thread that draws panels until this is dropped.
#[derive(Debug)]
pub(crate) struct Drawing {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drawing {
    /// Draws what `look` gives on the standard error; nothing where that is no
    /// terminal that can do it.
    pub(crate) fn start(mut look: impl FnMut() -> Panel + Send + 'static) -> Option<Self> {
        let mut strip = Strip::new()?;
        let (end, ended) = channel::<()>();
        let builder = thread::Builder::new().name("meter".into());
        let thread = builder.spawn(move || {
            // Who closes the terminal wants to see no more; the run goes on.
            while strip.draw(&look()).is_ok()
                && ended.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout)
            {}
        });
        Some(Self {
            end: Some(end),
            thread: Some(thread.ok()?),
        })
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A line, or a terminal's title, with what crosses the link.
#[derive(Debug)]
pub(super) struct Small {
    tallies: Arc<[Tally; 2]>,
    clock: Clock,
    last: (Time, [u64; 2]),
    title: bool,
    drawn: bool,
}

impl Small {
    fn draw(&mut self) {
        let now = self.clock.now();
        let read = |it: &AtomicU64| it.load(Ordering::Relaxed);
        let bytes = [0, 1].map(|way| read(&self.tallies[way].bytes));
        let (then, before) = self.last;
        self.last = (now, bytes);
        let parts = Way::BOTH.map(|way| {
            let place = way.place();
            let carried = Bytes::new(bytes[place].saturating_sub(before[place]));
            let rate = carried.per(now - then).unwrap_or(Rate::ZERO);
            let tally = &self.tallies[place];
            format!(
                "{} {:.2} Mbit/s, {} kB wait, {} dropped",
                way.name(),
                rate.mbps_f64(),
                read(&tally.waiting) / 1000,
                read(&tally.dropped)
            )
        });
        let text = parts.join("  |  ");
        let _ = if self.title {
            write!(stderr(), "\x1b]2;{text}\x07")
        } else {
            write!(stderr(), "\r\x1b[K{text}\r")
        };
        self.drawn = true;
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if self.drawn && !self.title {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
