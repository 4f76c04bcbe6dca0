//! What a run was like in the world and in the simulation, side by side.

use serde_json::{Value, json};
use tightloop::analysis::Report;
use tightloop::event::FlowId;

use crate::table::Table;

/// What is compared of one window of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Mbit/s that arrived.
    throughput: f64,
    /// What packets waited in the bottleneck's queue, ms.
    p50: Option<f64>,
    p95: Option<f64>,
    /// One-way delay, ms.
    owd: Option<f64>,
    drops: u64,
}

impl Point {
    /// Of the flow that goes up, over the first link.
    pub(super) fn of(report: &Report) -> Self {
        let flow = report.flows.get(FlowId(0).0 as usize);
        let crossing = flow.and_then(|flow| flow.crossings.iter().find(|it| it.link == 0));
        let waited = crossing.and_then(|it| it.waited);
        Self {
            throughput: flow.map_or(0.0, |it| it.throughput.mbps_f64()),
            p50: waited.map(|it| it.p50.millis_f64()),
            p95: waited.map(|it| it.p95.millis_f64()),
            owd: flow.and_then(|it| it.owd).map(|it| it.p95.millis_f64()),
            drops: report.links.first().map_or(0, |it| it.drops.total()),
        }
    }

    fn json(&self) -> Value {
        json!({
            "throughput_mbps": self.throughput,
            "waited_p50_ms": self.p50,
            "waited_p95_ms": self.p95,
            "owd_p95_ms": self.owd,
            "drops": self.drops,
        })
    }
}

/// How far apart the two may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Allowed {
    /// As shares of the simulated throughput and of the simulated 95th percentile
    /// of waiting.
    Shares { throughput: f64, p95: f64 },
    /// The live throughput lies between these, in Mbit/s, and the 95th percentiles
    /// of the one-way delay are no more than this apart, in ms.
    Band { throughput: [f64; 2], owd: f64 },
}

/// One window of one run.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) peer: String,
    /// What the link was like.
    pub(super) link: String,
    pub(super) live: Point,
    pub(super) simulated: Point,
    pub(super) allowed: Option<Allowed>,
}

/// How much larger `a` is, as a share of `b`.
fn apart(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b - 1.0)
}

fn both<T>(a: Option<f64>, b: Option<f64>, with: impl Fn(f64, f64) -> T) -> Option<T> {
    Some(with(a?, b?))
}

impl Row {
    fn throughput_apart(&self) -> Option<f64> {
        apart(self.live.throughput, self.simulated.throughput)
    }

    fn p95_apart(&self) -> Option<f64> {
        both(self.live.p95, self.simulated.p95, apart).flatten()
    }

    /// What is further apart than it may be.
    pub(super) fn faults(&self) -> Vec<String> {
        let percent = |it: f64| it * 100.0;
        let checks = match self.allowed {
            None => return Vec::new(),
            Some(Allowed::Shares { throughput, p95 }) => {
                let apart = self.throughput_apart().map(percent);
                let waited = self.p95_apart().map(percent);
                let [most, longest] = [throughput, p95].map(percent);
                [
                    ("throughput, % apart", apart, [-most, most]),
                    ("p95 waiting, % apart", waited, [-longest, longest]),
                ]
            }
            Some(Allowed::Band { throughput, owd }) => {
                let apart = both(self.live.owd, self.simulated.owd, |a, b| a - b);
                [
                    ("throughput, Mbit/s", Some(self.live.throughput), throughput),
                    ("p95 one-way delay, ms apart", apart, [-owd, owd]),
                ]
            }
        };
        let faults = checks.iter().filter_map(|(what, value, [low, high])| {
            let fine = value.is_some_and(|value| (*low..=*high).contains(&value));
            let value = value.map_or("nothing".into(), |it| format!("{it:.2}"));
            let (peer, link) = (&self.peer, &self.link);
            (!fine)
                .then(|| format!("{peer}, {link}: {what}: {value} is not within {low} to {high}"))
        });
        faults.collect()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "peer": self.peer,
            "link": self.link,
            "live": self.live.json(),
            "simulated": self.simulated.json(),
        })
    }
}

/// The rows as a table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = Table::default();
    table.texts("", "peer", rows.iter().map(|row| row.peer.clone()));
    table.texts("", "link", rows.iter().map(|row| row.link.clone()));
    type Of = fn(&Point) -> Option<f64>;
    type Apart = fn(f64, f64) -> Option<f64>;
    let share: Apart = |a, b| apart(a, b).map(|it| it * 100.0);
    let less: Apart = |a, b| Some(a - b);
    let groups: [(&'static str, usize, Of, &'static str, Apart); 5] = [
        (
            "throughput, Mbit/s",
            2,
            |it| Some(it.throughput),
            "%",
            share,
        ),
        ("waited p50, ms", 1, |it| it.p50, "ms", less),
        ("waited p95, ms", 1, |it| it.p95, "%", share),
        ("one-way p95, ms", 1, |it| it.owd, "ms", less),
        ("drops", 0, |it| Some(it.drops as f64), "±", less),
    ];
    for (group, decimals, of, unit, difference) in groups {
        let column = |pick: fn(&Row) -> &Point| rows.iter().map(move |row| of(pick(row)));
        table.numbers(group, "live", decimals, column(|row| &row.live));
        table.numbers(group, "sim", decimals, column(|row| &row.simulated));
        let apart = rows
            .iter()
            .map(|row| both(of(&row.live), of(&row.simulated), difference).flatten());
        table.numbers(group, unit, decimals.min(1), apart);
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(live: f64, allowed: Option<Allowed>) -> Row {
        let point = |number: f64| Point {
            throughput: number,
            p50: Some(number),
            p95: Some(number * 2.0),
            owd: None,
            drops: 3,
        };
        Row {
            peer: "cubic".into(),
            link: "steady".into(),
            live: point(live),
            simulated: point(20.0),
            allowed,
        }
    }

    #[test]
    fn what_is_too_far_apart_is_told_either_way() {
        let allowed = Some(Allowed::Shares {
            throughput: 0.02,
            p95: 0.1,
        });
        for (live, faults) in [
            (19.5, 1),
            (19.7, 0),
            (20.3, 0),
            (20.5, 1),
            (17.0, 2),
            (23.0, 2),
        ] {
            let told = row(live, allowed).faults();
            assert_eq!(told.len(), faults, "{live}: {told:?}");
        }
        assert_eq!(row(1.0, None).faults(), Vec::<String>::new());
        let mut nothing = row(20.0, allowed);
        nothing.live.p95 = None;
        let told = nothing.faults();
        let expected = "cubic, steady: p95 waiting, % apart: nothing is not within -10 to 10";
        assert_eq!(told, [expected]);
        let band = Some(Allowed::Band {
            throughput: [17.5, 18.5],
            owd: 3.0,
        });
        for (live, owd, faults) in [
            (18.0, 2.9, 0),
            (18.0, -2.9, 0),
            (17.4, 3.1, 2),
            (18.6, 0.0, 1),
        ] {
            let mut row = row(live, band);
            row.simulated.owd = Some(20.0);
            row.live.owd = Some(20.0 + owd);
            let told = row.faults();
            assert_eq!(told.len(), faults, "{live} {owd}: {told:?}");
        }
    }

    #[test]
    fn a_row_has_both_sides_and_their_difference() {
        let text = table(&[row(19.0, None)]);
        let last = text.lines().last().expect("a row");
        let cells: Vec<&str> = last.split_whitespace().collect();
        let expected = [
            "cubic", "steady", "19.00", "20.00", "-5.0", "19.0", "20.0", "-1.0", "38.0", "40.0",
            "-5.0", "3", "3", "0",
        ];
        assert_eq!(cells, expected);
    }
}
