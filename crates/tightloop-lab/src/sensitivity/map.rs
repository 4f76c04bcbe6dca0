//! A heat map as an SVG picture: a rate for each delay instance.

use std::fmt::Write;

use tightloop::units::Span;

/// From low to high, lighter all the way: what is brighter is more, for any kind
/// of colour vision and in print. Five stops of the scale named viridis.
const SCALE: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [253.0, 231.0, 37.0],
];
/// The height of one level of labels.
const LABEL: f64 = 17.0;
/// Room for labels of rows, for each level.
const ROW_LABEL: f64 = 34.0;
/// The largest side of a map, and the largest and smallest of a cell.
const SIDE: f64 = 470.0;
const CELL: (f64, f64) = (8.0, 46.0);
/// Cells this large have their number written in.
const WRITTEN_FROM: f64 = 30.0;
/// Labels closer than this are left out.
const LABEL_EVERY: f64 = 26.0;

/// One side of a map: flows with their values, the outermost first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    pub(crate) levels: Vec<Level>,
}

/// A flow on an axis.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) name: String,
    pub(crate) values: Vec<Span>,
}

impl Axis {
    /// How many cells it has.
    fn length(&self) -> usize {
        self.levels.iter().map(|level| level.values.len()).product()
    }

    /// The cell of these values, one for each level.
    pub(crate) fn place(&self, values: &[Span]) -> Option<usize> {
        let mut place = 0;
        for (level, value) in self.levels.iter().zip(values) {
            let at = level.values.iter().position(|known| known == value)?;
            place = place * level.values.len() + at;
        }
        Some(place)
    }

    /// Labels of a level: where each begins, over how many cells, and its text.
    fn labels(&self, level: usize) -> impl Iterator<Item = (usize, usize, String)> {
        let inner = self.levels[level + 1..].iter();
        let each: usize = inner.map(|level| level.values.len()).product();
        let values = &self.levels[level].values;
        let all = self.length() / each;
        (0..all).map(move |at| {
            let value = values[at % values.len()].millis_f64();
            (at * each, each, value.to_string())
        })
    }

    fn title(&self) -> String {
        let names: Vec<&str> = self.levels.iter().map(|it| it.name.as_str()).collect();
        match names.as_slice() {
            [] => String::new(),
            names => format!("round trip of {}, ms", names.join(", then ")),
        }
    }
}

/// A value in a cell, and what to say of it under the pointer.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) column: usize,
    pub(crate) row: usize,
    pub(crate) value: f64,
    pub(crate) says: String,
    /// It is the lowest or the highest.
    pub(crate) extreme: bool,
}

/// The picture; colours run from nothing to `highest`. Texts are escaped by
/// whoever made them.
pub(crate) fn svg(columns: &Axis, rows: &Axis, cells: &[Cell], highest: f64) -> String {
    let (wide, high) = (columns.length(), rows.length());
    let cell = (SIDE / wide.max(high) as f64).clamp(CELL.0, CELL.1);
    let left = rows.levels.len() as f64 * ROW_LABEL + LABEL + 6.0;
    let top = columns.levels.len() as f64 * LABEL + LABEL + 6.0;
    let (width, height) = (
        left + wide as f64 * cell + 2.0,
        top + high as f64 * cell + 2.0,
    );
    let width = width.max(left + 230.0);
    let mut out = format!(
        "<svg class=\"map\" role=\"img\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n\
         <text x=\"{left:.1}\" y=\"12\">{}</text>\n",
        columns.title()
    );
    for level in 0..columns.levels.len() {
        let y = LABEL * (level as f64 + 2.0) - 4.0;
        let mut free = f64::NEG_INFINITY;
        for (first, cells, text) in columns.labels(level) {
            let x = left + (first as f64 + cells as f64 / 2.0) * cell;
            if x >= free {
                free = x + LABEL_EVERY;
                let _ = writeln!(
                    out,
                    "<text class=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
                );
            }
        }
    }
    let title = rows.title();
    if !title.is_empty() {
        let middle = top + high as f64 * cell / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"middle\" transform=\"translate(12 {middle:.1}) rotate(-90)\">{title}</text>"
        );
    }
    for level in 0..rows.levels.len() {
        let x = LABEL + (level as f64 + 1.0) * ROW_LABEL;
        let mut free = f64::NEG_INFINITY;
        for (first, cells, text) in rows.labels(level) {
            let y = top + (first as f64 + cells as f64 / 2.0) * cell;
            if y >= free {
                free = y + LABEL - 2.0;
                let _ = writeln!(
                    out,
                    "<text class=\"end\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
                    y + 4.0
                );
            }
        }
    }
    let _ = writeln!(
        out,
        "<rect class=\"empty\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
        wide as f64 * cell,
        high as f64 * cell
    );
    for one in cells {
        draw(one, cell, (left, top), highest, &mut out);
    }
    // The extremes' frames lie above their neighbours.
    for one in cells.iter().filter(|it| it.extreme) {
        let (x, y) = (left + one.column as f64 * cell, top + one.row as f64 * cell);
        let _ = writeln!(
            out,
            "<rect class=\"extreme\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\"/>"
        );
    }
    out.push_str("</svg>\n");
    out
}

fn draw(one: &Cell, cell: f64, (left, top): (f64, f64), highest: f64, out: &mut String) {
    let (x, y) = (left + one.column as f64 * cell, top + one.row as f64 * cell);
    let share = if highest > 0.0 {
        one.value / highest
    } else {
        0.0
    };
    let _ = write!(
        out,
        "<g><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{cell:.1}\" height=\"{cell:.1}\" fill=\"{}\"/>",
        colour(share)
    );
    if cell >= WRITTEN_FROM {
        let ink = ink(share);
        let decimals = if one.value < 9.95 { 1 } else { 0 };
        let _ = write!(
            out,
            "<text class=\"middle\" style=\"fill:{ink}\" x=\"{:.1}\" y=\"{:.1}\">{:.decimals$}</text>",
            x + cell / 2.0,
            y + cell / 2.0 + 4.0,
            one.value
        );
    }
    let _ = writeln!(out, "<title>{}</title></g>", one.says);
}

/// How a table's cell with a value looks.
pub(crate) fn style(value: f64, highest: f64, extreme: bool) -> String {
    let share = if highest > 0.0 { value / highest } else { 0.0 };
    let frame = if extreme {
        "outline:2.5px solid #d55e00;outline-offset:-2.5px"
    } else {
        ""
    };
    format!("background:{};color:{};{frame}", colour(share), ink(share))
}

/// Dark on what is light.
fn ink(share: f64) -> &'static str {
    if share > 0.6 { "#16191d" } else { "#ffffff" }
}

/// A legend: the scale, from nothing to `highest`.
pub(crate) fn legend(highest: f64) -> String {
    let stops: Vec<String> = (0..SCALE.len())
        .map(|at| colour(at as f64 / (SCALE.len() - 1) as f64))
        .collect();
    format!(
        "<p class=\"legend\">0 <span class=\"ramp\" style=\"background:linear-gradient(90deg,{})\"></span> {highest:.1} Mbit/s</p>\n",
        stops.join(",")
    )
}

/// The colour of a share from 0 to 1.
fn colour(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let from = (place.floor() as usize).min(SCALE.len() - 2);
    let part = place - from as f64;
    let mix = |at: usize| SCALE[from][at] + (SCALE[from + 1][at] - SCALE[from][at]) * part;
    let [red, green, blue] = [mix(0), mix(1), mix(2)].map(|it| it.round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(levels: &[(&str, &[i64])]) -> Axis {
        let level = |(name, values): &(&str, &[i64])| Level {
            name: (*name).to_owned(),
            values: values.iter().copied().map(Span::from_millis).collect(),
        };
        Axis {
            levels: levels.iter().map(level).collect(),
        }
    }

    #[test]
    fn nested_values_have_places_and_labels() {
        let axis = axis(&[("a", &[10, 20]), ("b", &[10, 20, 30])]);
        let ms = |all: &[i64]| {
            all.iter()
                .copied()
                .map(Span::from_millis)
                .collect::<Vec<_>>()
        };
        assert_eq!(axis.place(&ms(&[20, 30])), Some(5));
        assert_eq!(axis.place(&ms(&[20, 40])), None);
        let outer: Vec<_> = axis.labels(0).collect();
        assert_eq!(outer, [(0, 3, "10".to_owned()), (3, 3, "20".to_owned())]);
        assert_eq!(axis.labels(1).count(), 6);
        assert_eq!(axis.title(), "round trip of a, then b, ms");
    }

    #[test]
    fn colours_get_lighter_all_the_way() {
        assert_eq!(
            (colour(0.0), colour(1.0)),
            ("#440154".into(), "#fde725".into())
        );
        assert_eq!(colour(f64::NAN.max(2.0)), "#fde725");
        let light = |share: f64| {
            let text = colour(share);
            let part = |at: usize| u32::from_str_radix(&text[at..at + 2], 16).expect("hex");
            part(1) * 2 + part(3) * 7 + part(5)
        };
        let steps: Vec<u32> = (0..=20).map(|at| light(f64::from(at) / 20.0)).collect();
        assert!(steps.is_sorted(), "{steps:?}");
    }

    #[test]
    fn a_map_of_nothing_is_a_picture_all_the_same() {
        let picture = svg(&Axis::default(), &Axis::default(), &[], 0.0);
        assert!(
            picture.ends_with("</svg>\n") && !picture.contains("NaN"),
            "{picture}"
        );
    }
}
