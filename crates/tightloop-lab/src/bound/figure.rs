//! The bound as a picture: over d and r, and along a trace.

use anyhow::Result;
use tightloop::analysis::bound::{Step, growth};
use tightloop::analysis::unavoidable::{self, Fall};
use tightloop::link::series;
use tightloop::link::trace::Trace;
use tightloop::units::Span;

use crate::report::page::Series;
use crate::report::palette::{Style, style};
use crate::report::plot::{ABOVE, BELOW, Plot, head, legend, legend_height};

/// Those of the plots; a drop's own comes besides.
const RATIOS: [f64; 5] = [1.5, 2.0, 3.0, 5.0, 10.0];
const DELAYS: [i64; 5] = [10, 25, 50, 100, 200];
const HEIGHT: f64 = 240.0;
/// How many pieces a trace's rate is drawn in, at most.
const PIECES: i64 = 600;

/// Q over d for some r, and over r for some d, with the drop's own place.
pub(super) fn step(step: &Step) -> String {
    let (r, d) = (step.ratio(), step.d());
    let own = "this drop";
    let furthest = (d * 2).max(Span::from_millis(200));
    let steepest = (r * 1.5).max(10.0);
    let spike = step.spike().millis_f64();
    let highest = (1.25 * spike).max(500.0);
    let names = RATIOS.map(|r| format!("r = {r}"));
    let over_d = Plot {
        top: legend_height(RATIOS.len() + 1) + 8.0 + ABOVE,
        height: HEIGHT,
        first: 0.0,
        last: furthest.millis_f64(),
        unit: " ms",
        lowest: 0.0,
        highest,
        log: false,
    };
    let second_legend = over_d.top + HEIGHT + BELOW + 18.0;
    let over_r = Plot {
        top: second_legend + legend_height(DELAYS.len() + 1) + ABOVE,
        first: 1.0,
        last: steepest,
        unit: "",
        ..over_d
    };
    let mut out = String::new();
    head(over_r.top + HEIGHT + BELOW + 8.0, &mut out);
    let mine = mark(RATIOS.len());
    let styles = (0..).map(line_style);
    let entries = names.iter().map(String::as_str).zip(styles.clone());
    legend(entries.chain([(own, mine)]), &mut out);
    over_d.axes(
        "Q = (r − 1) d in ms, over d: news and what is under way",
        &mut out,
    );
    for (r, style) in RATIOS.into_iter().zip(styles.clone()) {
        let end = growth(r, furthest).millis_f64();
        over_d.line(
            &straight((0.0, 0.0), (furthest.millis_f64(), end), highest),
            style,
            &mut out,
        );
    }
    let line = straight(
        (0.0, 0.0),
        (furthest.millis_f64(), growth(r, furthest).millis_f64()),
        highest,
    );
    over_d.line(&line, mine, &mut out);
    let label = format!("{:.0} ms", spike);
    over_d.dot((d.millis_f64(), spike), &label, mine, &mut out);

    let names = DELAYS.map(|ms| format!("d = {ms} ms"));
    let entries = names.iter().map(String::as_str).zip(styles.clone());
    let mut key = String::new();
    legend(entries.chain([(own, mine)]), &mut key);
    out += &format!("<g transform=\"translate(0 {second_legend:.1})\">{key}</g>\n");
    over_r.axes(
        "Q in ms, over r: the capacity before, as it is used, over that after",
        &mut out,
    );
    for (ms, style) in DELAYS.into_iter().zip(styles) {
        let end = growth(steepest, Span::from_millis(ms)).millis_f64();
        over_r.line(
            &straight((1.0, 0.0), (steepest, end), highest),
            style,
            &mut out,
        );
    }
    let line = straight(
        (1.0, 0.0),
        (steepest, growth(steepest, d).millis_f64()),
        highest,
    );
    over_r.line(&line, mine, &mut out);
    over_r.dot((r, spike), &label, mine, &mut out);
    out + "</svg>\n"
}

const fn line_style(index: usize) -> Style {
    Style {
        colour: index,
        dash: 0,
    }
}

fn mark(index: usize) -> Style {
    Style {
        dash: 1,
        ..style(index + 1, 0, 1)
    }
}

/// A line from one point to another, as far as it is not above the plot.
fn straight(from: (f64, f64), to: (f64, f64), highest: f64) -> Series {
    let share = ((highest - from.1) / (to.1 - from.1)).min(1.0);
    let share = if share.is_finite() && share > 0.0 {
        share
    } else {
        1.0
    };
    let end = (
        from.0 + share * (to.0 - from.0),
        from.1 + share * (to.1 - from.1),
    );
    [from, end].map(|(t, v)| (t, Some(v))).into_iter().collect()
}

/// A trace's rate, and below it how long nobody waits less, with its worst drop.
pub(super) fn track(trace: &Trace, d: Span, used: f64, worst: Option<Fall>) -> Result<String> {
    let bin = (trace.period() / PIECES).max(Span::from_millis(20));
    let rates = series::Series::of_trace(trace, bin)?;
    let capacity: Series = rates
        .steps()
        .into_iter()
        .map(|(at, rate)| (at.secs_f64(), Some(rate.mbps_f64())))
        .collect();
    let mut waits: Vec<(f64, Option<f64>)> = Vec::new();
    for (at, wait) in unavoidable::waits(trace.stamps(), d, used) {
        // The longest of each bin.
        let at = (at.since_epoch().ratio(bin).floor() + 0.5) * bin.secs_f64();
        let wait = wait.millis_f64();
        match waits.last_mut() {
            Some((last, longest)) if *last >= at => {
                *longest = longest.map(|longest| longest.max(wait));
            }
            _ => waits.push((at, Some(wait))),
        }
    }
    let end = trace.period().secs_f64();
    let most = |values: &[f64]| values.iter().copied().fold(1.0, f64::max) * 1.08;
    let waits: Series = waits.into_iter().collect();
    let rate = Plot {
        top: ABOVE,
        height: HEIGHT * 0.7,
        first: 0.0,
        last: end,
        unit: " s",
        lowest: 0.0,
        highest: most(&capacity.v),
        log: false,
    };
    let wait = Plot {
        top: rate.top + rate.height + BELOW + ABOVE,
        highest: most(&waits.v),
        ..rate
    };
    let mut out = String::new();
    head(wait.top + wait.height + BELOW + 8.0, &mut out);
    rate.axes("What the trace delivers, Mbit/s", &mut out);
    rate.ground(&capacity, &mut out);
    wait.axes(
        "What nobody avoids waiting who wants all of it and never drains, ms",
        &mut out,
    );
    wait.line(&waits, line_style(0), &mut out);
    if let Some(worst) = worst {
        let label = format!("{:.0} ms by the worst drop alone", worst.alone.millis_f64());
        let place = (worst.at.secs_f64(), worst.alone.millis_f64());
        wait.dot(place, &label, line_style(1), &mut out);
    }
    Ok(out + "</svg>\n")
}

/// A page with a picture and a text.
pub(super) fn page(figure: &str, text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Lower bound on a latency spike</title>\n\
         <style>:root {{ color-scheme: light dark; }}\n\
         body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 1040px; margin: 2rem auto; \
         padding: 0 1rem; background: #fff; color: #16191d; }}\n\
         pre {{ font: 13px/1.5 ui-monospace, monospace; overflow-x: auto; }} svg {{ max-width: 100%; height: auto; }}\n\
         @media (prefers-color-scheme: dark) {{ body {{ background: #14171b; color: #e8ebee; }} }}\n\
         </style></head>\n<body>\n<h1>The spike nobody avoids</h1>\n<pre>{text}</pre>\n{figure}\
         <p>After B. I. Teigen and others, “A Lower Bound on Latency Spikes for Capacity-Seeking \
         Network Traffic”, 2021.</p>\n</body></html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tightloop::units::{Rate, Time};

    #[test]
    fn lines_end_at_the_plots_edge() {
        let line = straight((0.0, 0.0), (200.0, 1_000.0), 500.0);
        assert_eq!((line.t[1], line.v[1]), (100.0, 500.0));
        let line = straight((0.0, 0.0), (200.0, 100.0), 500.0);
        assert_eq!((line.t[1], line.v[1]), (200.0, 100.0));
        let flat = straight((1.0, 0.0), (10.0, 0.0), 500.0);
        assert_eq!((flat.t[1], flat.v[1]), (10.0, 0.0));
    }

    #[test]
    fn both_pictures_stand_alone() {
        let drop = Step::new(
            Rate::from_mbps(60),
            Rate::from_mbps(20),
            Span::from_millis(50),
        );
        let stamps = (1..4_000u64).filter(|ms| *ms < 2_000 || ms.is_multiple_of(3));
        let trace = Trace::new(stamps.map(Time::from_millis).collect()).expect("a trace");
        let d = Span::from_millis(60);
        let worst = unavoidable::falls(trace.stamps(), d, 1.0).first().copied();
        for picture in [
            step(&drop.expect("some rate")),
            track(&trace, d, 1.0, worst).expect("a picture"),
        ] {
            assert!(picture.starts_with("<svg xmlns=") && picture.ends_with("</svg>\n"));
            assert!(
                !picture.contains("NaN") && !picture.contains("inf"),
                "{picture}"
            );
        }
    }
}
