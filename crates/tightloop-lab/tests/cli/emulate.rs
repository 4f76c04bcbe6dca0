//! The command behind an emulated link, where there are TUN devices and
//! permission to use them.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::scratch::{Done, Scratch};

/// Without these, nothing here is about time.
const QUICK: [&str; 2] = ["emulate", "--no-calibration"];

fn emulate(scratch: &Scratch, words: &[&str]) -> Done {
    scratch.run(&[&QUICK, words].concat())
}

/// A scratch folder where links can be emulated, or a word why not.
fn ready() -> Option<Scratch> {
    let scratch = Scratch::new();
    let done = emulate(&scratch, &["--", "true"]);
    if done.code != 0 {
        eprintln!("skipped: {}", done.stderr);
        return None;
    }
    Some(scratch)
}

#[test]
fn the_command_meets_the_link_and_gives_its_status() {
    let Some(scratch) = ready() else { return };
    let told = "echo $TIGHTLOOP_BASE $TIGHTLOOP_BASE6; exit 3";
    let done = emulate(&scratch, &["--delay=1ms", "--", "sh", "-c", told]);
    assert_eq!(done.code, 3, "{}", done.stderr);
    let far = done.stdout.split_whitespace().next().expect("an address");
    assert!(far.starts_with("100."), "{}", done.stdout);
    assert!(done.stdout.contains("fd74:6967:6874:"), "{}", done.stdout);
    assert!(done.stderr.contains("way   arrived"), "{}", done.stderr);
    // By a signal: as a shell tells it.
    let done = emulate(&scratch, &["--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(done.code, 128 + 9, "{}", done.stderr);
}

#[test]
fn what_the_command_prints_goes_where_it_should() {
    let Some(scratch) = ready() else { return };
    let both = ["--", "sh", "-c", "echo said; echo wrong >&2"];
    let done = emulate(&scratch, &[&["--output=said.txt"], &both[..]].concat());
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(done.stdout, "");
    let file = std::fs::read_to_string(scratch.path().join("said.txt")).expect("a file");
    assert_eq!(file, "said\nwrong\n");
    // Nobody has a terminal here: nothing is drawn.
    assert!(!done.stderr.contains('\x1b'), "{:?}", done.stderr);
    let done = emulate(&scratch, &[&["--quiet"], &both[..]].concat());
    assert_eq!(done.stdout, "");
    assert!(!done.stderr.contains("wrong"), "{}", done.stderr);
    let done = emulate(&scratch, &["--output=gone/said.txt", "--", "touch", "ran"]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("cannot write gone/said.txt"));
    assert!(!scratch.path().join("ran").exists());
}

#[test]
fn links_nest_and_an_inner_one_has_its_own_address() {
    let Some(scratch) = ready() else { return };
    let inner = scratch.command(&[]).get_program().to_owned();
    let inner = inner.to_string_lossy();
    let script = format!(
        "echo $TIGHTLOOP_BASE; {inner} {} -- sh -c 'echo $TIGHTLOOP_BASE'",
        QUICK.join(" ")
    );
    let done = emulate(&scratch, &["--", "sh", "-c", &script]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let lines: Vec<&str> = done.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    let [outer, inner] = [lines[0], lines[1]];
    let network = outer.rsplitn(3, '.').last().expect("an address");
    assert!(
        inner.starts_with(network) && inner != outer,
        "{outer} {inner}"
    );
}

#[test]
fn what_cannot_be_done_is_said_before_anything_runs() {
    let scratch = Scratch::new();
    for (words, reason) in [
        (
            ["--up=gone.trace", "--", "touch", "ran"],
            "neither a file nor a rate",
        ),
        (
            ["--queue=droptale", "--", "touch", "ran"],
            "no queue is called `droptale`",
        ),
        (
            ["--pcap=gone/x", "--", "touch", "ran"],
            "cannot write gone/x",
        ),
        (
            ["--scenario=gone.toml", "--", "touch", "ran"],
            "cannot read gone.toml",
        ),
    ] {
        let done = emulate(&scratch, &words);
        let excused =
            done.stderr.contains("network device") || done.stderr.contains("/dev/net/tun");
        assert!(
            excused || done.stderr.contains(reason),
            "{words:?}: {}",
            done.stderr
        );
        assert_eq!(done.code, 2, "{words:?}: {}", done.stderr);
        assert!(!scratch.path().join("ran").exists(), "{words:?}");
    }
    let Some(scratch) = ready() else { return };
    let done = emulate(&scratch, &["--", "no-such-program"]);
    assert_eq!(done.code, 2);
    assert!(
        done.stderr.contains("cannot start `no-such-program`"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("spelt right"), "{}", done.stderr);
}

#[test]
fn without_permission_it_says_how_to_get_it() {
    let Some(scratch) = ready() else { return };
    let command = scratch.command(&[]).get_program().to_owned();
    // Root of namespaces of its own, where nobody may make further ones.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" emulate -- true";
    let mut shut = Command::new("unshare");
    shut.args(["--user", "--map-root-user", "sh", "-c", script])
        .arg(command);
    let output = shut.output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no unshare");
        return;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("unshare failed") || told.contains("max_user_namespaces:") {
        eprintln!("skipped: {told}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("run this as root") && told.contains("--cap-add"),
        "{told}"
    );
}

#[test]
fn asked_to_end_it_ends_the_command_and_leaves_whole_files_and_no_device() {
    let Some(scratch) = ready() else { return };
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let mut words = QUICK.to_vec();
        words.extend([
            "--log=log",
            "--pcap=packets.pcapng",
            "--events=events",
            "--force",
        ]);
        // A grandchild that would stay for long.
        words.extend(["--", "sh", "-c", "sleep 600 & echo $!; exec sleep 600"]);
        let mut running = scratch.command(&words);
        let mut running = running
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(running.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("a line");
        let kill = format!("kill -{signal} {}", running.id());
        let killed = Command::new("sh").args(["-c", &kill]).status();
        assert!(killed.expect("sh runs").success());
        let output = running.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains("way   arrived"), "{told}");
        let grandchild = Path::new("/proc").join(line.trim());
        assert!(
            !grandchild.exists(),
            "{} is still there",
            grandchild.display()
        );
        assert_eq!(scratch.json("events/run.json")["complete"], true);
        assert!(scratch.read("log.up").ends_with("base timestamp: 0\n"));
        let capture = scratch.path().join("packets.pcapng");
        assert_eq!(std::fs::metadata(capture).expect("a capture").len() % 4, 0);
    }
}

#[test]
fn a_full_disk_spoils_the_log_and_not_the_run() {
    let Some(scratch) = ready() else { return };
    if symlink("/dev/full", scratch.path().join("log.up")).is_err() {
        return;
    }
    let done = emulate(&scratch, &["--log=log", "--", "echo", "here"]);
    assert_eq!(done.stdout, "here\n");
    assert!(
        done.stderr.contains("cannot write log.up"),
        "{}",
        done.stderr
    );
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(scratch.read("log.down").contains("# base timestamp"));
    // The command's own failure says more.
    let done = emulate(&scratch, &["--log=log", "--", "sh", "-c", "exit 7"]);
    assert_eq!(done.code, 7, "{}", done.stderr);
}

#[test]
fn strict_fails_where_packets_were_late_and_only_then() {
    let Some(scratch) = ready() else { return };
    // Packets that are due while the emulator stands still.
    let stop = "for _ in {1..50}; do echo > /dev/udp/$TIGHTLOOP_BASE/9; done
                kill -STOP $PPID; sleep 0.3; kill -CONT $PPID; sleep 0.1";
    let probe = Command::new("bash").args(["-c", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no bash");
        return;
    }
    let late = ["--delay=100ms", "--", "bash", "-c", stop];
    let done = emulate(&scratch, &late);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains("more than 1 ms late"),
        "{}",
        done.stderr
    );
    let done = emulate(&scratch, &[&["--strict"], &late[..]].concat());
    assert_eq!(done.code, 1, "{}", done.stderr);
    let told = "warning: more than this machine can do: up: ";
    assert!(done.stderr.contains(told), "{}", done.stderr);
    // Nothing crosses, so nothing is late; and the command's failure says more.
    let done = emulate(&scratch, &["--strict", "--", "true"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let fails = format!("{stop}; exit 7");
    let done = emulate(
        &scratch,
        &["--strict", "--delay=100ms", "--", "bash", "-c", &fails],
    );
    assert_eq!(done.code, 7, "{}", done.stderr);
}
