//! What touches the world: sockets, devices, clocks and codecs that drive the
//! sans-IO parts of [`tightloop`].
//!
//! [`clock`] is the one place where the standard library's time types meet ours.
//!
//! Names in brackets, such as [FFmpeg], are keys of REFERENCES.md.

// Keys of REFERENCES.md are not items; tests/citations.rs of the pure crate checks them.
#![allow(rustdoc::broken_intra_doc_links)]

#[cfg(target_os = "linux")]
pub mod call;
pub mod clock;
pub mod codec;
#[cfg(target_os = "linux")]
pub mod emulate;
pub mod footage;
pub mod footage_encoder;
pub mod picture;
#[cfg(target_os = "linux")]
pub mod proxy;
pub mod quality;
pub mod stills;
#[cfg(target_os = "linux")]
pub mod tcp;
