//! Real and generated pictures, any of them at any time, from any thread.
//!
//! A source is decoded once, scaled, and kept as raw pictures in a temporary
//! file without a name; memory stays small whatever the length, and the system
//! removes the file with the [`Footage`]. Generated pictures may as well be painted
//! when they are asked for. A clip shorter than a call runs to and fro, so that
//! there is no cut where it starts again.
//!
//! Cameras are no sources: `ffmpeg` or the like turns what one films into a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tightloop::units::Span;

use crate::picture::{Picture, Size};

mod film;
pub mod generated;
mod matroska;
mod mp4;
mod parameters;
pub mod scale;
mod spool;
mod stream;
mod y4m;

use generated::Film;
use spool::Spool;

/// How a source is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FootageSettings {
    /// The size to scale to, as in `"1280x720"`; by default the source's own,
    /// and 1280x720 for generated pictures.
    pub size: Option<Size>,
    /// Pictures a second, of which each is the source's nearest in time; by
    /// default the source's own rate, and 30 for generated pictures.
    pub fps: Option<f64>,
    /// How much of the source is used. Ours: 30 s, which take 1.2 GB of the
    /// temporary folder at 720p and 30 pictures a second.
    pub longest: Span,
    /// What follows the last picture. Ours: the way back.
    pub repeat: Repeat,
    /// The seed of generated pictures.
    pub seed: u64,
    /// The folder of the temporary file; by default the system's.
    pub folder: Option<PathBuf>,
    /// Generated pictures are painted when they are asked for, not before: nothing
    /// is stored and there is no end. Of no matter to files.
    pub on_demand: bool,
}

impl Default for FootageSettings {
    fn default() -> Self {
        Self {
            size: None,
            fps: None,
            longest: Span::from_secs(30),
            repeat: Repeat::ToAndFro,
            seed: 1,
            folder: None,
            on_demand: false,
        }
    }
}

/// What follows the last picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repeat {
    /// The pictures in reverse, then forwards again: no cut.
    ToAndFro,
    /// The first picture: a cut.
    FromTheStart,
}

/// How far decoding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Pictures decoded.
    pub decoded: u64,
    /// Of how many, where the source says so.
    pub of: Option<u64>,
}

/// A source that cannot be used: which, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {what}")]
pub struct FootageError {
    /// The file or generator.
    pub source_name: String,
    /// What is wrong with it.
    pub what: String,
}

/// Pictures, ready to be shown.
#[derive(Debug)]
pub struct Footage {
    name: String,
    size: Size,
    fps: f64,
    repeat: Repeat,
    notes: Vec<String>,
    pictures: Pictures,
}

/// Where pictures come from.
#[derive(Debug)]
enum Pictures {
    /// For each picture shown once, where it is kept.
    Kept(Vec<u32>, Spool),
    Painted(Film),
}

/// Where readers put their pictures: one and its time in seconds. Breaks where
/// no more are wanted.
type Sink<'a> = dyn FnMut(Picture, f64) -> Result<ControlFlow<()>, String> + 'a;

/// What a reader tells before its first picture.
type Told<'a> = dyn FnMut(Option<u64>, Option<String>) + 'a;

impl Footage {
    /// Opens a file (Y4M, MP4, Matroska or WebM) or a generator (`gen:game`).
    ///
    /// # Errors
    ///
    /// A source that is not there, not video, truncated or in a format that this
    /// build cannot decode; a temporary folder that is full.
    pub fn open(source: &str, settings: &FootageSettings) -> Result<Self, FootageError> {
        Self::open_with(source, settings, &mut |_| ())
    }

    /// As [`Footage::open`], telling how far it is.
    ///
    /// # Errors
    ///
    /// As [`Footage::open`].
    pub fn open_with(
        source: &str,
        settings: &FootageSettings,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, FootageError> {
        let fail = |what: String| FootageError {
            source_name: source.to_owned(),
            what,
        };
        if let Some(fps) = settings.fps
            && !(1.0..=1000.0).contains(&fps)
        {
            return Err(fail(format!("fps = {fps} is no frame rate; use 1 to 1000")));
        }
        if settings.longest <= Span::ZERO {
            let longest = settings.longest;
            return Err(fail(format!(
                "longest = {longest} leaves nothing; use more than 0 s"
            )));
        }
        film::shoot(source, settings, progress).map_err(fail)
    }

    /// What it was opened from.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of every picture.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Pictures a second.
    #[must_use]
    pub fn fps(&self) -> f64 {
        self.fps
    }

    /// Pictures before any comes again; the greatest number where none ever does.
    #[must_use]
    pub fn count(&self) -> u64 {
        match &self.pictures {
            Pictures::Kept(places, _) => places.len() as u64,
            Pictures::Painted(_) => u64::MAX,
        }
    }

    /// What was changed on the way in: cropping, scaling, range.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The picture, below [`Footage::count`], that is shown as the `n`-th.
    #[must_use]
    pub fn index(&self, n: u64) -> u64 {
        let count = self.count();
        if n < count {
            return n;
        }
        match self.repeat {
            Repeat::FromTheStart => n % count,
            // The turning points are shown once: 0 1 2 3 2 1 0 1 …
            Repeat::ToAndFro => {
                let way = n % (2 * count - 2).max(1);
                if way < count {
                    way
                } else {
                    2 * count - 2 - way
                }
            }
        }
    }

    /// The number of the picture that a camera would take after `elapsed`.
    #[must_use]
    pub fn number_at(&self, elapsed: Span) -> u64 {
        /// Of a picture: far below any jitter, far above rounding to a nanosecond.
        const ROUNDING: f64 = 1e-5;
        (elapsed.secs_f64() * self.fps + ROUNDING).max(0.0) as u64
    }

    /// Reads the `n`-th picture, for any `n`; the footage repeats.
    ///
    /// # Errors
    ///
    /// A temporary file that cannot be read.
    pub fn picture(&self, n: u64, picture: &mut Picture) -> Result<(), FootageError> {
        if picture.size() != self.size {
            *picture = Picture::black(self.size);
        }
        let read = match &self.pictures {
            Pictures::Kept(places, spool) => {
                let place = places[usize::try_from(self.index(n)).unwrap_or(0)];
                spool.read(place, picture.bytes_mut())
            }
            Pictures::Painted(film) => {
                film.paint(n as f64 / self.fps, n, picture);
                Ok(())
            }
        };
        read.map_err(|what| FootageError {
            source_name: self.name.clone(),
            what,
        })
    }
}

/// What kinds of file there are, by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Y4m,
    Mp4,
    Matroska,
}

/// Opens a file and looks what it is.
fn open_file(path: &Path) -> Result<(File, Kind), String> {
    let mut file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
    let length = file.metadata().map_err(|error| error.to_string())?;
    if length.is_dir() {
        return Err("is a folder: name a file in it".into());
    }
    let mut head = [0; 16];
    let mut read = 0;
    while read < head.len() {
        match file.read(&mut head[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) => return Err(format!("cannot be read: {error}")),
        }
    }
    file.seek(SeekFrom::Start(0))
        .map_err(|error| format!("cannot be read twice, which is needed: {error}"))?;
    let kind = match &head {
        [b'Y', b'U', b'V', b'4', b'M', b'P', b'E', b'G', b'2', ..] => Kind::Y4m,
        [0x1a, 0x45, 0xdf, 0xa3, ..] => Kind::Matroska,
        [_, _, _, _, kind @ ..]
            if [b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip"]
                .iter()
                .any(|known| kind.starts_with(*known)) =>
        {
            Kind::Mp4
        }
        _ => return Err(unknown(&head[..read])),
    };
    Ok((file, kind))
}

/// What to do with a file that is none of ours.
fn unknown(head: &[u8]) -> String {
    let looks = match head {
        [] => "it is empty",
        [b'R', b'I', b'F', b'F', ..] => "it looks like AVI, WAV or WebP",
        [b'O', b'g', b'g', b'S', ..] => "it looks like Ogg",
        [b'G', b'I', b'F', b'8', ..] => "it looks like GIF",
        [0x89, b'P', b'N', b'G', ..] | [0xff, 0xd8, ..] => "it looks like a still picture",
        [0, 0, 1, ..] | [0, 0, 0, 1, ..] => "it looks like a bare stream",
        [0x47, ..] => "it looks like an MPEG transport stream",
        _ => "its first bytes are those of none",
    };
    format!(
        "is not Y4M, MP4, Matroska or WebM ({looks}): turn it into one of them, for \
         example with `ffmpeg -i FILE -c:v libx264 -pix_fmt yuv420p FILE.mp4`"
    )
}

#[cfg(test)]
mod tests;
