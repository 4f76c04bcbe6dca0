//! VP8 and VP9 by the system's libvpx, set as browsers set it for calls.
//!
//! Constant rate, one pass, no frames held back, one thread, frames dropped
//! where the buffer runs low. The effort is fixed: an adaptive one would follow
//! the clock and no two runs would be alike.

use std::fmt;

use serde::{Deserialize, Serialize};
use tightloop::settings::{Params as Table, SettingError, written};
use tightloop::units::{Span, Time};

use super::{
    CodecError, CodecKind, CodecStart, Coded, PictureOrder, VideoDecoder, VideoEncoder, error, fits,
};
use crate::picture::{Picture, Size};

mod raw;

pub use raw::Format;

/// The entry in [`super::CODECS`].
pub const VP8: CodecKind = CodecKind {
    name: "vp8",
    summary: "VP8 by libvpx: half a second too large after a fall, a second too small after a rise",
    defaults: || written(&Params::of(Format::Vp8)),
    presets: &[
        ("fast", || written(&Params::of(Format::Vp8))),
        ("careful", || effort(Format::Vp8, 6)),
        ("screen", || screen(Format::Vp8)),
    ],
    encoder: |start| Ok(Box::new(VpxEncoder::new(Format::Vp8, start)?)),
    decoder: || Ok(Box::new(VpxDecoder::new(Format::Vp8)?)),
};

/// The entry in [`super::CODECS`].
pub const VP9: CodecKind = CodecKind {
    name: "vp9",
    summary: "VP9 by libvpx: reaches a new rate at once, costs twice as much time",
    defaults: || written(&Params::of(Format::Vp9)),
    presets: &[
        ("fast", || effort(Format::Vp9, 9)),
        ("careful", || written(&Params::of(Format::Vp9))),
        ("screen", || screen(Format::Vp9)),
    ],
    encoder: |start| Ok(Box::new(VpxEncoder::new(Format::Vp9, start)?)),
    decoder: || Ok(Box::new(VpxDecoder::new(Format::Vp9)?)),
};

fn effort(format: Format, speed: u8) -> Table {
    written(&Params {
        speed: Some(speed),
        ..Params::of(format)
    })
}

fn screen(format: Format) -> Table {
    written(&Params {
        content: Content::Screen,
        ..Params::of(format)
    })
}

/// Settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What is filmed. Ours: a camera.
    pub content: Content,
    /// The speed, at the cost of quality: 1 to 16 for VP8, 5 to 9 for VP9.
    /// Ours: 12 and 8, with which both keep up with 1080p at 30 pictures a second.
    pub speed: Option<u8>,
    /// The part of the buffer, in per cent, below which pictures are dropped; 0
    /// drops none. Ours: 30, as browsers do.
    pub drop: Option<u8>,
}

/// What is filmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A camera, or a game.
    #[default]
    Camera,
    /// A screen with text and windows.
    Screen,
}

impl Params {
    /// The defaults, all of them said.
    fn of(format: Format) -> Self {
        Self::default().said(format)
    }

    fn said(self, format: Format) -> Self {
        let speed = match format {
            Format::Vp8 => 12,
            Format::Vp9 => 8,
        };
        Self {
            speed: Some(self.speed.unwrap_or(speed)),
            drop: Some(self.drop.unwrap_or(30)),
            ..self
        }
    }
}

/// The encoder.
pub struct VpxEncoder {
    raw: raw::Encoder,
    format: Format,
    size: Size,
    interval: Span,
    /// The last picture's time on the codec's clock.
    last: Option<Time>,
}

impl VpxEncoder {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Unknown keys; values, sizes and frame rates that the codec does not take.
    pub fn new(format: Format, start: &CodecStart) -> Result<Self, SettingError> {
        let params = start.settings::<Params>()?.said(format);
        let speeds = match format {
            Format::Vp8 => 1..=16,
            Format::Vp9 => 5..=9,
        };
        let (speed, drop) = (params.speed.unwrap_or(0), params.drop.unwrap_or(0));
        SettingError::unless(speeds.contains(&speed), || {
            let (least, most) = (speeds.start(), speeds.end());
            format!(
                "speed = {speed} is none of {}; use {least} to {most}",
                format.name()
            )
        })?;
        SettingError::unless(drop <= 100, || {
            format!("drop = {drop} is no part of the buffer in per cent; use 0 to 100")
        })?;
        let raw = raw::Encoder::new(format, start.size, start.fps()?, &params)
            .map_err(|error| SettingError(error.to_string()))?;
        Ok(Self {
            raw,
            format,
            size: start.size,
            interval: start.frame_interval,
            last: None,
        })
    }
}

impl VideoEncoder for VpxEncoder {
    fn encode(&mut self, picture: &Picture, order: &PictureOrder) -> Result<Coded, CodecError> {
        let name = self.format.name();
        fits(name, picture, self.size)?;
        let captured = order.captured;
        if self.last.is_some_and(|last| captured <= last) {
            let what = format!(
                "a picture of {captured:?} came after one of {:?}",
                self.last
            );
            return Err(error(name, what));
        }
        let elapsed = self.last.map_or(self.interval, |last| captured - last);
        self.last = Some(captured);
        self.raw.encode(picture, captured, elapsed, order)
    }
}

impl fmt::Debug for VpxEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VpxEncoder({}, {})", self.format.name(), self.size)
    }
}

/// The decoder.
pub struct VpxDecoder {
    raw: raw::Decoder,
    format: Format,
}

impl VpxDecoder {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Whatever the codec refuses; none is known.
    pub fn new(format: Format) -> Result<Self, CodecError> {
        let raw = raw::Decoder::new(format)?;
        Ok(Self { raw, format })
    }
}

impl VideoDecoder for VpxDecoder {
    fn decode(&mut self, bytes: &[u8]) -> Result<Option<Picture>, CodecError> {
        if bytes.is_empty() {
            return Err(error(self.format.name(), "no bytes to decode"));
        }
        self.raw.decode(bytes)
    }
}

impl fmt::Debug for VpxDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VpxDecoder({})", self.format.name())
    }
}
