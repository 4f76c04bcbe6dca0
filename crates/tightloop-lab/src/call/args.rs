//! What can be typed for calls. The texts here are the manual.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tightloop::units::{Bytes, Rate, Span};
use tightloop_live::call::Fingerprint;
use tightloop_live::picture::Size;

use crate::args::CompareArgs;

/// What is sent, and how: as in `compare`.
#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    /// The pictures: a Y4M, MP4, Matroska or WebM file, or gen:game, gen:gradients, gen:text, gen:cuts
    #[arg(long, value_name = "SOURCE", default_value = "gen:game")]
    pub(crate) video: String,
    /// CONTROLLER or RATE_CONTROL+CONTROLLER, each with :KEY=VALUE settings
    #[arg(long, value_name = "NAME", default_value = "vidaptive+copa")]
    pub(crate) cc: String,
    /// The encoder; `tightloop list encoders` shows all. One that needs no pictures sends zeros
    #[arg(long, value_name = "NAME", default_value = "openh264")]
    pub(crate) encoder: String,
    /// Scale the pictures [default: their own size; 1280x720 for those made here]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Size>,
    /// Frames a second
    #[arg(long, value_name = "NUMBER", default_value_t = 30.0)]
    pub(crate) fps: f64,
    /// The most the encoder is asked for [default: 12 Mbit/s for 1080p, less for smaller pictures]
    #[arg(long, value_name = "RATE")]
    pub(crate) max: Option<Rate>,
    /// What picks a path for each packet, where there are several [default: deadline]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheduler: Option<String>,
    /// Mark packets as ECN-capable
    #[arg(long)]
    pub(crate) ecn: bool,
    /// The largest packet, in IP bytes [default: 1500, or what the way is known to carry]
    #[arg(long, value_name = "SIZE")]
    pub(crate) mtu: Option<Bytes>,
    /// Where all chance comes from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

impl FlowArgs {
    /// The same as a comparison would have it.
    pub(crate) fn comparison(&self, link: &str, duration: Span, delay: Span) -> CompareArgs {
        CompareArgs {
            video: vec![self.video.clone()],
            link: vec![link.to_owned()],
            cc: self.cc.clone(),
            encoder: self.encoder.clone(),
            size: self.size,
            fps: self.fps,
            duration,
            delay,
            max: self.max,
            seed: self.seed,
            vmaf_every: 0,
            jobs: None,
            out: PathBuf::new(),
            json: false,
        }
    }
}

/// Make a real call over an emulated link, and measure it as a simulation is (Linux)
///
/// Both ends run here, the sender in a network namespace behind the link, with real sockets, encryption, encoder and
/// decoder. The folder of results is like that of `run`: `report` and `follow` work on it, and `run` on its
/// scenario.toml simulates the same call.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop call --link traces/lte-like.trace --delay '25 ms' --cc vidaptive+copa --out runs/live
  tightloop call --link '4 Mbit/s' --cc sqp --video clip.mp4 --size 640x360 --save seen.y4m
  tightloop call --link '3 Mbit/s' --delay '10 ms' --link traces/lte-like.trace --delay '30 ms' --scheduler deadline")]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) flow: FlowArgs,
    /// The link: a trace, a scenario (.toml) or a rate such as '4 Mbit/s'; several make several paths
    #[arg(long, value_name = "LINK", default_value = "4 Mbit/s")]
    pub(crate) link: Vec<String>,
    /// Propagation delay, each way, of all links or of each; scenarios have their own
    #[arg(long, value_name = "SPAN", default_value = "25 ms")]
    pub(crate) delay: Vec<Span>,
    /// How long the call lasts
    #[arg(long, value_name = "SPAN", default_value = "20 s")]
    pub(crate) duration: Span,
    /// Let a bulk flow of the kernel's TCP share the (first) link, for example tcp:cubic; may be given several times
    #[arg(long, value_name = "tcp:CONTROLLER")]
    pub(crate) with: Vec<String>,
    /// Keep the received video: a file that ends in .y4m, .mp4 or .h264, - for Y4M on the standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<String>,
    /// Show the call's figures on a page at this address, with /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) board: Option<SocketAddr>,
    /// The folder for results
    #[arg(long, value_name = "DIR", default_value = "runs/call")]
    pub(crate) out: PathBuf,
    /// Replace results of another run
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Send video to a `tightloop receive` elsewhere (Linux)
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop send 192.0.2.7:4433 --pin FINGERPRINT --video clip.mp4 --cc vidaptive+copa
  tightloop send '[2001:db8::7]:4433' --token SECRET --path 192.0.2.1 --path 198.51.100.1 --scheduler ecf")]
pub(crate) struct SendArgs {
    /// The receiver's address and port
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) flow: FlowArgs,
    /// The receiver's fingerprint, which it prints at start
    #[arg(long, value_name = "HEX")]
    pub(crate) pin: Option<Fingerprint>,
    /// A secret that the receiver knows, too [default: $TIGHTLOOP_TOKEN]
    #[arg(long, value_name = "SECRET")]
    pub(crate) token: Option<String>,
    /// A local address to send from; several make several paths
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) path: Vec<std::net::IpAddr>,
    /// How long the call lasts [default: until Ctrl-C]
    #[arg(long, value_name = "SPAN")]
    pub(crate) duration: Option<Span>,
    /// How long the receiver may take to answer
    #[arg(long, value_name = "SPAN", default_value = "10 s")]
    pub(crate) patience: Span,
    /// Show the call's figures on a page at this address, with /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) board: Option<SocketAddr>,
    /// Keep what this end sees in a folder of results
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,
    /// Replace results of another run
    #[arg(long, requires = "events")]
    pub(crate) force: bool,
}

/// Receive a call of a `tightloop send` elsewhere (Linux)
///
/// Prints the fingerprint that senders pin. Ends with the call.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop receive --listen 0.0.0.0:4433 --token SECRET --out seen.y4m
  tightloop receive --out - | ffplay -")]
pub(crate) struct ReceiveArgs {
    /// The address and port to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "[::]:4433")]
    pub(crate) listen: SocketAddr,
    /// A secret that senders must know [default: $TIGHTLOOP_TOKEN]
    #[arg(long, value_name = "SECRET")]
    pub(crate) token: Option<String>,
    /// Keep the certificate in this file, so that its fingerprint stays [default: a new one each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// Where the video goes: a file that ends in .y4m, .mp4 or .h264, - for Y4M on the standard output, null
    #[arg(long, value_name = "FILE", default_value = "null")]
    pub(crate) out: String,
    /// The call is over when the sender has not been heard for this long
    #[arg(long, value_name = "SPAN", default_value = "60 s")]
    pub(crate) patience: Span,
    /// Show the call's figures on a page at this address, with /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) board: Option<SocketAddr>,
    /// Keep what this end sees in a folder of results
    #[arg(long, value_name = "DIR")]
    pub(crate) events: Option<PathBuf>,
    /// Replace results of another run
    #[arg(long, requires = "events")]
    pub(crate) force: bool,
}
