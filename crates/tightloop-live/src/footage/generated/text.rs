//! A page of text in a window, scrolled as someone does who reads.

use super::glyphs::{DOTS, ink};
use super::texture::{hash, uniform};
use super::{Canvas, Colour, Scene};
use crate::picture::{Picture, Size};

const PAPER: Colour = [230, 126, 130];
const INK: Colour = [30, 128, 128];
const LINK: Colour = [75, 185, 100];
const MARK: Colour = [215, 60, 145];
const TITLE: Colour = [70, 145, 115];
const DESK: Colour = [100, 120, 128];

/// Of the columns of text, those that lines fill.
const COLUMNS: u64 = 76;
/// Seconds of one scroll and the rest after it.
const READING: f64 = 3.0;
/// The part of it in which the page moves.
const MOVING: f64 = 0.45;
/// Lines that a scroll moves on, at least and at most.
const LINES: (f64, f64) = (3.0, 22.0);

/// The page.
pub(super) struct Page {
    seed: u64,
    /// The pixels of a dot.
    dot: usize,
}

impl Page {
    pub(super) fn new(seed: u64, size: Size) -> Self {
        // Thirty lines on a page.
        let dot = (size.height() / (30 * LINE)).max(1);
        Self { seed, dot }
    }

    /// The lines scrolled by until `secs`.
    fn scrolled(&self, secs: f64) -> f64 {
        let step = |number: u64| {
            let part = uniform(self.seed, number);
            (LINES.0 + (LINES.1 - LINES.0) * part * part).round()
        };
        let whole = (secs / READING) as u64;
        let before: f64 = (0..whole).map(step).sum();
        let part = ((secs % READING) / READING / MOVING).min(1.0);
        // Starts and stops softly.
        before + step(whole) * part * part * (3.0 - 2.0 * part)
    }

    /// The glyph in a column of a line, and its colour; none where it is blank.
    fn letter(&self, line: u64, column: u64) -> Option<(usize, Colour)> {
        let line_key = hash(self.seed ^ hash(line));
        // Paragraphs: a blank line now and then, a short one before it.
        if line_key.is_multiple_of(9) {
            return None;
        }
        let short = hash(self.seed ^ hash(line + 1)).is_multiple_of(9);
        let length = if short {
            10 + line_key % 40
        } else {
            COLUMNS - line_key % 9
        };
        if column >= length {
            return None;
        }
        // Words of two to nine letters: where the last blank was.
        let blank = |column: u64| hash(line_key ^ column).is_multiple_of(6);
        if blank(column) {
            return None;
        }
        let start = (0..column).rev().find(|column| blank(*column)).unwrap_or(0);
        let colour = match hash(line_key ^ (start << 20)) % 41 {
            0 | 1 => LINK,
            _ => INK,
        };
        // Letters as frequent as in English: the square favours the first ones.
        const BY_FREQUENCY: &[u8; 26] = b"etaoinshrdlcumwfgypbvkjxqz";
        let chance = uniform(line_key, column + 1000);
        let rank = (chance * chance * 26.0) as usize;
        let letter = BY_FREQUENCY[rank.min(25)];
        Some((usize::from(letter - b'a'), colour))
    }
}

/// The dots of a line of text, its gap included.
const LINE: usize = DOTS.1 + 4;

impl Scene for Page {
    fn paint(&self, secs: f64, _shot: u64, picture: &mut Picture) {
        let mut canvas = Canvas::new(picture);
        let (width, height, dot) = (canvas.width, canvas.height, self.dot);
        canvas.fill(0, 0, width, height, DESK);
        let (left, top) = (width / 14, height / 12);
        let (right, bottom) = (width - width / 14, height - height / 24);
        canvas.fill(left, top, right - left, bottom - top, PAPER);
        canvas.fill(left, top / 3, right - left, top - top / 3, TITLE);
        let offset = (self.scrolled(secs) * (LINE * dot) as f64) as usize;
        let margin = 4 * dot;
        let columns = (right - left).saturating_sub(2 * margin) / ((DOTS.0 + 1) * dot);
        // A marked line, as of a search.
        for y in top..bottom {
            let at = (y - top + offset) / dot;
            let (line, row) = ((at / LINE) as u64, at % LINE);
            let marked = hash(self.seed ^ line ^ 0x3a2c).is_multiple_of(23);
            for column in 0..columns as u64 {
                let Some((glyph, colour)) = self.letter(line, column) else {
                    continue;
                };
                let x = left + margin + column as usize * (DOTS.0 + 1) * dot;
                if marked {
                    canvas.fill(x, y, (DOTS.0 + 1) * dot, 1, MARK);
                }
                for dots in (0..DOTS.0).filter(|dots| row < DOTS.1 && ink(glyph, *dots, row)) {
                    canvas.fill(x + dots * dot, y, dot, 1, colour);
                }
            }
        }
        // The bar at the side tells where one is, the cursor blinks.
        let bar = (offset / 24) % (bottom - top).max(1);
        canvas.fill(
            right.saturating_sub(2 * dot),
            top + bar,
            2 * dot,
            height / 10,
            TITLE,
        );
        if secs.fract() < 0.5 {
            canvas.fill(
                left + margin,
                bottom.saturating_sub(9 * dot),
                dot,
                DOTS.1 * dot,
                INK,
            );
        }
    }
}
