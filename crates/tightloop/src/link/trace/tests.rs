//! Mahimahi's format: what is read, refused and counted.

use proptest::prelude::*;

use super::*;

#[test]
fn a_good_trace_is_read_with_or_without_a_last_newline() {
    let stamps = [0, 5, 5, 17].map(Time::from_millis);
    for text in ["0\n5\n5\n17\n", "0\n5\n5\n17"] {
        let trace = Trace::parse(text).expect("a trace");
        assert_eq!(trace.stamps(), stamps);
        assert_eq!(trace.period(), Span::from_millis(17));
        assert_eq!(trace.write(), "0\n5\n5\n17\n");
    }
}

#[test]
fn wrong_traces_are_refused_with_the_number_of_the_line() {
    let line = 3;
    for (text, error) in [
        ("", TraceError::Empty),
        ("\n", TraceError::Blank { line: 1 }),
        ("1\n2\n\n4\n", TraceError::Blank { line }),
        ("1\n2\n3\n\n", TraceError::Blank { line: 4 }),
        ("0\n0\n0\n", TraceError::NoPeriod { line }),
        (
            "1\n9\n8\n",
            TraceError::Decreasing {
                line,
                stamp: Time::from_millis(8),
            },
        ),
        ("1\n2\n99999999999\n", TraceError::Late { line }),
        ("1\n2\n99999999999999999999999\n", TraceError::Late { line }),
    ] {
        assert_eq!(Trace::parse(text), Err(error), "{text:?}");
    }
    for wrong in ["x", "-1", "+1", "1.5", " 1", "1 ", "1\r", "0x1", "1,2"] {
        let error = Trace::parse(&format!("1\n2\n{wrong}\n3\n")).expect_err(wrong);
        let message = error.to_string();
        assert!(message.contains("line 3: `"), "{message}");
    }
}

#[test]
fn statistics_are_those_computed_by_hand() {
    // Second 1: 4 packets; second 2: none; second 3: 2; then half a second: 1.
    let trace = Trace::parse("0\n100\n100\n1000\n2500\n3000\n3500\n").expect("a trace");
    let per_second = |packets: u64| Rate::from_kbps(12 * packets);
    let rates: Vec<Rate> = trace
        .rates(WINDOW)
        .into_iter()
        .map(|(_, rate)| rate)
        .collect();
    assert_eq!(rates, [4, 0, 2, 2].map(per_second));
    assert_eq!(
        trace.statistics(),
        Statistics {
            opportunities: 7,
            period: Span::from_millis(3500),
            mean: per_second(2),
            p5: Rate::ZERO,
            p95: per_second(4),
            outage: Span::from_millis(1500),
        }
    );
}

#[test]
fn an_outage_may_lie_across_the_end() {
    let trace = Trace::parse("700\n800\n").expect("a trace");
    assert_eq!(trace.statistics().outage, Span::from_millis(700));
    assert_eq!(trace.statistics().p5, trace.mean());
}

proptest! {
    #[test]
    fn a_written_trace_reads_back_the_same(gaps in prop::collection::vec(0u64..50, 1..200), last in 1u64..50) {
        let mut at = 0;
        let mut stamps: Vec<Time> = gaps.iter().map(|gap| { at += gap; Time::from_millis(at) }).collect();
        stamps.push(Time::from_millis(at + last));
        let trace = Trace::new(stamps).expect("sorted");
        prop_assert_eq!(Trace::parse(&trace.write()), Ok(trace));
    }

    #[test]
    fn any_text_gives_a_trace_or_an_error(text: String, digits in "[0-9\n]{0,40}") {
        let _ = Trace::parse(&text);
        if let Ok(trace) = Trace::parse(&digits) {
            let _ = trace.statistics();
            prop_assert_eq!(Trace::parse(&trace.write()), Ok(trace));
        }
    }

    #[test]
    fn counting_by_search_equals_counting_one_by_one(
        gaps in prop::collection::vec(0u64..30, 1..20),
        until in 0u64..2_000,
    ) {
        let mut at = 1;
        let stamps: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        let trace = Trace::new(stamps.iter().copied().map(Time::from_millis).collect()).expect("sorted");
        let period = at;
        let one_by_one = (0..).flat_map(|round| stamps.iter().map(move |s| round * period + s))
            .take_while(|stamp| *stamp <= until)
            .count();
        prop_assert_eq!(trace.opportunities(Time::from_millis(until)), count(one_by_one));
    }
}
