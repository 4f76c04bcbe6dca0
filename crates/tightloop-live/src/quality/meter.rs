//! A call's pictures, measured as they are shown.

use super::psnr::{self, Mse};
use super::summary::Summary;
use super::vmaf::{self, Vmaf};
use super::{Error, SHORTEST, large_enough, of_size, ssim};
use crate::picture::{Picture, Size};

/// Measures frames one after another: each frame time what should have been
/// on screen and what was, also where that is a picture shown before.
///
/// ```
/// use tightloop_live::picture::{Picture, Size};
/// use tightloop_live::quality::Meter;
///
/// let size = Size::new(64, 64).expect("even");
/// let source = Picture::black(size);
/// let mut shown = source.clone();
/// shown.bytes_mut()[..640].fill(26);
/// let mut meter = Meter::new(size, None)?;
/// meter.push(&source, &source)?;
/// meter.push(&source, &shown)?;
/// let measured = meter.finish()?;
/// assert_eq!(measured.worst(1, 1), [1]);
/// assert_eq!(measured.frames()[0].psnr_y(), None);
/// # Ok::<(), tightloop_live::quality::Error>(())
/// ```
#[derive(Debug)]
pub struct Meter {
    size: Size,
    frames: Vec<Frame>,
    vmaf: Option<(vmaf::Settings, Vmaf)>,
}

/// One frame's figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Mean squared errors, of which PSNR is made.
    pub mse: Mse,
    /// SSIM of luma, linear; 1 where the pictures are alike.
    pub ssim: f64,
    /// VMAF, 0 to 100, where the frame has it: see [`vmaf::Settings::every`].
    pub vmaf: Option<f64>,
}

impl Frame {
    /// PSNR of luma in decibels; `None` where it has no error.
    #[must_use]
    pub fn psnr_y(&self) -> Option<f64> {
        psnr::decibels(self.mse.y)
    }

    /// PSNR of all planes in decibels; `None` where they have no error.
    #[must_use]
    pub fn psnr_all(&self) -> Option<f64> {
        psnr::decibels(self.mse.all())
    }
}

impl Meter {
    /// A meter of pictures of `size`; of PSNR and SSIM alone where `vmaf` is `None`.
    ///
    /// # Errors
    ///
    /// Where the size is too small, or VMAF is asked for and cannot be had.
    pub fn new(size: Size, vmaf: Option<vmaf::Settings>) -> Result<Self, Error> {
        large_enough(size, SHORTEST)?;
        let open = |settings| Ok((settings, Vmaf::new(size, settings)?));
        Ok(Self {
            size,
            frames: Vec::new(),
            vmaf: vmaf.map(open).transpose()?,
        })
    }

    /// Takes the next frame and gives its figures; VMAF comes at the end.
    ///
    /// # Errors
    ///
    /// Where a picture is of another size, or libvmaf refuses.
    pub fn push(&mut self, source: &Picture, shown: &Picture) -> Result<Frame, Error> {
        of_size(source, self.size)?;
        let frame = Frame {
            mse: Mse::of(source, shown)?,
            ssim: ssim::luma(source, shown)?,
            vmaf: None,
        };
        if let Some((_, vmaf)) = &mut self.vmaf {
            vmaf.push(source, shown)?;
        }
        self.frames.push(frame);
        Ok(frame)
    }

    /// What was measured.
    ///
    /// # Errors
    ///
    /// Where libvmaf refuses.
    pub fn finish(mut self) -> Result<Measured, Error> {
        let mut settings = None;
        if let Some((asked, vmaf)) = self.vmaf {
            let every = tightloop::units::index(asked.every.get().into());
            let scored = self.frames.iter_mut().step_by(every);
            for (frame, score) in scored.zip(vmaf.finish()?) {
                frame.vmaf = Some(score);
            }
            settings = Some(asked);
        }
        Ok(Measured {
            frames: self.frames,
            vmaf: settings,
        })
    }
}

/// A call's figures, frame by frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    frames: Vec<Frame>,
    vmaf: Option<vmaf::Settings>,
}

impl Measured {
    /// The frames, in order.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// How VMAF was taken, if it was.
    #[must_use]
    pub const fn vmaf(&self) -> Option<vmaf::Settings> {
        self.vmaf
    }

    /// Means and percentiles; `None` where there are no frames.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.frames, self.vmaf)
    }

    /// The numbers, from 0, of up to `most` frames: the one with the lowest SSIM
    /// first, then the lowest of those at least `apart` frames from all before.
    /// Of equals the earlier.
    #[must_use]
    pub fn worst(&self, most: usize, apart: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_by(|&a, &b| self.frames[a].ssim.total_cmp(&self.frames[b].ssim));
        let mut worst: Vec<usize> = Vec::new();
        for at in order {
            if worst.len() == most {
                break;
            }
            if worst.iter().all(|&other| at.abs_diff(other) >= apart) {
                worst.push(at);
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(similarities: &[f64]) -> Measured {
        let frames = similarities
            .iter()
            .map(|&ssim| Frame {
                mse: Mse::default(),
                ssim,
                vmaf: None,
            })
            .collect();
        Measured { frames, vmaf: None }
    }

    #[test]
    fn the_worst_frames_are_apart_and_earlier_ones_go_first() {
        let call = measured(&[0.9, 0.5, 0.4, 0.4, 0.8, 0.5, 0.95]);
        assert_eq!(call.worst(3, 1), [2, 3, 1]);
        assert_eq!(call.worst(3, 3), [2, 5]);
        assert_eq!(call.worst(9, 0).len(), 7);
        assert_eq!(call.worst(0, 1), [0_usize; 0]);
        assert_eq!(measured(&[]).worst(3, 1), [0_usize; 0]);
    }

    #[test]
    fn a_meter_takes_pictures_of_its_size_alone() {
        let [size, other] = [64, 66].map(|side| Size::new(side, 64).expect("even"));
        let mut meter = Meter::new(size, None).expect("large enough");
        let [picture, wrong] = [size, other].map(Picture::black);
        for (source, shown) in [(&picture, &wrong), (&wrong, &picture), (&wrong, &wrong)] {
            let error = meter.push(source, shown).expect_err("another size");
            let expected = Error::Size {
                found: other,
                expected: size,
            };
            assert_eq!(error, expected);
        }
        assert_eq!(meter.finish().expect("no VMAF").frames(), []);
    }

    #[cfg(not(feature = "vmaf"))]
    #[test]
    fn without_the_feature_asking_for_vmaf_says_what_to_build() {
        let size = Size::new(64, 64).expect("even");
        let error = Meter::new(size, Some(vmaf::Settings::default())).expect_err("not there");
        assert!(error.to_string().contains("--features vmaf"), "{error}");
    }
}
