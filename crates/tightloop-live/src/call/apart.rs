//! An encoder on a thread of its own: the session's thread never waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use tightloop::units::{Bytes, Rate, Time};
use tightloop::video::{Encoded, Encoder, Frame, Order};

use super::Signal;

/// A frame to be encoded.
type Job = (Time, Frame, Order);

/// Another encoder, elsewhere. A frame that comes while it is busy is skipped:
/// who is too slow for his frame rate must not fall behind as well.
#[derive(Debug)]
pub struct Apart {
    jobs: SyncSender<Job>,
    done: Receiver<Encoded>,
    busy: bool,
    /// The other's least rate, in bits per second.
    least: Arc<AtomicU64>,
}

impl Apart {
    /// Moves an encoder to a thread, which wakes the session's when it is done
    /// with a frame.
    ///
    /// # Errors
    ///
    /// No thread to be had.
    pub fn new(mut encoder: Box<dyn Encoder>, signal: Arc<Signal>) -> std::io::Result<Self> {
        let (jobs, orders) = sync_channel::<Job>(1);
        let (coded, done) = sync_channel(1);
        let least = Arc::new(AtomicU64::new(encoder.least_rate().as_bps()));
        let told = Arc::clone(&least);
        let builder = thread::Builder::new().name("encoder".into());
        builder.spawn(move || {
            for (now, frame, order) in orders {
                let encoded = encoder.encode(now, &frame, &order);
                told.store(encoder.least_rate().as_bps(), Ordering::Relaxed);
                // What it takes is what it took, which the session will see.
                if coded
                    .send(Encoded {
                        ready: now,
                        ..encoded
                    })
                    .is_err()
                {
                    return;
                }
                signal.wake();
            }
        })?;
        Ok(Self {
            jobs,
            done,
            busy: false,
            least,
        })
    }
}

impl Encoder for Apart {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let skipped = skipped(now, frame);
        match self.begin(now, frame, order) {
            Some(encoded) => encoded,
            None => {
                self.busy = false;
                self.done.recv().unwrap_or(skipped)
            }
        }
    }

    fn begin(&mut self, now: Time, frame: &Frame, order: &Order) -> Option<Encoded> {
        if self.busy || self.jobs.try_send((now, *frame, *order)).is_err() {
            return Some(skipped(now, frame));
        }
        self.busy = true;
        None
    }

    fn collect(&mut self) -> Option<Encoded> {
        let encoded = self.done.try_recv().ok()?;
        self.busy = false;
        Some(encoded)
    }

    fn fork(&self) -> Option<Box<dyn Encoder>> {
        None
    }

    fn least_rate(&self) -> Rate {
        Rate::from_bps(self.least.load(Ordering::Relaxed))
    }
}

fn skipped(now: Time, frame: &Frame) -> Encoded {
    Encoded {
        frame: frame.id,
        size: Bytes::ZERO,
        key: false,
        ready: now,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use tightloop::event::FrameId;

    use super::*;

    /// Is done when it is told to be.
    #[derive(Debug)]
    struct Slow(Receiver<()>);

    impl Encoder for Slow {
        fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
            self.0.recv().expect("told");
            Encoded {
                frame: frame.id,
                size: order.budget,
                key: order.key,
                ready: now,
            }
        }

        fn fork(&self) -> Option<Box<dyn Encoder>> {
            None
        }

        fn least_rate(&self) -> Rate {
            Rate::from_kbps(70)
        }
    }

    fn slow() -> (Apart, Sender<()>, Arc<Signal>) {
        let (tell, told) = channel();
        let signal = Arc::new(Signal::new().expect("a signal"));
        let apart = Apart::new(Box::new(Slow(told)), Arc::clone(&signal));
        (apart.expect("a thread"), tell, signal)
    }

    fn begin(apart: &mut Apart, number: u32) -> Option<Encoded> {
        let frame = Frame {
            id: FrameId(number),
            captured: Time::ZERO,
            scene_cut: false,
        };
        let order = Order {
            rate: Rate::from_kbps(800),
            budget: Bytes::new(1_000),
            key: false,
        };
        apart.begin(Time::from_millis(5), &frame, &order)
    }

    #[test]
    fn nobody_waits_and_who_comes_too_early_is_skipped() {
        let (mut apart, tell, signal) = slow();
        assert_eq!(apart.least_rate(), Rate::from_kbps(70));
        assert_eq!(begin(&mut apart, 0), None);
        assert_eq!(apart.collect(), None);
        let skipped = begin(&mut apart, 1).expect("at once");
        assert_eq!((skipped.frame.0, skipped.size), (1, Bytes::ZERO));
        tell.send(()).expect("alive");
        while !signal.woken() {
            thread::yield_now();
        }
        let encoded = apart.collect().expect("done");
        assert_eq!((encoded.frame.0, encoded.size), (0, Bytes::new(1_000)));
        assert_eq!(encoded.ready, Time::from_millis(5));
        assert_eq!(begin(&mut apart, 2), None);
    }
}
