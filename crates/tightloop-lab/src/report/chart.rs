//! A chart of any quantity against any other, as papers draw them: closed forms
//! as lines, runs as points with their range, steps as arrows.
//!
//! It is SVG for a page with `page.css`, which has its colours for both schemes.
//! Layers differ in colour, dash and shape, so they can be told apart in grey.

use tightloop::analysis::percentile;

use super::palette::LIGHT;

mod axis;
mod draw;

pub(crate) use axis::Axis;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_is_the_median_with_its_range() {
        let dot = Dot::of(0.9, &[0.8, 0.2, 0.4]).expect("values");
        assert_eq!((dot.y, dot.range), (0.4, (0.2, 0.8)));
        assert_eq!(Dot::of(0.9, &[0.8, f64::NAN]), None);
        assert_eq!(Dot::of(0.9, &[]), None);
    }
}
