//! What a screen shows when some of the coded pictures do not arrive.

use super::{CodecError, Coded, VideoDecoder};
use crate::picture::Picture;

/// A decoder that knows what is missing: after a gap it waits for a key frame,
/// whatever the codec makes of the pictures in between.
#[derive(Debug)]
pub struct Replay {
    decoder: Box<dyn VideoDecoder>,
    /// What is on the screen.
    shown: Option<Picture>,
    /// Nothing is missing that the next picture may refer to.
    whole: bool,
}

/// What one coded picture did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is on the screen.
    New,
    /// The encoder had skipped it: the screen stays, and nothing is missing.
    Skipped,
    /// The screen stays until a key frame arrives.
    Frozen,
    /// The decoder refused it; the screen stays until a key frame arrives.
    Refused(CodecError),
}

impl Replay {
    /// Nothing on the screen yet.
    #[must_use]
    pub fn new(decoder: Box<dyn VideoDecoder>) -> Self {
        Self {
            decoder,
            shown: None,
            whole: false,
        }
    }

    /// A coded picture arrived, whole and in order.
    pub fn arrived(&mut self, coded: &Coded) -> Shown {
        if coded.bytes.is_empty() {
            return Shown::Skipped;
        }
        if !(self.whole || coded.key) {
            return Shown::Frozen;
        }
        match self.decoder.decode(&coded.bytes) {
            Ok(picture) => {
                self.whole = true;
                // A real-time stream has no picture that comes later.
                let new = picture.is_some();
                self.shown = picture.or(self.shown.take());
                if new { Shown::New } else { Shown::Frozen }
            }
            Err(reason) => {
                self.whole = false;
                Shown::Refused(reason)
            }
        }
    }

    /// A coded picture will not be decoded: it did not arrive in time.
    pub fn missing(&mut self, coded: &Coded) {
        self.whole &= coded.bytes.is_empty();
    }

    /// What is on the screen.
    #[must_use]
    pub fn shown(&self) -> Option<&Picture> {
        self.shown.as_ref()
    }

    /// A key frame is needed.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.whole
    }
}
