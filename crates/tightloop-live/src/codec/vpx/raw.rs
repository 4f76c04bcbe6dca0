//! libvpx's C interface, as much of it as is used, made safe.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_long, c_uint, c_ulong};
use std::mem::MaybeUninit;
use std::ptr;

use tightloop::units::{Rate, Span, Time};
use vpx_sys as vpx;

use super::{Content, Params};
use crate::codec::h264::copy;
use crate::codec::{CodecError, Coded, PictureOrder, error};
use crate::picture::{Picture, Size};

/// The codec's clock: ticks a second, as in RTP.
const TICKS: u64 = 90_000;
/// The buffer in milliseconds: all of it, at the start, and aimed at.
const BUFFER: (c_uint, c_uint, c_uint) = (1000, 500, 600);
/// The longest distance of key frames, in pictures: none comes unasked but at a
/// scene cut.
const KEY_DISTANCE: c_uint = 3000;

/// The two formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// VP8, RFC 6386.
    Vp8,
    /// VP9.
    Vp9,
}

impl Format {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vp8 => "vp8",
            Self::Vp9 => "vp9",
        }
    }
}

/// A context of the codec: initialised, and destroyed once.
struct Context {
    // Boxed, because the codec may keep its address.
    raw: Box<vpx::vpx_codec_ctx_t>,
    format: Format,
}

// SAFETY: a context is tied to no thread, and only its owner reaches it.
unsafe impl Send for Context {}

impl Context {
    /// Fails with what the codec says unless it is content.
    fn check(&mut self, code: vpx::vpx_codec_err_t, doing: &str) -> Result<(), CodecError> {
        if code == vpx::vpx_codec_err_t::VPX_CODEC_OK {
            return Ok(());
        }
        // SAFETY: the context is initialised; the codec gives strings that end
        // with a zero and live as long as the context is left alone, or null.
        let said = unsafe {
            let text = |text: *const std::ffi::c_char| {
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            };
            text(vpx::vpx_codec_error_detail(&raw mut *self.raw))
                .or_else(|| text(vpx::vpx_codec_error(&raw mut *self.raw)))
        };
        let said = said.unwrap_or_else(|| format!("{code:?}"));
        Err(error(self.format.name(), format!("{doing}: {said}")))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was initialised when it was built, and is destroyed here alone.
        unsafe { vpx::vpx_codec_destroy(&raw mut *self.raw) };
    }
}

/// An encoder.
pub(super) struct Encoder {
    context: Context,
    config: vpx::vpx_codec_enc_cfg_t,
    fps: f64,
}

// SAFETY: the configuration's pointers are null and stay so.
unsafe impl Send for Encoder {}

impl Encoder {
    pub(super) fn new(
        format: Format,
        size: Size,
        fps: f64,
        params: &Params,
    ) -> Result<Self, CodecError> {
        // SAFETY: both return the address of a static table.
        let interface = unsafe {
            match format {
                Format::Vp8 => vpx::vpx_codec_vp8_cx(),
                Format::Vp9 => vpx::vpx_codec_vp9_cx(),
            }
        };
        let mut config = MaybeUninit::<vpx::vpx_codec_enc_cfg_t>::zeroed();
        // SAFETY: the codec writes a whole configuration, or says that it did not.
        let code = unsafe { vpx::vpx_codec_enc_config_default(interface, config.as_mut_ptr(), 0) };
        if code != vpx::vpx_codec_err_t::VPX_CODEC_OK {
            return Err(error(
                format.name(),
                format!("it has no defaults: {code:?}"),
            ));
        }
        // SAFETY: the codec has written it whole, as it said.
        let mut config = unsafe { config.assume_init() };
        configure(&mut config, format, size, params);

        let mut raw = Box::new(MaybeUninit::<vpx::vpx_codec_ctx_t>::zeroed());
        // SAFETY: a zeroed context is what the codec asks for; the configuration
        // is copied; the last number says against which headers this was built.
        let code = unsafe {
            vpx::vpx_codec_enc_init_ver(
                raw.as_mut_ptr(),
                interface,
                &raw const config,
                0,
                vpx::VPX_ENCODER_ABI_VERSION as c_int,
            )
        };
        if code != vpx::vpx_codec_err_t::VPX_CODEC_OK {
            return Err(error(
                format.name(),
                format!("an encoder of {size} is refused: {code:?}"),
            ));
        }
        // SAFETY: the codec has initialised it, as it said.
        let raw = unsafe { raw.assume_init() };
        let mut encoder = Self {
            context: Context { raw, format },
            config,
            fps,
        };
        encoder.tune(format, params)?;
        Ok(encoder)
    }

    /// The controls that browsers set.
    fn tune(&mut self, format: Format, params: &Params) -> Result<(), CodecError> {
        use vpx::vp8e_enc_control_id::{
            VP8E_SET_CPUUSED, VP8E_SET_MAX_INTRA_BITRATE_PCT, VP8E_SET_SCREEN_CONTENT_MODE,
            VP8E_SET_STATIC_THRESHOLD, VP9E_SET_AQ_MODE, VP9E_SET_FRAME_PARALLEL_DECODING,
            VP9E_SET_GF_CBR_BOOST_PCT, VP9E_SET_TUNE_CONTENT,
        };
        let speed = c_int::from(params.speed.unwrap_or(0));
        let screen = c_int::from(params.content == Content::Screen);
        // A key frame may have what half the optimal buffer holds, at least
        // three ordinary frames.
        let intra = f64::from(BUFFER.2) * 0.5 * self.fps / 10.0;
        self.set(VP8E_SET_MAX_INTRA_BITRATE_PCT, (intra as c_int).max(300))?;
        self.set(VP8E_SET_STATIC_THRESHOLD, if screen == 1 { 100 } else { 1 })?;
        match format {
            Format::Vp8 => {
                // A negative speed is fixed; a positive one follows the clock.
                self.set(VP8E_SET_CPUUSED, -speed)?;
                self.set(VP8E_SET_SCREEN_CONTENT_MODE, screen)
            }
            Format::Vp9 => {
                self.set(VP8E_SET_CPUUSED, speed)?;
                self.set(VP9E_SET_GF_CBR_BOOST_PCT, 0)?;
                self.set(VP9E_SET_FRAME_PARALLEL_DECODING, 0)?;
                // Cyclic refresh.
                self.set(VP9E_SET_AQ_MODE, 3)?;
                self.set(VP9E_SET_TUNE_CONTENT, screen)
            }
        }
    }

    fn set(&mut self, id: vpx::vp8e_enc_control_id, value: c_int) -> Result<(), CodecError> {
        // SAFETY: each control used here takes one int.
        let code =
            unsafe { vpx::vpx_codec_control_(&raw mut *self.context.raw, id as c_int, value) };
        self.context.check(code, &format!("{id:?} = {value}"))
    }

    pub(super) fn encode(
        &mut self,
        picture: &Picture,
        captured: Time,
        elapsed: Span,
        order: &PictureOrder,
    ) -> Result<Coded, CodecError> {
        self.aim(order.rate)?;
        let (width, height) = (picture.size().width(), picture.size().height());
        let mut image = MaybeUninit::<vpx::vpx_image_t>::zeroed();
        // SAFETY: the codec fills in an image around our bytes, which are as many
        // as this format and size need without padding. It reads them only, while
        // the picture is borrowed.
        let image = unsafe {
            let wrapped = vpx::vpx_img_wrap(
                image.as_mut_ptr(),
                vpx::vpx_img_fmt::VPX_IMG_FMT_I420,
                width as c_uint,
                height as c_uint,
                1,
                picture.bytes().as_ptr().cast_mut(),
            );
            if wrapped.is_null() {
                let size = picture.size();
                let what = format!("a picture of {size} is refused");
                return Err(error(self.context.format.name(), what));
            }
            image.assume_init()
        };
        let ticks = |nanos: u64| {
            let ticks = u128::from(nanos) * u128::from(TICKS) / 1_000_000_000;
            u64::try_from(ticks).unwrap_or(u64::MAX)
        };
        let duration = ticks(u64::try_from(elapsed.as_nanos()).unwrap_or(0)).max(1);
        let flags = if order.key {
            vpx::VPX_EFLAG_FORCE_KF
        } else {
            0
        };
        // SAFETY: the context is initialised and the image whole.
        let code = unsafe {
            vpx::vpx_codec_encode(
                &raw mut *self.context.raw,
                &raw const image,
                ticks(captured.as_nanos()) as i64,
                duration as c_ulong,
                c_long::from(flags as i32),
                c_ulong::from(vpx::VPX_DL_REALTIME),
            )
        };
        self.context.check(code, "encoding")?;
        Ok(self.packets())
    }

    fn aim(&mut self, rate: Rate) -> Result<(), CodecError> {
        // The codec counts thousands; it takes zero for no limit.
        let kbps = (rate.as_bps() / 1000).clamp(10, 1_000_000) as c_uint;
        if self.config.rc_target_bitrate == kbps {
            return Ok(());
        }
        self.config.rc_target_bitrate = kbps;
        // SAFETY: both are initialised; the codec copies the configuration.
        let code = unsafe {
            vpx::vpx_codec_enc_config_set(&raw mut *self.context.raw, &raw const self.config)
        };
        self.context
            .check(code, &format!("a target of {kbps} kbit/s"))
    }

    /// What the last picture became; nothing where it was dropped.
    fn packets(&mut self) -> Coded {
        let mut coded = Coded::default();
        let mut iterator = ptr::null();
        loop {
            // SAFETY: the context is initialised, and the iterator is the codec's
            // own. A packet is valid until the next call that encodes.
            let packet = unsafe {
                vpx::vpx_codec_get_cx_data(&raw mut *self.context.raw, &raw mut iterator).as_ref()
            };
            let Some(packet) = packet else { break };
            if packet.kind != vpx::vpx_codec_cx_pkt_kind::VPX_CODEC_CX_FRAME_PKT {
                continue;
            }
            // SAFETY: a packet of this kind has this member, whose buffer has the
            // size it says.
            let (frame, bytes) = unsafe {
                let frame = packet.data.frame;
                (
                    frame,
                    std::slice::from_raw_parts(frame.buf.cast::<u8>(), frame.sz as usize),
                )
            };
            coded.bytes.extend_from_slice(bytes);
            coded.key |= frame.flags & vpx::VPX_FRAME_IS_KEY != 0;
        }
        coded
    }
}

/// The settings of calls in browsers.
fn configure(config: &mut vpx::vpx_codec_enc_cfg_t, format: Format, size: Size, params: &Params) {
    config.g_w = size.width() as c_uint;
    config.g_h = size.height() as c_uint;
    config.g_threads = 1;
    config.g_timebase.num = 1;
    config.g_timebase.den = TICKS as c_int;
    config.g_pass = vpx::vpx_enc_pass::VPX_RC_ONE_PASS;
    config.g_lag_in_frames = 0;
    config.g_error_resilient = 0;
    config.rc_end_usage = vpx::vpx_rc_mode::VPX_CBR;
    config.rc_resize_allowed = 0;
    config.rc_dropframe_thresh = c_uint::from(params.drop.unwrap_or(0));
    (
        config.rc_buf_sz,
        config.rc_buf_initial_sz,
        config.rc_buf_optimal_sz,
    ) = BUFFER;
    config.kf_mode = vpx::vpx_kf_mode::VPX_KF_AUTO;
    config.kf_min_dist = 0;
    config.kf_max_dist = KEY_DISTANCE;
    config.rc_min_quantizer = 2;
    match format {
        Format::Vp8 => {
            config.rc_max_quantizer = 56;
            config.rc_undershoot_pct = 100;
            config.rc_overshoot_pct = 15;
        }
        Format::Vp9 => {
            config.rc_max_quantizer = 52;
            config.rc_undershoot_pct = 50;
            config.rc_overshoot_pct = 50;
        }
    }
}

/// A decoder.
pub(super) struct Decoder {
    context: Context,
}

impl Decoder {
    pub(super) fn new(format: Format) -> Result<Self, CodecError> {
        // SAFETY: both return the address of a static table.
        let interface = unsafe {
            match format {
                Format::Vp8 => vpx::vpx_codec_vp8_dx(),
                Format::Vp9 => vpx::vpx_codec_vp9_dx(),
            }
        };
        let mut raw = Box::new(MaybeUninit::<vpx::vpx_codec_ctx_t>::zeroed());
        // SAFETY: a zeroed context is what the codec asks for; without a
        // configuration it takes its own.
        let code = unsafe {
            vpx::vpx_codec_dec_init_ver(
                raw.as_mut_ptr(),
                interface,
                ptr::null(),
                0,
                vpx::VPX_DECODER_ABI_VERSION as c_int,
            )
        };
        if code != vpx::vpx_codec_err_t::VPX_CODEC_OK {
            return Err(error(
                format.name(),
                format!("a decoder is refused: {code:?}"),
            ));
        }
        // SAFETY: the codec has initialised it, as it said.
        let raw = unsafe { raw.assume_init() };
        let context = Context { raw, format };
        Ok(Self { context })
    }

    pub(super) fn decode(&mut self, bytes: &[u8]) -> Result<Option<Picture>, CodecError> {
        let name = self.context.format.name();
        let length = c_uint::try_from(bytes.len()).map_err(|_| error(name, "too many bytes"))?;
        // SAFETY: the codec reads so many bytes during the call.
        let code = unsafe {
            vpx::vpx_codec_decode(
                &raw mut *self.context.raw,
                bytes.as_ptr(),
                length,
                ptr::null_mut(),
                0,
            )
        };
        self.context.check(code, "decoding")?;
        let mut iterator = ptr::null();
        let mut last = None;
        loop {
            // SAFETY: as for the encoder's packets; an image is valid until the
            // next call that decodes.
            let image = unsafe {
                vpx::vpx_codec_get_frame(&raw mut *self.context.raw, &raw mut iterator).as_ref()
            };
            let Some(image) = image else { break };
            last = Some(picture(name, image)?);
        }
        Ok(last)
    }
}

fn picture(name: &'static str, image: &vpx::vpx_image_t) -> Result<Picture, CodecError> {
    if image.fmt != vpx::vpx_img_fmt::VPX_IMG_FMT_I420 || image.bit_depth != 8 {
        let what = "only 8 bits a sample and 4:2:0 can be used: convert the video";
        return Err(error(name, what));
    }
    // An odd size loses its last row or column.
    let (width, height) = (image.d_w as usize & !1, image.d_h as usize & !1);
    let size = Size::new(width, height)
        .ok_or_else(|| error(name, format!("pictures of {width}x{height} are no size")))?;
    let mut picture = Picture::black(size);
    let planes = picture.planes_mut();
    for (index, to) in planes.into_iter().enumerate() {
        let (width, rows) = if index == 0 {
            (width, height)
        } else {
            (width / 2, height / 2)
        };
        let stride = usize::try_from(image.stride[index]).unwrap_or(0).max(width);
        // SAFETY: each plane has at least this many rows of this stride, the last
        // of them without padding.
        let from = unsafe {
            std::slice::from_raw_parts(
                image.planes[index].cast_const(),
                stride * (rows - 1) + width,
            )
        };
        copy(to, width, from, stride);
    }
    Ok(picture)
}
