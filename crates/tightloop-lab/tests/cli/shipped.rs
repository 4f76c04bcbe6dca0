//! What the project ships is what it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::scratch::{Scratch, workspace};

fn files(folder: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(folder)).expect(folder);
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == extension))
        .map(|path| path.display().to_string())
        .collect()
}

#[test]
fn every_scenario_meets_its_expectations() {
    let scratch = Scratch::new();
    let scenarios = files("scenarios", "toml");
    assert!(scenarios.len() >= 7, "{scenarios:?}");
    for scenario in &scenarios {
        let words = ["run", scenario, "--no-log", "--json"];
        let done = scratch.run(&words);
        assert_eq!(done.code, 0, "{scenario}: {}{}", done.stdout, done.stderr);
        let summary: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
        let expected = summary["expected"].as_array().expect("a list");
        assert!(expected.len() >= 2, "{scenario} expects nothing");
    }
}

/// The commands in traces/README.md make the files beside it.
#[test]
fn shipped_traces_are_made_by_the_commands_that_are_told() {
    let scratch = Scratch::new();
    let readme = fs::read_to_string(workspace().join("traces/README.md")).expect("a text");
    let mut made = BTreeSet::new();
    for line in readme.lines() {
        let Some(command) = line.strip_prefix("tightloop ") else {
            continue;
        };
        // A rate in quotes is one word.
        let words: Vec<String> = command
            .split('\'')
            .enumerate()
            .flat_map(|(place, piece)| match place % 2 {
                0 => piece.split_whitespace().map(str::to_owned).collect(),
                _ => vec![piece.to_owned()],
            })
            .collect();
        let file = words.last().expect("a file").clone();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.pop();
        words.push("made.trace");
        scratch.ok(&words);
        let shipped = fs::read_to_string(workspace().join(&file)).expect(&file);
        assert!(scratch.read("made.trace") == shipped, "{file}: {command}");
        assert!(shipped.len() < 400_000, "{file} is large");
        made.insert(workspace().join(&file).display().to_string());
    }
    assert_eq!(made, files("traces", "trace"));
}

#[test]
fn traces_are_explained_converted_and_read_back() {
    let scratch = Scratch::new();
    let generate = [
        "trace",
        "generate",
        "lte",
        "--mean",
        "8 Mbit/s",
        "--seconds",
        "20",
    ];
    scratch.ok(&[&generate[..], &["-o", "a.trace"]].concat());
    assert_eq!(scratch.ok(&generate), scratch.read("a.trace"));
    let explained = |name: &str| -> serde_json::Value {
        let text = scratch.ok(&["trace", name, "--json"]);
        let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        all[0].clone()
    };
    let original = explained("a.trace");
    assert_eq!(original["period_s"], 20.0);
    let mean = original["mean_bps"].as_f64().expect("a rate");
    assert!((7.9e6..8.1e6).contains(&mean), "{mean}");
    for format in ["csv", "pensieve", "alphartc", "netem"] {
        let name = format!("a.{format}");
        scratch.ok(&["trace", "convert", "a.trace", &name, "--to", format]);
        let converted = explained(&name);
        assert_eq!(converted["format"], format);
        let other = converted["mean_bps"].as_f64().expect("a rate");
        assert!(
            (other / mean - 1.0).abs() < 0.01,
            "{format}: {other} for {mean}"
        );
        scratch.ok(&["trace", "convert", &name, "b.trace"]);
        assert_eq!(explained("b.trace")["period_s"], 20.0, "{format}");
        // A scenario's link takes any of them.
        let link = format!("link.bottleneck={{ trace = \"{name}\" }}");
        scratch.ok(&["run", "short.toml", "--no-log", "--set", &link]);
    }
    scratch.ok(&["trace", "convert", "a.trace", "same.trace"]);
    assert_eq!(scratch.read("same.trace"), scratch.read("a.trace"));
    let printed = scratch.ok(&["trace", "a.trace", "a.csv"]);
    for word in ["8 Mbit/s", "longest outage", "20 s", "▃", "csv"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

#[test]
fn a_bad_trace_is_refused_with_its_line() {
    let scratch = Scratch::new();
    for (text, says) in [
        ("1\n5\n4\n9\n", "line 3"),
        ("0\n0\n0\n", "line 3"),
        ("1\n2\nx\n", "line 3"),
        ("1\n\n2\n", "line 2"),
        ("", "empty"),
        ("end_ms,kbps\n100,5\n90,6\n", "interval 2"),
    ] {
        scratch.write("bad.trace", text);
        let explained = scratch.run(&["trace", "bad.trace"]);
        let link = "link.bottleneck={ trace = \"bad.trace\" }";
        let used = scratch.run(&["run", "short.toml", "--set", link]);
        for done in [explained, used] {
            assert_eq!(done.code, 2, "{text:?}");
            assert!(done.stderr.contains(says), "{text:?}: {}", done.stderr);
        }
    }
}

#[test]
fn compressed_traces_are_read() {
    let scratch = Scratch::new();
    let trace = workspace().join("traces/wifi-like.trace");
    fs::copy(trace, scratch.path().join("a.trace")).expect("copied");
    let status = std::process::Command::new("gzip")
        .args(["-k", "a.trace"])
        .current_dir(scratch.path())
        .status();
    assert!(status.expect("gzip is there").success());
    let explain = |name: &str| scratch.ok(&["trace", name]).replace(name, "");
    assert_eq!(explain("a.trace.gz"), explain("a.trace"));
}

/// Recordings that some machines have beside the project.
#[test]
fn recorded_traces_are_explained() {
    let folder = workspace().join("../shared/data");
    if !folder.is_dir() {
        eprintln!("skipped: there are no recordings in {}", folder.display());
        return;
    }
    let scratch = Scratch::new();
    let mut explained = 0;
    for part in [
        "mahimahi",
        "opportunities",
        "rates/zhuge",
        "rates/norway-3g",
    ] {
        let mut words = vec!["trace".to_owned(), "--json".to_owned()];
        for entry in fs::read_dir(folder.join(part)).expect(part) {
            let path = entry.expect("an entry").path();
            if !path.display().to_string().ends_with(".txt") {
                words.push(path.display().to_string());
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let all: serde_json::Value = serde_json::from_str(&scratch.ok(&words)).expect("JSON");
        for one in all.as_array().expect("a list") {
            let mean = one["mean_bps"].as_f64().expect("a rate");
            assert!((1e5..5e8).contains(&mean), "{one}");
            explained += 1;
        }
    }
    assert!(explained > 40, "{explained}");
    let name = Path::new("mahimahi/ATT-LTE-driving.down.gz");
    let text = scratch.ok(&["trace", &folder.join(name).display().to_string()]);
    assert!(text.contains("5.173 Mbit/s"), "{text}");
}
