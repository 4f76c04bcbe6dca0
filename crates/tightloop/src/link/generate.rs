//! Traces of our own making: seeded, LTE-like and Wi-Fi-like.
//!
//! They have the features of recordings that matter to a congestion
//! controller, each with a knob, and claim no more: no cell or station is
//! modelled. Both end in the same way: bytes accrue at a rate that wanders,
//! and become delivery opportunities when the radio's turn comes. The rate is
//! scaled at the end, so the mean is the one asked for.
//!
//! **LTE-like** ([`Lte`]). Fading: the logarithm of the rate is the sum of a
//! fast and a slow first-order autoregression. Outages (handovers, dead spots)
//! begin at random and last an exponential time. The scheduler serves this user
//! in some of the 1 ms intervals, then with all that has accrued: packets come
//! in clumps.
//!
//! **Wi-Fi-like** ([`Wifi`]). The station's turn comes after a random gap of
//! contention and takes all that has accrued, up to the largest aggregate, as
//! one burst. Rate control moves between steps of the physical rate and stays
//! on each for a while. At times a busy neighbour stretches the gaps.

use serde::{Deserialize, Serialize};

use super::trace::{FULL_PACKET, Trace};
use crate::rng::Stream;
use crate::settings::SettingError;
use crate::units::{Bytes, Rate, Span, Time, float, index};

/// The interval in which rates wander and are scheduled. Ours: LTE's own, and
/// the resolution of the format.
const TICK: Span = Span::from_millis(1);

/// The longest trace that is made. Ours: an hour, more than any run has.
const LONGEST: Span = Span::from_secs(3_600);

/// What an LTE-like trace is made of. All defaults are ours: chosen so that
/// 1 s rates and outages look like those of the cellular recordings that come
/// with Mahimahi.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lte {
    /// The mean rate over the whole trace, outages included. Ours: 12 Mbit/s.
    pub mean: Rate,
    /// How long it is. Ours: 60 s.
    pub duration: Span,
    /// Standard deviation of the logarithm of the rate, fast part. Ours: .35.
    pub fast_deviation: f64,
    /// How long the fast part remembers. Ours: 100 ms, a walker's fading.
    pub fast_memory: Span,
    /// Standard deviation of the slow part. Ours: .75, as in those recordings.
    pub slow_deviation: f64,
    /// How long the slow part remembers. Ours: 8 s, a car's shadowing.
    pub slow_memory: Span,
    /// The share of intervals in which this user is served. Ours: .4.
    pub share: f64,
    /// The mean time from one outage to the next. Ours: 30 s.
    pub outage_every: Span,
    /// The mean length of an outage; none for zero. Ours: 300 ms.
    pub outage_length: Span,
}

/// What a Wi-Fi-like trace is made of. All defaults are ours: an office with
/// neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wifi {
    /// The mean rate over the whole trace. Ours: 25 Mbit/s.
    pub mean: Rate,
    /// How long it is. Ours: 60 s.
    pub duration: Span,
    /// The mean gap between the station's turns. Ours: 4 ms.
    pub gap: Span,
    /// The most packets of one burst. Ours: 64, one block acknowledgement.
    pub aggregate: u64,
    /// The factor between neighbouring physical rates. Ours: 1.3.
    pub step: f64,
    /// How many physical rates there are. Ours: 6.
    pub steps: u32,
    /// The mean time on one of them. Ours: 1.5 s.
    pub dwell: Span,
    /// The mean time from one busy stretch to the next. Ours: 5 s.
    pub busy_every: Span,
    /// The mean length of a busy stretch; none for zero. Ours: 400 ms.
    pub busy_length: Span,
    /// How much longer gaps are while a neighbour is busy. Ours: 8.
    pub busy_factor: f64,
}

impl Default for Lte {
    fn default() -> Self {
        Self {
            mean: Rate::from_mbps(12),
            duration: Span::from_secs(60),
            fast_deviation: 0.35,
            fast_memory: Span::from_millis(100),
            slow_deviation: 0.75,
            slow_memory: Span::from_secs(8),
            share: 0.4,
            outage_every: Span::from_secs(30),
            outage_length: Span::from_millis(300),
        }
    }
}

impl Default for Wifi {
    fn default() -> Self {
        Self {
            mean: Rate::from_mbps(25),
            duration: Span::from_secs(60),
            gap: Span::from_millis(4),
            aggregate: 64,
            step: 1.3,
            steps: 6,
            dwell: Span::from_millis(1_500),
            busy_every: Span::from_secs(5),
            busy_length: Span::from_millis(400),
            busy_factor: 8.0,
        }
    }
}

impl Lte {
    /// Makes the trace of this seed.
    ///
    /// # Errors
    ///
    /// Settings that make no trace.
    pub fn trace(&self, seed: u64) -> Result<Trace, SettingError> {
        let ticks = ticks(self.mean, self.duration)?;
        positive("fast_memory", self.fast_memory)?;
        positive("slow_memory", self.slow_memory)?;
        SettingError::unless(self.share > 0.0 && self.share <= 1.0, || {
            format!("share = {} is not above 0 and at most 1", self.share)
        })?;
        let deviations = [self.fast_deviation, self.slow_deviation];
        SettingError::unless(deviations.iter().all(|d| (0.0..=3.0).contains(d)), || {
            "fast_deviation and slow_deviation must be from 0 to 3".into()
        })?;
        let mut fading = Stream::named(seed, "generate.lte.fading");
        let mut turns = Stream::named(seed, "generate.lte.turns");
        let mut fast = Wander::new(self.fast_deviation, self.fast_memory, &mut fading);
        let mut slow = Wander::new(self.slow_deviation, self.slow_memory, &mut fading);
        let outages = Stream::named(seed, "generate.lte.outages");
        let mut outage = Stretches::new(self.outage_every, self.outage_length, outages)?;
        let ticks = (0..ticks).map(|_| {
            let out = outage.tick();
            let log = fast.tick(&mut fading) + slow.tick(&mut fading);
            let turn = turns.chance(self.share) && !out;
            Tick {
                weight: if out { 0.0 } else { libm::exp(log) },
                most: if turn { u64::MAX } else { 0 },
            }
        });
        packets(&ticks.collect::<Vec<_>>(), self.mean, self.duration)
    }
}

impl Wifi {
    /// Makes the trace of this seed.
    ///
    /// # Errors
    ///
    /// Settings that make no trace.
    pub fn trace(&self, seed: u64) -> Result<Trace, SettingError> {
        let ticks = ticks(self.mean, self.duration)?;
        positive("gap", self.gap)?;
        positive("dwell", self.dwell)?;
        SettingError::unless(self.step >= 1.0 && self.steps > 0, || {
            format!(
                "step = {} must be at least 1, steps = {} at least 1",
                self.step, self.steps
            )
        })?;
        SettingError::unless((1.0..=100.0).contains(&self.busy_factor), || {
            format!("busy_factor = {} is not from 1 to 100", self.busy_factor)
        })?;
        // What full bursts would carry; bursts differ, so only half is promised.
        let most = (FULL_PACKET * self.aggregate).per(self.gap.max(TICK) * 2);
        SettingError::unless(most.is_some_and(|most| self.mean <= most), || {
            format!(
                "{} cannot be carried by bursts of {} packets each {}: raise aggregate or lower gap",
                self.mean, self.aggregate, self.gap
            )
        })?;
        let mut rates = Stream::named(seed, "generate.wifi.rates");
        let mut turns = Stream::named(seed, "generate.wifi.turns");
        let busy = Stream::named(seed, "generate.wifi.busy");
        let mut busy = Stretches::new(self.busy_every, self.busy_length, busy)?;
        let mut place = self.steps / 2;
        let mut left = self.dwell * rates.exponential();
        let mut wait = self.gap * turns.exponential();
        let ticks = (0..ticks).map(|_| {
            left -= TICK;
            if !left.is_positive() {
                left = self.dwell * rates.exponential();
                place = match (rates.chance(0.5), place) {
                    (true, place) if place + 1 < self.steps => place + 1,
                    (false, place) if place > 0 => place - 1,
                    (_, place) => place,
                };
            }
            // A busy neighbour makes every wait longer, also one begun before.
            let slower = if busy.tick() { self.busy_factor } else { 1.0 };
            wait -= TICK * (1.0 / slower);
            let turn = !wait.is_positive();
            if turn {
                wait += self.gap * turns.exponential();
            }
            Tick {
                weight: libm::pow(self.step, f64::from(place)),
                most: if turn { self.aggregate } else { 0 },
            }
        });
        packets(&ticks.collect::<Vec<_>>(), self.mean, self.duration)
    }
}

/// One millisecond: how fast bytes accrue, and how many packets may leave.
struct Tick {
    weight: f64,
    most: u64,
}

/// How many whole ticks a trace has.
fn ticks(mean: Rate, duration: Span) -> Result<u64, SettingError> {
    SettingError::unless(mean > Rate::ZERO, || {
        "mean = 0 bit/s leaves nothing to carry".into()
    })?;
    let whole = Span::from_secs(1) <= duration && duration <= LONGEST;
    SettingError::unless(whole, || {
        format!("duration = {duration} is not from 1 s to {LONGEST}")
    })?;
    Ok(super::trace::millis(Time::ZERO + duration))
}

fn positive(name: &str, span: Span) -> Result<(), SettingError> {
    SettingError::unless(span.is_positive(), || format!("{name} = {span} is no time"))
}

/// Bytes accrue by the weights, scaled to the mean, and leave at turns. What
/// is left at the end leaves then, so the trace is as long as it should be.
fn packets(ticks: &[Tick], mean: Rate, duration: Span) -> Result<Trace, SettingError> {
    let total: f64 = ticks.iter().map(|tick| tick.weight).sum();
    SettingError::unless(total > 0.0, || {
        "the whole trace is an outage; shorten outages or lengthen the trace".into()
    })?;
    let wanted = mean.over(duration);
    let scale = wanted.ratio(FULL_PACKET) / total;
    let mut stamps = Vec::with_capacity(index(wanted.pieces(FULL_PACKET)));
    let (mut accrued, mut at) = (0.0, Time::ZERO);
    for (number, tick) in (1..).zip(ticks) {
        at += TICK;
        accrued += tick.weight * scale;
        let last = number == ticks.len();
        let most = if last { u64::MAX } else { tick.most };
        let ready = Bytes::from_f64(libm::floor(accrued)).get();
        // A rest of less than a packet still marks the end.
        let leave = ready.min(most).max(u64::from(last));
        stamps.extend(std::iter::repeat_n(at, index(leave)));
        accrued -= float(leave);
    }
    Trace::new(stamps).map_err(|error| SettingError(error.to_string()))
}

/// A first-order autoregression with mean 0.
struct Wander {
    value: f64,
    keep: f64,
    noise: f64,
}

impl Wander {
    fn new(deviation: f64, memory: Span, rng: &mut Stream) -> Self {
        let keep = libm::exp(-TICK.ratio(memory));
        Self {
            value: deviation * rng.normal(),
            keep,
            noise: deviation * libm::sqrt(1.0 - keep * keep),
        }
    }

    fn tick(&mut self, rng: &mut Stream) -> f64 {
        self.value = self.keep * self.value + self.noise * rng.normal();
        self.value
    }
}

/// Stretches of time that begin at random and last an exponential time.
struct Stretches {
    every: Span,
    length: Span,
    within: bool,
    left: Span,
    rng: Stream,
}

impl Stretches {
    fn new(every: Span, length: Span, mut rng: Stream) -> Result<Self, SettingError> {
        SettingError::unless(length >= Span::ZERO && length < every, || {
            format!("stretches of {length} each {every} leave nothing between them")
        })?;
        let left = (every - length) * rng.exponential();
        Ok(Self {
            every,
            length,
            within: false,
            left,
            rng,
        })
    }

    /// Whether this tick lies within a stretch.
    fn tick(&mut self) -> bool {
        if self.length == Span::ZERO {
            return false;
        }
        self.left -= TICK;
        while !self.left.is_positive() {
            self.within = !self.within;
            let mean = if self.within {
                self.length
            } else {
                self.every - self.length
            };
            self.left += mean * self.rng.exponential();
        }
        self.within
    }
}

#[cfg(test)]
#[path = "generate/tests.rs"]
mod tests;
