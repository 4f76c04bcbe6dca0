//! Colours, dashes and the order in which runs and flows get them.
//!
//! Okabe and Ito's colours, which people with any kind of colour vision can
//! tell apart; dashes tell runs apart where colours are gone. Yellow is left to
//! the dark page, black to the light one.

use std::fmt::Write;

/// Line colours on a light ground.
pub(crate) const LIGHT: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1a1a1a",
];

/// Line colours on a dark ground, in the order of [`LIGHT`].
pub(crate) const DARK: [&str; 7] = [
    "#56b4e9", "#e69f00", "#1fb68a", "#cc79a7", "#f0e442", "#ec7d33", "#f2f2f2",
];

/// Dash patterns, as SVG writes them; the first is a solid line.
pub(crate) const DASHES: [&str; 5] = ["", "8 3", "2.5 2.5", "9 3 2 3", "14 4"];

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Index of its colour in [`LIGHT`] and [`DARK`].
    pub(crate) colour: usize,
    /// Index of its dash pattern in [`DASHES`].
    pub(crate) dash: usize,
}

/// The style of the `index`-th line of a report, which belongs to run `run` of
/// `runs`. Colours run on from flow to flow. Runs differ in their dashes; where
/// there is one run only, flows do.
pub(crate) fn style(index: usize, run: usize, runs: usize) -> Style {
    let dash = if runs > 1 { run } else { index };
    Style {
        colour: index % LIGHT.len(),
        dash: dash % DASHES.len(),
    }
}

/// The colours as custom properties `--c0` to `--c6`, for both schemes.
pub(crate) fn css() -> String {
    let mut css = String::new();
    let mut block = |colours: &[&str], open: &str, close: &str| {
        css.push_str(open);
        for (index, colour) in colours.iter().enumerate() {
            let _ = write!(css, " --c{index}: {colour};");
        }
        css.push_str(close);
    };
    block(&LIGHT, ":root {", " }\n");
    block(
        &DARK,
        "@media screen and (prefers-color-scheme: dark) { :root {",
        " } }\n",
    );
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_report_never_look_the_same_before_the_patterns_run_out() {
        for runs in [1, 2, 3] {
            let mut seen = Vec::new();
            for run in 0..runs {
                for flow in 0..LIGHT.len() {
                    seen.push(style(run * LIGHT.len() + flow, run, runs));
                }
            }
            for (at, one) in seen.iter().enumerate() {
                assert!(!seen[..at].contains(one), "{one:?} twice with {runs} runs");
            }
        }
    }

    #[test]
    fn both_schemes_define_every_colour() {
        let css = css();
        for index in 0..LIGHT.len() {
            assert_eq!(css.matches(&format!("--c{index}: ")).count(), 2, "{css}");
        }
    }
}
