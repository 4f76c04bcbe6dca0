//! The report's first plots as a picture: rate against capacity above one-way
//! delay, in one standalone SVG file for a README or a paper.

use super::page::{Page, Series};
use super::palette::{Style, style};
use super::plot::{ABOVE, BELOW, Plot, head, legend, legend_height};

const RATE_HEIGHT: f64 = 220.0;
const DELAY_HEIGHT: f64 = 160.0;
/// The delay axis is logarithmic where its values spread more than so many times.
const LOG_FROM: f64 = 25.0;

/// One flow's lines, and how they look.
struct Line<'a> {
    name: String,
    style: Style,
    received: &'a Series,
    delay: Series,
    p95: Series,
}

/// The figure as an SVG document.
pub(crate) fn svg(page: &Page) -> String {
    let lines = lines(page);
    let seconds = page.runs.iter().map(|run| run.duration).fold(0.0, f64::max);
    let seconds = if seconds > 0.0 { seconds } else { 1.0 };
    let rate = Plot {
        top: legend_height(lines.len()) + 8.0 + ABOVE,
        height: RATE_HEIGHT,
        first: 0.0,
        last: seconds,
        unit: " s",
        lowest: 0.0,
        highest: 1.06 * highest(rates(page)).unwrap_or(1.0),
        log: false,
    };
    let delay = delay_plot(&lines, seconds, rate.top + rate.height + BELOW + ABOVE);
    let height = delay.top + delay.height + BELOW + 8.0;

    let mut out = String::new();
    head(height, &mut out);
    let names = lines.iter().map(|line| (&*line.name, line.style));
    legend(names, &mut out);
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
        first: 0.0,
        last: seconds,
        unit: " s",
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
}
