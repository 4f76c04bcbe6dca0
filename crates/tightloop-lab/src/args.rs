//! What can be typed. The texts here are the manual.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use tightloop::link::formats::Format;
use tightloop::units::{Rate, Span};
use tightloop_live::picture::Size;

mod emulate;

pub(crate) use emulate::EmulateArgs;

use crate::bound::BoundArgs;
#[cfg(target_os = "linux")]
use crate::call::args::{CallArgs, ReceiveArgs, SendArgs};
use crate::papers::args::PapersArgs;
use crate::trace::{Generator, format};
#[cfg(target_os = "linux")]
use crate::validate::args::{ProxyArgs, ValidateArgs};
use crate::{compare, sensitivity};

/// Congestion control for low-latency interactive video, tried out
///
/// A scenario is one TOML file: links, flows, how long. `run` simulates it in virtual time, the same to the last bit
/// on every machine, and leaves a folder of results; `report` and `follow` explain what is in such a folder.
///
/// Results go to the standard output, progress and complaints to the standard error. The exit status is 0 if all is
/// well, 1 if a metric is outside the band that is expected, 2 if something could not be done.
#[derive(Debug, Parser)]
#[command(
    name = "tightloop",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(after_help = "First steps:
  tightloop compare
  tightloop compare --video clip.mp4 --link traces/lte-like.trace --cc sqp,gcc,copa
  tightloop run scenarios/hello.toml --out runs/hello
  tightloop report runs/hello
  tightloop follow runs/hello --frame 120
  tightloop list")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Compare(CompareArgs),
    Run(RunArgs),
    Report(ReportArgs),
    Follow(FollowArgs),
    Papers(PapersArgs),
    List(ListArgs),
    Trace(TraceArgs),
    Sensitivity(sensitivity::SensitivityArgs),
    Bound(BoundArgs),
    Emulate(EmulateArgs),
    #[cfg(target_os = "linux")]
    Call(CallArgs),
    #[cfg(target_os = "linux")]
    Send(SendArgs),
    #[cfg(target_os = "linux")]
    Receive(ReceiveArgs),
    #[cfg(target_os = "linux")]
    Validate(ValidateArgs),
    #[cfg(target_os = "linux")]
    Proxy(ProxyArgs),
    /// Print a script that completes this command in a shell
    ///
    /// For bash: tightloop completions bash > ~/.local/share/bash-completion/completions/tightloop
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Try several controllers on the same video and link, and say which to choose
///
/// Encodes real pictures with a real encoder, sends them over a simulated link under each controller, decodes what
/// arrived, and measures what a viewer would have seen. Time is virtual: a call takes as long as its encoding and
/// decoding, and calls run side by side. Prints a table and writes a page with plots and stills; each call's folder can
/// be explored with `tightloop report` and `tightloop follow`. With several videos or links it prints means over all of
/// them, and everyone against the first controller, call by call.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The pictures: a Y4M, MP4, Matroska or WebM file, or gen:game, gen:gradients, gen:text, gen:cuts
    ///
    /// A clip shorter than the call runs to and fro. Of several, each is tried over each link, and the table has means.
    #[arg(long, value_name = "SOURCE", num_args = 1.., default_value = "gen:game")]
    pub(crate) video: Vec<String>,
    /// The link: a trace, a scenario (.toml) or a rate such as '4 Mbit/s' [default: an LTE-like trace, made at random]
    ///
    /// A trace or rate becomes a link with an endless queue, as in Mahimahi. Of a scenario, the first video flow is the
    /// call; all else stays as it is. Of several, each is tried with each video.
    #[arg(long, value_name = "LINK", num_args = 1..)]
    pub(crate) link: Vec<String>,
    /// Who is compared, with commas between: CONTROLLER or RATE_CONTROL+CONTROLLER, each with :KEY=VALUE settings
    ///
    /// Examples: sqp,gcc,cubic; vidaptive+copa; copa:delta=0.1; follow:share=0.9+copa
    #[arg(long, value_name = "LIST", default_value = compare::USUAL)]
    pub(crate) cc: String,
    /// The encoder; `tightloop list encoders` shows all. One that needs no pictures makes a call without them
    #[arg(long, value_name = "NAME", default_value = "openh264")]
    pub(crate) encoder: String,
    /// Scale the pictures [default: their own size; 1280x720 for those made here]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Size>,
    /// Frames a second
    #[arg(long, value_name = "NUMBER", default_value_t = 30.0)]
    pub(crate) fps: f64,
    /// How long each call lasts
    #[arg(long, value_name = "SPAN", default_value = "20 s")]
    pub(crate) duration: Span,
    /// Propagation delay, each way; scenarios have their own
    #[arg(long, value_name = "SPAN", default_value = "25 ms")]
    pub(crate) delay: Span,
    /// The most the encoder is asked for [default: 12 Mbit/s for 1080p, less for smaller pictures]
    #[arg(long, value_name = "RATE")]
    pub(crate) max: Option<Rate>,
    /// Where all chance comes from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Take VMAF of every so many frames, 0 for none: it is by far the slowest measure
    #[arg(long, value_name = "NUMBER", default_value_t = 15)]
    pub(crate) vmaf_every: u32,
    /// Calls at a time [default: one for each processor]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs: Option<usize>,
    /// The folder for results
    #[arg(long, value_name = "DIR", default_value = "runs/compare")]
    pub(crate) out: PathBuf,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Simulate a scenario and print what it was like
///
/// Prints a table of the flows and one of the links, checks what the scenario expects, and leaves a folder of results:
/// scenario.toml (with every default written out), run.json, summary.json (every metric) and events-*.parquet (all
/// that happened, documented in docs/EVENTS.md).
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The scenario, a TOML file
    pub(crate) file: PathBuf,
    /// Change a value of the scenario; may be given several times
    ///
    /// Keys are dotted, with numbers for places in lists. Examples: --set flow.0.cc=copa, --set flow.0.cc.delta=0.1,
    /// --set link.bottleneck.rate='5 Mbit/s', --set duration='10 s'
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Where all chance comes from, in place of the scenario's own seed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// The folder for results [default: runs/NAME-ID, with the scenario's name and the run's id]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace results of another run
    #[arg(long)]
    pub(crate) force: bool,
    /// Keep no events: faster, but then nothing can be reported or followed
    #[arg(long)]
    pub(crate) no_log: bool,
    /// Print the summary as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a page of plots from one run, or of several laid over each other
///
/// The page is one HTML file that needs no network: rates against capacity, delays, frame latencies, queues and what
/// the controllers thought, with values under the pointer and zoom by dragging.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders of results
    #[arg(required = true, value_name = "DIR")]
    pub(crate) runs: Vec<PathBuf>,
    /// The page's file [default: report.html in the first folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also draw rate and delay as a picture for a document
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// Tell the life of one frame or packet
///
/// Each step with its time and the time since the step before: captured, encoded, sent, queued, left, arrived, shown.
#[derive(Debug, Args)]
pub(crate) struct FollowArgs {
    /// A folder of results
    #[arg(value_name = "DIR")]
    pub(crate) run: PathBuf,
    #[command(flatten)]
    pub(crate) whom: Whom,
    /// The flow, by name or number
    #[arg(long, default_value = "0")]
    pub(crate) flow: String,
    /// The path that the packet took
    #[arg(long, default_value_t = 0, requires = "packet")]
    pub(crate) path: u8,
    /// Print the steps as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Whom {
    /// A video frame, by its number from 0
    #[arg(long, value_name = "NUMBER")]
    pub(crate) frame: Option<u32>,
    /// A data packet, by its number from 0 on its path
    #[arg(long, value_name = "NUMBER")]
    pub(crate) packet: Option<u64>,
}

/// List what there is to choose from, each with its source
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only this list
    pub(crate) what: Option<Registry>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A list of names that scenarios may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Registry {
    /// What decides how fast a flow may send: flow.N.cc
    Controllers,
    /// What a link does with packets that wait: link.NAME.queue
    Queues,
    /// What turns a controller's word into orders for the encoder: flow.N.video.rate_control
    RateControls,
    /// What turns frames into bytes: flow.N.video.encoder
    Encoders,
    /// What picks a path for each packet: flow.N.scheduler
    Schedulers,
    /// The scenarios in the folder ./scenarios
    Scenarios,
    /// What can be measured, and expected: expect."flow.0.owd.p95"
    Metrics,
    /// What the event log says of each event: runs/DIR/events-*.parquet
    Columns,
}

/// Explain, convert or make traces of what a link could deliver
///
/// Without a command, explains files: mean rate, spread, longest outage, period, and a line drawn of the rate. Files
/// may be compressed with gzip.
///
/// Formats: mahimahi (a line per 1500-byte packet, its time in ms), csv (end_ms,kbps), pensieve (seconds Mbit/s),
/// alphartc (JSON) and netem (netem-trace's JSON). Links of scenarios take files of any of them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TraceCommand>,
    /// Traces to explain
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The files' format, where it cannot be told from their beginning
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub(crate) from: Option<Format>,
    /// Print the numbers as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Write a trace in another format
    Convert {
        /// The trace
        input: PathBuf,
        /// The file to write; - for the standard output
        output: PathBuf,
        /// Its format, where it cannot be told from its beginning
        #[arg(long, value_name = "FORMAT", value_parser = format())]
        from: Option<Format>,
        /// The format to write
        #[arg(long, value_name = "FORMAT", value_parser = format(), default_value = "mahimahi")]
        to: Format,
    },
    /// Make a trace at random, the same for the same seed
    ///
    /// lte: fading, outages, and a scheduler that serves packets in clumps. wifi: bursts after random gaps, a physical
    /// rate that moves in steps, busy neighbours. No cell or station is modelled: these are links with the features
    /// that matter to a congestion controller.
    Generate {
        /// What it should be like
        kind: Generator,
        /// The mean rate, for example '8 Mbit/s' [default: 12 Mbit/s for lte, 25 Mbit/s for wifi]
        #[arg(long, value_name = "RATE")]
        mean: Option<Rate>,
        /// How long it is; links repeat it
        #[arg(long, value_name = "NUMBER", default_value_t = 60)]
        seconds: u32,
        /// Where all chance comes from
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        seed: u64,
        /// Change one of the other properties, for example outage_every='10 s'; a wrong name lists them all
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// The file to write; without it, the standard output
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}
