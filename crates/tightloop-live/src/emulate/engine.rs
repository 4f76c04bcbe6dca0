//! The loop that moves packets: off a device, through the links, onto the
//! other device at the right moment.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use tightloop::event::{Event, Kind, Log};
use tightloop::link::{Link, Packet};
use tightloop::units::{Bytes, Span, Time, earlier};

use super::ends::Ends;
use super::flows::Flows;
use super::pace::{Pace, Wait};
use super::packet::{Datagram, Way};
use super::pipe::Pipe;
use super::record::{Failure, Output, Recorder};
use super::sys::thread as this_thread;
pub use super::work::{Drive, Passage, Tally, Work};
use crate::clock::Clock;

/// Packets taken from a device before anything else is looked at. Ours: 16
/// take about as long as a packet may be late.
const BATCH: usize = 16;
/// So many loops without sleep until others may see what has happened. Ours.
const LOOK: u32 = 512;
/// Quantiles cost a microsecond or two: others may see new ones this often. Ours.
const RANK: Span = Span::from_millis(200);
/// Rooms kept for packets to come.
const ROOMS: usize = 1024;

/// A running engine.
#[derive(Debug)]
pub struct Engine {
    thread: JoinHandle<Work>,
    stop: Arc<AtomicBool>,
    /// Closed to wake the engine.
    wake: PipeWriter,
    clock: Clock,
    tallies: Arc<[Tally; 2]>,
}

impl Engine {
    /// Starts to move packets between the ends, through these links.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn start(
        ends: &Arc<Ends>,
        links: [Vec<Link<Datagram>>; 2],
        outputs: Vec<Box<dyn Output>>,
        drive: Drive,
        tell: fn(&Failure),
    ) -> io::Result<Self> {
        Self::start_sorting(ends, links, outputs, drive, tell, None)
    }

    /// The same, with flows told apart if these are given. What flows fly
    /// longer is a matter of the last link of each way.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn start_sorting(
        ends: &Arc<Ends>,
        links: [Vec<Link<Datagram>>; 2],
        outputs: Vec<Box<dyn Output>>,
        drive: Drive,
        tell: fn(&Failure),
        flows: Option<Flows>,
    ) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let stop = Arc::new(AtomicBool::new(false));
        let tallies = Arc::new(<[Tally; 2]>::default());
        let clock = Clock::start();
        let mut mover = Mover {
            ends: Arc::clone(ends),
            pipes: links.map(Pipe::new),
            ways: Default::default(),
            recorder: Recorder::new(outputs, tell),
            flows,
            rooms: Vec::with_capacity(ROOMS),
            clock,
            drive,
            stop: Arc::clone(&stop),
            woken,
            tallies: Arc::clone(&tallies),
            ranked: Time::ZERO,
        };
        let thread = thread::Builder::new().name("link".into());
        let thread = thread.spawn(move || {
            this_thread::sleep_precisely();
            let urgent = if drive.urgent {
                this_thread::set_urgent(true)
            } else {
                Err(io::Error::other("not asked for"))
            };
            let failed = mover.run(urgent.is_ok()).err();
            let _ = this_thread::set_urgent(false);
            mover.finish(urgent.err(), failed)
        })?;
        Ok(Self {
            thread,
            stop,
            wake,
            clock,
            tallies,
        })
    }

    /// What has happened so far, up and down.
    #[must_use]
    pub fn tallies(&self) -> Arc<[Tally; 2]> {
        Arc::clone(&self.tallies)
    }

    /// The engine's clock.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// Stops it; what is under way is lost.
    ///
    /// # Errors
    ///
    /// It broke down.
    pub fn stop(self) -> io::Result<Work> {
        self.stop.store(true, Ordering::Release);
        drop(self.wake);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the engine broke down"))
    }
}

/// The loop's own state.
struct Mover {
    ends: Arc<Ends>,
    pipes: [Pipe<Datagram>; 2],
    ways: [Passage; 2],
    recorder: Recorder,
    flows: Option<Flows>,
    rooms: Vec<Vec<u8>>,
    clock: Clock,
    drive: Drive,
    stop: Arc<AtomicBool>,
    woken: PipeReader,
    tallies: Arc<[Tally; 2]>,
    /// When others last saw new quantiles.
    ranked: Time,
}

impl Mover {
    fn run(&mut self, mut urgent: bool) -> io::Result<()> {
        let descriptors = [
            self.ends.source(Way::Up).as_raw_fd(),
            self.ends.source(Way::Down).as_raw_fd(),
            self.woken.as_raw_fd(),
        ];
        let may_be_urgent = urgent;
        let mut pace = Pace::new(self.drive.margin, self.clock.now());
        let mut spinning = false;
        let mut loops = 0_u32;
        while !self.stop.load(Ordering::Relaxed) {
            loops = loops.wrapping_add(1);
            if loops.is_multiple_of(LOOK) {
                let now = self.clock.now();
                self.publish(now);
            }
            self.obey();
            let mut busy = false;
            for way in Way::BOTH {
                busy |= self.send(way)?;
                busy |= self.take(way)?;
            }
            let now = self.clock.now();
            if spinning {
                pace.spun(now);
                spinning = false;
            }
            if self.recorder.due(now) {
                self.settle(now);
            }
            if let Some(wanted) = pace.urgency(now)
                && may_be_urgent
                && wanted != urgent
            {
                urgent = wanted;
                this_thread::set_urgent(urgent)?;
            }
            if busy {
                continue;
            }
            let [up, down] = [0, 1].map(|way| self.pipes[way].next_event());
            match pace.wait(now, earlier(up, down)) {
                Wait::Spin => spinning = true,
                Wait::Sleep(longest) => {
                    self.publish(now);
                    // A log is written also while nothing happens.
                    let longest = match longest {
                        None if self.recorder.on() => Some(Span::from_millis(50)),
                        longest => longest,
                    };
                    this_thread::sleep(descriptors, longest)?;
                    pace.slept(now, self.clock.now());
                }
            }
        }
        Ok(())
    }

    /// Sends what is due. True if there was anything.
    #[inline]
    fn send(&mut self, way: Way) -> io::Result<bool> {
        let place = way.place();
        let mut now = self.clock.now();
        let mut any = false;
        while let Some((due, packet)) = self.pipes[place].pop(now, &mut Log::to(&mut self.recorder))
        {
            any = true;
            self.ways[place].lateness.record(now - due);
            self.deliver(now, way, packet)?;
            now = self.clock.now();
        }
        Ok(any)
    }

    fn deliver(&mut self, now: Time, way: Way, packet: Datagram) -> io::Result<()> {
        let passage = &mut self.ways[way.place()];
        passage.delivered += 1;
        passage.bytes += packet.size();
        if let Err(error) = self.ends.target(way).write(packet.bytes()) {
            match error.raw_os_error() {
                // The device's memory is full, or a packet is malformed: the
                // kernel's business, to be counted.
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EINVAL) => {
                    passage.refused += 1;
                }
                _ => return Err(error),
            }
        }
        if self.recorder.on() {
            self.recorder.saw(now, way, true, &packet);
            let (packet, size) = (packet.id(), packet.size());
            let mut log = Log::to(&mut self.recorder);
            log.emit(now, || Event::Arrived {
                packet,
                size,
                duplicate: false,
            });
        }
        if self.rooms.len() < ROOMS {
            self.rooms.push(packet.into_room());
        }
        Ok(())
    }

    /// Takes a few packets off a device. True if there were any.
    #[inline]
    fn take(&mut self, way: Way) -> io::Result<bool> {
        let place = way.place();
        for taken in 0..BATCH {
            let mut room = self.rooms.pop().unwrap_or_else(Datagram::room);
            let Some(length) = self.ends.source(way).read(&mut room)? else {
                self.rooms.push(room);
                return Ok(taken > 0);
            };
            let number = self.ways[place].arrived;
            match Datagram::new(room, length, way, number) {
                Ok(packet) => self.arrive(way, packet)?,
                Err(room) => self.rooms.push(room),
            }
        }
        Ok(true)
    }

    fn arrive(&mut self, way: Way, mut packet: Datagram) -> io::Result<()> {
        let now = self.clock.now();
        if let Some(flows) = &mut self.flows {
            let (flow, delays) = flows.sort(packet.bytes(), way);
            packet.set_flow(flow);
            for (flow, extra) in delays.into_iter().flatten() {
                let pipe = &mut self.pipes[Way::of(flow).place()];
                pipe.set_flow_delay(now, flow, extra, &mut Log::to(&mut self.recorder));
            }
        }
        let passage = &mut self.ways[way.place()];
        passage.arrived += 1;
        if self.recorder.on() {
            self.recorder.saw(now, way, false, &packet);
            let (id, size) = (packet.id(), packet.size());
            let mut log = Log::to(&mut self.recorder);
            log.emit(now, || Event::Sent {
                packet: id,
                size,
                kind: Kind::Bulk,
                in_flight: Bytes::ZERO,
            });
        }
        let pipe = &mut self.pipes[way.place()];
        match pipe.push(now, packet, &mut Log::to(&mut self.recorder)) {
            Some(packet) => {
                self.ways[way.place()].lateness.record(Span::ZERO);
                self.deliver(now, way, packet)
            }
            None => Ok(()),
        }
    }

    /// Carries out what has been ordered from outside.
    #[inline]
    fn obey(&mut self) {
        let Some(flows) = &mut self.flows else {
            return;
        };
        for (flow, way, extra) in flows.orders() {
            let now = self.clock.now();
            let mut log = Log::to(&mut self.recorder);
            self.pipes[way.place()].set_flow_delay(now, flow, extra, &mut log);
        }
    }

    /// Brings the links up to `now`, so that the batch is whole until then.
    fn settle(&mut self, now: Time) {
        for pipe in &mut self.pipes {
            pipe.finish(now, &mut Log::to(&mut self.recorder));
        }
        self.recorder.hand_over(now);
    }

    /// Lets others see what has happened.
    fn publish(&mut self, now: Time) {
        let rank = now - self.ranked >= RANK;
        if rank {
            self.ranked = now;
        }
        for way in [0, 1] {
            let (tally, passage) = (&self.tallies[way], &self.ways[way]);
            let set = |it: &AtomicU64, value| it.store(value, Ordering::Relaxed);
            set(&tally.arrived, passage.arrived);
            set(&tally.delivered, passage.delivered);
            set(&tally.bytes, passage.bytes.get());
            set(&tally.dropped, self.recorder.dropped[way]);
            set(&tally.marked, self.recorder.marked[way]);
            set(&tally.waiting, self.pipes[way].waiting().get());
            set(&tally.queued, self.pipes[way].packets() as u64);
            if rank {
                for (late, share) in tally.late.iter().zip([0.5, 0.99]) {
                    let nanos = passage.lateness.quantile(share).as_nanos();
                    set(late, u64::try_from(nanos).unwrap_or(0));
                }
            }
        }
    }

    fn finish(mut self, not_urgent: Option<io::Error>, failed: Option<io::Error>) -> Work {
        let end = self.clock.now();
        self.settle(end);
        self.publish(end);
        for way in [0, 1] {
            self.ways[way].dropped = self.recorder.dropped[way];
            self.ways[way].lost = self.recorder.lost[way];
            self.ways[way].marked = self.recorder.marked[way];
        }
        let (failures, missing) = self.recorder.finish(end);
        Work {
            ways: self.ways,
            lasted: end.since_epoch(),
            not_urgent,
            failed,
            failures,
            missing,
        }
    }
}
