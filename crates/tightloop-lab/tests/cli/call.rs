//! Calls as a person makes them: both ends as programs, and both behind a link.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::scratch::{Done, Scratch};

/// A program that runs, and what it says; it does not outlive the test.
struct Running {
    child: Child,
    lines: BufReader<ChildStderr>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let command = command.stderr(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, lines }
    }

    /// Reads until a line with these words.
    fn line(&mut self, words: &str) -> String {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            let read = self.lines.read_line(&mut line).expect("text");
            assert!(read > 0, "never said {words}");
        }
        line
    }

    fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status();
        assert!(status.expect("a shell").success());
    }

    /// Waits for its end; what it said until then.
    fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("ends"), rest)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A receiver that listens, and what a sender has to type after `send`.
fn receiver(scratch: &Scratch, words: &[&str]) -> (Running, Vec<String>) {
    let words = [&["receive", "--listen", "127.0.0.1:0"], words].concat();
    let mut running = Running::start(&mut scratch.command(&words));
    let line = running.line("tightloop send ");
    let port = line.split([' ', ':']).find(|it| it.parse::<u16>().is_ok());
    let pin = line.split_whitespace().last().expect("a fingerprint");
    let to = format!("127.0.0.1:{}", port.expect("a port"));
    (running, vec![to, "--pin".into(), pin.to_owned()])
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
    let (receiver, to) = receiver(&scratch, &out);
    let words = ["--duration", "1 s", "--events", "near"];
    let (sent, text) = Running::start(&mut send(&scratch, &to, &words)).end();
    assert!(sent.success(), "{text}");
    let (received, rest) = receiver.end();
    assert!(received.success(), "{rest}");
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
fn an_interrupt_of_either_end_closes_the_files_and_writes_the_reports() {
    for (at_receiver, signal) in [(true, "INT"), (false, "TERM")] {
        let scratch = Scratch::new();
        let out = ["--out", "seen.y4m", "--events", "far"];
        let (receiver, to) = receiver(&scratch, &out);
        let words = ["--events", "near"];
        let mut sender = Running::start(&mut send(&scratch, &to, &words));
        sender.line("answers");
        thread::sleep(Duration::from_millis(800));
        [&sender, &receiver][usize::from(at_receiver)].signal(signal);
        // The other hears of it, and ends as well.
        for end in [receiver, sender] {
            let (status, rest) = end.end();
            assert!(status.success(), "{rest}");
        }
        assert!(pictures(&scratch, "seen.y4m") >= 10);
        for folder in ["near", "far"] {
            let about = scratch.json(&format!("{folder}/run.json"));
            assert_eq!(about["complete"], true, "{folder}");
        }
    }
}

#[test]
fn who_calls_nobody_paints_no_film_and_ends_with_his_patience_or_a_signal() {
    let scratch = Scratch::new();
    let call = ["send", "127.0.0.1:9", "--token", "x", "--size", "1920x1080"];
    let told = scratch.refused(&[&call[..], &["--patience", "200 ms"]].concat());
    assert!(told.contains("does not answer within"), "{told}");
    for signal in ["INT", "TERM"] {
        let mut sender = Running::start(&mut scratch.command(&call));
        sender.line("calling 127.0.0.1:9");
        sender.signal(signal);
        let (status, rest) = sender.end();
        assert_eq!(status.code(), Some(2), "{signal}: {rest}");
        assert!(
            rest.contains("ended before 127.0.0.1:9 has answered"),
            "{rest}"
        );
    }
}

#[test]
fn a_signal_ends_a_sender_that_still_prepares_its_clip() {
    let scratch = Scratch::new();
    // One whose first byte never comes.
    let clip = scratch.path().join("clip.mp4");
    let made = Command::new("mkfifo").arg(&clip).status();
    assert!(made.expect("mkfifo").success());
    let call = ["send", "127.0.0.1:9", "--token", "x", "--video", "clip.mp4"];
    for signal in ["INT", "TERM"] {
        let mut sender = Running::start(&mut scratch.command(&call));
        sender.line("preparing clip.mp4");
        sender.signal(signal);
        let (status, rest) = sender.end();
        assert_eq!(status.code(), Some(130), "{signal}: {rest}");
    }
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

/// A call over emulated links, where this machine has them.
fn emulated(scratch: &Scratch, words: &[&str]) -> Option<Done> {
    let done = scratch.run(words);
    let reasons = ["cannot make", "no permission", "/dev/net/tun"];
    if reasons.iter().any(|reason| done.stderr.contains(reason)) {
        eprintln!("skipped: {}", done.stderr);
        return None;
    }
    assert_eq!(done.code, 0, "{}", done.stderr);
    Some(done)
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
    let Some(done) = emulated(&scratch, &words) else {
        return;
    };
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

#[test]
fn a_call_over_two_links_uses_both_and_is_simulated_as_well() {
    let scratch = Scratch::new();
    let words = [
        "call",
        "--link=900 kbit/s",
        "--delay=10 ms",
        "--link=900 kbit/s",
        "--delay=20 ms",
        "--max=1400 kbit/s",
        "--duration=1500 ms",
        "--size=320x192",
        "--cc=copa",
        "--out=live",
        "--json",
    ];
    let Some(done) = emulated(&scratch, &words) else {
        return;
    };
    let live = crate::parse(&done.stdout);
    let told = scratch.ok(&["run", "live/scenario.toml", "--out", "again", "--json"]);
    for run in [live, crate::parse(&told)] {
        for path in 0..2 {
            let name = format!("flow.call.path.{path}.throughput");
            let rate = run["metrics"][&name].as_f64().expect("a rate");
            assert!((100e3..900e3).contains(&rate), "{name}: {rate}");
        }
    }
    let told = scratch.refused(&["call", "--delay=1 ms", "--delay=2 ms"]);
    assert!(told.contains("one for each link"), "{told}");
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
