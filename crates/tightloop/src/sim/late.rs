//! An endpoint whose timers fire late, as a process on a real machine does.
//!
//! What comes in is handled at once; only wake-ups that the endpoint asked for
//! are late, each by a uniform random span.

use crate::event::{Log, PathId};
use crate::rng::Stream;
use crate::session::wire::WireError;
use crate::session::{Endpoint, Received, Transmit};
use crate::units::{Span, Time};

/// The endpoint.
#[derive(Debug)]
pub struct Late {
    inner: Box<dyn Endpoint>,
    latest: Span,
    rng: Stream,
    /// The wake-up asked for, and when it will happen.
    armed: Option<(Time, Time)>,
}

impl Late {
    /// Wake-ups of `inner` are late by up to `latest`.
    #[must_use]
    pub const fn new(inner: Box<dyn Endpoint>, latest: Span, rng: Stream) -> Self {
        Self {
            inner,
            latest,
            rng,
            armed: None,
        }
    }

    /// Draws how late a wake-up is, once for each that is asked for.
    fn arm(&mut self) {
        self.armed = self.inner.next_wake().map(|asked| match self.armed {
            Some((before, due)) if before == asked => (asked, due),
            _ => {
                let late = self.rng.span_between(Span::ZERO, self.latest);
                (asked, asked + late)
            }
        });
    }
}

impl Endpoint for Late {
    fn receive(
        &mut self,
        now: Time,
        path: PathId,
        received: Received<'_>,
        log: &mut Log<'_>,
    ) -> Result<(), WireError> {
        self.inner.receive(now, path, received, log)
    }

    fn wake(&mut self, now: Time, log: &mut Log<'_>) {
        self.inner.wake(now, log);
    }

    fn transmit(&mut self, now: Time, out: &mut Transmit, log: &mut Log<'_>) -> bool {
        let sent = self.inner.transmit(now, out, log);
        if !sent || !out.more {
            self.arm();
        }
        sent
    }

    fn next_wake(&self) -> Option<Time> {
        self.armed.map(|(_, due)| due)
    }

    fn min_rtt(&self, path: PathId) -> Option<Span> {
        self.inner.min_rtt(path)
    }

    fn fork(&self) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Self {
            inner: self.inner.fork()?,
            rng: self.rng.clone(),
            ..*self
        }))
    }
}
