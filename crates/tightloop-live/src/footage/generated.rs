//! Four films nobody had to shoot: pictures made of a seed, at any size.
//!
//! Motion is in real time, so that more pictures a second show the same film
//! more smoothly. Sizes scale with the picture's height.

use std::fmt;

use crate::picture::{Picture, Size};

mod camera;
mod cuts;
mod game;
mod glyphs;
mod text;
mod texture;

/// Every generator.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "gradients",
        summary: "a room before a moving camera: soft gradients, a moving figure, sensor noise",
        new: |film| Box::new(camera::Camera::new(film.seed, film.size, &camera::ROOM)),
    },
    Generator {
        name: "cuts",
        summary: "scenes of 1 to 4 seconds that differ in everything, with hard cuts",
        new: |film| Box::new(cuts::Cuts::new(film.seed, film.size)),
    },
    Generator {
        name: "text",
        summary: "a page of text in a window, scrolled by someone who reads",
        new: |film| Box::new(text::Page::new(film.seed, film.size)),
    },
    Generator {
        name: "game",
        summary: "a walk through a maze in first person: fast turns, sprites, status bar",
        new: |film| Box::new(game::Game::new(film.seed, film.size)),
    },
];

/// An entry of [`GENERATORS`].
#[derive(Clone, Copy)]
pub struct Generator {
    /// The name, which sources write after `gen:`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    new: fn(&Film) -> Box<dyn Scene>,
}

impl Generator {
    /// The film of this seed at this size.
    #[must_use]
    pub fn film(&self, seed: u64, size: Size) -> Film {
        let mut film = Film {
            seed,
            size,
            scene: Box::new(Nothing),
        };
        film.scene = (self.new)(&film);
        film
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generator({})", self.name)
    }
}

/// A generated film: any of its pictures, in any order.
pub struct Film {
    seed: u64,
    size: Size,
    scene: Box<dyn Scene>,
}

impl Film {
    /// The picture at `secs` seconds. Pictures taken at the same moment are the
    /// same, noise included; `shot` is the picture's number, which the sensor's
    /// noise depends on.
    #[must_use]
    pub fn picture(&self, secs: f64, shot: u64) -> Picture {
        let mut picture = Picture::black(self.size);
        self.paint(secs, shot, &mut picture);
        picture
    }

    /// The same, over a picture of the film's size.
    pub(super) fn paint(&self, secs: f64, shot: u64, picture: &mut Picture) {
        self.scene.paint(secs, shot, picture);
    }
}

impl fmt::Debug for Film {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Film({}, seed {})", self.size, self.seed)
    }
}

/// What a film shows.
trait Scene: Send + Sync {
    /// Paints every pixel of a picture.
    fn paint(&self, secs: f64, shot: u64, picture: &mut Picture);
}

struct Nothing;

impl Scene for Nothing {
    fn paint(&self, _secs: f64, _shot: u64, _picture: &mut Picture) {}
}

/// A colour: luma and the two chroma values.
type Colour = [u8; 3];

/// A canvas that takes colours pixel by pixel; chroma is that of the upper left
/// of four pixels.
struct Canvas<'a> {
    width: usize,
    height: usize,
    planes: [&'a mut [u8]; 3],
}

impl<'a> Canvas<'a> {
    fn new(picture: &'a mut Picture) -> Self {
        let (width, height) = (picture.size().width(), picture.size().height());
        Self {
            width,
            height,
            planes: picture.planes_mut(),
        }
    }

    fn put(&mut self, x: usize, y: usize, [luma, u, v]: Colour) {
        self.planes[0][y * self.width + x] = luma;
        if x.is_multiple_of(2) && y.is_multiple_of(2) {
            let at = y / 2 * (self.width / 2) + x / 2;
            self.planes[1][at] = u;
            self.planes[2][at] = v;
        }
    }

    /// A rectangle, as much of it as is on the canvas.
    fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Colour) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(self.width) {
                self.put(column, row, colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(one: &Picture, other: &Picture) -> f64 {
        let pairs = one.y().iter().zip(other.y());
        let sum: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        sum as f64 / one.size().pixels() as f64
    }

    fn size() -> Size {
        Size::new(320, 180).expect("a size")
    }

    #[test]
    fn a_seed_gives_one_film_and_another_seed_another() {
        for generator in GENERATORS {
            let (one, again) = (generator.film(7, size()), generator.film(7, size()));
            let other = generator.film(8, size());
            for shot in [0, 31, 400] {
                let secs = shot as f64 / 30.0;
                let picture = one.picture(secs, shot);
                assert_eq!(picture, again.picture(secs, shot), "{generator:?}");
                let far = difference(&picture, &other.picture(secs, shot));
                assert!(far > 2.0, "{generator:?}: {far}");
            }
        }
    }

    #[test]
    fn films_use_the_range_of_video_and_move() {
        for generator in GENERATORS {
            let film = generator.film(1, size());
            let pictures: Vec<_> = (0..60)
                .map(|shot| film.picture(shot as f64 / 30.0, shot))
                .collect();
            let first = &pictures[0];
            let (least, most) = (first.y().iter().min(), first.y().iter().max());
            assert!(least >= Some(&16) && most <= Some(&235), "{generator:?}");
            assert!(most > Some(&150) && least < Some(&60), "{generator:?}");
            let coloured = |plane: &[u8]| plane.iter().any(|value| value.abs_diff(128) > 10);
            assert!(coloured(first.u()) || coloured(first.v()), "{generator:?}");
            let moved = difference(&pictures[0], &pictures[59]);
            assert!(moved > 1.0, "{generator:?}: {moved}");
        }
    }

    #[test]
    fn cuts_change_everything_at_once_and_games_turn_fast() {
        let steps = |name: &str| -> Vec<f64> {
            let generator = GENERATORS.iter().find(|entry| entry.name == name);
            let size = Size::new(160, 90).expect("a size");
            let film = generator.expect("it exists").film(1, size);
            let pictures: Vec<Picture> = (0..240)
                .map(|shot| film.picture(shot as f64 / 30.0, shot))
                .collect();
            let pairs = pictures.windows(2);
            pairs.map(|pair| difference(&pair[0], &pair[1])).collect()
        };
        let cuts = steps("cuts");
        let hard = cuts.iter().filter(|step| **step > 15.0).count();
        assert!((2..=8).contains(&hard), "{hard} cuts in eight seconds");
        let (game, camera) = (steps("game"), steps("gradients"));
        let mean = |steps: &[f64]| steps.iter().sum::<f64>() / steps.len() as f64;
        assert!(
            mean(&game) > 2.0 * mean(&camera),
            "{} {}",
            mean(&game),
            mean(&camera)
        );
        let fastest = game.iter().fold(0.0, |most: f64, step| most.max(*step));
        assert!(fastest > 1.5 * mean(&game), "{fastest} {}", mean(&game));
    }

    #[test]
    fn the_smallest_and_odd_shapes_are_painted() {
        for generator in GENERATORS {
            for (width, height) in [(16, 16), (2, 64), (64, 2)] {
                let size = Size::new(width, height).expect("a size");
                let picture = generator.film(3, size).picture(1.5, 45);
                assert_eq!(picture.size(), size);
            }
        }
    }
}
