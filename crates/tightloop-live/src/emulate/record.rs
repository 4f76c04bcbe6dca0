//! What an engine tells about its packets, and the thread that writes it down.
//!
//! The engine never waits for a disk: it hands over batches, and where the
//! writer falls too far behind, the rest is lost and counted.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use tightloop::event::{Cause, Event, Sink};
use tightloop::units::{Span, Time};

use super::packet::{Datagram, Way};

/// A batch is handed over after this long. Ours: what a crash may lose.
const EVERY: Span = Span::from_millis(50);
/// Or when it has this many events.
const FULL: usize = 1 << 14;
/// Batches that may wait for the writer.
const WAITING: usize = 64;
/// What a batch may grow to while the writer is behind.
const MOST: usize = 1 << 20;

/// A packet's bytes as they came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Time,
    /// Which way it goes.
    pub way: Way,
    /// It has crossed the link; else it has just come.
    pub crossed: bool,
    /// Where its bytes begin and end in the batch.
    from: usize,
    to: usize,
}

/// Some of a run, whole up to its end: what comes in later batches was later.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Events in the order of time.
    pub events: Vec<(Time, Event)>,
    /// Packets in the order of coming and going.
    pub packets: Vec<Seen>,
    bytes: Vec<u8>,
}

impl Batch {
    /// A packet's bytes.
    #[must_use]
    pub fn bytes(&self, packet: &Seen) -> &[u8] {
        &self.bytes[packet.from..packet.to]
    }
}

/// Something that writes batches down.
pub trait Output: Send {
    /// What it is, for complaints: its file's name.
    fn name(&self) -> String;
    /// It needs the packets' bytes.
    fn wants_packets(&self) -> bool {
        false
    }
    /// Takes a batch.
    ///
    /// # Errors
    ///
    /// Nothing is asked of it after that but to finish.
    fn write(&mut self, batch: &Batch) -> io::Result<()>;
    /// The run is over at `end`.
    ///
    /// # Errors
    ///
    /// What could not be written.
    fn finish(&mut self, end: Time) -> io::Result<()>;
}

/// What went wrong with an output.
#[derive(Debug)]
pub struct Failure {
    /// The output.
    pub name: String,
    /// Why.
    pub error: io::Error,
}

/// Counts what happens, and hands it to a writer if there is one.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Packets dropped and marked by the links of each way.
    pub(super) dropped: [u64; 2],
    pub(super) marked: [u64; 2],
    /// Random losses among the drops.
    pub(super) lost: [u64; 2],
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    batch: Batch,
    whole: bool,
    since: Time,
    full: SyncSender<(Batch, Time)>,
    missing: u64,
    thread: JoinHandle<Vec<Failure>>,
}

impl Recorder {
    /// Starts the writing thread if there is anything to write to.
    pub(super) fn new(outputs: Vec<Box<dyn Output>>, tell: fn(&Failure)) -> Self {
        let whole = outputs.iter().any(|output| output.wants_packets());
        let writer = (!outputs.is_empty()).then(|| {
            let (full, batches) = sync_channel(WAITING);
            Writer {
                batch: Batch::default(),
                whole,
                since: Time::ZERO,
                full,
                missing: 0,
                thread: thread::spawn(move || write(outputs, &batches, tell)),
            }
        });
        Self {
            dropped: [0; 2],
            marked: [0; 2],
            lost: [0; 2],
            writer,
        }
    }

    /// Whether anybody wants more than counts.
    pub(super) const fn on(&self) -> bool {
        self.writer.is_some()
    }

    /// A packet has come or gone.
    #[inline]
    pub(super) fn saw(&mut self, at: Time, way: Way, crossed: bool, packet: &Datagram) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let batch = &mut writer.batch;
        if writer.whole && batch.packets.len() < MOST {
            let from = batch.bytes.len();
            batch.bytes.extend_from_slice(packet.bytes());
            batch.packets.push(Seen {
                at,
                way,
                crossed,
                from,
                to: batch.bytes.len(),
            });
        }
    }

    /// Whether it is time for [`Recorder::hand_over`].
    #[inline]
    pub(super) fn due(&self, now: Time) -> bool {
        self.writer
            .as_ref()
            .is_some_and(|writer| writer.batch.events.len() >= FULL || now - writer.since >= EVERY)
    }

    /// Hands the batch to the writer; the links have been brought up to `now`.
    pub(super) fn hand_over(&mut self, now: Time) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        writer.since = now;
        let batch = std::mem::take(&mut writer.batch);
        writer.batch = match writer.full.try_send((batch, now)) {
            Ok(()) => Batch::default(),
            Err(TrySendError::Full((batch, _)) | TrySendError::Disconnected((batch, _))) => batch,
        };
    }

    /// Waits until all is written. Gives what failed and how many events are
    /// missing because the writer was too slow.
    pub(super) fn finish(self, end: Time) -> (Vec<Failure>, u64) {
        let Some(writer) = self.writer else {
            return (Vec::new(), 0);
        };
        // The engine is at its end: now there is time to wait.
        let _ = writer.full.send((writer.batch, end));
        drop(writer.full);
        let failures = writer.thread.join().unwrap_or_else(|_| {
            let error = io::Error::other("the thread that writes broke down");
            let name = "the log".to_owned();
            vec![Failure { name, error }]
        });
        (failures, writer.missing)
    }
}

impl Sink for Recorder {
    #[inline]
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Dropped { packet, cause, .. } => {
                let way = Way::of(packet.flow).place();
                self.dropped[way] += 1;
                self.lost[way] += u64::from(*cause == Cause::Random);
            }
            Event::Marked { packet, .. } => {
                self.marked[Way::of(packet.flow).place()] += 1;
            }
            _ => {}
        }
        if let Some(writer) = &mut self.writer {
            if writer.batch.events.len() < MOST {
                writer.batch.events.push((at, *event));
            } else {
                writer.missing += 1;
            }
        }
    }
}

/// The writing thread. An output that fails is told no more.
fn write(
    outputs: Vec<Box<dyn Output>>,
    batches: &Receiver<(Batch, Time)>,
    tell: fn(&Failure),
) -> Vec<Failure> {
    let mut outputs: Vec<_> = outputs.into_iter().map(|output| (output, true)).collect();
    let mut failures = Vec::new();
    let mut fail = |name, error| {
        let failure = Failure { name, error };
        tell(&failure);
        failures.push(failure);
    };
    let mut end = Time::ZERO;
    for (mut batch, until) in batches {
        end = until;
        // The links of both ways were asked one after the other.
        batch.events.sort_by_key(|(at, _)| *at);
        for (output, fine) in &mut outputs {
            if *fine && let Err(error) = output.write(&batch) {
                *fine = false;
                fail(output.name(), error);
            }
        }
    }
    for (mut output, fine) in outputs {
        if let Err(error) = output.finish(end)
            && fine
        {
            fail(output.name(), error);
        }
    }
    failures
}
