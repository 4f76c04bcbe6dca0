//! The rule of 2020: each loss has a rate that it is just acceptable at.

use super::{Beside, Results};
use crate::filter::WindowedMin;
use crate::units::{Rate, Span, Time, float};

/// How fast averages forget. [AlphaRTC] loss-based estimation.
const WINDOW: Span = Span::from_millis(800);
/// The rate whose loss would be 1, when growing. [AlphaRTC] loss-based estimation.
const GROWTH_BALANCE: Rate = Rate::from_bps(500);
/// The same when shrinking. [AlphaRTC] loss-based estimation.
const CUT_BALANCE: Rate = Rate::from_kbps(4);
/// The loss that is acceptable is the balance's share of the rate to this
/// power. [AlphaRTC] loss-based estimation.
const EXPONENT: f64 = 0.5;
/// Growth at a short round trip, as a factor of the least target of
/// [`MEMORY`]. [AlphaRTC] loss-based estimation.
const FAST: f64 = 1.08;
/// And at a long one. [AlphaRTC] loss-based estimation.
const SLOW: f64 = 1.02;
/// A short round trip. [AlphaRTC] loss-based estimation.
const SHORT: Span = Span::from_millis(200);
/// A long one. [AlphaRTC] loss-based estimation.
const LONG: Span = Span::from_millis(800);
/// Growth besides. [AlphaRTC] loss-based estimation.
const GROWTH_OFFSET: Rate = Rate::from_kbps(1);
/// What growth starts from is the least target of this time. [AlphaRTC]
/// send-side estimation.
const MEMORY: Span = Span::from_secs(1);
/// A cut goes to this share of what arrives. [AlphaRTC] loss-based estimation.
const CUT: f64 = 0.99;
/// Cuts are a round trip and this apart. [AlphaRTC] loss-based estimation.
const CUT_INTERVAL: Span = Span::from_millis(300);
/// Before there was one, the time since the last report. [AlphaRTC] loss-based
/// estimation.
const FIRST_INTERVAL: Span = Span::from_secs(1);
/// Less loss than this is none. [AlphaRTC] loss-based estimation.
const NO_LOSS: f64 = 1e-5;

/// The rule and what it averages.
#[derive(Clone, Debug)]
pub(in super::super) struct BalanceRule {
    rate: Rate,
    loss: f64,
    /// Falls slowly, rises at once.
    high_loss: f64,
    /// In bit/s; the same.
    high_acked: f64,
    updated: Option<Time>,
    cut: Option<Time>,
    lowest: WindowedMin<Rate>,
    lossless: bool,
}

impl BalanceRule {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            loss: 0.0,
            high_loss: 0.0,
            high_acked: 0.0,
            updated: None,
            cut: None,
            lowest: WindowedMin::new(MEMORY).keeping_newest(),
            lossless: true,
        }
    }

    pub(super) fn limit(&self) -> Option<Rate> {
        (!self.lossless).then_some(self.rate)
    }

    pub(super) fn update(&mut self, now: Time, results: &Results, beside: &Beside) {
        if results.packets == 0 {
            return;
        }
        let since = self.updated.map_or(FIRST_INTERVAL, |then| now - then);
        self.updated = Some(now);
        let gain = 1.0 - libm::exp(-since.ratio(WINDOW));
        let latest = float(results.lost_packets) / float(results.packets);
        self.loss += gain * (latest - self.loss);
        self.high_loss += if self.loss > self.high_loss {
            self.loss - self.high_loss
        } else {
            gain * (self.loss - self.high_loss)
        };
        if let Some(acked) = beside.acked {
            let acked = acked.bps_f64();
            self.high_acked += if acked > self.high_acked {
                acked - self.high_acked
            } else {
                gain * (acked - self.high_acked)
            };
        }
        self.lowest.push(now, beside.target);
        if self.lossless {
            // It begins to count with the first loss: before, the delay leads.
            self.rate = beside.target;
            self.lossless = results.lost_packets == 0;
        }
        let cut_loss = self.loss.min(latest);
        if self.high_loss < acceptable(self.rate, GROWTH_BALANCE) {
            self.grow(now, beside.rtt);
        } else if cut_loss > acceptable(self.rate, CUT_BALANCE)
            && self
                .cut
                .is_none_or(|cut| now - cut >= beside.rtt + CUT_INTERVAL)
        {
            let floor = bearable(cut_loss, CUT_BALANCE);
            let goal = Rate::from_bps_f64(self.high_acked * CUT).max(floor);
            if goal < self.rate {
                self.rate = goal;
                self.cut = Some(now);
            }
        }
    }

    fn grow(&mut self, now: Time, rtt: Span) {
        let offset = (rtt.clamp(SHORT, LONG) - SHORT).ratio(LONG - SHORT);
        let factor = SLOW + (1.0 - offset) * (FAST - SLOW);
        let lowest = self.lowest.get(now).unwrap_or(self.rate);
        let grown = lowest * factor + GROWTH_OFFSET;
        let most = bearable(self.high_loss, GROWTH_BALANCE);
        self.rate = self.rate.max(grown.min(most));
    }
}

/// The loss that is acceptable at a rate.
fn acceptable(rate: Rate, balance: Rate) -> f64 {
    if balance >= rate {
        return 1.0;
    }
    libm::pow(balance.ratio(rate), EXPONENT)
}

/// The rate at which a loss is acceptable.
fn bearable(loss: f64, balance: Rate) -> Rate {
    if loss < NO_LOSS {
        return Rate::MAX;
    }
    balance * libm::pow(loss, -1.0 / EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_losses_balance() {
        // √(4/400) is a tenth; 500 bit/s over 0.01² are 5 Mbit/s.
        assert!((acceptable(Rate::from_kbps(400), CUT_BALANCE) - 0.1).abs() < 1e-9);
        let most = bearable(0.01, GROWTH_BALANCE);
        assert!((most.mbps_f64() - 5.0).abs() < 1e-6, "{most}");
        assert_eq!(bearable(0.0, CUT_BALANCE), Rate::MAX);
    }

    #[test]
    fn heavy_loss_cuts_to_what_arrives() {
        let mut rule = BalanceRule::new(Rate::from_mbps(2));
        let beside = Beside {
            delay_based: Rate::from_mbps(2),
            target: Rate::from_mbps(2),
            acked: Some(Rate::from_mbps(1)),
            rtt: Span::from_millis(50),
            limited: false,
        };
        let results = Results {
            packets: 10,
            lost_packets: 5,
            ..Results::default()
        };
        rule.update(Time::from_secs(1), &results, &beside);
        assert_eq!(rule.limit(), Some(Rate::from_kbps(990)));
        // No second cut within 350 ms.
        rule.update(Time::from_millis(1_340), &results, &beside);
        assert_eq!(rule.limit(), Some(Rate::from_kbps(990)));
    }
}
