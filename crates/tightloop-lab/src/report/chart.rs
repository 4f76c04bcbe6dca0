//! A chart of any quantity against any other, as papers draw them: closed forms
//! as lines, runs as points with their range, steps as arrows.
//!
//! It is SVG for a page with `page.css`, which has its colours for both schemes.
//! Layers differ in colour, dash and shape, so they can be told apart in grey.

use std::fmt::Write;

use tightloop::analysis::percentile;

use super::page::escape;
use super::palette::{DASHES, LIGHT};
use super::ticks::{linear_ticks, log_ticks};

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
/// Room beyond what data reach, as a share of them.
const ROOM: f64 = 0.04;
/// The colour that is black on paper.
pub(crate) const INK: usize = LIGHT.len() - 1;

/// A chart.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What it shows, beginning with the paper's letter: `(b) …`.
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) layers: Vec<Layer>,
    /// Shaded parts of the x axis, and what they are.
    pub(crate) shade: Option<(String, Vec<(f64, f64)>)>,
}

/// An axis: quantity and unit, and at least what it reaches over. What lies
/// beyond makes it longer.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    label: String,
    low: f64,
    high: f64,
    log: bool,
}

/// Marks of one kind, with their name in the legend.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    name: String,
    /// Index of its colour, and of its shape.
    ink: usize,
    dash: usize,
    marks: Marks,
}

#[derive(Clone, Debug)]
enum Marks {
    Line(Vec<(f64, f64)>),
    /// Joined by a thin line or not.
    Dots(Vec<Dot>, bool),
    /// From where to where.
    Arrows(Vec<[f64; 4]>),
}

/// What several seeds gave for one setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dot {
    x: f64,
    y: f64,
    range: (f64, f64),
    label: String,
}

impl Axis {
    pub(crate) fn new(label: &str, low: f64, high: f64) -> Self {
        Self {
            label: label.to_owned(),
            low,
            high,
            log: false,
        }
    }

    /// Logarithmic; its low end must be above zero.
    pub(crate) fn log(label: &str, low: f64, high: f64) -> Self {
        Self {
            log: true,
            ..Self::new(label, low, high)
        }
    }

    /// Lengthened to reach over all of these.
    fn over(&self, values: impl Iterator<Item = f64>) -> Self {
        let mut axis = self.clone();
        for value in values.filter(|value| value.is_finite()) {
            if axis.log && value <= 0.0 {
                continue;
            }
            axis.low = axis.low.min(value);
            axis.high = axis.high.max(value);
        }
        if axis.log {
            return axis;
        }
        let room = ROOM * (axis.high - axis.low);
        if axis.high > self.high {
            axis.high += room;
        }
        if axis.low < self.low {
            axis.low -= room;
        }
        axis
    }

    /// Where a value is, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn ticks(&self, count: f64) -> Vec<f64> {
        if self.log {
            return log_ticks(self.low, self.high);
        }
        let length = self.high - self.low;
        let farthest = self.high.max(-self.low);
        let upward = linear_ticks(farthest, count * farthest / length);
        let both = upward.iter().rev().map(|tick| -tick).chain(upward.clone());
        let slack = length * 1e-9;
        let inside = self.low - slack..=self.high + slack;
        let mut ticks: Vec<f64> = both.filter(|tick| inside.contains(tick)).collect();
        ticks.dedup_by(|a, b| (*a - *b).abs() < slack);
        ticks
    }
}

impl Dot {
    /// Median and range of these values over `x`; nothing where one is missing.
    pub(crate) fn of(x: f64, values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let y = percentile(&sorted, 0.5).filter(|_| sorted.iter().all(|it| it.is_finite()))?;
        Some(Self {
            x,
            y,
            range: (*sorted.first()?, *sorted.last()?),
            label: String::new(),
        })
    }

    /// One that stands for itself.
    pub(crate) fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            range: (y, y),
            label: String::new(),
        }
    }

    /// The median.
    pub(crate) fn y(&self) -> f64 {
        self.y
    }

    pub(crate) fn labelled(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }
}

impl Layer {
    fn new(name: &str, ink: usize, marks: Marks) -> Self {
        Self {
            name: name.to_owned(),
            ink,
            dash: 0,
            marks,
        }
    }

    pub(crate) fn line(name: &str, ink: usize, points: Vec<(f64, f64)>) -> Self {
        Self::new(name, ink, Marks::Line(points))
    }

    pub(crate) fn dots(name: &str, ink: usize, dots: Vec<Dot>) -> Self {
        Self::new(name, ink, Marks::Dots(dots, false))
    }

    /// Dots with a thin line from each to the next.
    pub(crate) fn joined(name: &str, ink: usize, dots: Vec<Dot>) -> Self {
        Self::new(name, ink, Marks::Dots(dots, true))
    }

    pub(crate) fn arrows(name: &str, ink: usize, arrows: Vec<[f64; 4]>) -> Self {
        Self::new(name, ink, Marks::Arrows(arrows))
    }

    pub(crate) fn dashed(mut self, dash: usize) -> Self {
        self.dash = dash;
        self
    }

    /// The points whose place matters for the axes.
    fn points(&self) -> Vec<(f64, f64)> {
        match &self.marks {
            Marks::Line(points) => points.clone(),
            Marks::Dots(dots, _) => {
                let ends = |dot: &Dot| [(dot.x, dot.range.0), (dot.x, dot.range.1)];
                dots.iter().flat_map(ends).collect()
            }
            Marks::Arrows(arrows) => {
                let ends = |a: &[f64; 4]| [(a[0], a[1]), (a[2], a[3])];
                arrows.iter().flat_map(ends).collect()
            }
        }
    }
}

/// The chart with its axes as they came out.
struct Sheet<'a> {
    chart: &'a Chart,
    x: Axis,
    y: Axis,
    top: f64,
}

impl Chart {
    pub(crate) fn new(title: &str, x: Axis, y: Axis, layers: Vec<Layer>) -> Self {
        Self {
            title: title.to_owned(),
            x,
            y,
            layers,
            shade: None,
        }
    }

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

    fn chart(layers: Vec<Layer>) -> String {
        let (x, y) = (Axis::new("T", 0.5, 1.0), Axis::new("share", 0.0, 1.0));
        Chart::new("(b) <share>", x, y, layers).svg()
    }

    #[test]
    fn a_dot_is_the_median_with_its_range() {
        let dot = Dot::of(0.9, &[0.8, 0.2, 0.4]).expect("values");
        assert_eq!((dot.y, dot.range), (0.4, (0.2, 0.8)));
        assert_eq!(Dot::of(0.9, &[0.8, f64::NAN]), None);
        assert_eq!(Dot::of(0.9, &[]), None);
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
    fn axes_reach_over_what_is_drawn_and_their_ticks_are_round() {
        let axis = Axis::new("x", 0.5, 1.0);
        assert_eq!(axis.ticks(5.0), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(axis.over([0.7, f64::INFINITY].into_iter()).high, 1.0);
        let longer = axis.over([2.5].into_iter());
        assert!((longer.high - 2.58).abs() < 1e-9 && longer.low == 0.5);
        let signed = Axis::new("x", -1.0, 1.0);
        assert_eq!(signed.ticks(4.0), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let log = Axis::log("x", 10.0, 200.0);
        assert_eq!(log.ticks(5.0), [10.0, 20.0, 50.0, 100.0, 200.0]);
        assert!((log.place(20.0) - 0.2313).abs() < 1e-3);
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
