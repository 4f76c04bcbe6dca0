//! A walk through a maze in first person, as in early shooters: textured walls
//! and floor, turns that outrun the eye, sprites, a weapon, a status bar.

use super::texture::{Texture, hash, uniform};
use super::{Canvas, Colour, Scene, glyphs};
use crate::picture::{Picture, Size};

/// Cells of the maze along each side.
const CELLS: i64 = 24;
/// Of the cells off the path, the part that is wall.
const WALLS: f64 = 0.4;
/// How far from the path there are no walls, in cells.
const CLEARANCE: f64 = 0.9;
/// Walking speed in cells a second.
const SPEED: f64 = 2.6;
/// Pixels of a texture in a cell.
const GRAIN: f64 = 64.0;
/// How many sprites stand in the maze.
const SPRITES: u64 = 22;
/// The part of the height that the status bar has.
const BAR: usize = 9;

/// Wall chroma by kind: brick, moss, slate, sandstone.
const KINDS: [[u8; 2]; 4] = [[112, 158], [116, 118], [138, 122], [104, 142]];

/// The film.
pub(super) struct Game {
    seed: u64,
    stone: Texture,
    walls: Vec<bool>,
}

/// Where the player is and looks.
#[derive(Clone, Copy)]
struct Player {
    x: f64,
    y: f64,
    /// Unit vector of the view.
    ahead: (f64, f64),
    /// How far the horizon bobs, in heights.
    bob: f64,
}

/// A wall that a ray meets.
struct Hit {
    distance: f64,
    /// Where on the wall, in [0, 1).
    along: f64,
    kind: usize,
    /// Walls along one axis are darker, as if light came from a side.
    dark: bool,
}

impl Game {
    pub(super) fn new(seed: u64, _size: Size) -> Self {
        let mut walls = vec![false; (CELLS * CELLS) as usize];
        let path: Vec<(f64, f64)> = (0..2000).map(|step| place(f64::from(step) * 0.2)).collect();
        for (index, wall) in walls.iter_mut().enumerate() {
            let (x, y) = (index as i64 % CELLS, index as i64 / CELLS);
            let edge = x == 0 || y == 0 || x == CELLS - 1 || y == CELLS - 1;
            let near = path.iter().any(|(px, py)| {
                let (dx, dy) = (px - x as f64 - 0.5, py - y as f64 - 0.5);
                dx.abs().max(dy.abs()) < CLEARANCE
            });
            *wall = edge || (!near && uniform(seed, index as u64) < WALLS);
        }
        Self {
            seed,
            stone: Texture::fractal(seed, 8, 5, 0.7),
            walls,
        }
    }

    fn wall(&self, x: i64, y: i64) -> bool {
        let inside = (0..CELLS).contains(&x) && (0..CELLS).contains(&y);
        !inside || self.walls[(y * CELLS + x) as usize]
    }

    fn player(&self, secs: f64) -> Player {
        let way = secs * SPEED;
        let ((x, y), (next_x, next_y)) = (place(way), place(way + 0.3));
        let along = libm::atan2(next_y - y, next_x - x);
        // Looks around: slowly always, and a fast turn and back now and then.
        let look = 0.35 * libm::sin(0.9 * secs);
        let turns = (secs / 1.7) as u64;
        let flick = (uniform(self.seed, 5000 + turns) - 0.5) * 3.4;
        let part = secs / 1.7 % 1.0;
        let turned = if part < 0.18 {
            part / 0.18
        } else if part < 0.6 {
            1.0
        } else if part < 0.78 {
            (0.78 - part) / 0.18
        } else {
            0.0
        };
        let angle = along + look + flick * turned * turned * (3.0 - 2.0 * turned);
        Player {
            x,
            y,
            ahead: (libm::cos(angle), libm::sin(angle)),
            bob: 0.008 * libm::sin(way * 4.0),
        }
    }

    /// Walks along a ray, cell by cell.
    fn cast(&self, player: &Player, ray: (f64, f64)) -> Hit {
        let (mut x, mut y) = (player.x as i64, player.y as i64);
        let step = |part: f64| if part < 0.0 { (-1, -part) } else { (1, part) };
        let ((step_x, size_x), (step_y, size_y)) = (step(ray.0), step(ray.1));
        let (every_x, every_y) = (1.0 / size_x.max(1e-9), 1.0 / size_y.max(1e-9));
        let first = |at: f64, step: i64| {
            if step < 0 {
                at.fract()
            } else {
                1.0 - at.fract()
            }
        };
        let mut next_x = first(player.x, step_x) * every_x;
        let mut next_y = first(player.y, step_y) * every_y;
        loop {
            let dark = next_x < next_y;
            let distance = if dark { next_x } else { next_y };
            if dark {
                x += step_x;
                next_x += every_x;
            } else {
                y += step_y;
                next_y += every_y;
            }
            if self.wall(x, y) {
                let along = if dark {
                    player.y + distance * ray.1
                } else {
                    player.x + distance * ray.0
                };
                let kind = hash(self.seed ^ (x / 3 * 31 + y / 3) as u64) as usize % KINDS.len();
                return Hit {
                    distance: distance.max(0.05),
                    along: along - along.floor(),
                    kind,
                    dark,
                };
            }
        }
    }

    /// The colour of a wall at a place of it, both in pixels of its texture.
    fn masonry(&self, hit: &Hit, across: i64, down: i64) -> Colour {
        let stone = f64::from(self.stone.at(across + hit.kind as i64 * 64, down));
        // Joints: courses of 16, half a brick apart.
        let course = down.div_euclid(16);
        let joint = down.rem_euclid(16) < 1 || (across + course % 2 * 16).rem_euclid(32) < 1;
        let luma = if joint { 60.0 } else { 78.0 + 0.55 * stone };
        let light = if hit.dark { 0.72 } else { 1.0 };
        let [u, v] = KINDS[hit.kind];
        shade([(luma * light) as u8, u, v], hit.distance)
    }

    fn columns(&self, canvas: &mut Canvas<'_>, player: &Player, view: usize) -> Vec<f64> {
        let tall = view as f64;
        let horizon = tall * (0.5 + player.bob);
        let (rays, scale) = rays(canvas.width, player, tall);
        let mut depths = Vec::with_capacity(canvas.width);
        for (x, ray) in rays.iter().enumerate() {
            let hit = self.cast(player, *ray);
            let high = scale / hit.distance;
            let top = (horizon - high / 2.0).max(0.0) as usize;
            let bottom = ((horizon + high / 2.0).max(0.0) as usize).min(view);
            let across = (hit.along * GRAIN) as i64;
            for y in top..bottom {
                let down = (y as f64 - horizon + high / 2.0) / high * GRAIN;
                canvas.put(x, y, self.masonry(&hit, across, down as i64));
            }
            for y in (0..top).chain(bottom..view) {
                canvas.put(
                    x,
                    y,
                    self.ground(player, *ray, y as f64 + 0.5 - horizon, scale),
                );
            }
            depths.push(hit.distance);
        }
        depths
    }

    /// Floor below the horizon, sky above.
    fn ground(&self, player: &Player, ray: (f64, f64), below: f64, scale: f64) -> Colour {
        if below <= 0.0 {
            let angle = libm::atan2(ray.1, ray.0);
            let high = (-below / scale * 160.0) as i64;
            let cloud = self.stone.at((angle * 81.5) as i64, high);
            return [150 + cloud / 4, 146, 112];
        }
        let distance = scale / 2.0 / below;
        let (x, y) = (player.x + distance * ray.0, player.y + distance * ray.1);
        let stone = self.stone.at((x * GRAIN) as i64, (y * GRAIN) as i64);
        let tile = (x.floor() as i64 + y.floor() as i64) % 2 == 0;
        let luma = 62 + stone / 4 + if tile { 22 } else { 0 };
        shade([luma, 120, 132], distance)
    }

    /// Things that stand and some that move, the farthest first.
    fn sprites(
        &self,
        canvas: &mut Canvas<'_>,
        player: &Player,
        secs: f64,
        view: usize,
        depths: &[f64],
    ) {
        let tall = view as f64;
        let horizon = tall * (0.5 + player.bob);
        let scale = tall;
        let mut seen: Vec<(f64, f64, u64)> = (0..SPRITES)
            .map(|number| {
                // Along the path, where it is free, to its side.
                let way = uniform(self.seed, 7000 + number) * 300.0;
                let moves = if number % 3 == 0 { 1.3 * secs } else { 0.0 };
                let (x, y) = place(way + moves);
                let side = (uniform(self.seed, 8000 + number) - 0.5) * 0.9;
                let (dx, dy) = (x + side - player.x, y - side - player.y);
                let depth = dx * player.ahead.0 + dy * player.ahead.1;
                let aside = dy * player.ahead.0 - dx * player.ahead.1;
                (depth, aside, number)
            })
            .filter(|(depth, ..)| *depth > 0.4)
            .collect();
        seen.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (depth, aside, number) in seen {
            let high = scale / depth * 0.55;
            let middle = canvas.width as f64 / 2.0 + aside / depth * scale;
            let foot = horizon + scale / depth / 2.0;
            let left = (middle - high / 3.0).max(0.0) as usize;
            let right = ((middle + high / 3.0).max(0.0) as usize).min(canvas.width);
            for x in (left..right).filter(|x| depth < depths[*x]) {
                let across = (x as f64 - middle) / (high / 3.0);
                let (top, bottom) = (
                    (foot - high).max(0.0) as usize,
                    (foot.max(0.0) as usize).min(view),
                );
                for y in top..bottom {
                    let down = (y as f64 - foot + high) / high;
                    if let Some(colour) = self.body(number, across, down) {
                        canvas.put(x, y, shade(colour, depth));
                    }
                }
            }
        }
    }

    /// A barrel or a beast: colour at a place across [-1, 1] and down [0, 1].
    fn body(&self, number: u64, across: f64, down: f64) -> Option<Colour> {
        let grain = i16::from(self.stone.at((across * 32.0) as i64, (down * 64.0) as i64)) - 128;
        let lit = |luma: f64| {
            (luma * (1.0 - 0.55 * across * across) + f64::from(grain) / 6.0).clamp(18.0, 232.0)
                as u8
        };
        if !number.is_multiple_of(3) {
            let hoop = (down * 5.0).fract() < 0.12;
            let inside = across.abs() < 0.62 + 0.1 * libm::sin(down * std::f64::consts::PI);
            return inside.then(|| [lit(if hoop { 60.0 } else { 130.0 }), 112, 150]);
        }
        let head = across * across / 0.16 + (down - 0.16) * (down - 0.16) / 0.024 < 1.0;
        let trunk = across.abs() < 0.75 - 0.35 * (down - 0.3).abs() && (0.28..0.7).contains(&down);
        let legs = down >= 0.68 && (0.1..0.5).contains(&across.abs());
        let eyes = (down - 0.15).abs() < 0.03 && (across.abs() - 0.16).abs() < 0.06;
        if eyes {
            return Some([220, 90, 170]);
        }
        (head || trunk || legs).then(|| [lit(105.0), 104, 126])
    }

    /// What does not turn with the world.
    fn instruments(&self, canvas: &mut Canvas<'_>, secs: f64, view: usize) {
        let (width, height) = (canvas.width, canvas.height);
        let dot = (height / 200).max(1);
        // The weapon sways with the steps.
        let sway = (libm::sin(secs * SPEED * 2.0) * 0.02 * width as f64) as i64;
        let left = (width as i64 * 46 / 100 + sway).max(0) as usize;
        let (barrel, long) = (width / 12, view / 5);
        let fires = secs * 1.9 % 1.0 < 0.12;
        for y in view - long..view {
            let wide = barrel * (y + 2 * long - (view - long)) / (3 * long).max(1);
            let from = (left + barrel / 2).saturating_sub(wide / 2);
            for x in from..(from + wide).min(width) {
                let gleam = 50 + (120 * (x - from).min(wide - (x - from)) / wide.max(1)) as u8;
                canvas.put(x, y, [gleam, 130, 126]);
            }
        }
        if fires {
            let side = barrel;
            let top = (view - long).saturating_sub(side / 2);
            canvas.fill(left, top, side, side / 2, [228, 60, 150]);
        }
        let (middle, centre) = (width / 2, view / 2);
        canvas.fill(
            middle.saturating_sub(4 * dot),
            centre,
            8 * dot,
            dot,
            [225, 100, 100],
        );
        canvas.fill(
            middle,
            centre.saturating_sub(4 * dot),
            dot,
            8 * dot,
            [225, 100, 100],
        );
        canvas.fill(0, view, width, height - view, [52, 126, 132]);
        canvas.fill(0, view, width, dot, [150, 126, 132]);
        let shots = 200_u64.saturating_sub((secs * 1.9) as u64 % 200);
        let health = 100 - (secs * 0.8) as u64 % 100;
        let line = view + 4 * dot;
        glyphs::number(canvas, (width / 12, line), shots, dot, [200, 90, 170]);
        glyphs::number(canvas, (width / 3, line), health, dot, [200, 90, 170]);
        let score = (secs * 10.0) as u64 * 25;
        glyphs::number(canvas, (width * 2 / 3, line), score, dot, [200, 140, 110]);
    }
}

/// The path: a closed curve that stays inside the maze and crosses itself.
fn place(way: f64) -> (f64, f64) {
    // A radian of the curve is about 25 cells long.
    let at = way / 25.0;
    let middle = CELLS as f64 / 2.0;
    let reach = middle - 2.5;
    (
        middle + reach * libm::sin(2.0 * at + 0.7),
        middle + reach * libm::sin(3.0 * at),
    )
}

/// A ray for each column, of length 1 along the view, and the height of a wall
/// at distance 1 in pixels.
fn rays(width: usize, player: &Player, tall: f64) -> (Vec<(f64, f64)>, f64) {
    let (dx, dy) = player.ahead;
    let half = width as f64 / 2.0;
    let across = |x: usize| (x as f64 + 0.5 - half) / tall;
    let ray = |aside: f64| (dx - aside * dy, dy + aside * dx);
    let rays = (0..width).map(|x| ray(across(x))).collect();
    (rays, tall)
}

/// Darker in the distance.
fn shade([luma, u, v]: Colour, distance: f64) -> Colour {
    let light = (1.25 / (1.0 + 0.14 * distance)).min(1.0);
    let fade = |value: u8| (128.0 + (f64::from(value) - 128.0) * light) as u8;
    let luma = 16.0 + (f64::from(luma) - 16.0).max(0.0) * light;
    [luma.clamp(16.0, 235.0) as u8, fade(u), fade(v)]
}

impl Scene for Game {
    fn paint(&self, secs: f64, _shot: u64, picture: &mut Picture) {
        let mut canvas = Canvas::new(picture);
        let view = (canvas.height - canvas.height / BAR).max(1);
        let player = self.player(secs);
        let depths = self.columns(&mut canvas, &player, view);
        self.sprites(&mut canvas, &player, secs, view, &depths);
        self.instruments(&mut canvas, secs, view);
    }
}
