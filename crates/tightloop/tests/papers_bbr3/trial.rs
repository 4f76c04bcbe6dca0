//! The worlds of these claims, and what is seen in them.

use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, Span, Time, count, float, index, round};

pub(crate) const PACKET: Bytes = Bytes::new(1500);

/// The gauge `state`.
pub(crate) const STARTUP: u64 = 0;
pub(crate) const DRAIN: u64 = 1;
pub(crate) const CRUISE: u64 = 3;
pub(crate) const UP: u64 = 5;
pub(crate) const PROBE_RTT: u64 = 6;

/// A world of bulk flows over one bottleneck.
pub(crate) struct Trial {
    seconds: u64,
    link: String,
    queue: String,
    one_way: Span,
    flows: Vec<(u64, String)>,
    seed: u64,
}

impl Trial {
    /// One flow over 20 Mbit/s, 40 ms, 200 packets of drop-tail.
    pub(crate) fn plain(seconds: u64) -> Self {
        Self {
            seconds,
            link: "rate = \"20 Mbit/s\"".to_owned(),
            queue: "{ kind = \"drop_tail\", packets = 200 }".to_owned(),
            one_way: Span::from_millis(20),
            flows: vec![(0, "bbr3".to_owned())],
            seed: 1,
        }
    }

    /// Over a link of this rate and round trip, with two BDPs of buffer.
    pub(crate) fn over(seconds: u64, rate: Rate, rtt: Span) -> Self {
        let packets = round(rate.over(rtt).ratio(PACKET) * 2.0).max(20);
        Self {
            link: format!("rate = \"{} bit/s\"", rate.as_bps()),
            queue: format!("{{ kind = \"drop_tail\", packets = {packets} }}"),
            one_way: rtt / 2,
            ..Self::plain(seconds)
        }
    }

    pub(crate) fn steps(mut self, steps: &str) -> Self {
        self.link = format!("steps = [{steps}]");
        self
    }

    pub(crate) fn buffer(mut self, packets: u64) -> Self {
        self.queue = format!("{{ kind = \"drop_tail\", packets = {packets} }}");
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(crate) fn second_flow(mut self, start: u64) -> Self {
        self.flows.push((start, "bbr3".to_owned()));
        self
    }

    pub(crate) fn competitor(mut self, name: &str) -> Self {
        self.flows.push((0, name.to_owned()));
        self
    }

    pub(crate) fn run(&self) -> Run {
        // Links are numbered by name: the bottleneck is the first.
        let one_way = self.one_way.as_nanos() / 1_000;
        let mut text = format!(
            "name = \"bbr3\"\nseed = {}\nduration = \"{} s\"\n\
             [link.a]\ndelay = \"{one_way} us\"\n{}\nqueue = {}\n[link.b]\ndelay = \"{one_way} us\"\n",
            self.seed, self.seconds, self.link, self.queue
        );
        for (start, cc) in &self.flows {
            text += &format!(
                "[[flow]]\ncc = \"{cc}\"\nstart = \"{start} s\"\ntraffic = {{ bulk = {{}} }}\n\
                 path = {{ links = [\"a\"], back = [\"b\"] }}\n"
            );
        }
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let mut run = Run::default();
        built.world.run(scenario.end(), &mut Log::to(&mut run));
        run
    }
}

/// What left the bottleneck and how long it had waited, what was dropped, and
/// the first flow's gauges.
#[derive(Default)]
pub(crate) struct Run {
    left: Vec<(Time, u32, Span)>,
    dropped: Vec<Time>,
    gauges: Vec<(Time, &'static str, f64)>,
}

/// What a part of a run was like.
pub(crate) struct Part {
    pub(crate) mbps: f64,
    pub(crate) waited_ms: f64,
    pub(crate) waited_p99_ms: f64,
}

/// A state, when it began and how long it lasted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    pub(crate) state: u64,
    pub(crate) at: f64,
    pub(crate) lasted: f64,
}

impl Sink for Run {
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Left {
                link,
                waited,
                packet,
                ..
            } if link.0 == 0 => self.left.push((at, packet.flow.0, *waited)),
            Event::Dropped { link, .. } if link.0 == 0 => self.dropped.push(at),
            Event::Gauge {
                flow, name, value, ..
            } if flow.0 == 0 => self.gauges.push((at, name, *value)),
            _ => {}
        }
    }
}

fn seconds(from: u64, to: u64) -> std::ops::Range<Time> {
    Time::from_secs(from)..Time::from_secs(to)
}

fn mbps(packets: usize, from: u64, to: u64) -> f64 {
    let length = Time::from_secs(to) - Time::from_secs(from);
    let rate = (PACKET * count(packets)).per(length);
    rate.expect("time").mbps_f64()
}

impl Run {
    pub(crate) fn part(&self, from: u64, to: u64) -> Part {
        let inside = seconds(from, to);
        let left = self.left.iter().filter(|left| inside.contains(&left.0));
        let mut waits: Vec<f64> = left.map(|left| left.2.millis_f64()).collect();
        waits.sort_unstable_by(f64::total_cmp);
        let n = count(waits.len());
        Part {
            mbps: mbps(waits.len(), from, to),
            waited_ms: waits.iter().sum::<f64>() / float(n),
            waited_p99_ms: waits[index(round(0.99 * float(n - 1)))],
        }
    }

    pub(crate) fn flow(&self, flow: u32, from: u64, to: u64) -> f64 {
        let inside = seconds(from, to);
        let left = self.left.iter();
        let own = left.filter(|left| left.1 == flow && inside.contains(&left.0));
        mbps(own.count(), from, to)
    }

    pub(crate) fn drops(&self, from: u64, to: u64) -> f64 {
        let inside = seconds(from, to);
        float(count(
            self.dropped.iter().filter(|at| inside.contains(at)).count(),
        ))
    }

    /// A gauge's first value from a second on, in Mbit/s.
    pub(crate) fn mbps_of(&self, name: &str, from: u64) -> f64 {
        let from = Time::from_secs(from);
        let mut found = self.gauges.iter().filter(|gauge| gauge.1 == name);
        let value = found.find(|gauge| gauge.0 >= from).expect("a gauge").2;
        Rate::from_bps_f64(value).mbps_f64()
    }

    /// The states of the first flow, as its gauges show them every 10 ms.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        let mut visits: Vec<Visit> = vec![];
        for (at, _, value) in self.gauges.iter().filter(|gauge| gauge.1 == "state") {
            let (at, state) = (at.secs_f64(), round(*value));
            match visits.last_mut() {
                Some(last) if last.state == state => last.lasted = at - last.at,
                _ => visits.push(Visit {
                    state,
                    at,
                    lasted: 0.0,
                }),
            }
        }
        visits
    }
}
