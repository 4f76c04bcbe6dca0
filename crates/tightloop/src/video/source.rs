//! The camera: when frames are captured, and how much the application wants.
//!
//! Frames are captured on a *frame clock*. Its ticks are exact multiples of the
//! frame interval after a phase, random by default: flows whose frames meet
//! behave otherwise than flows whose frames alternate. With jitter each
//! interval is off by a uniform amount and the errors add up, so that the clock
//! walks and two flows do not keep their first phase for ever.
//!
//! Times in settings are the run's clock, as everywhere in a scenario; when a
//! flow starts and stops is the flow's own affair.

use super::Frame;
use crate::cc::SettingError;
use crate::event::FrameId;
use crate::rng::Stream;
use crate::units::{Rate, Span, Time, float, round};

pub use settings::{Cap, Pause, Phase, SourceSettings};

mod settings;

/// Captures frames.
#[derive(Clone, Debug)]
pub struct Source {
    settings: SourceSettings,
    /// The clock's first tick.
    origin: Time,
    /// The next tick, counted from the origin.
    tick: u64,
    /// The sum of all errors so far.
    walk: Span,
    /// The next frame, where there is one.
    next: Option<(FrameId, Time)>,
    /// The next scene cut.
    cut: Option<Time>,
    rng: Stream,
}

impl Source {
    /// A source that is switched on at `start`.
    ///
    /// # Errors
    ///
    /// A frame rate, phase, jitter or time that makes no sense.
    pub fn new(
        settings: SourceSettings,
        start: Time,
        mut rng: Stream,
    ) -> Result<Self, SettingError> {
        settings.check()?;
        let phase = match settings.phase {
            Phase::Random => rng.span_between(Span::ZERO, settings.frame_interval()),
            Phase::After(span) => span,
        };
        let cut = settings
            .scene_cuts
            .map(|mean| start + mean * rng.exponential());
        let mut source = Self {
            settings,
            origin: start + phase,
            tick: 0,
            walk: Span::ZERO,
            next: None,
            cut,
            rng,
        };
        source.next = source.skip_pauses().map(|at| (FrameId(0), at));
        Ok(source)
    }

    /// The nominal time between frames.
    #[must_use]
    pub fn frame_interval(&self) -> Span {
        self.settings.frame_interval()
    }

    /// When the next frame is captured; `None` where there will be no more.
    #[must_use]
    pub fn next_capture(&self) -> Option<Time> {
        self.next.map(|(_, at)| at)
    }

    /// Captures the next frame that is due, if any. Its time is the clock's,
    /// however late the call: calling late changes no frame.
    pub fn capture(&mut self, now: Time) -> Option<Frame> {
        let (id, captured) = self.next.filter(|(_, at)| *at <= now)?;
        let frame = Frame {
            id,
            captured,
            scene_cut: self.scene_cut(captured),
        };
        self.tick += 1;
        if self.settings.jitter > Span::ZERO {
            let half = self.settings.jitter * 0.5;
            self.walk += self.rng.span_between(-half, half);
        }
        self.next = self.skip_pauses().map(|at| (FrameId(id.0 + 1), at));
        Some(frame)
    }

    /// The most the application lets the video use now, in bytes on the wire.
    #[must_use]
    pub fn max_rate(&self, now: Time) -> Option<Rate> {
        let active = |cap: &&Cap| cap.from <= now && now < cap.to;
        let caps = self.settings.caps.iter().filter(active);
        caps.map(|cap| cap.max_rate).min()
    }

    /// When the next tick comes.
    fn due(&self) -> Time {
        // From the count of ticks, so that a rounded interval does not drift.
        self.origin + Span::from_secs_f64(float(self.tick) / self.settings.fps) + self.walk
    }

    /// Moves on to the first tick outside all pauses.
    fn skip_pauses(&mut self) -> Option<Time> {
        /// Of a tick. Ours: far below a nanosecond, far above the error of a float.
        const ROUNDING: f64 = 1e-9;
        loop {
            let due = self.due();
            let Some(pause) = self.settings.pauses.iter().find(|p| p.contains(due)) else {
                return Some(due);
            };
            let ticks = (pause.to? - due).secs_f64() * self.settings.fps;
            self.tick += round(libm::ceil(ticks - ROUNDING)).max(1);
        }
    }

    /// Was there a cut since the frame before?
    fn scene_cut(&mut self, captured: Time) -> bool {
        let (Some(cut), Some(mean)) = (self.cut, self.settings.scene_cuts) else {
            return false;
        };
        if cut > captured {
            return false;
        }
        // Poisson cuts have no memory: drawing anew from here is as good as
        // drawing all that fell between two frames.
        self.cut = Some(captured + mean * self.rng.exponential());
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{count, index};

    fn source(settings: SourceSettings, seed: u64) -> Source {
        Source::new(settings, Time::ZERO, Stream::named(seed, "camera")).expect("good settings")
    }

    fn punctual() -> SourceSettings {
        SourceSettings {
            phase: Phase::After(Span::ZERO),
            ..SourceSettings::default()
        }
    }

    fn captured(source: &mut Source, until: Time) -> Vec<Frame> {
        std::iter::from_fn(|| source.capture(until)).collect()
    }

    #[test]
    fn the_frame_clock_does_not_drift() {
        let frames = captured(&mut source(punctual(), 1), Time::from_secs(3_600));
        assert_eq!(frames.len(), 3_600 * 60 + 1);
        for second in 0..3_600 {
            assert_eq!(frames[second * 60].captured, Time::from_secs(count(second)));
        }
    }

    #[test]
    fn random_phases_fill_one_interval_evenly() {
        let interval = SourceSettings::default().frame_interval();
        let mut thirds = [0; 3];
        for seed in 0..3_000 {
            let first = source(SourceSettings::default(), seed).next_capture();
            let phase = first.expect("a frame").since_epoch();
            assert!(Span::ZERO <= phase && phase < interval);
            thirds[index(round(libm::floor(phase.ratio(interval) * 3.0)))] += 1;
        }
        assert!(
            thirds.iter().all(|n| (900..1_100).contains(n)),
            "{thirds:?}"
        );
    }

    #[test]
    fn jitter_adds_up_to_a_random_walk() {
        let jitter = Span::from_millis(1);
        let settings = SourceSettings {
            jitter,
            ..punctual()
        };
        let interval = settings.frame_interval();
        let (mut of_intervals, mut of_positions, mut intervals) = (0.0, 0.0, 0.0);
        let runs = 400;
        for seed in 0..runs {
            let frames = captured(&mut source(settings.clone(), seed), Time::from_secs(3));
            for pair in frames.windows(2) {
                let error = pair[1].captured - pair[0].captured - interval;
                assert!(error.abs() <= jitter / 2 + Span::from_nanos(2), "{error}");
                of_intervals += error.millis_f64() * error.millis_f64();
                intervals += 1.0;
            }
            let walked = frames[150].captured - (Time::ZERO + interval * 150);
            of_positions += walked.millis_f64() * walked.millis_f64();
        }
        // A uniform error of width 1 ms has a variance of 1/12 ms²; 150 of them add up.
        let uniform = of_intervals / intervals * 12.0;
        assert!((0.97..1.03).contains(&uniform), "{uniform}");
        let walk = of_positions / float(runs) * 12.0 / 150.0;
        assert!((0.8..1.25).contains(&walk), "{walk}");
    }

    #[test]
    fn a_pause_hides_frames_and_keeps_the_phase() {
        let settings = SourceSettings {
            pauses: vec![
                Pause {
                    from: Time::from_secs(1),
                    to: Some(Time::from_secs(2)),
                },
                Pause {
                    from: Time::from_secs(5),
                    to: None,
                },
            ],
            ..punctual()
        };
        let mut source = source(settings, 1);
        let frames = captured(&mut source, Time::from_secs(10));
        assert_eq!(frames.len(), 60 + 180);
        assert_eq!(frames[60].captured, Time::from_secs(2));
        assert_eq!(frames[60].id, FrameId(60), "numbers have no gap");
        assert_eq!(source.next_capture(), None);
    }

    #[test]
    fn the_lowest_cap_of_the_moment_holds() {
        let cap = |from, to, mbps| Cap {
            from: Time::from_secs(from),
            to: Time::from_secs(to),
            max_rate: Rate::from_mbps(mbps),
        };
        let settings = SourceSettings {
            caps: vec![cap(10, 20, 2), cap(15, 30, 5)],
            ..punctual()
        };
        let source = source(settings, 1);
        let at = |secs| source.max_rate(Time::from_secs(secs));
        assert_eq!([at(9), at(30)], [None, None]);
        assert_eq!([at(10), at(19)], [Some(Rate::from_mbps(2)); 2]);
        assert_eq!([at(20), at(29)], [Some(Rate::from_mbps(5)); 2]);
    }

    #[test]
    fn scene_cuts_come_at_random_with_their_mean_interval() {
        let settings = SourceSettings {
            scene_cuts: Some(Span::from_secs(2)),
            ..punctual()
        };
        let frames = captured(&mut source(settings, 3), Time::from_secs(4_000));
        let cuts: Vec<_> = frames.iter().filter(|frame| frame.scene_cut).collect();
        assert!((1_850..2_150).contains(&cuts.len()), "{}", cuts.len());
        // Exponential gaps: 37 % are longer than their mean.
        let long = cuts
            .windows(2)
            .filter(|pair| pair[1].captured - pair[0].captured > Span::from_secs(2));
        let share = float(count(long.count())) / float(count(cuts.len()));
        assert!((0.33..0.41).contains(&share), "{share}");
        assert!(
            captured(&mut source(punctual(), 3), Time::from_secs(9))
                .iter()
                .all(|f| !f.scene_cut)
        );
    }

    proptest! {
        #[test]
        fn frames_are_in_order_outside_pauses_and_late_calls_change_none(
            seed: u64,
            fps in 5.0..240.0,
            jitter_us in 0i64..4_000,
            pauses in prop::collection::vec((0u64..5_000, 1u64..3_000), 0..4),
            steps in prop::collection::vec(1i64..400, 1..60),
        ) {
            let pauses: Vec<Pause> = pauses.into_iter().map(|(from, length)| Pause {
                from: Time::from_millis(from),
                to: Some(Time::from_millis(from + length)),
            }).collect();
            let settings = SourceSettings {
                fps,
                jitter: Span::from_micros(jitter_us),
                pauses: pauses.clone(),
                scene_cuts: Some(Span::from_millis(300)),
                ..SourceSettings::default()
            };
            let mut late = source(settings.clone(), seed);
            let (mut now, mut frames) = (Time::ZERO, Vec::new());
            for step in steps {
                now += Span::from_millis(step);
                frames.extend(captured(&mut late, now));
            }
            let mut punctual = source(settings, seed);
            for (number, frame) in frames.iter().enumerate() {
                let at = punctual.next_capture().expect("a frame");
                prop_assert_eq!(punctual.capture(at - Span::from_nanos(1)), None);
                prop_assert_eq!(punctual.capture(at), Some(*frame));
                prop_assert_eq!(index(u64::from(frame.id.0)), number);
                prop_assert!(!pauses.iter().any(|pause| pause.contains(frame.captured)));
            }
            prop_assert!(frames.windows(2).all(|pair| pair[0].captured < pair[1].captured));
        }
    }
}
