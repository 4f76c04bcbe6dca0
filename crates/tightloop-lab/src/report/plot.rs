//! One plot of a figure, as SVG: axes, lines, and what lies under them.

use std::fmt::Write;

use super::page::Series;
use super::palette::{DARK, DASHES, LIGHT, Style};
use super::ticks::{linear_ticks, log_ticks};

/// How wide a figure is, and the room beside its plots.
pub(crate) const WIDTH: f64 = 880.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const LEGEND_ROW: f64 = 22.0;
const LEGEND_COLUMNS: usize = 4;
/// Room above a plot for its title, and below it for its ticks.
pub(crate) const ABOVE: f64 = 34.0;
pub(crate) const BELOW: f64 = 24.0;

const RULES: &str = "
text { font: 12px system-ui, sans-serif; fill: #545b64; font-variant-numeric: tabular-nums; }
.strong { fill: #16191d; font-weight: 600; font-size: 13px; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
path { fill: none; stroke-linejoin: round; }
.sheet { fill: #ffffff; } .grid { stroke: #e3e6e9; } .frame { stroke: #c9ced4; }
.ground { fill: #e9ecef; } .ground-edge { stroke: #8a929b; }
.line { stroke-width: 1.9; } circle { stroke: none; } .band { fill-opacity: 0.17; }
";
const DARK_RULES: &str = "
text { fill: #a3abb4; } .strong { fill: #e8ebee; }
.sheet { fill: #14171b; } .grid { stroke: #2b3037; } .frame { stroke: #4a525b; }
.ground { fill: #262b31; } .ground-edge { stroke: #7c858f; }
";

/// One plot: where it is, and what its axes show.
pub(crate) struct Plot {
    pub(crate) top: f64,
    pub(crate) height: f64,
    /// The ends of the horizontal axis.
    pub(crate) first: f64,
    pub(crate) last: f64,
    /// What stands behind its numbers.
    pub(crate) unit: &'static str,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
    pub(crate) log: bool,
}

/// Opens a figure of such a height.
pub(crate) fn head(height: f64, out: &mut String) {
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\">\n<style>{RULES}"
    );
    ink(&LIGHT, out);
    let _ = write!(out, "@media (prefers-color-scheme: dark) {{{DARK_RULES}");
    ink(&DARK, out);
    out.push_str("}\n</style>\n<rect class=\"sheet\" width=\"100%\" height=\"100%\"/>\n");
}

fn ink(colours: &[&str], out: &mut String) {
    for (index, colour) in colours.iter().enumerate() {
        let _ = writeln!(
            out,
            ".line.c{index} {{ stroke: {colour}; }} .band.c{index}, .dot.c{index} {{ fill: {colour}; }}"
        );
    }
}

/// Names beside samples of their lines, in rows of four: the first row of the
/// figure, `legend_height` high.
pub(crate) fn legend<'a>(lines: impl Iterator<Item = (&'a str, Style)>, out: &mut String) {
    let column = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    for (index, (name, style)) in lines.enumerate() {
        let x = LEFT + (index % LEGEND_COLUMNS) as f64 * column;
        let y = 18.0 + (index / LEGEND_COLUMNS) as f64 * LEGEND_ROW;
        let name = name.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            out,
            "<path class=\"line c{}\" stroke-dasharray=\"{}\" d=\"M{x:.1} {y}h36\"/>\
             <text x=\"{:.1}\" y=\"{}\">{name}</text>",
            style.colour,
            DASHES[style.dash],
            x + 44.0,
            y + 4.0
        );
    }
}

/// How high a legend of so many lines is.
pub(crate) fn legend_height(lines: usize) -> f64 {
    lines.div_ceil(LEGEND_COLUMNS) as f64 * LEGEND_ROW
}

impl Plot {
    pub(crate) fn x(&self, t: f64) -> f64 {
        LEFT + (t.clamp(self.first, self.last) - self.first) / (self.last - self.first)
            * (WIDTH - LEFT - RIGHT)
    }

    pub(crate) fn y(&self, v: f64) -> f64 {
        let v = v.clamp(self.lowest, self.highest);
        let share = if self.log {
            (v / self.lowest).ln() / (self.highest / self.lowest).ln()
        } else {
            (v - self.lowest) / (self.highest - self.lowest)
        };
        self.top + self.height * (1.0 - share)
    }

    /// The title, and both axes with their numbers.
    pub(crate) fn axes(&self, title: &str, out: &mut String) {
        let (bottom, right) = (self.top + self.height, WIDTH - RIGHT);
        let _ = writeln!(
            out,
            "<text class=\"strong\" x=\"{LEFT}\" y=\"{:.1}\">{title}</text>",
            self.top - 14.0
        );
        let ticks = if self.log {
            log_ticks(self.lowest, self.highest)
        } else {
            linear_ticks(self.highest, 5.0)
        };
        for tick in ticks {
            let y = self.y(tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text class=\"end\" x=\"{}\" y=\"{:.1}\">{tick}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"frame\" d=\"M{LEFT} {bottom:.1}H{right}\"/>"
        );
        let ticks = linear_ticks(self.last, 8.0);
        for tick in ticks.into_iter().filter(|tick| *tick >= self.first) {
            let _ = writeln!(
                out,
                "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{tick}{}</text>",
                self.x(tick),
                bottom + 17.0,
                self.unit
            );
        }
    }

    /// A shaded area that holds each value from its time on.
    pub(crate) fn ground(&self, capacity: &Series, out: &mut String) {
        let mut edge = String::new();
        for (t, v) in capacity.t.iter().zip(&capacity.v) {
            let (x, y) = (self.x(*t), self.y(if v.is_finite() { *v } else { 0.0 }));
            let _ = if edge.is_empty() {
                write!(edge, "M{x:.1} {y:.1}")
            } else {
                write!(edge, "H{x:.1}V{y:.1}")
            };
        }
        let (first, right) = (self.x(capacity.t[0]), self.x(self.last));
        let bottom = self.top + self.height;
        let _ = writeln!(
            out,
            "<path class=\"ground\" d=\"{edge}H{right:.1}V{bottom:.1}H{first:.1}Z\"/>\
             <path class=\"ground-edge\" d=\"{edge}H{right:.1}\"/>"
        );
    }

    pub(crate) fn line(&self, series: &Series, style: Style, out: &mut String) {
        let mut path = String::new();
        for part in self.parts(series) {
            self.trace(&part, 'M', &mut path);
        }
        let _ = writeln!(
            out,
            "<path class=\"line c{}\" stroke-dasharray=\"{}\" d=\"{path}\"/>",
            style.colour, DASHES[style.dash]
        );
    }

    /// A dot with a text to its right, or to its left near the right end.
    pub(crate) fn dot(&self, (x, y): (f64, f64), text: &str, style: Style, out: &mut String) {
        let (at, bottom) = (self.x(x), self.y(y));
        let late = at > WIDTH * 0.7;
        let (class, shift) = if late {
            ("strong end", -9.0)
        } else {
            ("strong", 9.0)
        };
        let _ = writeln!(
            out,
            "<circle class=\"dot c{}\" cx=\"{at:.1}\" cy=\"{bottom:.1}\" r=\"4.5\"/>\
             <text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            style.colour,
            at + shift,
            bottom - 6.0
        );
    }

    /// The area between a mean and a percentile that has the same gaps.
    pub(crate) fn band(&self, low: &Series, high: &Series, style: Style, out: &mut String) {
        let mut path = String::new();
        for (low, high) in self.parts(low).into_iter().zip(self.parts(high)) {
            self.trace(&high, 'M', &mut path);
            let back: Vec<_> = low.into_iter().rev().collect();
            self.trace(&back, 'L', &mut path);
            path.push('Z');
        }
        let _ = writeln!(out, "<path class=\"band c{}\" d=\"{path}\"/>", style.colour);
    }

    /// The stretches of a series between its gaps.
    fn parts(&self, series: &Series) -> Vec<Vec<(f64, f64)>> {
        let points: Vec<_> = series
            .t
            .iter()
            .copied()
            .zip(series.v.iter().copied())
            .collect();
        points
            .split(|(_, v)| !v.is_finite())
            .filter(|part| !part.is_empty())
            .map(<[_]>::to_vec)
            .collect()
    }

    fn trace(&self, points: &[(f64, f64)], first: char, path: &mut String) {
        for (index, (t, v)) in points.iter().enumerate() {
            let verb = if index == 0 { first } else { 'L' };
            let _ = write!(path, "{verb}{:.1} {:.1}", self.x(*t), self.y(*v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::palette::style;

    #[test]
    fn a_gap_breaks_a_line_in_two() {
        let plot = Plot {
            top: 0.0,
            height: 100.0,
            first: 0.0,
            last: 4.0,
            unit: " s",
            lowest: 0.0,
            highest: 10.0,
            log: false,
        };
        let series: Series = [
            (0.0, Some(0.0)),
            (1.0, Some(5.0)),
            (2.0, None),
            (3.0, Some(10.0)),
        ]
        .into_iter()
        .collect();
        let mut out = String::new();
        plot.line(&series, style(0, 0, 1), &mut out);
        assert!(
            out.contains("d=\"M56.0 100.0L256.0 50.0M656.0 0.0\""),
            "{out}"
        );
    }
}
