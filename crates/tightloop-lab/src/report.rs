//! `tightloop report`: a page to explore and a figure to show.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::args::ReportArgs;
use crate::out;
use crate::store::REPORT;

pub(crate) mod chart;
pub(crate) mod compose;
pub(crate) mod figure;
pub(crate) mod flows;
mod gather;
mod gauges;
mod links;
pub(crate) mod page;
pub(crate) mod palette;
pub(crate) mod plot;
#[cfg(test)]
mod sample;
mod ticks;

/// Writes the page, and the figure if it is asked for.
pub(crate) fn main(args: &ReportArgs) -> Result<()> {
    let page = compose::page(&args.runs)?;
    let first = args.runs.first().map_or(Path::new(""), |run| run);
    let path = args.out.clone().unwrap_or_else(|| first.join(REPORT));
    write(&path, &page.html())?;
    if let Some(path) = &args.svg {
        write(path, &figure::svg(&page))?;
    }
    Ok(())
}

/// Writes a file and says so.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    out::print(&format!("{}\n", path.display()))
}
