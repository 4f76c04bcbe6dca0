//! Draws a chart as SVG.

use std::fmt::Write;

use super::{Axis, Chart, Dot, Layer, Marks};
use crate::report::page::escape;
use crate::report::palette::{DASHES, LIGHT};

const WIDTH: f64 = 620.0;
const HEIGHT: f64 = 330.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
const BELOW: f64 = 46.0;
const LEGEND_ROW: f64 = 20.0;
const SAMPLE: f64 = 30.0;
/// About how wide a letter is.
const LETTER: f64 = 6.6;
/// Half of a marker's width, and of a whisker's.
const SHAPE: f64 = 4.2;
const WHISKER: f64 = 3.0;

/// The chart with its axes as they came out.
struct Sheet<'a> {
    chart: &'a Chart,
    x: Axis,
    y: Axis,
    top: f64,
}

impl Chart {
    /// The chart as an SVG element.
    pub(crate) fn svg(&self) -> String {
        let points: Vec<_> = self.layers.iter().flat_map(Layer::points).collect();
        let mut legend = String::new();
        let top = self.legend(&mut legend);
        let sheet = Sheet {
            chart: self,
            x: self.x.over(points.iter().map(|(x, _)| *x)),
            y: self.y.over(points.iter().map(|(_, y)| *y)),
            top,
        };
        let height = top + HEIGHT + BELOW;
        let mut out = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.title)
        );
        out += &legend;
        sheet.ground(&mut out);
        sheet.axes(&mut out);
        for layer in &self.layers {
            sheet.layer(layer, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Draws the legend; gives where it ends.
    fn legend(&self, out: &mut String) -> f64 {
        let (mut x, mut y) = (LEFT, 12.0);
        let mut entry = |name: &str, sample: &dyn Fn(f64, f64) -> String| {
            let width = SAMPLE + 8.0 + name.chars().count() as f64 * LETTER + 16.0;
            if x > LEFT && x + width > WIDTH - RIGHT {
                (x, y) = (LEFT, y + LEGEND_ROW);
            }
            let text = x + SAMPLE + 8.0;
            let _ = writeln!(
                out,
                "{}<text class=\"axis\" x=\"{text:.1}\" y=\"{:.1}\">{}</text>",
                sample(x, y),
                y + 4.0,
                escape(name)
            );
            x += width;
        };
        for layer in self.layers.iter().filter(|layer| !layer.name.is_empty()) {
            entry(&layer.name, &|x, y| layer.sample(x, y));
        }
        if let Some((name, _)) = &self.shade {
            entry(name, &|x, y| {
                let (y, width) = (y - 6.0, SAMPLE);
                format!("<path class=\"ground\" d=\"M{x:.1} {y:.1}h{width}v12h-{width}Z\"/>")
            });
        }
        y + LEGEND_ROW
    }
}

impl Layer {
    fn stroke(&self) -> String {
        let (ink, dash) = (self.ink % LIGHT.len(), DASHES[self.dash % DASHES.len()]);
        format!("style=\"stroke:var(--c{ink})\" stroke-dasharray=\"{dash}\"")
    }

    fn sample(&self, x: f64, y: f64) -> String {
        let line = |class: &str| {
            format!(
                "<path class=\"{class}\" {} d=\"M{x:.1} {y:.1}h{SAMPLE}\"/>",
                self.stroke()
            )
        };
        let shape = self.shape(x + SAMPLE / 2.0, y);
        match &self.marks {
            Marks::Line(_) => line("main"),
            Marks::Dots(_, true) => line("thin") + &shape,
            Marks::Dots(_, false) => shape,
            Marks::Arrows(_) => arrow([x + 2.0, y, x + SAMPLE - 2.0, y], self.ink),
        }
    }

    /// The marker, another shape for each colour.
    fn shape(&self, x: f64, y: f64) -> String {
        let s = SHAPE;
        let d = match self.ink % LIGHT.len() {
            0 => format!(
                "M{:.1} {y:.1}a{s} {s} 0 1 0 {} 0a{s} {s} 0 1 0 -{} 0Z",
                x - s,
                2.0 * s,
                2.0 * s
            ),
            1 => format!(
                "M{:.1} {:.1}h{}v{}h-{}Z",
                x - s,
                y - s,
                2.0 * s,
                2.0 * s,
                2.0 * s
            ),
            2 => format!("M{x:.1} {:.1}l{s} {}h-{}Z", y - s, 2.0 * s, 2.0 * s),
            3 => format!("M{x:.1} {:.1}l{s} {s}l-{s} {s}l-{s} -{s}Z", y - s),
            4 => format!("M{x:.1} {:.1}l{s} -{}h-{}Z", y + s, 2.0 * s, 2.0 * s),
            5 => format!(
                "M{:.1} {y:.1}h{}M{x:.1} {:.1}v{}",
                x - s,
                2.0 * s,
                y - s,
                2.0 * s
            ),
            _ => {
                let d = 2.0 * s;
                format!("M{:.1} {:.1}l{d} {d}m-{d} 0l{d} -{d}", x - s, y - s)
            }
        };
        format!(
            "<path class=\"glyph\" style=\"stroke:var(--c{})\" d=\"{d}\"/>",
            self.ink % LIGHT.len()
        )
    }
}

/// An arrow with its head.
fn arrow([x, y, to_x, to_y]: [f64; 4], ink: usize) -> String {
    let (dx, dy) = (to_x - x, to_y - y);
    let length = dx.hypot(dy);
    let mut d = format!("M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}");
    if length > 0.0 {
        let head = (0.45 * length).min(5.0);
        let (ux, uy) = (dx / length * head, dy / length * head);
        for side in [0.5, -0.5] {
            let (x, y) = (to_x - ux - side * uy, to_y - uy + side * ux);
            let _ = write!(d, "M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}");
        }
    }
    format!(
        "<path class=\"arrow\" style=\"stroke:var(--c{})\" d=\"{d}\"/>",
        ink % LIGHT.len()
    )
}

impl Sheet<'_> {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            LEFT + self.x.place(x).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT),
            self.top + HEIGHT * (1.0 - self.y.place(y).clamp(0.0, 1.0)),
        )
    }

    fn ground(&self, out: &mut String) {
        let parts = self.chart.shade.iter().flat_map(|(_, parts)| parts);
        for (from, to) in parts {
            let ((left, _), (right, _)) = (self.at(*from, 0.0), self.at(*to, 0.0));
            let (top, bottom) = (self.top, self.top + HEIGHT);
            let _ = writeln!(
                out,
                "<path class=\"ground\" d=\"M{left:.1} {top}H{right:.1}V{bottom}H{left:.1}Z\"/>"
            );
        }
    }

    fn axes(&self, out: &mut String) {
        let (bottom, right) = (self.top + HEIGHT, WIDTH - RIGHT);
        for tick in self.y.ticks(6.0) {
            let (_, y) = self.at(self.x.low, tick);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\
                 <text class=\"end\" x=\"{}\" y=\"{:.1}\">{tick}</text>",
                LEFT - 7.0,
                y + 4.0
            );
        }
        for tick in self.x.ticks(8.0) {
            let (x, _) = self.at(tick, self.y.low);
            let _ = writeln!(
                out,
                "<path class=\"frame\" d=\"M{x:.1} {bottom:.1}v5\"/>\
                 <text class=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{tick}</text>",
                bottom + 18.0
            );
        }
        let (middle, across) = (f64::midpoint(LEFT, right), self.top + HEIGHT / 2.0);
        let _ = writeln!(
            out,
            "<path class=\"frame\" d=\"M{LEFT} {}V{bottom:.1}H{right}\"/>\
             <text class=\"axis middle\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"axis middle\" transform=\"translate(13 {across:.1}) rotate(-90)\">{}</text>",
            self.top,
            bottom + 38.0,
            escape(&self.x.label),
            escape(&self.y.label),
        );
    }

    fn layer(&self, layer: &Layer, out: &mut String) {
        match &layer.marks {
            Marks::Line(points) => self.path("main", layer, points, out),
            Marks::Dots(dots, joined) => {
                let points: Vec<_> = dots.iter().map(|dot| (dot.x, dot.y)).collect();
                if *joined {
                    self.path("thin", layer, &points, out);
                }
                for dot in dots {
                    self.dot(layer, dot, out);
                }
            }
            Marks::Arrows(arrows) => {
                for [x, y, to_x, to_y] in arrows {
                    let ((x, y), (to_x, to_y)) = (self.at(*x, *y), self.at(*to_x, *to_y));
                    let _ = writeln!(out, "{}", arrow([x, y, to_x, to_y], layer.ink));
                }
            }
        }
    }

    /// A line with gaps where there is no value.
    fn path(&self, class: &str, layer: &Layer, points: &[(f64, f64)], out: &mut String) {
        let mut d = String::new();
        let mut verb = 'M';
        for (x, y) in points {
            if !y.is_finite() {
                verb = 'M';
                continue;
            }
            let (x, y) = self.at(*x, *y);
            let _ = write!(d, "{verb}{x:.1} {y:.1}");
            verb = 'L';
        }
        let _ = writeln!(
            out,
            "<path class=\"{class}\" {} d=\"{d}\"/>",
            layer.stroke()
        );
    }

    fn dot(&self, layer: &Layer, dot: &Dot, out: &mut String) {
        let (x, y) = self.at(dot.x, dot.y);
        let (_, low) = self.at(dot.x, dot.range.0);
        let (_, high) = self.at(dot.x, dot.range.1);
        let _ = write!(
            out,
            "<g><title>{} {}: {:.4} at {:.4} (from {:.4} to {:.4})</title>",
            escape(&layer.name),
            escape(&dot.label),
            dot.y,
            dot.x,
            dot.range.0,
            dot.range.1
        );
        if low - high > 1.0 {
            let (left, width) = (x - WHISKER, 2.0 * WHISKER);
            let _ = write!(
                out,
                "<path class=\"thin\" style=\"stroke:var(--c{})\" \
                 d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{width}M{left:.1} {high:.1}h{width}\"/>",
                layer.ink % LIGHT.len()
            );
        }
        out.push_str(&layer.shape(x, y));
        if !dot.label.is_empty() {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 7.0,
                y - 5.0,
                escape(&dot.label)
            );
        }
        out.push_str("</g>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::chart::INK;

    fn chart(layers: Vec<Layer>) -> String {
        let (x, y) = (Axis::new("T", 0.5, 1.0), Axis::new("share", 0.0, 1.0));
        Chart::new("(b) <share>", x, y, layers).svg()
    }

    #[test]
    fn lines_dots_and_arrows_stand_where_the_axes_say() {
        let svg = chart(vec![
            Layer::line("law", INK, vec![(0.5, 0.0), (0.75, f64::NAN), (1.0, 1.0)]),
            Layer::dots("runs", 0, vec![Dot::at(0.5, 1.0).labelled("n = 1")]),
            Layer::arrows("steps", 1, vec![[0.5, 0.0, 1.0, 0.0]]),
        ]);
        // The gap breaks the line in two; left and bottom, then right and top.
        assert!(svg.contains("d=\"M58.0 362.0M604.0 32.0\""), "{svg}");
        assert!(svg.contains("M53.8 32.0a4.2 4.2"), "{svg}");
        assert!(svg.contains("M58.0 362.0L604.0 362.0"), "{svg}");
        assert!(svg.contains("&lt;share&gt;") && svg.contains("n = 1"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn every_colour_has_a_shape_of_its_own() {
        let shape = |ink| Layer::dots("", ink, Vec::new()).shape(0.0, 0.0);
        let bare = |ink: usize| shape(ink).replace(&format!("--c{ink}"), "");
        for one in 0..LIGHT.len() {
            for other in 0..one {
                assert_ne!(bare(one), bare(other));
            }
        }
    }
}
