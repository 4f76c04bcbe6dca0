//! The bound in words and tables.

use tightloop::analysis::bound::{Knob, Step};
use tightloop::units::Span;

use crate::out;
use crate::table::Table;

const PER_CENT: f64 = 100.0;
const KB: f64 = 1e-3;

/// All about one drop.
pub(super) fn step(step: &Step, interval: Span) -> String {
    let used = match step.used {
        used if used < 1.0 => format!(
            ", of which {:.0} % are used: r_eff = {}",
            used * PER_CENT,
            number(step.ratio())
        ),
        _ => String::new(),
    };
    let mut text = format!(
        "{} → {}, r = {}{used}\nd = {}: {} for the news, {} from the sender to the link\n\n",
        out::rate(step.before),
        out::rate(step.after),
        number(step.before.ratio(step.after)),
        out::span(step.d()),
        out::span(step.signal),
        out::span(step.flight),
    );
    text += &spike(step);
    text += &frames(step, interval);
    text += &format!("\nWhat would help, of {}:\n\n", out::span(step.spike()));
    text += &knobs(step, false).text();
    text += "\nWhat is taken for granted, and the spike without it:\n\n";
    text + &knobs(step, true).text()
}

fn spike(step: &Step) -> String {
    let queue = step.after.over(step.spike());
    let mut text = format!(
        "nobody waits less than Q = (r − 1) d = {}, {:.1} kB of queue\n",
        out::span(step.spike()),
        queue.get_f64() * KB
    );
    if let Some(limit) = step.limit {
        let (lost, share) = step.lost();
        text += &format!(
            "in a queue of {} it is {}, and {:.1} kB are lost: {:.1} % of what arrives during d\n",
            out::span(limit),
            out::span(step.wait()),
            lost.get_f64() * KB,
            share * PER_CENT
        );
    }
    text
}

fn frames(step: &Step, interval: Span) -> String {
    let frames = step.frames(interval);
    let skip = match frames.left_out {
        0 => String::new(),
        count => format!("; leaving out {count} would empty the queue"),
    };
    format!(
        "video, a frame each {}:   {:.1} kB need {} to leave the link, after the drop {};\n\
         \x20 the last frame sent before the news comes {} late{skip}\n",
        out::span(interval),
        frames.size.get_f64() * KB,
        out::span(frames.before),
        out::span(frames.after),
        out::span(frames.late),
    )
}

fn knobs(step: &Step, granted: bool) -> Table {
    let mut knobs = step.knobs();
    knobs.retain(|knob| knob.granted == granted);
    let mut table = Table::default();
    let texts = |of: fn(&Knob) -> &'static str| knobs.iter().map(move |it| of(it).to_owned());
    table.texts("", "", texts(|it| it.name));
    table.texts("", "", texts(|it| it.how));
    let ms = |it: &Knob| Some(it.spike.millis_f64());
    table.numbers("", "spike, ms", 1, knobs.iter().map(ms));
    let change = |it: &Knob| (it.spike - step.spike()).millis_f64();
    let signed = |it: &Knob| match change(it) {
        change if change.abs() < 0.05 => "0".to_owned(),
        change => format!("{change:+.1}"),
    };
    table.texts("", "change, ms", knobs.iter().map(signed));
    let lost = |it: &Knob| (it.lost > 0.0).then_some(it.lost * PER_CENT);
    table.numbers("", "lost, %", 1, knobs.iter().map(lost));
    table
}

/// A ratio with at most three digits behind the point.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tightloop::units::Rate;

    #[test]
    fn a_drop_is_told_with_its_numbers() {
        let step = Step::new(
            Rate::from_mbps(60),
            Rate::from_mbps(20),
            Span::from_millis(50),
        );
        let mut step = step.expect("some rate");
        let text = super::step(&step, Span::from_millis(33));
        for part in ["r = 3\n", "(r − 1) d = 100 ms, 250.0 kB", "leaving out 4"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        (step.used, step.limit) = (0.9, Some(Span::from_millis(40)));
        let text = super::step(&step, Span::from_millis(33));
        for part in ["r_eff = 2.7", "85 ms", "in a queue of 40 ms", "33.3 %"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
