//! From a source to kept pictures: read, scaled, chosen by time.

use std::ops::ControlFlow;
use std::path::Path;

use super::generated::GENERATORS;
use super::scale::Scaler;
use super::spool::Spool;
use super::{Footage, FootageSettings, Kind, Pictures, Progress, matroska, mp4, open_file, y4m};
use crate::picture::{Picture, Size};

/// Frame rates that are meant where one is nearly met.
const RATES: [f64; 10] = [
    24_000.0 / 1001.0,
    24.0,
    25.0,
    30_000.0 / 1001.0,
    30.0,
    48.0,
    50.0,
    60_000.0 / 1001.0,
    60.0,
    120.0,
];

/// How near, as a part of the rate: clocks of containers count milliseconds.
const NEAR: f64 = 4e-4;

/// Seconds that rounding may make of nothing: of two pictures equally near, the
/// earlier is shown.
const ROUNDING: f64 = 1e-9;

/// What generated pictures are where nothing is said.
const GENERATED: (usize, usize, f64) = (1280, 720, 30.0);

/// Opens a source.
pub(super) fn shoot(
    source: &str,
    settings: &FootageSettings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Footage, String> {
    if let Some(name) = source.strip_prefix("gen:") {
        return generate(source, name, settings, progress);
    }
    let path = Path::new(source);
    let (file, kind) = open_file(path)?;
    let mut cutter = Cutter::new(settings, settings.fps);
    let mut notes = Vec::new();
    let mut decoded = 0;
    {
        let total = std::cell::Cell::new(None);
        let mut tell = |count: Option<u64>, note: Option<String>| {
            total.set(count.or(total.get()));
            notes.extend(note);
        };
        let mut sink = |picture: Picture, secs: f64| {
            decoded += 1;
            let of = total.get();
            progress(Progress { decoded, of });
            cutter.take(picture, secs)
        };
        match kind {
            Kind::Y4m => y4m::read(file, &mut tell, &mut sink)?,
            Kind::Mp4 => mp4::read(file, &mut tell, &mut sink)?,
            Kind::Matroska => matroska::read(file, &mut tell, &mut sink)?,
        }
    }
    cutter.footage(source, settings, notes)
}

fn generate(
    source: &str,
    name: &str,
    settings: &FootageSettings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Footage, String> {
    let generator = GENERATORS.iter().find(|entry| entry.name == name);
    let generator = generator.ok_or_else(|| {
        let names: Vec<_> = GENERATORS.iter().map(|entry| entry.name).collect();
        format!(
            "there is no generator of this name: use gen: and one of {}",
            names.join(", ")
        )
    })?;
    let (width, height, fps) = GENERATED;
    let size = settings.size.or(Size::new(width, height));
    let size = size.ok_or("no size")?;
    let fps = settings.fps.unwrap_or(fps);
    let film = generator.film(settings.seed, size);
    if settings.on_demand {
        return Ok(Footage {
            name: source.to_owned(),
            size,
            fps,
            repeat: settings.repeat,
            notes: Vec::new(),
            pictures: Pictures::Painted(film),
        });
    }
    let count = ((settings.longest.secs_f64() * fps).round() as u64).max(1);
    let mut cutter = Cutter::new(settings, Some(fps));
    let painters = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let mut shot = 0;
    while shot < count {
        let shots = shot..(shot + painters).min(count);
        let secs = |shot: u64| shot as f64 / fps;
        let painted: Vec<Picture> = std::thread::scope(|scope| {
            let film = &film;
            let paint = |shot| scope.spawn(move || film.picture(secs(shot), shot));
            let painting: Vec<_> = shots.clone().map(paint).collect();
            let join = |painter: std::thread::ScopedJoinHandle<'_, _>| painter.join();
            painting.into_iter().map(join).collect::<Result<_, _>>()
        })
        .map_err(|_| "a picture could not be painted")?;
        for (picture, number) in painted.into_iter().zip(shots) {
            progress(Progress {
                decoded: number + 1,
                of: Some(count),
            });
            let _ = cutter.take(picture, secs(number))?;
        }
        shot += painters;
    }
    cutter.footage(source, settings, Vec::new())
}

/// Chooses pictures by their time and keeps them.
struct Cutter<'a> {
    settings: &'a FootageSettings,
    /// The rate asked for; without one, every picture is kept.
    fps: Option<f64>,
    scaler: Option<Scaler>,
    /// What is kept, and the size of it.
    spool: Option<(Spool, Size)>,
    /// The picture before, its time, and its place where it is kept already.
    last: Option<(Picture, f64, Option<u32>)>,
    /// The source's first time.
    start: f64,
    /// Times of the pictures kept, for the rate that was not asked for.
    times: Vec<f64>,
    kept: Vec<u32>,
    source_size: Option<Size>,
    taken: u64,
}

impl<'a> Cutter<'a> {
    fn new(settings: &'a FootageSettings, fps: Option<f64>) -> Self {
        Self {
            settings,
            fps,
            scaler: None,
            spool: None,
            last: None,
            start: 0.0,
            times: Vec::new(),
            kept: Vec::new(),
            source_size: None,
            taken: 0,
        }
    }

    /// Takes the source's next picture.
    fn take(&mut self, picture: Picture, secs: f64) -> Result<ControlFlow<()>, String> {
        if self.taken == 0 {
            self.start = secs;
            self.source_size = Some(picture.size());
        }
        self.taken += 1;
        let secs = secs - self.start;
        if secs >= self.settings.longest.secs_f64() - 1e-6 {
            return Ok(ControlFlow::Break(()));
        }
        let picture = self.scaled(picture)?;
        match self.fps {
            None => {
                let place = self.keep(&picture)?;
                self.kept.push(place);
                self.times.push(secs);
            }
            Some(fps) => {
                if let Some((_, before, _)) = self.last {
                    self.show_last(|due| due - before < secs - due + ROUNDING, fps)?;
                }
                self.last = Some((picture, secs, None));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn scaled(&mut self, picture: Picture) -> Result<Picture, String> {
        let size = picture.size();
        // A stream may change its size; footage does not.
        let to = match &self.spool {
            Some((_, to)) => *to,
            None => self.settings.size.unwrap_or(size),
        };
        if self.spool.is_none() {
            let spool = Spool::new(self.settings.folder.as_deref(), to)?;
            self.spool = Some((spool, to));
        }
        let scaler = match &mut self.scaler {
            Some(scaler) if scaler.from() == size => scaler,
            other => other.insert(Scaler::new(size, to)),
        };
        Ok(scaler.scale(picture))
    }

    fn keep(&mut self, picture: &Picture) -> Result<u32, String> {
        let (spool, _) = self.spool.as_mut().ok_or("no picture yet")?;
        spool.write(picture.bytes())
    }

    /// Shows the picture before at every moment due that is nearest to it.
    fn show_last(&mut self, nearest: impl Fn(f64) -> bool, fps: f64) -> Result<(), String> {
        while nearest(self.kept.len() as f64 / fps) {
            let Some((picture, secs, place)) = self.last.take() else {
                break;
            };
            let place = match place {
                Some(place) => place,
                None => self.keep(&picture)?,
            };
            self.kept.push(place);
            self.last = Some((picture, secs, Some(place)));
        }
        Ok(())
    }

    /// All that was taken.
    fn footage(
        mut self,
        source: &str,
        settings: &FootageSettings,
        mut notes: Vec<String>,
    ) -> Result<Footage, String> {
        let fps = match self.fps {
            Some(fps) => {
                let last = self.last.as_ref().map(|(_, secs, _)| *secs);
                if let Some(last) = last {
                    let half = last / (self.taken.max(2) - 1) as f64 / 2.0;
                    self.show_last(|due| due <= last + half.max(0.0), fps)?;
                }
                fps
            }
            None => {
                let fps = rate(&self.times)?;
                self.kept = even(&self.times, &self.kept, fps);
                fps
            }
        };
        let (spool, size) = self.spool.ok_or("has no picture: is it video?")?;
        if let Some(from) = self.source_size
            && from != size
        {
            notes.push(format!("scaled from {from} to {size}"));
        }
        Ok(Footage {
            name: source.to_owned(),
            size,
            fps,
            repeat: settings.repeat,
            notes,
            pictures: Pictures::Kept(self.kept, spool),
        })
    }
}

/// The rate of pictures at these times: the mean, and where that is nearly a
/// usual one, the usual one.
fn rate(times: &[f64]) -> Result<f64, String> {
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Err("has no picture: is it video?".into());
    };
    if times.len() == 1 {
        return Ok(GENERATED.2);
    }
    let mean = (times.len() - 1) as f64 / (last - first);
    if !(0.5..=1001.0).contains(&mean) {
        return Err(format!(
            "its pictures' times make no sense: {} within {:.3} s",
            times.len(),
            last - first
        ));
    }
    let off = |rate: &f64| (mean / rate - 1.0).abs();
    let nearest = RATES
        .iter()
        .min_by(|one, other| off(one).total_cmp(&off(other)));
    // The shorter a clip, the more its rounded times matter.
    let near = NEAR * (1.0 + 30.0 / times.len() as f64);
    let usual = nearest.filter(|rate| off(rate) < near);
    Ok(usual.copied().unwrap_or(mean))
}

/// For each moment of an even rate, the picture nearest in time.
fn even(times: &[f64], kept: &[u32], fps: f64) -> Vec<u32> {
    let mut at = 0;
    (0..times.len())
        .map(|number| {
            let due = number as f64 / fps;
            let off = |at: usize| (times[at] - due).abs();
            let nearer = |at: usize| off(at + 1) + ROUNDING < off(at);
            while at + 1 < times.len() && nearer(at) {
                at += 1;
            }
            kept[at]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footage::Repeat;

    #[test]
    fn clocks_of_milliseconds_give_usual_rates_and_every_picture_once() {
        let times: Vec<f64> = (0..200)
            .map(|n| (f64::from(n) * 1001.0 / 30.0).round() / 1000.0)
            .collect();
        let fps = rate(&times).expect("a rate");
        assert!((fps - 30_000.0 / 1001.0).abs() < 1e-9, "{fps}");
        let kept: Vec<u32> = (0..200).collect();
        assert_eq!(even(&times, &kept, fps), kept);
    }

    #[test]
    fn a_rate_that_changes_becomes_its_mean() {
        let slow = (0..50).map(|n| f64::from(n) / 25.0);
        let fast = (0..60).map(|n| 2.0 + f64::from(n) / 30.0);
        let times: Vec<f64> = slow.chain(fast).collect();
        let fps = rate(&times).expect("a rate");
        assert!((27.3..27.5).contains(&fps), "{fps}");
        let shown = even(&times, &(0..110).collect::<Vec<_>>(), fps);
        assert!(shown.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!((shown[0], shown[109]), (0, 109));
    }

    #[test]
    fn times_without_sense_are_refused() {
        assert!(rate(&[]).is_err());
        assert!(
            rate(&[0.0, 0.0, 0.0])
                .expect_err("refused")
                .contains("no sense")
        );
        assert!(rate(&[0.0, 50.0]).is_err());
        assert_eq!(rate(&[0.0]), Ok(30.0));
    }
    #[test]
    fn pictures_painted_on_demand_are_those_painted_before_and_never_end() {
        for generator in GENERATORS {
            let source = format!("gen:{}", generator.name);
            let settings = FootageSettings {
                size: Size::new(64, 48),
                longest: tightloop::units::Span::from_millis(500),
                repeat: Repeat::FromTheStart,
                ..FootageSettings::default()
            };
            let before = Footage::open(&source, &settings).expect("footage");
            let on_demand = FootageSettings {
                on_demand: true,
                ..settings
            };
            let painted = Footage::open(&source, &on_demand).expect("footage");
            assert_eq!((before.count(), painted.count()), (15, u64::MAX));
            let mut pictures = [Picture::black(before.size()), Picture::black(before.size())];
            for number in [9, 0, 14] {
                let [one, other] = &mut pictures;
                before.picture(number, one).expect("a picture");
                painted.picture(number, other).expect("a picture");
                assert!(one == other, "{source} {number}");
            }
            let [first, later] = &mut pictures;
            painted.picture(0, first).expect("a picture");
            painted.picture(15, later).expect("a picture");
            assert!(first != later, "{source}");
        }
    }
}
