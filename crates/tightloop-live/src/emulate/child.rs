//! The programs that a link is there for: started, signalled, awaited, and
//! with all their offspring gone when the link is.

use std::fs;
use std::os::fd::AsRawFd;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use tightloop::units::Span;

use super::sys::process::{self, CHILD, Signals};
use super::sys::thread as this_thread;
use super::{Ends, Error};

/// The variable that tells the command the far side's address.
pub const BASE: &str = "TIGHTLOOP_BASE";
/// The same, of IPv6.
pub const BASE_SIX: &str = "TIGHTLOOP_BASE6";
/// The variable that tells programs on the far side the command's address.
pub const NEAR: &str = "TIGHTLOOP_NEAR";

/// How often whoever watches may look.
const TICK: Span = Span::from_millis(500);
/// After a request to end, a program has this long. Ours.
const GRACE: Duration = Duration::from_secs(3);
/// Offspring that outlive the command have this long. Ours.
const OFFSPRING_GRACE: Duration = Duration::from_millis(300);
/// So many requests make it urgent. Ours: twice may be a mistake.
const INSISTENT: u32 = 3;

/// This process as a parent. From when it is made, signals that would end the
/// process go to the command.
#[derive(Debug)]
pub struct Family {
    signals: Signals,
}

impl Family {
    /// To be made before other threads are, which would take signals otherwise.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn new() -> Result<Self, Error> {
        process::adopt_orphans();
        let signals = Signals::take()?;
        Ok(Self { signals })
    }

    /// Runs a command inside, and another outside while it lasts. Ends when the
    /// command has ended and all that both have started is gone.
    ///
    /// # Errors
    ///
    /// A command that cannot be started.
    pub fn run(
        &self,
        ends: &Ends,
        mut command: Command,
        far: Option<Command>,
        mut tick: impl FnMut(),
    ) -> Result<ExitStatus, Error> {
        command.env(BASE, ends.far_address().to_string());
        command.env(BASE_SIX, ends.far_address_six().to_string());
        process::prepare(&mut command);
        if let Some(mut far) = far {
            far.env(NEAR, ends.near_address().to_string());
            process::prepare(&mut far);
            start(&mut far)?;
        }
        let status = thread::scope(|scope| {
            let (started, child) = channel();
            let (end, ended) = channel::<()>();
            // The thread lives as long as the command, which would be told
            // otherwise that its parent has died.
            scope.spawn(move || {
                let child = ends.enter().map_err(Error::Namespace);
                let child = child.and_then(|()| start(&mut command));
                let _ = started.send(child);
                let _ = ended.recv();
            });
            let status = match child.recv() {
                Ok(child) => child.and_then(|child| self.wait(child, &mut tick)),
                Err(_) => Err(Error::Broken),
            };
            drop(end);
            status
        });
        self.end_offspring();
        status
    }

    fn wait(&self, child: u32, tick: &mut dyn FnMut()) -> Result<ExitStatus, Error> {
        let mut asked = 0;
        let mut deadline: Option<Instant> = None;
        loop {
            this_thread::sleep([self.signals.as_raw_fd()], Some(TICK))?;
            while let Some(signal) = self.signals.next() {
                if signal.number == CHILD {
                    continue;
                }
                asked += 1;
                // What the terminal sends, the command has got, too, and may
                // have its own opinion of.
                if !signal.by_terminal {
                    process::send(child, signal.number);
                    deadline.get_or_insert_with(|| Instant::now() + GRACE);
                }
            }
            if asked >= INSISTENT || deadline.is_some_and(|it| it <= Instant::now()) {
                process::send(child, libc::SIGKILL);
            }
            while let Some((who, status)) = process::ended() {
                if who == child {
                    return Ok(status);
                }
            }
            tick();
        }
    }

    /// Ends everything that is left, at first kindly.
    fn end_offspring(&self) {
        let begin = Instant::now();
        let mut number = libc::SIGTERM;
        loop {
            while process::ended().is_some() {}
            let left = children();
            if left.is_empty() {
                return;
            }
            for child in left {
                process::send(child, number);
            }
            if begin.elapsed() > OFFSPRING_GRACE {
                number = libc::SIGKILL;
            }
            let _ = this_thread::sleep([self.signals.as_raw_fd()], Some(Span::from_millis(20)));
            while self.signals.next().is_some() {}
        }
    }
}

fn start(command: &mut Command) -> Result<u32, Error> {
    match command.spawn() {
        Ok(child) => Ok(child.id()),
        Err(error) => Err(Error::Command {
            command: command.get_program().to_string_lossy().into_owned(),
            error,
        }),
    }
}

/// This process's children, adopted ones included.
fn children() -> Vec<u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number: &u32| {
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            // The name before may hold anything, brackets too.
            let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
            rest.split_whitespace().nth(1) == Some(own.to_string().as_str())
        })
        .collect()
}
