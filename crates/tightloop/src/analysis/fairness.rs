//! How evenly flows share, and how soon.

use super::{Curve, Spread, Window, steps};
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

/// What counts as fair for [`Share::converged`]: so much of Jain's index in so
/// many bins in a row. Ours: [SQP]'s flows hold it in Fig. 16, and two seconds
/// are longer than its swings.
const FAIR: f64 = 0.95;
const HELD: usize = 4;

/// How long after a moment a curve reaches `level` and stays at or above it for
/// `hold`: until the start of the first bin, among those that begin at `after` or
/// later, from which bins of together `hold` are all as high. Nothing where that
/// never happens; a bin without a value is not high.
#[must_use]
pub fn converged(curve: &Curve, after: Time, level: f64, hold: Span) -> Option<Span> {
    let first = bins_until(after.since_epoch(), curve.bin);
    let held = bins_until(hold, curve.bin).max(1);
    let reached = settled(&curve.values, first, level, held)?;
    Some(start(Time::ZERO, curve.bin, reached) - after)
}

/// The first place, from `first` on, with so many high values in a row.
fn settled(values: &[Option<f64>], first: usize, level: f64, held: usize) -> Option<usize> {
    let high = |value: &Option<f64>| value.is_some_and(|value| value >= level);
    let rows = values.get(first..)?.windows(held);
    let mut rows = rows.map(|row| row.iter().all(high));
    Some(first + rows.position(|all| all)?)
}

/// Bins that begin before a span is over.
fn bins_until(span: Span, bin: Span) -> usize {
    steps(span + bin - Span::from_nanos(1), bin)
}

/// When a bin begins.
fn start(from: Time, bin: Span, place: usize) -> Time {
    from + bin * i64::try_from(place).unwrap_or(i64::MAX)
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
        let start = start(window.from, BIN, bin);
        self.sending
            .is_some_and(|(first, last)| first <= start && start + BIN <= last)
    }

    /// Whole bins of the window until the flow's last packet.
    fn whole(&self, window: &Window) -> usize {
        let last = self.sending.map_or(window.from, |(_, last)| last);
        steps(window.to.min(last) - window.from, BIN)
    }

    /// From the flow's first packet until all active flows have been fair for a
    /// while, by Jain's index in each bin; nothing where it began alone or before
    /// the window.
    pub(super) fn converged(&self, jain: &[Option<f64>], window: &Window) -> Option<Span> {
        let (began, _) = self.sending.filter(|(first, _)| *first >= window.from)?;
        let whole = bins_until(began - window.from, BIN);
        jain.get(whole).copied().flatten()?;
        let reached = settled(jain, whole, FAIR, HELD)?;
        Some(start(window.from, BIN, reached) - began)
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
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::{Names, Summary};
    use crate::event::{Event, FlowId, PacketId, Sink as _};
    use crate::units::Rate;

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

    /// Jain's index in bins of half a second.
    fn curve(values: &[f64]) -> Curve {
        let value = |value: &f64| (*value > 0.0).then_some(*value);
        Curve {
            key: "all.jain".into(),
            unit: crate::analysis::Unit::Number,
            bin: BIN,
            values: values.iter().map(value).collect(),
        }
    }

    #[test]
    fn a_curve_has_converged_where_it_stays_and_not_where_it_touches() {
        let jain = curve(&[0.0, 0.6, 0.97, 0.8, 0.96, 0.95, 0.99, 0.0, 0.99, 0.99]);
        let after = |ms, level, hold| {
            let hold = Span::from_millis(hold);
            converged(&jain, Time::from_millis(ms), level, hold)
        };
        assert_eq!(after(0, 0.95, 500), Some(Span::from_millis(1_000)));
        // At 1 s it only touches; from 2 s on it stays, until nobody is there at 3.5 s.
        assert_eq!(after(0, 0.95, 1_500), Some(Span::from_millis(2_000)));
        assert_eq!(after(0, 0.95, 2_000), None);
        // Asked at 0.8 s, the first bin to count begins at 1 s.
        assert_eq!(after(800, 0.9, 500), Some(Span::from_millis(200)));
        assert_eq!(after(1_600, 0.95, 1_000), Some(Span::from_millis(400)));
        assert_eq!(after(0, 1.0, 500), None);
        assert_eq!(after(60_000, 0.1, 500), None);
    }

    proptest! {
        /// Whatever it is, from there on it is high, and one bin earlier it is not.
        #[test]
        fn no_earlier_bin_would_do(
            values in prop::collection::vec(0.0..1.0f64, 0..40),
            level in 0.0..1.0f64,
            held in 1_i64..5,
        ) {
            let jain = curve(&values);
            let rows = values.windows(usize::try_from(held).expect("few"));
            let stays = rows.map(|row| row.iter().all(|it| *it > 0.0 && *it >= level));
            let first = stays.clone().position(|stays| stays);
            let found = converged(&jain, Time::ZERO, level, BIN * held);
            prop_assert_eq!(found, first.map(|place| start(Time::ZERO, BIN, place) - Time::ZERO));
        }
    }

    #[test]
    fn a_share_is_of_what_left_and_the_free_part_of_what_could_have() {
        let link = crate::event::LinkId(0);
        let mut summary = Summary::new(Names::default(), Window::until(Time::from_secs(1)));
        let rate = Rate::from_kbps(80);
        summary.record(Time::ZERO, &Event::Capacity { link, rate });
        // 10 kB could leave: 5 of the first flow's do, 3 of the second's.
        for (flow, size) in [(0, 2_000), (1, 3_000), (0, 3_000)] {
            let packet = PacketId {
                flow: FlowId(flow),
                ..PacketId::default()
            };
            let left = Event::Left {
                link,
                packet,
                size: Bytes::new(size),
                waited: Span::ZERO,
                sojourn: Span::ZERO,
            };
            summary.record(Time::from_millis(size / 10), &left);
        }
        let report = summary.report();
        let says = |key: &str| report.get(key).expect(key).number().expect("a value");
        let close = |key: &str, want: f64| assert!((says(key) - want).abs() < 1e-9, "{key}");
        close("flow.0.link.0.carried", 40_000.0);
        close("flow.0.link.0.share", 5.0 / 8.0);
        close("flow.0.link.0.of_free", 5.0 / 7.0);
        close("flow.1.link.0.share", 3.0 / 8.0);
        close("flow.1.link.0.of_free", 3.0 / 5.0);
    }

    #[test]
    fn a_flow_converges_with_those_it_found() {
        let window = Window::until(Time::from_secs(10));
        let share = |first: u64| Share {
            bins: Vec::new(),
            sending: Some((Time::from_millis(first), Time::from_secs(10))),
        };
        // Alone until 2 s; unfair until 4 s.
        let jain = [[0.0; 4], [0.7; 4], [0.96; 4], [1.0; 4]].concat();
        let jain = curve(&jain).values;
        let after = |first| share(first).converged(&jain, &window);
        assert_eq!(after(0), None, "it began alone");
        assert_eq!(after(1_900), Some(Span::from_millis(2_100)));
        assert_eq!(after(5_000), Some(Span::ZERO));
        assert_eq!(after(7_000), None, "too late for two seconds");
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
