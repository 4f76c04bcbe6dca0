//! A real encoder in a simulated call.
//!
//! [`FootageEncoder`] films [`Footage`] on the call's own clock and encodes it,
//! so that a rate control meets what a real encoder makes of its orders. Every
//! coded picture stays in a [`Recording`], for what arrived to be decoded later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tightloop::event::FrameId;
use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop::video::{Encoded, Encoder, Frame, Order};

use crate::codec::{Coded, PictureOrder, VideoEncoder};
use crate::footage::Footage;
use crate::picture::Picture;

/// Encodes what a camera would see.
#[derive(Debug)]
pub struct FootageEncoder {
    encoder: Box<dyn VideoEncoder>,
    footage: Arc<Footage>,
    /// What encoding takes on the call's clock.
    takes: Span,
    recording: Recording,
    picture: Picture,
    limits: Limits,
}

impl FootageEncoder {
    /// An encoder built for the footage's size.
    ///
    /// `takes` is how long each picture is in the encoder on the call's clock.
    /// It is a setting, not a measurement: how fast this machine is must not
    /// change a run.
    #[must_use]
    pub fn new(encoder: Box<dyn VideoEncoder>, footage: Arc<Footage>, takes: Span) -> Self {
        let picture = Picture::black(footage.size());
        Self {
            encoder,
            footage,
            takes,
            recording: Recording::default(),
            picture,
            limits: Limits::default(),
        }
    }

    /// What it encodes, shared: it fills while the call runs.
    #[must_use]
    pub fn recording(&self) -> Recording {
        self.recording.clone()
    }

    fn encode_picture(&mut self, number: u64, order: &PictureOrder) -> Result<Coded, String> {
        let footage = self.footage.picture(number, &mut self.picture);
        footage.map_err(|error| error.to_string())?;
        let coded = self.encoder.encode(&self.picture, order);
        coded.map_err(|error| error.to_string())
    }
}

impl Encoder for FootageEncoder {
    fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
        let picture = self.footage.number_at(frame.captured.since_epoch());
        let wanted = PictureOrder {
            captured: frame.captured,
            rate: order.rate,
            key: order.key,
        };
        // A call cannot fail half way: what failed is skipped, and the recording
        // tells.
        let coded = self.encode_picture(picture, &wanted);
        let mut reel = self.recording.reel();
        let coded = coded.unwrap_or_else(|failure| {
            reel.failure
                .get_or_insert(format!("frame {}: {failure}", frame.id.0));
            Coded::default()
        });
        self.limits.push(frame.captured, &coded);
        let encoded = Encoded {
            frame: frame.id,
            size: Bytes::len_of(coded.bytes.len()),
            key: coded.key,
            ready: now + self.takes,
        };
        reel.takes.push(Take {
            frame: frame.id,
            captured: frame.captured,
            picture,
            coded: Arc::new(coded),
        });
        encoded
    }

    /// A real encoder cannot be copied.
    fn fork(&self) -> Option<Box<dyn Encoder>> {
        None
    }

    fn least_rate(&self) -> Rate {
        self.limits.least()
    }
}

/// How long a skipped picture is remembered. Ours: a scene's content changes
/// slower, and a second without skips would forget why there are none.
const MEMORY: Span = Span::from_secs(5);

/// Pictures of which the mean size counts. Ours: a quarter of a second.
const LATEST: usize = 8;

/// What pictures cost at the encoder's coarsest: known when it skips one.
#[derive(Debug, Default)]
struct Limits {
    /// The sizes of the latest pictures but key frames.
    sizes: VecDeque<Bytes>,
    before: Option<Time>,
    /// The rate of every picture being as large as those before the last one
    /// skipped, and when that was.
    least: Option<(Time, Rate)>,
}

impl Limits {
    fn push(&mut self, at: Time, coded: &Coded) {
        let interval = self.before.map(|before| at - before);
        self.before = Some(at);
        let size = Bytes::len_of(coded.bytes.len());
        if size > Bytes::ZERO && !coded.key {
            self.sizes.push_back(size);
            if self.sizes.len() > LATEST {
                self.sizes.pop_front();
            }
        }
        if let (Bytes::ZERO, Some(interval)) = (size, interval)
            && !self.sizes.is_empty()
        {
            let total: Bytes = self.sizes.iter().copied().sum();
            let mean = total / self.sizes.len() as u64;
            self.least = mean.per(interval).map(|rate| (at, rate));
        }
        self.least.take_if(|(then, _)| at - *then > MEMORY);
    }

    fn least(&self) -> Rate {
        self.least.map_or(Rate::ZERO, |(_, rate)| rate)
    }
}

/// Every frame that was encoded, in order; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Reel>>);

#[derive(Debug, Default)]
struct Reel {
    takes: Vec<Take>,
    failure: Option<String>,
}

/// One frame of a recording.
#[derive(Clone, Debug)]
pub struct Take {
    /// The frame.
    pub frame: FrameId,
    /// When it was captured.
    pub captured: Time,
    /// Its picture, for [`Footage::picture`].
    pub picture: u64,
    /// Its bytes; none where the encoder skipped it.
    pub coded: Arc<Coded>,
}

impl Recording {
    fn reel(&self) -> MutexGuard<'_, Reel> {
        // A reel is whole between any two of its pushes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A frame that was encoded; `None` for others, also those that the rate
    /// control left out.
    #[must_use]
    pub fn take(&self, frame: FrameId) -> Option<Take> {
        let reel = self.reel();
        let at = reel.takes.binary_search_by_key(&frame, |take| take.frame);
        at.ok().map(|at| reel.takes[at].clone())
    }

    /// Forgets the frames captured before a moment: a long call's would fill the
    /// memory.
    pub fn forget_before(&self, moment: Time) {
        let mut reel = self.reel();
        let old = reel.takes.partition_point(|take| take.captured < moment);
        reel.takes.drain(..old);
    }

    /// All frames so far, in the order of encoding.
    #[must_use]
    pub fn takes(&self) -> Vec<Take> {
        self.reel().takes.clone()
    }

    /// The first picture that could not be read or encoded, and why.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.reel().failure.clone()
    }
}

#[cfg(test)]
mod tests {
    use tightloop::units::Rate;

    use super::*;
    use crate::codec::replay::{Replay, Shown};
    use crate::codec::{CODECS, CodecKind, CodecStart};
    use crate::footage::FootageSettings;

    const INTERVAL: Span = Span::from_nanos(33_333_333);

    fn footage() -> Arc<Footage> {
        let settings = FootageSettings {
            size: Some("160x96".parse().expect("a size")),
            longest: Span::from_secs(1),
            ..FootageSettings::default()
        };
        Arc::new(Footage::open("gen:game", &settings).expect("footage"))
    }

    fn filming(kind: &CodecKind, footage: &Arc<Footage>) -> FootageEncoder {
        let start = CodecStart::plain(footage.size(), INTERVAL);
        let encoder = (kind.encoder)(&start).expect("an encoder");
        FootageEncoder::new(encoder, footage.clone(), Span::from_millis(4))
    }

    /// Frames from 25 ms on, with a key frame asked for at 20.
    fn film(encoder: &mut FootageEncoder, count: u32) -> Vec<Encoded> {
        let encode = |number: u32| {
            let captured = Time::from_millis(25) + INTERVAL * i64::from(number);
            let frame = Frame {
                id: FrameId(number),
                captured,
                scene_cut: false,
            };
            let rate = Rate::from_kbps(600);
            let order = Order {
                rate,
                budget: rate.over(INTERVAL),
                key: number == 20,
            };
            encoder.encode(captured, &frame, &order)
        };
        (0..count).map(encode).collect()
    }

    #[test]
    fn a_call_is_filmed_on_its_own_clock_and_can_be_shown_afterwards() {
        let footage = footage();
        for kind in CODECS {
            let mut encoder = filming(kind, &footage);
            let recording = encoder.recording();
            let encoded = film(&mut encoder, 70);
            let takes = recording.takes();
            assert_eq!((takes.len(), recording.failure()), (70, None));
            let mut replay = Replay::new((kind.decoder)().expect("a decoder"));
            let mut film = Picture::black(footage.size());
            for (encoded, take) in encoded.iter().zip(&takes) {
                let number = encoded.frame.0;
                // 25 ms are three quarters of a picture.
                assert_eq!(take.picture, u64::from(number), "{}", kind.name);
                assert_eq!(encoded.ready, take.captured + Span::from_millis(4));
                assert_eq!(encoded.size, Bytes::len_of(take.coded.bytes.len()));
                assert_eq!(
                    (encoded.key, take.coded.key),
                    (number == 20 || number == 0, encoded.key)
                );
                let again = recording.take(encoded.frame).expect("recorded");
                assert_eq!(again.coded, take.coded);
                let shown = replay.arrived(&take.coded);
                if shown == Shown::Skipped {
                    continue;
                }
                assert_eq!(shown, Shown::New, "{} {number}", kind.name);
                footage.picture(take.picture, &mut film).expect("a picture");
                let pairs = replay.shown().expect("a picture").y().iter().zip(film.y());
                let off: u64 = pairs
                    .map(|(one, other)| u64::from(one.abs_diff(*other)))
                    .sum();
                let off = off as f64 / film.size().pixels() as f64;
                assert!(off < 12.0, "{} {number}: {off}", kind.name);
            }
            assert!(recording.take(FrameId(70)).is_none());
            assert!(encoder.fork().is_none());
        }
    }

    #[test]
    fn a_call_filmed_twice_is_the_same_call() {
        let footage = footage();
        for kind in CODECS {
            let run = || film(&mut filming(kind, &footage), 45);
            assert_eq!(run(), run(), "{}", kind.name);
        }
    }

    #[test]
    fn what_fails_is_skipped_and_told() {
        let footage = footage();
        let other = CodecStart::plain("64x64".parse().expect("a size"), INTERVAL);
        let encoder = (CODECS[0].encoder)(&other).expect("an encoder");
        let mut encoder = FootageEncoder::new(encoder, footage, Span::ZERO);
        let encoded = film(&mut encoder, 2);
        assert_eq!(encoded[1].size, Bytes::ZERO);
        let failure = encoder.recording().failure().expect("told");
        assert!(
            failure.starts_with("frame 0: openh264: a picture of 160x96"),
            "{failure}"
        );
    }

    #[test]
    fn what_a_picture_costs_at_least_is_known_from_skips_and_forgotten() {
        let coded = |bytes: usize, key| Coded {
            bytes: vec![0; bytes],
            key,
        };
        let at = |frame: u64| Time::from_millis(40 * frame);
        let mut limits = Limits::default();
        limits.push(at(0), &coded(50_000, true));
        for frame in 1..20 {
            limits.push(
                at(frame),
                &coded(if frame < 10 { 9_000 } else { 4_000 }, false),
            );
        }
        assert_eq!(limits.least(), Rate::ZERO, "nothing was skipped");
        limits.push(at(20), &coded(0, false));
        // 4 kB every 40 ms.
        assert_eq!(limits.least(), Rate::from_kbps(800));
        limits.push(at(21), &coded(4_000, false));
        assert_eq!(limits.least(), Rate::from_kbps(800));
        limits.push(at(20 + 126), &coded(4_000, false));
        assert_eq!(limits.least(), Rate::ZERO);
    }
}
