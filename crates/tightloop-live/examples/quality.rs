//! Milliseconds a frame of each figure takes, at 1280 x 720 and on one thread:
//!
//! ```sh
//! cargo run --release -p tightloop-live --features vmaf --example quality
//! ```
//!
//! Wants a quiet machine. Content does not matter to PSNR and SSIM, and little
//! to VMAF; it is noise that moves.

use std::num::NonZeroU32;
use std::time::Instant;

use tightloop_live::picture::{Picture, Size};
use tightloop_live::quality::psnr::Mse;
use tightloop_live::quality::ssim::{self, Similarity};
use tightloop_live::quality::vmaf::Settings;
use tightloop_live::quality::{Error, Meter};

/// Frames per measurement, and measurements of which the fastest counts.
const FRAMES: usize = 60;
const ROUNDS: usize = 5;

fn main() -> Result<(), Error> {
    let size = Size::new(1280, 720).expect("even");
    let sources: Vec<Picture> = (0..4).map(|frame| noise(size, frame, 0)).collect();
    let shown: Vec<Picture> = (0..4).map(|frame| noise(size, frame, 6)).collect();
    let pairs = || sources.iter().zip(&shown).cycle().take(FRAMES);

    report("PSNR, three planes", || {
        pairs().try_for_each(|(a, b)| Mse::of(a, b).map(drop))
    })?;
    report("SSIM, luma", || {
        pairs().try_for_each(|(a, b)| ssim::luma(a, b).map(drop))
    })?;
    report("SSIM, three planes", || {
        pairs().try_for_each(|(a, b)| Similarity::of(a, b).map(drop))
    })?;
    report("meter without VMAF", || measure(size, pairs(), None))?;
    for every in [1, 3, 5, 15] {
        let settings = Settings {
            every: NonZeroU32::new(every).expect("not zero"),
            ..Settings::default()
        };
        let name = format!("meter, VMAF every {every}");
        match report(&name, || measure(size, pairs(), Some(settings))) {
            Err(Error::NoVmaf) => println!("{}", Error::NoVmaf),
            other => other?,
        }
    }
    Ok(())
}

fn measure<'a>(
    size: Size,
    pairs: impl Iterator<Item = (&'a Picture, &'a Picture)>,
    vmaf: Option<Settings>,
) -> Result<(), Error> {
    let mut meter = Meter::new(size, vmaf)?;
    for (source, shown) in pairs {
        meter.push(source, shown)?;
    }
    meter.finish().map(drop)
}

fn report(name: &str, mut work: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut fastest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    println!("{name:24} {:7.3} ms a frame", fastest * 1000.0 / 60.0);
    Ok(())
}

/// A gradient that moves, with `noise` bits of noise.
fn noise(size: Size, frame: usize, noise: u32) -> Picture {
    let mut picture = Picture::black(size);
    let mut state = 1_u32;
    for (at, sample) in picture.bytes_mut().iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let slope = (at % size.width() + 3 * frame) / 8 % 128;
        let bits = u8::try_from(state >> 28 >> (4 - noise.min(4))).expect("four bits");
        *sample = u8::try_from(64 + slope).expect("below 192") + bits;
    }
    picture
}
