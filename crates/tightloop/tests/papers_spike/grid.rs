//! Figure 5, and more senders than it has: for a person to run,
//! `cargo test --release -p tightloop --test papers_spike -- --ignored --nocapture`.

use super::bands::median;
use super::trial::{
    BBR, CODEL, COPA, CUBIC, DCTCP, DCTCP_LINUX, HYBLA, ILLINOIS, Point, RENO, SQP, Seen,
    VIDAPTIVE, WESTWOOD, Who,
};
use tightloop::units::{Span, Time};

/// Moments of the drop: a sawtooth may be anywhere.
const DROPS: [u64; 5] = [27_000, 27_700, 28_400, 29_100, 29_800];

/// The authors' own measurements, read from their raw files: the peak of the
/// smoothed round trip less d in ms, for d of 25, 50, 75 and 100 ms.
const MEASURED: [(&str, [[f64; 4]; 2]); 3] = [
    (
        "bbr",
        [[85.2, 156.2, 229.5, 283.5], [141.8, 255.2, 379.9, 451.6]],
    ),
    (
        "cubic",
        [[37.6, 55.3, 63.4, 80.0], [67.2, 103.0, 133.8, 169.2]],
    ),
    (
        "dctcp",
        [[110.6, 109.5, 112.9, 115.6], [173.9, 185.8, 196.5, 225.3]],
    ),
];

fn runs(who: &Who, r: f64, d: i64) -> Vec<Seen> {
    let point = |ms| Point {
        r,
        d: Span::from_millis(d),
        at: Time::from_millis(ms),
    };
    let of = |(seed, ms)| Seen::of(who, point(ms), CODEL, seed);
    (1..).zip(DROPS).map(of).collect()
}

fn line(who: &Who, r: f64, d: i64, theirs: Option<f64>) {
    let runs = runs(who, r, d);
    let of = |of: &dyn Fn(&Seen) -> f64| median(runs.iter().map(of).collect());
    let d = Span::from_millis(d);
    let theirs = theirs.map_or_else(|| "    –".to_owned(), |ms| format!("{ms:5.1}"));
    let drops: u64 = runs.iter().map(|seen| seen.drops).sum();
    let (wait, bound) = (
        of(&|it| it.wait.millis_f64()),
        of(&|it| it.bound().millis_f64()),
    );
    let used = of(&|it| it.used_ratio());
    println!(
        "{:9} {r:.0} {:3.0} {bound:6.1} | {used:5.2} {:5.2} | {wait:6.1} {:5.2} {:5.2} {:5.2} | {:6.1} {:6.1} {theirs} {:>13} | {drops}",
        who.name,
        d.millis_f64(),
        of(&|it| it.sent_ratio()),
        wait / bound,
        of(&|it| it.wait.millis_f64() / ((it.used_ratio() - 1.0) * d.millis_f64())),
        of(&|it| it.wait.millis_f64() / it.sent_bound().millis_f64().max(0.1)),
        of(&|it| (it.peak - d).millis_f64()),
        of(&|it| (it.read - d).millis_f64()),
        spread(runs.iter().map(|it| (it.peak - d).millis_f64())),
    );
    for seen in &runs {
        super::nobody_beats_the_bound(who, seen);
    }
}

/// From the least to the greatest.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let all: Vec<f64> = values.collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{low:.0} – {high:.0}")
}

#[test]
#[ignore = "a table for who asks"]
fn figure_5() {
    println!(
        "              bound |  r_eff      | wait,  over      over   over  | smoothed – d, ms    |\n\
         who       r   d    ms | used  sent  |   ms   bound    used   sent  |  ours  read theirs   ours, of 5 | drops"
    );
    for who in [
        BBR,
        CUBIC,
        DCTCP,
        DCTCP_LINUX,
        COPA,
        SQP,
        VIDAPTIVE,
        RENO,
        HYBLA,
        ILLINOIS,
        WESTWOOD,
    ] {
        for (row, r) in [2.0, 3.0].into_iter().enumerate() {
            for (column, d) in [25, 50, 75, 100].into_iter().enumerate() {
                let theirs = MEASURED.iter().find(|(name, _)| who.name.starts_with(name));
                line(&who, r, d, theirs.map(|(_, ms)| ms[row][column]));
            }
        }
    }
}
