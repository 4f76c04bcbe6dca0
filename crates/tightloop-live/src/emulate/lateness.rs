//! How late things were, in a histogram of fixed size.

use tightloop::units::Span;

/// Steps between a power of two and the next: values are told apart to 3 %.
const STEPS: usize = 32;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Up to 2^36 ns, more than a minute.
const POWERS: usize = 32;

/// Spans counted by size. Recording one costs a few nanoseconds and no memory.
#[derive(Clone)]
pub struct Lateness {
    counts: Box<[u64; STEPS * POWERS]>,
    total: u64,
    most: Span,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: Box::new([0; STEPS * POWERS]),
            total: 0,
            most: Span::ZERO,
        }
    }
}

impl std::fmt::Debug for Lateness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [half, most] = [0.5, 1.0].map(|share| self.quantile(share));
        write!(
            f,
            "Lateness({} spans, median {half}, most {most})",
            self.total
        )
    }
}

fn place(nanos: u64) -> usize {
    if nanos < STEPS as u64 {
        return nanos as usize;
    }
    let power = nanos.ilog2() - STEP_BITS;
    let step = (nanos >> power) as usize - STEPS;
    ((power as usize + 1) * STEPS + step).min(STEPS * POWERS - 1)
}

/// The largest span that is counted in a place.
fn largest(place: usize) -> u64 {
    if place < STEPS {
        return place as u64;
    }
    let power = place / STEPS - 1;
    (((place % STEPS + STEPS) as u64 + 1) << power) - 1
}

impl Lateness {
    /// Counts a span; one that is negative counts as none.
    #[inline]
    pub fn record(&mut self, span: Span) {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(0);
        self.counts[place(nanos)] += 1;
        self.total += 1;
        self.most = self.most.max(span);
    }

    /// How many were counted.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The span that `share` of all do not exceed, at most 3 % too large; zero
    /// where there are none.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Span {
        let wanted = (self.total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let nanos = i64::try_from(largest(place)).unwrap_or(i64::MAX);
                return Span::from_nanos(nanos).min(self.most);
            }
        }
        self.most
    }

    /// How many were longer than `limit`, as a share of all, to 3 % of the limit.
    #[must_use]
    pub fn beyond(&self, limit: Span) -> f64 {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(0);
        let beyond: u64 = self.counts[place(nanos) + 1..].iter().sum();
        beyond as f64 / self.total.max(1) as f64
    }

    /// Counts all that another has counted, too.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.total += other.total;
        self.most = self.most.max(other.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_span_is_counted_within_three_per_cent(nanos in 0_u64..1 << 35) {
            let top = largest(place(nanos));
            prop_assert!(top >= nanos && top as f64 <= nanos as f64 * 1.032, "{} {}", nanos, top);
        }
    }

    #[test]
    fn quantiles_of_a_row_are_where_they_should_be() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), Span::ZERO);
        for micros in 1..=1000 {
            lateness.record(Span::from_micros(micros));
        }
        lateness.record(Span::from_micros(-5));
        for (share, micros) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0)] {
            let found = lateness.quantile(share).millis_f64() * 1e3;
            assert!((found / micros - 1.0).abs() < 0.035, "{share}: {found}");
        }
        assert_eq!(lateness.quantile(1.0), Span::from_micros(1000));
        let beyond = lateness.beyond(Span::from_micros(900));
        assert!((0.07..0.12).contains(&beyond), "{beyond}");
    }
}
