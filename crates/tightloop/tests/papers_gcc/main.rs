//! Claims about GCC, each held between a lower and an upper band.

#![allow(clippy::disallowed_macros)] // People read the numbers with --nocapture.

use trial::video;

mod trial;

#[test]
#[ignore = "debug"]
fn outage() {
    let t = video(
        "steps = [[\"0 s\", \"20 Mbit/s\"], [\"10 s\", \"0 bit/s\"], [\"12 s\", \"20 Mbit/s\"]]\nqueue = { kind = \"drop_tail\", packets = 200 }",
        20,
        20,
    )
    .video("");
    let seen = t.run();
    println!("{:?}", seen.probes(0.0, 20.0));
    seen.print(0.5, 10.0, 0.5);
    seen.print(11.9, 17.0, 0.1);
}

#[test]
#[ignore = "debug"]
fn recorded() {
    let steps: Vec<String> = (0..6)
        .map(|n| format!("[\"{} s\", \"{} kbit/s\"]", n * 40, if n % 2 == 0 { 2000 } else { 500 }))
        .collect();
    let t = video(
        &format!("steps = [{}]\nqueue = {{ kind = \"drop_tail\", packets = 200 }}", steps.join(", ")),
        25,
        240,
    )
    .flow("feedback = { interval = \"50 ms\" }")
    .video("encoder = \"vp8-paper\"\nsource = { fps = 30.0 }\n");
    let seen = t.run();
    println!("{:?}", seen.probes(0.0, 240.0));
    seen.print(0.5, 40.0, 1.0);
    seen.print(39.8, 44.0, 0.1);
    seen.print(44.0, 110.0, 1.0);
}
