//! How like its source a shown picture is: PSNR, SSIM and VMAF.
//!
//! These names have many definitions whose figures differ by more than codecs
//! do. Ours are those of the filters `psnr` and `ssim` of [FFmpeg], and libvmaf's
//! own with the model that is named:
//!
//! - [`psnr`]: of the mean squared error. Over many frames it is the PSNR of
//!   the mean error, not the mean of the PSNRs.
//! - [`ssim`]: windows of 8 x 8 pixels every 4 pixels, all alike in weight.
//!   In decibels it is that of the mean over all frames.
//! - [`vmaf`]: of `vmaf_v0.6.1` unless said otherwise, every n-th frame.
//!
//! Identical pictures have neither a PSNR nor an SSIM in decibels: both would
//! be infinite, and are `None`.
//!
//! A [`Meter`] takes what was shown, frame by frame, against what should have
//! been on screen, frozen frames included.

mod meter;
pub mod psnr;
pub mod ssim;
mod summary;
pub mod vmaf;

pub use meter::{Frame, Measured, Meter};
pub use summary::{Scored, Spread, Summary};

use crate::picture::{Picture, Size};

/// The shortest side that is measured. Ours: chroma planes need one window of
/// SSIM, which is 8 pixels.
pub const SHORTEST: usize = 16;

/// Why pictures could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two pictures are of two sizes.
    #[error("a picture of {found} came where {expected} is measured: scale it to that size first")]
    Size {
        /// What came.
        found: Size,
        /// What is measured.
        expected: Size,
    },
    /// The pictures have less than a window.
    #[error("pictures of {size} are too small to measure: sides start at {shortest} pixels")]
    TooSmall {
        /// Their size.
        size: Size,
        /// What their sides must be at least.
        shortest: usize,
    },
    /// VMAF was asked for and is not there.
    #[error("VMAF is not in this build: build with `--features vmaf`, or ask for none")]
    NoVmaf,
    /// libvmaf refused.
    #[error(
        "libvmaf could not {what}: it returned {code}, which names a system error; is memory short?"
    )]
    Vmaf {
        /// What it was asked to do.
        what: &'static str,
        /// What it returned: a negative `errno`.
        code: i32,
    },
}

/// Refuses pairs that cannot be compared.
fn comparable(source: &Picture, shown: &Picture) -> Result<(), Error> {
    of_size(shown, source.size())?;
    large_enough(source.size(), SHORTEST)
}

/// Refuses pictures of another size.
fn of_size(picture: &Picture, expected: Size) -> Result<(), Error> {
    let found = picture.size();
    if found == expected {
        return Ok(());
    }
    Err(Error::Size { found, expected })
}

/// Refuses sizes with a side below `shortest`.
fn large_enough(size: Size, shortest: usize) -> Result<(), Error> {
    if size.width().min(size.height()) >= shortest {
        return Ok(());
    }
    Err(Error::TooSmall { size, shortest })
}

/// The mean of a quantity over all samples of a picture: luma has two thirds
/// of the samples of 4:2:0, each chroma plane a sixth.
fn weighted([y, u, v]: [f64; 3]) -> f64 {
    (4.0 * y + u + v) / 6.0
}
