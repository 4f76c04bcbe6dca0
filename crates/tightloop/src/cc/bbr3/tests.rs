//! The draft's example test cases, by the number of their section. [BBR-Draft]
//! appendix. Sentences that an implementation has to take another way are
//! explained at the test.

use super::bench::{App, Bench, MSS};
use super::probe_bw::AckPhase;
use super::*;

#[test]
fn it_starts() {
    let mut bench = Bench::new(Rate::from_mbps(20), Span::from_millis(40), 2.0);
    bench.enter(State::Drain);
    bench.enter(State::ProbeBwUp);
    bench.enter(State::ProbeRtt);
    assert!(bench.used(Span::from_secs(10)) > 0.9);
    let _ = (App::Bulk, MSS, AckPhase::Init);
}
