//! How much a flow's rate depends on propagation delays: δ. [Sensitivity]
//!
//! Given flows over a bottleneck, a *delay instance* says what round trip each
//! flow has without queues. Over a set of instances, a flow's δ is log₂ of its
//! highest rate over its lowest: 0 where delays do not matter, 1 where they make
//! a factor of two.

use crate::units::Rate;

/// A rate below this counts as this, since the logarithm of nothing has no end.
/// Ours: a few packets in a study's minute.
pub const FLOOR: Rate = Rate::from_kbps(1);

/// A flow's δ over some instances, and between which of them it lies.
///
/// Of more instances the highest rate can only be higher and the lowest only
/// lower: δ of some is a lower bound of δ of all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// log₂ of the highest rate over the lowest.
    pub delta: f64,
    /// The place of the lowest rate among the instances; the first of equals.
    pub lowest: usize,
    /// The place of the highest rate; the first of equals.
    pub highest: usize,
    /// The lowest rate was below [`FLOOR`] and counts as that: δ says no more
    /// than that the flow starved.
    pub floored: bool,
}

impl Sensitivity {
    /// Of one flow's rates, one for each instance. `None` without any.
    ///
    /// ```
    /// use tightloop::analysis::Sensitivity;
    /// use tightloop::units::Rate;
    ///
    /// let rates = [12, 3, 6].map(Rate::from_mbps);
    /// let delta = Sensitivity::of(&rates).expect("three instances");
    /// assert_eq!((delta.delta, delta.lowest, delta.highest), (2.0, 1, 0));
    /// ```
    #[must_use]
    pub fn of(rates: &[Rate]) -> Option<Self> {
        let (mut lowest, mut highest) = (0, 0);
        for (place, rate) in rates.iter().enumerate() {
            if *rate < rates[lowest] {
                lowest = place;
            }
            if *rate > rates[highest] {
                highest = place;
            }
        }
        let (least, most) = (*rates.get(lowest)?, *rates.get(highest)?);
        let ratio = most.max(FLOOR).ratio(least.max(FLOOR));
        Some(Self {
            delta: libm::log2(ratio),
            lowest,
            highest,
            floored: least < FLOOR,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn delta(mbps: &[f64]) -> f64 {
        let rates: Vec<Rate> = mbps
            .iter()
            .map(|it| Rate::from_bps_f64(it * Rate::from_mbps(1).bps_f64()))
            .collect();
        Sensitivity::of(&rates).expect("rates").delta
    }

    #[test]
    fn table_1_of_the_paper_by_hand() {
        // The two flows' rates in its four trials with one rate each.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 0.005, "{a} and {b}");
        close(delta(&[17.9, 18.3, 12.4, 18.2]), 0.56);
        close(delta(&[30.7, 30.6, 35.4, 25.7]), 0.46);
    }

    #[test]
    fn a_starved_flow_is_flagged_and_counts_as_a_kilobit() {
        let rates = [Rate::from_kbps(1_024), Rate::ZERO];
        let starved = Sensitivity::of(&rates).expect("rates");
        assert!(starved.floored && (starved.delta - 10.0).abs() < 1e-12);
        let nothing = Sensitivity::of(&[Rate::ZERO; 3]).expect("rates");
        assert!(nothing.floored && nothing.delta.abs() < 1e-12);
        assert_eq!(Sensitivity::of(&[]), None);
        let just = Sensitivity::of(&[FLOOR, FLOOR]).expect("rates");
        assert!(!just.floored);
    }

    proptest! {
        #[test]
        fn of_some_it_is_a_lower_bound_of_all(
            rates in proptest::collection::vec(0u64..100_000_000, 1..40),
            some in 1usize..40,
        ) {
            let rates: Vec<Rate> = rates.into_iter().map(Rate::from_bps).collect();
            let some = Sensitivity::of(&rates[..some.min(rates.len())]).expect("rates");
            let all = Sensitivity::of(&rates).expect("rates");
            prop_assert!(0.0 <= some.delta && some.delta <= all.delta);
            prop_assert!(rates[all.lowest] <= rates[some.lowest]);
            prop_assert!(rates[all.highest] >= rates[some.highest]);
        }

        #[test]
        fn a_faster_network_does_not_change_it(
            rates in proptest::collection::vec(1_000u64..1_000_000, 2..20),
            times in 2u64..50,
        ) {
            let of = |times: u64| {
                let rates: Vec<Rate> = rates.iter().map(|it| Rate::from_bps(it * times)).collect();
                Sensitivity::of(&rates).expect("rates").delta
            };
            prop_assert!((of(1) - of(times)).abs() < 1e-9);
        }
    }
}
