//! stub
use super::RateControlKind;
/// stub
pub const FOLLOW: RateControlKind = RateControlKind {
    name: "follow",
    summary: "",
    cites: &[],
    new: |_| todo!(),
};
