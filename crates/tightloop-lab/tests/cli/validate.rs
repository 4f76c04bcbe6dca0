//! The commands for flows of the real world: what they refuse, and what they do
//! where links can be emulated.

use crate::scratch::{Done, Scratch};

fn run(scratch: &Scratch, words: &[&str]) -> Done {
    scratch.run(words)
}

#[test]
fn what_makes_no_sense_is_refused_with_a_way_out() {
    let scratch = Scratch::new();
    for (words, reason) in [
        (&["validate", "--only=qubic"][..], "did you mean `cubic`?"),
        (
            &["validate", "spikes", "--only=reno"],
            "unknown peer `reno`",
        ),
        (
            &["validate", "spikes", "--ratios=1"],
            "the capacity must fall",
        ),
        (
            &["validate", "proxy", "--congestion=no_such_cc"],
            "modprobe tcp_no_such_cc",
        ),
        (
            &["validate", "proxy", "--delays=10ms"],
            "two flows are compared",
        ),
        (
            &["proxy", "--lambda=-1ms", "--", "true"],
            "lambda = -1 ms is negative",
        ),
    ] {
        let done = run(&scratch, words);
        assert_eq!(done.code, 2, "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(reason), "{words:?}: {}", done.stderr);
    }
}

#[test]
fn a_command_runs_behind_a_proxy_and_gives_its_status() {
    let scratch = Scratch::new();
    if run(&scratch, &["proxy", "--", "true"]).code != 0 {
        let done = run(&scratch, &["proxy", "--", "true"]);
        eprintln!("skipped: {}", done.stderr);
        return;
    }
    let told = "echo $TIGHTLOOP_BASE; exit 3";
    let done = run(&scratch, &["proxy", "--log=log", "--", "sh", "-c", told]);
    assert_eq!(done.code, 3, "{}", done.stderr);
    assert!(done.stdout.starts_with("100."), "{}", done.stdout);
    assert_eq!(scratch.read("log"), "");
}
