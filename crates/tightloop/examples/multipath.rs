//! Schedulers over two paths: [DelayBBR] Fig. 12 and Table 3.
//!
//! `multipath [CONTROLLER [SEEDS [SCHEDULER…]]]` plays all ten cases for 300 s
//! with each scheduler and as many seeds, and prints the mean and the 99th
//! percentile of the frame delay: the median of the seeds and their range.
//! Settings follow a name after a comma, as in `deadline,jitter = 2`.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros
)] // It prints.

#[path = "../tests/papers_multipath/world.rs"]
mod world;

use tightloop::units::{Time, count};
use world::{Outcome, SCHEDULERS, TABLE_3, figure_12, outcome, spread};

const SECONDS: u32 = 300;

/// `name,a = 1` as a table's inside.
fn table(text: &str) -> String {
    match text.split_once(',') {
        Some((name, settings)) => format!("name = \"{name}\", {settings}"),
        None => format!("name = \"{text}\""),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let cc = table(&arguments.next().unwrap_or("delay-bbr".to_owned()));
    let seeds = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(5);
    let mut schedulers: Vec<String> = arguments.collect();
    if schedulers.is_empty() {
        schedulers = SCHEDULERS.map(str::to_owned).to_vec();
    }
    println!("{cc}, {seeds} seeds, {SECONDS} s; ms: median [least, most]");
    println!(
        "case scheduler                       mean delay            p99 delay   Mbit/s  missing"
    );
    let mut wins = vec![[0_u32; 3]; schedulers.len()];
    for case in 0..TABLE_3.len() {
        let results: Vec<[f64; 2]> = schedulers
            .iter()
            .map(|scheduler| {
                let run = |seed| {
                    let scenario = figure_12(case, &cc, &table(scheduler), SECONDS, seed);
                    outcome(&scenario, Time::ZERO)
                };
                let outcomes: Vec<Outcome> = (1..=seeds).map(run).collect();
                line(case, scheduler, &outcomes)
            })
            .collect();
        for (measure, from) in [(0, 0), (2, 1)] {
            let order = |a: &usize, b: &usize| results[*a][from].total_cmp(&results[*b][from]);
            let best = (0..schedulers.len()).min_by(order).unwrap_or(0);
            wins[best][measure] += 1;
        }
        let worst = |a: &usize, b: &usize| results[*a][0].total_cmp(&results[*b][0]);
        let worst = (0..schedulers.len()).max_by(worst).unwrap_or(0);
        wins[worst][1] += 1;
    }
    println!("scheduler                       least mean  most mean  least p99");
    for (scheduler, [least, most, p99]) in schedulers.iter().zip(wins) {
        println!("{scheduler:<30} {least:>11} {most:>10} {p99:>10}");
    }
}

/// Prints a case with one scheduler; the medians of mean and 99th percentile.
fn line(case: usize, scheduler: &str, outcomes: &[Outcome]) -> [f64; 2] {
    let of = |what: fn(&Outcome) -> f64| spread(outcomes.iter().map(what).collect());
    let mean = of(|it| it.mean.millis_f64());
    let p99 = of(|it| it.p99.millis_f64());
    let rate = of(|it| it.bitrate.mbps_f64());
    let missing = of(|it| it.missing);
    let cell = |[least, median, most]: [f64; 3]| format!("{median:6.1} [{least:6.1},{most:6.1}]");
    println!(
        "{:>4} {scheduler:<27} {} {} {:8.3} {:7.4}",
        count(case) + 1,
        cell(mean),
        cell(p99),
        rate[1],
        missing[1]
    );
    [mean[1], p99[1]]
}
