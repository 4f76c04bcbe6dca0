//! A bulk flow: as many bytes as TCP will take, from one side of an emulated
//! link to the other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};

use tightloop::units::{Bytes, Span, Time};

use super::socket::{close_at_once, info_of, set_congestion};
use super::{Error, Info};
use crate::clock::{Clock, to_std};
use crate::emulate::flows::Connection;
use crate::emulate::{Ends, Way};

/// Bytes handed to the kernel at a time. Ours: two of its largest segments.
const PIECE: usize = 1 << 17;

/// How a flow is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The kernel's controller: `cubic`, `reno`, `bbr`, … Those that are there:
    /// [`super::available`].
    pub congestion: String,
    /// How often the kernel is asked for its thoughts.
    pub every: Span,
    /// The sink's port; any where it is zero.
    pub port: u16,
}

impl Settings {
    /// Under a controller, asked ten times a second.
    #[must_use]
    pub fn under(congestion: &str) -> Self {
        Self {
            congestion: congestion.to_owned(),
            // Ours: a few round trips of a usual path.
            every: Span::from_millis(100),
            port: 0,
        }
    }
}

/// What the kernel thought at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When, by the clock that the flow was given.
    pub at: Time,
    /// What.
    pub info: Info,
}

/// What a flow came to.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Payload that the sink got.
    pub bytes: Bytes,
    /// The kernel's thoughts, in the order of time.
    pub samples: Vec<Sample>,
}

/// A flow that is running.
#[derive(Debug)]
pub struct Bulk {
    connection: Connection,
    source: TcpStream,
    sink: TcpStream,
    received: Arc<AtomicU64>,
    writer: JoinHandle<io::Result<()>>,
    reader: JoinHandle<io::Result<()>>,
    asker: JoinHandle<Vec<Sample>>,
    stop: Sender<()>,
}

impl Bulk {
    /// Starts a flow that crosses the link this way; an engine must be moving
    /// packets. Samples have the times of `clock`, for which the engine's is
    /// meant.
    ///
    /// # Errors
    ///
    /// The kernel does not have the controller, or has another reason.
    pub fn start(ends: &Ends, way: Way, settings: &Settings, clock: Clock) -> Result<Self, Error> {
        let listen = || TcpListener::bind((ends.address(way.target()), settings.port));
        let listener = ends.on(way.target(), listen)??;
        let address = listener.local_addr()?;
        let connect = || -> Result<TcpStream, Error> {
            let source = TcpStream::connect(address)?;
            set_congestion(&source, &settings.congestion)?;
            Ok(source)
        };
        let source = ends.on(way.source(), connect)??;
        let own = source.local_addr()?;
        let sink = loop {
            // Anybody may knock at an open port.
            let (sink, peer) = listener.accept()?;
            if peer == own {
                break sink;
            }
        };
        close_at_once(&source)?;
        let (near, far) = match way {
            Way::Up => (own, address),
            Way::Down => (address, own),
        };
        let received = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = channel();
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (from, to, asked) = (source.try_clone()?, sink.try_clone()?, source.try_clone()?);
        let (count, every) = (Arc::clone(&received), settings.every);
        Ok(Self {
            connection: Connection { near, far },
            writer: named("bulk").spawn(move || write(from))?,
            reader: named("sink").spawn(move || read(to, &count))?,
            asker: named("asker").spawn(move || ask(&asked, every, clock, &stopped))?,
            source,
            sink,
            received,
            stop,
        })
    }

    /// Its two ends.
    #[must_use]
    pub const fn connection(&self) -> Connection {
        self.connection
    }

    /// Payload that the sink has got so far.
    #[must_use]
    pub fn received(&self) -> Bytes {
        Bytes::new(self.received.load(Ordering::Relaxed))
    }

    /// What the kernel thinks now.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn info(&self) -> io::Result<Info> {
        info_of(&self.source)
    }

    /// Ends it at once; what is under way is given up.
    ///
    /// # Errors
    ///
    /// It broke before that, and why.
    pub fn stop(self) -> Result<Carried, Error> {
        drop(self.stop);
        let samples = self.asker.join().map_err(|_| Error::Broken)?;
        // Where it has ended by itself there is nothing to shut.
        for socket in [&self.source, &self.sink] {
            let _ = socket.shutdown(Shutdown::Both);
        }
        let written = self.writer.join().map_err(|_| Error::Broken)?;
        let read = self.reader.join().map_err(|_| Error::Broken)?;
        written.and(read)?;
        Ok(Carried {
            bytes: Bytes::new(self.received.load(Ordering::Relaxed)),
            samples,
        })
    }
}

/// True where this side has ended the flow itself.
fn ended(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::NotConnected | ErrorKind::ConnectionReset
    )
}

fn write(mut source: TcpStream) -> io::Result<()> {
    let piece = vec![0; PIECE];
    loop {
        match source.write(&piece) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if ended(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn read(mut sink: TcpStream, received: &AtomicU64) -> io::Result<()> {
    let mut room = vec![0; PIECE];
    loop {
        match sink.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                received.fetch_add(length as u64, Ordering::Relaxed);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if ended(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn ask(source: &TcpStream, every: Span, clock: Clock, stopped: &Receiver<()>) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut next = clock.now();
    loop {
        if let Ok(info) = info_of(source) {
            let at = clock.now();
            samples.push(Sample { at, info });
        }
        next = (next + every).max(clock.now());
        match stopped.recv_timeout(to_std(next - clock.now())) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return samples,
        }
    }
}
