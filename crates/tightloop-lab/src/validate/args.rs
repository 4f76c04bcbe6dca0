//! What can be typed for flows of the real world.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tightloop::units::{Rate, Span};

/// Hold the simulator against the real world (Linux)
///
/// Runs the kernel's own TCP over an emulated link in real time, our controller of the same name over the same link in a
/// simulation, and prints both and their difference: 20 Mbit/s, 40 ms of round trip and 200 packets of drop-tail, as it
/// is and with steps to 5 Mbit/s and back. Takes as long as the runs last: about ten minutes.
///
/// Runs where `tightloop emulate` runs. The exit status is 1 where a difference is larger than it should be; a busy
/// machine may cause that, so the load is printed, too.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  tightloop validate
  tightloop validate --only cubic --duration '20 s'
  tightloop validate spikes --only bbr
  tightloop validate proxy")]
pub(crate) struct ValidateArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ValidateCommand>,
    /// Only these peers, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How long each run over the steady link lasts; steps take half of it each
    #[arg(long, value_name = "SPAN", default_value = "60 s")]
    pub(crate) duration: Span,
    /// Leave out the link with steps
    #[arg(long)]
    pub(crate) steady: bool,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ValidateCommand {
    Spikes(SpikesArgs),
    Proxy(EqualArgs),
}

/// Drop a link's capacity under kernel TCP, and hold the delay against the bound
///
/// 60 Mbit/s become 60/r after a while, over CoDel that marks (ECN). Before the news of it can be of any effect, a queue
/// of (r − 1)·d has built up, where d is the round trip; r is corrected by what the flow used before. Prints the worst
/// delay of a packet, from the link itself, and the worst round-trip time as the kernel smooths it, beside the bound.
#[derive(Debug, Args)]
pub(crate) struct SpikesArgs {
    /// Only these controllers of the kernel, with commas between
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// How long the link is left alone before the drop
    #[arg(long, value_name = "SPAN", default_value = "20 s")]
    pub(crate) before: Span,
    /// The factors by which the capacity falls
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "2,3"
    )]
    pub(crate) ratios: Vec<u32>,
    /// The round-trip times
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "25 ms,50 ms,75 ms,100 ms"
    )]
    pub(crate) delays: Vec<Span>,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Share a link between two kernel flows with and without a λ-proxy
///
/// Two flows of 10 and 50 ms of round trip over one bottleneck, without a proxy and with one on the acks of each.
#[derive(Debug, Args)]
pub(crate) struct EqualArgs {
    /// The kernel's controller
    #[arg(long, value_name = "NAME", default_value = "bbr")]
    pub(crate) congestion: String,
    /// The bottleneck
    #[arg(long, value_name = "RATE", default_value = "50 Mbit/s")]
    pub(crate) rate: Rate,
    /// Its drop-tail queue
    #[arg(long, value_name = "PACKETS", default_value_t = 2000)]
    pub(crate) packets: u64,
    /// The round-trip times
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "10 ms,50 ms"
    )]
    pub(crate) delays: Vec<Span>,
    /// The round-trip time that all shall see
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    pub(crate) lambda: Span,
    /// How long each run lasts; shares are of its second half
    #[arg(long, value_name = "SPAN", default_value = "60 s")]
    pub(crate) duration: Span,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Run any program behind a λ-proxy (Linux)
///
/// Acks of every TCP flow that the command sends to the outside are delayed until the flow's controller sees a round
/// trip of λ, whatever the path's own is: so that flows behind proxies share a bottleneck alike, wherever they go. The
/// natural round trip is what the kernel's socket statistics have as the flow's minimum, less what has been added.
///
/// It says what it adds to whom, and runs where `tightloop emulate` runs, also behind it:
///   tightloop emulate --up '20 Mbit/s' --delay '10 ms' -- tightloop proxy --lambda '100 ms' -- ./sender
#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// The round-trip time that all flows shall see
    #[arg(long, value_name = "SPAN", default_value = "100 ms")]
    pub(crate) lambda: Span,
    /// Follow the published rule to the letter, which adds too much where a path gets shorter
    #[arg(long)]
    pub(crate) literal: bool,
    /// Run this in a shell on the far side, as long as the command runs; $TIGHTLOOP_NEAR is the command's address
    #[arg(long, value_name = "COMMAND")]
    pub(crate) far: Option<String>,
    /// Ask for no real-time priority
    #[arg(long)]
    pub(crate) no_realtime: bool,
    /// Write what was added, and when: time in seconds, the flow's ends, its minimum RTT and the delay in ms
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// The command and its words [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
