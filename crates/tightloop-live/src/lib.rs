//! What touches the world: sockets, devices, clocks and codecs that drive the
//! sans-IO parts of [`tightloop`].
//!
//! [`clock`] is the one place where the standard library's time types meet ours.

pub mod clock;
pub mod codec;
pub mod footage;
pub mod footage_encoder;
pub mod picture;
