//! Several videos over several links: means, and everyone against the first.

use std::path::Path;

use anyhow::{Result, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::json;
use tightloop::analysis::percentile;

use super::call::{Call, Outcome};
use super::contender::Contender;
use super::plan::Plan;
use super::{all, film, jobs, table};
use crate::args::CompareArgs;
use crate::out;
use crate::report::page::Summary;
use crate::studio::Studio;
use crate::table::Table;

/// One call of the grid.
#[derive(Debug)]
struct Cell {
    contender: usize,
    link: String,
    video: String,
    summary: Summary,
}

/// Compares over a grid.
pub(super) fn main(args: &CompareArgs, contenders: &[Contender]) -> Result<()> {
    let links: Vec<Option<&str>> = match args.link.as_slice() {
        [] => vec![None],
        links => links.iter().map(|link| Some(link.as_str())).collect(),
    };
    let (mut plans, mut calls) = (Vec::new(), Vec::new());
    for video in &args.video {
        for link in &links {
            let plan = Plan::of(args, video, *link)?;
            let folder = args
                .out
                .join("grid")
                .join(short(&plan.link))
                .join(short(video));
            for (place, contender) in contenders.iter().enumerate() {
                calls.push(Call::of(&plan, contender, args, folder.clone(), false)?);
                plans.push((place, plan.link.clone(), video.clone()));
            }
        }
    }
    let hidden = MultiProgress::with_draw_target(indicatif::ProgressDrawTarget::hidden());
    let studio = Studio::default();
    film(&calls, &studio, &MultiProgress::new())?;
    let bar = ProgressBar::new(calls.len() as u64).with_prefix("calls");
    let style =
        ProgressStyle::with_template("{prefix} {bar:30} {pos} of {len}, {elapsed}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let summaries = all(&calls, jobs(args), |call| {
        let outcome = call.make(&studio, &hidden);
        bar.inc(1);
        outcome.map(|outcome| Outcome::summary(&outcome))
    })?;
    bar.finish_and_clear();
    let cells = plans.into_iter().zip(summaries);
    let cells: Vec<Cell> = cells
        .map(|((contender, link, video), summary)| Cell {
            contender,
            link,
            video,
            summary,
        })
        .collect();
    if args.json {
        return out::json(&json(contenders, &cells));
    }
    out::print(&text(args, contenders, &cells)?)
}

/// A folder's name for a link or a video.
fn short(name: &str) -> String {
    let path = Path::new(name);
    let name = path
        .file_name()
        .map_or(name.into(), |name| name.to_string_lossy());
    out::file_name(&name)
}

fn of(cells: &[Cell], contender: usize) -> impl Iterator<Item = &Cell> {
    cells.iter().filter(move |cell| cell.contender == contender)
}

/// A column of the summary, over all calls of one contender.
type Value = fn(&Summary) -> Option<f64>;

/// The mean over all calls; nothing where one has none.
fn mean(cells: &[Cell], contender: usize, value: Value) -> Option<f64> {
    let values: Option<Vec<f64>> = of(cells, contender).map(|it| value(&it.summary)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// All means as one row.
fn means(cells: &[Cell], contender: usize) -> Summary {
    let mean = |value| mean(cells, contender, value);
    let freezes = mean(|it| it.freezes.map(f64::from));
    Summary {
        bitrate: mean(|it| it.bitrate),
        utilisation: mean(|it| it.utilisation),
        latency_p50: mean(|it| it.latency_p50),
        latency_p95: mean(|it| it.latency_p95),
        latency_p99: mean(|it| it.latency_p99),
        latency_mean: mean(|it| it.latency_mean),
        fps: mean(|it| it.fps),
        shown: mean(|it| it.shown),
        freezes: freezes.map(|freezes| freezes.round() as u32),
        ssim_db: mean(|it| it.ssim_db),
        psnr: mean(|it| it.psnr),
        vmaf: mean(|it| it.vmaf),
        filler: mean(|it| it.filler),
        spike: mean(|it| it.spike),
        ..Summary::default()
    }
}

/// The quartiles of what a contender's calls have of the first one's, each over
/// the same link with the same video.
fn against(
    cells: &[Cell],
    contender: usize,
    with: fn(f64, f64) -> f64,
    value: Value,
) -> [Option<f64>; 3] {
    let pairs = of(cells, contender).zip(of(cells, 0));
    let mut all: Vec<f64> = pairs
        .filter_map(|(own, first)| Some(with(value(&own.summary)?, value(&first.summary)?)))
        .filter(|value| value.is_finite())
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| percentile(&all, share))
}

fn text(args: &CompareArgs, contenders: &[Contender], cells: &[Cell]) -> Result<String> {
    let Some(first) = contenders.first() else {
        bail!("nothing to compare");
    };
    let rows: Vec<Summary> = (0..contenders.len())
        .map(|place| means(cells, place))
        .collect();
    let names = || contenders.iter().map(|it| it.name.clone());
    let mut text = format!(
        "means over {} links and {} videos, {} each\n\n",
        args.link.len().max(1),
        args.video.len(),
        args.duration
    );
    text += &table::table(names(), &rows).text();
    let mut beside = Table::default();
    beside.texts("", "", names().skip(1));
    let mut column = |group, decimals, with: fn(f64, f64) -> f64, value: Value| {
        for (at, heading) in ["25 %", "median", "75 %"].into_iter().enumerate() {
            let cells = (1..contenders.len()).map(|it| against(cells, it, with, value)[at]);
            beside.numbers(group, heading, decimals, cells);
        }
    };
    column(
        "p95 latency, ratio",
        2,
        |own, first| own / first,
        |it| it.latency_p95,
    );
    column(
        "bitrate, ratio",
        2,
        |own, first| own / first,
        |it| it.bitrate,
    );
    column(
        "SSIM dB, difference",
        2,
        |own, first| own - first,
        |it| it.ssim_db,
    );
    column(
        "VMAF, difference",
        1,
        |own, first| own - first,
        |it| it.vmaf,
    );
    if contenders.len() > 1 {
        text += &format!("\nagainst {}, call by call: quartiles\n\n", first.name);
        text += &beside.text();
    }
    Ok(text + &format!("\n{}\n", table::NOTES))
}

fn json(contenders: &[Contender], all: &[Cell]) -> serde_json::Value {
    let cells = all.iter().map(|cell| {
        json!({
            "name": contenders[cell.contender].name,
            "link": cell.link,
            "video": cell.video,
            "summary": cell.summary,
        })
    });
    let means = contenders
        .iter()
        .enumerate()
        .map(|(place, contender)| json!({ "name": contender.name, "summary": means(all, place) }));
    json!({ "means": means.collect::<Vec<_>>(), "calls": cells.collect::<Vec<_>>() })
}
