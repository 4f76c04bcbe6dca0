//! Chance that depends on where one looks, and surfaces made of it.

/// Spreads the bits of a number: the finaliser of splitmix64.
pub(super) const fn hash(key: u64) -> u64 {
    let mut z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in [0, 1), by two keys.
pub(super) fn uniform(seed: u64, key: u64) -> f64 {
    (hash(seed ^ hash(key)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Fixed point: eight bits after the point.
pub(super) const ONE: i64 = 256;

/// A square surface that continues at its edges.
pub(super) struct Texture {
    mask: usize,
    shift: u32,
    bytes: Vec<u8>,
}

impl Texture {
    /// Fractal noise on a square of 2^`shift` pixels, whose coarsest bumps are
    /// 2^`coarse` pixels wide; each finer octave has `gain` times the height.
    pub(super) fn fractal(seed: u64, shift: u32, coarse: u32, gain: f64) -> Self {
        let side = 1_usize << shift;
        let mut sum = vec![0.0; side * side];
        let (mut height, mut total) = (1.0, 0.0);
        for octave in (0..=coarse).rev() {
            octave_of(
                &mut sum,
                hash(seed ^ u64::from(octave)),
                shift,
                octave,
                height,
            );
            total += height;
            height *= gain;
        }
        let level = |value: &f64| (value / total * 255.0).clamp(0.0, 255.0) as u8;
        Self {
            mask: side - 1,
            shift,
            bytes: sum.iter().map(level).collect(),
        }
    }

    /// The value at whole coordinates.
    pub(super) fn at(&self, x: i64, y: i64) -> u8 {
        let wrap = |value: i64| value as usize & self.mask;
        self.bytes[(wrap(y) << self.shift) | wrap(x)]
    }

    /// The value between pixels; coordinates in units of [`ONE`].
    pub(super) fn between(&self, x: i64, y: i64) -> i64 {
        let (column, row) = (x >> 8, y >> 8);
        let (right, down) = (x & (ONE - 1), y & (ONE - 1));
        let at = |x, y| i64::from(self.at(x, y));
        let upper = at(column, row) * (ONE - right) + at(column + 1, row) * right;
        let lower = at(column, row + 1) * (ONE - right) + at(column + 1, row + 1) * right;
        (upper * (ONE - down) + lower * down) >> 16
    }
}

/// Adds value noise with a grid of 2^`cell` pixels.
fn octave_of(sum: &mut [f64], seed: u64, shift: u32, cell: u32, height: f64) {
    let (side, cells) = (1_usize << shift, 1_usize << (shift - cell));
    let corners: Vec<f64> = (0..(cells * cells) as u64)
        .map(|corner| height * uniform(seed, corner))
        .collect();
    // For each pixel along a side: its cell, the next, and how far it is between.
    let width = 1_usize << cell;
    let places: Vec<(usize, usize, f64)> = (0..side)
        .map(|at| {
            let part = (at % width) as f64 / width as f64;
            let near = at >> cell;
            (near, (near + 1) % cells, part * part * (3.0 - 2.0 * part))
        })
        .collect();
    for (row, &(upper, lower, down)) in sum.chunks_exact_mut(side).zip(&places) {
        let mix = |column: usize| {
            let (upper, lower) = (
                corners[upper * cells + column],
                corners[lower * cells + column],
            );
            upper + (lower - upper) * down
        };
        for (value, &(left, right, across)) in row.iter_mut().zip(&places) {
            let left = mix(left);
            *value += left + (mix(right) - left) * across;
        }
    }
}

/// A sensor's noise: rows out of a long strip of normal variates.
pub(super) struct Grain {
    seed: u64,
    strip: Vec<i8>,
}

/// The length of the strip; rows start anywhere in it.
const STRIP: usize = 1 << 15;

impl Grain {
    /// Noise with this standard deviation in levels of luma.
    pub(super) fn new(seed: u64, deviation: f64) -> Self {
        let normal = |index: u64| {
            // The sum of twelve uniform variates is nearly normal: mean 6, deviation 1.
            let quarters = |bits: u64| (0..4).map(move |part| (bits >> (16 * part)) & 0xffff);
            let sum: u64 = (0..3)
                .flat_map(|part| quarters(hash(seed ^ hash(index * 3 + part))))
                .sum();
            let normal = sum as f64 / 65_536.0 - 6.0;
            (normal * deviation).round().clamp(-127.0, 127.0) as i8
        };
        Self {
            seed,
            strip: (0..STRIP as u64).map(normal).collect(),
        }
    }

    /// The noise of a row of one shot, endless.
    pub(super) fn row(&self, shot: u64, row: usize) -> impl Iterator<Item = i64> + '_ {
        let start = hash(self.seed ^ hash(shot) ^ row as u64) as usize % STRIP;
        let (before, after) = self.strip.split_at(start);
        after
            .iter()
            .chain(before)
            .cycle()
            .map(|value| i64::from(*value))
    }
}
