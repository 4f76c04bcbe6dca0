//! Where received video goes.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tightloop::event::FrameId;
use tightloop::units::Bytes;

use super::opening::Film;
use crate::picture::{Picture, Size};
pub use mp4::Mp4;

mod mp4;

/// The codec whose bytes files keep as they came.
const KEPT: &str = "openh264";
/// Endings of such files.
const ENDINGS: [&str; 3] = ["mp4", "h264", "264"];

/// The longest that one picture is repeated, in frames. Ours: a quarter of an
/// hour, more than any call stands still.
const STANDING: u32 = 30_000;

/// Something that keeps what was received.
pub trait Output: fmt::Debug + Send {
    /// What it is, for complaints.
    fn name(&self) -> String;

    /// A frame's bytes are decoded now: each once, in the order of decoding.
    ///
    /// # Errors
    ///
    /// Nothing is given to it after that but the end.
    fn coded(&mut self, _frame: FrameId, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// A frame is on the screen.
    ///
    /// # Errors
    ///
    /// As [`Output::coded`].
    fn shown(&mut self, _frame: FrameId, _picture: &Picture) -> io::Result<()> {
        Ok(())
    }

    /// The call is over.
    ///
    /// # Errors
    ///
    /// What could not be written.
    fn finish(&mut self) -> io::Result<()>;
}

/// Raw pictures, one for each frame that the sender has captured: where a frame
/// was not shown, the one before it is there again, as a viewer saw it.
pub struct Y4m<W: Write + Send> {
    name: String,
    to: W,
    size: Size,
    /// Lines that come before the first picture.
    head: Option<String>,
    last: Picture,
    /// The next frame that has no picture yet; none before the first one, where
    /// the call was joined in its middle.
    next: Option<u32>,
}

impl<W: Write + Send> Y4m<W> {
    /// Writes to `to`; from the call's first frame on, or from the first one shown.
    #[must_use]
    pub fn new(name: &str, to: W, size: Size, fps: f64, from_first: bool) -> Self {
        // Rates such as 29.97 are of thousandths.
        let thousandths = (fps * 1e3).round();
        let head = format!(
            "YUV4MPEG2 W{} H{} F{thousandths}:1000 Ip A1:1 C420jpeg\n",
            size.width(),
            size.height()
        );
        Self {
            name: name.to_owned(),
            to,
            size,
            head: Some(head),
            last: Picture::black(size),
            next: from_first.then_some(0),
        }
    }

    fn write(&mut self, number: u32, until: u32) -> io::Result<u32> {
        let mut at = number;
        while at < until {
            self.to.write_all(b"FRAME\n")?;
            self.to.write_all(self.last.bytes())?;
            at += 1;
        }
        Ok(at)
    }
}

impl<W: Write + Send> fmt::Debug for Y4m<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Y4m({}, {})", self.name, self.size)
    }
}

impl<W: Write + Send> Output for Y4m<W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn shown(&mut self, frame: FrameId, picture: &Picture) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            self.to.write_all(head.as_bytes())?;
        }
        // One absurd number must not fill a disk.
        let next = self.next.unwrap_or(frame.0);
        let next = if frame.0.saturating_sub(next) > STANDING {
            frame.0
        } else {
            next
        };
        let next = self.write(next, frame.0)?;
        if picture.size() == self.size {
            self.last.clone_from(picture);
        }
        self.next = Some(self.write(next, frame.0.saturating_add(1))?);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The bytes as they came, for H.264: what players call a bare stream.
pub struct Stream<W: Write + Send> {
    name: String,
    to: W,
}

impl<W: Write + Send> Stream<W> {
    /// Writes to `to`.
    #[must_use]
    pub fn new(name: &str, to: W) -> Self {
        Self {
            name: name.to_owned(),
            to,
        }
    }
}

impl<W: Write + Send> fmt::Debug for Stream<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({})", self.name)
    }
}

impl<W: Write + Send> Output for Stream<W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn coded(&mut self, _frame: FrameId, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Counts alone.
#[derive(Debug, Default)]
pub struct Null {
    bytes: Bytes,
}

impl Output for Null {
    fn name(&self) -> String {
        "null".into()
    }

    fn coded(&mut self, _frame: FrameId, bytes: &[u8]) -> io::Result<()> {
        self.bytes += Bytes::len_of(bytes.len());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens an output by what people write: `null`, `-` for Y4M on the standard
/// output, or a file that ends in `.y4m`, `.mp4` or `.h264`. Only the first keeps a
/// call's frames before the first one shown, where there were some (`from_first`).
///
/// # Errors
///
/// A file that cannot be made; an ending that says nothing, or not for this film.
pub fn open(to: &str, film: &Film, from_first: bool) -> Result<Box<dyn Output>, String> {
    if to == "null" {
        return Ok(Box::new(Null::default()));
    }
    let (size, fps) = (film.size, film.fps);
    if to == "-" {
        let name = "the standard output";
        let raw = Y4m::new(name, io::stdout(), size, fps, from_first);
        return Ok(Box::new(raw));
    }
    let path = Path::new(to);
    let ending = path
        .extension()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    let coded = ENDINGS.contains(&ending);
    if !(coded || ending == "y4m" || path.starts_with("/dev")) {
        return Err(format!(
            "{to}: what kind of file? Name one that ends in .y4m, .mp4 or .h264, or - for Y4M on \
             the standard output, or null"
        ));
    }
    if coded && film.codec != KEPT {
        return Err(format!(
            "{to}: .{ending} is for H.264, and the film is coded by {}; name a file that ends in \
             .y4m, or let the sender use --encoder {KEPT}",
            film.codec
        ));
    }
    let file = File::create(path).map_err(|error| format!("{to}: {error}"))?;
    let file = BufWriter::with_capacity(1 << 16, file);
    Ok(match ending {
        "mp4" => Box::new(Mp4::new(to, file, size, fps)),
        _ if coded => Box::new(Stream::new(to, file)),
        _ => Box::new(Y4m::new(to, file, size, fps, from_first)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::{Footage, FootageSettings};

    fn film(codec: &str, fps: f64) -> Film {
        Film {
            codec: codec.into(),
            size: Size::new(64, 48).expect("a size"),
            fps,
        }
    }

    fn grey(size: Size, level: u8) -> Picture {
        let bytes = vec![level; Picture::black(size).bytes().len()];
        Picture::from_bytes(size, bytes).expect("as many")
    }

    #[test]
    fn a_file_has_a_picture_for_every_frame_captured() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("seen.y4m").display().to_string();
        let size = Size::new(64, 48).expect("a size");
        let mut output = open(&path, &film("vp8", 29.97), true).expect("a file");
        for (frame, level) in [(1, 60), (2, 90), (5, 120)] {
            output
                .shown(FrameId(frame), &grey(size, level))
                .expect("room");
        }
        output.finish().expect("room");
        let footage = Footage::open(&path, &FootageSettings::default()).expect("plays");
        assert_eq!((footage.count(), footage.size()), (6, size));
        assert!((footage.fps() - 29.97).abs() < 0.01, "{}", footage.fps());
        let mut picture = Picture::black(size);
        for (number, level) in [16, 60, 90, 90, 90, 120].into_iter().enumerate() {
            footage
                .picture(number as u64, &mut picture)
                .expect("a picture");
            assert_eq!(picture.y()[0], level, "{number}");
        }
    }

    #[test]
    fn a_call_joined_late_begins_where_it_was_joined() {
        let size = Size::new(64, 48).expect("a size");
        let mut bytes = Vec::new();
        let mut output = Y4m::new("memory", &mut bytes, size, 30.0, false);
        output.shown(FrameId(900), &grey(size, 7)).expect("memory");
        drop(output);
        assert_eq!(bytes.windows(6).filter(|it| it == b"FRAME\n").count(), 1);
    }

    #[test]
    fn an_absurd_frame_number_does_not_fill_the_disk() {
        let size = Size::new(64, 48).expect("a size");
        let mut bytes = Vec::new();
        let mut output = Y4m::new("memory", &mut bytes, size, 30.0, true);
        output.shown(FrameId(0), &grey(size, 7)).expect("memory");
        output
            .shown(FrameId(u32::MAX), &grey(size, 7))
            .expect("memory");
        drop(output);
        assert!(bytes.len() < 3 * (6 + 64 * 48 * 3 / 2));
    }

    #[test]
    fn a_full_disk_and_an_unknown_ending_are_told() {
        let size = Size::new(64, 48).expect("a size");
        let mut full = open("/dev/full", &film("vp8", 30.0), true).expect("opens");
        let mut picture = || full.shown(FrameId(40), &grey(size, 7));
        let error = picture().expect_err("no room");
        assert_eq!(error.raw_os_error(), Some(28), "{error}");
        let error = open("film.avi", &film("openh264", 30.0), true).expect_err("refused");
        assert!(error.contains(".y4m"), "{error}");
        let error = open("film.mp4", &film("vp9", 30.0), true).expect_err("refused");
        assert!(error.contains("coded by vp9"), "{error}");
    }
}
