//! `tightloop compare`: several controllers, the same video, the same link.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value as Json, json};

use crate::args::CompareArgs;
use crate::out;
use crate::report;
use crate::store::REPORT;
use crate::studio::Studio;

mod call;
pub(crate) mod contender;
mod grid;
pub(crate) mod plan;
pub(crate) mod screen;
mod table;
mod verdict;
pub(crate) mod viewing;

pub(crate) use contender::USUAL;

use call::{Call, Outcome};
use plan::Plan;
use verdict::Verdict;

/// How wide a still is, in pixels. Ours: two pictures that fit a page and show
/// coding errors.
const STILL_WIDTH: usize = 1280;
/// No still is taken of the first so many seconds, in which every call is at its
/// worst. Ours.
const SETTLING: f64 = 3.0;

/// Compares.
pub(crate) fn main(args: &CompareArgs) -> Result<()> {
    let contenders = contender::list(&args.cc)?;
    if args.video.len() > 1 || args.link.len() > 1 {
        return grid::main(args, &contenders);
    }
    let video = args.video.first().map_or("", |video| video);
    let plan = Plan::of(args, video, args.link.first().map(String::as_str))?;
    let bars = MultiProgress::new();
    let studio = Studio::default();
    let calls: Vec<Call> = contenders
        .iter()
        .map(|contender| Call::of(&plan, contender, args, args.out.clone(), true))
        .collect::<Result<_>>()?;
    film(&calls, &studio, &bars)?;
    let outcomes = all(&calls, jobs(args), |call| call.make(&studio, &bars))?;
    let records: Vec<_> = outcomes.iter().map(Outcome::record).collect();
    let verdict = verdict::choose(&records);
    let page = page(&plan, &calls, &outcomes, verdict.as_ref())?;
    let path = args.out.join(REPORT);
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    if args.json {
        return out::json(&json_of(&outcomes, verdict.as_ref(), &path));
    }
    let mut text = String::new();
    if let Some(verdict) = &verdict {
        text += &format!("{}\n\n", verdict.sentence);
    }
    text += &format!("{video}, {}, {}\n\n", plan.link, plan.duration());
    let names = outcomes.iter().map(|it| it.name.clone());
    let rows: Vec<_> = outcomes.iter().map(Outcome::summary).collect();
    text += &table::table(names, &rows).text();
    text += &format!("\n{}\n", table::NOTES);
    text += &format!("open {}\n", path.display());
    out::print(&text)
}

/// Calls at a time.
fn jobs(args: &CompareArgs) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    args.jobs.unwrap_or(processors).max(1)
}

/// Opens the footage, with a bar: all calls share it.
fn film(calls: &[Call], studio: &Studio, bars: &MultiProgress) -> Result<()> {
    let Some(call) = calls.first() else {
        return Ok(());
    };
    let bar = bars.add(ProgressBar::new(1).with_prefix("pictures"));
    let style = ProgressStyle::with_template("{prefix:16} {bar:30} {pos} of {len}, {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    call.film(studio, &mut |progress| {
        bar.set_length(progress.of.unwrap_or(progress.decoded).max(1));
        bar.set_position(progress.decoded);
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// Makes all calls, so many at a time, and keeps of each what `make` returns.
fn all<T: Send>(
    calls: &[Call],
    jobs: usize,
    make: impl Fn(&Call) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<T>>>> = calls.iter().map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for _ in 0..jobs.min(calls.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(call) = calls.get(place) else {
                        return;
                    };
                    let made = make(call);
                    if let Ok(mut slot) = done[place].lock() {
                        *slot = Some(made);
                    }
                }
            });
        }
    });
    let made = done.into_iter().zip(calls).map(|(slot, call)| {
        let made = slot.into_inner().ok().flatten();
        let made = made.unwrap_or_else(|| Err(anyhow::anyhow!("the call broke off")));
        made.with_context(|| call.name().to_owned())
    });
    made.collect()
}

/// The page: every call's plots laid over each other, the choice, and stills of
/// the moment that was worst for all together.
fn page(
    plan: &Plan,
    calls: &[Call],
    outcomes: &[Outcome],
    verdict: Option<&Verdict>,
) -> Result<String> {
    let folders: Vec<PathBuf> = outcomes.iter().map(|it| it.folder.clone()).collect();
    let mut page = report::compose::page(&folders)?;
    // A file by its name alone: where it is stands in the scenarios.
    let video = Path::new(&plan.video);
    let video = video.file_name().unwrap_or(video.as_os_str());
    page.title = format!("{} over {}", video.to_string_lossy(), plan.link);
    page.subtitle = format!("{} controllers, {}", calls.len(), plan.duration());
    for (run, outcome) in page.runs.iter_mut().zip(outcomes) {
        run.name.clone_from(&outcome.name);
        run.finding = None;
        if let Some(flow) = run
            .flows
            .iter_mut()
            .filter(|flow| !flow.part)
            .nth(plan.call)
        {
            flow.summary = outcome.summary();
        }
    }
    if let Some(verdict) = verdict {
        page.verdict = Some((verdict.sentence.clone(), verdict.rule.clone()));
    }
    if let Some(place) = worst(outcomes) {
        for outcome in outcomes {
            page.stills.extend(outcome.still(place, STILL_WIDTH)?);
        }
    }
    Ok(page.html())
}

/// The frame at which the pictures of all calls together were worst.
fn worst(outcomes: &[Outcome]) -> Option<usize> {
    let measured: Vec<_> = outcomes.iter().filter_map(|it| it.measured()).collect();
    let frames = measured.iter().map(|it| it.frames().len()).min()?;
    let settled = outcomes
        .first()?
        .place_at(SETTLING)
        .min(frames.saturating_sub(1));
    let sum = |place: usize| -> f64 { measured.iter().map(|it| it.frames()[place].ssim).sum() };
    (settled..frames).min_by(|a, b| sum(*a).total_cmp(&sum(*b)))
}

fn json_of(outcomes: &[Outcome], verdict: Option<&Verdict>, page: &Path) -> Json {
    json!({
        "choice": verdict.map(|verdict| json!({
            "name": outcomes[verdict.winner].name,
            "sentence": verdict.sentence,
            "rule": verdict.rule,
        })),
        "calls": outcomes.iter().map(Outcome::json).collect::<Vec<_>>(),
        "page": page,
    })
}
