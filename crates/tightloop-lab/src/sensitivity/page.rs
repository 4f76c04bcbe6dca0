//! The page: δ of each flow, and a heat map of its rates.

use std::fmt::Write;

use tightloop::units::Rate;

use super::delays::Delays;
use super::map::{self, Axis, Cell, Level};
use super::{BOUND, Outcome, millis};
use crate::report::page::{escape, styles};

const RULES: &str = "
.maps { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem; }
.maps p { margin-bottom: .3rem; }
td, th { padding: .3rem .8rem .3rem 0; text-align: left; }
tbody tr { border-bottom: 1px solid var(--rule); }
.rates td { padding: .3rem .8rem; text-align: right; }
.map text { font: 11px system-ui, sans-serif; fill: currentColor; font-variant-numeric: tabular-nums; }
.map .middle { text-anchor: middle; } .map .end { text-anchor: end; }
.map .empty { fill: none; stroke: currentColor; stroke-opacity: .25; }
.map .extreme { fill: none; stroke: #d55e00; stroke-width: 2.5; }
.ramp { display: inline-block; width: 160px; height: .8em; vertical-align: middle; }
";

/// What the page shows.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) about: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) controllers: &'a [&'a str],
    pub(crate) outcomes: &'a [Outcome],
}

impl Page<'_> {
    /// As HTML, one file that needs no network.
    pub(crate) fn html(&self) -> String {
        let title = escape(self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}: sensitivity to delays</title>\n<style>{}{RULES}</style>\n</head>\n<body>\n<main>\n\
             <header><h1>{title}: sensitivity to delays</h1>\n<p>{}</p>\n<p>{BOUND}</p></header>\n",
            styles(),
            escape(self.about)
        );
        self.summary(&mut out);
        for outcome in self.outcomes {
            self.set(outcome, &mut out);
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    /// δ by flow and set.
    fn summary(&self, out: &mut String) {
        out.push_str("<section>\n<h2>δ</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">flow</th><th scope=\"col\">controller</th>");
        for outcome in self.outcomes {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(&outcome.text));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for (flow, (name, controller)) in self.names.iter().zip(self.controllers).enumerate() {
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td>",
                escape(name),
                escape(controller)
            );
            for outcome in self.outcomes {
                let cell = outcome.delta(flow).map_or("–".to_owned(), |it| {
                    let starved = if it.floored { " (starved)" } else { "" };
                    format!("{:.2}{starved}", it.delta)
                });
                let _ = write!(out, "<td>{cell}</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n</section>\n");
    }

    fn set(&self, outcome: &Outcome, out: &mut String) {
        let rates = outcome.rates.iter().flatten();
        let highest = rates.copied().max().map_or(0.0, Rate::mbps_f64);
        let _ = writeln!(
            out,
            "<section>\n<h2>{}</h2>\n<p class=\"caption\">Each cell is one run: the rate of a flow with these round \
             trips without queues. Its lowest and its highest are framed.</p>\n{}<div class=\"maps\">",
            escape(&outcome.extent()),
            map::legend(highest)
        );
        match &outcome.delays {
            Delays::Grid(_) => {
                for flow in 0..self.names.len() {
                    self.grid(outcome, flow, highest, out);
                }
            }
            Delays::List(_) => self.list(outcome, highest, out),
        }
        out.push_str("</div>\n</section>\n");
    }

    /// One flow over a grid: half of the flows that vary across, the rest down.
    fn grid(&self, outcome: &Outcome, flow: usize, highest: f64, out: &mut String) {
        let Delays::Grid(sides) = &outcome.delays else {
            return;
        };
        let varying: Vec<usize> = (0..sides.len()).filter(|at| sides[*at].len() > 1).collect();
        let (across, down) = varying.split_at(varying.len().div_ceil(2));
        let axis = |flows: &[usize]| Axis {
            levels: flows
                .iter()
                .map(|at| Level {
                    name: escape(&self.names[*at]),
                    values: sides[*at].clone(),
                })
                .collect(),
        };
        let (columns, rows) = (axis(across), axis(down));
        let delta = outcome.delta(flow);
        let instances = outcome.instances.iter().zip(&outcome.rates).enumerate();
        let cells: Vec<Cell> = instances
            .filter_map(|(at, (rtts, rates))| {
                let of = |flows: &[usize]| flows.iter().map(|at| rtts[*at]).collect::<Vec<_>>();
                Some(Cell {
                    column: columns.place(&of(across))?,
                    row: rows.place(&of(down))?,
                    value: rates[flow].mbps_f64(),
                    says: format!("{} ms: {:.2} Mbit/s", millis(rtts), rates[flow].mbps_f64()),
                    extreme: delta.is_some_and(|it| it.lowest == at || it.highest == at),
                })
            })
            .collect();
        self.heading(outcome, flow, out);
        out.push_str(&map::svg(&columns, &rows, &cells, highest));
        out.push_str("</div>\n");
    }

    fn heading(&self, outcome: &Outcome, flow: usize, out: &mut String) {
        let delta = outcome
            .delta(flow)
            .map_or(String::new(), |it| format!(", δ = {:.2}", it.delta));
        let _ = writeln!(
            out,
            "<div><p><strong>{}</strong> {}{delta}</p>",
            escape(&self.names[flow]),
            escape(self.controllers[flow])
        );
    }

    /// A row for each instance, a column for each flow.
    fn list(&self, outcome: &Outcome, highest: f64, out: &mut String) {
        out.push_str(
            "<div class=\"scroll\"><table class=\"rates\">\n<thead><tr><th scope=\"col\">round trips, ms</th>",
        );
        for name in self.names {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let deltas: Vec<_> = (0..self.names.len())
            .map(|flow| outcome.delta(flow))
            .collect();
        for (at, (rtts, rates)) in outcome.instances.iter().zip(&outcome.rates).enumerate() {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>", millis(rtts));
            for (rate, delta) in rates.iter().zip(&deltas) {
                let extreme = delta.is_some_and(|it| it.lowest == at || it.highest == at);
                let _ = write!(
                    out,
                    "<td style=\"{}\">{:.2}</td>",
                    map::style(rate.mbps_f64(), highest, extreme),
                    rate.mbps_f64()
                );
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody>\n</table></div>\n");
    }
}
