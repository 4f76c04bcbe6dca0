//! What touches the world: sockets, devices, clocks and codecs that drive the
//! sans-IO parts of [`tightloop`].
//!
//! Only [`clock`] exists so far: the one place where the standard library's
//! time types meet ours.

pub mod clock;
