//! Every figure and table, all delays:
//! `cargo test --release -p tightloop --test papers_sensitivity -- --ignored --nocapture --test-threads 1`.

use tightloop::proxy::Rule;

use super::bands::median;
use super::trial::{copa, deltas, four, grid, mbps, two, video};

#[test]
#[ignore = "a table for who asks"]
fn figure_4() {
    // Some of the 49 delays from 6 to 54 ms that the paper has.
    let instances = grid(&[6, 18, 30, 42, 54], 2);
    for cc in ["bbr", "bbr3"] {
        for rule in [
            None,
            Some(Rule::Patient),
            Some(Rule::Literal),
            Some(Rule::Constant),
        ] {
            println!("{cc} {rule:?}: {:.2?}", deltas(&two(cc, rule), &instances));
        }
    }
}

#[test]
#[ignore = "a table for who asks"]
fn figure_6() {
    let mixed = [vec![80, 20, 5], vec![20, 80, 5]];
    let alone = [vec![80, 20], vec![20, 80]];
    let equal: Vec<_> = [20, 40, 60, 80].map(|d| vec![d, d, 5]).to_vec();
    for settings in [
        "",
        "delta = 0.1",
        "delta = 0.04",
        "variant = \"pantheon\"\ndelta = 0.5",
        "variant = \"pantheon\"",
        "mode = \"auto\"",
    ] {
        println!("copa {settings:?}");
        println!("  mixed {:.1?}", mbps(&copa(settings, true), &mixed));
        println!("  δ mixed {:.2?}", deltas(&copa(settings, true), &mixed));
        println!("  δ alone {:.2?}", deltas(&copa(settings, false), &alone));
        println!("  δ equal {:.2?}", deltas(&copa(settings, true), &equal));
    }
}

#[test]
#[ignore = "a table for who asks"]
fn figure_7() {
    for (bbr, near, far) in [
        (true, [10, 20, 30], [60, 70, 80]),
        (false, [5, 15, 30], [35, 40, 45]),
    ] {
        let scenario = four(bbr);
        let names: Vec<&str> = scenario.flow.iter().map(|it| it.cc.name.as_str()).collect();
        let near = deltas(&scenario, &grid(&near, 4));
        let far = deltas(&scenario, &grid(&far, 4));
        println!("{names:?}: {near:.2?} then {far:.2?}");
    }
}

#[test]
#[ignore = "a table for who asks"]
fn table_1() {
    let trials = [
        vec![7, 7],
        vec![12, 12],
        vec![12, 37],
        vec![37, 12],
        vec![37, 37],
    ];
    let starts = [[0, 1], [0, 3], [0, 8], [1, 0], [3, 0], [8, 0]];
    for cc in ["bbr3", "bbr"] {
        let runs: Vec<_> = starts
            .iter()
            .map(|starts| mbps(&video(cc, *starts), &trials))
            .collect();
        for (at, trial) in trials.iter().enumerate() {
            let of = |flow: usize| median(runs.iter().map(|run| run[at][flow]).collect());
            println!(
                "cubic and {cc} at {trial:?} ms: {:.1} and {:.1} Mbit/s",
                of(0),
                of(1)
            );
        }
    }
}
