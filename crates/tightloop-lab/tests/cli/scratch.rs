//! The real binary in a scratch folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A second of one video flow: enough to have of everything a little.
pub(crate) const SHORT: &str = r#"
name = "short"
duration = "2 s"

[link.bottleneck]
rate = "5 Mbit/s"
queue = { kind = "drop_tail", packets = 50 }
delay = "20 ms"

[link.return]
delay = "20 ms"

[[flow]]
name = "game"
cc = "sqp"
path = { links = ["bottleneck"], back = ["return"] }
"#;

/// A folder of its own for a test, with `short.toml` in it.
pub(crate) struct Scratch(TempDir);

/// What a command came to.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let scratch = Self(TempDir::new().expect("a scratch folder"));
        scratch.write("short.toml", SHORT);
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect(name);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect(name)
    }

    /// The command with these words, not started yet.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tightloop"));
        command
            .args(words)
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the command with these words.
    pub(crate) fn run(&self, words: &[&str]) -> Done {
        let output = self.command(words).output().expect("the command starts");
        Done::of(&output)
    }

    /// Runs it, and it must succeed; gives what it printed.
    pub(crate) fn ok(&self, words: &[&str]) -> String {
        let done = self.run(words);
        assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
        done.stdout
    }

    /// Runs it, and it must refuse; gives what it complained.
    pub(crate) fn refused(&self, words: &[&str]) -> String {
        let done = self.run(words);
        assert_eq!(done.code, 2, "{words:?}: {}", done.stdout);
        done.stderr
    }
}

impl Done {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        Self {
            code: output.status.code().expect("no signal"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
