//! `tightloop trace`: explain, convert and make traces.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use tightloop::link::formats::Format;
use tightloop::link::generate::{Lte, Wifi};
use tightloop::link::series::Series;
use tightloop::link::trace::Trace;
use tightloop::settings::{Params, settings};
use tightloop::units::{Rate, Span};

use crate::args::{TraceArgs, TraceCommand};
use crate::out;

/// The most that a file may unpack to.
const LARGEST: u64 = 1 << 30;

/// How wide a rate is drawn.
const WIDTH: usize = 60;

/// A kind of trace to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generator {
    /// A cellular link
    Lte,
    /// A wireless local network
    Wifi,
}

/// Reads a format's name.
pub(crate) fn format() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.iter().map(|format| format.name());
    PossibleValuesParser::new(names).map(|name| {
        let named = Format::named(&name);
        named.expect("the parser lets known names pass")
    })
}

pub(crate) fn main(args: &TraceArgs) -> Result<()> {
    match &args.command {
        None => explain(args),
        Some(TraceCommand::Convert {
            input,
            output,
            from,
            to,
        }) => convert(input, output, *from, *to),
        Some(TraceCommand::Generate {
            kind,
            mean,
            seconds,
            seed,
            set,
            out,
        }) => {
            let params = params(*mean, *seconds, set)?;
            let trace = match kind {
                Generator::Lte => settings::<Lte>(&params).and_then(|it| it.trace(*seed)),
                Generator::Wifi => settings::<Wifi>(&params).and_then(|it| it.trace(*seed)),
            };
            let trace = trace.context("cannot make such a trace")?;
            write(out.as_deref().unwrap_or(Path::new("-")), &trace.write())
        }
    }
}

/// The settings of a generator.
fn params(mean: Option<Rate>, seconds: u32, set: &[String]) -> Result<Params> {
    let mut params = Params::new();
    let duration = Span::from_secs(seconds.into());
    params.insert("duration".into(), duration.to_string().into());
    if let Some(mean) = mean {
        params.insert("mean".into(), mean.to_string().into());
    }
    for assignment in set {
        let (key, value) = assignment
            .split_once('=')
            .with_context(|| format!("--set {assignment}: write KEY=VALUE"))?;
        let value: toml::Value = match format!("it = {value}").parse::<Params>() {
            Ok(mut table) => table.remove("it").unwrap_or_else(|| value.into()),
            Err(_) => value.into(),
        };
        params.insert(key.trim().into(), value);
    }
    Ok(params)
}

/// Reads a trace of any format.
pub(crate) fn read(path: &Path) -> Result<Trace> {
    let text = text(path)?;
    let trace = parse(&text, Format::guess(&text));
    trace.with_context(|| format!("{} is no trace", path.display()))
}

fn parse(text: &str, format: Format) -> Result<Trace> {
    Ok(match format {
        Format::Mahimahi => Trace::parse(text)?,
        other => other.read(text)?.opportunities()?,
    })
}

/// A file's text, unpacked if it is compressed.
fn text(path: &Path) -> Result<String> {
    let place = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .with_context(place)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .take(LARGEST)
            .read_to_end(&mut unpacked)
            .with_context(place)?;
        bytes = unpacked;
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        anyhow!("{} is no text (line {})", path.display(), line + 1)
    })
}

fn write(path: &Path, text: &str) -> Result<()> {
    if path == Path::new("-") {
        return out::print(text);
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn convert(input: &Path, output: &Path, from: Option<Format>, to: Format) -> Result<()> {
    let text = text(input)?;
    let from = from.unwrap_or_else(|| Format::guess(&text));
    let converted = if (from, to) == (Format::Mahimahi, Format::Mahimahi) {
        // Unchanged: as rates it would lose the order within a second.
        Trace::parse(&text)
            .map(|trace| trace.write())
            .map_err(Into::into)
    } else {
        from.read(&text).and_then(|series| to.write(&series))
    };
    let converted =
        converted.with_context(|| format!("cannot read {} as {}", input.display(), from.name()))?;
    write(output, &converted)
}

fn explain(args: &TraceArgs) -> Result<()> {
    let mut all = Vec::new();
    for (place, path) in args.files.iter().enumerate() {
        let text = text(path)?;
        let format = args.from.unwrap_or_else(|| Format::guess(&text));
        let trace = parse(&text, format).with_context(|| {
            format!("{} is no trace (read as {})", path.display(), format.name())
        })?;
        let it = trace.statistics();
        if args.json {
            all.push(json!({
                "file": path,
                "format": format.name(),
                "mean_bps": it.mean.as_bps(),
                "p5_bps": it.p5.as_bps(),
                "p95_bps": it.p95.as_bps(),
                "longest_outage_s": it.outage.secs_f64(),
                "period_s": it.period.secs_f64(),
                "opportunities": it.opportunities,
            }));
            continue;
        }
        let drawn = Drawn::of(&trace)?;
        let gap = if place > 0 { "\n" } else { "" };
        out::print(&format!(
            "{gap}{}\n  \
             format          {}\n  \
             mean            {}\n  \
             p5 / p95 of 1 s {} / {}\n  \
             longest outage  {}\n  \
             period          {}, {} packets of 1500 bytes\n  \
             rate            {}\n                  \
             {} bins of {}, from {} to {}\n",
            path.display(),
            format.name(),
            out::rate(it.mean),
            out::rate(it.p5),
            out::rate(it.p95),
            out::span(it.outage),
            out::span(it.period),
            it.opportunities,
            drawn.line,
            drawn.line.chars().count(),
            out::span(drawn.bin),
            out::rate(drawn.least),
            out::rate(drawn.most),
        ))?;
    }
    if args.json {
        out::json(&json!(all))?;
    }
    Ok(())
}

/// The rate over a period, drawn.
struct Drawn {
    line: String,
    bin: Span,
    least: Rate,
    most: Rate,
}

impl Drawn {
    fn of(trace: &Trace) -> Result<Self> {
        const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let bin = (trace.period() / WIDTH as i64).max(Span::from_millis(1));
        let series = Series::of_trace(trace, bin)?;
        let rates: Vec<Rate> = series.intervals().iter().map(|(_, rate)| *rate).collect();
        let rates = &rates[..rates.len().min(WIDTH)];
        let most = rates.iter().copied().max().unwrap_or_default();
        let block = |rate: &Rate| {
            let share = rate.bps_f64() / most.bps_f64().max(1.0);
            BLOCKS[((share * 8.0) as usize).min(7)]
        };
        Ok(Self {
            line: rates.iter().map(block).collect(),
            bin,
            least: rates.iter().copied().min().unwrap_or_default(),
            most,
        })
    }
}
