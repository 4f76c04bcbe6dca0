//! Studies: the shipped scenarios, run at many delay instances.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tightloop::analysis::Sensitivity;
use tightloop::proxy;
use tightloop::scenario::{Named, Scenario};
use tightloop::units::{Rate, Span};

/// Each flow's round trip in ms.
pub(crate) type Instance = Vec<i64>;

const BBR: &str = include_str!("../../../../scenarios/sensitivity/bbr.toml");
const COPA: &str = include_str!("../../../../scenarios/sensitivity/copa-and-bbr.toml");
const WITH_BBR: &str = include_str!("../../../../scenarios/sensitivity/four-with-bbr.toml");
const BY_LOSS: &str = include_str!("../../../../scenarios/sensitivity/four-by-loss.toml");
const VIDEO: &str = include_str!("../../../../scenarios/sensitivity/download-and-video.toml");

fn read(text: &str) -> Scenario {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Two flows of a kind over a deep buffer, each behind a proxy or not. Fig. 4.
pub(crate) fn two(cc: &str, rule: Option<proxy::Rule>) -> Scenario {
    let mut scenario = read(BBR);
    for flow in &mut scenario.flow {
        flow.cc = Named::plain(cc);
        flow.proxy = rule.map(|rule| proxy::Settings {
            rule,
            ..proxy::Settings::default()
        });
    }
    scenario
}

/// Two Copa flows, and BBR if it is to be there. Fig. 6.
pub(crate) fn copa(settings: &str, bbr: bool) -> Scenario {
    let mut scenario = read(COPA);
    let params: toml::Table = toml::from_str(settings).expect("settings");
    for flow in &mut scenario.flow[..2] {
        flow.cc.params = params.clone();
    }
    scenario.flow.truncate(if bbr { 3 } else { 2 });
    scenario
}

/// Four controllers. Fig. 7a, and 7b without BBR.
pub(crate) fn four(bbr: bool) -> Scenario {
    read(if bbr { WITH_BBR } else { BY_LOSS })
}

/// A download by Cubic and a video's stand-in, which start so late. Table 1.
pub(crate) fn video(cc: &str, [download, video]: [i64; 2]) -> Scenario {
    let mut scenario = read(VIDEO);
    scenario.flow[0].start += Span::from_secs(download);
    scenario.flow[1].start += Span::from_secs(video);
    scenario.flow[1].cc = Named::plain(cc);
    scenario
}

/// All combinations of these values.
pub(crate) fn grid(values: &[i64], flows: usize) -> Vec<Instance> {
    (0..flows).fold(vec![Vec::new()], |places, _| {
        let longer = places.iter().flat_map(|place| {
            values.iter().map(move |value| {
                let mut place = place.clone();
                place.push(*value);
                place
            })
        });
        longer.collect()
    })
}

/// Each flow's rate in each instance.
pub(crate) fn rates(scenario: &Scenario, instances: &[Instance]) -> Vec<Vec<Rate>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Vec<Rate>>> = instances.iter().map(|_| Mutex::default()).collect();
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..jobs.min(instances.len()) {
            scope.spawn(|| {
                while let Some(place) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(instance) = instances.get(place)
                {
                    *done[place].lock().expect("nobody panicked") = one(scenario, instance);
                }
            });
        }
    });
    done.into_iter()
        .map(|rates| rates.into_inner().expect("nobody panicked"))
        .collect()
}

fn one(scenario: &Scenario, instance: &Instance) -> Vec<Rate> {
    let rtts: Vec<Span> = instance.iter().copied().map(Span::from_millis).collect();
    let scenario = scenario.instance(&rtts).expect("an instance");
    let built = scenario.build(&|_| None).expect("a world");
    let to = scenario.measure.to.unwrap_or(scenario.end());
    built.rates(scenario.measure.from, to)
}

/// Each flow's δ over these instances.
pub(crate) fn deltas(scenario: &Scenario, instances: &[Instance]) -> Vec<f64> {
    let rates = rates(scenario, instances);
    let flows = 0..scenario.flow.len();
    let of = |flow| rates.iter().map(|rates| rates[flow]).collect::<Vec<_>>();
    flows
        .map(|flow| Sensitivity::of(&of(flow)).expect("instances").delta)
        .collect()
}

/// Rates in Mbit/s.
pub(crate) fn mbps(scenario: &Scenario, instances: &[Instance]) -> Vec<Vec<f64>> {
    let rates = rates(scenario, instances).into_iter();
    rates
        .map(|rates| rates.into_iter().map(Rate::mbps_f64).collect())
        .collect()
}
