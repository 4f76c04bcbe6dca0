//! The command, as a person types it.

mod bound;
#[cfg(target_os = "linux")]
mod call;
mod compare;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
mod papers;
mod scratch;
mod sensitivity;
mod shipped;
#[cfg(target_os = "linux")]
mod validate;

use std::process::Stdio;
use std::thread;

use scratch::{SHORT, Scratch, workspace};
use serde_json::Value;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_run_leaves_all_that_it_was() {
    let scratch = Scratch::new();
    let printed = scratch.ok(&["run", "short.toml", "--out", "results"]);
    for word in [
        "short, 2 s, seed 1",
        "game",
        "sqp",
        "bottleneck",
        "results in results",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    let about = scratch.json("results/run.json");
    assert_eq!(about["complete"], true);
    assert_eq!(about["command"], "tightloop run short.toml");
    assert_eq!(about["links"], serde_json::json!(["bottleneck", "return"]));
    let summary = scratch.json("results/summary.json");
    let throughput = summary["metrics"]["flow.game.throughput"].as_f64();
    assert!(
        (1e6..5e6).contains(&throughput.expect("a number")),
        "{throughput:?}"
    );
    assert_eq!(summary["events"], about["events"]);
    assert!(scratch.path().join("results/events-00000.parquet").exists());
}

/// Every default is written out, and what is written out is the same run.
#[test]
fn the_resolved_scenario_is_the_same_run() {
    let scratch = Scratch::new();
    scratch.write("ramp.trace", "1\n2\n3\n5\n8\n13\n");
    let words = ["--set", "flow.0.cc=copa", "--seed", "7", "--json"];
    let trace = [
        "--set",
        "link.bottleneck={ trace = \"ramp.trace\", delay = \"20 ms\" }",
    ];
    let first = [
        &["run", "short.toml", "--out", "deep/down/first"],
        &words[..],
        &trace,
    ]
    .concat();
    let first = parse(&scratch.ok(&first));
    let resolved = scratch.read("deep/down/first/scenario.toml");
    for default in [
        "mtu = \"1.5 kB\"",
        "retransmit = true",
        "restart_at_turn = true",
        "share = 1.0",
        "seed = 7",
    ] {
        assert!(resolved.contains(default), "{default}: {resolved}");
    }
    let again = [
        "run",
        "deep/down/first/scenario.toml",
        "--out",
        "second",
        "--json",
    ];
    let again = parse(&scratch.ok(&again));
    for key in ["id", "digest", "packets", "metrics"] {
        assert_eq!(first[key], again[key], "{key}");
    }
}

#[test]
fn the_seed_decides_and_nothing_else_does() {
    let scratch = Scratch::new();
    let run = |words: &[&str]| {
        let all = [&["run", "short.toml", "--json", "--out"], words].concat();
        let mut summary = parse(&scratch.ok(&all));
        assert_eq!(summary["results"].take(), words[0]);
        summary
    };
    let (first, again) = (run(&["a"]), run(&["b"]));
    assert_eq!(first, again);
    let other = run(&["c", "--seed", "2"]);
    assert_ne!(first["digest"], other["digest"]);
    assert_ne!(first["id"], other["id"]);
    let silent = run(&["d", "--no-log"]);
    assert_eq!(silent["metrics"], first["metrics"]);
    assert_eq!(silent["digest"], Value::Null);
}

#[test]
fn the_exit_status_says_what_happened() {
    let scratch = Scratch::new();
    let expect = |low: &str, high: &str| {
        let band = format!("expect = {{ \"flow.game.throughput\" = [\"{low}\", \"{high}\"] }}\n");
        scratch.write("expecting.toml", &(band + SHORT));
        scratch.run(&["run", "expecting.toml", "--out", "results", "--force"])
    };
    let met = expect("1 Mbit/s", "5 Mbit/s");
    assert_eq!(met.code, 0, "{}", met.stderr);
    assert!(met.stdout.contains("ok"), "{}", met.stdout);
    let missed = expect("6 Mbit/s", "7 Mbit/s");
    assert_eq!(missed.code, 1, "{}", missed.stderr);
    assert!(missed.stdout.contains("FAILED"), "{}", missed.stdout);
    assert_eq!(scratch.json("results/summary.json")["passed"], false);
    for misuse in [
        &["run", "gone.toml"][..],
        &["run", "short.toml", "--sed", "3"],
        &["run"],
        &["report", "gone"],
        &["follow", "results"],
        &["trace", "short.toml"],
        &["list", "everything"],
    ] {
        let done = scratch.run(misuse);
        assert_eq!(done.code, 2, "{misuse:?}");
        assert!(
            done.stdout.is_empty() && !done.stderr.is_empty(),
            "{misuse:?}"
        );
    }
}

#[test]
fn results_of_another_run_are_kept() {
    let scratch = Scratch::new();
    scratch.ok(&["run", "short.toml", "--out", "results"]);
    scratch.ok(&["run", "short.toml", "--out", "results"]);
    let words = ["run", "short.toml", "--out", "results", "--seed", "2"];
    let refused = scratch.run(&words);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    scratch.ok(&[&words[..], &["--force"]].concat());
    assert_eq!(scratch.json("results/run.json")["seed"], 2);
}

#[test]
fn results_go_to_a_folder_of_their_own() {
    let scratch = Scratch::new();
    let printed = scratch.ok(&["run", "short.toml"]);
    let folder = printed.trim_end().rsplit(' ').next().expect("a folder");
    assert!(folder.starts_with("runs/short-"), "{folder}");
    assert!(scratch.path().join(folder).join("run.json").exists());
}

#[test]
fn nobody_has_to_listen() {
    let scratch = Scratch::new();
    let deaf = |words: &[&str]| {
        let mut child = scratch
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
        output.status.code().expect("no signal")
    };
    assert_eq!(deaf(&["list", "metrics"]), 0);
    assert_eq!(deaf(&["completions", "bash"]), 0);
    assert_eq!(deaf(&["run", "short.toml", "--out", "results"]), 0);
    assert_eq!(scratch.json("results/run.json")["complete"], true);
    assert_eq!(deaf(&["follow", "results", "--frame", "3"]), 0);
}

/// The run would take hours: it is killed once its first part is there.
#[test]
fn a_killed_run_leaves_what_it_had() {
    let scratch = Scratch::new();
    let words = [
        "run",
        "short.toml",
        "--set",
        "duration=24 h",
        "--out",
        "results",
    ];
    let mut child = scratch.command(&words).spawn().expect("the command starts");
    let part = scratch.path().join("results/events-00000.parquet");
    while !part.exists() {
        assert_eq!(
            child.try_wait().expect("a status"),
            None,
            "ended before its time"
        );
        thread::yield_now();
    }
    child.kill().expect("it runs");
    child.wait().expect("it is dead");
    assert_eq!(scratch.json("results/run.json")["complete"], false);
    let told = scratch.run(&["follow", "results", "--frame", "100"]);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(
        told.stderr.contains("did not come to its end"),
        "{}",
        told.stderr
    );
    assert!(told.stdout.contains("frame 100 shown"), "{}", told.stdout);
    scratch.ok(&["report", "results"]);
}

#[test]
fn a_report_is_one_file_that_needs_nothing_else() {
    let scratch = Scratch::new();
    for (folder, cc) in [("first", "sqp"), ("second", "copa")] {
        let cc = format!("flow.0.cc={cc}");
        scratch.ok(&["run", "short.toml", "--out", folder, "--set", &cc]);
    }
    let printed = scratch.ok(&["report", "first", "second", "--svg", "figure.svg"]);
    assert_eq!(printed, "first/report.html\nfigure.svg\n");
    let page = scratch.read("first/report.html");
    for way_out in ["http:", "https:", "src=", "@import", "<link"] {
        assert!(!page.contains(way_out), "{way_out}");
    }
    for wanted in [
        "tightloop run short.toml --set flow.0.cc=copa",
        "\"name\":\"second\"",
        "drop-tail packets 50",
        "Used ",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    let figure = scratch.read("figure.svg");
    assert!(figure.trim_start().starts_with("<svg") || figure.starts_with("<?xml"));
    // Without events there is nothing to draw.
    scratch.ok(&["run", "short.toml", "--out", "silent", "--no-log"]);
    let refused = scratch.run(&["report", "silent"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("without --no-log"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_frame_s_life_is_told_in_order() {
    let scratch = Scratch::new();
    scratch.ok(&["run", "short.toml", "--out", "results"]);
    let steps = parse(&scratch.ok(&["follow", "results", "--frame", "60", "--json"]));
    let steps = steps.as_array().expect("a list");
    let times: Vec<f64> = steps
        .iter()
        .map(|it| it["time_s"].as_f64().expect("a time"))
        .collect();
    assert!(times.is_sorted(), "{times:?}");
    let places = [
        "captured", "encoded", "sent", "queued", "left", "arrived", "complete", "shown",
    ]
    .map(|what| {
        let of = |step: &Value| step["what"].as_str().expect("a text").contains(what);
        steps
            .iter()
            .position(of)
            .unwrap_or_else(|| panic!("never {what}: {steps:?}"))
    });
    assert!(places.is_sorted(), "{places:?}");
    let told = scratch.ok(&["follow", "results", "--packet", "5", "--flow", "game"]);
    assert!(
        told.contains("packet 5") && told.contains("acknowledged"),
        "{told}"
    );
    assert!(!told.contains("packet 6"), "{told}");
    for (words, says) in [
        (["--frame", "5000"], "it has frames 0 to"),
        (["--packet", "500000"], "it sent 0 to"),
    ] {
        let done = scratch.run(&[&["follow", "results"], &words[..]].concat());
        assert_eq!(done.code, 2);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}

#[test]
fn lists_name_everything_with_its_source() {
    let scratch = Scratch::new();
    let lists = parse(&scratch.ok(&["list", "--json"]));
    for (list, name) in [
        ("controllers", "copa"),
        ("queues", "codel"),
        ("rate-controls", "follow"),
        ("encoders", "ideal"),
        ("schedulers", "min_rtt"),
        ("metrics", "flow.{flow}.owd.{stat}"),
        ("columns", "time_ns"),
    ] {
        let entries = lists[list].as_array().expect(list);
        assert!(
            entries.iter().any(|entry| entry["name"] == name),
            "{list}: {name}"
        );
        for entry in entries {
            assert!(
                entry["summary"].as_str().is_some_and(|it| !it.is_empty()),
                "{entry}"
            );
        }
    }
    let printed = scratch.ok(&["list", "controllers"]);
    assert!(printed.contains("[Copa]"), "{printed}");
    // Scenarios are those of the folder one is in.
    assert_eq!(lists["scenarios"], serde_json::json!([]));
    let there = scratch
        .command(&["list", "scenarios"])
        .current_dir(workspace())
        .output();
    let there = String::from_utf8(there.expect("it runs").stdout).expect("text");
    assert!(there.contains("scenarios/hello.toml"), "{there}");
}

#[test]
fn every_shell_gets_its_completions() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = scratch.ok(&["completions", shell]);
        assert!(script.contains("no-log"), "{shell}");
    }
}
