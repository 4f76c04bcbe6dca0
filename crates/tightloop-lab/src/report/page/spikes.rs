//! The table of spikes: each drop of a link's capacity, and how long packets
//! waited after it against what no sender can avoid.

use std::fmt::Write;

use tightloop::analysis::SpikeReport;

use super::Run;
use super::markup::escape;

/// Appends the table, where capacity drops.
pub(super) fn table(runs: &[Run], out: &mut String) {
    let links = runs
        .iter()
        .flat_map(|run| run.links.iter().map(move |link| (run, link)));
    let mut rows = links
        .flat_map(|(run, link)| link.spikes.iter().map(move |spike| (run, link, spike)))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    out.push_str(
        "<h3>Spike ÷ bound at each drop of capacity</h3>\n\
         <p class=\"caption\">The longest that a packet waited within five seconds, over (r − 1) d: what nobody \
         avoids who sent so much before. r is what the flows got in the second before over the new capacity, d the \
         fastest round trip.</p>\n\
         <div class=\"scroll\"><table class=\"sortable\" id=\"spike-table\">\n<thead><tr>",
    );
    for (label, unit, class) in [
        ("run", "", "word"),
        ("controller", "", "word"),
        ("link", "", "word"),
        ("drop at", "s", ""),
        ("from", "Mbit/s", ""),
        ("to", "Mbit/s", ""),
        ("r", "", ""),
        ("bound", "ms", ""),
        ("spike", "ms", ""),
        ("÷ bound", "times", ""),
    ] {
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{label}");
        if !unit.is_empty() {
            let _ = write!(out, "<span class=\"unit\">{unit}</span>");
        }
        out.push_str("</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (run, link, spike) in rows {
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"word\">{}</td><td class=\"word\">{}</td>",
            escape(&run.name),
            escape(&controllers(run)),
            escape(&link.name),
        );
        for (value, decimals) in cells(spike) {
            match value {
                Some(value) => {
                    let _ = write!(out, "<td data-v=\"{value}\">{value:.decimals$}</td>");
                }
                None => out.push_str("<td class=\"none\">–</td>"),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

/// The numbers of a row, each with its decimals.
fn cells(spike: &SpikeReport) -> [(Option<f64>, usize); 7] {
    [
        (Some(spike.at.secs_f64()), 1),
        (Some(spike.before.mbps_f64()), 2),
        (Some(spike.after.mbps_f64()), 2),
        (Some(spike.ratio), 2),
        (spike.bound.map(|bound| bound.millis_f64()), 1),
        (Some(spike.measured.millis_f64()), 1),
        (spike.over_bound, 2),
    ]
}

/// Whose run it is: each controller once.
fn controllers(run: &Run) -> String {
    let mut names: Vec<&str> = Vec::new();
    for flow in &run.flows {
        if !names.contains(&&*flow.controller) {
            names.push(&flow.controller);
        }
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use tightloop::units::{Rate, Span, Time};

    use super::*;
    use crate::report::page::{Flow, Link};

    #[test]
    fn each_drop_has_a_row_and_no_drop_no_table() {
        let spike = SpikeReport {
            at: Time::from_secs(30),
            before: Rate::from_mbps(60),
            after: Rate::from_mbps(20),
            ratio: 2.9,
            measured: Span::from_millis(190),
            bound: Some(Span::from_millis(95)),
            over_bound: Some(2.0),
        };
        let unbounded = SpikeReport {
            bound: None,
            over_bound: None,
            ..spike
        };
        let run = |spikes| Run {
            flows: vec![Flow {
                controller: "a<b".into(),
                ..Flow::default()
            }],
            links: vec![Link {
                spikes,
                ..Link::default()
            }],
            ..Run::default()
        };
        let mut out = String::new();
        table(&[run(vec![spike, unbounded]), run(vec![])], &mut out);
        assert_eq!(out.matches("<tr><th scope=\"row\">").count(), 2, "{out}");
        assert!(out.contains("a&lt;b") && out.contains(">190.0<") && out.contains(">2.00<"));
        assert_eq!(out.matches("class=\"none\"").count(), 2, "{out}");
        let mut out = String::new();
        table(&[run(vec![])], &mut out);
        assert!(out.is_empty(), "{out}");
    }
}
