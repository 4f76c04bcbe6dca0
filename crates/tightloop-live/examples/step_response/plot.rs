//! The reactions as a picture: one panel for each preset.

use std::fmt::Write;

use tightloop::units::Span;
use tightloop_live::codec::step::StepSample;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 150.0;
const COLUMNS: usize = 2;
const LEFT: f64 = 40.0;
const ABOVE: f64 = 26.0;
/// The rate at the upper edge, in Mbit/s.
const MOST: f64 = 3.0;
/// Pictures of which the mean is drawn: a fifth of a second.
const MEAN: usize = 6;
/// How long VP8 took in [Vidaptive], figure 1b: down, and up.
const PAPER: [f64; 2] = [1.0, 2.0];

/// The drawing, as SVG.
pub(crate) fn svg(panels: &[(String, Vec<StepSample>)], interval: Span) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let (width, height) = (
        COLUMNS as f64 * (WIDTH + LEFT) + 20.0,
        rows as f64 * (HEIGHT + ABOVE + 24.0) + 30.0,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\"><style>text{{font:12px system-ui,sans-serif;fill:#545b64}}\
         .name{{font-weight:600;fill:#16191d}}path{{fill:none}}.frame{{stroke:#c9ced4}}\
         .asked{{stroke:#8a929b;stroke-width:1.4}}.paper{{stroke:#d55e00;stroke-dasharray:5 3}}\
         .got{{stroke:#0072b2;stroke-width:1.7}}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
         <text x=\"{LEFT}\" y=\"18\">Mbit/s over seconds. Grey: asked. Blue: encoded, mean of 0.2 s. \
         Dashed: VP8 in [Vidaptive], 1 s down and 2 s up.</text>\n"
    );
    for (place, (name, samples)) in panels.iter().enumerate() {
        let x = LEFT + (place % COLUMNS) as f64 * (WIDTH + LEFT);
        let y = 30.0 + ABOVE + (place / COLUMNS) as f64 * (HEIGHT + ABOVE + 24.0);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        panel(name, samples, interval, &mut out);
        out.push_str("</g>\n");
    }
    out + "</svg>\n"
}

fn panel(name: &str, samples: &[StepSample], interval: Span, out: &mut String) {
    let end = samples.last().map_or(1.0, |last| last.captured.secs_f64());
    let at = |secs: f64, mbps: f64| {
        let (x, y) = (secs / end * WIDTH, HEIGHT * (1.0 - mbps.min(MOST) / MOST));
        format!("{x:.1} {y:.1}")
    };
    let _ = write!(
        out,
        "<text class=\"name\" y=\"-8\">{name}</text><path class=\"frame\" d=\"M0 0V{HEIGHT}H{WIDTH}\"/>"
    );
    for mbps in [0.5, 2.0] {
        let y = HEIGHT * (1.0 - mbps / MOST) + 4.0;
        let _ = write!(out, "<text x=\"-26\" y=\"{y:.1}\">{mbps}</text>");
    }
    for secs in (0..=end as u32).step_by(5) {
        let x = f64::from(secs) / end * WIDTH;
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\">{secs}</text>",
            HEIGHT + 15.0
        );
    }
    let (mut asked, mut paper, mut got) = (String::new(), String::new(), String::new());
    let mut before: Option<f64> = None;
    for sample in samples {
        let (secs, rate) = (sample.captured.secs_f64(), sample.asked.mbps_f64());
        match before {
            None => {
                let _ = write!(asked, "M{}", at(secs, rate));
                let _ = write!(paper, "M{}", at(secs, rate));
            }
            Some(old) if (old - rate).abs() > 1e-9 => {
                let takes = PAPER[usize::from(rate > old)];
                let _ = write!(asked, "L{}L{}", at(secs, old), at(secs, rate));
                let _ = write!(paper, "L{}L{}", at(secs, old), at(secs + takes, rate));
            }
            Some(_) => {}
        }
        before = Some(rate);
    }
    let last = before.unwrap_or_default();
    let _ = write!(asked, "L{}", at(end, last));
    let _ = write!(paper, "L{}", at(end, last));
    for window in samples.windows(MEAN) {
        let bytes = window
            .iter()
            .map(|sample| sample.size)
            .sum::<tightloop::units::Bytes>();
        let rate = bytes.per(interval * MEAN as i64).unwrap_or_default();
        let verb = if got.is_empty() { 'M' } else { 'L' };
        let middle = window[MEAN / 2].captured.secs_f64();
        let _ = write!(got, "{verb}{}", at(middle, rate.mbps_f64()));
    }
    for (class, path) in [("paper", paper), ("asked", asked), ("got", got)] {
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{path}\"/>");
    }
}
