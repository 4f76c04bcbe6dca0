//! Pictures made by arithmetic, and what a poor codec made of them.

use std::path::Path;

use tightloop_live::picture::{Picture, Size};

/// Width and height that are no multiples of a block, so that edges are in question.
pub(crate) const ODD: (usize, usize) = (322, 182);

/// Sizes at which every version and every code path of libvmaf gives one score.
pub(crate) const PLAIN: (usize, usize) = (352, 182);
pub(crate) const WIDE: (usize, usize) = (656, 182);

pub(crate) const FRAMES: usize = 12;

/// Shown while the pictures move on.
const FROZEN: usize = 3;
const FROZEN_UNTIL: usize = 7;

/// Shown as it is.
pub(crate) const IDENTICAL: usize = 7;

/// What should have been shown and what was, frame by frame.
pub(crate) fn pairs(size: (usize, usize)) -> Vec<(Picture, Picture)> {
    let size = Size::new(size.0, size.1).expect("even");
    let sources: Vec<Picture> = (0..FRAMES).map(|frame| source(size, frame)).collect();
    let shown = |at: usize| match at {
        FROZEN..FROZEN_UNTIL => degraded(&sources[FROZEN], FROZEN),
        IDENTICAL => sources[at].clone(),
        _ => degraded(&sources[at], at),
    };
    let shown: Vec<Picture> = (0..FRAMES).map(shown).collect();
    sources.into_iter().zip(shown).collect()
}

/// Writes the frames one after another, to `source.yuv` and `shown.yuv`.
pub(crate) fn write(folder: &Path, size: (usize, usize)) {
    let pairs = pairs(size);
    let all = |which: fn(&(Picture, Picture)) -> &Picture| {
        let frames = pairs.iter().map(|pair| which(pair).bytes());
        frames.collect::<Vec<_>>().concat()
    };
    for (name, bytes) in [
        ("source.yuv", all(|pair| &pair.0)),
        ("shown.yuv", all(|pair| &pair.1)),
    ] {
        std::fs::write(folder.join(name), bytes).expect("written");
    }
}

/// Two waves that move, and a texture that moves with the first.
fn source(size: Size, frame: usize) -> Picture {
    let width = size.width();
    let mut picture = Picture::black(size);
    let [y, u, v] = picture.planes_mut();
    for (at, sample) in y.iter_mut().enumerate() {
        let (x, y) = (at % width + 3 * frame, at / width + frame);
        let texture = (x * 73 + y * 151 + x * y * 7) / 4 % 32;
        *sample = byte(40 + wave(x, 96) + wave(y, 70) + texture);
    }
    for (plane, length) in [(u, 60), (v, 84)] {
        for (at, sample) in plane.iter_mut().enumerate() {
            let (x, y) = (at % (width / 2), at / (width / 2));
            *sample = byte(90 + wave(x + y + 2 * frame, length));
        }
    }
    picture
}

/// A triangle from 0 to half its length and back.
fn wave(at: usize, length: usize) -> usize {
    let at = at % length;
    at.min(length - at)
}

/// Each sample is drawn towards the mean of itself and the three to its left in
/// memory, then rounded down to a step that is wider the later the frame.
fn degraded(source: &Picture, frame: usize) -> Picture {
    let mut shown = source.clone();
    let step = 4 + frame;
    let bytes = source.bytes();
    for (at, sample) in shown.bytes_mut().iter_mut().enumerate() {
        let last: usize = (0..4)
            .map(|back| usize::from(bytes[at.saturating_sub(back)]))
            .sum();
        let mixed = (last + 2 * usize::from(bytes[at])) / 6;
        *sample = byte(mixed / step * step + step / 2);
    }
    shown
}

fn byte(value: usize) -> u8 {
    u8::try_from(value).expect("a byte")
}
