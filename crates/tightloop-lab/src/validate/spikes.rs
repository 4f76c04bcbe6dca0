//! The delay that no sender can avoid when capacity drops, and what the
//! kernel's controllers make of it. [SpikeBound]

use anyhow::{Result, bail};
use serde_json::json;
use tightloop::analysis::{Report, Window, bound, spike};
use tightloop::link::{Discipline, Settings};
use tightloop::settings::Params;
use tightloop::units::{Rate, Span, Time};
use tightloop_live::tcp;

use super::args::SpikesArgs;
use super::trial::{Course, Peer};
use super::{Stage, chosen, offered, say};
use crate::out;
use crate::table::Table;

const PEERS: [&str; 2] = ["cubic", "bbr"];
/// Before the drop. [SpikeBound] §5.
const CAPACITY: Rate = Rate::from_mbps(60);
/// The kernel's smoothed round trip is read this often: a spike lasts some ten
/// round trips. Ours.
const EVERY: Span = Span::from_millis(10);
/// What a full CoDel queue holds. [Linux]: its default.
const PACKETS: i64 = 1000;
/// A run goes on for this long beyond what is looked at.
const REST: Span = Span::from_millis(500);
/// Measured spikes may fall short of the bound by this share. Ours: a packet in
/// fifty, as for the recordings of [SpikeBound].
const SHORT: f64 = 0.98;

/// One drop.
struct Drop {
    peer: &'static str,
    ratio: u32,
    d: Span,
    /// r as the flow used the link in the round trip before.
    effective: f64,
    bound: Span,
    packet: Span,
    smoothed: Option<Span>,
    simulated: Span,
    simulated_bound: Span,
}

fn course(ratio: u32, d: Span, drop: Time) -> Course {
    let queue = Discipline {
        kind: "codel".into(),
        params: Params::from_iter([
            ("ecn".to_owned(), true.into()),
            ("packets".to_owned(), PACKETS.into()),
        ]),
    };
    let after = CAPACITY * (1.0 / f64::from(ratio));
    let end = drop + spike::AFTER + REST;
    Course {
        bottleneck: Settings {
            steps: Some(vec![(Time::ZERO, CAPACITY), (drop, after)]),
            queue,
            ..Settings::default()
        },
        // As in the paper, all of the delay is on the way back.
        back: Settings::wire(d),
        duration: end - Time::ZERO,
        // What a sender has let go in the last round trip is what goes on coming
        // in before it can know.
        windows: vec![
            Window::until(end),
            Window {
                from: drop - d,
                to: drop,
            },
        ],
        ecn: true,
    }
}

/// The spike of a run's only drop: r as it was used, the bound, the measured.
fn spiked(reports: &[Report], d: Span) -> Result<(f64, Span, Span)> {
    let mut links = reports.iter().filter_map(|it| it.links.first());
    let (whole, before) = (links.next(), links.next());
    let spike = whole.and_then(|it| it.spikes.first());
    let (Some(spike), Some(before)) = (spike, before) else {
        bail!("nothing crossed the link before its capacity dropped; try a longer --before");
    };
    let ratio = bound::effective_ratio(before.carried.min(spike.before), spike.after);
    let ratio = ratio.unwrap_or(spike.ratio);
    Ok((ratio, bound::growth(ratio, d), spike.measured))
}

pub(super) fn main(args: &SpikesArgs) -> Result<bool> {
    let peers = chosen(&args.only, &PEERS)?;
    if let Some(ratio) = args.ratios.iter().find(|it| **it < 2) {
        bail!("--ratios {ratio}: the capacity must fall; write 2 or more");
    }
    if let Some(d) = args.delays.iter().find(|d| **d >= args.before) {
        bail!(
            "--before {}: a flow needs many round trips of {d} first",
            args.before
        );
    }
    let mut stage = Stage::set()?;
    let drop = Time::ZERO + args.before;
    let mut drops = Vec::new();
    for peer in offered(peers) {
        for ratio in &args.ratios {
            for d in &args.delays {
                say(&format!("{peer}, r = {ratio}, d = {d}"));
                let course = course(*ratio, *d, drop);
                let flow = tcp::Settings {
                    every: EVERY,
                    ..tcp::Settings::under(peer)
                };
                let live = course.live(&mut stage, Peer::Kernel(&flow))?;
                let (effective, bound, packet) = spiked(&live.reports, *d)?;
                let (_, simulated_bound, simulated) =
                    spiked(&course.simulate(&course.bulk(peer))?, *d)?;
                let after = live.carried.iter().flat_map(|it| &it.samples);
                let after = after.filter(|it| (drop..drop + spike::AFTER).contains(&it.at));
                drops.push(Drop {
                    peer,
                    ratio: *ratio,
                    d: *d,
                    effective,
                    bound,
                    packet,
                    smoothed: after.map(|it| it.info.rtt - *d).max(),
                    simulated,
                    simulated_bound,
                });
            }
        }
    }
    if args.json {
        let rows: Vec<_> = drops.iter().map(Drop::json).collect();
        out::json(&json!({ "rows": rows, "machine": stage.load() }))?;
    } else {
        out::print(&table(&drops))?;
    }
    say(&stage.load());
    let short: Vec<&Drop> = drops.iter().filter(|it| it.falls_short()).collect();
    for it in &short {
        say(&format!(
            "below the bound: {}, r = {}, d = {}",
            it.peer, it.ratio, it.d
        ));
    }
    Ok(short.is_empty())
}

impl Drop {
    fn falls_short(&self) -> bool {
        self.packet < self.bound * SHORT
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "peer": self.peer,
            "r": self.ratio,
            "d_ms": self.d.millis_f64(),
            "r_effective": self.effective,
            "bound_ms": self.bound.millis_f64(),
            "packet_ms": self.packet.millis_f64(),
            "smoothed_ms": self.smoothed.map(Span::millis_f64),
            "simulated_ms": self.simulated.millis_f64(),
            "simulated_bound_ms": self.simulated_bound.millis_f64(),
        })
    }
}

fn table(drops: &[Drop]) -> String {
    let mut table = Table::default();
    let millis = |of: fn(&Drop) -> Span| drops.iter().map(move |it| Some(of(it).millis_f64()));
    let number = |of: fn(&Drop) -> f64| drops.iter().map(move |it| Some(of(it)));
    table.texts("", "peer", drops.iter().map(|it| it.peer.to_owned()));
    table.numbers("", "r", 0, number(|it| f64::from(it.ratio)));
    table.numbers("", "d, ms", 0, millis(|it| it.d));
    table.numbers("live", "r used", 2, number(|it| it.effective));
    table.numbers("live", "bound, ms", 1, millis(|it| it.bound));
    table.numbers("live", "packet, ms", 1, millis(|it| it.packet));
    let over = |it: &Drop| it.packet.ratio(it.bound);
    table.numbers("live", "÷ bound", 2, number(over));
    let smoothed = drops.iter().map(|it| it.smoothed.map(Span::millis_f64));
    table.numbers("live", "smoothed, ms", 1, smoothed);
    table.numbers("simulated", "bound, ms", 1, millis(|it| it.simulated_bound));
    table.numbers("simulated", "packet, ms", 1, millis(|it| it.simulated));
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulated_spike_is_not_below_the_bound() {
        let (drop, d) = (Time::from_secs(8), Span::from_millis(50));
        let course = course(3, d, drop);
        let reports = course.simulate(&course.bulk("bbr")).expect("a run");
        let (ratio, bound, measured) = spiked(&reports, d).expect("a spike");
        assert!((2.4..=3.001).contains(&ratio), "{ratio}");
        assert_eq!(bound, bound::growth(ratio, d));
        let over = measured.ratio(bound);
        assert!((SHORT..6.0).contains(&over), "{measured} over {bound}");
    }
}
