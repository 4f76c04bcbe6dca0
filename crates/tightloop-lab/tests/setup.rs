//! `scripts/setup` on machines that lack something, played with stand-ins for
//! the system's commands in a folder that is the whole `PATH`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A machine that has the tools scripts are made of, and nothing else.
struct Machine {
    bin: PathBuf,
}

impl Machine {
    fn new(name: &str) -> Self {
        let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("setup-{name}"));
        let _ = fs::remove_dir_all(&bin);
        fs::create_dir_all(&bin).expect("a scratch folder");
        for tool in ["cat", "cut", "env", "mktemp", "rm"] {
            let real = ["/bin", "/usr/bin"]
                .map(|folder| Path::new(folder).join(tool))
                .into_iter()
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("this machine has no {tool}"));
            symlink(real, bin.join(tool)).expect("a link");
        }
        Self { bin }
    }

    /// Adds a command.
    fn with(self, name: &str, script: &str) -> Self {
        let path = self.bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        self
    }

    /// Adds everything `make test` needs.
    fn complete(self, rust: &str) -> Self {
        self.without_rust()
            .with(
                "rustc",
                &format!("echo 'rustc {rust} (0123abc 2026-01-01)'"),
            )
            .with("cargo", "")
    }

    /// Adds everything `make test` needs but the compiler of Rust.
    fn without_rust(self) -> Self {
        ["make", "git", "cc", "c++", "meson", "ninja", "nasm", "xxd"]
            .into_iter()
            .fold(self, |machine, tool| machine.with(tool, ""))
    }

    fn set_up(&self) -> Output {
        self.set_up_with(&[])
    }

    fn set_up_with(&self, arguments: &[&str]) -> Output {
        Command::new("/bin/sh")
            .arg(workspace().join("scripts/setup"))
            .args(arguments)
            .env("PATH", &self.bin)
            .output()
            .expect("a shell")
    }

    /// What setting up said; it must have refused.
    fn refusal(&self) -> String {
        let output = self.set_up();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        said
    }
}

#[test]
fn a_complete_machine_is_left_alone_without_a_word() {
    let output = Machine::new("complete").complete("1.95.0").set_up();
    assert!(output.status.success());
    assert_eq!((output.stdout, output.stderr), (vec![], vec![]));
}

#[test]
fn root_installs_what_is_missing_and_nothing_else() {
    let machine = Machine::new("root")
        .complete("1.97.1-nightly")
        .with("id", "echo 0")
        .with("cc", "exit 1")
        .with("apt-get", "echo \"$*\" >> \"$0.calls\"");
    let output = machine.set_up();
    assert!(output.status.success(), "{output:?}");
    let calls = fs::read_to_string(machine.bin.join("apt-get.calls")).expect("it was called");
    assert_eq!(calls, "install -y gcc libc6-dev\n");
}

#[test]
fn stale_package_lists_are_refreshed_once() {
    let machine = Machine::new("stale")
        .complete("1.95.0")
        .with("id", "echo 0")
        .with("cc", "exit 1")
        .with(
            "apt-get",
            "echo \"$*\" >> \"$0.calls\"\n[ \"$1\" = update ] && : > \"$0.fresh\"\n[ -e \"$0.fresh\" ]",
        );
    let output = machine.set_up();
    assert!(output.status.success(), "{output:?}");
    let calls = fs::read_to_string(machine.bin.join("apt-get.calls")).expect("it was called");
    let install = "install -y gcc libc6-dev\n";
    assert_eq!(calls, format!("{install}update\n{install}"));
}

#[test]
fn without_rights_the_line_to_type_is_printed() {
    for (manager, line) in [
        (
            "apt-get",
            "sudo apt-get install -y make gcc libc6-dev g++ meson ninja-build nasm xxd",
        ),
        (
            "dnf",
            "sudo dnf install -y make gcc gcc-c++ meson ninja-build nasm /usr/bin/xxd",
        ),
        (
            "pacman",
            "sudo pacman -S --noconfirm --needed make gcc gcc meson ninja nasm xxd",
        ),
        (
            "apk",
            "sudo apk add --quiet make gcc musl-dev g++ meson samurai nasm xxd",
        ),
    ] {
        let machine = Machine::new(manager)
            .with("git", "")
            .with("id", "echo 1000")
            .with("sudo", "exit 1")
            .with(manager, "echo called >&2");
        let said = machine.refusal();
        assert!(said.ends_with(&format!("\n  {line}\n")), "{said}");
        assert!(!said.contains("called"), "{said}");
    }
}

#[test]
fn libvpx_is_installed_only_where_it_is_asked_for() {
    let machine = Machine::new("vpx")
        .complete("1.95.0")
        .with("id", "echo 0")
        .with("pkg-config", "exit 1")
        .with("apt-get", "echo \"$*\" >> \"$0.calls\"");
    assert!(machine.set_up().status.success());
    assert!(!machine.bin.join("apt-get.calls").exists());
    assert!(machine.set_up_with(&["--ci", "--nothing"]).status.code() == Some(2));
    assert!(machine.set_up_with(&["--vpx"]).status.success());
    let calls = fs::read_to_string(machine.bin.join("apt-get.calls")).expect("it was called");
    assert_eq!(calls, "install -y libvpx-dev\n");
}

#[test]
fn a_missing_or_old_rust_is_named_with_the_line_to_type() {
    for (name, rust) in [("old", "1.94.1"), ("ancient", "0.99.0")] {
        let said = Machine::new(name).complete(rust).refusal();
        assert!(
            said.contains(&format!("1.95 or later is needed, found {rust}")),
            "{said}"
        );
        assert!(said.contains("sh.rustup.rs"), "{said}");
    }
    let none = Machine::new("none").without_rust();
    assert!(none.refusal().contains("found none"));
    let rustup = Machine::new("rustup").complete("1.94.1").with("rustup", "");
    assert!(rustup.refusal().contains("\n  rustup update stable"));
}

#[test]
fn the_script_asks_for_the_workspaces_own_rust_version() {
    let manifest: toml::Table = fs::read_to_string(workspace().join("Cargo.toml"))
        .expect("a manifest")
        .parse()
        .expect("TOML");
    let version = manifest["workspace"]["package"]["rust-version"]
        .as_str()
        .expect("a version");
    let script = fs::read_to_string(workspace().join("scripts/setup")).expect("a script");
    assert!(script.contains(&format!("\nRUST={version} ")), "{version}");
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
