//! When packets without content may leave.

use crate::units::{Rate, Span, Time};

/// Lets filler go where it will not be in the way of the next frame, until the
/// video has all it can use. [Vidaptive] §3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filler {
    /// There is filler at all.
    enabled: bool,
    /// How close the next frame must not be, as a part of the frame interval.
    guard: f64,
    interval: Span,
    last_frame: Option<Time>,
    /// The video has reached its largest rate.
    sated: bool,
}

impl Filler {
    /// Filler before the first frame too: it finds the rate to begin with.
    #[must_use]
    pub const fn new(enabled: bool, guard: f64, interval: Span) -> Self {
        Self {
            enabled,
            guard,
            interval,
            last_frame: None,
            sated: false,
        }
    }

    /// A frame was captured at `at`; the video could use `target`, and no more
    /// than `max`.
    pub fn on_capture(&mut self, at: Time, target: Rate, max: Rate) {
        self.last_frame = Some(at);
        self.sated = target >= max;
    }

    /// Whether there is any filler now.
    #[must_use]
    pub const fn on(&self) -> bool {
        self.enabled && !self.sated
    }

    /// Whether the next frame is far enough away at `at`. One that does not
    /// come is expected an interval later.
    #[must_use]
    pub fn fills(&self, at: Time) -> bool {
        let Some(last) = self.last_frame else {
            return true;
        };
        let (since, interval) = ((at - last).as_nanos(), self.interval.as_nanos().max(1));
        let left = Span::from_nanos(interval - since.rem_euclid(interval));
        left > self.interval * self.guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Span = Span::from_millis(40);

    #[test]
    fn the_last_quarter_before_a_frame_is_kept_free() {
        let mut filler = Filler::new(true, 0.25, INTERVAL);
        assert!(filler.fills(Time::ZERO));
        filler.on_capture(Time::from_millis(100), Rate::ZERO, Rate::MAX);
        let at = |ms| filler.fills(Time::from_millis(ms));
        assert_eq!(
            [at(100), at(129), at(130), at(139)],
            [true, true, false, false]
        );
        // The frame does not come; the next might.
        assert_eq!([at(140), at(169), at(170)], [true, true, false]);
    }

    #[test]
    fn a_sated_video_needs_none() {
        let mut filler = Filler::new(true, 0.25, INTERVAL);
        assert!(filler.on());
        filler.on_capture(Time::ZERO, Rate::from_mbps(12), Rate::from_mbps(12));
        assert!(!filler.on());
        filler.on_capture(Time::ZERO, Rate::from_mbps(11), Rate::from_mbps(12));
        assert!(filler.on());
        assert!(!Filler::new(false, 0.25, INTERVAL).on());
    }
}
