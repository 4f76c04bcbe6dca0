//! H.264 by OpenH264, whose source is built with this crate.
//!
//! The encoder runs in its bitrate mode with one thread. It follows a new
//! target with the next picture.

use std::fmt;

use openh264::decoder::{DecodedYUV, Decoder, DecoderConfig, Flush};
use openh264::encoder::{
    BitRate, Complexity, Encoder, EncoderConfig, FrameRate, FrameType, RateControlMode, UsageType,
};
use openh264::formats::{YUVSlices, YUVSource};
use openh264::{OpenH264API, Timestamp};
use serde::{Deserialize, Serialize};
use tightloop::settings::{SettingError, written};
use tightloop::units::Rate;

use super::{
    CodecError, CodecKind, CodecStart, Coded, PictureOrder, VideoDecoder, VideoEncoder, error, fits,
};
use crate::picture::{Picture, Size};

mod target;

/// The entry in [`super::CODECS`].
pub const OPENH264: CodecKind = CodecKind {
    name: NAME,
    summary: "H.264 by OpenH264: built in, reaches a new rate with the next picture",
    defaults: || written(&Params::default()),
    presets: &[
        ("camera", || written(&Params::default())),
        ("camera-medium", || {
            written(&Params {
                complexity: Effort::Medium,
                ..Params::default()
            })
        }),
        ("camera-no-skip", || {
            written(&Params {
                skip: false,
                ..Params::default()
            })
        }),
        ("screen", || {
            written(&Params {
                content: Content::Screen,
                ..Params::default()
            })
        }),
    ],
    encoder: |start| Ok(Box::new(H264Encoder::new(start)?)),
    decoder: || Ok(Box::new(H264Decoder::new(Order::Coded)?)),
};

const NAME: &str = "openh264";

/// The longer and the shorter side of the largest picture that OpenH264 takes.
const LARGEST: (usize, usize) = (3840, 2160);

/// The range of rates asked of the codec. Its own is 1 bit/s to 2^31 bit/s;
/// below 10 kbit/s there is nothing to see, and beyond 100 Mbit/s nothing to gain.
const RATES: (u32, u32) = (10_000, 100_000_000);

/// Settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// What is filmed. Ours: a camera.
    pub content: Content,
    /// How hard the encoder tries. Ours: low, as browsers do.
    pub complexity: Effort,
    /// The encoder may skip pictures in order to keep its rate. Ours: yes, as
    /// browsers do.
    pub skip: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            content: Content::Camera,
            complexity: Effort::Low,
            skip: true,
        }
    }
}

/// What is filmed: the codec's own presets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// A camera, or a game.
    Camera,
    /// A screen with text and windows.
    Screen,
}

/// How hard the encoder tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Fastest.
    Low,
    /// In between.
    Medium,
    /// Slowest.
    High,
}

/// The encoder.
pub struct H264Encoder {
    params: Params,
    size: Size,
    fps: f64,
    /// The codec, from the first picture on.
    running: Option<Running>,
}

/// The codec at work.
struct Running {
    encoder: Encoder,
    /// Its target in bit/s.
    target: u32,
    /// It has been told while it ran: it was built without a ceiling of ours.
    told: bool,
}

impl H264Encoder {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Unknown keys; a size or frame rate that the codec does not take.
    pub fn new(start: &CodecStart) -> Result<Self, SettingError> {
        let (size, fps) = (start.size, start.fps()?);
        let longer = size.width().max(size.height());
        let shorter = size.width().min(size.height());
        SettingError::unless(longer <= LARGEST.0 && shorter <= LARGEST.1, || {
            format!("{NAME} takes at most 3840x2160, not {size}: scale the pictures down")
        })?;
        SettingError::unless(shorter >= 16, || {
            format!("{NAME} takes at least 16x16, not {size}: scale the pictures up")
        })?;
        Ok(Self {
            params: start.settings()?,
            size,
            fps,
            running: None,
        })
    }

    /// The codec with its target set, started where it does not run yet.
    fn at(&mut self, rate: Rate) -> Result<&mut Encoder, CodecError> {
        let bps = u32::try_from(rate.as_bps()).unwrap_or(u32::MAX);
        let bps = bps.clamp(RATES.0, RATES.1);
        let fresh = self.running.is_none();
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(Running {
                encoder: start(&self.params, self.fps, bps)?,
                target: bps,
                told: false,
            }),
        };
        // The codec is built with its target, and takes another only once it has
        // encoded a picture.
        let as_told = running.told && running.target == bps;
        if !(fresh || as_told) {
            target::set(&mut running.encoder, running.target, bps)?;
            (running.target, running.told) = (bps, true);
        }
        Ok(&mut running.encoder)
    }
}

fn start(params: &Params, fps: f64, bps: u32) -> Result<Encoder, CodecError> {
    let config = EncoderConfig::new()
        .rate_control_mode(RateControlMode::Bitrate)
        .bitrate(BitRate::from_bps(bps))
        .max_frame_rate(FrameRate::from_hz(fps as f32))
        .skip_frames(params.skip)
        .num_threads(1)
        .usage_type(match params.content {
            Content::Camera => UsageType::CameraVideoRealTime,
            Content::Screen => UsageType::ScreenContentRealTime,
        })
        .complexity(match params.complexity {
            Effort::Low => Complexity::Low,
            Effort::Medium => Complexity::Medium,
            Effort::High => Complexity::High,
        });
    // The codec turns these off for screens anyway, and complains.
    let camera = params.content == Content::Camera;
    let config = config
        .adaptive_quantization(camera)
        .background_detection(camera);
    let mut encoder =
        Encoder::with_api_config(OpenH264API::from_source(), config).map_err(refused)?;
    target::silence(&mut encoder)?;
    Ok(encoder)
}

impl VideoEncoder for H264Encoder {
    fn encode(&mut self, picture: &Picture, order: &PictureOrder) -> Result<Coded, CodecError> {
        fits(NAME, picture, self.size)?;
        let first = self.running.is_none();
        let encoder = self.at(order.rate)?;
        // The first picture is a key frame anyway, and the codec takes orders
        // only once it runs.
        if order.key && !first {
            encoder.force_intra_frame();
        }
        let millis = order.captured.as_nanos() / 1_000_000;
        let (width, height) = (picture.size().width(), picture.size().height());
        let planes = YUVSlices::new(
            (picture.y(), picture.u(), picture.v()),
            (width, height),
            (width, width / 2, width / 2),
        );
        let stream = encoder
            .encode_at(&planes, Timestamp::from_millis(millis))
            .map_err(refused)?;
        let mut bytes = Vec::new();
        let kind = stream.frame_type();
        if kind != FrameType::Skip {
            stream.write_vec(&mut bytes);
        }
        Ok(Coded {
            key: kind == FrameType::IDR && !bytes.is_empty(),
            bytes,
        })
    }
}

impl fmt::Debug for H264Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "H264Encoder({}, {:?})", self.size, self.params)
    }
}

/// In which order pictures come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are coded: each at once. For streams of a real-time encoder.
    Coded,
    /// As they are shown, later where pictures depend on later ones. For files.
    Shown,
}

/// The decoder.
pub struct H264Decoder {
    decoder: Decoder,
}

impl H264Decoder {
    /// Builds one.
    ///
    /// # Errors
    ///
    /// Whatever the codec refuses; none is known.
    pub fn new(order: Order) -> Result<Self, CodecError> {
        let config = DecoderConfig::new().flush_after_decode(match order {
            Order::Coded => Flush::Flush,
            Order::Shown => Flush::NoFlush,
        });
        let decoder = Decoder::with_api_config(OpenH264API::from_source(), config);
        Ok(Self {
            decoder: decoder.map_err(refused)?,
        })
    }

    /// The pictures that are still inside.
    ///
    /// # Errors
    ///
    /// Bytes that cannot be decoded.
    pub fn flush(&mut self) -> Result<Vec<Picture>, CodecError> {
        let rest = self.decoder.flush_remaining().map_err(refused)?;
        rest.iter().map(picture).collect()
    }
}

impl VideoDecoder for H264Decoder {
    fn decode(&mut self, bytes: &[u8]) -> Result<Option<Picture>, CodecError> {
        // The codec takes no bytes for the end of the stream.
        if bytes.is_empty() {
            return Err(error(NAME, "no bytes to decode"));
        }
        let decoded = self.decoder.decode(bytes).map_err(refused)?;
        decoded.as_ref().map(picture).transpose()
    }
}

impl fmt::Debug for H264Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "H264Decoder")
    }
}

/// A copy of what the codec holds.
fn picture(decoded: &DecodedYUV<'_>) -> Result<Picture, CodecError> {
    let (width, height) = decoded.dimensions();
    let size = Size::new(width, height).ok_or_else(|| {
        error(
            NAME,
            format!("the stream has pictures of {width}x{height}, which is no size"),
        )
    })?;
    let (stride, chroma, _) = decoded.strides();
    let mut picture = Picture::black(size);
    let [y, u, v] = picture.planes_mut();
    copy(y, width, decoded.y(), stride);
    copy(u, width / 2, decoded.u(), chroma);
    copy(v, width / 2, decoded.v(), chroma);
    Ok(picture)
}

/// Copies rows of a plane whose rows are padded.
pub(crate) fn copy(to: &mut [u8], width: usize, from: &[u8], stride: usize) {
    for (to, from) in to.chunks_exact_mut(width).zip(from.chunks(stride)) {
        to.copy_from_slice(&from[..width]);
    }
}

fn refused(reason: openh264::Error) -> CodecError {
    error(NAME, reason)
}
