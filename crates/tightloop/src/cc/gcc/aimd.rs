//! The delay-based rate: up by a factor or a step, down to a share of what arrives.

use super::capacity::Capacity;
use super::trend::Usage;
use crate::units::{Bytes, Rate, Span, Time};

/// The round-trip time before one is known. [AlphaRTC] rate control.
const DEFAULT_RTT: Span = Span::from_millis(200);
/// Growth in a second, as a factor, while the capacity is unknown. [GCC-Draft] §5.5.
const GROWTH: f64 = 1.08;
/// The least growth by a factor, per update. [GCC-Draft] §5.5.
const LEAST_GROWTH: Rate = Rate::from_kbps(1);
/// The least growth by steps, per second. [AlphaRTC] rate control.
const LEAST_STEP: Rate = Rate::from_kbps(4);
/// The frame rate that the size of packets is guessed by. [GCC-Draft] §5.5: 30.
const FRAME_INTERVAL: Span = Span::from_micros(33_333);
/// The packet size that is guessed by. [GCC-Draft] §5.5.
const PACKET: Bytes = Bytes::new(1_200);
/// How long the detector takes, besides a round trip. [GCC-Draft] §5.5.
const DETECTION: Span = Span::from_millis(100);
/// The response time counts so often. [AlphaRTC] rate control.
const RESPONSES: i64 = 2;
/// The rate is at most so many times what arrives. [GCC-Draft] §5.5.
const MOST_OF_ACKED: f64 = 1.5;
/// And this much more. [AlphaRTC] rate control.
const MOST_ABOVE_ACKED: Rate = Rate::from_kbps(10);
/// A cut is followed by another after a round trip, which counts as at least
/// this. [AlphaRTC] rate control.
const LEAST_CUT_INTERVAL: Span = Span::from_millis(10);
/// And at most this. [AlphaRTC] rate control.
const LONGEST_CUT_INTERVAL: Span = Span::from_millis(200);
/// While nobody knows what arrives the rate halves so often. [AlphaRTC]
/// delay-based estimator.
const HALVING_INTERVAL: Span = Span::from_millis(200);
/// At once where less than this share of the rate arrives. [AlphaRTC] rate control.
const FAR_BELOW: f64 = 0.5;
/// The first rate is what arrives after this time, unless one was given.
/// [AlphaRTC] rate control.
const FIRST_RATE_AFTER: Span = Span::from_secs(5);
/// The time between cuts that is expected before there was one. [AlphaRTC] rate control.
const DEFAULT_PERIOD: Span = Span::from_secs(3);
/// The least time between cuts that is expected. [AlphaRTC] rate control.
const LEAST_PERIOD: Span = Span::from_secs(2);
/// The longest. [AlphaRTC] rate control.
const LONGEST_PERIOD: Span = Span::from_secs(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The delay-based rate.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    /// Share of what arrives to which a cut goes.
    backoff: f64,
    min: Rate,
    rate: Rate,
    /// A rate was given or found; before, `rate` means nothing.
    valid: bool,
    acked: Rate,
    capacity: Capacity,
    state: State,
    changed: Option<Time>,
    lowered: Option<Time>,
    first_acked: Option<Time>,
    last_cut: Option<Rate>,
    rtt: Span,
}

impl Aimd {
    /// One that does not know its rate yet; until it does it cannot grow.
    #[must_use]
    pub(super) fn new(backoff: f64, min: Rate) -> Self {
        Self {
            backoff,
            min,
            rate: Rate::MAX,
            valid: false,
            acked: Rate::MAX,
            capacity: Capacity::default(),
            state: State::Hold,
            changed: None,
            lowered: None,
            first_acked: None,
            last_cut: None,
            rtt: DEFAULT_RTT,
        }
    }

    /// Begins at a rate.
    pub(super) fn start(&mut self, rate: Rate) {
        self.rate = rate.max(self.min);
        self.acked = self.rate;
        self.valid = true;
    }

    /// The rate, once there is one.
    #[must_use]
    pub(super) fn rate(&self) -> Option<Rate> {
        self.valid.then_some(self.rate)
    }

    /// What the link carries, where it is known.
    #[must_use]
    pub(super) fn capacity(&self) -> Option<Rate> {
        self.capacity.estimate()
    }

    /// The round-trip time.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// A rate found otherwise.
    pub(super) fn set(&mut self, now: Time, rate: Rate) {
        let rate = rate.max(self.min);
        if rate < self.rate {
            self.lowered = Some(now);
        }
        self.rate = rate;
        self.valid = true;
        self.changed = Some(now);
    }

    /// The same while nobody knows what arrives.
    #[must_use]
    pub(super) fn may_halve(&self, now: Time) -> bool {
        self.valid
            && self
                .lowered
                .is_none_or(|lowered| now - lowered >= HALVING_INTERVAL)
    }

    /// A cut now would not follow too soon on the last change.
    #[must_use]
    pub(super) fn may_cut(&self, now: Time, acked: Rate) -> bool {
        let interval = self.rtt.clamp(LEAST_CUT_INTERVAL, LONGEST_CUT_INTERVAL);
        let waited = self.changed.is_none_or(|changed| now - changed >= interval);
        waited || (self.valid && acked < self.rate * FAR_BELOW)
    }

    /// News of the delay and of what arrives.
    pub(super) fn update(&mut self, now: Time, usage: Usage, acked: Option<Rate>) {
        if !self.valid
            && let Some(acked) = acked
        {
            let first = *self.first_acked.get_or_insert(now);
            if now - first > FIRST_RATE_AFTER {
                self.rate = acked.max(self.min);
                self.valid = true;
            }
        }
        let acked = acked.unwrap_or(self.acked);
        self.acked = acked;
        if !self.valid && usage != Usage::Over {
            return;
        }
        match usage {
            Usage::Over => self.state = State::Decrease,
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => {
                self.changed = Some(now);
                self.state = State::Increase;
            }
            Usage::Normal => {}
        }
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now, acked),
            State::Decrease => self.decrease(now, acked),
        }
    }

    fn increase(&mut self, now: Time, acked: Rate) {
        if self.capacity.is_below(acked) {
            self.capacity.forget();
        }
        let most = acked * MOST_OF_ACKED + MOST_ABOVE_ACKED;
        if self.rate < most {
            let since = self.changed.map(|changed| now - changed);
            let grown = match self.capacity.estimate() {
                Some(_) => {
                    let seconds = since.unwrap_or(Span::ZERO).secs_f64();
                    self.rate + self.step() * seconds
                }
                None => {
                    let seconds = since.map_or(1.0, |since| since.secs_f64().min(1.0));
                    let growth = self.rate * (libm::pow(GROWTH, seconds) - 1.0);
                    self.rate + growth.max(LEAST_GROWTH)
                }
            };
            self.rate = grown.min(most).max(self.min);
        }
        self.changed = Some(now);
    }

    fn decrease(&mut self, now: Time, acked: Rate) {
        let mut goal = acked * self.backoff;
        if goal > self.rate
            && let Some(capacity) = self.capacity.estimate()
        {
            goal = capacity * self.backoff;
        }
        let cut = (goal < self.rate).then(|| self.rate.saturating_sub(goal));
        if self.valid && acked < self.rate {
            self.last_cut = Some(cut.unwrap_or(Rate::ZERO));
        }
        if cut.is_some() {
            self.rate = goal.max(self.min);
        }
        if self.capacity.is_above(acked) {
            self.capacity.forget();
        }
        self.capacity.overused_at(acked);
        self.valid = true;
        // Held until the queue is empty.
        self.state = State::Hold;
        self.changed = Some(now);
        self.lowered = Some(now);
    }

    /// Growth near the capacity, in a second: half a packet per response time.
    fn step(&self) -> Rate {
        let frame = self.rate.over(FRAME_INTERVAL).max(Bytes::new(1));
        let packet = frame / frame.pieces(PACKET);
        let response = (self.rtt + DETECTION) * RESPONSES;
        packet.per(response).unwrap_or(Rate::ZERO).max(LEAST_STEP)
    }

    /// The time between cuts that is to be expected.
    #[must_use]
    pub(super) fn period(&self) -> Span {
        let Some(cut) = self.last_cut else {
            return DEFAULT_PERIOD;
        };
        Span::from_secs_f64(cut.ratio(self.step())).clamp(LEAST_PERIOD, LONGEST_PERIOD)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKOFF: f64 = 0.85;
    const MIN: Rate = Rate::from_kbps(5);

    fn started(rate: Rate) -> Aimd {
        let mut aimd = Aimd::new(BACKOFF, MIN);
        aimd.start(rate);
        aimd
    }

    fn near(found: Rate, expected: u64, tolerance: u64) {
        let difference = found.as_bps().abs_diff(expected);
        assert!(difference <= tolerance, "{found} against {expected} bit/s");
    }

    // [AlphaRTC] aimd_rate_control_unittest.
    #[test]
    fn growth_near_the_capacity_is_the_references() {
        for (bps, rtt, expected) in [
            (30_000, 200, 4_000),
            (90_000, 200, 5_000),
            (60_000, 100, 5_000),
        ] {
            let mut aimd = started(Rate::from_bps(bps));
            aimd.set_rtt(Span::from_millis(rtt));
            near(aimd.step(), expected, 30);
        }
        let mut aimd = started(Rate::from_bps(300_000));
        aimd.update(Time::ZERO, Usage::Over, Some(Rate::from_bps(300_000)));
        near(aimd.step(), 14_000, 1_000);
    }

    // [AlphaRTC] aimd_rate_control_unittest.
    #[test]
    fn the_period_between_cuts_is_the_references() {
        for (start, acked, expected) in [
            (110_000, 105_882, 4_000),
            (10_000, 9_999, 2_000),
            (10_010_000, 11_764, 50_000),
        ] {
            let mut aimd = Aimd::new(BACKOFF, MIN);
            assert_eq!(aimd.period(), Span::from_secs(3));
            aimd.set(Time::ZERO, Rate::from_bps(start));
            let later = Time::from_millis(100);
            aimd.update(later, Usage::Over, Some(Rate::from_bps(acked)));
            let period = aimd.period().millis_f64();
            let expected = f64::from(expected);
            // Whole bytes per packet: 6 per mille of the step.
            assert!((period / expected - 1.0).abs() < 0.006, "{period}");
        }
    }

    // [AlphaRTC] aimd_rate_control_unittest.
    #[test]
    fn the_rate_stays_within_half_as_much_again_as_arrives() {
        let mut aimd = Aimd::new(BACKOFF, MIN);
        let acked = Rate::from_bps(10_000);
        aimd.set(Time::ZERO, acked);
        for tick in 0..200 {
            aimd.update(Time::from_millis(tick * 100), Usage::Normal, Some(acked));
        }
        assert_eq!(aimd.rate(), Some(Rate::from_bps(25_000)));
    }

    #[test]
    fn growth_is_8_per_cent_a_second_until_the_capacity_is_known() {
        let mut aimd = started(Rate::from_mbps(1));
        for tick in 0..=100 {
            let acked = aimd.rate();
            aimd.update(Time::from_millis(tick * 100), Usage::Normal, acked);
        }
        let grown = aimd.rate().expect("a rate").mbps_f64();
        // The first update only starts the clock.
        let expected = libm::pow(1.08, 10.0);
        assert!((grown / expected - 1.0).abs() < 0.002, "{grown}");
    }

    #[test]
    fn an_overuse_cuts_to_a_share_of_what_arrives_and_never_up() {
        let mut aimd = started(Rate::from_mbps(2));
        aimd.update(Time::ZERO, Usage::Over, Some(Rate::from_mbps(1)));
        assert_eq!(aimd.rate(), Some(Rate::from_kbps(850)));
        assert_eq!(aimd.capacity(), Some(Rate::from_mbps(1)));
        // More arrives than the rate explains: the capacity counts.
        let later = Time::from_millis(500);
        aimd.update(later, Usage::Over, Some(Rate::from_kbps(1_030)));
        assert_eq!(aimd.rate(), Some(Rate::from_kbps(850)));
    }

    #[test]
    fn a_second_cut_waits_for_a_round_trip_unless_far_too_little_arrives() {
        let mut aimd = started(Rate::from_mbps(2));
        aimd.set_rtt(Span::from_millis(50));
        aimd.update(Time::ZERO, Usage::Over, Some(Rate::from_mbps(1)));
        let at = Time::from_millis;
        assert!(!aimd.may_cut(at(49), Rate::from_kbps(426)));
        assert!(aimd.may_cut(at(49), Rate::from_kbps(424)));
        assert!(aimd.may_cut(at(50), Rate::from_kbps(426)));
    }

    proptest! {
        #[test]
        fn the_rate_never_falls_below_the_least_nor_grows_when_overused(
            steps in prop::collection::vec((0u8..3, 0u64..100_000_000, 0i64..3_000), 1..100),
        ) {
            let mut aimd = started(Rate::from_kbps(300));
            let mut now = Time::ZERO;
            for (usage, acked, pause) in steps {
                now += Span::from_millis(pause);
                let before = aimd.rate().expect("a rate");
                let usage = [Usage::Normal, Usage::Over, Usage::Under][usize::from(usage)];
                aimd.update(now, usage, Some(Rate::from_bps(acked)));
                let after = aimd.rate().expect("a rate");
                prop_assert!(after >= MIN);
                if usage != Usage::Normal {
                    prop_assert!(after <= before);
                }
            }
        }
    }
}
