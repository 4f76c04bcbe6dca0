//! The bound at every drop of a trace: the ideal sender played against it.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;
use tightloop::analysis::unavoidable::{self, Fall, falls};
use tightloop::link::trace::Trace;
use tightloop::units::{Rate, Span, Time};

use super::{BoundArgs, figure, write};
use crate::out;
use crate::table::Table;
use crate::trace;

/// So many drops are listed.
const LISTED: usize = 20;

/// A drop with the rates at which data came in and left while the queue grew.
struct Row {
    fall: Fall,
    came: Rate,
    left: Rate,
}

pub(super) fn main(args: &BoundArgs, path: &Path, d: Span) -> Result<()> {
    let read = trace::read(path)?;
    let mut rows: Vec<Row> = falls(read.stamps(), d, args.utilisation)
        .into_iter()
        .map(|fall| row(&read, fall, d))
        .collect();
    if rows.is_empty() && !args.json {
        bail!(
            "{} never makes anybody wait at d = {d}: its rate is steady, or it ends before d",
            path.display()
        );
    }
    // Worst first, then in order of time.
    rows.sort_by_key(|row| (-row.fall.alone, row.fall.from));
    let waits = unavoidable::waits(read.stamps(), d, args.utilisation);
    let piled = waits.max_by_key(|(_, wait)| *wait).unwrap_or_default();
    let text = text(path, args.utilisation, d, &rows, piled);
    if args.json {
        out::json(&json(path, d, args.utilisation, &rows))?;
    } else {
        out::print(&text)?;
    }
    match &args.out {
        Some(out) => {
            let worst = rows.first().map(|row| row.fall);
            write(
                out,
                &figure::track(&read, d, args.utilisation, worst)?,
                &text,
            )
        }
        None => Ok(()),
    }
}

fn row(trace: &Trace, fall: Fall, d: Span) -> Row {
    // What arrived while the queue grew is what the link gave d before; over d at
    // least, as single opportunities have no rate.
    let grew = (fall.at - fall.from).max(d);
    let back = |span: Span| Time::ZERO + (fall.at.since_epoch() - span).max(Span::ZERO);
    Row {
        fall,
        came: trace.rate_between(back(d + grew), back(d)),
        left: trace.rate_between(fall.from, fall.at + fall.alone),
    }
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        (self.left > Rate::ZERO).then(|| self.came.ratio(self.left))
    }
}

fn text(path: &Path, used: f64, d: Span, rows: &[Row], piled: (Time, Span)) -> String {
    let Some(worst) = rows.first() else {
        return String::new();
    };
    let share = match used {
        used if used < 1.0 => format!(", {:.0} % of it used", used * 100.0),
        _ => String::new(),
    };
    let mut text = format!(
        "{}, d = {}{share}\n\n\
         the worst of {} drops: {} at {}\n\
         if what piles up is never drained: {} at {}\n\n",
        path.display(),
        out::span(d),
        rows.len(),
        out::span(worst.fall.alone),
        out::span(worst.fall.at.since_epoch()),
        out::span(piled.1),
        out::span(piled.0.since_epoch()),
    );
    if rows.len() > LISTED {
        text += &format!("The {LISTED} worst:\n\n");
    }
    let mut table = Table::default();
    let listed = || rows.iter().take(LISTED);
    let secs = |of: fn(&Fall) -> Time| listed().map(move |row| Some(of(&row.fall).secs_f64()));
    table.numbers("drop, s", "from", 3, secs(|fall| fall.from));
    table.numbers("drop, s", "worst", 3, secs(|fall| fall.at));
    table.numbers(
        "Mbit/s",
        "came in",
        2,
        listed().map(|row| Some(row.came.mbps_f64())),
    );
    table.numbers(
        "Mbit/s",
        "left",
        2,
        listed().map(|row| Some(row.left.mbps_f64())),
    );
    table.numbers("", "r", 2, listed().map(Row::ratio));
    let nobody = "nobody waits less, ms";
    let ms = |of: fn(&Fall) -> Span| listed().map(move |row| Some(of(&row.fall).millis_f64()));
    table.numbers(nobody, "this drop", 1, ms(|fall| fall.alone));
    table.numbers(nobody, "nothing drained", 1, ms(|fall| fall.wait));
    text + &table.text()
}

fn json(path: &Path, d: Span, used: f64, rows: &[Row]) -> serde_json::Value {
    let drops = rows.iter().map(|row| {
        json!({
            "from_s": row.fall.from.secs_f64(),
            "worst_s": row.fall.at.secs_f64(),
            "came_bps": row.came.as_bps(),
            "left_bps": row.left.as_bps(),
            "r": row.ratio(),
            "alone_s": row.fall.alone.secs_f64(),
            "undrained_s": row.fall.wait.secs_f64(),
        })
    });
    json!({
        "file": path,
        "d_s": d.secs_f64(),
        "utilisation": used,
        "worst_s": rows.first().map(|row| row.fall.alone.secs_f64()),
        "drops": drops.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_is_told_with_what_came_and_what_left() {
        // 12 Mbit/s, a third of it from 2 s on.
        let stamps = (1..4_000u64).filter(|ms| *ms < 2_000 || ms.is_multiple_of(3));
        let trace = Trace::new(stamps.map(Time::from_millis).collect()).expect("a trace");
        let d = Span::from_millis(60);
        let falls = falls(trace.stamps(), d, 1.0);
        let [fall] = falls[..] else {
            panic!("one drop, not {falls:?}");
        };
        let row = row(&trace, fall, d);
        let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.05;
        assert!(near(fall.wait.millis_f64(), 120.0), "{fall:?}");
        assert!(near(row.came.mbps_f64(), 12.0) && near(row.left.mbps_f64(), 4.0));
        assert!(near(row.ratio().expect("some left"), 3.0));
        let text = text(Path::new("a.trace"), 1.0, d, &[row], (fall.at, fall.wait));
        assert!(text.contains("the worst of 1 drops"), "{text}");
    }
}
