//! The one thing OpenH264's safe interface lacks: another target while it runs.
#![allow(unsafe_code)]

use openh264::encoder::Encoder;
use openh264_sys2::{
    ENCODER_OPTION, ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, SBitrateInfo,
    SPATIAL_LAYER_ALL,
};

use super::{NAME, error};
use crate::codec::CodecError;

/// Changes the target, in bit/s, of an encoder that has encoded a picture.
pub(super) fn set(encoder: &mut Encoder, from: u32, to: u32) -> Result<(), CodecError> {
    // The target may at no moment be above the maximum.
    let options = if to > from {
        [ENCODER_OPTION_MAX_BITRATE, ENCODER_OPTION_BITRATE]
    } else {
        [ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE]
    };
    for option in options {
        set_one(encoder, option, to)?;
    }
    Ok(())
}

fn set_one(encoder: &mut Encoder, option: ENCODER_OPTION, bps: u32) -> Result<(), CodecError> {
    let mut target = SBitrateInfo {
        iLayer: SPATIAL_LAYER_ALL,
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
