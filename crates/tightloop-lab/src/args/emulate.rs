//! What can be typed for `emulate`. The texts here are the manual.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use tightloop::units::Span;

/// Run any program behind an emulated link, in real time (Linux)
///
/// The command runs in a network namespace of its own, and whatever it sends to the outside or gets from there crosses
/// the link: the same model as in simulations. $TIGHTLOOP_BASE ($TIGHTLOOP_BASE6) is the address of the outside, where
/// this was typed; --far starts a program there. Without a command, it starts a shell. Links nest.
///
/// Runs as root, or as anybody where the kernel lets users make namespaces; then the outside, too, is a namespace of its
/// own, so use --far. At start it measures what this machine can carry and how punctually; at the end it says what
/// crossed the link, how late, and whether that was more than it can do.
///
/// On a terminal a meter shows what crosses the link: in the terminal's title while a shell has the terminal, in a line
/// while a command writes there, and in full, with the last minute, where the command's output goes elsewhere: --output,
/// --quiet, or the standard output redirected to a file. In the last case, what the command says on its standard error
/// appears above the meter.
///
/// The exit status is the command's. If that is 0, it is 1 where --strict finds that the machine was not up to it, and 2
/// where a log could not be written.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop emulate --up '12 Mbit/s' --down traces/lte-like.trace --delay '20 ms' -- ping -c 3 $TIGHTLOOP_BASE
  tightloop emulate --up '20 Mbit/s' --delay '20 ms' --queue droptail:packets=200 --far 'iperf3 -s -1' -- \\
    sh -c 'sleep 1; iperf3 -c $TIGHTLOOP_BASE'
  tightloop emulate --down '8 Mbit/s' --queue droptail:packets=50 --output curl.log -- curl -O http://$TIGHTLOOP_BASE/
  tightloop emulate --scenario scenarios/hello.toml --events runs/live -- ./client
  tightloop emulate --delay '40 ms' -- tightloop emulate --up '5 Mbit/s' --queue codel:ecn=true")]
pub(crate) struct EmulateArgs {
    /// From the command to the outside: a rate such as '12 Mbit/s', or a trace of any format [default: no limit]
    #[arg(long, value_name = "TRACE|RATE")]
    pub(crate) up: Option<String>,
    /// From the outside to the command
    #[arg(long, value_name = "TRACE|RATE")]
    pub(crate) down: Option<String>,
    /// How long packets fly, each way
    #[arg(long, value_name = "SPAN")]
    pub(crate) delay: Option<Span>,
    /// The queue of each way, for example droptail:packets=200, droptail:time=100ms, codel, codel:ecn=true
    /// [default: infinite, as in Mahimahi]
    #[arg(long, value_name = "NAME:KEY=VALUE,…")]
    pub(crate) queue: Option<String>,
    /// The chance of loss, each way: 0.01, 1%, or in bursts gilbert:to_bad=0.01,to_good=0.3
    #[arg(long, value_name = "CHANCE")]
    pub(crate) loss: Option<String>,
    /// Delay that differs from packet to packet, each way: 5ms for evenly up to that, or gaussian:sigma=5ms,reorder=true
    #[arg(long, value_name = "SPAN|NAME:KEY=VALUE,…")]
    pub(crate) jitter: Option<String>,
    /// Change any setting that a scenario's link has, of one way; may be given several times
    ///
    /// Examples: --set up.loss=0.01, --set down.delay='80 ms', --set up.queue.packets=50
    #[arg(long, value_name = "up.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Take the links from a scenario: the command sends what the first flow sends
    #[arg(long, value_name = "FILE", conflicts_with_all = ["up", "down", "delay", "queue", "loss", "jitter", "set"])]
    pub(crate) scenario: Option<PathBuf>,
    /// The flow of the scenario whose path is meant, by name or number
    #[arg(long, value_name = "FLOW", default_value = "0", requires = "scenario")]
    pub(crate) flow: String,
    /// Play traces once; then nothing is delivered any more
    #[arg(long)]
    pub(crate) once: bool,
    /// Where all chance comes from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Run this in a shell on the far side, as long as the command runs; $TIGHTLOOP_NEAR is the command's address
    #[arg(long, value_name = "COMMAND")]
    pub(crate) far: Option<String>,
    /// Write logs as Mahimahi's: FILE.up and FILE.down
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Capture packets on both sides, for Wireshark and tcpdump
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Keep all events in a folder of results, for `tightloop report`: flow 0 is all that goes up, flow 1 all that
    /// comes down
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,
    /// Replace results of another run
    #[arg(long, requires = "events")]
    pub(crate) force: bool,
    /// Fail where the machine was not up to it
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not measure the machine first
    #[arg(long)]
    pub(crate) no_calibration: bool,
    /// Ask for no real-time priority
    #[arg(long)]
    pub(crate) no_realtime: bool,
    /// What the command prints, errors too, goes to this file; the terminal has the full meter
    #[arg(long, value_name = "FILE", requires = "command")]
    pub(crate) output: Option<PathBuf>,
    /// What the command prints, errors too, goes nowhere; the terminal has the full meter
    #[arg(long, requires = "command", conflicts_with = "output")]
    pub(crate) quiet: bool,
    /// Show no meter
    #[arg(long)]
    pub(crate) no_meter: bool,
    /// The command and its words [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
