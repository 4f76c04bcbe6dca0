//! How each codec of this build follows a target that jumps between 2 and
//! 0.5 Mbit/s every five seconds, what its key frames cost, and how fast it is:
//!
//! ```sh
//! cargo run --release -p tightloop-live --example step_response -- [SOURCE [SIZE [CODEC|all [FILE]]]]
//! ```
//!
//! Without a source it films `gen:gradients`, without a codec it asks all. The
//! last word names a file for the size of every picture: a table, or a drawing
//! where its name ends in `.svg`.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::codec::step::{StepSample, Steps, reactions, step_response};
use tightloop_live::codec::{CODECS, CodecKind, CodecStart, PictureOrder};
use tightloop_live::footage::{Footage, FootageSettings};
use tightloop_live::picture::Picture;

mod plot;

const FPS: i64 = 30;

/// A codec, one of its presets, and the encoder's start.
type Preset = (&'static CodecKind, &'static str, CodecStart);
/// A name, and the size of every picture.
type Panels = Vec<(String, Vec<StepSample>)>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let source = words.next().unwrap_or_else(|| "gen:gradients".to_owned());
    let size = words
        .next()
        .unwrap_or_else(|| "1280x720".to_owned())
        .parse()?;
    let only = words.next().filter(|word| word != "all");
    let file = words.next();
    let settings = FootageSettings {
        size: Some(size),
        fps: Some(30.0),
        longest: Span::from_secs(15),
        ..FootageSettings::default()
    };
    let footage = Footage::open(&source, &settings)?;
    let interval = Span::from_secs(1) / FPS;
    let wanted = |kind: &&CodecKind| only.as_ref().is_none_or(|only| only == kind.name);
    let presets: Vec<Preset> = CODECS
        .iter()
        .filter(wanted)
        .flat_map(|kind| {
            kind.presets.iter().map(move |(preset, params)| {
                let start = CodecStart {
                    params: params(),
                    ..CodecStart::plain(size, interval)
                };
                (kind, *preset, start)
            })
        })
        .collect();
    println!("{source}, {size}, {FPS} pictures a second");
    let (table, panels) = steps(&presets, &footage)?;
    if let Some(path) = file {
        let drawn = path.ends_with(".svg");
        let text = if drawn {
            plot::svg(&panels, interval)
        } else {
            table
        };
        std::fs::write(path, text)?;
    }
    key_frames(&presets, &footage)?;
    speed(&presets, &footage)
}

/// The reactions to a target that jumps; the size of every picture.
fn steps(presets: &[Preset], footage: &Footage) -> Result<(String, Panels), Box<dyn Error>> {
    let mut panels = Vec::new();
    let mut table = String::from("codec,preset,secs,asked_bps,bytes,key\n");
    println!("\ncodec/preset            to Mbit/s  reached s   peak  1st second  skipped");
    for (kind, preset, start) in presets {
        let samples = step_response(kind, start, footage, &Steps::default())?;
        for reaction in reactions(&samples, start.frame_interval) {
            let reached = reaction
                .reached
                .map(|span| format!("{:.2}", span.secs_f64()));
            println!(
                "{:<23} {:>9.1} {:>10} {:>6.2} {:>11.2} {:>8}",
                format!("{}/{preset}", kind.name),
                reaction.to.mbps_f64(),
                reached.unwrap_or_else(|| "never".to_owned()),
                reaction.peak,
                reaction.first_second,
                reaction.skipped,
            );
        }
        for sample in &samples {
            let (secs, asked) = (sample.captured.secs_f64(), sample.asked.as_bps());
            let (bytes, key) = (sample.size.get(), sample.key);
            writeln!(
                table,
                "{},{preset},{secs:.3},{asked},{bytes},{key}",
                kind.name
            )?;
        }
        panels.push((format!("{} {preset}", kind.name), samples));
    }
    Ok((table, panels))
}

/// Key frames asked for every second: their size and that of those after them,
/// over the budget of a frame.
fn key_frames(presets: &[Preset], footage: &Footage) -> Result<(), Box<dyn Error>> {
    println!("\ncodec/preset             Mbit/s  key frame and the 9 after it, over their budget");
    for (kind, preset, start) in presets {
        for rate in [Rate::from_kbps(500), Rate::from_mbps(2)] {
            let mut encoder = (kind.encoder)(start)?;
            let mut picture = Picture::black(footage.size());
            let mut sums = [0.0; 10];
            let seconds = 9;
            for number in 0..FPS * (seconds + 1) {
                footage.picture(number.unsigned_abs(), &mut picture)?;
                let order = PictureOrder {
                    captured: Time::ZERO + start.frame_interval * number,
                    rate,
                    key: number % FPS == 0,
                };
                let coded = encoder.encode(&picture, &order)?;
                let place = usize::try_from(number % FPS)?;
                if number >= FPS && place < sums.len() {
                    let budget = rate.over(start.frame_interval);
                    sums[place] += Bytes::len_of(coded.bytes.len()).ratio(budget) / seconds as f64;
                }
            }
            let sizes: Vec<_> = sums.iter().map(|sum| format!("{sum:.2}")).collect();
            let name = format!("{}/{preset}", kind.name);
            println!("{name:<23} {:>7.1}  {}", rate.mbps_f64(), sizes.join(" "));
        }
    }
    Ok(())
}

/// Milliseconds a picture.
fn speed(presets: &[Preset], footage: &Footage) -> Result<(), Box<dyn Error>> {
    println!("\ncodec/preset            encode ms  decode ms  (of this thread, at 2 Mbit/s)");
    for (kind, preset, start) in presets {
        let mut encoder = (kind.encoder)(start)?;
        let mut decoder = (kind.decoder)()?;
        let mut picture = Picture::black(footage.size());
        let (mut encoding, mut decoding) = (0.0, 0.0);
        let count = 150;
        for number in 0..count {
            footage.picture(number, &mut picture)?;
            let order = PictureOrder {
                captured: Time::ZERO + start.frame_interval * number as i64,
                rate: Rate::from_mbps(2),
                key: false,
            };
            let before = busy();
            let coded = encoder.encode(&picture, &order)?;
            let between = busy();
            if !coded.bytes.is_empty() {
                decoder.decode(&coded.bytes)?;
            }
            encoding += between - before;
            decoding += busy() - between;
        }
        let each = |sum: f64| sum / count as f64 * 1e3;
        let name = format!("{}/{preset}", kind.name);
        println!(
            "{name:<23} {:>9.2} {:>10.2}",
            each(encoding),
            each(decoding)
        );
    }
    Ok(())
}

/// Seconds that this thread was busy, where the system tells; the clock's else.
fn busy() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    // Giving way brings the system's figure up to date.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|told| told.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(
        || START.with(|start| start.elapsed().as_secs_f64()),
        |nanos| nanos / 1e9,
    )
}
