//! The rate that losses allow.

mod balance;
mod draft;
mod fit;
mod likelihood;
mod observed;

use serde::{Deserialize, Serialize};

use self::balance::BalanceRule;
use self::draft::DraftRule;
use self::likelihood::Likelihood;
use crate::units::{Bytes, Rate, Span, Time};

/// What losses mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossRule {
    /// The likeliest of a few pairs of inherent loss and bandwidth.
    #[default]
    Likelihood,
    /// Below 2 % grow, above 10 % shrink. [GCC-Draft] §6.
    Draft,
    /// The rate that the loss is just acceptable at. [AlphaRTC] loss-based estimation.
    Balance,
    /// Nothing: the delay alone decides.
    Ignored,
}

/// What became of packets that left, in one feedback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Results {
    /// Packets arrived or given up.
    pub(super) packets: u64,
    /// Their bytes.
    pub(super) bytes: Bytes,
    /// Packets given up.
    pub(super) lost_packets: u64,
    /// Their bytes.
    pub(super) lost_bytes: Bytes,
    /// When the last of them left.
    pub(super) last_sent: Time,
}

impl Results {
    /// Another packet.
    pub(super) fn add(&mut self, sent: Time, size: Bytes, lost: bool) {
        self.packets += 1;
        self.bytes += size;
        if lost {
            self.lost_packets += 1;
            self.lost_bytes += size;
        }
        self.last_sent = self.last_sent.max(sent);
    }
}

/// What else is known when losses are judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// The delay-based rate.
    pub(super) delay_based: Rate,
    /// The target.
    pub(super) target: Rate,
    /// The round-trip time.
    pub(super) rtt: Span,
    /// What arrives.
    pub(super) acked: Option<Rate>,
    /// The application is the limit.
    pub(super) limited: bool,
}

/// The loss-based half.
#[derive(Clone, Debug)]
pub(super) enum LossBased {
    /// [`LossRule::Likelihood`].
    Likelihood(Box<Likelihood>),
    /// [`LossRule::Draft`].
    Draft(DraftRule),
    /// [`LossRule::Balance`].
    Balance(Box<BalanceRule>),
    /// [`LossRule::Ignored`].
    Ignored,
}

impl LossBased {
    /// By a rule, beginning at a rate.
    #[must_use]
    pub(super) fn new(rule: LossRule, start: Rate, min: Rate, max: Rate) -> Self {
        match rule {
            LossRule::Likelihood => Self::Likelihood(Box::new(Likelihood::new(start, min, max))),
            LossRule::Draft => Self::Draft(DraftRule::new(start)),
            LossRule::Balance => Self::Balance(Box::new(BalanceRule::new(start))),
            LossRule::Ignored => Self::Ignored,
        }
    }

    /// A probe found a rate.
    pub(super) fn set(&mut self, rate: Rate) {
        match self {
            Self::Likelihood(rule) => rule.set(rate),
            Self::Draft(rule) => rule.set(rate),
            Self::Balance(_) | Self::Ignored => {}
        }
    }

    /// News of packets.
    pub(super) fn update(&mut self, now: Time, results: &Results, beside: &Beside) {
        match self {
            Self::Likelihood(rule) => rule.update(results, beside),
            Self::Draft(rule) => rule.update(now, results, beside),
            Self::Balance(rule) => rule.update(now, results, beside),
            Self::Ignored => {}
        }
    }

    /// What losses allow; `None` where they set no limit.
    #[must_use]
    pub(super) fn limit(&self) -> Option<Rate> {
        match self {
            Self::Likelihood(rule) => rule.limit(),
            Self::Draft(rule) => rule.limit(),
            Self::Balance(rule) => rule.limit(),
            Self::Ignored => None,
        }
    }
}
