//! stub
use super::EncoderKind;
/// stub
pub const IDEAL: EncoderKind = EncoderKind {
    name: "ideal",
    summary: "",
    cites: &[],
    new: |_| todo!(),
};
/// stub
pub const LAG: EncoderKind = EncoderKind {
    name: "vp8-paper",
    summary: "",
    cites: &[],
    new: |_| todo!(),
};
/// stub
pub const RFC8593: EncoderKind = EncoderKind {
    name: "rfc8593",
    summary: "",
    cites: &[],
    new: |_| todo!(),
};
