//! What OpenH264's safe interface lacks: another target while it runs, and
//! silence before it does.
#![allow(unsafe_code)]

use openh264::encoder::Encoder;
use openh264_sys2::{
    ENCODER_OPTION, ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, ENCODER_OPTION_TRACE_LEVEL,
    LAYER_NUM, SBitrateInfo, SPATIAL_LAYER_0, SPATIAL_LAYER_ALL, WELS_LOG_QUIET,
};

use super::{NAME, error};
use crate::codec::CodecError;

/// The codec's own ceiling, over its target. Ours: twice. It holds for whole
/// windows of five seconds; at the target itself, pictures are skipped at the end
/// of windows that were met to the byte.
const CEILING: u32 = 2;

/// Changes the target, in bit/s, of an encoder that has encoded a picture.
pub(super) fn set(encoder: &mut Encoder, from: u32, to: u32) -> Result<(), CodecError> {
    // For all layers, the codec keeps a ceiling that it never looks at.
    let high = to.saturating_mul(CEILING);
    let ceiling = (ENCODER_OPTION_MAX_BITRATE, SPATIAL_LAYER_0, high);
    let target = (ENCODER_OPTION_BITRATE, SPATIAL_LAYER_ALL, to);
    // The target may at no moment be above the ceiling.
    let options = if to >= from {
        [ceiling, target]
    } else {
        [target, ceiling]
    };
    for (option, layer, bps) in options {
        set_one(encoder, option, layer, bps)?;
    }
    Ok(())
}

/// Keeps the codec from writing warnings to the error stream while it starts.
pub(super) fn silence(encoder: &mut Encoder) -> Result<(), CodecError> {
    let mut level = WELS_LOG_QUIET;
    // SAFETY: the option takes a pointer to an int, before initialisation too,
    // reads it during the call and keeps nothing of it.
    let code = unsafe {
        encoder
            .raw_api()
            .set_option(ENCODER_OPTION_TRACE_LEVEL, (&raw mut level).cast())
    };
    if code == 0 {
        Ok(())
    } else {
        Err(error(
            NAME,
            format!("it refuses to be silent (code {code})"),
        ))
    }
}

fn set_one(
    encoder: &mut Encoder,
    option: ENCODER_OPTION,
    layer: LAYER_NUM,
    bps: u32,
) -> Result<(), CodecError> {
    let mut target = SBitrateInfo {
        iLayer: layer,
        iBitrate: i32::try_from(bps).unwrap_or(i32::MAX),
    };
    // SAFETY: both options take a pointer to this type, read it during the call
    // and keep nothing of it; the encoder is ours alone while it is borrowed.
    let code = unsafe {
        encoder
            .raw_api()
            .set_option(option, (&raw mut target).cast())
    };
    if code == 0 {
        Ok(())
    } else {
        Err(error(
            NAME,
            format!("it refuses a target of {bps} bit/s (code {code})"),
        ))
    }
}
