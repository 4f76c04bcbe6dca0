//! How evenly flows share.

use super::{Spread, Window, steps};
use crate::units::{Bytes, Span, Time, count, float};

/// The bins that throughput is averaged in for fairness and for Pantheon's
/// plots. [Pantheon], [SQP].
pub(super) const BIN: Span = Span::from_millis(500);

/// Jain's index of fairness, (Σx)² / (n Σx²): one where all are equal, 1/n
/// where one has everything. Nothing where nobody has anything. [Jain]
#[must_use]
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (float(count(shares.len())) * squares))
}

/// A flow's bytes in each whole bin of the window, and when it was active.
#[derive(Clone, Debug, Default)]
pub(super) struct Share {
    bins: Vec<Bytes>,
    sending: Option<(Time, Time)>,
}

impl Share {
    /// A packet was sent: the flow is active from its first to its last.
    #[inline]
    pub(super) fn sent(&mut self, at: Time) {
        match &mut self.sending {
            Some((_, last)) => *last = at,
            None => self.sending = Some((at, at)),
        }
    }

    /// Bytes arrived within the window.
    #[inline]
    pub(super) fn arrived(&mut self, bin: usize, size: Bytes) {
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, Bytes::ZERO);
        }
        self.bins[bin] += size;
    }

    fn bytes(&self, bin: usize) -> Bytes {
        self.bins.get(bin).copied().unwrap_or_default()
    }

    /// Whether the flow was active for the whole of a bin.
    fn active(&self, window: &Window, bin: usize) -> bool {
        let start = window.from + BIN * i64::try_from(bin).unwrap_or(i64::MAX);
        self.sending
            .is_some_and(|(first, last)| first <= start && start + BIN <= last)
    }

    /// Whole bins of the window until the flow's last packet.
    fn whole(&self, window: &Window) -> usize {
        let last = self.sending.map_or(window.from, |(_, last)| last);
        steps(window.to.min(last) - window.from, BIN)
    }

    /// The throughput in each bin in which the flow was active.
    pub(super) fn rates(&self, window: &Window) -> Vec<f64> {
        (0..self.whole(window))
            .filter(|bin| self.active(window, *bin))
            .filter_map(|bin| self.bytes(bin).per(BIN))
            .map(|rate| rate.bps_f64())
            .collect()
    }
}

/// Jain's index in each bin until the last flow's end; nothing where fewer than
/// two flows were active.
pub(super) fn over_time(shares: &[&Share], window: &Window) -> Vec<Option<f64>> {
    let index = |bin| {
        let active = shares.iter().filter(|share| share.active(window, bin));
        let bytes: Vec<f64> = active.map(|share| share.bytes(bin).get_f64()).collect();
        if bytes.len() < 2 { None } else { jain(&bytes) }
    };
    let last = shares.iter().map(|share| share.whole(window)).max();
    (0..last.unwrap_or(0)).map(index).collect()
}

/// How Jain's index spreads over the bins in which two or more flows were active.
pub(super) fn windows(shares: &[&Share], window: &Window) -> Option<Spread<f64>> {
    Spread::of(over_time(shares, window).into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_of_equal_shares_is_one_and_of_one_hog_is_one_over_n() {
        let close = |shares: &[f64], expected: f64| {
            let index = jain(shares).expect("somebody has something");
            assert!((index - expected).abs() < 1e-12, "{shares:?}: {index}");
        };
        close(&[5.0, 5.0, 5.0], 1.0);
        close(&[9.0, 0.0, 0.0], 1.0 / 3.0);
        close(&[1.0, 3.0], 0.8);
        assert_eq!(jain(&[0.0, 0.0]), None);
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn bins_count_only_while_two_flows_are_active() {
        let window = Window::until(Time::from_secs(2));
        let mut early = Share::default();
        let mut late = Share::default();
        for ms in [0, 2_000] {
            early.sent(Time::from_millis(ms));
        }
        for ms in [600, 2_000] {
            late.sent(Time::from_millis(ms));
        }
        for bin in 0..4 {
            early.arrived(bin, Bytes::new(3_000));
        }
        late.arrived(2, Bytes::new(1_000));
        late.arrived(3, Bytes::new(3_000));
        let spread = windows(&[&early, &late], &window).expect("two bins");
        // Bin 0: alone. Bin 1: the second flow begins inside. Bins 2 and 3: .8 and 1.
        assert_eq!(spread.count, 2);
        assert!((spread.min - 0.8).abs() < 1e-12 && (spread.max - 1.0).abs() < 1e-12);
        assert!((spread.p10 - 0.82).abs() < 1e-12, "{}", spread.p10);
        assert_eq!(early.rates(&window), [48_000.0; 4]);
        assert_eq!(late.rates(&window), [16_000.0, 48_000.0]);
    }
}
