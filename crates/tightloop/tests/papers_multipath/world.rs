//! The two-path worlds of [DelayBBR], and what is seen in them.
#![allow(dead_code)] // The tests and the example each use their own part.

use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Rate, Span, Time, count, float};

/// A link: its rate in Mbit/s, its one-way delay and its queue in ms.
pub(crate) type Road = (u32, u32, u32);

/// The ten pairs of links of [DelayBBR] Table 3, of which the paper gives no
/// numbers: these are of the ten two-path cases in its author's programs.
pub(crate) const TABLE_3: [[Road; 2]; 10] = [
    [(2, 100, 200), (1, 150, 200)],
    [(2, 100, 200), (1, 100, 200)],
    [(3, 150, 200), (1, 100, 200)],
    [(2, 50, 200), (1, 100, 200)],
    [(1, 50, 200), (1, 100, 200)],
    [(3, 50, 200), (3, 100, 200)],
    [(2, 30, 200), (3, 50, 200)],
    [(4, 30, 200), (2, 100, 200)],
    [(2, 30, 200), (2, 100, 200)],
    [(3, 100, 300), (2, 100, 200)],
];

/// The four schedulers of [DelayBBR] Fig. 12, and ours.
pub(crate) const SCHEDULERS: [&str; 5] = ["min_cost", "wrr", "edcld", "sfl", "deadline"];

/// [DelayBBR] Fig. 11 and 12: one video flow over two links, 25 frames a second,
/// a key frame every 25, packets of 500 B, between 500 kbit/s and 2 Mbit/s; on the
/// first link two flows of the same controller, from 40 s and 80 s on, on the
/// second one from 40 s on.
pub(crate) fn figure_12(case: usize, cc: &str, scheduler: &str, secs: u32, seed: u64) -> Scenario {
    let links: Vec<String> = (1..)
        .zip(TABLE_3[case])
        .map(|(id, road)| link(id, road))
        .collect();
    let rival = |link: u32, from: u32| {
        format!(
            "[[flow]]\ncc = {{ {cc} }}\ntraffic = {{ bulk = {{}} }}\n\
             start = \"{from} s\"\npath = {{ links = [\"l{link}\"], back = [\"r{link}\"] }}\n"
        )
    };
    parse(&format!(
        "name = \"figure 12\"\nduration = \"{secs} s\"\nseed = {seed}\npacket.mtu = \"500 B\"\n\
         {}\n\
         [[flow]]\ncc = {{ {cc} }}\nscheduler = {{ {scheduler} }}\n\
         video.source.fps = 25\nvideo.encoder = {{ name = \"ideal\", key_every = 25 }}\n\
         video.rate_control = {{ name = \"follow\", min = \"500 kbit/s\", \
         start = \"500 kbit/s\", max = \"2 Mbit/s\" }}\n\
         path = [{{ links = [\"l1\"], back = [\"r1\"] }}, {{ links = [\"l2\"], back = [\"r2\"] }}]\n\
         {}{}{}",
        links.concat(),
        rival(1, 40),
        rival(1, 80),
        rival(2, 40),
    ))
}

fn link(id: u32, (mbps, delay, queue): Road) -> String {
    let buffer = Rate::from_mbps(mbps.into()).over(Span::from_millis(queue.into()));
    format!(
        "[link.l{id}]\nrate = \"{mbps} Mbit/s\"\ndelay = \"{delay} ms\"\n\
         queue = {{ kind = \"drop_tail\", bytes = \"{buffer}\" }}\n\
         [link.r{id}]\ndelay = \"{delay} ms\"\n"
    )
}

pub(crate) fn parse(text: &str) -> Scenario {
    match toml::from_str(text) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// Runs a scenario; it counts from this moment on.
pub(crate) fn run(scenario: &Scenario, from: Time, sink: &mut dyn Sink) -> Report {
    let built = scenario.build(&|_| None);
    let mut built = built.unwrap_or_else(|error| panic!("{error}"));
    let names = Names {
        flows: built.flows,
        links: built.links,
    };
    let to = scenario.end();
    let mut summary = Summary::new(names, Window { from, to });
    built.world.run(to, &mut Log::to(&mut (&mut summary, sink)));
    summary.report()
}

/// What became of the video of the first flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// From capture to the arrival of the last part.
    pub(crate) mean: Span,
    pub(crate) p99: Span,
    pub(crate) bitrate: Rate,
    /// The share of frames that never arrived as a whole.
    pub(crate) missing: f64,
}

/// Nobody listens.
pub(crate) struct Deaf;

impl Sink for Deaf {
    fn record(&mut self, _at: Time, _event: &Event) {}
}

/// Of the frames captured from this moment on.
pub(crate) fn outcome(scenario: &Scenario, from: Time) -> Outcome {
    let report = run(scenario, from, &mut Deaf);
    let frames = report.flows[0].frames.as_ref().expect("video");
    let delay = frames.delay.expect("frames arrive");
    let missing = frames.encoded - frames.completed;
    Outcome {
        mean: delay.mean,
        p99: delay.p99,
        bitrate: frames.bitrate,
        missing: float(missing) / float(frames.encoded),
    }
}

/// The least, the median and the most.
pub(crate) fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    assert!(count(values.len()) > 0);
    [values[0], values[last / 2], values[last]]
}
