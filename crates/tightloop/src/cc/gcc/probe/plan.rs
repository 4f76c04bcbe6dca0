//! When to probe, and at what rate.

use crate::units::{Rate, Span, Time};

/// The first two probes, in times the first rate. [AlphaRTC] probe controller.
const FIRST: [f64; 2] = [3.0, 6.0];
/// A probe that was successful is followed by one at so many times the rate it
/// found. [AlphaRTC] probe controller.
const FURTHER: f64 = 2.0;
/// A probe was successful if it found this share of its rate. [AlphaRTC] probe controller.
const SUCCESS: f64 = 0.7;
/// Results that come later are not waited for. [AlphaRTC] probe controller.
const LONGEST_WAIT: Span = Span::from_secs(1);
/// The most a probe is sent at where the application sets no limit.
/// [AlphaRTC] probe controller.
const DEFAULT_MOST: Rate = Rate::from_mbps(5);
/// While the application is the limit a probe goes out so often.
/// [AlphaRTC] probe controller.
const PERIOD: Span = Span::from_secs(5);
/// At so many times the estimate. [AlphaRTC] probe controller.
const PERIODIC: f64 = 2.0;
/// A drop to less than this share of the estimate is a large one.
/// [AlphaRTC] probe controller.
const LARGE_DROP: f64 = 0.66;
/// After a large drop this share of the former rate is tried. [AlphaRTC] probe controller.
const AFTER_DROP: f64 = 0.85;
/// If that is more than the estimate by this share of itself. [AlphaRTC] probe controller.
const UNCERTAINTY: f64 = 0.05;
/// If the drop is no older than this. [AlphaRTC] probe controller.
const DROP_MEMORY: Span = Span::from_secs(5);
/// If the last such probe is older than this. [AlphaRTC] probe controller.
const DROP_PERIOD: Span = Span::from_secs(5);
/// If the application was the limit so lately. [AlphaRTC] probe controller.
const LIMIT_MEMORY: Span = Span::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Init,
    /// A result above this rate leads to another probe.
    Waiting(Rate),
    Done,
}

/// The plan of probes.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    most: Rate,
    periodic: bool,
    phase: Phase,
    estimate: Rate,
    last_probe: Time,
    limited_since: Option<Time>,
    limited_until: Option<Time>,
    dropped: Option<(Time, Rate)>,
    drop_probed: Option<Time>,
}

impl Plan {
    /// Probes up to `most`; with `periodic` also while the application is the limit.
    #[must_use]
    pub(crate) fn new(estimate: Rate, most: Option<Rate>, periodic: bool) -> Self {
        Self {
            most: most.unwrap_or(DEFAULT_MOST),
            periodic,
            phase: Phase::Init,
            estimate,
            last_probe: Time::ZERO,
            limited_since: None,
            limited_until: None,
            dropped: None,
            drop_probed: None,
        }
    }

    /// The first packet has left: the probes to begin with.
    pub(crate) fn on_start(&mut self, now: Time, probe: &mut dyn FnMut(Rate)) {
        if self.phase == Phase::Init {
            let rates = FIRST.map(|times| self.estimate * times);
            self.probe(now, &rates, true, probe);
        }
    }

    /// The estimate has changed.
    pub(crate) fn on_estimate(&mut self, now: Time, estimate: Rate, probe: &mut dyn FnMut(Rate)) {
        if let Phase::Waiting(success) = self.phase
            && estimate > success
        {
            self.probe(now, &[estimate * FURTHER], true, probe);
        }
        if estimate < self.estimate * LARGE_DROP {
            self.dropped = Some((now, self.estimate));
        }
        self.estimate = estimate;
    }

    /// The application has been the limit since then; or is it no more.
    pub(crate) fn set_limited(&mut self, now: Time, since: Option<Time>) {
        if self.limited_since.is_some() && since.is_none() {
            self.limited_until = Some(now);
        }
        self.limited_since = since;
    }

    /// A queue has emptied: what was lost in a large drop may be there again.
    pub(crate) fn on_recovery(&mut self, now: Time, probe: &mut dyn FnMut(Rate)) {
        let limited = self.limited_since.is_some()
            || self
                .limited_until
                .is_some_and(|until| now - until < LIMIT_MEMORY);
        let Some((dropped, before)) = self.dropped else {
            return;
        };
        let rate = before * AFTER_DROP;
        if limited
            && self.phase == Phase::Done
            && rate * (1.0 - UNCERTAINTY) > self.estimate
            && now - dropped < DROP_MEMORY
            && self.drop_probed.is_none_or(|at| now - at > DROP_PERIOD)
        {
            self.drop_probed = Some(now);
            self.probe(now, &[rate], false, probe);
        }
    }

    /// When to call [`Plan::on_timeout`].
    #[must_use]
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Init => None,
            Phase::Waiting(_) => Some(self.last_probe + LONGEST_WAIT),
            Phase::Done => {
                let since = self.limited_since.filter(|_| self.periodic)?;
                Some(since.max(self.last_probe) + PERIOD)
            }
        }
    }

    /// A result no longer comes, or a periodic probe is due.
    pub(crate) fn on_timeout(&mut self, now: Time, probe: &mut dyn FnMut(Rate)) {
        if self.next_timeout().is_none_or(|due| due > now) {
            return;
        }
        match self.phase {
            Phase::Init => {}
            Phase::Waiting(_) => self.phase = Phase::Done,
            Phase::Done => self.probe(now, &[self.estimate * PERIODIC], true, probe),
        }
    }

    fn probe(&mut self, now: Time, rates: &[Rate], further: bool, probe: &mut dyn FnMut(Rate)) {
        let capped = rates.iter().any(|rate| *rate > self.most);
        for rate in rates {
            probe((*rate).min(self.most));
        }
        self.last_probe = now;
        self.phase = match rates.last() {
            Some(last) if further && !capped => Phase::Waiting(*last * SUCCESS),
            _ => Phase::Done,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [u64; 0] = [];
    const START: Rate = Rate::from_kbps(300);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// What a step of the plan asks for, in kbit/s.
    fn asked(step: impl FnOnce(&mut dyn FnMut(Rate))) -> Vec<u64> {
        let mut rates = Vec::new();
        step(&mut |rate: Rate| rates.push(rate.as_bps() / Rate::from_kbps(1).as_bps()));
        rates
    }

    #[test]
    fn success_leads_to_more_and_the_limit_ends_it() {
        let mut plan = Plan::new(START, Some(Rate::from_mbps(5)), false);
        assert_eq!(asked(|p| plan.on_start(at(0), p)), [900, 1_800]);
        assert_eq!(asked(|p| plan.on_start(at(1), p)), NONE);
        assert_eq!(
            asked(|p| plan.on_estimate(at(90), Rate::from_kbps(880), p)),
            NONE
        );
        // 70 % of 1800 are 1260.
        assert_eq!(
            asked(|p| plan.on_estimate(at(100), Rate::from_kbps(1_700), p)),
            [3_400]
        );
        assert_eq!(
            asked(|p| plan.on_estimate(at(200), Rate::from_kbps(3_300), p)),
            [5_000]
        );
        assert_eq!(
            asked(|p| plan.on_estimate(at(300), Rate::from_kbps(5_000), p)),
            NONE
        );
        assert_eq!(plan.next_timeout(), None);
    }

    #[test]
    fn results_are_waited_for_a_second() {
        let mut plan = Plan::new(START, None, false);
        assert_eq!(asked(|p| plan.on_start(at(0), p)), [900, 1_800]);
        assert_eq!(plan.next_timeout(), Some(at(1_000)));
        assert_eq!(asked(|p| plan.on_timeout(at(1_000), p)), NONE);
        assert_eq!(
            asked(|p| plan.on_estimate(at(1_001), Rate::from_kbps(1_700), p)),
            NONE
        );
    }

    #[test]
    fn while_limited_a_probe_goes_out_every_5_s() {
        for (periodic, expected) in [(true, Some(at(8_000))), (false, None)] {
            let mut plan = Plan::new(START, None, periodic);
            asked(|p| plan.on_start(at(0), p));
            asked(|p| plan.on_timeout(at(1_000), p));
            plan.set_limited(at(3_000), Some(at(3_000)));
            assert_eq!(plan.next_timeout(), expected);
        }
        let mut plan = Plan::new(START, None, true);
        asked(|p| plan.on_start(at(0), p));
        asked(|p| plan.on_timeout(at(1_000), p));
        plan.set_limited(at(3_000), Some(at(3_000)));
        assert_eq!(asked(|p| plan.on_timeout(at(8_000), p)), [600]);
        asked(|p| plan.on_timeout(at(9_000), p));
        assert_eq!(plan.next_timeout(), Some(at(13_000)));
    }

    #[test]
    fn after_a_large_drop_while_limited_the_former_rate_is_tried() {
        let mut plan = Plan::new(START, None, false);
        asked(|p| plan.on_start(at(0), p));
        asked(|p| plan.on_estimate(at(500), Rate::from_kbps(1_000), p));
        asked(|p| plan.on_timeout(at(1_000), p));
        asked(|p| plan.on_estimate(at(10_000), Rate::from_kbps(600), p));
        assert_eq!(
            asked(|p| plan.on_recovery(at(11_000), p)),
            NONE,
            "not limited"
        );
        plan.set_limited(at(11_000), Some(at(11_000)));
        assert_eq!(asked(|p| plan.on_recovery(at(11_500), p)), [850]);
        assert_eq!(
            asked(|p| plan.on_recovery(at(12_000), p)),
            NONE,
            "so soon again"
        );
    }
}
