//! What can be typed after `tightloop sensitivity`.

use std::path::PathBuf;

/// Measure how much flows' rates depend on propagation delays
///
/// Runs a scenario once for each of many delay instances, which say what round trip each flow has without queues, and
/// prints each flow's δ: log2 of its highest rate over its lowest. 0 means that delays do not matter, 1 that they make a
/// factor of two. Rates are those at the receivers over the part of the run that the scenario measures.
///
/// A scenario's links may take a part of each round trip; the rest becomes the flow's own delay, half there and half
/// back. Finished instances are kept in the folder: a study that was interrupted goes on where it stopped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Delay sets, in ms; values are a list, 10,20,30, or a range with a step, 10..100/5:
  grid:VALUES          every flow takes each value, in all combinations
  single:FLOW:VALUES   one flow takes each value, all others the first
  symmetric:VALUES     all flows take the same value
  sample:N:FROM..TO    N instances at random, whole ms
  list:12,37;37,12     these instances, one value for each flow"
)]
pub(crate) struct SensitivityArgs {
    /// The scenario, a TOML file
    pub(crate) file: PathBuf,
    /// The delay instances; several sets are measured one after the other
    #[arg(long, value_name = "SET", required = true, num_args = 1..)]
    pub(crate) delays: Vec<String>,
    /// Keep one flow's round trip, in ms, whatever the set says; may be given several times
    #[arg(long, value_name = "FLOW=MS")]
    pub(crate) fix: Vec<String>,
    /// Change a value of the scenario, as for `run`
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where all chance comes from, in place of the scenario's own seed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Of a larger grid, run about so many: a coarse one first, then around the extremes
    #[arg(long, value_name = "NUMBER", default_value_t = 400)]
    pub(crate) most: usize,
    /// Runs at a time [default: one for each processor]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs: Option<usize>,
    /// The folder for results [default: runs/sensitivity-NAME, with the scenario's name]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Run instances again that are in the folder
    #[arg(long)]
    pub(crate) again: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
