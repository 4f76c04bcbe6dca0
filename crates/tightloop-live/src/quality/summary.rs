//! What a call's pictures were like on the whole.

use tightloop::units::{count, float};

use super::meter::Frame;
use super::psnr::{self, Mse};
use super::{ssim, vmaf};

/// Percentiles by nearest rank: values that occurred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread<T> {
    /// One frame in a hundred was no better.
    pub p1: T,
    /// One frame in twenty was no better.
    pub p5: T,
    /// Half of the frames were no better.
    pub p50: T,
    /// Only one frame in twenty was better.
    pub p95: T,
}

/// Figures of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Frames measured.
    pub frames: usize,
    /// Frames shown exactly as their source: they have no PSNR.
    pub identical: usize,
    /// PSNR of luma in decibels, of the mean squared error over all frames;
    /// `None` where there is no error at all.
    pub psnr_y: Option<f64>,
    /// The same of all planes.
    pub psnr_all: Option<f64>,
    /// PSNR of luma by frame; `None` of a frame without error, which is above all others.
    pub psnr_y_spread: Spread<Option<f64>>,
    /// Mean SSIM of luma, linear.
    pub ssim: f64,
    /// That mean in decibels; `None` where all frames are alike.
    pub ssim_db: Option<f64>,
    /// SSIM of luma by frame, linear.
    pub ssim_spread: Spread<f64>,
    /// VMAF, if it was asked for.
    pub vmaf: Option<Scored>,
}

/// VMAF of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// The model, and how many frames have a score.
    pub settings: vmaf::Settings,
    /// Frames with a score.
    pub frames: usize,
    /// Their mean, 0 to 100.
    pub mean: f64,
    /// Their spread.
    pub spread: Spread<f64>,
}

impl Summary {
    pub(super) fn of(frames: &[Frame], settings: Option<vmaf::Settings>) -> Option<Self> {
        let of = |figure: fn(&Frame) -> f64| frames.iter().map(figure).collect::<Vec<f64>>();
        let ssim = of(|frame| frame.ssim);
        let errors = of(|frame| frame.mse.y);
        // Backwards: the larger the error, the smaller the ratio.
        let ratios = errors.iter().map(|&error| -error).collect();
        let scores: Vec<f64> = frames.iter().filter_map(|frame| frame.vmaf).collect();
        let vmaf = settings.and_then(|settings| {
            Some(Scored {
                settings,
                frames: scores.len(),
                mean: mean(&scores)?,
                spread: Spread::of(scores)?,
            })
        });
        let mean_ssim = mean(&ssim)?;
        Some(Self {
            frames: frames.len(),
            identical: frames
                .iter()
                .filter(|frame| frame.mse == Mse::default())
                .count(),
            psnr_y: psnr::decibels(mean(&errors)?),
            psnr_all: psnr::decibels(mean(&of(|frame| frame.mse.all()))?),
            psnr_y_spread: Spread::of(ratios)?.map(|error| psnr::decibels(-error)),
            ssim: mean_ssim,
            ssim_db: ssim::decibels(mean_ssim),
            ssim_spread: Spread::of(ssim)?,
            vmaf,
        })
    }
}

impl Spread<f64> {
    /// Of values in any order; `None` where there are none.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let rank = |percent: usize| (percent * values.len()).div_ceil(100);
        let at = |percent| values.get(rank(percent).max(1) - 1).copied();
        Some(Self {
            p1: at(1)?,
            p5: at(5)?,
            p50: at(50)?,
            p95: at(95)?,
        })
    }
}

impl<T> Spread<T> {
    fn map<U>(self, change: impl Fn(T) -> U) -> Spread<U> {
        Spread {
            p1: change(self.p1),
            p5: change(self.p5),
            p50: change(self.p50),
            p95: change(self.p95),
        }
    }
}

/// `None` where there are no values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(count(values.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(error: f64, ssim: f64) -> Frame {
        Frame {
            mse: Mse {
                y: error,
                u: 0.0,
                v: 0.0,
            },
            ssim,
            vmaf: None,
        }
    }

    #[test]
    fn means_are_of_errors_and_of_linear_similarity() {
        let call = [frame(0.0, 1.0), frame(65.025, 0.98)];
        let summary = Summary::of(&call, None).expect("frames");
        assert_eq!((summary.frames, summary.identical), (2, 1));
        // 255² / 65.025 = 1000, and half of the error is 3.0103 dB more.
        let near = |found: Option<f64>, expected: f64| {
            let found = found.expect("an error");
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        };
        near(summary.psnr_y, 33.0103);
        // Luma is two thirds of the samples: 1.7609 dB.
        near(summary.psnr_all, 34.7712);
        near(Some(summary.ssim), 0.99);
        near(summary.ssim_db, 20.0);
        near(summary.psnr_y_spread.p5, 30.0);
        assert_eq!(summary.psnr_y_spread.p95, None);
        assert_eq!(summary.vmaf, None);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let spread = Spread::of((1..=200).rev().map(f64::from).collect()).expect("values");
        assert_eq!(
            [spread.p1, spread.p5, spread.p50, spread.p95],
            [2.0, 10.0, 100.0, 190.0]
        );
        let one = Spread::of(vec![7.0]).expect("a value");
        assert_eq!([one.p1, one.p5, one.p50, one.p95], [7.0; 4]);
        assert_eq!(Spread::of(vec![]), None);
    }

    #[test]
    fn calls_without_frames_have_no_summary_and_perfect_ones_no_decibels() {
        assert_eq!(Summary::of(&[], None), None);
        let perfect = Summary::of(&[frame(0.0, 1.0)], None).expect("a frame");
        assert_eq!((perfect.psnr_y, perfect.ssim_db), (None, None));
        assert_eq!((perfect.identical, perfect.ssim), (1, 1.0));
    }
}
