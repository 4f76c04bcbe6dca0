//! `tightloop compare`, with small pictures and short calls.

use serde_json::Value;

use crate::parse;
use crate::scratch::Scratch;

const SMALL: [&str; 10] = [
    "compare",
    "--size",
    "160x96",
    "--max",
    "1 Mbit/s",
    "--duration",
    "3 s",
    "--vmaf-every",
    "0",
    "--video",
];

fn compare(scratch: &Scratch, more: &[&str]) -> String {
    scratch.ok(&[&SMALL[..], more].concat())
}

fn number(value: &Value, key: &str) -> f64 {
    value["summary"][key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn a_comparison_prints_a_choice_and_leaves_pages_and_runs() {
    let scratch = Scratch::new();
    let link = [
        "gen:gradients",
        "--link",
        "1 Mbit/s",
        "--cc",
        "sqp,cubic",
        "--out",
        "out",
    ];
    let printed = compare(&scratch, &link);
    assert!(printed.starts_with("Choose "), "{printed}");
    for word in [
        "gen:gradients, a link of 1 Mbit/s, 3 s",
        "sqp",
        "cubic",
        "SSIM",
        "open out/report.html",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    let page = scratch.read("out/report.html");
    assert_eq!(page.matches("data:image/png;base64,").count(), 2);
    assert!(page.contains("class=\"verdict\">Choose "));
    // Each call is a run as any other: it can be followed, and run again.
    assert!(
        scratch
            .ok(&["follow", "out/sqp", "--frame", "30"])
            .contains("frame 30 shown")
    );
    let about = scratch.json("out/sqp/run.json");
    scratch.ok(&["run", "out/sqp/scenario.toml", "--out", "again"]);
    assert_eq!(scratch.json("again/run.json")["digest"], about["digest"]);
}

#[test]
fn pictures_get_worse_with_less_rate_and_the_same_command_gives_the_same_numbers() {
    let scratch = Scratch::new();
    let calls = |rate: &str| {
        let fixed = format!("fixed:target={rate}");
        let link = ["gen:game", "--link", "10 Mbit/s", "--cc", &fixed, "--json"];
        parse(&compare(&scratch, &link))["calls"][0].clone()
    };
    let (poor, good) = (calls("40 kbit/s"), calls("600 kbit/s"));
    assert_eq!(poor["summary"], calls("40 kbit/s")["summary"]);
    let [worse, better] = [&poor, &good].map(|call| number(call, "ssim_db"));
    assert!(
        worse + 2.0 < better && better < 40.0,
        "{worse} and {better} dB"
    );
    let [worse, better] = [&poor, &good].map(|call| number(call, "psnr"));
    assert!(
        worse + 2.0 < better && better < 60.0,
        "{worse} and {better} dB"
    );
    assert!((0.45..0.66).contains(&number(&good, "bitrate")), "{good}");
    assert!((0.97..=1.0).contains(&number(&good, "shown")), "{good}");
}

#[test]
fn a_grid_has_means_and_quartiles() {
    let scratch = Scratch::new();
    let grid = [
        "gen:text",
        "gen:gradients",
        "--link",
        "1 Mbit/s",
        "400 kbit/s",
        "--cc",
        "sqp,gcc",
    ];
    let printed = compare(&scratch, &grid);
    for word in [
        "means over 2 links and 2 videos, 3 s each",
        "against sqp",
        "median",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    let grid = parse(&compare(&scratch, &[&grid[..], &["--json"]].concat()));
    assert_eq!(grid["calls"].as_array().map(Vec::len), Some(8));
    assert_eq!(grid["means"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_call_without_pictures_and_a_scenario_as_link_work_too() {
    let scratch = Scratch::new();
    let model = [
        "gen:game",
        "--encoder",
        "measured",
        "--link",
        "2 Mbit/s",
        "--cc",
        "sqp",
    ];
    let printed = compare(&scratch, &model);
    assert!(
        printed.contains("bitrate") && !printed.contains("VMAF"),
        "{printed}"
    );
    let scenario = ["gen:text", "--link", "short.toml", "--cc", "cubic,sqp"];
    let printed = compare(&scratch, &scenario);
    assert!(printed.contains("gen:text, short, 2 s"), "{printed}");
}

#[test]
fn what_cannot_be_compared_is_told() {
    let scratch = Scratch::new();
    scratch.write("noise.mp4", "no film at all, only words");
    let refused = |more: &[&str]| scratch.refused(&[&["compare"][..], more].concat());
    for (more, words) in [
        (&["--cc", "sqpp"][..], "did you mean `sqp`?"),
        (
            &["--link", "nowhere.trace"],
            "nowhere.trace is neither a file nor a rate",
        ),
        (&["--video", "noise.mp4"], "noise.mp4"),
        (&["--video", "gen:games"], "gen:game"),
        (&["--size", "3x3"], "3x3"),
        (&["--encoder", "h265"], "unknown encoder `h265`"),
    ] {
        let said = refused(more);
        assert!(said.contains(words), "{words}: {said}");
    }
}
