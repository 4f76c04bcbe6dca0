//! ProbeRTT: keep next to nothing in flight until the empty path has been seen.

use crate::units::{Bytes, Span, Time};

/// A visit to the empty path. [BBRv1] §4.3.5.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// Since little enough is in flight.
    holding: Option<Holding>,
}

#[derive(Clone, Copy, Debug)]
struct Holding {
    until: Time,
    /// A round has passed too.
    round_passed: bool,
}

impl ProbeRtt {
    /// Tells whether it is over: the window has held for `length` and a round.
    /// `low` tells that no more is in flight than the window allows.
    pub(super) fn is_over(&mut self, now: Time, low: bool, begins: bool, length: Span) -> Visit {
        match &mut self.holding {
            None if low => {
                self.holding = Some(Holding {
                    until: now + length,
                    round_passed: false,
                });
                Visit::Arrived
            }
            None => Visit::Lasts,
            Some(holding) => {
                holding.round_passed |= begins;
                if holding.round_passed && now >= holding.until {
                    Visit::Over
                } else {
                    Visit::Lasts
                }
            }
        }
    }
}

/// How a visit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Visit {
    /// Little enough is in flight from now on: a round starts here.
    Arrived,
    /// Not yet over.
    Lasts,
    /// Over.
    Over,
}

/// The window meanwhile.
pub(super) fn window(bdp: Option<Bytes>, share: f64, least: Bytes) -> Bytes {
    bdp.map_or(least, |bdp| (bdp * share).max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lasts_for_its_length_and_a_round_once_little_is_in_flight() {
        let (at, length) = (Time::from_millis, Span::from_millis(200));
        let mut visit = ProbeRtt::default();
        assert_eq!(visit.is_over(at(0), false, true, length), Visit::Lasts);
        assert_eq!(visit.is_over(at(100), true, true, length), Visit::Arrived);
        // The round that began before does not count.
        assert_eq!(visit.is_over(at(300), true, false, length), Visit::Lasts);
        assert_eq!(visit.is_over(at(301), true, true, length), Visit::Over);
        let mut quick = ProbeRtt::default();
        quick.is_over(at(0), true, false, length);
        assert_eq!(quick.is_over(at(50), true, true, length), Visit::Lasts);
        assert_eq!(quick.is_over(at(199), true, false, length), Visit::Lasts);
        assert_eq!(quick.is_over(at(200), true, false, length), Visit::Over);
    }

    #[test]
    fn the_window_is_a_share_of_the_pipe_or_the_least() {
        let (least, pipe) = (Bytes::new(6_000), Bytes::new(100_000));
        assert_eq!(window(Some(pipe), 0.75, least), Bytes::new(75_000));
        assert_eq!(window(Some(pipe), 0.0, least), least);
        assert_eq!(window(None, 0.75, least), least);
    }
}
