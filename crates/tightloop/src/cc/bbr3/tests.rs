//! The draft's example test cases. [BBR-Draft] appendix. Where an implementation
//! has to read one another way, the test says so.

use super::bench::{App, Bench, MSS};
use super::*;

mod losses;
mod probes;
mod startup;

/// 20 Mbit/s and 40 ms: 66.7 packets.
fn plain() -> Bench {
    Bench::new(Rate::from_mbps(20), Span::from_millis(40), 3.0)
}

/// Rates and round trips: BDPs of 0.05 to 67 packets.
fn links() -> impl Iterator<Item = Bench> {
    [
        (Rate::from_kbps(64), 1_000_000),
        (Rate::from_kbps(64), 10_000),
        (Rate::from_mbps(1), 200_000),
        (Rate::from_mbps(20), 40_000),
        (Rate::from_mbps(100), 900),
    ]
    .into_iter()
    .map(|(rate, micros)| Bench::new(rate, Span::from_micros(micros), 3.0))
}

#[track_caller]
fn between(what: &str, value: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&value),
        "{what} is {value:.4}, not within {low:.4} and {high:.4}"
    );
}

impl Bench {
    fn state(&self) -> State {
        self.cc.state
    }

    /// max_bw over the link's rate.
    fn max_bw(&self) -> f64 {
        self.cc.model.max_bw.ratio(self.rate)
    }

    fn longterm(&self) -> Option<Bytes> {
        self.cc.model.inflight_longterm
    }

    fn in_flight(&self) -> Bytes {
        self.ledger.in_flight()
    }

    fn bdp(&self) -> Bytes {
        self.rate.over(self.rtt)
    }

    /// As if there had just been a ProbeRTT: the next is five seconds away.
    fn delay_probe_rtt(&mut self) {
        self.cc.rtt.probe_rtt_min_stamp = self.now;
    }

    #[track_caller]
    fn paces(&self, gain: f64) {
        // bw may have changed by this feedback's own sample, not more.
        let share = self.cc.pacing_rate.ratio(self.cc.model.bw);
        between("pacing over bw", share, 0.985 * gain, 0.995 * gain);
    }
}
