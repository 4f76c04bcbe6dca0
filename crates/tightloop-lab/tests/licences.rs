//! Every dependency has a licence and a source that deny.toml allows.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[test]
fn every_dependency_has_an_allowed_licence_and_no_ban() {
    let policy = policy();
    let allowed: Vec<&str> = strings(&policy["licenses"]["allow"]).collect();
    let banned: Vec<&str> = policy["bans"]["deny"]
        .as_array()
        .expect("a list of bans")
        .iter()
        .map(|ban| ban["name"].as_str().expect("a crate's name"))
        .collect();
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let mut faults = Vec::new();
    for package in packages {
        let text = |field: &str| package[field].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        if banned.contains(&name) {
            faults.push(format!("{name} {version} is banned in deny.toml"));
        }
        if !allows(text("license"), &allowed) {
            faults.push(format!(
                "{name} {version} is under {:?}, of which deny.toml allows no choice",
                text("license")
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(packages.len() > 10, "only {} packages seen", packages.len());
}

#[test]
fn everything_comes_from_one_registry() {
    let lock: toml::Table = text("Cargo.lock").parse().expect("a lock file");
    let mut sources: Vec<&str> = lock["package"]
        .as_array()
        .expect("packages")
        .iter()
        .filter_map(|package| package.get("source")?.as_str())
        .collect();
    sources.sort_unstable();
    sources.dedup();
    assert_eq!(sources.len(), 1, "more than one source: {sources:?}");
    assert!(sources[0].starts_with("registry+"), "{}", sources[0]);
    let policy = &policy()["sources"];
    for key in ["unknown-registry", "unknown-git"] {
        assert_eq!(policy[key].as_str(), Some("deny"), "deny.toml: {key}");
    }
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"];
    for yes in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "MIT AND Apache-2.0",
        "(MIT OR GPL-3.0) AND Apache-2.0",
        "GPL-2.0 AND ISC OR MIT",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
    ] {
        assert!(allows(yes, &allowed), "{yes}");
    }
    for no in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR GPL-3.0) AND GPL-3.0",
        "MIT WITH surprise",
        "MIT-0",
    ] {
        assert!(!allows(no, &allowed), "{no}");
    }
}

/// True where the expression offers a choice made of allowed licences only.
fn allows(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any(&mut words, allowed);
    verdict && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut verdict = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        verdict |= all(words, allowed);
    }
    verdict
}

fn all(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut verdict = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        verdict &= one(words, allowed);
    }
    verdict
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => {
            let verdict = any(words, allowed);
            words.next() == Some(")") && verdict
        }
        Some(name) => {
            let mut licence = name.to_owned();
            if words.next_if_eq(&"WITH").is_some() {
                licence = format!("{name} WITH {}", words.next().unwrap_or_default());
            }
            allowed.contains(&licence.as_str())
        }
        None => false,
    }
}

/// What cargo knows of this machine's dependencies, without a network.
fn metadata() -> Value {
    let cargo = env!("CARGO");
    let version = output(Command::new(cargo).arg("-vV"));
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("cargo names its host");
    let json = output(
        Command::new(cargo)
            .args(["metadata", "--offline", "--locked", "--format-version", "1"])
            .args(["--filter-platform", host])
            .current_dir(workspace()),
    );
    serde_json::from_str(&json).expect("cargo metadata gives JSON")
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("cargo runs");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn policy() -> toml::Table {
    text("deny.toml").parse().expect("deny.toml is TOML")
}

fn strings(list: &toml::Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|item| item.as_str().expect("a string"))
}

fn text(name: &str) -> String {
    let path = workspace().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
