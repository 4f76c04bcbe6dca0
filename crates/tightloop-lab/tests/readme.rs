//! The README is true: its commands run, and its table lists every controller.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use tightloop::cc::ALGORITHMS;

/// What the README calls the command.
const COMMAND: &str = "target/release/tightloop ";

#[test]
fn every_command_of_the_readme_runs() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).expect("a scratch folder");
    for folder in ["scenarios", "traces"] {
        symlink(workspace().join(folder), scratch.join(folder)).expect("a link");
    }
    let demo: Vec<String> = text("Makefile")
        .lines()
        .filter_map(|line| line.strip_prefix("\t$(TIGHTLOOP) ").map(str::to_owned))
        .collect();
    assert_eq!(demo.len(), 1, "the demo's recipe: {demo:?}");
    let mut ran = 0;
    for (line, command) in commands(&text("README.md")) {
        let place = format!("README.md:{line}: {command}");
        match command.as_str() {
            "make demo" => demo
                .iter()
                .for_each(|command| run(&scratch, command, &place)),
            "make test" => {}
            other => match other.strip_prefix(COMMAND) {
                Some(arguments) => run(&scratch, arguments, &place),
                None => panic!("{place}: not a command this test knows how to run"),
            },
        }
        ran += 1;
    }
    assert!(ran > 3, "only {ran} commands in the README");
    let report = scratch.join("runs/compare/report.html");
    let report = fs::metadata(report).expect("the demo's report");
    assert!(report.len() > 1000, "a report of {} bytes", report.len());
}

#[test]
fn the_table_lists_the_controllers_in_their_order() {
    let readme = text("README.md");
    let listed: Vec<&str> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| controller |"))
        .skip(2)
        .map_while(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let names: Vec<&str> = ALGORITHMS.iter().map(|algorithm| algorithm.name).collect();
    assert_eq!(listed, names, "left: README.md; right: cc::ALGORITHMS");
}

/// The commands between the fences marked `sh`, without comments, by line.
fn commands(readme: &str) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    let mut inside = false;
    for (index, line) in readme.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            let command = line.split(" #").next().unwrap_or_default().trim();
            commands.push((index + 1, command.to_owned()));
        }
    }
    commands
}

/// Runs the command with these arguments, as a shell reads them, in a folder; it
/// must succeed. Calls are cut short: what is tried is the line, not the link.
fn run(folder: &Path, arguments: &str, place: &str) {
    let short = match arguments.starts_with("compare") {
        true => " --duration '3 s'",
        false => "",
    };
    let command = env!("CARGO_BIN_EXE_tightloop");
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec \"{command}\" {arguments}{short}")])
        .current_dir(folder)
        .output()
        .expect("the command starts");
    assert!(
        output.status.success(),
        "{place}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

fn text(name: &str) -> String {
    let path = workspace().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
