//! The summary table: one row per flow, one column per metric.

use std::fmt::Write;

use serde::Serialize;

use super::markup::{escape, swatch};
use super::{Flow, Page, Run};

/// A flow's metrics over its whole run. What does not apply is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Received bytes over time, in Mbit/s.
    pub(crate) throughput: Option<f64>,
    /// Received bytes over what the bottleneck could have carried, from 0 to 1.
    pub(crate) utilisation: Option<f64>,
    /// Rate of encoded video, in Mbit/s.
    pub(crate) bitrate: Option<f64>,
    /// Padding over everything sent, from 0 to 1.
    pub(crate) filler: Option<f64>,
    /// Mean SSIM of luma over all frame times, in dB.
    pub(crate) ssim_db: Option<f64>,
    /// PSNR of luma of the mean error over all frame times, in dB.
    pub(crate) psnr: Option<f64>,
    /// Mean VMAF, 0 to 100.
    pub(crate) vmaf: Option<f64>,
    /// The longest wait at the link over the longest of the ideal sender.
    pub(crate) spike: Option<f64>,
    /// Median one-way delay of packets, in ms.
    pub(crate) delay_p50: Option<f64>,
    /// 95th percentile of it.
    pub(crate) delay_p95: Option<f64>,
    /// 99th percentile of it.
    pub(crate) delay_p99: Option<f64>,
    /// Mean frame latency, in ms.
    pub(crate) latency_mean: Option<f64>,
    /// Median frame latency, in ms.
    pub(crate) latency_p50: Option<f64>,
    /// 95th percentile of it.
    pub(crate) latency_p95: Option<f64>,
    /// 99th percentile of it.
    pub(crate) latency_p99: Option<f64>,
    /// Frames shown over frames captured, from 0 to 1.
    pub(crate) shown: Option<f64>,
    /// Frames shown a second.
    pub(crate) fps: Option<f64>,
    /// How often the picture froze.
    pub(crate) freezes: Option<u32>,
    /// Packets lost over packets sent, from 0 to 1.
    pub(crate) loss: Option<f64>,
}

/// Which end of a column is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    Higher,
    Lower,
}

struct Column {
    group: &'static str,
    label: &'static str,
    unit: &'static str,
    hint: &'static str,
    better: Better,
    decimals: usize,
    value: fn(&Summary) -> Option<f64>,
}

const PER_CENT: f64 = 100.0;

/// In the order of the table; neighbours of one group share a heading.
const COLUMNS: [Column; 18] = [
    Column {
        group: "Frame latency",
        label: "mean",
        unit: "ms",
        hint: "from capture to display, all frames",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.latency_mean,
    },
    Column {
        group: "Frame latency",
        label: "p50",
        unit: "ms",
        hint: "half of the frames took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.latency_p50,
    },
    Column {
        group: "Frame latency",
        label: "p95",
        unit: "ms",
        hint: "95 % of the frames took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.latency_p95,
    },
    Column {
        group: "Frame latency",
        label: "p99",
        unit: "ms",
        hint: "99 % of the frames took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.latency_p99,
    },
    Column {
        group: "Picture",
        label: "VMAF",
        unit: "0–100",
        hint: "likeness to the source as viewers judge it, frozen pictures included",
        better: Better::Higher,
        decimals: 1,
        value: |s| s.vmaf,
    },
    Column {
        group: "Picture",
        label: "SSIM",
        unit: "dB",
        hint: "structural likeness to the source, frozen pictures included",
        better: Better::Higher,
        decimals: 2,
        value: |s| s.ssim_db,
    },
    Column {
        group: "Picture",
        label: "PSNR",
        unit: "dB",
        hint: "signal over error, frozen pictures included",
        better: Better::Higher,
        decimals: 1,
        value: |s| s.psnr,
    },
    Column {
        group: "Frames",
        label: "shown",
        unit: "%",
        hint: "frames shown over frames captured",
        better: Better::Higher,
        decimals: 1,
        value: |s| Some(s.shown? * PER_CENT),
    },
    Column {
        group: "Frames",
        label: "freezes",
        unit: "count",
        hint: "how often the picture stood still",
        better: Better::Lower,
        decimals: 0,
        value: |s| s.freezes.map(f64::from),
    },
    Column {
        group: "Rate",
        label: "throughput",
        unit: "Mbit/s",
        hint: "received bytes over time",
        better: Better::Higher,
        decimals: 2,
        value: |s| s.throughput,
    },
    Column {
        group: "Rate",
        label: "utilisation",
        unit: "%",
        hint: "received bytes over what the bottleneck could have carried",
        better: Better::Higher,
        decimals: 1,
        value: |s| Some(s.utilisation? * PER_CENT),
    },
    Column {
        group: "Rate",
        label: "video",
        unit: "Mbit/s",
        hint: "encoded pictures over time",
        better: Better::Higher,
        decimals: 2,
        value: |s| s.bitrate,
    },
    Column {
        group: "Rate",
        label: "filler",
        unit: "%",
        hint: "padding over everything sent",
        better: Better::Lower,
        decimals: 1,
        value: |s| Some(s.filler? * PER_CENT),
    },
    Column {
        group: "One-way delay",
        label: "p50",
        unit: "ms",
        hint: "half of the packets took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.delay_p50,
    },
    Column {
        group: "One-way delay",
        label: "p95",
        unit: "ms",
        hint: "95 % of the packets took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.delay_p95,
    },
    Column {
        group: "One-way delay",
        label: "p99",
        unit: "ms",
        hint: "99 % of the packets took no longer",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.delay_p99,
    },
    Column {
        group: "Packets",
        label: "loss",
        unit: "%",
        hint: "packets lost over packets sent",
        better: Better::Lower,
        decimals: 2,
        value: |s| Some(s.loss? * PER_CENT),
    },
    Column {
        group: "Spike",
        label: "÷ bound",
        unit: "times",
        hint: "longest wait at the link over what anyone who wants all of its capacity must wait",
        better: Better::Lower,
        decimals: 1,
        value: |s| s.spike,
    },
];

/// Appends the table of all flows of all runs.
pub(super) fn table(page: &Page, out: &mut String) {
    let rows: Vec<_> = page
        .runs
        .iter()
        .enumerate()
        .flat_map(|(run, r)| r.flows.iter().map(move |flow| (run, r, flow)))
        .collect();
    if rows.is_empty() {
        out.push_str("<p class=\"note\">No flows: there is nothing to compare.</p>\n");
        return;
    }
    out.push_str("<p class=\"caption\">One row per flow.");
    if rows.len() > 1 {
        out.push_str(
            " <span class=\"best-key\">Bold with a dot</span> is the best of its column. \
             <span class=\"live\">Click a heading to sort.</span>",
        );
    }
    out.push_str("</p>\n<div class=\"scroll\">");
    out.push_str("<table class=\"sortable\" id=\"summary-table\">\n<thead>\n");
    let cells = |column| -> Vec<_> {
        let cell = |(.., flow): &(usize, &Run, &Flow)| cell(column, &flow.summary);
        rows.iter().map(cell).collect()
    };
    // What no flow has is no column.
    let (columns, texts): (Vec<&Column>, Vec<Vec<_>>) = COLUMNS
        .iter()
        .map(|column| (column, cells(column)))
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .unzip();
    // Where calls are compared, the run says who made it.
    let lone = page.verdict.is_some() && page.runs.iter().all(|run| run.flows.len() == 1);
    let names = if lone {
        &["controller"][..]
    } else {
        &["run", "flow", "controller"]
    };
    groups(&columns, names.len(), out);
    headings(&columns, names, out);
    out.push_str("</thead>\n<tbody>\n");
    let columns = columns.iter().zip(&texts);
    let best: Vec<_> = columns.map(|(column, texts)| best(column, texts)).collect();
    for (index, (run, r, flow)) in rows.iter().enumerate() {
        let _ = write!(
            out,
            "<tr><th scope=\"row\" data-v=\"{index}\">{}{}</th>",
            swatch(index, *run, page.runs.len()),
            escape(&r.name),
        );
        if !lone {
            let _ = write!(
                out,
                "<td class=\"word\">{}</td><td class=\"word\">{}</td>",
                escape(&flow.name),
                escape(&flow.controller),
            );
        }
        for (texts, best) in texts.iter().zip(&best) {
            match &texts[index] {
                None => out.push_str("<td class=\"none\">–</td>"),
                Some((value, text)) if best.as_ref() == Some(text) => {
                    let _ = write!(
                        out,
                        "<td class=\"best\" data-v=\"{value}\">{text}<span class=\"unseen\"> (best)</span></td>"
                    );
                }
                Some((value, text)) => {
                    let _ = write!(out, "<td data-v=\"{value}\">{text}</td>");
                }
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn groups(columns: &[&Column], names: usize, out: &mut String) {
    let _ = write!(out, "<tr class=\"groups\"><th colspan=\"{names}\"></th>");
    for group in columns.chunk_by(|a, b| a.group == b.group) {
        let _ = write!(
            out,
            "<th scope=\"colgroup\" colspan=\"{}\">{}</th>",
            group.len(),
            group[0].group
        );
    }
    out.push_str("</tr>\n");
}

fn headings(columns: &[&Column], names: &[&str], out: &mut String) {
    out.push_str("<tr>");
    for word in names {
        let _ = write!(out, "<th scope=\"col\" class=\"word\">{word}</th>");
    }
    let mut group = "";
    for column in columns {
        let edge = if column.group == group {
            ""
        } else {
            " class=\"edge\""
        };
        group = column.group;
        let _ = write!(
            out,
            "<th scope=\"col\"{edge} title=\"{}\">{}<span class=\"unit\">{}</span></th>",
            column.hint, column.label, column.unit
        );
    }
    out.push_str("</tr>\n");
}

/// The value to sort by and the text to show.
fn cell(column: &Column, summary: &Summary) -> Option<(f64, String)> {
    let value = (column.value)(summary).filter(|value| value.is_finite())?;
    Some((value, format!("{value:.*}", column.decimals)))
}

/// The best text of a column; none where there is nothing to choose from.
///
/// Values that look the same are equally good.
fn best(column: &Column, cells: &[Option<(f64, String)>]) -> Option<String> {
    let present = || cells.iter().flatten();
    let (value, text) = match column.better {
        Better::Higher => present().max_by(|a, b| a.0.total_cmp(&b.0)),
        Better::Lower => present().min_by(|a, b| a.0.total_cmp(&b.0)),
    }?;
    debug_assert!(value.is_finite());
    present()
        .any(|(_, other)| other != text)
        .then(|| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(summaries: &[Summary]) -> String {
        let flow = |summary: &Summary| Flow {
            summary: *summary,
            ..Flow::default()
        };
        let page = Page {
            runs: vec![Run {
                flows: summaries.iter().map(flow).collect(),
                ..Run::default()
            }],
            ..Page::default()
        };
        let mut out = String::new();
        table(&page, &mut out);
        out
    }

    #[test]
    fn the_best_of_a_column_is_the_highest_rate_and_the_lowest_delay() {
        let (fast, quick) = (
            Summary {
                throughput: Some(9.0),
                delay_p95: Some(80.0),
                ..Summary::default()
            },
            Summary {
                throughput: Some(8.0),
                delay_p95: Some(40.0),
                ..Summary::default()
            },
        );
        let table = rows(&[fast, quick]);
        assert!(
            table.contains("class=\"best\" data-v=\"9\">9.00<"),
            "{table}"
        );
        assert!(
            table.contains("class=\"best\" data-v=\"40\">40.0<"),
            "{table}"
        );
        assert_eq!(table.matches("class=\"best\"").count(), 2);
    }

    #[test]
    fn values_that_look_the_same_are_equally_good() {
        let with = |loss| Summary {
            loss: Some(loss),
            ..Summary::default()
        };
        let same = rows(&[with(0.01), with(0.010_000_1)]);
        assert_eq!(same.matches("class=\"best\"").count(), 0);
        let two_of_three = rows(&[with(0.01), with(0.010_000_1), with(0.02)]);
        assert_eq!(two_of_three.matches("class=\"best\"").count(), 2);
    }

    #[test]
    fn a_single_row_has_no_best() {
        let lone = Summary {
            throughput: Some(9.0),
            ..Summary::default()
        };
        assert_eq!(rows(&[lone]).matches("class=\"best\"").count(), 0);
    }
}
