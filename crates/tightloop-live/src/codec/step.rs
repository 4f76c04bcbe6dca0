//! How an encoder follows a target that jumps.
//!
//! [Vidaptive] Fig. 1b asks an encoder for 2 and 0.5 Mbit/s in turn, every five
//! seconds, and finds it two seconds late upwards and one downwards.

use tightloop::units::{Bytes, Rate, Span, Time};

use super::{CodecKind, CodecStart, Coded, PictureOrder};
use crate::footage::Footage;
use crate::picture::Picture;

/// The windows over which rates are measured. Ours: half a second, in which even
/// an encoder that skips has put out enough pictures.
const WINDOW: Span = Span::from_millis(500);

/// How near a rate must be to count as reached. Ours: a tenth.
const NEAR: f64 = 0.1;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// The two targets, payload; the first comes first.
    pub rates: [Rate; 2],
    /// How long each is held.
    pub hold: Span,
    /// How often the target changes.
    pub changes: i64,
}

impl Default for Steps {
    /// As in [Vidaptive] Fig. 1b, twice each way.
    fn default() -> Self {
        Self {
            rates: [Rate::from_mbps(2), Rate::from_kbps(500)],
            hold: Span::from_secs(5),
            changes: 4,
        }
    }
}

/// One picture of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSample {
    /// When it was captured.
    pub captured: Time,
    /// The target it was given.
    pub asked: Rate,
    /// What it became; nothing where it was skipped.
    pub size: Bytes,
    /// It can be decoded alone.
    pub key: bool,
}

/// What one change did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reaction {
    /// The target before.
    pub from: Rate,
    /// The new target.
    pub to: Rate,
    /// From the change to the start of the first half second whose mean rate is
    /// within a tenth of the new target; `None` where there is none.
    pub reached: Option<Span>,
    /// The largest mean of half a second after the change, over the new target.
    pub peak: f64,
    /// The bytes of the first second over those of the new target.
    pub first_second: f64,
    /// Pictures skipped until the next change.
    pub skipped: usize,
}

/// Encodes footage with a target that jumps.
///
/// # Errors
///
/// Settings that the codec refuses, pictures that cannot be read or encoded.
pub fn step_response(
    kind: &CodecKind,
    start: &CodecStart,
    footage: &Footage,
    steps: &Steps,
) -> Result<Vec<StepSample>, Box<dyn std::error::Error>> {
    let mut encoder = (kind.encoder)(start)?;
    let mut picture = Picture::black(footage.size());
    let mut samples = Vec::new();
    let whole = steps.hold * (steps.changes + 1);
    let mut number = 0;
    loop {
        let captured = Time::ZERO + start.frame_interval * number;
        if captured + start.frame_interval * 0.5 >= Time::ZERO + whole {
            return Ok(samples);
        }
        // Rounded intervals may fall short of a whole second by a few nanoseconds.
        let middle = captured.since_epoch() + start.frame_interval * 0.5;
        let phase = middle.ratio(steps.hold) as usize;
        let order = PictureOrder {
            captured,
            rate: steps.rates[phase % 2],
            key: false,
        };
        footage.picture(footage.number_at(captured.since_epoch()), &mut picture)?;
        let Coded { bytes, key } = encoder.encode(&picture, &order)?;
        samples.push(StepSample {
            captured,
            asked: order.rate,
            size: Bytes::len_of(bytes.len()),
            key,
        });
        number += 1;
    }
}

/// What each change of the target did.
#[must_use]
pub fn reactions(samples: &[StepSample], interval: Span) -> Vec<Reaction> {
    let phases: Vec<&[StepSample]> = samples
        .chunk_by(|one, next| one.asked == next.asked)
        .collect();
    let pairs = phases.windows(2);
    pairs
        .map(|pair| reaction(pair[0], pair[1], interval))
        .collect()
}

fn reaction(before: &[StepSample], after: &[StepSample], interval: Span) -> Reaction {
    let frames = |span: Span| ((span.ratio(interval) + 0.5) as usize).max(1);
    let to = after[0].asked;
    let mean = |samples: &[StepSample]| {
        let bytes: Bytes = samples.iter().map(|sample| sample.size).sum();
        let asked = to.over(interval * samples.len() as i64);
        bytes.ratio(asked)
    };
    let windows: Vec<f64> = after.windows(frames(WINDOW)).map(mean).collect();
    let reached = windows.iter().position(|rate| (rate - 1.0).abs() <= NEAR);
    let second = &after[..frames(Span::from_secs(1)).min(after.len())];
    Reaction {
        from: before[0].asked,
        to,
        reached: reached.map(|frames| interval * frames as i64),
        peak: windows.iter().copied().fold(0.0, f64::max),
        first_second: mean(second),
        skipped: after
            .iter()
            .filter(|sample| sample.size == Bytes::ZERO)
            .count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Span = Span::from_millis(50);

    /// Pictures of these parts of what 2 and then 1 Mbit/s allow.
    fn samples(before: &[f64], after: &[f64]) -> Vec<StepSample> {
        let sample = |number: usize, asked: Rate, part: f64| StepSample {
            captured: Time::ZERO + INTERVAL * number as i64,
            asked,
            size: asked.over(INTERVAL) * part,
            key: false,
        };
        let (two, one) = (Rate::from_mbps(2), Rate::from_mbps(1));
        let first = before
            .iter()
            .enumerate()
            .map(|(at, part)| sample(at, two, *part));
        let then = after.iter().enumerate();
        let then = then.map(|(at, part)| sample(before.len() + at, one, *part));
        first.chain(then).collect()
    }

    #[test]
    fn an_encoder_that_obeys_reaches_the_rate_at_once() {
        let [reaction] = reactions(&samples(&[1.0; 40], &[1.0; 40]), INTERVAL)[..] else {
            panic!("one change");
        };
        assert_eq!(reaction.reached, Some(Span::ZERO));
        assert!((0.99..1.01).contains(&reaction.peak) && reaction.skipped == 0);
        assert!((0.99..1.01).contains(&reaction.first_second));
    }

    #[test]
    fn a_late_encoder_is_late_by_what_it_takes() {
        // Half a second at 1.8 times the rate, then as asked: the window with one
        // such picture of ten is the first within a tenth.
        let after = [&[1.8; 10][..], &[1.0; 30], &[0.0]].concat();
        let [reaction] = reactions(&samples(&[1.0; 40], &after), INTERVAL)[..] else {
            panic!("one change");
        };
        assert_eq!(reaction.reached, Some(INTERVAL * 9));
        assert!((1.79..1.81).contains(&reaction.peak), "{reaction:?}");
        assert!(
            (1.39..1.41).contains(&reaction.first_second),
            "{reaction:?}"
        );
        assert_eq!(reaction.skipped, 1);
    }

    #[test]
    fn an_encoder_that_never_gets_there_says_so() {
        let reaction = reactions(&samples(&[1.0; 40], &[1.5; 40]), INTERVAL)[0];
        assert_eq!(reaction.reached, None);
    }
}
