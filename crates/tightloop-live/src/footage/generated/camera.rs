//! A camera: a wall with texture in uneven light, a figure before it, a hand
//! that sways a little, and the sensor's noise.

use super::texture::{Grain, ONE, Texture, uniform};
use super::{Canvas, Scene};
use crate::picture::{Picture, Size};

/// What a scene before the camera looks like.
pub(super) struct Look {
    /// The mean luma of the wall, and how far light and texture change it.
    pub(super) luma: f64,
    pub(super) light: f64,
    pub(super) relief: f64,
    /// The wall's chroma.
    pub(super) chroma: [f64; 2],
    /// The camera's pan, in heights a second, beside its sway.
    pub(super) pan: [f64; 2],
    /// How fast the figure moves: 1 is someone who talks.
    pub(super) pace: f64,
    /// The sensor's noise: its standard deviation in levels.
    pub(super) noise: f64,
    /// The coarseness of the texture: its widest bumps have 2^this pixels.
    pub(super) coarse: u32,
}

/// A room, and someone in it who talks.
pub(super) const ROOM: Look = Look {
    luma: 120.0,
    light: 46.0,
    relief: 44.0,
    chroma: [118.0, 138.0],
    pan: [0.0, 0.0],
    pace: 1.0,
    noise: 1.3,
    coarse: 6,
};

/// The texture's side is 2^this.
const SIDE: u32 = 9;
const TURN: f64 = std::f64::consts::TAU;

/// The scene.
pub(super) struct Camera {
    seed: u64,
    size: Size,
    look: Look,
    wall: Texture,
    skin: Texture,
    grain: Grain,
}

/// A soft blob of the figure: where, how large, how bright, its chroma.
struct Blob {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    luma: f64,
    chroma: [f64; 2],
    /// What its texture is moved by.
    shift: (i64, i64),
}

impl Camera {
    pub(super) fn new(seed: u64, size: Size, look: &Look) -> Self {
        Self {
            seed,
            size,
            look: Look { ..*look },
            wall: Texture::fractal(seed, SIDE, look.coarse, 0.62),
            skin: Texture::fractal(seed ^ 0x5ca1_ab1e, 7, 5, 0.5),
            grain: Grain::new(seed ^ 0x9e15e, look.noise),
        }
    }

    /// A phase of its own for everything that swings.
    fn swing(&self, secs: f64, hertz: f64, key: u64) -> f64 {
        libm::sin(TURN * (hertz * secs + uniform(self.seed, key)))
    }

    /// The figure: shoulders, head, hand; the later in front.
    fn figure(&self, secs: f64) -> [Blob; 3] {
        let pace = self.look.pace;
        let tall = self.size.height() as f64;
        let middle = self.size.width() as f64 / 2.0;
        let at = |hertz: f64, key: u64| self.swing(secs, hertz * pace, key);
        let x = middle + tall * (0.10 * at(0.11, 1) + 0.02 * at(0.53, 2));
        let y = tall * (0.42 + 0.015 * at(0.41, 3) + 0.008 * at(1.3, 4));
        // Hands rest and then gesture.
        let gesture = (at(0.17, 5) + 0.2).max(0.0);
        let hand_x = x + tall * (0.30 + 0.16 * gesture * at(0.9, 6));
        let hand_y = tall * (0.86 - 0.26 * gesture + 0.07 * gesture * at(1.4, 7));
        let shift = |x: f64, y: f64| ((x * ONE as f64) as i64, (y * ONE as f64) as i64);
        let blob = |x: f64, y: f64, width: f64, height: f64, luma: f64, chroma| Blob {
            x,
            y,
            width: width * tall,
            height: height * tall,
            luma,
            chroma,
            shift: shift(x, y),
        };
        let hue = 30.0 * (uniform(self.seed, 8) - 0.5);
        [
            blob(x, tall * 1.02, 0.40, 0.36, 70.0, [128.0 + hue, 120.0 - hue]),
            blob(x, y, 0.155, 0.21, 168.0, [108.0, 152.0]),
            blob(hand_x, hand_y, 0.07, 0.09, 160.0, [110.0, 150.0]),
        ]
    }

    /// Where the camera looks, in units of [`ONE`] pixels.
    fn view(&self, secs: f64) -> (i64, i64) {
        let tall = self.size.height() as f64;
        let sway = 0.004 * self.swing(secs, 0.23, 9) + 0.002 * self.swing(secs, 0.71, 10);
        let nod = 0.003 * self.swing(secs, 0.31, 11);
        let [right, down] = self.look.pan;
        let fixed = |part: f64| (part * tall * ONE as f64) as i64;
        (fixed(sway + right * secs), fixed(nod + down * secs))
    }
}

impl Scene for Camera {
    fn paint(&self, secs: f64, shot: u64, picture: &mut Picture) {
        let mut canvas = Canvas::new(picture);
        let (width, height) = (canvas.width, canvas.height);
        let tall = height as f64;
        let (left, top) = self.view(secs);
        let figure = self.figure(secs);
        // The texture is finer than the picture at 720 rows, coarser at more.
        let zoom = (720 * ONE / height.max(2) as i64).clamp(ONE / 4, ONE * 4);
        // Light that drifts: a wave along each side, and a lamp.
        let drift = 0.05 * secs;
        let wave = |part: f64, turns: f64, key: u64| {
            libm::sin(TURN * (turns * part + drift + uniform(self.seed, key)))
        };
        let columns: Vec<f64> = (0..width)
            .map(|x| 0.6 * wave(x as f64 / tall, 0.45, 12))
            .collect();
        for y in 0..height {
            let row_light = 0.5 * wave(y as f64 / tall, 0.6, 13);
            let mut grain = self.grain.row(shot, y);
            // Each blob's reach in this row.
            let spans = figure.each_ref().map(|blob| {
                let dy = (y as f64 - blob.y) / blob.height;
                let reach = 1.0 - dy * dy;
                (reach > 0.0).then(|| (blob, dy, blob.width * libm::sqrt(reach)))
            });
            let wall_y = top + y as i64 * zoom;
            for (x, column_light) in columns.iter().enumerate() {
                let light = column_light + row_light;
                let texture = self.wall.between(left + x as i64 * zoom, wall_y) as f64 / 255.0;
                let look = &self.look;
                let mut luma = look.luma + look.light * light + look.relief * 2.0 * (texture - 0.5);
                let mut chroma = [
                    look.chroma[0] + 5.0 * light,
                    look.chroma[1] - 6.0 * light + 10.0 * (texture - 0.5),
                ];
                for (blob, dy, reach) in spans.iter().flatten() {
                    let dx = x as f64 - blob.x;
                    if dx.abs() >= *reach {
                        continue;
                    }
                    let dx = dx / blob.width;
                    let depth = (1.0 - dx * dx - dy * dy).max(0.0);
                    let pores = self.skin.between(
                        x as i64 * zoom - blob.shift.0 * zoom / ONE,
                        y as i64 * zoom - blob.shift.1 * zoom / ONE,
                    ) as f64
                        / 255.0;
                    // A soft edge, darker where the surface turns away.
                    let edge = (depth * 9.0).min(1.0);
                    let shade = blob.luma * (0.62 + 0.38 * libm::sqrt(depth) - 0.12 * dx);
                    let own = shade + 34.0 * (pores - 0.5);
                    luma += (own - luma) * edge;
                    for (value, own) in chroma.iter_mut().zip(blob.chroma) {
                        *value += (own - *value) * edge;
                    }
                }
                let luma = luma + grain.next().unwrap_or(0) as f64;
                canvas.put(
                    x,
                    y,
                    [
                        luma.clamp(16.0, 235.0) as u8,
                        chroma[0].clamp(16.0, 240.0) as u8,
                        chroma[1].clamp(16.0, 240.0) as u8,
                    ],
                );
            }
        }
    }
}
