//! Formats: what is read, what is written, and that the two agree.

use proptest::prelude::*;

use super::*;
use crate::link::alphartc::Condition;

fn series(intervals: &[(u64, u64)]) -> Series {
    let intervals = intervals
        .iter()
        .map(|&(ms, kbps)| (Time::from_millis(ms), Rate::from_kbps(kbps)))
        .collect();
    Series::new(intervals).expect("good intervals")
}

#[test]
fn every_format_reads_what_people_have() {
    let expected = series(&[(500, 2_000), (1_500, 0), (2_000, 12_500)]);
    let alphartc = r#"[
        {"duration": 500, "capacity": 2000, "loss": 0, "rtt": 89, "jitter": 0},
        {"duration": 1000, "capacity": 0, "loss": 0.2, "rtt": 90, "jitter": 3, "time": 0.0},
        {"duration": 500.0, "capacity": 12500}]"#;
    let plain = r#"{"RepeatedBwPatternConfig": {"count": 0, "pattern": [
        {"StaticBwConfig": {"bw": {"gbps": 0, "bps": 2000000}, "duration": {"secs": 0, "nanos": 500000000}}},
        {"StaticBwConfig": {"bw": "0bps"}},
        {"TraceBwConfig": [[500, [12.5]]]}]}}"#;
    for (format, text) in [
        (
            Format::Csv,
            "end_ms,kbps\n500,2000\n1500,0\n2000,12500.0\n".to_owned(),
        ),
        (
            Format::Pensieve,
            "0 1.5\n0.5\t2\n1.5 0.0\n2.0  12.5\n".to_owned(),
        ),
        (
            Format::Pensieve,
            "10 9\n10.5 2\n11.5 0\n12 12.5\n".to_owned(),
        ),
        (Format::AlphaRtc, alphartc.to_owned()),
        (
            Format::AlphaRtc,
            format!(r#"{{"uplink": {{"trace_pattern": {alphartc}}}}}"#),
        ),
        (Format::Netem, plain.to_owned()),
    ] {
        assert_eq!(format.read(&text).as_ref(), Ok(&expected), "{format:?}");
        assert_eq!(Format::guess(&text), format, "{text}");
    }
    assert_eq!(Format::guess("0\n5\n"), Format::Mahimahi);
}

#[test]
fn a_repeated_pattern_is_repeated() {
    let text = r#"{"RepeatedBwPatternConfig": {"count": 2, "pattern": [
        {"StaticBwConfig": {"bw": "1Gbps 500Mbps", "duration": "1s 500ms"}},
        {"StaticBwConfig": {}}]}}"#;
    let expected = series(&[
        (1_500, 1_500_000),
        (2_500, 12_000),
        (4_000, 1_500_000),
        (5_000, 12_000),
    ]);
    assert_eq!(Format::Netem.read(text), Ok(expected));
}

#[test]
fn mahimahi_opportunities_become_rates_per_second() {
    let series = Format::Mahimahi
        .read("500\n1000\n2000\n2500\n")
        .expect("a trace");
    assert_eq!(
        series,
        self::series(&[(1_000, 24), (2_000, 12), (2_500, 24)])
    );
}

#[test]
fn alphartc_conditions_are_read_whole() {
    let text = r#"[{"duration": 2896, "capacity": 179, "loss": 0.2, "rtt": 89, "jitter": 4}]"#;
    let condition = Condition {
        duration: Span::from_millis(2896),
        capacity: Rate::from_kbps(179),
        loss: 0.2,
        rtt: Span::from_millis(89),
        jitter: Span::from_millis(4),
    };
    assert_eq!(alphartc::read(text), Ok(vec![condition]));
}

#[test]
fn wrong_files_are_refused_with_the_place_and_a_reason() {
    for (format, text, reason) in [
        (Format::Csv, "", "line 1: the first line must be"),
        (Format::Csv, "end_ms,kbps\n", "no interval"),
        (Format::Csv, "end_ms,kbps\n100,5\n100,5\n", "interval 2"),
        (
            Format::Csv,
            "end_ms,kbps\n100,0\n200,0\n",
            "every rate is zero",
        ),
        (
            Format::Csv,
            "end_ms,kbps\n100\n",
            "line 2: needs exactly two",
        ),
        (
            Format::Csv,
            "end_ms,kbps\n100,x\n",
            "line 2: `x` is not a number",
        ),
        (Format::Csv, "end_ms,kbps\n100,-5\n", "line 2: `-5` is not"),
        (Format::Csv, "end_ms,kbps\n1e99,5\n", "is its unit right"),
        (Format::Pensieve, "", "empty"),
        (
            Format::Pensieve,
            "0 1\n1 1\n1 2\n",
            "line 3: 1 s is not after",
        ),
        (
            Format::Pensieve,
            "0 1\n1 1 1\n",
            "line 2: needs exactly two",
        ),
        (Format::AlphaRtc, "[{\n\"duration\": }]", "line 2: "),
        (Format::AlphaRtc, "{}", "uplink.trace_pattern"),
        (
            Format::AlphaRtc,
            "[{\"duration\": 5}]",
            "entry 1: missing field `capacity`",
        ),
        (
            Format::AlphaRtc,
            "[{\"duration\": 5, \"capacity\": -1}]",
            "capacity = -1 is out",
        ),
        (
            Format::AlphaRtc,
            "[{\"duration\": 5, \"capacity\": 1, \"loss\": 20}]",
            "loss = 20 is out",
        ),
        (Format::Netem, "[]", "one key"),
        (Format::Netem, "{\"SawtoothBwConfig\": {}}", "no recording"),
        (
            Format::Netem,
            "{\"StaticBwConfig\": {\"bw\": \"fast\"}}",
            "12Mbps",
        ),
        (
            Format::Netem,
            "{\"StaticBwConfig\": {\"duration\": 3}}",
            "1s 500ms",
        ),
        (
            Format::Netem,
            "{\"RepeatedBwPatternConfig\": {\"count\": 99999999999, \"pattern\": [{\"StaticBwConfig\": {}}]}}",
            "too long",
        ),
        (Format::Mahimahi, "0\nx\n", "line 2"),
    ] {
        let error = format.read(text).expect_err(text).to_string();
        assert!(error.contains(reason), "{text:?}: {error}");
    }
}

#[test]
fn formats_are_found_by_their_names() {
    for format in Format::ALL {
        assert_eq!(Format::named(format.name()), Some(*format));
    }
    assert_eq!(Format::named("pcap"), None);
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(
        intervals in prop::collection::vec((1i64..10_000_000_000, 0u64..10_000_000_000), 1..50),
    ) {
        prop_assume!(intervals.iter().any(|(_, bps)| *bps > 0));
        let mut at = Time::ZERO;
        let intervals = intervals.into_iter().map(|(nanos, bps)| {
            at += Span::from_nanos(nanos);
            (at, Rate::from_bps(bps))
        });
        let series = Series::new(intervals.collect()).expect("good intervals");
        for format in [Format::Csv, Format::Pensieve, Format::AlphaRtc, Format::Netem] {
            let text = format.write(&series).expect("any series");
            let back = format.read(&text);
            prop_assert_eq!(back.as_ref(), Ok(&series), "{}", text);
            prop_assert_eq!(Format::guess(&text), format);
        }
    }

    #[test]
    fn any_text_gives_a_series_or_an_error(text: String, digits in "[0-9.,e \n]{0,60}") {
        for format in Format::ALL {
            let _ = format.read(&text);
            let _ = format.read(&digits);
            let _ = format.read(&format!("{HEADER}\n{digits}"));
        }
    }
}
