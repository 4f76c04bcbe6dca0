//! `tightloop sensitivity`, as a person types it.

use std::fs;

use serde_json::Value;

use crate::scratch::{Scratch, workspace};

const TWO: &str = r#"
name = "two"
duration = "4 s"
measure = { from = "2 s" }

[link.bottleneck]
rate = "4 Mbit/s"
queue = { kind = "drop_tail", packets = 20 }

[link.return]

[[flow]]
name = "first"
cc = "cubic"
traffic = { bulk = {} }
path = { links = ["bottleneck"], back = ["return"] }

[[flow]]
name = "second"
cc = "reno"
traffic = { bulk = {} }
path = { links = ["bottleneck"], back = ["return"] }
"#;

fn study(words: &[&str]) -> Vec<String> {
    let all = ["sensitivity", "two.toml", "--out", "study"];
    let words = all.iter().chain(words);
    words.map(|word| (*word).to_owned()).collect()
}

fn run(scratch: &Scratch, words: &[&str]) -> Value {
    let words = study(&[words, &["--json"]].concat());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    serde_json::from_str(&scratch.ok(&words)).expect("JSON")
}

/// How many instances are kept, and one of their files.
fn kept(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let folder = scratch.path().join("study/instances");
    let inside = |folder: std::path::PathBuf| {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").path())
    };
    inside(folder).flat_map(inside).collect()
}

#[test]
fn a_study_is_told_kept_and_gone_on_with() {
    let scratch = Scratch::new();
    scratch.write("two.toml", TWO);
    let words = study(&["--delays", "grid:10,40", "symmetric:20,30"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = scratch.run(&words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    for word in [
        "grid:10,40: all 4 instances",
        "symmetric:20,30: all 2 instances",
        "cubic",
        "lower bound",
        "open study/report.html",
    ] {
        assert!(done.stdout.contains(word), "{word}: {}", done.stdout);
    }
    // Without a terminal no progress is drawn.
    assert_eq!(done.stderr, "");
    let results = scratch.json("study/sensitivity.json");
    let page = scratch.read("study/report.html");
    assert_eq!(
        page.matches("<svg").count(),
        2,
        "a map for each flow of the grid"
    );
    assert!(!page.contains("http:") && !page.contains("NaN"));

    // An instance that was not finished is run again, and only it: the others'
    // files are believed.
    let files = kept(&scratch);
    assert_eq!(files.len(), 6);
    fs::remove_file(&files[0]).expect("removed");
    fs::write(&files[1], "{\"rtts\":[\"1").expect("torn");
    assert_eq!(
        run(&scratch, &["--delays", "grid:10,40", "symmetric:20,30"]),
        results
    );
    assert_eq!(kept(&scratch).len(), 6);
    let text = fs::read_to_string(&files[2]).expect("kept");
    let other = text.replacen("\"rates\":[\"", "\"rates\":[\"9", 1);
    fs::write(&files[2], other).expect("changed");
    assert_ne!(
        run(&scratch, &["--delays", "grid:10,40", "symmetric:20,30"]),
        results
    );
    let again = ["--again", "--delays", "grid:10,40", "symmetric:20,30"];
    assert_eq!(run(&scratch, &again), results);
    // Another scenario's instances are others.
    run(&scratch, &["--seed", "2", "--delays", "symmetric:20,30"]);
    assert_eq!(kept(&scratch).len(), 8);
}

#[test]
fn a_large_grid_is_searched_and_says_so() {
    let scratch = Scratch::new();
    scratch.write("two.toml", TWO);
    let results = run(&scratch, &["--most", "12", "--delays", "grid:10..80/10"]);
    let set = &results["sets"][0];
    let run = set["instances"].as_array().expect("a list").len();
    assert_eq!(set["size"], 64);
    assert!((4..=12).contains(&run), "{run}");
    let delta = set["flows"][0]["delta"].as_f64().expect("a number");
    assert!((0.1..5.0).contains(&delta), "{delta}");
}

#[test]
fn what_cannot_be_studied_is_refused() {
    let scratch = Scratch::new();
    scratch.write("two.toml", TWO);
    for (words, reason) in [
        (&["--delays", "cube:1"][..], "write grid:10,20,30"),
        (&["--delays", "list:1,2,3"], "3 values for 2 flows"),
        (
            &["--delays", "grid:10", "--fix", "third=5"],
            "there are first, second",
        ),
        (
            &[
                "--delays",
                "grid:10",
                "--set",
                "link.return.delay=\"20 ms\"",
            ],
            "the links alone take 20 ms",
        ),
        (
            &[
                "--delays",
                "grid:10",
                "--set",
                "flow.0.proxy={ tick = \"0 s\" }",
            ],
            "asks without end",
        ),
    ] {
        let words = study(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let complaint = scratch.refused(&words);
        assert!(complaint.contains(reason), "{words:?}: {complaint}");
    }
}

/// The shipped studies are scenarios that can be run.
#[test]
fn shipped_studies_begin() {
    let scratch = Scratch::new();
    let folder = workspace().join("scenarios/sensitivity");
    let mut studies = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path().display().to_string();
        let short = ["--set", "duration=\"2 s\"", "--set", "measure={}"];
        let one = ["--delays", "symmetric:20", "--out", "study", "--json"];
        scratch.ok(&[&["sensitivity", &path], &short[..], &one].concat());
        studies += 1;
    }
    assert_eq!(studies, 5);
}
