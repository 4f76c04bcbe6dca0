//! How fast packets arrive while the sender does not pause.

use crate::cc::Acked;
use crate::filter::Ewma;
use crate::units::{RemoteTime, Span, Time};

/// The weight of a new gap. [Salsify], program.
const GAIN: f64 = 0.1;
/// Ours: a gap between packets is at least this, so that it can be divided by.
const LEAST: Span = Span::from_micros(1);

/// The mean gap between arrivals, less the sender's pauses.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    mean: Ewma,
    /// The last packet: when it left and when it arrived.
    last: Option<(Time, RemoteTime)>,
}

impl Default for Gap {
    fn default() -> Self {
        Self {
            mean: Ewma::new(GAIN),
            last: None,
        }
    }
}

impl Gap {
    /// A packet arrived, later than those before.
    pub(super) fn on_arrival(&mut self, acked: &Acked) {
        let Some(arrived) = acked.arrived else {
            self.last = None;
            return;
        };
        let left = acked.packet.at;
        if let Some((left_before, arrived_before)) = self.last.replace((left, arrived)) {
            let first = acked.packet.kind.fragment().is_none_or(|of| of.index == 0);
            let pause = if first {
                left - left_before
            } else {
                Span::ZERO
            };
            let gap = (arrived - arrived_before) - pause;
            self.mean.push(gap.max(Span::ZERO).secs_f64());
        }
    }

    /// In seconds; `None` before the second packet.
    pub(super) fn mean(&self) -> Option<f64> {
        Some(self.mean.get()?.max(LEAST.secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Sent;
    use crate::event::{Ecn, Fragment, FrameId, Kind};

    #[test]
    fn the_senders_pauses_are_not_the_paths() {
        let mut gap = Gap::default();
        let mut arrive = |index, left, arrived| {
            let fragment = Fragment {
                frame: FrameId(0),
                index,
                count: 2,
            };
            gap.on_arrival(&Acked {
                packet: Sent {
                    at: Time::from_millis(left),
                    kind: Kind::Video(fragment),
                    ..Sent::default()
                },
                arrived: Some(RemoteTime::from_nanos(
                    Time::from_millis(arrived).as_nanos(),
                )),
                rtt: None,
                ecn: Ecn::NotEct,
                spurious: false,
            });
            gap.mean()
        };
        assert_eq!(arrive(0, 0, 100), None);
        assert_eq!(arrive(1, 0, 110), Some(0.01));
        // 40 ms of pause, 45 ms between arrivals: 5 ms, with a weight of a tenth.
        let mean = arrive(0, 40, 155).expect("a mean");
        assert!((mean - 0.0095).abs() < 1e-12, "{mean}");
        let mean = arrive(1, 40, 155).expect("a mean");
        assert!((mean - 0.00855).abs() < 1e-12, "{mean}");
    }
}
