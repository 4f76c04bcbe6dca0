//! What can be typed after `tightloop papers`.

use std::path::PathBuf;

use clap::Args;

/// Reproduce experiments of the papers: runs, bands, and the figures beside the closed forms
///
/// Without names, lists what there is. Each experiment is run with several seeds; of each quantity that the paper makes
/// a claim of, the median must lie within a band that was set before it was measured. Leaves a page for each
/// experiment, with the figure on the paper's axes.
///
/// The exit status is 0 if every band is held, 1 if one is missed, 2 if something could not be done.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop papers
  tightloop papers sqp/fig5b
  tightloop papers sqp --seeds 3 --out runs/sqp")]
pub(crate) struct PapersArgs {
    /// Experiments such as sqp/fig5b, or all of a paper: sqp
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// How many seeds
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// Runs at a time [default: one for each processor]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs: Option<usize>,
    /// The folder for pages
    #[arg(long, value_name = "DIR", default_value = "runs/papers")]
    pub(crate) out: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
