//! Calls as a person makes them: both ends as programs, and both behind a link.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::scratch::Scratch;

/// A receiver that listens, and what a sender has to type after `send`.
fn receiver(scratch: &Scratch, words: &[&str]) -> (Child, BufReader<ChildStderr>, Vec<String>) {
    let words = [&["receive", "--listen", "127.0.0.1:0"], words].concat();
    let mut child = scratch
        .command(&words)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("tightloop send ") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("text") > 0, "no line");
    }
    let port = line.split([' ', ':']).find(|it| it.parse::<u16>().is_ok());
    let pin = line.split_whitespace().last().expect("a fingerprint");
    let to = format!("127.0.0.1:{}", port.expect("a port"));
    (child, lines, vec![to, "--pin".into(), pin.to_owned()])
}

fn send(scratch: &Scratch, to: &[String], words: &[&str]) -> Command {
    let size = ["--size", "160x96", "--max", "800 kbit/s"];
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let mut command = scratch.command(&[&["send"], &to[..], &size[..], words].concat());
    command.stderr(Stdio::piped());
    command
}

/// Pictures in a Y4M file, which must end with a whole one.
fn pictures(scratch: &Scratch, name: &str) -> usize {
    let bytes = std::fs::read(scratch.path().join(name)).expect(name);
    let head = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line");
    let each = 6 + 160 * 96 * 3 / 2;
    let rest = bytes.len() - head - 1;
    assert_eq!(rest % each, 0, "{rest} bytes of pictures");
    rest / each
}

#[test]
fn a_call_of_two_programs_leaves_a_film_and_both_logs() {
    let scratch = Scratch::new();
    let out = ["--out", "seen.y4m", "--events", "far"];
    let (mut receiver, mut lines, to) = receiver(&scratch, &out);
    let words = ["--duration", "1 s", "--events", "near"];
    let sent = send(&scratch, &to, &words).output().expect("starts");
    let text = String::from_utf8_lossy(&sent.stderr);
    assert!(sent.status.success(), "{text}");
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    assert!(receiver.wait().expect("ends").success(), "{rest}");
    assert!(!rest.contains("another size"), "{rest}");
    let count = pictures(&scratch, "seen.y4m");
    assert!((20..=31).contains(&count), "{count}");
    for folder in ["near", "far"] {
        let about = scratch.json(&format!("{folder}/run.json"));
        assert_eq!(about["complete"], true, "{folder}");
        assert!(about["events"].as_u64() > Some(100), "{about}");
    }
    scratch.ok(&["report", "near"]);
}

#[test]
fn an_interrupt_closes_the_files_and_writes_the_report() {
    let scratch = Scratch::new();
    let out = ["--out", "seen.y4m", "--events", "far"];
    let (mut receiver, mut lines, to) = receiver(&scratch, &out);
    let sender = send(&scratch, &to, &["--events", "near"])
        .spawn()
        .expect("starts");
    thread::sleep(Duration::from_millis(1_500));
    let interrupt = format!("kill -INT {}", receiver.id());
    let status = Command::new("sh").args(["-c", &interrupt]).status();
    assert!(status.expect("a shell").success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    assert!(receiver.wait().expect("ends").success(), "{rest}");
    assert!(pictures(&scratch, "seen.y4m") >= 10);
    assert_eq!(scratch.json("far/run.json")["complete"], true);
    // The sender hears of it, and ends as well.
    let sent = sender.wait_with_output().expect("ends");
    let text = String::from_utf8_lossy(&sent.stderr);
    assert!(sent.status.success(), "{text}");
    assert_eq!(scratch.json("near/run.json")["complete"], true);
}

#[test]
fn what_makes_no_call_is_told() {
    let scratch = Scratch::new();
    let told = scratch.refused(&["send", "127.0.0.1:9", "--size", "160x96"]);
    assert!(told.contains("--pin") && told.contains("--token"), "{told}");
    let told = scratch.refused(&["send", "nowhere", "--pin", &"0".repeat(64)]);
    assert!(told.contains("HOST:PORT"), "{told}");
    let told = scratch.refused(&["send", "127.0.0.1:9", "--cc", "copa,sqp", "--token", "x"]);
    assert!(told.contains("one controller"), "{told}");
    let told = scratch.run(&[
        "receive",
        "--listen",
        "127.0.0.1:0",
        "--identity",
        "short.toml",
    ]);
    assert!(told.stderr.contains("holds no identity"), "{}", told.stderr);
}

#[test]
fn a_call_behind_a_link_is_reported_and_followed_as_a_simulated_one() {
    let scratch = Scratch::new();
    let words = [
        "call",
        "--link=2 Mbit/s",
        "--delay=10 ms",
        "--duration=1500 ms",
        "--size=160x96",
        "--cc=copa",
        "--save=seen.y4m",
        "--out=live",
    ];
    let done = scratch.run(&words);
    if done.stderr.contains("cannot make")
        || done.stderr.contains("no permission")
        || done.stderr.contains("/dev/net/tun")
    {
        eprintln!("skipped: {}", done.stderr);
        return;
    }
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("mean SSIM"), "{}", done.stdout);
    assert!(pictures(&scratch, "seen.y4m") >= 25);
    scratch.ok(&["report", "live"]);
    let told = scratch.ok(&["follow", "live", "--frame", "20"]);
    for step in ["captured", "encoded", "network", "shown"] {
        assert!(told.contains(step), "{step}: {told}");
    }
    // The same call, simulated.
    scratch.ok(&["run", "live/scenario.toml", "--out", "again"]);
}

/// A minute over a cellular trace. TIGHTLOOP_CLIP and TIGHTLOOP_TRACE name a real
/// clip and a recorded trace in place of what is made here.
#[test]
#[ignore = "takes a minute and a half, and a machine with little else to do"]
fn a_live_call_is_seen_as_its_simulation_is() {
    let scratch = Scratch::new();
    let set = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let clip = set("TIGHTLOOP_CLIP", "gen:game");
    let trace = crate::workspace().join("traces/lte-like.trace");
    let trace = set("TIGHTLOOP_TRACE", &trace.display().to_string());
    let call = [
        "--link",
        &trace,
        "--video",
        &clip,
        "--size",
        "640x360",
        "--duration",
        "60 s",
    ];
    let call = [&call[..], &["--cc", "vidaptive+copa", "--json"]].concat();
    let live = scratch.run(&[&["call", "--out", "live"], &call[..]].concat());
    assert_eq!(live.code, 0, "{}", live.stderr);
    let live = crate::parse(&live.stdout);
    let simulated = scratch.ok(&[&["compare", "--vmaf-every", "0"], &call[..]].concat());
    let simulated = &crate::parse(&simulated)["calls"][0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let seen = [&live, simulated].map(|it| number(&it["quality"]["ssim"]));
    assert!((seen[0] - seen[1]).abs() < 0.01, "{seen:?}");
    let live = number(&live["metrics"]["flow.call.frames.latency.p95"]) * 1e3;
    let ratio = live / number(&simulated["summary"]["latency_p95"]);
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}
