//! Structural similarity ([SSIM]), as [FFmpeg]'s filter `ssim` defines it:
//! windows of 8 x 8 pixels, one every 4 pixels both ways, all alike in weight,
//! where [SSIM] has a Gaussian window at every pixel. Columns and rows beyond
//! the last whole block of 4 are left out.

use tightloop::units::{count, float};

use super::{Error, comparable, weighted};
use crate::picture::Picture;

/// The side of a block in pixels; a window is 2 x 2 blocks. [FFmpeg] `ssim`.
const BLOCK: usize = 4;

/// Pixels of a window. By definition.
const WINDOW: f64 = 64.0;

/// What keeps flat windows from dividing by nothing: (.01 · 255)² and (.03 · 255)²
/// of [SSIM] §III, scaled as the sums of a window are and rounded. [FFmpeg] `ssim`.
const C1: f64 = 416.0;
const C2: f64 = 235_963.0;

/// Mean similarities of a pair of pictures, by plane: 1 where they are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// Of luma.
    pub y: f64,
    /// Of the first chroma plane.
    pub u: f64,
    /// Of the second chroma plane.
    pub v: f64,
}

impl Similarity {
    /// The similarities of a pair.
    ///
    /// # Errors
    ///
    /// Where the pictures' sizes differ or are below [`SHORTEST`](super::SHORTEST).
    pub fn of(source: &Picture, shown: &Picture) -> Result<Self, Error> {
        comparable(source, shown)?;
        let width = source.size().width();
        Ok(Self {
            y: plane(source.y(), shown.y(), width),
            u: plane(source.u(), shown.u(), width / 2),
            v: plane(source.v(), shown.v(), width / 2),
        })
    }

    /// The mean over planes, weighted by their samples.
    #[must_use]
    pub fn all(self) -> f64 {
        weighted([self.y, self.u, self.v])
    }
}

/// The mean similarity of luma alone, linear: the figure meant by "SSIM".
///
/// # Errors
///
/// Where the pictures' sizes differ or are below [`SHORTEST`](super::SHORTEST).
pub fn luma(source: &Picture, shown: &Picture) -> Result<f64, Error> {
    comparable(source, shown)?;
    Ok(plane(source.y(), shown.y(), source.size().width()))
}

/// A mean similarity in decibels, -10 log10(1 - SSIM); `None` where there is no difference.
///
/// ```
/// use tightloop_live::quality::ssim;
///
/// let decibels = ssim::decibels(0.99).expect("not identical");
/// assert!((decibels - 20.0).abs() < 1e-9);
/// assert_eq!(ssim::decibels(1.0), None);
/// ```
#[must_use]
pub fn decibels(similarity: f64) -> Option<f64> {
    (similarity < 1.0).then(|| -10.0 * libm::log10(1.0 - similarity))
}

/// The mean similarity of a plane with rows of `width`.
fn plane(source: &[u8], shown: &[u8], width: usize) -> f64 {
    let blocks = width / BLOCK;
    let mut columns = Sums::new(width);
    let mut above = Sums::new(blocks);
    let mut below = Sums::new(blocks);
    let mut windows = vec![0.0; blocks - 1];
    let mut total = 0.0;
    let mut rows = 0;
    let four = width * BLOCK;
    for (source, shown) in source.chunks_exact(four).zip(shown.chunks_exact(four)) {
        std::mem::swap(&mut above, &mut below);
        columns.add_up(source, shown);
        below.gather(&columns);
        if rows > 0 {
            similarities(&above, &below, &mut windows);
            total += windows.iter().sum::<f64>();
        }
        rows += 1;
    }
    total / float(count((rows - 1) * (blocks - 1)))
}

/// Sums over pixels, of a row of blocks or of columns.
///
/// They are added without overflow checks, which would cost the vector
/// instructions: a window's largest sum is 2 · 64 · 255², far below 2^32.
struct Sums {
    source: Vec<u32>,
    shown: Vec<u32>,
    /// Of source² + shown².
    squares: Vec<u32>,
    /// Of source · shown.
    products: Vec<u32>,
}

impl Sums {
    fn new(len: usize) -> Self {
        let zeros = || vec![0; len];
        Self {
            source: zeros(),
            shown: zeros(),
            squares: zeros(),
            products: zeros(),
        }
    }

    /// Sums each column over the rows given.
    fn add_up(&mut self, source: &[u8], shown: &[u8]) {
        let width = self.source.len();
        for all in [
            &mut self.source,
            &mut self.shown,
            &mut self.squares,
            &mut self.products,
        ] {
            all.fill(0);
        }
        for (source, shown) in source.chunks_exact(width).zip(shown.chunks_exact(width)) {
            let sums = self.source.iter_mut().zip(&mut self.shown);
            let more = self.squares.iter_mut().zip(&mut self.products);
            let pixels = source.iter().zip(shown);
            for (((a, b), (aa, ab)), (&source, &shown)) in sums.zip(more).zip(pixels) {
                let (source, shown) = (u32::from(source), u32::from(shown));
                *a = a.wrapping_add(source);
                *b = b.wrapping_add(shown);
                *aa = aa.wrapping_add(source * source + shown * shown);
                *ab = ab.wrapping_add(source * shown);
            }
        }
    }

    /// Sums columns to blocks.
    fn gather(&mut self, columns: &Self) {
        for (blocks, columns) in [
            (&mut self.source, &columns.source),
            (&mut self.shown, &columns.shown),
            (&mut self.squares, &columns.squares),
            (&mut self.products, &columns.products),
        ] {
            for (block, four) in blocks.iter_mut().zip(columns.as_chunks::<BLOCK>().0) {
                let [a, b, c, d] = *four;
                *block = a.wrapping_add(b).wrapping_add(c.wrapping_add(d));
            }
        }
    }
}

/// The similarity of each window of two rows of blocks.
fn similarities(above: &Sums, below: &Sums, windows: &mut [f64]) {
    // Slices of one length: the compiler drops the bounds checks.
    let blocks = windows.len() + 1;
    let [a, b, aa, ab] = [
        (&above.source, &below.source),
        (&above.shown, &below.shown),
        (&above.squares, &below.squares),
        (&above.products, &below.products),
    ]
    .map(|(above, below)| (&above[..blocks], &below[..blocks]));
    let window = |(above, below): (&[u32], &[u32]), at: usize| {
        let left = above[at].wrapping_add(below[at]);
        let right = above[at + 1].wrapping_add(below[at + 1]);
        f64::from(left.wrapping_add(right))
    };
    for (at, similarity) in windows.iter_mut().enumerate() {
        let (sum, other) = (window(a, at), window(b, at));
        let (squares, products) = (window(aa, at), window(ab, at));
        // All whole numbers below 2^53, thus exact: alike windows give exactly 1.
        let means = sum * other;
        let powers = sum * sum + other * other;
        let variances = squares * WINDOW - powers;
        let covariance = products * WINDOW - means;
        *similarity =
            ((2.0 * means + C1) * (2.0 * covariance + C2)) / ((powers + C1) * (variances + C2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;
    use proptest::prelude::*;

    fn flat(size: Size, value: u8) -> Picture {
        let mut picture = Picture::black(size);
        picture.bytes_mut().fill(value);
        picture
    }

    #[test]
    fn flat_pictures_differ_by_their_means_alone() {
        let size = Size::new(24, 16).expect("even");
        let found = Similarity::of(&flat(size, 100), &flat(size, 110)).expect("of a size");
        // The luminance term of the definition, in sums over 64 pixels.
        let (a, b) = (6400.0, 7040.0);
        let expected = (2.0 * a * b + C1) / (a * a + b * b + C1);
        for plane in [found.y, found.u, found.v, found.all()] {
            assert!((plane - expected).abs() < 1e-12, "{plane} {expected}");
        }
    }

    #[test]
    fn the_constants_are_those_of_the_paper_at_a_windows_scale() {
        let scaled = |k: f64, scale: f64| (k * k * 255.0 * 255.0 * scale).round();
        assert_eq!(C1, scaled(0.01, 64.0));
        assert_eq!(C2, scaled(0.03, 64.0 * 63.0));
    }

    #[test]
    fn the_last_incomplete_blocks_are_left_out() {
        let size = Size::new(22, 18).expect("even");
        let source = flat(size, 50);
        let mut shown = source.clone();
        let [y, _, _] = shown.planes_mut();
        for (at, pixel) in y.iter_mut().enumerate() {
            if at % 22 >= 20 || at / 22 >= 16 {
                *pixel = 200;
            }
        }
        assert_eq!(luma(&source, &shown), Ok(1.0));
        shown.planes_mut()[0][15 * 22 + 19] = 200;
        let seen = luma(&source, &shown).expect("of a size");
        assert!((0.5..1.0).contains(&seen), "{seen}");
    }

    proptest! {
        #[test]
        fn similarity_is_symmetric_at_most_one_and_one_for_the_same(
            bytes in prop::collection::vec(any::<u8>(), 2 * 18 * 20 / 2 * 3),
        ) {
            let size = Size::new(20, 18).expect("even");
            let [a, b] = [0, 1].map(|at| {
                let half = bytes.len() / 2;
                Picture::from_bytes(size, bytes[at * half..][..half].to_vec()).expect("fits")
            });
            let there = Similarity::of(&a, &b).expect("of a size");
            prop_assert_eq!(there, Similarity::of(&b, &a).expect("of a size"));
            prop_assert!((-1.0..=1.0).contains(&there.all()));
            let same = Similarity::of(&a, &a).expect("of a size");
            prop_assert_eq!([same.y, same.u, same.v], [1.0; 3]);
        }
    }
}
