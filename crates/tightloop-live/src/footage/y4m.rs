//! Y4M: raw pictures with a line of text before each.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use y4m::{Colorspace, Decoder, Error};

use super::stream::limited;
use super::{Sink, Told};
use crate::picture::{Picture, Size};

/// Reads all pictures.
pub(super) fn read(file: File, tell: &mut Told<'_>, sink: &mut Sink<'_>) -> Result<(), String> {
    let length = file.metadata().map_or(0, |about| about.len());
    let taken = Rc::new(Cell::new(0));
    let tally = Tally {
        reader: BufReader::new(file),
        taken: taken.clone(),
    };
    let mut decoder = Decoder::new(tally).map_err(|error| match error {
        Error::UnknownColorspace => {
            "has a colour space that cannot be used: convert it to 8-bit 4:2:0 (`-pix_fmt yuv420p`)"
                .into()
        }
        other => format!("its first line is no Y4M: {other}"),
    })?;
    let space = decoder.get_colorspace();
    if !matches!(
        space,
        Colorspace::C420 | Colorspace::C420jpeg | Colorspace::C420paldv | Colorspace::C420mpeg2
    ) {
        return Err(format!(
            "has the colour space {space:?}: convert it to 8-bit 4:2:0 (`-pix_fmt yuv420p`)"
        ));
    }
    let rate = decoder.get_framerate();
    if rate.num == 0 || rate.den == 0 {
        return Err(format!("a frame rate of {}:{} is none", rate.num, rate.den));
    }
    let params = decoder.get_raw_params();
    let says = |word: &[u8]| {
        params
            .split(|byte| *byte == b' ')
            .any(|param| param == word)
    };
    if [b"It", b"Ib", b"Im"].iter().any(|word| says(*word)) {
        return Err("is interlaced: convert it (`ffmpeg -i FILE -vf yadif`)".into());
    }
    let full = says(b"XCOLORRANGE=FULL");
    let (width, height) = (decoder.get_width(), decoder.get_height());
    let size = Size::new(width & !1, height & !1)
        .ok_or_else(|| format!("pictures of {width}x{height} cannot be used"))?;
    let each = (width * height + 2 * width.div_ceil(2) * height.div_ceil(2)) as u64;
    tell(Some(length / each), None);
    if (size.width(), size.height()) != (width, height) {
        tell(
            None,
            Some(format!(
                "cropped from {width}x{height} to {size}: sizes are even"
            )),
        );
    }
    if full {
        tell(None, Some(FULL.into()));
    }
    let (mut number, mut buffer) = (0_u64, Picture::black(size));
    loop {
        let whole = taken.get();
        match decoder.read_frame() {
            Ok(frame) => {
                let planes = [
                    frame.get_y_plane(),
                    frame.get_u_plane(),
                    frame.get_v_plane(),
                ];
                crop(&mut buffer, planes, width);
            }
            Err(Error::EOF) if whole == length => return Ok(()),
            Err(error) => {
                return Err(format!(
                    "is cut off or damaged in picture {number}: {error}"
                ));
            }
        }
        if full {
            limited(&mut buffer);
        }
        let secs = number as f64 * rate.den as f64 / rate.num as f64;
        if sink(buffer.clone(), secs)?.is_break() {
            return Ok(());
        }
        number += 1;
    }
}

/// Counts what was taken, so that the end of the file can be told from the middle
/// of a picture.
struct Tally {
    reader: BufReader<File>,
    taken: Rc<Cell<u64>>,
}

impl Read for Tally {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(bytes)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

/// What is said of a source of full range.
pub(super) const FULL: &str = "turned from full range (0 to 255) to limited (16 to 235)";

fn crop(to: &mut Picture, from: [&[u8]; 3], stride: usize) {
    let width = to.size().width();
    let strides = [stride, stride.div_ceil(2), stride.div_ceil(2)];
    let widths = [width, width / 2, width / 2];
    for (plane, to) in to.planes_mut().into_iter().enumerate() {
        crate::codec::h264::copy(to, widths[plane], from[plane], strides[plane]);
    }
}
