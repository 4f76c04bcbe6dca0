//! What a source is, and stills of it:
//!
//! ```sh
//! cargo run --release -p tightloop-live --example footage -- SOURCE [FOLDER [SIZE [EVERY]]]
//! ```
//!
//! With a folder, every `EVERY`-th picture (30) is written there as PPM.

use std::time::Instant;

use tightloop_live::footage::{Footage, FootageSettings};
use tightloop_live::picture::Picture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let source = words
        .next()
        .ok_or("name a file or a generator, as in gen:game")?;
    let folder = words.next();
    let size = words.next().map(|size| size.parse()).transpose()?;
    let every = words.next().map_or(Ok(30), |every| every.parse())?;
    let settings = FootageSettings {
        size,
        ..FootageSettings::default()
    };
    let before = Instant::now();
    let footage = Footage::open(&source, &settings)?;
    let each = before.elapsed().as_secs_f64() * 1e3 / footage.count() as f64;
    println!(
        "{source}: {}, {:.3} pictures a second, {} pictures, {each:.2} ms each to open",
        footage.size(),
        footage.fps(),
        footage.count(),
    );
    for note in footage.notes() {
        println!("  {note}");
    }
    let Some(folder) = folder else { return Ok(()) };
    std::fs::create_dir_all(&folder)?;
    let mut picture = Picture::black(footage.size());
    for number in (0..footage.count()).step_by(every) {
        footage.picture(number, &mut picture)?;
        let path = std::path::Path::new(&folder).join(format!("{number:05}.ppm"));
        std::fs::write(path, ppm(&picture))?;
    }
    Ok(())
}

/// Red, green and blue of BT.601, which is what players show for such pictures.
fn ppm(picture: &Picture) -> Vec<u8> {
    let (width, height) = (picture.size().width(), picture.size().height());
    let mut bytes = format!("P6\n{width} {height}\n255\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            let at = y / 2 * (width / 2) + x / 2;
            let luma = 1.164 * (f64::from(picture.y()[y * width + x]) - 16.0);
            let (u, v) = (
                f64::from(picture.u()[at]) - 128.0,
                f64::from(picture.v()[at]) - 128.0,
            );
            for value in [
                luma + 1.596 * v,
                luma - 0.392 * u - 0.813 * v,
                luma + 2.017 * u,
            ] {
                bytes.push(value.clamp(0.0, 255.0) as u8);
            }
        }
    }
    bytes
}
