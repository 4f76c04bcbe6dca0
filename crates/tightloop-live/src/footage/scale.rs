//! Pictures in another size.
//!
//! Smaller by area, where each new pixel is the mean of those it covers; larger
//! by linear interpolation. What does not fit the new shape is cut off evenly on
//! both sides rather than squeezed.

use crate::picture::{Picture, Size};

/// Weights are in units of 2^-14.
const BITS: u32 = 14;

/// Turns pictures of one size into pictures of another.
#[derive(Clone, Debug)]
pub struct Scaler {
    from: Size,
    to: Size,
    /// Taps across and down, of luma and of chroma.
    luma: [Vec<Tap>; 2],
    chroma: [Vec<Tap>; 2],
    /// A plane that has been scaled across only.
    between: Vec<u8>,
}

/// What a new pixel is made of: so many old ones from a place on.
#[derive(Clone, Debug)]
struct Tap {
    start: usize,
    weights: Vec<u32>,
}

impl Scaler {
    /// From one size to another.
    #[must_use]
    pub fn new(from: Size, to: Size) -> Self {
        // The part of the source that has the new shape.
        let width = from.height() as f64 * to.width() as f64 / to.height() as f64;
        let height = from.width() as f64 * to.height() as f64 / to.width() as f64;
        let width = width.min(from.width() as f64);
        let height = height.min(from.height() as f64);
        let across = |shift: u32| {
            taps(
                from.width() >> shift,
                width / f64::from(1 << shift),
                to.width() >> shift,
            )
        };
        let down = |shift: u32| {
            taps(
                from.height() >> shift,
                height / f64::from(1 << shift),
                to.height() >> shift,
            )
        };
        Self {
            from,
            to,
            luma: [across(0), down(0)],
            chroma: [across(1), down(1)],
            between: Vec::new(),
        }
    }

    /// The size it takes.
    #[must_use]
    pub fn from(&self) -> Size {
        self.from
    }

    /// A scaled picture; the picture itself where sizes are equal.
    ///
    /// # Panics
    ///
    /// For a picture of another size than it was made for.
    #[must_use]
    pub fn scale(&mut self, picture: Picture) -> Picture {
        assert_eq!(picture.size(), self.from, "a scaler takes one size");
        if self.from == self.to {
            return picture;
        }
        let mut scaled = Picture::black(self.to);
        let [y, u, v] = scaled.planes_mut();
        let width = self.from.width();
        plane(picture.y(), width, &self.luma, y, &mut self.between);
        plane(picture.u(), width / 2, &self.chroma, u, &mut self.between);
        plane(picture.v(), width / 2, &self.chroma, v, &mut self.between);
        scaled
    }
}

fn plane(from: &[u8], stride: usize, taps: &[Vec<Tap>; 2], to: &mut [u8], between: &mut Vec<u8>) {
    let [across, down] = taps;
    let width = across.len();
    between.clear();
    for row in from.chunks_exact(stride) {
        between.extend(across.iter().map(|tap| {
            let pixels = &row[tap.start..tap.start + tap.weights.len()];
            let sum: u32 = pixels
                .iter()
                .zip(&tap.weights)
                .map(|(pixel, weight)| u32::from(*pixel) * weight)
                .sum();
            rounded(sum)
        }));
    }
    let mut sums = vec![0_u32; width];
    for (row, tap) in to.chunks_exact_mut(width).zip(down) {
        sums.fill(0);
        for (from, weight) in between[tap.start * width..]
            .chunks_exact(width)
            .zip(&tap.weights)
        {
            for (sum, pixel) in sums.iter_mut().zip(from) {
                *sum += u32::from(*pixel) * weight;
            }
        }
        for (pixel, sum) in row.iter_mut().zip(&sums) {
            *pixel = rounded(*sum);
        }
    }
}

const fn rounded(sum: u32) -> u8 {
    ((sum + (1 << (BITS - 1))) >> BITS) as u8
}

/// The taps that make `new` pixels of the middle `used` ones of `old`.
fn taps(old: usize, used: f64, new: usize) -> Vec<Tap> {
    let step = used / new as f64;
    let left = (old as f64 - used) / 2.0;
    (0..new)
        .map(|pixel| {
            let (start, end) = if step > 1.0 {
                (left + pixel as f64 * step, left + (pixel + 1) as f64 * step)
            } else {
                // A pixel's width around its middle: the linear interpolation.
                let middle = left + (pixel as f64 + 0.5) * step;
                (middle - 0.5, middle + 0.5)
            };
            tap(old, start, end)
        })
        .collect()
}

/// The pixels from `start` to `end`, each by how much of it is within; those off
/// the picture are replaced by its edge.
fn tap(old: usize, start: f64, end: f64) -> Tap {
    let (start, end) = (start.max(0.0), end.min(old as f64));
    let first = (start as usize).min(old - 1);
    let last = ((end.ceil() as usize).max(first + 1)).min(old);
    let part = |pixel: usize| (end.min((pixel + 1) as f64) - start.max(pixel as f64)).max(0.0);
    let one = f64::from(1 << BITS);
    let whole: f64 = (first..last).map(part).sum();
    let mut weights: Vec<u32> = (first..last)
        .map(|pixel| (part(pixel) / whole * one).round() as u32)
        .collect();
    // Rounding must not make a picture brighter or darker.
    let sum: u32 = weights.iter().sum();
    let heaviest = (0..weights.len())
        .max_by_key(|index| weights[*index])
        .unwrap_or(0);
    weights[heaviest] = weights[heaviest] + (1 << BITS) - sum;
    Tap {
        start: first,
        weights,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(width: usize, height: usize) -> Size {
        Size::new(width, height).expect("a size")
    }

    fn slope(size: Size) -> Picture {
        let mut picture = Picture::black(size);
        let width = size.width();
        let [y, ..] = picture.planes_mut();
        for (at, value) in y.iter_mut().enumerate() {
            *value = (at % width * 200 / width) as u8;
        }
        picture
    }

    #[test]
    fn halving_gives_means_of_four() {
        let mut picture = Picture::black(size(8, 4));
        picture.planes_mut()[0][..2].copy_from_slice(&[10, 20]);
        picture.planes_mut()[0][8..10].copy_from_slice(&[30, 60]);
        let half = Scaler::new(size(8, 4), size(4, 2)).scale(picture);
        // Rounded once across and once down: (15 + 45) / 2.
        assert_eq!(half.y()[0], 30);
        assert_eq!(half.y()[1], 16);
    }

    #[test]
    fn doubling_a_slope_gives_a_slope() {
        let large = Scaler::new(size(64, 16), size(128, 32)).scale(slope(size(64, 16)));
        let row = &large.y()[..128];
        assert!(
            row.windows(2)
                .all(|pair| pair[0] <= pair[1] && pair[1] - pair[0] <= 3),
            "{row:?}"
        );
    }

    #[test]
    fn another_shape_cuts_the_sides_evenly() {
        let narrow = Scaler::new(size(64, 16), size(32, 16)).scale(slope(size(64, 16)));
        let wide = slope(size(64, 16));
        assert_eq!(&narrow.y()[..32], &wide.y()[16..48]);
    }

    proptest! {
        /// Whatever the sizes: flat stays flat, and nothing leaves its range.
        #[test]
        fn flat_pictures_stay_flat(width in 1usize..90, height in 1usize..90, to_width in 1usize..90, to_height in 1usize..90, luma: u8, low in 0u8..100, high in 100u8..=255) {
            let (from, to) = (size(width * 2, height * 2), size(to_width * 2, to_height * 2));
            let mut flat = Picture::black(from);
            flat.planes_mut()[0].fill(luma);
            let scaled = Scaler::new(from, to).scale(flat);
            prop_assert!(scaled.y().iter().all(|value| *value == luma));
            prop_assert!(scaled.u().iter().all(|value| *value == 128));
            let mut mixed = Picture::black(from);
            for (at, value) in mixed.planes_mut()[0].iter_mut().enumerate() {
                *value = if at * 7 % 5 < 2 { low } else { high };
            }
            let scaled = Scaler::new(from, to).scale(mixed);
            prop_assert!(scaled.y().iter().all(|value| (low..=high).contains(value)));
        }
    }
}
