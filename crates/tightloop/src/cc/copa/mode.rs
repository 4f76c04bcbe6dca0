//! Mode switching: what δ is when somebody else may be filling the queue.
//!
//! A queue that only Copa uses runs nearly empty every five round trips. Where
//! it has not, something else keeps it full, and Copa answers in kind: additive
//! increase and multiplicative decrease of 1/δ.

use super::Variant;
use crate::filter::{WindowedMax, WindowedMin};
use crate::units::{Span, Time};

/// Nearly empty: a queueing delay below its range divided by this. [Copa] §2.2.
const NEARLY_EMPTY_DIVISOR: i64 = 10;
/// Round trips without a nearly empty queue that mean competition. [Copa] §2.2.
const EMPTY_WITHIN: i64 = 5;
/// Round trips over which the largest RTT is sought. [Copa] §2.2; genericCC
/// seeks the smallest over the same.
const RANGE_WINDOW: i64 = 4;
/// Ours: samples this share of the window apart may share a place; the largest
/// RTT of four round trips need not be forgotten to the microsecond.
const GRAINS: i64 = 64;

/// The state of mode switching.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    default_delta: f64,
    delta: f64,
    competing: bool,
    recent_max: WindowedMax<Span>,
    /// genericCC alone looks at it.
    recent_min: WindowedMin<Span>,
    emptied: Option<Time>,
    increased: Time,
    decreased: Option<Time>,
}

/// What one acknowledgement says about the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Time,
    pub(super) rtt: Span,
    pub(super) min_rtt: Span,
    pub(super) standing: Span,
    pub(super) srtt: Span,
}

impl Mode {
    pub(super) fn new(default_delta: f64) -> Self {
        Self {
            default_delta,
            delta: default_delta,
            competing: false,
            recent_max: WindowedMax::new(Span::ZERO),
            recent_min: WindowedMin::new(Span::ZERO),
            emptied: None,
            increased: Time::ZERO,
            decreased: None,
        }
    }

    pub(super) const fn delta(&self) -> f64 {
        self.delta
    }

    pub(super) const fn competing(&self) -> bool {
        self.competing
    }

    /// Judges the queue, switches, and increases 1/δ where it competes.
    pub(super) fn on_acked(&mut self, sample: &Sample, variant: Variant) {
        let now = sample.now;
        let window = sample.srtt * RANGE_WINDOW;
        self.recent_max.set_window(window);
        self.recent_max.set_grain(window / GRAINS);
        self.recent_max.push(now, sample.rtt);
        let range = self
            .recent_max
            .get(now)
            .map_or(Span::ZERO, |max| max - sample.min_rtt);
        let nearly_empty = |rtt: Span| rtt - sample.min_rtt <= range / NEARLY_EMPTY_DIVISOR;
        let empties = match variant {
            Variant::Paper => {
                if self.emptied.is_none() || nearly_empty(sample.standing) {
                    self.emptied = Some(now);
                }
                self.emptied
                    .is_some_and(|emptied| now - emptied <= sample.srtt * EMPTY_WITHIN)
            }
            Variant::Pantheon => {
                self.recent_min.set_window(window);
                self.recent_min.set_grain(window / GRAINS);
                self.recent_min.push(now, sample.rtt);
                self.recent_min.get(now).is_some_and(nearly_empty)
            }
        };
        let just_lost = self.decreased.is_some_and(|at| now - at <= sample.srtt);
        if empties {
            self.competing = false;
            // genericCC lets a loss's δ stand for a round trip.
            if variant == Variant::Paper || !just_lost {
                self.delta = self.default_delta;
            }
        } else {
            if !self.competing {
                self.competing = true;
                self.increased = now;
            }
            if now - self.increased >= sample.srtt {
                self.increased = now;
                if !just_lost {
                    self.delta = 1.0 / (1.0 / self.delta + 1.0);
                }
            }
        }
    }

    /// Packets were lost: halves 1/δ where it competes, once per round trip.
    pub(super) fn on_loss(&mut self, now: Time, srtt: Span) {
        if self.competing && self.decreased.is_none_or(|at| now - at > srtt) {
            self.decreased = Some(now);
            self.delta = (self.delta * 2.0).min(self.default_delta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Span = Span::from_millis(50);

    /// One acknowledgement per 10 ms whose standing RTT is given; RTTs range up to 60 ms.
    fn feed(mode: &mut Mode, from_ms: u64, standing_ms: impl Fn(u64) -> i64, times: u64) {
        for step in 0..times {
            let sample = Sample {
                now: Time::from_millis(from_ms + 10 * step),
                rtt: Span::from_millis(60),
                min_rtt: Span::from_millis(40),
                standing: Span::from_millis(standing_ms(step)),
                srtt: SRTT,
            };
            mode.on_acked(&sample, Variant::Paper);
        }
    }

    fn assert_delta(mode: &Mode, want: f64) {
        assert!((mode.delta() - want).abs() < 1e-9, "{}", mode.delta());
    }

    #[test]
    fn a_queue_that_empties_every_five_round_trips_keeps_the_default_mode() {
        let mut mode = Mode::new(0.5);
        // 42 ms is a tenth of the range: nearly empty, every 250 ms.
        feed(
            &mut mode,
            0,
            |step| if step % 25 == 0 { 42 } else { 55 },
            200,
        );
        assert!(!mode.competing());
        // Every 300 ms is too rare; it competes in between.
        feed(
            &mut mode,
            2000,
            |step| if step % 30 == 29 { 42 } else { 55 },
            29,
        );
        assert!(mode.competing());
        feed(&mut mode, 2290, |_| 42, 1);
        assert!(!mode.competing());
        assert_delta(&mode, 0.5);
    }

    #[test]
    fn competition_raises_1_over_delta_by_one_per_round_trip_and_halves_it_on_loss() {
        let mut mode = Mode::new(0.5);
        // Competing after 250 ms, then five whole round trips: 2 + 5.
        feed(&mut mode, 0, |_| 55, 26 + 1 + 25);
        assert_delta(&mode, 1.0 / 7.0);
        let now = Time::from_millis(520);
        mode.on_loss(now, SRTT);
        mode.on_loss(now + SRTT, SRTT);
        assert_delta(&mode, 2.0 / 7.0);
        mode.on_loss(now + SRTT * 2, SRTT);
        mode.on_loss(now + SRTT * 4, SRTT);
        assert_delta(&mode, 0.5);
    }

    #[test]
    fn losses_mean_nothing_in_the_default_mode() {
        let mut mode = Mode::new(0.5);
        feed(&mut mode, 0, |_| 40, 10);
        mode.on_loss(Time::from_millis(100), SRTT);
        assert_delta(&mode, 0.5);
    }

    #[test]
    fn the_authors_code_judges_four_round_trips_of_single_packets() {
        let mut mode = Mode::new(0.1);
        let mut feed = |from_ms: u64, rtt_ms: i64, times: u64| {
            for step in 0..times {
                let sample = Sample {
                    now: Time::from_millis(from_ms + 10 * step),
                    rtt: Span::from_millis(rtt_ms),
                    min_rtt: Span::from_millis(40),
                    standing: Span::from_millis(90),
                    srtt: SRTT,
                };
                mode.on_acked(&sample, Variant::Pantheon);
            }
            mode.competing()
        };
        // An RTT of 41 ms counts for 200 ms, whatever the standing RTT.
        assert!(feed(0, 60, 1));
        assert!(!feed(10, 41, 1));
        assert!(!feed(20, 60, 20));
        assert!(feed(220, 60, 2));
    }
}
