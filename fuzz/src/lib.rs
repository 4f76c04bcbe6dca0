//! What is fuzzed, as plain functions of bytes. Each panics where a promise is
//! broken and returns otherwise.
//!
//! The fuzz targets call these; so does `crates/tightloop/tests/corpus.rs`,
//! with every file of `fuzz/corpus/`.

use tightloop::link::formats::Format;
use tightloop::link::series::Series;
use tightloop::link::trace::{FULL_PACKET, Trace};
use tightloop::scenario::Scenario;
use tightloop::units::{Span, Time};

mod call;
mod path;

pub use call::wire;
pub use path::controller;

/// Statistics hold every second of a period: of longer ones they are not asked.
const LONG: Span = Span::from_secs(36_000);

/// More opportunities than this are not asked for.
const MANY: f64 = 1e5;

/// A trace file, of any format, is read or refused; one that was read is
/// written and read again as the same, and can be asked anything.
pub fn trace(bytes: &[u8]) {
    if let Ok(trace) = Trace::parse_bytes(bytes) {
        opportunities(&trace);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = Format::guess(text);
    for format in Format::ALL {
        // Mahimahi's is read above, without bins.
        if *format != Format::Mahimahi
            && let Ok(series) = format.read(text)
        {
            rates(*format, &series);
        }
    }
}

fn opportunities(trace: &Trace) {
    let again = Trace::parse(&trace.write()).expect("what was written can be read");
    assert_eq!(again, *trace, "writing and reading changed it");
    let first = Time::ZERO + trace.period();
    let second = first + trace.period();
    assert_eq!(
        trace.opportunities(second) - trace.opportunities(first),
        u64::try_from(trace.stamps().len()).expect("a length"),
        "a period has other opportunities than the trace"
    );
    assert_eq!(trace.rate_between(first, second), trace.mean());
    if trace.period() < LONG {
        let statistics = trace.statistics();
        assert!(statistics.p5 <= statistics.p95);
        assert!(statistics.outage <= trace.period());
    }
}

fn rates(read: Format, series: &Series) {
    assert_eq!(series.steps().len(), series.intervals().len());
    for format in Format::ALL {
        let packets = series.mean().over(series.length()).ratio(FULL_PACKET);
        if *format == Format::Mahimahi {
            if packets < MANY
                && let Ok(trace) = series.opportunities()
            {
                opportunities(&trace);
            }
        } else if let Ok(text) = format.write(series) {
            assert_eq!(
                format.read(&text).as_ref(),
                Ok(series),
                "{} was read, {} changed it: {text}",
                read.name(),
                format.name()
            );
        }
    }
}

/// A scenario file is read and built, or refused; one that was read is written
/// and read again as the same scenario.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(scenario) = toml::from_str::<Scenario>(text) else {
        return;
    };
    if let Ok(built) = scenario.build(&|_| None) {
        assert_eq!(built.flows.len(), scenario.flow.len());
    }
    let written = toml::to_string(&scenario).expect("a scenario can be written");
    let again: Scenario = toml::from_str(&written)
        .unwrap_or_else(|error| panic!("what was written cannot be read: {error}\n{written}"));
    // As text: a number that is not a number equals nothing, not even itself.
    assert_eq!(toml::to_string(&again).as_ref(), Ok(&written), "it changed");
}
