//! When the encoder stops, and when it goes on.

use crate::units::Span;

/// Stops the encoder while a packet has waited too long, until none waits.
/// [Vidaptive] §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// τ; `None` never stops.
    after: Option<Span>,
    paused: bool,
}

impl Pause {
    /// Encoding, until a packet has waited longer than `after`.
    #[must_use]
    pub const fn new(after: Option<Span>) -> Self {
        Self {
            after,
            paused: false,
        }
    }

    /// A frame was captured while the oldest waiting packet, if there is one,
    /// had waited so long. Tells whether to leave it out.
    pub fn on_capture(&mut self, oldest: Option<Span>) -> bool {
        self.paused = match (oldest, self.after) {
            (Some(age), Some(after)) => self.paused || age > after,
            _ => false,
        };
        self.paused
    }

    /// No packet waits any more. Tells whether it had been paused.
    pub fn on_drained(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }

    /// Whether the encoder is stopped.
    #[must_use]
    pub const fn paused(&self) -> bool {
        self.paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Option<Span> {
        Some(Span::from_millis(millis))
    }

    #[test]
    fn it_stops_above_tau_and_goes_on_only_when_nothing_waits() {
        let mut pause = Pause::new(ms(33));
        assert!(!pause.on_capture(None));
        assert!(!pause.on_capture(ms(33)));
        assert!(pause.on_capture(ms(34)));
        // Shorter is not enough: a rate that hovers around τ would flicker.
        assert!(pause.on_capture(ms(1)));
        assert!(pause.paused());
        assert!(!pause.on_capture(None));
        assert!(pause.on_capture(ms(40)));
        assert!(pause.on_drained());
        assert!(!pause.on_drained());
        assert!(!pause.on_capture(ms(20)));
    }

    #[test]
    fn without_tau_it_never_stops() {
        let mut pause = Pause::new(None);
        assert!(!pause.on_capture(Some(Span::from_secs(60))));
        assert!(!pause.on_drained());
    }
}
