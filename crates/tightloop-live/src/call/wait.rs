//! How a call's loop waits: punctually, and awake for everybody.

use std::io;
use std::os::fd::RawFd;

use tightloop::units::{Span, Time};

use crate::clock::Clock;
use crate::emulate::pace::{Pace, Wait};
use crate::emulate::sys::thread;

/// The last part of each wait that is spun. Ours: to leave a halted processor
/// takes 50 to 100 µs.
const MARGIN: Span = Span::from_micros(150);
/// The longest sleep. Ours: nothing here is forgotten for longer, whatever wakes.
const LONGEST: Span = Span::from_millis(500);
/// The most descriptors: sixteen paths and a bell.
const MOST: usize = 17;

/// A loop's way to wait.
#[derive(Debug)]
pub(super) struct Waiting {
    pace: Pace,
    spinning: bool,
    urgent: bool,
}

impl Waiting {
    /// For the calling thread, which gets real-time priority where it may.
    pub(super) fn new(clock: &Clock) -> Self {
        thread::sleep_precisely();
        Self {
            pace: Pace::new(MARGIN, clock.now()),
            spinning: false,
            urgent: thread::set_urgent(true).is_ok(),
        }
    }

    /// Waits until `next`, or until one of a few descriptors has something.
    pub(super) fn until(
        &mut self,
        clock: &Clock,
        next: Option<Time>,
        descriptors: impl Iterator<Item = RawFd>,
    ) -> io::Result<()> {
        let now = clock.now();
        if std::mem::take(&mut self.spinning) {
            self.pace.spun(now);
        }
        if let Some(urgent) = self.pace.urgency(now)
            && self.urgent
        {
            thread::set_urgent(urgent)?;
        }
        match self.pace.wait(now, next) {
            Wait::Spin => self.spinning = true,
            Wait::Sleep(span) => {
                let longest = span.unwrap_or(LONGEST).min(LONGEST);
                // The kernel does not look at negative ones.
                let mut looked = [-1; MOST];
                for (place, descriptor) in looked.iter_mut().zip(descriptors) {
                    *place = descriptor;
                }
                thread::sleep(looked, Some(longest))?;
                self.pace.slept(now, clock.now());
            }
        }
        Ok(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = thread::set_urgent(false);
    }
}
