//! Stills of two pictures side by side, as PNG: the source on the left, what
//! was shown on the right.
//!
//! Colours: sizes of 1280 pixels across or more than 576 down are taken for
//! [BT709], smaller ones for [BT601], both of limited range. Ours: pictures do
//! not say, and this is what most players assume.

use tightloop::units::{count, float, index, round};

use crate::picture::{Picture, Size};

/// Pixels between the two pictures, white. Ours.
const GAP: usize = 4;

/// From where pictures are taken for high definition. Ours, as above.
const HIGH_WIDTH: usize = 1280;
const STANDARD_HEIGHT: usize = 576;

/// Why there is no still.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pictures differ in size.
    #[error("a still of {source_size} beside {shown}: scale one to the other's size first")]
    Sizes {
        /// The source's.
        source_size: Size,
        /// The other's.
        shown: Size,
    },
    /// There is no room for two pictures.
    #[error("a still {width} pixels wide has no room for two pictures: ask for at least 64")]
    Narrow {
        /// What was asked for.
        width: usize,
    },
    /// The file could not be made.
    #[error("a still could not be written as PNG")]
    Png(#[from] png::EncodingError),
}

/// The PNG file of two pictures, each scaled down to fit a still `width` pixels
/// wide; never enlarged, so that the still may be narrower.
///
/// # Errors
///
/// Where the pictures' sizes differ, or the width is below 64.
pub fn side_by_side(source: &Picture, shown: &Picture, width: usize) -> Result<Vec<u8>, Error> {
    let (size, other) = (source.size(), shown.size());
    if size != other {
        return Err(Error::Sizes {
            source_size: size,
            shown: other,
        });
    }
    if width < 64 {
        return Err(Error::Narrow { width });
    }
    let across = ((width - GAP) / 2).min(size.width());
    let scaled = float(count(size.height() * across)) / float(count(size.width()));
    let down = index(round(scaled)).max(1);
    let [left, right] = [source, shown].map(|picture| rgb(picture, across, down));
    let row = across * 3;
    let mut pixels = Vec::with_capacity((2 * row + GAP * 3) * down);
    for (left, right) in left.chunks_exact(row).zip(right.chunks_exact(row)) {
        pixels.extend_from_slice(left);
        pixels.extend_from_slice(&[255; GAP * 3]);
        pixels.extend_from_slice(right);
    }
    let side = |pixels: usize| u32::try_from(pixels).expect("sides are at most 16,384 each");
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side(2 * across + GAP), side(down));
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}

/// A picture scaled down, three bytes a pixel.
fn rgb(picture: &Picture, across: usize, down: usize) -> Vec<u8> {
    let size = picture.size();
    let high = size.width() >= HIGH_WIDTH || size.height() > STANDARD_HEIGHT;
    // What red and blue weigh in luma: [BT709] §3, [BT601] §2.5.
    let (red, blue) = if high {
        (0.2126, 0.0722)
    } else {
        (0.299, 0.114)
    };
    let green = 1.0 - red - blue;
    let plane = |samples, width| scaled(samples, width, across, down);
    let planes = plane(picture.y(), size.width())
        .zip(plane(picture.u(), size.width() / 2))
        .zip(plane(picture.v(), size.width() / 2));
    planes
        .flat_map(|((y, u), v)| {
            // Limited range: luma 16 to 235, chroma 16 to 240. [BT601] §2.5.
            let y = (y - 16.0) * 255.0 / 219.0;
            let [u, v] = [u, v].map(|chroma| (chroma - 128.0) * 255.0 / 224.0);
            let (r, b) = (2.0 * (1.0 - red) * v, 2.0 * (1.0 - blue) * u);
            let g = -(red * r + blue * b) / green;
            [r, g, b].map(|colour| {
                u8::try_from(round((y + colour).clamp(0.0, 255.0))).expect("clamped to a byte")
            })
        })
        .collect()
}

/// A plane's samples at another size: the mean of those a pixel covers, or the
/// one it lies in.
fn scaled(samples: &[u8], width: usize, across: usize, down: usize) -> impl Iterator<Item = f64> {
    let height = samples.len() / width;
    let cover = |at: usize, of: usize, all: usize| {
        let start = at * all / of;
        start..((at + 1) * all / of).max(start + 1)
    };
    (0..down).flat_map(move |y| {
        (0..across).map(move |x| {
            let (columns, rows) = (cover(x, across, width), cover(y, down, height));
            let covered = columns.len() * rows.len();
            let sum: u64 = rows
                .flat_map(|row| &samples[row * width..][columns.clone()])
                .map(|&sample| u64::from(sample))
                .sum();
            float(sum) / float(count(covered))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(width: usize, height: usize, [y, u, v]: [u8; 3]) -> Picture {
        let mut picture = Picture::black(Size::new(width, height).expect("even"));
        let planes = picture.planes_mut();
        for (plane, value) in planes.into_iter().zip([y, u, v]) {
            plane.fill(value);
        }
        picture
    }

    fn decoded(file: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .expect("a header");
        let mut pixels = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut pixels).expect("an image");
        (info.width, info.height, pixels)
    }

    #[test]
    fn a_still_has_both_pictures_and_a_gap() {
        let (white, black) = (of(640, 360, [235, 128, 128]), of(640, 360, [16, 128, 128]));
        let file = side_by_side(&white, &black, 324).expect("a still");
        let (width, height, pixels) = decoded(&file);
        assert_eq!((width, height), (324, 90));
        let row = &pixels[..324 * 3];
        assert!(
            row[..164 * 3].iter().all(|&byte| byte == 255),
            "white, then the gap"
        );
        assert!(row[164 * 3..].iter().all(|&byte| byte == 0), "black");
    }

    #[test]
    fn small_pictures_are_not_enlarged() {
        let picture = Picture::black(Size::new(48, 32).expect("even"));
        let (width, height, _) = decoded(&side_by_side(&picture, &picture, 900).expect("a still"));
        assert_eq!((width, height), (100, 32));
    }

    #[test]
    fn the_size_tells_the_colours() {
        // Full red in either standard: R' = 1 gives Y = 16 + 219 Kr and so on.
        for (size, red) in [((640, 480), [81, 90, 240]), ((1280, 720), [63, 102, 240])] {
            let found = rgb(&of(size.0, size.1, red), 2, 2);
            for pixel in found.chunks_exact(3) {
                let [r, g, b] = [pixel[0], pixel[1], pixel[2]];
                assert!(r >= 253 && g <= 2 && b <= 2, "{size:?}: {pixel:?}");
            }
        }
    }

    #[test]
    fn pixels_are_means_of_what_they_cover() {
        let plane: Vec<u8> = (0..12).collect();
        let halved: Vec<f64> = scaled(&plane, 4, 2, 1).collect();
        // Rows 0 to 2, columns 0 to 1 and 2 to 3.
        assert_eq!(halved, [4.5, 6.5]);
        let same: Vec<f64> = scaled(&plane, 4, 4, 3).collect();
        assert_eq!(same, (0..12).map(f64::from).collect::<Vec<_>>());
    }

    #[test]
    fn what_makes_no_still_is_refused() {
        let [a, b] = [64, 66].map(|side| Picture::black(Size::new(side, 64).expect("even")));
        let error = side_by_side(&a, &b, 900)
            .expect_err("sizes differ")
            .to_string();
        assert!(error.contains("64x64 beside 66x64"), "{error}");
        let error = side_by_side(&a, &a, 63).expect_err("narrow").to_string();
        assert!(error.contains("63 pixels"), "{error}");
    }
}
