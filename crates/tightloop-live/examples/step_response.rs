//! How each codec of this build follows a target that jumps between 2 and
//! 0.5 Mbit/s every five seconds, and what it costs:
//!
//! ```sh
//! cargo run --release -p tightloop-live --example step_response -- [SOURCE [SIZE [CSV]]]
//! ```
//!
//! Without a source it films `gen:gradients`. The third word names a file for
//! the size of every picture.

use std::fmt::Write as _;
use std::time::Instant;

use tightloop::units::{Bytes, Rate, Span, Time};
use tightloop_live::codec::step::{Steps, reactions, step_response};
use tightloop_live::codec::{CODECS, CodecStart, PictureOrder};
use tightloop_live::footage::{Footage, FootageSettings};
use tightloop_live::picture::Picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let source = words.next().unwrap_or_else(|| "gen:gradients".to_owned());
    let size = words
        .next()
        .unwrap_or_else(|| "1280x720".to_owned())
        .parse()?;
    let csv = words.next();
    let settings = FootageSettings {
        size: Some(size),
        fps: Some(30.0),
        longest: Span::from_secs(15),
        ..FootageSettings::default()
    };
    let footage = Footage::open(&source, &settings)?;
    let interval = Span::from_secs(1) / 30;
    let mut table = String::from("codec,preset,secs,asked_bps,bytes,key\n");
    println!("{source}, {size}, 30 pictures a second");
    println!("codec/preset              to Mbit/s  reached s   peak  1st second  skipped");
    for kind in CODECS {
        for (preset, params) in kind.presets {
            let start = CodecStart {
                params: params(),
                ..CodecStart::plain(size, interval)
            };
            let samples = step_response(kind, &start, &footage, &Steps::default())?;
            for reaction in reactions(&samples, interval) {
                let reached = reaction
                    .reached
                    .map_or("never".into(), |span| format!("{:.2}", span.secs_f64()));
                println!(
                    "{:<25} {:>9.1} {:>10} {:>6.2} {:>11.2} {:>8}",
                    format!("{}/{preset}", kind.name),
                    reaction.to.mbps_f64(),
                    reached,
                    reaction.peak,
                    reaction.first_second,
                    reaction.skipped,
                );
            }
            for sample in samples {
                let (secs, asked) = (sample.captured.secs_f64(), sample.asked.as_bps());
                let (bytes, key) = (sample.size.get(), sample.key);
                writeln!(
                    table,
                    "{},{preset},{secs:.3},{asked},{bytes},{key}",
                    kind.name
                )?;
            }
        }
    }
    println!("\ncodec/preset              encode ms  decode ms  (mean at 2 Mbit/s)  bytes/target");
    for kind in CODECS {
        for (preset, params) in kind.presets {
            let start = CodecStart {
                params: params(),
                ..CodecStart::plain(size, interval)
            };
            let mut encoder = (kind.encoder)(&start)?;
            let mut decoder = (kind.decoder)()?;
            let (mut encoding, mut decoding, mut bytes) = (0.0, 0.0, 0);
            let mut picture = Picture::black(size);
            let count = 150_u64;
            for number in 0..count {
                footage.picture(number, &mut picture)?;
                let order = PictureOrder {
                    captured: Time::ZERO + interval * number as i64,
                    rate: Rate::from_mbps(2),
                    key: false,
                };
                let before = Instant::now();
                let coded = encoder.encode(&picture, &order)?;
                let between = Instant::now();
                if !coded.bytes.is_empty() {
                    decoder.decode(&coded.bytes)?;
                }
                encoding += (between - before).as_secs_f64();
                decoding += between.elapsed().as_secs_f64();
                bytes += coded.bytes.len();
            }
            let each = |sum: f64| sum / count as f64 * 1e3;
            let target = Rate::from_mbps(2).over(interval * count as i64);
            println!(
                "{:<25} {:>9.2} {:>10.2} {:>33.2}",
                format!("{}/{preset}", kind.name),
                each(encoding),
                each(decoding),
                Bytes::len_of(bytes).ratio(target),
            );
        }
    }
    if let Some(path) = csv {
        std::fs::write(path, table)?;
    }
    Ok(())
}
