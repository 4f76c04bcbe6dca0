//! Small estimators that many algorithms share: windowed extremes and a mean
//! that forgets.
//!
//! A windowed minimum is exact: a queue of candidates, each newer and worse
//! than the one before, so that pushing is amortised O(1) and reading is O(1)
//! after a push. A value that keeps getting worse makes every sample a
//! candidate; [`Windowed::with_grain`] bounds their number for long windows.
//! Once the queue has reached its largest size nothing allocates.
//!
//! ```
//! use tightloop::filter::WindowedMin;
//! use tightloop::units::{Span, Time};
//!
//! let mut standing = WindowedMin::new(Span::from_millis(10)).keeping_newest();
//! standing.push(Time::from_millis(0), Span::from_millis(40));
//! standing.push(Time::from_millis(5), Span::from_millis(42));
//! assert_eq!(standing.get(Time::from_millis(10)), Some(Span::from_millis(40)));
//! assert_eq!(standing.get(Time::from_millis(11)), Some(Span::from_millis(42)));
//! assert_eq!(standing.get(Time::from_secs(9)), Some(Span::from_millis(42)));
//! ```

use std::collections::VecDeque;

use crate::units::{Span, Time};

/// What a window is measured along: time, or a count such as rounds.
pub trait Axis: Copy + Ord {
    /// The length of a window.
    type Length: Copy + PartialEq;
    /// No length at all.
    const NOTHING: Self::Length;
    /// True where more than `length` lies between `then` and `self`.
    fn is_past(self, then: Self, length: Self::Length) -> bool;
    /// The place `length` later.
    fn later(self, length: Self::Length) -> Self;
}

impl Axis for Time {
    type Length = Span;
    const NOTHING: Span = Span::ZERO;
    fn is_past(self, then: Self, length: Span) -> bool {
        self - then > length
    }
    fn later(self, length: Span) -> Self {
        self + length
    }
}

impl Axis for u64 {
    type Length = Self;
    const NOTHING: Self = 0;
    fn is_past(self, then: Self, length: Self) -> bool {
        self.saturating_sub(then) > length
    }
    fn later(self, length: Self) -> Self {
        self.saturating_add(length)
    }
}

/// The smallest value of a window. See [`Windowed`].
pub type WindowedMin<V, A = Time> = Windowed<V, A, true>;
/// The largest value of a window. See [`Windowed`].
pub type WindowedMax<V, A = Time> = Windowed<V, A, false>;

/// The best value among the samples at most one window old, its edge included.
///
/// Along rounds, a window of `n` holds the current round and the `n` before it.
/// Samples are pushed in order. Equal values count as news: the newer stays.
#[derive(Clone, Debug)]
pub struct Windowed<V, A: Axis, const MIN: bool> {
    window: A::Length,
    grain: A::Length,
    keeps_newest: bool,
    /// Rising in place, worsening in value, from front to back.
    candidates: VecDeque<(A, V)>,
    /// Until where samples join the last candidate, under a grain.
    joins_until: Option<A>,
}

impl<V: Copy + PartialOrd, A: Axis, const MIN: bool> Windowed<V, A, MIN> {
    /// An empty window of this length.
    #[must_use]
    pub fn new(window: A::Length) -> Self {
        Self {
            window,
            grain: A::NOTHING,
            keeps_newest: false,
            candidates: VecDeque::new(),
            joins_until: None,
        }
    }

    /// Never runs empty: once every sample is too old, the newest one answers.
    #[must_use]
    pub fn keeping_newest(mut self) -> Self {
        self.keeps_newest = true;
        self
    }

    /// Lets samples within one `grain` share a place, the newest one's. Then at
    /// most `window / grain + 2` candidates are held, and the best value may be
    /// remembered for up to one grain too long, never too short.
    #[must_use]
    pub fn with_grain(mut self, grain: A::Length) -> Self {
        self.grain = grain;
        self
    }

    /// Changes the window; what has been forgotten stays forgotten.
    pub fn set_window(&mut self, window: A::Length) {
        self.window = window;
    }

    /// Changes the grain; what has been joined stays joined.
    pub fn set_grain(&mut self, grain: A::Length) {
        self.grain = grain;
    }

    /// The window's length.
    #[must_use]
    pub const fn window(&self) -> A::Length {
        self.window
    }

    /// Adds a sample; `now` never goes back.
    pub fn push(&mut self, now: A, value: V) {
        while let Some(&(_, worst)) = self.candidates.back() {
            if !Self::displaces(value, worst) {
                break;
            }
            self.candidates.pop_back();
            // What remains was another candidate: the join belongs to the one that left.
            self.joins_until = None;
        }
        match self.candidates.back_mut() {
            Some((at, _)) if *at == now || self.joins_until.is_some_and(|until| now < until) => {
                *at = now;
            }
            _ => {
                self.candidates.push_back((now, value));
                self.joins_until = (self.grain != A::NOTHING).then(|| now.later(self.grain));
            }
        }
        let spare = usize::from(self.keeps_newest);
        while self.candidates.len() > spare
            && let Some(&(at, _)) = self.candidates.front()
            && now.is_past(at, self.window)
        {
            self.candidates.pop_front();
        }
    }

    /// The best value as of `now`, which is not before the last push. `None`
    /// where every sample is too old, or there never was one.
    #[must_use]
    pub fn get(&self, now: A) -> Option<V> {
        let too_old = |&(at, _): &(A, V)| now.is_past(at, self.window);
        let front = self.candidates.front()?;
        if !too_old(front) {
            return Some(front.1);
        }
        let first = self.candidates.partition_point(too_old);
        match self.candidates.get(first) {
            Some(&(_, value)) => Some(value),
            None if self.keeps_newest => self.candidates.back().map(|&(_, value)| value),
            None => None,
        }
    }

    /// Forgets every sample.
    pub fn clear(&mut self) {
        self.candidates.clear();
        self.joins_until = None;
    }

    fn displaces(new: V, old: V) -> bool {
        if MIN { new <= old } else { new >= old }
    }
}

/// An exponentially weighted moving average; the first sample sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ewma {
    gain: f64,
    mean: Option<f64>,
}

impl Ewma {
    /// With the weight of a new sample, between 0 and 1.
    #[must_use]
    pub const fn new(gain: f64) -> Self {
        Self { gain, mean: None }
    }

    /// Adds a sample and gives the new mean.
    pub fn push(&mut self, sample: f64) -> f64 {
        let mean = match self.mean {
            Some(mean) => mean + self.gain * (sample - mean),
            None => sample,
        };
        self.mean = Some(mean);
        mean
    }

    /// The mean; `None` before the first sample.
    #[must_use]
    pub const fn get(&self) -> Option<f64> {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::count;

    /// Samples in order: a step since the last one, and a value.
    fn samples() -> impl Strategy<Value = Vec<(u64, i32)>> {
        prop::collection::vec((0u64..30, -20i32..20), 1..200)
    }

    fn placed(samples: &[(u64, i32)]) -> Vec<(u64, i32)> {
        let mut at = 0;
        samples
            .iter()
            .map(|&(step, value)| {
                at += step;
                (at, value)
            })
            .collect()
    }

    fn naive(all: &[(u64, i32)], now: u64, window: u64) -> Option<i32> {
        all.iter()
            .filter(|(at, _)| now - at <= window)
            .map(|&(_, value)| value)
            .min()
    }

    proptest! {
        #[test]
        fn extremes_are_those_of_a_full_scan(samples in samples(), window in 0u64..100, late in 0u64..150) {
            let all = placed(&samples);
            let (mut min, mut max) = (WindowedMin::new(window), WindowedMax::new(window));
            let mut kept = WindowedMin::new(window).keeping_newest();
            for (seen, &(at, value)) in all.iter().enumerate() {
                min.push(at, value);
                max.push(at, -value);
                kept.push(at, value);
                for now in [at, at + late] {
                    let want = naive(&all[..=seen], now, window);
                    prop_assert_eq!(min.get(now), want);
                    prop_assert_eq!(max.get(now).map(|value| -value), want);
                    // Samples at one instant are one sample: the best of them stays.
                    let newest = all[..=seen].iter().filter(|s| s.0 == at).map(|s| s.1).min();
                    prop_assert_eq!(kept.get(now), want.or(newest));
                }
            }
        }

        #[test]
        fn time_and_rounds_are_the_same_axis(samples in samples(), window in 0u32..100) {
            let mut by_time = WindowedMin::new(Span::from_nanos(i64::from(window)));
            let mut by_round = WindowedMin::new(u64::from(window));
            for (at, value) in placed(&samples) {
                by_time.push(Time::from_nanos(at), value);
                by_round.push(at, value);
                prop_assert_eq!(by_time.get(Time::from_nanos(at)), by_round.get(at));
            }
        }

        #[test]
        fn a_grain_bounds_memory_and_forgets_late_never_early(
            samples in samples(), window in 10u64..100, grain in 1u64..10,
        ) {
            let all = placed(&samples);
            let mut min = WindowedMin::new(window).with_grain(grain);
            for (seen, &(at, value)) in all.iter().enumerate() {
                min.push(at, value);
                let got = min.get(at);
                prop_assert!(got <= naive(&all[..=seen], at, window));
                prop_assert!(got >= naive(&all[..=seen], at, window + grain));
                prop_assert!(count(min.candidates.len()) <= window / grain + 2);
            }
        }
    }

    #[test]
    fn a_shorter_window_forgets_at_once() {
        let mut min = WindowedMin::new(Span::from_secs(10));
        min.push(Time::from_secs(1), 1);
        min.push(Time::from_secs(5), 2);
        assert_eq!(min.get(Time::from_secs(6)), Some(1));
        min.set_window(Span::from_secs(2));
        assert_eq!(min.get(Time::from_secs(6)), Some(2));
        assert_eq!(min.get(Time::from_secs(8)), None);
        min.clear();
        assert_eq!(min.get(Time::from_secs(8)), None);
    }

    #[test]
    fn a_steady_state_does_not_allocate() {
        let mut min = WindowedMin::new(100u64).with_grain(1);
        let push = |min: &mut WindowedMin<i32, u64>, range: std::ops::Range<u64>| {
            for at in range {
                min.push(at, i32::try_from(at % 400).expect("small"));
            }
        };
        push(&mut min, 0..1000);
        let capacity = min.candidates.capacity();
        push(&mut min, 1000..100_000);
        assert_eq!(min.candidates.capacity(), capacity);
    }

    #[test]
    fn the_mean_forgets_at_its_gain() {
        let mut mean = Ewma::new(0.25);
        assert_eq!(mean.get(), None);
        // 8, then 8 + (4 − 8)/4 = 7, then 7 + (4 − 7)/4 = 6.25.
        let means = [8.0, 4.0, 4.0].map(|sample| mean.push(sample));
        assert!((means[1] - 7.0).abs() < 1e-12 && (means[2] - 6.25).abs() < 1e-12);
        // Step response: (1 − gain)^n of a step is left after n samples.
        let mut step = Ewma::new(0.125);
        step.push(1.0);
        let left = (0..8).fold(1.0, |_, _| step.push(0.0));
        assert!((left - libm::pow(0.875, 8.0)).abs() < 1e-12);
    }
}
