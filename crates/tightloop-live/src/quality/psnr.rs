//! Peak signal-to-noise ratio, as [FFmpeg]'s filter `psnr` defines it.

use tightloop::units::{count, float};

use super::{Error, comparable, weighted};
use crate::picture::Picture;

/// The largest value of a sample; the ratio's peak even for limited range. [FFmpeg] `psnr`.
const PEAK: f64 = 255.0;

/// Samples whose squared errors are summed in 32 bits: at most 255² each, so
/// that 65,536 of them fit. By definition.
const CHUNK: usize = 1 << 16;

/// Mean squared errors of a pair of pictures, by plane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mse {
    /// Of luma.
    pub y: f64,
    /// Of the first chroma plane.
    pub u: f64,
    /// Of the second chroma plane.
    pub v: f64,
}

impl Mse {
    /// The errors of a pair.
    ///
    /// # Errors
    ///
    /// Where the pictures' sizes differ or are below [`SHORTEST`](super::SHORTEST).
    pub fn of(source: &Picture, shown: &Picture) -> Result<Self, Error> {
        comparable(source, shown)?;
        Ok(Self {
            y: plane(source.y(), shown.y()),
            u: plane(source.u(), shown.u()),
            v: plane(source.v(), shown.v()),
        })
    }

    /// The mean squared error over the samples of all planes.
    #[must_use]
    pub fn all(self) -> f64 {
        weighted([self.y, self.u, self.v])
    }
}

/// The PSNR in decibels of a mean squared error; `None` where there is no error.
///
/// ```
/// use tightloop_live::quality::psnr;
///
/// assert_eq!(psnr::decibels(255.0 * 255.0), Some(0.0));
/// assert_eq!(psnr::decibels(0.0), None);
/// ```
#[must_use]
pub fn decibels(mse: f64) -> Option<f64> {
    (mse > 0.0).then(|| 10.0 * libm::log10(PEAK * PEAK / mse))
}

/// The mean squared error of a plane.
fn plane(source: &[u8], shown: &[u8]) -> f64 {
    let sum: u64 = source
        .chunks(CHUNK)
        .zip(shown.chunks(CHUNK))
        .map(|(source, shown)| u64::from(squares(source, shown)))
        .sum();
    float(sum) / float(count(source.len()))
}

/// The sum of squared differences of at most [`CHUNK`] samples.
fn squares(source: &[u8], shown: &[u8]) -> u32 {
    let mut sum = 0_u32;
    for (&source, &shown) in source.iter().zip(shown) {
        let error = u32::from(source.abs_diff(shown));
        // Cannot wrap (see CHUNK); a check per sample would cost the vector instructions.
        sum = sum.wrapping_add(error * error);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;

    #[test]
    fn errors_are_means_of_squares_by_plane() {
        let size = Size::new(32, 16).expect("even");
        let source = Picture::black(size);
        let mut shown = source.clone();
        let [y, u, v] = shown.planes_mut();
        y.fill(16 + 6);
        u[..64].fill(128 - 4);
        v.fill(128 + 1);
        let mse = Mse::of(&source, &shown).expect("of a size");
        assert_eq!((mse.y, mse.u, mse.v), (36.0, 8.0, 1.0));
        assert_eq!(mse.all(), (512.0 * 36.0 + 128.0 * 8.0 + 128.0) / 768.0);
    }

    #[test]
    fn the_worst_of_the_largest_chunks_does_not_wrap() {
        assert_eq!(squares(&[0; CHUNK], &[255; CHUNK]), 65_536 * 65_025);
        assert_eq!(plane(&[255; CHUNK + 5], &[0; CHUNK + 5]), 65_025.0);
    }

    #[test]
    fn pairs_that_cannot_be_compared_are_refused() {
        let [large, small] =
            [32, 8].map(|side| Picture::black(Size::new(side, side).expect("even")));
        let error = Mse::of(&large, &small)
            .expect_err("sizes differ")
            .to_string();
        assert_eq!(
            error,
            "a picture of 8x8 came where 32x32 is measured: scale it to that size first"
        );
        let error = Mse::of(&small, &small).expect_err("too small").to_string();
        assert!(
            error.contains("8x8") && error.contains("16 pixels"),
            "{error}"
        );
    }
}
