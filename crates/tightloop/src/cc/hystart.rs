//! HyStart++: leave slow start when the round-trip time begins to rise.
//!
//! Each round of slow start keeps its smallest RTT. Where it exceeds the last
//! round's by an eighth (between 4 and 16 ms), growth slows to a quarter for
//! five rounds (*conservative slow start*); if the RTT falls back below what it
//! was then, the rise was jitter and slow start resumes; otherwise it is over.

use crate::cc::Acked;
use crate::units::Span;

/// [RFC9406] §4.3: MIN_RTT_THRESH.
const MIN_RISE: Span = Span::from_millis(4);
/// [RFC9406] §4.3: MAX_RTT_THRESH.
const MAX_RISE: Span = Span::from_millis(16);
/// [RFC9406] §4.3: MIN_RTT_DIVISOR.
const RISE_DIVISOR: i64 = 8;
/// [RFC9406] §4.3: N_RTT_SAMPLE.
const MIN_SAMPLES: u32 = 8;
/// [RFC9406] §4.3: CSS_GROWTH_DIVISOR.
const CONSERVATIVE_GROWTH: f64 = 1.0 / 4.0;
/// [RFC9406] §4.3: CSS_ROUNDS.
const CONSERVATIVE_ROUNDS: u32 = 5;

/// What to do with one acknowledged packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Growth {
    /// Stay in slow start and grow by this share of what was acknowledged.
    By(f64),
    /// Leave slow start.
    Exit,
}

/// The state of one slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when this packet, or a later one, is acknowledged.
    round_end: u64,
    last_min: Option<Span>,
    current_min: Option<Span>,
    samples: u32,
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The round's smallest RTT when growth slowed.
    entered_at: Span,
    rounds: u32,
}

impl HyStart {
    pub(super) const fn new() -> Self {
        Self {
            round_end: 0,
            last_min: None,
            current_min: None,
            samples: 0,
            conservative: None,
        }
    }

    /// One packet was acknowledged; `next_number` is the next to be sent.
    pub(super) fn on_acked(&mut self, acked: &Acked, next_number: u64) -> Growth {
        if acked.packet.number >= self.round_end {
            self.round_end = next_number;
            self.last_min = self.current_min.take();
            self.samples = 0;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CONSERVATIVE_ROUNDS {
                    return Growth::Exit;
                }
            }
        }
        if let Some(rtt) = acked.rtt {
            self.current_min = Some(self.current_min.map_or(rtt, |min| min.min(rtt)));
            self.samples += 1;
            self.judge();
        }
        Growth::By(if self.conservative.is_some() {
            CONSERVATIVE_GROWTH
        } else {
            1.0
        })
    }

    fn judge(&mut self) {
        let Some(current) = self.current_min.filter(|_| self.samples >= MIN_SAMPLES) else {
            return;
        };
        match self.conservative {
            Some(conservative) if current < conservative.entered_at => self.conservative = None,
            Some(_) => {}
            None => {
                let rise = |last: Span| (last / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if self
                    .last_min
                    .is_some_and(|last| current >= last + rise(last))
                {
                    self.conservative = Some(Conservative {
                        entered_at: current,
                        rounds: 0,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Sent;
    use crate::event::Ecn;

    const PER_ROUND: u64 = 10;

    /// Ten acknowledgements of one round, each with this RTT: the last answer.
    fn round(hystart: &mut HyStart, number: u64, rtt: Span) -> Growth {
        let start = number * PER_ROUND;
        let mut growth = Growth::By(1.0);
        for number in start..start + PER_ROUND {
            let acked = Acked {
                packet: Sent {
                    number,
                    ..Sent::default()
                },
                arrived: None,
                rtt: Some(rtt),
                ecn: Ecn::NotEct,
                spurious: false,
            };
            growth = hystart.on_acked(&acked, start + PER_ROUND);
            if growth == Growth::Exit {
                break;
            }
        }
        growth
    }

    fn rounds(rtts_ms: &[i64]) -> Vec<Growth> {
        let mut hystart = HyStart::new();
        rtts_ms
            .iter()
            .zip(0..)
            .map(|(ms, number)| round(&mut hystart, number, Span::from_millis(*ms)))
            .collect()
    }

    const FULL: Growth = Growth::By(1.0);
    const QUARTER: Growth = Growth::By(0.25);

    #[test]
    fn the_rise_that_matters_is_an_eighth_between_4_and_16_ms() {
        // 40/8 = 5 ms; 16/8 = 2 → 4 ms; 400/8 = 50 → 16 ms.
        for (base, rise) in [(40, 5), (16, 4), (400, 16)] {
            assert_eq!(rounds(&[base, base + rise - 1]), [FULL, FULL]);
            assert_eq!(rounds(&[base, base + rise]), [FULL, QUARTER]);
        }
    }

    #[test]
    fn five_conservative_rounds_end_slow_start() {
        let growth = rounds(&[40, 40, 45, 45, 46, 47, 48, 49]);
        assert_eq!(growth[..3], [FULL, FULL, QUARTER]);
        assert_eq!(growth[3..7], [QUARTER; 4]);
        assert_eq!(growth[7], Growth::Exit);
    }

    #[test]
    fn a_rise_that_was_jitter_resumes_slow_start() {
        assert_eq!(
            rounds(&[40, 46, 46, 45, 45]),
            [FULL, QUARTER, QUARTER, FULL, FULL]
        );
    }

    #[test]
    fn seven_samples_are_not_enough() {
        let mut hystart = HyStart::new();
        round(&mut hystart, 0, Span::from_millis(40));
        for number in 10..20 {
            let acked = Acked {
                packet: Sent {
                    number,
                    ..Sent::default()
                },
                arrived: None,
                // Three of ten packets have no RTT: their reports were lost.
                rtt: (number >= 13).then(|| Span::from_millis(90)),
                ecn: Ecn::NotEct,
                spurious: false,
            };
            assert_eq!(hystart.on_acked(&acked, 20), FULL);
        }
    }
}
