//! The report's first plots as a picture: rate against capacity above one-way
//! delay, in one standalone SVG file for a README or a paper.

use std::fmt::Write;

use super::page::{Page, Series};
use super::palette::{DARK, DASHES, LIGHT, Style, style};
use super::ticks::{linear_ticks, log_ticks};

const WIDTH: f64 = 880.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 24.0;
const LEGEND_ROW: f64 = 22.0;
const LEGEND_COLUMNS: usize = 4;
/// Room above a plot for its title, and below it for its ticks.
const ABOVE: f64 = 34.0;
const BELOW: f64 = 24.0;
const RATE_HEIGHT: f64 = 220.0;
const DELAY_HEIGHT: f64 = 160.0;
/// The delay axis is logarithmic where its values spread more than so many times.
const LOG_FROM: f64 = 25.0;

const RULES: &str = "
text { font: 12px system-ui, sans-serif; fill: #545b64; font-variant-numeric: tabular-nums; }
.strong { fill: #16191d; font-weight: 600; font-size: 13px; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
path { fill: none; stroke-linejoin: round; }
.sheet { fill: #ffffff; } .grid { stroke: #e3e6e9; } .frame { stroke: #c9ced4; }
.ground { fill: #e9ecef; } .ground-edge { stroke: #8a929b; }
.line { stroke-width: 1.9; } .band { fill-opacity: 0.17; }
";
const DARK_RULES: &str = "
text { fill: #a3abb4; } .strong { fill: #e8ebee; }
.sheet { fill: #14171b; } .grid { stroke: #2b3037; } .frame { stroke: #4a525b; }
.ground { fill: #262b31; } .ground-edge { stroke: #7c858f; }
";

/// One flow's lines, and how they look.
struct Line<'a> {
    name: String,
    style: Style,
    received: &'a Series,
    delay: Series,
    p95: Series,
}

/// One plot: where it is, and what its axes show.
struct Plot {
    top: f64,
    height: f64,
    seconds: f64,
    lowest: f64,
    highest: f64,
    log: bool,
}

/// The figure as an SVG document.
pub(crate) fn svg(page: &Page) -> String {
    let lines = lines(page);
    let seconds = page.runs.iter().map(|run| run.duration).fold(0.0, f64::max);
    let seconds = if seconds > 0.0 { seconds } else { 1.0 };
    let rows = lines.len().div_ceil(LEGEND_COLUMNS);
    let rate = Plot {
        top: rows as f64 * LEGEND_ROW + 8.0 + ABOVE,
        height: RATE_HEIGHT,
        seconds,
        lowest: 0.0,
        highest: 1.06 * highest(rates(page)).unwrap_or(1.0),
        log: false,
    };
    let delay = delay_plot(&lines, seconds, rate.top + rate.height + BELOW + ABOVE);
    let height = delay.top + delay.height + BELOW + 8.0;

    let mut out = String::new();
    head(height, &mut out);
    legend(&lines, &mut out);
    rate.axes("Receiving rate against capacity (shaded), Mbit/s", &mut out);
    for capacity in capacities(page) {
        rate.ground(capacity, &mut out);
    }
    for line in &lines {
        rate.line(line.received, line.style, &mut out);
    }
    delay.axes(
        "One-way delay, ms: mean, shaded up to the 95th percentile",
        &mut out,
    );
    for line in &lines {
        delay.band(&line.delay, &line.p95, line.style, &mut out);
    }
    for line in &lines {
        delay.line(&line.delay, line.style, &mut out);
    }
    out.push_str("</svg>\n");
    out
}

fn lines(page: &Page) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for (number, run) in page.runs.iter().enumerate() {
        for flow in &run.flows {
            let name = match (page.runs.len() > 1, run.flows.len() > 1) {
                (true, true) => format!("{} · {}", run.name, flow.name),
                (true, false) => run.name.clone(),
                (false, _) => format!("{} · {}", flow.name, flow.controller),
            };
            let of = |v: &[f64]| Series {
                t: flow.delay.t.clone(),
                v: v.to_vec(),
            };
            lines.push(Line {
                name,
                style: style(lines.len(), number, page.runs.len()),
                received: &flow.received,
                delay: of(&flow.delay.mean),
                p95: of(&flow.delay.p95),
            });
        }
    }
    lines
}

/// Each run's capacity, equal ones once.
fn capacities(page: &Page) -> Vec<&Series> {
    let mut distinct: Vec<&Series> = Vec::new();
    for run in &page.runs {
        if !run.capacity.t.is_empty() && !distinct.contains(&&run.capacity) {
            distinct.push(&run.capacity);
        }
    }
    distinct
}

fn rates(page: &Page) -> impl Iterator<Item = &f64> {
    page.runs.iter().flat_map(|run| {
        let received = run.flows.iter().flat_map(|flow| &flow.received.v);
        run.capacity.v.iter().chain(received)
    })
}

fn delay_plot(lines: &[Line<'_>], seconds: f64, top: f64) -> Plot {
    let highest = highest(lines.iter().flat_map(|line| &line.p95.v)).unwrap_or(1.0);
    let lowest = lines
        .iter()
        .flat_map(|line| &line.delay.v)
        .copied()
        .filter(|v| *v > 0.0)
        .fold(highest, f64::min);
    let log = highest > LOG_FROM * lowest;
    let (lowest, highest) = if log {
        (lowest * 0.9, highest * 1.15)
    } else {
        (0.0, highest * 1.06)
    };
    Plot {
        top,
        height: DELAY_HEIGHT,
        seconds,
        lowest,
        highest,
        log,
    }
}

/// The highest finite value above zero.
fn highest<'a>(values: impl Iterator<Item = &'a f64>) -> Option<f64> {
    values
        .copied()
        .filter(|v| v.is_finite() && *v > 0.0)
        .reduce(f64::max)
}

fn head(height: f64, out: &mut String) {
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
            ".line.c{index} {{ stroke: {colour}; }} .band.c{index} {{ fill: {colour}; }}"
        );
    }
}

fn legend(lines: &[Line<'_>], out: &mut String) {
    let column = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    for (index, line) in lines.iter().enumerate() {
        let x = LEFT + (index % LEGEND_COLUMNS) as f64 * column;
        let y = 18.0 + (index / LEGEND_COLUMNS) as f64 * LEGEND_ROW;
        let name = line.name.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            out,
            "<path class=\"line c{}\" stroke-dasharray=\"{}\" d=\"M{x:.1} {y}h36\"/>\
             <text x=\"{:.1}\" y=\"{}\">{name}</text>",
            line.style.colour,
            DASHES[line.style.dash],
            x + 44.0,
            y + 4.0
        );
    }
}

impl Plot {
    fn x(&self, t: f64) -> f64 {
        LEFT + t.clamp(0.0, self.seconds) / self.seconds * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, v: f64) -> f64 {
        let v = v.clamp(self.lowest, self.highest);
        let share = if self.log {
            (v / self.lowest).ln() / (self.highest / self.lowest).ln()
        } else {
            (v - self.lowest) / (self.highest - self.lowest)
        };
        self.top + self.height * (1.0 - share)
    }

    fn axes(&self, title: &str, out: &mut String) {
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
        for tick in linear_ticks(self.seconds, 8.0) {
            let _ = writeln!(
                out,
                "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{tick} s</text>",
                self.x(tick),
                bottom + 17.0
            );
        }
    }

    fn ground(&self, capacity: &Series, out: &mut String) {
        let mut edge = String::new();
        for (t, v) in capacity.t.iter().zip(&capacity.v) {
            let (x, y) = (self.x(*t), self.y(if v.is_finite() { *v } else { 0.0 }));
            let _ = if edge.is_empty() {
                write!(edge, "M{x:.1} {y:.1}")
            } else {
                write!(edge, "H{x:.1}V{y:.1}")
            };
        }
        let (first, right) = (self.x(capacity.t[0]), self.x(self.seconds));
        let bottom = self.top + self.height;
        let _ = writeln!(
            out,
            "<path class=\"ground\" d=\"{edge}H{right:.1}V{bottom:.1}H{first:.1}Z\"/>\
             <path class=\"ground-edge\" d=\"{edge}H{right:.1}\"/>"
        );
    }

    fn line(&self, series: &Series, style: Style, out: &mut String) {
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

    /// The area between a mean and a percentile that has the same gaps.
    fn band(&self, low: &Series, high: &Series, style: Style, out: &mut String) {
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
    use crate::report::sample;

    #[test]
    fn the_figure_stands_alone_and_shows_every_flow() {
        let figure = svg(&sample::two_runs());
        assert!(figure.starts_with("<svg xmlns="));
        assert!(figure.ends_with("</svg>\n"));
        assert_eq!(
            figure.matches("class=\"line c0\"").count(),
            3,
            "legend, rate, delay"
        );
        assert_eq!(
            figure.matches("class=\"line c1\"").count(),
            3,
            "legend, rate, delay"
        );
        assert_eq!(
            figure.matches("class=\"ground\"").count(),
            1,
            "one scenario, one capacity"
        );
        assert!(!figure.contains("NaN") && !figure.contains("inf"));
    }

    #[test]
    fn an_empty_report_has_an_empty_figure() {
        let figure = svg(&Page::default());
        assert!(
            !figure.contains("class=\"line") && !figure.contains("NaN"),
            "{figure}"
        );
    }

    #[test]
    fn a_gap_breaks_a_line_in_two() {
        let plot = Plot {
            top: 0.0,
            height: 100.0,
            seconds: 4.0,
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
