//! Scenes that differ in light, colour, texture and motion, cut hard.

use super::Scene;
use super::camera::{Camera, Look};
use super::texture::{hash, uniform};
use crate::picture::{Picture, Size};

/// Scenes before one comes again.
const SCENES: u64 = 7;
/// The shortest and the longest scene in seconds.
const LENGTHS: (f64, f64) = (1.0, 4.0);

/// The film.
pub(super) struct Cuts {
    /// Each scene, and the second at which it ends.
    scenes: Vec<(Camera, f64)>,
}

impl Cuts {
    pub(super) fn new(seed: u64, size: Size) -> Self {
        let mut end = 0.0;
        let scenes = (0..SCENES).map(|number| {
            let seed = hash(seed ^ (number << 32));
            let chance = |key: u64, low: f64, high: f64| low + (high - low) * uniform(seed, key);
            // Bright and dark take turns, so that a cut is one.
            let bright = if number % 2 == 0 { 40.0 } else { 0.0 };
            let look = Look {
                luma: chance(100, 70.0, 110.0) + bright,
                light: chance(101, 15.0, 50.0),
                relief: chance(102, 25.0, 75.0),
                chroma: [chance(103, 95.0, 160.0), chance(104, 95.0, 160.0)],
                pan: [chance(105, -0.25, 0.25), chance(106, -0.08, 0.08)],
                pace: chance(107, 0.5, 2.5),
                noise: chance(108, 0.8, 2.0),
                coarse: 4 + (hash(seed) % 4) as u32,
            };
            end += chance(109, LENGTHS.0, LENGTHS.1);
            (Camera::new(seed, size, &look), end)
        });
        Self {
            scenes: scenes.collect(),
        }
    }
}

impl Scene for Cuts {
    fn paint(&self, secs: f64, shot: u64, picture: &mut Picture) {
        let whole = self.scenes.last().map_or(1.0, |(_, end)| *end);
        let within = secs % whole;
        let scene = self.scenes.iter().find(|(_, end)| within < *end);
        if let Some((camera, _)) = scene {
            camera.paint(within, shot, picture);
        }
    }
}
