//! An experiment's page: the figure, the bands, and what a reader should know.

use std::fmt::Write;

use super::experiment::{Experiment, Findings, Measure, short};
use crate::report::page::{CSS, escape};
use crate::report::palette;

/// What the page has besides the report's style.
const STYLE: &str = "
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); gap: 0.4rem 2rem; }
.charts figure { display: block; max-width: 46rem; }
.plot .arrow { stroke-width: 1.3; }
.measures { width: auto; min-width: 60%; }
.missed { font-weight: 700; }
.notes li { margin-top: 0.35rem; max-width: 110ch; }
";

/// The page as HTML; it needs no script and no network.
pub(super) fn html(experiment: &Experiment, findings: &Findings, seeds: u64) -> String {
    let title = format!(
        "{}: {}",
        escape(experiment.source),
        escape(experiment.shows)
    );
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\" class=\"drawn\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{}{CSS}{STYLE}</style>\n</head>\n<body>\n<header class=\"top\">\n\
         <p class=\"brand\">tightloop papers {}</p>\n<h1>{title}</h1>\n<p class=\"subtitle\">{}</p>\n</header>\n<main>\n",
        palette::css(),
        escape(experiment.name),
        sentence(findings, seeds),
    );
    out.push_str("<section class=\"charts\">\n");
    for chart in &findings.charts {
        let _ = writeln!(
            out,
            "<figure><h3>{}</h3>\n{}</figure>",
            escape(&chart.title),
            chart.svg()
        );
    }
    out.push_str("</section>\n");
    measures(&findings.measures, seeds, &mut out);
    notes(&findings.notes, &mut out);
    let _ = write!(
        out,
        "</main>\n<footer>\n<h2>Reproduce</h2>\n<p class=\"caption\">A run depends on its scenario, seed and version \
         alone. Made by tightloop {}.</p>\n<pre><code>tightloop papers {} --seeds {seeds}</code></pre>\n\
         </footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escape(experiment.name),
    );
    out
}

/// How many bands are held.
fn sentence(findings: &Findings, seeds: u64) -> String {
    let (held, all) = (
        findings.measures.iter().filter(|it| it.held()).count(),
        findings.measures.len(),
    );
    let seeds = if seeds == 1 {
        "one seed".to_owned()
    } else {
        format!("{seeds} seeds")
    };
    format!(
        "{held} of {all} bands held, {seeds}. Points: medians; bars: from the least to the most of all seeds."
    )
}

fn measures(measures: &[Measure], seeds: u64, out: &mut String) {
    let _ = write!(
        out,
        "<section>\n<h2>Claims and what came</h2>\n<p class=\"caption\">A band was set before measuring. It is held \
         where the median of {seeds} lies in it, ends included.</p>\n<div class=\"scroll\">\
         <table class=\"sortable measures\">\n<thead><tr>"
    );
    for (heading, class) in [
        ("measure", "word"),
        ("unit", "word"),
        ("band", ""),
        ("median", ""),
        ("spread", ""),
        ("verdict", "word"),
    ] {
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{heading}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for measure in measures {
        let [low, high] = measure.band.map(short);
        let [least, most] = measure.spread().map(short);
        let (class, mark) = if measure.held() {
            ("word", "✓")
        } else {
            ("word missed", "✗")
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"word\">{}</td><td>{low} – {high}</td>\
             <td><strong>{}</strong></td><td>{least} – {most}</td><td class=\"{class}\">{mark} {}</td></tr>",
            escape(&measure.name),
            escape(measure.unit),
            short(measure.median()),
            measure.verdict(),
        );
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
}

fn notes(notes: &[String], out: &mut String) {
    if notes.is_empty() {
        return;
    }
    out.push_str("<section>\n<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for note in notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    out.push_str("</ul>\n</section>\n");
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;
    use crate::report::chart::{Axis, Chart, Dot, Layer};

    #[test]
    fn the_page_needs_nothing_and_says_what_was_missed() {
        let experiment = Experiment {
            name: "sqp/fig0",
            source: "[SQP] Fig. 0",
            shows: "a share <of> all",
            seconds: 1,
            run: |_| bail!("not run"),
        };
        let mut findings = Findings::default();
        findings.measure("share", "Mbit/s", [0.0, 1.0], vec![2.0]);
        findings.measure("other", "", [0.0, 1.0], vec![1.0]);
        findings.note("left out: <b>");
        let (x, y) = (Axis::new("T", 0.0, 1.0), Axis::new("share", 0.0, 1.0));
        let layers = vec![Layer::dots("runs", 0, vec![Dot::at(0.5, 0.5)])];
        findings.charts.push(Chart::new("(a) share", x, y, layers));
        let html = html(&experiment, &findings, 1);
        for outside in ["http:", "https:", "src=", "<script", "<b>", "<of>"] {
            assert!(!html.contains(outside), "{outside}");
        }
        for said in [
            "1 of 2 bands held, one seed",
            "✗ MISSED",
            "✓ held",
            "(a) share",
        ] {
            assert!(html.contains(said), "{said}: {html}");
        }
        assert!(html.trim_end().ends_with("</html>"));
    }
}
