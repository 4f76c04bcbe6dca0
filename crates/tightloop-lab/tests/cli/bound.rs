//! What a drop must cost, as a person asks it.

use crate::parse;
use crate::scratch::Scratch;

#[test]
fn a_drop_is_told_and_drawn() {
    let scratch = Scratch::new();
    let drop = [
        "bound",
        "--from",
        "60M",
        "--to",
        "20 Mbit/s",
        "--rtt",
        "50ms",
    ];
    let told = scratch.ok(&[&drop[..], &["--out", "page.html"]].concat());
    for word in [
        "r = 3",
        "100 ms",
        "use less",
        "drops at the head",
        "page.html",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let page = scratch.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg xmlns="));
    let json = [
        &drop[..],
        &["--json", "--utilisation", "0.5", "--buffer", "20ms"],
    ]
    .concat();
    let json = parse(&scratch.ok(&json));
    assert_eq!(json["r_eff"], 1.5);
    assert_eq!(
        (&json["spike_s"], &json["wait_s"]),
        (&0.025.into(), &0.02.into())
    );
}

#[test]
fn each_drop_of_a_trace_is_told() {
    let scratch = Scratch::new();
    // 12 Mbit/s, from the third second on a quarter of it.
    let stamps = (1..6_000u64).filter(|ms| *ms < 2_000 || ms.is_multiple_of(4));
    let text: String = stamps.map(|ms| format!("{ms}\n")).collect();
    scratch.write("drop.trace", &text);
    let words = ["bound", "--trace", "drop.trace", "--rtt", "40ms"];
    let told = scratch.ok(&[&words[..], &["--out", "trace.svg"]].concat());
    assert!(told.contains("the worst of 1 drops"), "{told}");
    assert!(scratch.read("trace.svg").starts_with("<svg xmlns="));
    let json = parse(&scratch.ok(&[&words[..], &["--json"]].concat()));
    let worst = json["worst_s"].as_f64().expect("a number");
    assert!(
        (0.114..0.126).contains(&worst),
        "(4 − 1) 40 ms, not {worst}"
    );
}

#[test]
fn what_has_no_bound_is_refused() {
    let scratch = Scratch::new();
    let refused = |words: &[&str]| scratch.refused(&[&["bound"], words].concat());
    assert!(refused(&["--from", "60M", "--to", "0M"]).contains("outage"));
    assert!(refused(&["--from", "60M"]).contains("--to"));
    assert!(refused(&["--from", "60", "--to", "20M"]).contains("unit"));
    let none = ["--from", "60M", "--to", "20M", "--utilisation", "0"];
    assert!(refused(&none).contains("0.9 uses nine tenths"));
}
