//! Every file that fuzzing ever kept goes through its target again.

use std::fs;
use std::path::Path;

use tightloop::scenario::Scenario;

#[allow(unreachable_pub)] // A library of its own, seen from here as a module.
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

/// A target, by the name of its folder.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("controller", targets::controller),
    ("scenario", targets::scenario),
    ("trace", targets::trace),
    ("wire", targets::wire),
];

#[test]
fn every_kept_input_is_survived() {
    for (name, target) in TARGETS {
        let folder = corpus().join(name);
        let mut files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.expect("a readable folder").path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "{} is empty", folder.display());
        for file in files {
            let bytes = fs::read(&file).expect("a readable file");
            let kept = std::panic::catch_unwind(|| target(&bytes));
            assert!(kept.is_ok(), "{}: see the panic above", file.display());
        }
    }
}

#[test]
fn every_folder_has_its_target() {
    let mut folders: Vec<_> = fs::read_dir(corpus())
        .expect("a corpus")
        .map(|entry| entry.expect("a readable folder").file_name())
        .collect();
    folders.sort();
    let mut names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    assert_eq!(folders, names, "left: fuzz/corpus; right: TARGETS");
}

#[test]
fn the_good_scenarios_are_good() {
    for name in ["smallest", "two_paths_and_traffic"] {
        let path = corpus().join("scenario").join(name);
        let text = fs::read_to_string(&path).expect("a readable file");
        let scenario: Scenario =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let built = scenario.build(&|_| None);
        assert!(built.is_ok(), "{}: {:?}", path.display(), built.err());
    }
}

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}
