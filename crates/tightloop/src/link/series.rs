//! Capacity over time, as most recordings have it: one rate per interval.
//!
//! The neutral form between a link's steps, Mahimahi's opportunities and the
//! file formats of [`formats`](super::formats).

use super::trace::{FULL_PACKET, Trace, millis};
use crate::settings::SettingError;
use crate::units::{Rate, Span, Time, Work};

/// Rates, each with the end of its interval. The first interval begins at zero,
/// each next one where the one before ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    intervals: Vec<(Time, Rate)>,
}

impl Series {
    /// From the ends of intervals and their rates.
    ///
    /// # Errors
    ///
    /// No intervals, intervals without length, and rates that are all zero.
    pub fn new(intervals: Vec<(Time, Rate)>) -> Result<Self, SettingError> {
        let mut last = Time::ZERO;
        for (number, (end, _)) in (1..).zip(&intervals) {
            SettingError::unless(*end > last, || {
                format!("interval {number} ends at {end}, not after it began at {last}")
            })?;
            last = *end;
        }
        SettingError::unless(!intervals.is_empty(), || {
            "there is no interval; one rate and its end are the least".into()
        })?;
        SettingError::unless(intervals.iter().any(|(_, rate)| *rate > Rate::ZERO), || {
            "every rate is zero, so nothing would ever be carried".into()
        })?;
        Ok(Self { intervals })
    }

    /// The ends of intervals and their rates.
    #[must_use]
    pub fn intervals(&self) -> &[(Time, Rate)] {
        &self.intervals
    }

    /// How long it is, which is its period when repeated.
    #[must_use]
    pub fn length(&self) -> Span {
        self.end().since_epoch()
    }

    fn end(&self) -> Time {
        self.intervals[self.intervals.len() - 1].0
    }

    /// The mean rate, by time.
    #[must_use]
    pub fn mean(&self) -> Rate {
        let (mut work, mut begin) = (Work::default(), Time::ZERO);
        for (end, rate) in &self.intervals {
            work = work + rate.work(*end - begin);
            begin = *end;
        }
        work.per(self.length()).unwrap_or(Rate::ZERO)
    }

    /// The same as steps of a link: each rate with the *beginning* of its
    /// interval. Repeat it after [`Series::length`].
    #[must_use]
    pub fn steps(&self) -> Vec<(Time, Rate)> {
        let begins = std::iter::once(Time::ZERO).chain(self.intervals.iter().map(|(end, _)| *end));
        begins
            .zip(&self.intervals)
            .map(|(begin, (_, rate))| (begin, *rate))
            .collect()
    }

    /// Opportunities spread evenly inside each interval: one each time a full
    /// packet's bytes have accrued, at that millisecond, rounded up.
    ///
    /// The last opportunity is at the series' end (a rest of less than a packet
    /// counts as one), so that the trace has the period of the series even
    /// where it ends in an outage.
    ///
    /// # Errors
    ///
    /// A series longer than a year.
    pub fn opportunities(&self) -> Result<Trace, SettingError> {
        let packet = FULL_PACKET.work();
        let mut stamps = Vec::new();
        let (mut begin, mut wanted) = (Time::ZERO, packet);
        for (end, rate) in &self.intervals {
            while let Some(at) = wanted.at(*rate).map(|span| begin + span)
                && at <= *end
            {
                stamps.push(whole_millis(at));
                // Exactly what the interval gave up to `at` beyond the packet.
                wanted = packet.less(rate.work(at - begin).less(wanted));
                begin = at;
            }
            wanted = wanted.less(rate.work(*end - begin));
            begin = *end;
        }
        let end = whole_millis(self.end());
        if stamps.last() != Some(&end) {
            stamps.push(end);
        }
        Trace::new(stamps).map_err(|error| SettingError(error.to_string()))
    }

    /// The rates of a trace in bins of a width.
    ///
    /// # Errors
    ///
    /// A width that is not positive.
    pub fn of_trace(trace: &Trace, width: Span) -> Result<Self, SettingError> {
        SettingError::unless(width.is_positive(), || {
            format!("bins of {width} have no width; 1 s is usual")
        })?;
        Self::new(trace.rates(width))
    }
}

/// Rounded up to the millisecond.
fn whole_millis(at: Time) -> Time {
    let down = Time::from_millis(millis(at));
    if down == at {
        at
    } else {
        down + Span::from_millis(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::count;

    fn series(intervals: &[(u64, u64)]) -> Series {
        let intervals = intervals
            .iter()
            .map(|&(ms, kbps)| (Time::from_millis(ms), Rate::from_kbps(kbps)))
            .collect();
        Series::new(intervals).expect("good intervals")
    }

    #[test]
    fn steps_begin_where_intervals_end() {
        let series = series(&[(100, 12), (250, 0), (300, 36)]);
        let ms = Time::from_millis;
        let kbps = Rate::from_kbps;
        assert_eq!(
            series.steps(),
            [(ms(0), kbps(12)), (ms(100), kbps(0)), (ms(250), kbps(36))]
        );
        assert_eq!(series.length(), Span::from_millis(300));
        assert_eq!(series.mean(), kbps(10));
    }

    #[test]
    fn opportunities_are_evenly_spread_and_end_with_the_series() {
        // One packet per 10 ms, then 15 ms of nothing, then one per 4 ms: the
        // packet half accrued at 25 ms is complete 2 ms into the last part.
        let text = series(&[(25, 1_200), (40, 0), (50, 3_000), (80, 0)])
            .opportunities()
            .expect("a trace")
            .write();
        assert_eq!(text, "10\n20\n42\n46\n50\n80\n");
    }

    proptest! {
        /// Into opportunities and back, each bin keeps its bytes to within a
        /// packet (the last to within two, as it ends with one), and the whole
        /// its length and, to a packet, its bytes.
        #[test]
        fn a_series_survives_the_way_to_opportunities_and_back(
            rates in prop::collection::vec(0u64..30_000, 1..20),
            width in 20u64..500,
        ) {
            prop_assume!(rates.iter().any(|kbps| *kbps > 0));
            let intervals: Vec<(u64, u64)> = (1..).map(|n| n * width).zip(rates).collect();
            let series = series(&intervals);
            let trace = series.opportunities().expect("a trace");
            let width = Time::from_millis(width).since_epoch();
            let back = Series::of_trace(&trace, width).expect("bins");
            prop_assert_eq!(back.length(), series.length());
            prop_assert_eq!(back.intervals().len(), series.intervals().len());
            for ((end, rate), (end_back, rate_back)) in series.intervals().iter().zip(back.intervals()) {
                prop_assert_eq!(end, end_back);
                let bytes = rate.over(width).get().abs_diff(rate_back.over(width).get());
                let packets = 1 + u64::from(end.since_epoch() == series.length());
                prop_assert!(bytes <= FULL_PACKET.get() * packets + 2, "{} for {}", rate_back, rate);
            }
            let carried = FULL_PACKET * count(trace.stamps().len());
            let bytes = series.mean().over(series.length()).get().abs_diff(carried.get());
            prop_assert!(bytes <= FULL_PACKET.get() + 1_000, "{bytes}");
        }
    }

    #[test]
    fn wrong_series_are_refused_with_a_reason() {
        let ms = Time::from_millis;
        let rate = Rate::from_mbps(1);
        for (intervals, reason) in [
            (vec![], "no interval"),
            (vec![(ms(0), rate)], "interval 1 ends at"),
            (vec![(ms(5), rate), (ms(5), rate)], "interval 2 ends at"),
            (vec![(ms(5), Rate::ZERO)], "every rate is zero"),
        ] {
            let error = Series::new(intervals).expect_err(reason);
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
