//! Puts a page's texts, tables and numbers into its template.

use std::fmt::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Serialize;

use super::{Link, Page, Run, spikes, summary};
use crate::report::palette;

const TEMPLATE: &str = include_str!("page.html");
/// The style of every page.
pub(crate) const CSS: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("axis.js"),
    include_str!("marks.js"),
    include_str!("panel.js"),
    include_str!("input.js"),
    include_str!("save.js"),
    include_str!("page.js"),
    include_str!("controls.js"),
);

/// What the script reads.
#[derive(Serialize)]
struct Embedded<'a> {
    #[serde(flatten)]
    page: &'a Page,
    dashes: [&'static str; palette::DASHES.len()],
}

pub(super) fn html(page: &Page) -> String {
    fill(TEMPLATE, |name, out| match name {
        "title" => out.push_str(&escape(&page.title)),
        "subtitle" => out.push_str(&escape(&page.subtitle)),
        "version" if page.version.is_empty() => {}
        "version" => {
            let version = escape(&page.version);
            let _ = write!(out, " This report was made by {version}.");
        }
        "bin" => out.push_str(&seconds_as_ms(page.bin)),
        "palette" => out.push_str(&palette::css()),
        "css" => out.push_str(CSS),
        "verdict" => verdict(page, out),
        "stills" => stills(page, out),
        "runs" => runs(&page.runs, page.verdict.is_some(), out),
        "summary" => summary::table(page, out),
        "links" => links(&page.runs, out),
        "spikes" => spikes::table(&page.runs, out),
        "commands" => commands(&page.runs, out),
        "definitions" => definitions(&page.definitions, out),
        "report" => out.push_str(&json(page)),
        "script" => out.push_str(SCRIPT),
        unknown => unreachable!("page.html asks for {unknown}"),
    })
}

/// Text as HTML, safe between tags and inside quotes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Rules for pages that have their own markup.
pub(crate) fn styles() -> String {
    palette::css() + CSS
}

/// A short sample of a flow's line. The script puts its marker on top.
pub(super) fn swatch(index: usize, run: usize, runs: usize) -> String {
    let style = palette::style(index, run, runs);
    format!(
        "<svg class=\"swatch\" data-flow=\"{index}\" width=\"34\" height=\"12\" aria-hidden=\"true\">\
         <path d=\"M0 6H34\" style=\"stroke:var(--c{})\" stroke-dasharray=\"{}\"/></svg>",
        style.colour,
        palette::DASHES[style.dash]
    )
}

/// Copies `template`, with each `{{name}}` replaced by what `write` writes.
/// What is written is not looked at again.
fn fill(template: &str, mut write: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a closed placeholder");
        out.push_str(before);
        write(name, &mut out);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The numbers as JSON in which no character can end a script element.
fn json(page: &Page) -> String {
    let json = serde_json::to_string(&Embedded {
        page,
        dashes: palette::DASHES,
    });
    json.expect("plain structs are JSON")
        .replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
}

fn seconds_as_ms(seconds: f64) -> String {
    format!("{} ms", (seconds * 1e3).round())
}

/// The choice, where the page compares.
fn verdict(page: &Page, out: &mut String) {
    if let Some((sentence, rule)) = &page.verdict {
        let _ = writeln!(
            out,
            "<p class=\"verdict\">{}</p>\n<p class=\"rule\">{}</p>",
            escape(sentence),
            escape(rule)
        );
    }
}

/// What viewers saw, where there were pictures.
fn stills(page: &Page, out: &mut String) {
    if page.stills.is_empty() {
        return;
    }
    out.push_str(
        "<section id=\"stills\">\n<h2>The worst moment</h2>\n\
         <p class=\"caption\">The frame at which the pictures of all calls together were worst. \
         Left: what should have been on the screen. Right: what was.</p>\n",
    );
    for still in &page.stills {
        let png = BASE64_STANDARD.encode(&still.png);
        let _ = writeln!(
            out,
            "<figure class=\"still\"><figcaption><strong>{}</strong> {}</figcaption>\
             <img alt=\"source and picture of {0}\" src=\"data:image/png;base64,{png}\"></figure>",
            escape(&still.name),
            escape(&still.caption),
        );
    }
    out.push_str("</section>\n");
}

fn runs(runs: &[Run], page_compares: bool, out: &mut String) {
    if runs.is_empty() {
        out.push_str("<p class=\"note\">No runs: there is nothing to report.</p>\n");
        return;
    }
    if page_compares {
        return; // The table and the bar above the plots name them all.
    }
    out.push_str("<ul class=\"runs\">\n");
    let mut index = 0;
    for (number, run) in runs.iter().enumerate() {
        out.push_str("<li><div class=\"name\">");
        if run.flows.len() == 1 {
            out.push_str(&swatch(index, number, runs.len()));
        }
        index += run.flows.len();
        let _ = write!(
            out,
            "<strong>{}</strong></div><dl>\
             <div><dt>scenario</dt><dd>{}</dd></div><div><dt>seed</dt><dd>{}</dd></div>\
             <div><dt>duration</dt><dd>{} s</dd></div><div><dt>flows</dt><dd>{}</dd></div></dl>",
            escape(&run.name),
            escape(&run.scenario),
            run.seed,
            run.duration,
            run.flows.iter().filter(|flow| !flow.part).count(),
        );
        if let Some(finding) = &run.finding {
            let _ = write!(out, "<p class=\"finding\">{}</p>", escape(finding));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

fn links(runs: &[Run], out: &mut String) {
    if runs.iter().all(|run| run.links.is_empty()) {
        out.push_str("<p class=\"note\">These runs have no links of their own.</p>\n");
        return;
    }
    out.push_str("<div class=\"scroll\"><table class=\"sortable\">\n<thead><tr>");
    for (label, unit, class) in [
        ("run", "", "word"),
        ("link", "", "word"),
        ("queue, service, flight", "", "word"),
        ("utilisation", "%", ""),
        ("mean queue", "kB", ""),
        ("mean wait", "ms", ""),
        ("carried", "packets", ""),
        ("dropped", "packets", ""),
        ("marked", "packets", ""),
    ] {
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\">{label}");
        if !unit.is_empty() {
            let _ = write!(out, "<span class=\"unit\">{unit}</span>");
        }
        out.push_str("</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for run in runs {
        for link in &run.links {
            link_row(run, link, out);
        }
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn link_row(run: &Run, link: &Link, out: &mut String) {
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{}</th><td class=\"word\">{}</td><td class=\"word long\">{}</td>",
        escape(&run.name),
        escape(&link.name),
        escape(&link.description),
    );
    let utilisation = link.utilisation.map(|share| share * 100.0);
    for value in [utilisation, link.mean_queue, link.mean_wait] {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                let _ = write!(out, "<td data-v=\"{value}\">{value:.1}</td>");
            }
            None => out.push_str("<td class=\"none\">–</td>"),
        }
    }
    let dropped: u64 = link.dropped.iter().map(|(_, count)| count).sum();
    let causes: Vec<_> = link
        .dropped
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(cause, count)| format!("{count} {}", escape(cause)))
        .collect();
    let _ = write!(out, "<td data-v=\"{0}\">{0}</td>", link.carried);
    let _ = write!(out, "<td data-v=\"{dropped}\">{dropped}");
    if !causes.is_empty() {
        let _ = write!(out, "<span class=\"unit\">{}</span>", causes.join(", "));
    }
    let _ = writeln!(out, "</td><td data-v=\"{0}\">{0}</td></tr>", link.marked);
}

fn commands(runs: &[Run], out: &mut String) {
    if runs.is_empty() {
        return;
    }
    let lines: Vec<_> = runs.iter().map(|run| escape(&run.command)).collect();
    let _ = write!(
        out,
        "<pre id=\"commands\"><code>{}</code></pre>",
        lines.join("\n")
    );
}

fn definitions(definitions: &[(String, String)], out: &mut String) {
    if definitions.is_empty() {
        return;
    }
    out.push_str("<h3>What the words mean</h3>\n<dl class=\"definitions\">\n");
    for (name, text) in definitions {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(name),
            escape(text)
        );
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let filled = fill("a {{one}} b {{two}} c", |name, out| {
            out.push_str(if name == "one" { "{{two}}" } else { "2" });
        });
        assert_eq!(filled, "a {{two}} b 2 c");
    }

    #[test]
    fn every_special_character_is_escaped() {
        assert_eq!(
            escape("<a href='x'>\"&"),
            "&lt;a href=&#39;x&#39;&gt;&quot;&amp;"
        );
    }

    #[test]
    fn drops_are_told_by_cause() {
        let run = Run {
            links: vec![Link {
                dropped: vec![("full".into(), 30), ("aqm".into(), 0), ("random".into(), 4)],
                ..Link::default()
            }],
            ..Run::default()
        };
        let mut out = String::new();
        links(&[run], &mut out);
        assert!(
            out.contains(">34<span class=\"unit\">30 full, 4 random</span>"),
            "{out}"
        );
    }
}
