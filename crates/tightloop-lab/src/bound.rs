//! `tightloop bound`: what a drop of capacity must cost whoever wants all of it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tightloop::analysis::bound::Step;
use tightloop::units::{Bytes, ParseUnitError, Rate, Span};

use crate::out;
use crate::report;

mod figure;
mod text;
mod track;

/// The frame interval where none is given: 30 frames a second.
const FRAME: Span = Span::from_nanos(33_333_333);

/// Compute the latency spike that no sender can avoid when capacity drops
///
/// Until the news has reached the sender, and what was already under way has arrived, data comes in r times as fast as
/// it leaves: the queue grows to (r − 1) d. Prints that, what is lost where the queue is short, what it does to video,
/// and how much each remedy would help; with --trace, the same for each drop of a recorded link.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tightloop bound --from 60M --to 20M --rtt 50ms
  tightloop bound --from '20 Mbit/s' --to '5 Mbit/s' --signal 15ms --flight 25ms --utilisation 0.9 --frame 16.7ms
  tightloop bound --from 60M --to 20M --rtt 50ms --buffer 40ms --out bound.html
  tightloop bound --trace traces/lte-like.trace --rtt 50ms")]
pub(crate) struct BoundArgs {
    /// The capacity before, for example '60 Mbit/s' or 60M
    #[arg(long, value_name = "RATE", value_parser = rate, required_unless_present = "trace")]
    from: Option<Rate>,
    /// The capacity after
    #[arg(long, value_name = "RATE", value_parser = rate, required_unless_present = "trace")]
    to: Option<Rate>,
    /// Every drop of a trace of any format in place of one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "to", "buffer", "frame"])]
    trace: Option<PathBuf>,
    /// The round trip when nothing waits: half of it each for --signal and --flight where they are not given
    #[arg(long, value_name = "SPAN", default_value = "50 ms")]
    rtt: Span,
    /// From the link to the sender, the way of the news
    #[arg(long, value_name = "SPAN")]
    signal: Option<Span>,
    /// From the sender to the link
    #[arg(long, value_name = "SPAN")]
    flight: Option<Span>,
    /// The most that can wait, as time at the new rate or as bytes [default: no limit]
    #[arg(long, value_name = "SPAN|SIZE", value_parser = amount)]
    buffer: Option<Amount>,
    /// The share of the capacity that is used, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    utilisation: f64,
    /// The time between frames, or the bytes of one [default: 30 frames a second]
    #[arg(long, value_name = "SPAN|SIZE", value_parser = amount)]
    frame: Option<Amount>,
    /// Also write a page with a plot; a picture alone where its name ends in .svg
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the numbers as JSON: rates in bit/s, times in seconds, sizes in bytes
    #[arg(long)]
    json: bool,
}

/// Time or bytes.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Span(Span),
    Bytes(Bytes),
}

/// Reads a rate; where only a multiple is given, of bit/s.
fn rate(text: &str) -> Result<Rate, ParseUnitError> {
    let multiple = text.ends_with(['k', 'M', 'G']);
    text.parse().or_else(|error| {
        let spelt = || format!("{text}bit/s").parse();
        if multiple { spelt() } else { Err(error) }
    })
}

fn amount(text: &str) -> Result<Amount, ParseUnitError> {
    let size = || text.parse().map(Amount::Bytes);
    text.parse()
        .map(Amount::Span)
        .or_else(|error| size().map_err(|_| error))
}

pub(crate) fn main(args: &BoundArgs) -> Result<()> {
    let flight = args.flight.unwrap_or(args.rtt / 2);
    let signal = args.signal.unwrap_or(args.rtt - args.rtt / 2);
    if flight < Span::ZERO || signal < Span::ZERO {
        bail!("news from the future: give --rtt, --signal and --flight that are not negative");
    }
    if !(args.utilisation > 0.0 && args.utilisation <= 1.0) {
        let used = args.utilisation;
        bail!("--utilisation {used} is not above 0 and up to 1; 0.9 uses nine tenths of the link");
    }
    if let Some(path) = &args.trace {
        return track::main(args, path, signal + flight);
    }
    let (Some(before), Some(after)) = (args.from, args.to) else {
        bail!("give --from and --to, or --trace");
    };
    let step = Step::new(before, after, args.rtt)
        .context("nothing is left at --to 0: what waits, waits for as long as the outage lasts")?;
    let mut step = Step {
        signal,
        flight,
        used: args.utilisation,
        ..step
    };
    step.limit = match args.buffer {
        Some(Amount::Span(span)) => Some(span.max(Span::ZERO)),
        Some(Amount::Bytes(bytes)) => bytes.at(after),
        None => None,
    };
    let interval = match args.frame {
        Some(Amount::Span(span)) => span,
        Some(Amount::Bytes(bytes)) => bytes.at(before * args.utilisation).unwrap_or_default(),
        None => FRAME,
    };
    if !interval.is_positive() {
        bail!("--frame is no time between frames and no size; try 33.3ms or 50kB");
    }
    if args.json {
        out::json(&json(&step, interval))?;
    } else {
        out::print(&text::step(&step, interval))?;
    }
    match &args.out {
        Some(path) => write(path, &figure::step(&step), &text::step(&step, interval)),
        None => Ok(()),
    }
}

/// A picture alone, or a page with the text too.
fn write(path: &Path, figure: &str, text: &str) -> Result<()> {
    let alone = path.extension().is_some_and(|extension| extension == "svg");
    if alone {
        report::write(path, figure)
    } else {
        report::write(path, &figure::page(figure, text))
    }
}

fn json(step: &Step, interval: Span) -> serde_json::Value {
    let frames = step.frames(interval);
    let (lost, lost_share) = step.lost();
    let knobs = step.knobs().into_iter().map(|knob| {
        json!({
            "name": knob.name,
            "how": knob.how,
            "granted": knob.granted,
            "spike_s": knob.spike.secs_f64(),
            "change_s": (knob.spike - step.spike()).secs_f64(),
            "lost": knob.lost,
        })
    });
    json!({
        "r": step.before.ratio(step.after),
        "r_eff": step.ratio(),
        "d_s": step.d().secs_f64(),
        "spike_s": step.spike().secs_f64(),
        "wait_s": step.wait().secs_f64(),
        "lost_bytes": lost.get(),
        "lost": lost_share,
        "frame": {
            "size_bytes": frames.size.get(),
            "before_s": frames.before.secs_f64(),
            "after_s": frames.after.secs_f64(),
            "late_s": frames.late.secs_f64(),
            "left_out": frames.left_out,
        },
        "knobs": knobs.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_may_be_a_multiple_alone() {
        for (text, mbps) in [("60M", 60), ("60 Mbit/s", 60), ("0.06G", 60), ("2000k", 2)] {
            assert_eq!(rate(text), Ok(Rate::from_mbps(mbps)), "{text}");
        }
        let error = rate("60").expect_err("no unit").to_string();
        assert!(error.contains("60"), "{error}");
        assert!(rate("fastM").is_err());
    }

    #[test]
    fn an_amount_is_time_or_bytes() {
        assert!(matches!(amount("40ms"), Ok(Amount::Span(it)) if it == Span::from_millis(40)));
        assert!(matches!(amount("50 kB"), Ok(Amount::Bytes(it)) if it == Bytes::new(50_000)));
        assert!(amount("50").is_err());
    }
}
