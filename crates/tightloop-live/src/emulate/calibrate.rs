//! What emulation can do on this machine at this moment, measured with the
//! engine itself in less than a second.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;

use tightloop::event::LinkId;
use tightloop::link::{Link, Settings};
use tightloop::units::{Bytes, Rate, Span, Time};

use super::engine::{Drive, Engine, Tally, Work};
use super::lateness::Lateness;
use super::packet::{Datagram, MTU};
use super::record::{Batch, Failure, Output};
use super::sys::thread as this_thread;
use super::{Ends, Error};
use crate::clock::{Clock, to_std};

/// How often a sleep is tried, and how long it is.
const SLEEPS: usize = 100;
const SLEEP: Span = Span::from_millis(1);
/// The part of a wait that is spun is as long as nearly every sleep is late,
/// between these. Ours.
const MARGINS: (Span, Span) = (Span::from_micros(50), Span::from_micros(200));
/// Probes that cross a link, and how far apart. Ours: a full packet every
/// 500 µs is 24 Mbit/s.
const PROBES: u64 = 800;
const APART: Span = Span::from_micros(500);
/// The link that they cross.
const PROBED: Rate = Rate::from_mbps(50);
const PROBED_DELAY: Span = Span::from_millis(2);
/// How long as many packets are sent as can be.
const FLOOD: Span = Span::from_millis(200);
/// After that a device's queue has emptied.
const REST: Span = Span::from_millis(50);
/// Bytes of IPv4 and UDP before a probe's own.
const HEADERS: usize = 28;

/// What was measured.
#[derive(Debug)]
pub struct Ability {
    /// How the engine should be driven.
    pub drive: Drive,
    /// Full packets that it can carry in a second, one way, with what sends
    /// them on the same machine.
    pub packets: f64,
    /// The same in IP bits.
    pub rate: Rate,
    /// How late sleeps end.
    pub oversleep: Lateness,
    /// How long after a program sent a packet the engine has it.
    pub pickup: Lateness,
    /// How much later than they should packets go on.
    pub dispatch: Lateness,
    /// Why there is no real-time priority.
    pub not_urgent: Option<io::Error>,
}

/// Measures, with the real devices, before the link is used.
///
/// # Errors
///
/// The kernel's reasons.
pub fn calibrate(ends: &Arc<Ends>, urgent: bool) -> Result<Ability, Error> {
    let oversleep = thread::spawn(move || oversleep(urgent));
    let oversleep = oversleep.join().map_err(|_| Error::Broken)??;
    let (least, most) = MARGINS;
    let drive = Drive {
        margin: oversleep.quantile(0.95).max(least).min(most),
        urgent,
    };

    let (output, pickup) = Pickup::new();
    let probed = Settings::fixed(PROBED, 1000, PROBED_DELAY);
    let work = with(
        ends,
        &probed,
        vec![Box::new(output)],
        drive,
        |socket, clock, _| {
            let mut next = clock.now();
            for _ in 0..PROBES {
                next += APART;
                thread::sleep(to_std(next - clock.now()));
                let mut probe = [0; MTU - HEADERS];
                probe[..8].copy_from_slice(&clock.now().as_nanos().to_be_bytes());
                socket.send(&probe)?;
            }
            thread::sleep(to_std(PROBED_DELAY + PROBED_DELAY));
            Ok(())
        },
    )?;
    let [up, _] = work.ways;
    let pickup = pickup.lock().map_err(|_| Error::Broken)?.clone();

    let free = Settings::default();
    let mut carried = (0, Span::ZERO);
    let flooded = &mut carried;
    with(ends, &free, Vec::new(), drive, |socket, clock, tallies| {
        let begin = clock.now();
        while clock.now() < begin + FLOOD {
            socket.send(&[0; MTU - HEADERS])?;
        }
        let delivered = tallies[0].delivered.load(Ordering::Relaxed);
        *flooded = (delivered, clock.now() - begin);
        // What the devices still hold is not to meet the link that comes next.
        thread::sleep(to_std(REST));
        Ok(())
    })?;
    let (packets, span) = carried;
    let bytes = Bytes::new(MTU as u64) * packets;
    Ok(Ability {
        drive,
        packets: packets as f64 / span.secs_f64(),
        rate: bytes.per(span).unwrap_or(Rate::ZERO),
        oversleep,
        pickup,
        dispatch: up.lateness,
        not_urgent: work.not_urgent,
    })
}

/// How late sleeps end, on a thread as the engine's is.
fn oversleep(urgent: bool) -> io::Result<Lateness> {
    this_thread::sleep_precisely();
    if urgent {
        // Without the right to it, the answer is about a thread without it.
        let _ = this_thread::set_urgent(true);
    }
    let (pipe, _wake) = io::pipe()?;
    let clock = Clock::start();
    let mut late = Lateness::default();
    for _ in 0..SLEEPS {
        let until = clock.now() + SLEEP;
        this_thread::sleep([std::os::fd::AsRawFd::as_raw_fd(&pipe)], Some(SLEEP))?;
        late.record(clock.now() - until);
    }
    Ok(late)
}

/// Runs an engine over a link while something is sent from inside.
fn with(
    ends: &Arc<Ends>,
    settings: &Settings,
    outputs: Vec<Box<dyn Output>>,
    drive: Drive,
    send: impl FnOnce(UdpSocket, Clock, &[Tally; 2]) -> io::Result<()> + Send,
) -> Result<Work, Error> {
    let link = |name| -> Vec<Link<Datagram>> {
        let link = settings.build(LinkId(0), name, 1, &|_| None);
        link.into_iter().collect()
    };
    let target = UdpSocket::bind((ends.far_address(), 0))?;
    let address = target.local_addr()?;
    let links = [link("up"), link("down")];
    let engine = Engine::start(ends, links, outputs, drive, |_: &Failure| {})?;
    let (clock, tallies) = (engine.clock(), engine.tallies());
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(move || {
            ends.enter()?;
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            socket.connect(address)?;
            send(socket, clock, &tallies)
        });
        sender.join().map_err(|_| Error::Broken)
    });
    let work = engine.stop()?;
    sent??;
    match work.failed {
        Some(error) => Err(error.into()),
        None => Ok(work),
    }
}

/// Compares when packets came with when they were sent, where the first eight
/// bytes of UDP payload are the engine's clock at sending, in nanoseconds.
#[derive(Debug)]
pub struct Pickup(Arc<Mutex<Lateness>>);

impl Pickup {
    /// An output, and what it measures.
    #[must_use]
    pub fn new() -> (Self, Arc<Mutex<Lateness>>) {
        let measured = Arc::default();
        (Self(Arc::clone(&measured)), measured)
    }
}

impl Output for Pickup {
    fn name(&self) -> String {
        "calibration".into()
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let broken = |_| io::Error::other("calibration broke down");
        let mut late = self.0.lock().map_err(broken)?;
        for seen in batch.packets.iter().filter(|seen| !seen.crossed) {
            if let Some(stamp) = batch.bytes(seen).get(HEADERS..HEADERS + 8) {
                let stamp = stamp.try_into().map_or(0, u64::from_be_bytes);
                late.record(seen.at - Time::from_nanos(stamp));
            }
        }
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        Ok(())
    }
}
