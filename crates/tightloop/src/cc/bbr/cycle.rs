//! ProbeBW's cycle: ask for more, give it back, cruise.

use crate::rng::Stream;
use crate::units::{Span, Time, float, round};

/// Phases of a cycle. [BBRv1] §4.3.4.2.
const PHASES: u64 = 8;

/// Where in the cycle, and since when.
#[derive(Clone, Debug)]
pub(in crate::cc) struct Cycle {
    /// The gain of the first phase.
    up: f64,
    /// The gain of the second; those of the others are 1.
    down: f64,
    phase: u64,
    since: Time,
    rng: Stream,
}

impl Cycle {
    /// With these gains, and chance for where cycles begin.
    pub(in crate::cc) const fn new(up: f64, down: f64, rng: Stream) -> Self {
        Self {
            up,
            down,
            phase: 0,
            since: Time::ZERO,
            rng,
        }
    }

    /// Begins in any phase but the second, which has nothing to give back.
    /// [BBRv1] §4.3.4.3.
    pub(in crate::cc) fn begin(&mut self, now: Time) {
        // Uniform is below 1, so the nearest below is what is meant.
        let drawn = round(self.rng.uniform() * float(PHASES - 1) - 0.5).min(PHASES - 2);
        self.phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.since = now;
    }

    /// The phase has lasted for longer than this.
    pub(in crate::cc) fn is_past(&self, now: Time, length: Span) -> bool {
        now - self.since > length
    }

    /// The next phase.
    pub(in crate::cc) const fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % PHASES;
        self.since = now;
    }

    /// The phase's pacing gain.
    pub(in crate::cc) const fn gain(&self) -> f64 {
        match self.phase {
            0 => self.up,
            1 => self.down,
            _ => 1.0,
        }
    }

    /// The phase, from 0.
    pub(in crate::cc) const fn phase(&self) -> u64 {
        self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::index;

    #[test]
    fn it_begins_in_seven_phases_alike_and_never_in_the_second() {
        let mut cycle = Cycle::new(1.25, 0.75, Stream::named(1, "cycle"));
        let mut seen = [0u32; 8];
        for _ in 0..7_000 {
            cycle.begin(Time::ZERO);
            seen[index(cycle.phase())] += 1;
        }
        assert_eq!(seen[1], 0);
        for (phase, times) in seen.iter().enumerate().filter(|(phase, _)| *phase != 1) {
            assert!((850..1_150).contains(times), "{phase}: {seen:?}");
        }
    }

    #[test]
    fn more_less_and_six_of_the_same() {
        let mut cycle = Cycle::new(1.25, 0.75, Stream::named(1, "cycle"));
        cycle.begin(Time::ZERO);
        while cycle.phase() != 0 {
            cycle.advance(Time::ZERO);
        }
        let gains: Vec<f64> = (1..=8)
            .map(|at| {
                let gain = cycle.gain();
                cycle.advance(Time::from_secs(at));
                gain
            })
            .collect();
        assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert!(!cycle.is_past(Time::from_secs(9), Span::from_secs(1)));
        assert!(cycle.is_past(Time::from_secs(9), Span::from_millis(999)));
    }
}
