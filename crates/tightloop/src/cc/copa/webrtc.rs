//! Copa put in the place of a browser's congestion control, and nothing else
//! changed.
//!
//! # Idea
//! What goes wrong when a window-based algorithm meets an encoder. While the
//! application sends less than the path bears there is no queue, so every
//! acknowledgement says "more"; the window grows to its cap and means nothing.
//! When the application then wants more, or the link bears less, a window of
//! seconds lets everything out at once. [Vidaptive] §2.
//!
//! # Signals
//! Copa's.
//!
//! # Law
//! Copa with `grow_when_app_limited = true`: no validation of the window, and a
//! cap on it.
//!
//! # Departures
//! The size of the cap is not published; see `max_window`.

use super::{Copa, Params};
use crate::cc::{Algorithm, written};
use crate::units::Bytes;

/// The entry in [`crate::cc::ALGORITHMS`].
pub const COPA_WEBRTC: Algorithm = Algorithm {
    name: "copa-webrtc",
    summary: "Copa whose unused window grows to its cap, as when put into WebRTC unchanged",
    cites: &["Copa", "Vidaptive", "RFC9002"],
    defaults: || written(&params()),
    new: |start| Ok(Box::new(Copa::new(&start.over(&params()))?)),
    reporter: None,
};

/// The largest window. Ours: 10 MB; the paper gives no number, and anything far
/// above the pipe shows the same.
const MAX_WINDOW: Bytes = Bytes::new(10_000_000);

fn params() -> Params {
    Params {
        grow_when_app_limited: true,
        max_window: MAX_WINDOW,
        ..Params::default()
    }
}
