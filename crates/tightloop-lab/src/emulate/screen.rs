//! What an emulated link tells on the terminal.

use tightloop::units::{Rate, Span};
use tightloop_live::emulate::{Ability, Lateness, Way, Work};

use crate::out;
use crate::table::Table;

/// Lateness that spoils a measurement. Ours: a millisecond, Mahimahi's step.
const LATE: Span = Span::from_millis(1);
/// So many packets may be that late.
const FEW: f64 = 0.01;
/// A link close to what the machine can carry is told of.
const CLOSE: f64 = 0.8;

/// What the machine can do, in words.
pub(super) fn ability(ability: &Ability, most: Option<Rate>) -> Vec<String> {
    let [p50, p99, p999] = quantiles(&ability.dispatch);
    let mut lines = vec![
        format!(
            "this machine carries {:.0} packets/s of 1500 bytes, {:.0} Mbit/s, with their sender",
            ability.packets,
            ability.rate.mbps_f64()
        ),
        format!(
            "it sends packets on {p50} µs (p50), {p99} µs (p99), {p999} µs (p99.9) late, and has \
             them {} µs after they were sent",
            micros(&ability.pickup, 0.5)
        ),
    ];
    if let Some(error) = &ability.not_urgent {
        lines.push(format!(
            "no real-time priority ({error}): when the machine is busy, packets will be late by \
             milliseconds; root has it, or whom `ulimit -r` allows"
        ));
    }
    if let Some(most) = most
        && most.bps_f64() > ability.rate.bps_f64() * CLOSE
    {
        lines.push(format!(
            "warning: the link's {} are more than this machine can be trusted with",
            out::rate(most)
        ));
    }
    lines
}

fn micros(lateness: &Lateness, share: f64) -> String {
    format!("{:.1}", lateness.quantile(share).millis_f64() * 1e3)
}

fn quantiles(lateness: &Lateness) -> [String; 3] {
    [0.5, 0.99, 0.999].map(|share| micros(lateness, share))
}

/// A run in words, and what makes it doubtful.
pub(crate) fn work(work: &Work, kernel_drops: [u64; 2]) -> (String, Vec<String>) {
    let mut table = Table::default();
    let ways = &work.ways;
    let column = |of: fn(&tightloop_live::emulate::Passage) -> f64| ways.iter().map(of).map(Some);
    table.texts("", "way", Way::BOTH.map(|way| way.name().to_owned()));
    table.numbers("packets", "arrived", 0, column(|it| it.arrived as f64));
    table.numbers("packets", "delivered", 0, column(|it| it.delivered as f64));
    table.numbers("packets", "dropped", 0, column(|it| it.dropped as f64));
    table.numbers("packets", "marked", 0, column(|it| it.marked as f64));
    let rate = ways.iter().map(|it| it.bytes.per(work.lasted));
    table.numbers("", "Mbit/s", 2, rate.map(|it| it.map(Rate::mbps_f64)));
    for (heading, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
        let late = ways.iter().map(|it| {
            let some = it.lateness.total() > 0;
            some.then(|| it.lateness.quantile(share).millis_f64() * 1e3)
        });
        table.numbers("late, µs", heading, 1, late);
    }
    let mut doubts = Vec::new();
    for (way, passage) in Way::BOTH.iter().zip(ways) {
        let (name, drops) = (way.name(), kernel_drops[way.place()]);
        if drops > 0 {
            doubts.push(format!(
                "{name}: the kernel dropped {drops} packets before the link"
            ));
        }
        if passage.refused > 0 {
            doubts.push(format!(
                "{name}: the kernel refused {} packets after the link",
                passage.refused
            ));
        }
        let late = passage.lateness.beyond(LATE);
        if late > FEW {
            doubts.push(format!(
                "{name}: {:.1} % of the packets were more than {LATE} late",
                late * 100.0
            ));
        }
    }
    if work.missing > 0 {
        doubts.push(format!("{} events are missing in the logs", work.missing));
    }
    (table.text(), doubts)
}
