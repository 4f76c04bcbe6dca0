//! What the command says to those who slip.

use std::fmt::Write;

use crate::scratch::{SHORT, Scratch};

/// Everything that can be wrong with a scenario, and the answers.
#[test]
fn a_mistake_in_a_scenario_is_shown_with_a_way_out() {
    let scratch = Scratch::new();
    let mut told = String::new();
    for (what, slip, right) in [
        ("no TOML", "delay = 20 ms", "delay = \"20 ms\""),
        ("an unknown key", "cc = \"sqp\"\nvidio = {}", "cc = \"sqp\""),
        ("an unknown table", "[lynk.bottleneck]", "[link.bottleneck]"),
        (
            "an unknown setting",
            "cc = { name = \"copa\", delt = 0.1 }",
            "cc = \"sqp\"",
        ),
        ("an unknown controller", "cc = \"coppa\"", "cc = \"sqp\""),
        (
            "an unknown queue",
            "kind = \"drop_tale\"",
            "kind = \"drop_tail\"",
        ),
        (
            "an unknown link",
            "back = [\"retrun\"]",
            "back = [\"return\"]",
        ),
        ("no unit", "duration = 2", "duration = \"2 s\""),
        ("a wrong unit", "rate = \"5 MB/s\"", "rate = \"5 Mbit/s\""),
        (
            "a value out of range",
            "cc = { name = \"copa\", delta = 0 }",
            "cc = \"sqp\"",
        ),
        ("a missing key", "", "cc = \"sqp\"\n"),
        (
            "two rates",
            "rate = \"5 Mbit/s\"\ntrace = \"a\"",
            "rate = \"5 Mbit/s\"",
        ),
        (
            "a missing trace",
            "trace = \"gone.trace\"",
            "rate = \"5 Mbit/s\"",
        ),
        (
            "an unknown metric",
            "[expect]\n\"flow.game.owd.p97\" = [\"0 s\", \"1 s\"]\n[[flow]]",
            "[[flow]]",
        ),
        (
            "a band the wrong way",
            "[expect]\n\"flow.game.loss\" = [\"1\", \"0\"]\n[[flow]]",
            "[[flow]]",
        ),
    ] {
        assert!(SHORT.contains(right), "{what}");
        scratch.write("slip.toml", &SHORT.replacen(right, slip, 1));
        let done = scratch.run(&["run", "slip.toml", "--out", "results"]);
        assert_eq!(
            (done.code, &*done.stdout),
            (2, ""),
            "{what}: {}",
            done.stderr
        );
        assert!(!scratch.path().join("results").exists(), "{what}");
        let _ = writeln!(told, "# {what}\n{}", done.stderr);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn a_mistake_on_the_command_line_is_shown_with_a_way_out() {
    let scratch = Scratch::new();
    let mut told = String::new();
    for words in [
        &["run", "shrt.toml"][..],
        &["run", "short.toml", "--set", "flow.0.cc"],
        &["run", "short.toml", "--set", "flow.3.cc=copa"],
        &["run", "short.toml", "--set", "flow.0.cc.delt=0.1"],
        &["run", "short.toml", "--set", "flow.0.start.late=1"],
        &["run", "short.toml", "--set", "link.bottleneck.rate=5"],
        &[
            "run",
            "short.toml",
            "--set",
            "link.bottleneck.queue.kind=codle",
        ],
        &["run", "short.toml", "--seed", "many"],
        &["report", "nowhere"],
        &["follow", "nowhere", "--frame", "1"],
        &["trace", "generate", "lte", "--set", "outage=1"],
        &["trace", "generate", "wifi", "--mean", "fast"],
        &["trace", "convert", "gone", "-", "--to", "csw"],
    ] {
        let done = scratch.run(words);
        assert_eq!(
            (done.code, &*done.stdout),
            (2, ""),
            "{words:?}: {}",
            done.stderr
        );
        let _ = writeln!(told, "$ tightloop {}\n{}", words.join(" "), done.stderr);
    }
    insta::assert_snapshot!(told);
}
