//! VMAF by libvmaf ([VMAF]), of its fixed-point features and built-in models.
//!
//! It is slow, so that by default it scores one frame in
//! [`every`](Settings::every). Its motion feature compares a source frame with
//! the one before and the one after, and its other features look at one frame
//! alone: libvmaf gets every frame, computes motion for all of them and the
//! rest for those it scores. A score is therefore what it would be if every
//! frame had one; only the mean is of fewer frames.
//!
//! libvmaf's vector code differs from its plain code for narrow pictures; below
//! 640 pixels of width the plain code scores, five times as slow by the pixel,
//! so that scores do not depend on the processor. Other builds of libvmaf may
//! give such pictures scores some tenths away.
//!
//! Without the feature `vmaf` of this crate all names are here, but nothing
//! can be scored: asking is an error that says so.

use std::num::NonZeroU32;

use super::{Error, large_enough, of_size};
use crate::picture::{Picture, Size};

#[cfg_attr(not(feature = "vmaf"), path = "vmaf/absent.rs")]
mod library;

use library::Library;

/// The shortest side that is scored. Ours: the smallest of four scales has an
/// eighth of the pixels and filters 17 wide at the first; below this libvmaf's
/// borders are most of the picture.
pub const SHORTEST: usize = 64;

/// A built-in model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// `vmaf_v0.6.1`: 1080p on a television three picture heights away.
    #[default]
    V061,
    /// `vmaf_v0.6.1neg`: the same without reward for enhancement.
    V061Neg,
}

impl Model {
    /// libvmaf's name of it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::V061 => "vmaf_v0.6.1",
            Self::V061Neg => "vmaf_v0.6.1neg",
        }
    }
}

/// How VMAF is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The model.
    pub model: Model,
    /// Frames 0, n, 2n and so on have a score.
    pub every: NonZeroU32,
}

impl Default for Settings {
    /// `vmaf_v0.6.1` on every fifth frame. Ours: six scores a second at 30 frames a
    /// second; odd, as alternate frames of an encoder may differ in kind.
    fn default() -> Self {
        Self {
            model: Model::default(),
            every: NonZeroU32::new(5).expect("not zero"),
        }
    }
}

/// Pairs of frames in, scores out at the end.
#[derive(Debug)]
pub struct Vmaf {
    size: Size,
    every: NonZeroU32,
    scorer: Library,
    frames: u32,
}

impl Vmaf {
    /// Loads the model. One thread, the caller's.
    ///
    /// # Errors
    ///
    /// Where the size has a side below [`SHORTEST`], libvmaf refuses, or it is not in this build.
    pub fn new(size: Size, settings: Settings) -> Result<Self, Error> {
        large_enough(size, SHORTEST)?;
        Ok(Self {
            size,
            every: settings.every,
            scorer: Library::open(settings.model, settings.every)?,
            frames: 0,
        })
    }

    /// Takes the next frame: what should have been shown, and what was.
    ///
    /// # Errors
    ///
    /// Where a picture is of another size, or libvmaf refuses.
    pub fn push(&mut self, source: &Picture, shown: &Picture) -> Result<(), Error> {
        of_size(source, self.size)?;
        of_size(shown, self.size)?;
        self.scorer.read(source, shown, self.frames)?;
        self.frames += 1;
        Ok(())
    }

    /// The scores, 0 to 100, of frames 0, n, 2n and so on.
    ///
    /// # Errors
    ///
    /// Where libvmaf refuses.
    pub fn finish(mut self) -> Result<Vec<f64>, Error> {
        if self.frames == 0 {
            return Ok(Vec::new());
        }
        self.scorer.flush()?;
        (0..self.frames)
            .step_by(tightloop::units::index(self.every.get().into()))
            .map(|frame| self.scorer.score(frame))
            .collect()
    }
}
