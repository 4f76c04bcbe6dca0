//! Real encoders and decoders behind one contract.
//!
//! A [`VideoEncoder`] makes bytes of a [`Picture`], a [`VideoDecoder`] pictures
//! of bytes; [`CODECS`] lists what this build has. Encoders here never look at
//! a clock and have one thread, so that the same pictures, orders and settings
//! give the same bytes with the same build of the codec.

use std::fmt;

use tightloop::settings::{Params, SettingError, settings};
use tightloop::units::{Rate, Span, Time};

use crate::picture::{Picture, Size};

pub mod h264;
pub mod replay;
pub mod step;
#[cfg(feature = "vpx")]
pub mod vpx;

/// Every codec of this build, the default first.
pub const CODECS: &[CodecKind] = &[
    h264::OPENH264,
    #[cfg(feature = "vpx")]
    vpx::VP8,
    #[cfg(feature = "vpx")]
    vpx::VP9,
];

/// What an encoder is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureOrder {
    /// When the picture was captured; later than that of the picture before.
    pub captured: Time,
    /// The payload rate to aim for from this picture on.
    pub rate: Rate,
    /// The picture must be decodable alone.
    pub key: bool,
}

/// An encoded picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coded {
    /// The bytes; empty where the encoder skipped the picture.
    pub bytes: Vec<u8>,
    /// It can be decoded alone.
    pub key: bool,
}

/// Makes bytes of pictures.
pub trait VideoEncoder: fmt::Debug + Send {
    /// Encodes one picture, or skips it.
    ///
    /// # Errors
    ///
    /// A picture of another size than the encoder was built for; whatever the
    /// codec itself refuses.
    fn encode(&mut self, picture: &Picture, order: &PictureOrder) -> Result<Coded, CodecError>;
}

/// Makes pictures of bytes.
///
/// A decoder is not told what is missing. H.264 notices a missing reference and
/// gives an error; VP8 and VP9 show a damaged picture as if nothing were wrong.
/// [`replay::Replay`] knows what is missing and waits for a key frame.
pub trait VideoDecoder: fmt::Debug + Send {
    /// Decodes the bytes of one picture; `None` where the picture comes later.
    ///
    /// # Errors
    ///
    /// Bytes that cannot be decoded, also because of what is missing. The
    /// decoder lives on: the next key frame is decoded as any other.
    fn decode(&mut self, bytes: &[u8]) -> Result<Option<Picture>, CodecError>;
}

/// What an encoder is built from.
#[derive(Clone, Debug)]
pub struct CodecStart {
    /// The settings; keys that are not known are errors.
    pub params: Params,
    /// The size of its pictures.
    pub size: Size,
    /// The nominal time between them.
    pub frame_interval: Span,
}

impl CodecStart {
    /// Default settings.
    #[must_use]
    pub fn plain(size: Size, frame_interval: Span) -> Self {
        Self {
            params: Params::new(),
            size,
            frame_interval,
        }
    }

    /// The settings as a codec's own type.
    ///
    /// # Errors
    ///
    /// Unknown keys and values that do not fit.
    pub fn settings<S: serde::de::DeserializeOwned>(&self) -> Result<S, SettingError> {
        settings(&self.params)
    }

    /// Pictures a second.
    ///
    /// # Errors
    ///
    /// Less than one or more than a thousand.
    fn fps(&self) -> Result<f64, SettingError> {
        let fps = Span::from_secs(1).ratio(self.frame_interval);
        SettingError::unless((1.0..=1000.0).contains(&fps), || {
            let interval = self.frame_interval;
            format!("a frame interval of {interval} is not 1 to 1000 pictures a second")
        })?;
        Ok(fps)
    }
}

/// A name, and the settings that it stands for.
pub type Preset = (&'static str, fn() -> Params);

/// An entry of [`CODECS`].
#[derive(Clone, Copy, Debug)]
pub struct CodecKind {
    /// The name people use.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The settings that it has where nothing is said.
    pub defaults: fn() -> Params,
    /// Named settings worth comparing.
    pub presets: &'static [Preset],
    /// Builds an encoder.
    pub encoder: fn(&CodecStart) -> Result<Box<dyn VideoEncoder>, SettingError>,
    /// Builds a decoder.
    pub decoder: fn() -> Result<Box<dyn VideoDecoder>, CodecError>,
}

/// Looks a codec up by its name.
///
/// # Errors
///
/// A name that this build does not have: which it has, and how to get others.
pub fn codec(name: &str) -> Result<&'static CodecKind, SettingError> {
    CODECS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<_> = CODECS.iter().map(|kind| kind.name).collect();
        let hint = match name {
            "vp8" | "vp9" if cfg!(not(feature = "vpx")) => {
                "; VP8 and VP9 need libvpx and the feature `vpx`: build with `--features vpx`"
            }
            _ => "",
        };
        SettingError(format!(
            "no codec is called {name:?}: there is {}{hint}",
            names.join(", ")
        ))
    })
}

/// A picture or bytes that a codec refuses: what, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{codec}: {what}")]
pub struct CodecError {
    /// The codec.
    pub codec: &'static str,
    /// What went wrong.
    pub what: String,
}

/// An error of a codec.
fn error(codec: &'static str, what: impl fmt::Display) -> CodecError {
    CodecError {
        codec,
        what: what.to_string(),
    }
}

/// Fails unless the picture has the size that the encoder was built for.
fn fits(codec: &'static str, picture: &Picture, size: Size) -> Result<(), CodecError> {
    if picture.size() == size {
        return Ok(());
    }
    let given = picture.size();
    Err(error(
        codec,
        format!(
            "a picture of {given} was given to an encoder of {size}: scale it, or build another encoder"
        ),
    ))
}

#[cfg(test)]
mod tests;
