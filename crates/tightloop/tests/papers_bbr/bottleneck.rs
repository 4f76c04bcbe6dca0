//! The bottleneck of Delay-BBR's paper, and the flows that share it.

use std::fmt::Write as _;

use tightloop::analysis::jain;
use tightloop::event::{Direction, Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, Span, Time, count, float, index, round};

/// The paper's Table 1: Mbit/s, and the buffer in ms. 100 ms each way.
pub(crate) const CASES: [(u64, u64); 9] = [
    (3, 300),
    (3, 400),
    (3, 600),
    (4, 300),
    (4, 400),
    (4, 600),
    (5, 300),
    (5, 400),
    (5, 600),
];

/// Its flows begin at these seconds.
pub(crate) const STARTS: [u64; 3] = [0, 40, 80];

/// How long it runs, in seconds.
pub(crate) const LENGTH: u64 = 300;

/// What a flow sends.
#[derive(Clone, Copy)]
pub(crate) enum Sends {
    /// As much as the controller lets it: the paper's flows fill up with padding
    /// whenever the pacer has no video.
    All,
    /// Video at 25 fps of an encoder that makes what it is asked for.
    Video,
}

/// A flow: its controller as TOML, what it sends, its beginning and end.
pub(crate) struct Flow {
    pub(crate) cc: &'static str,
    pub(crate) sends: Sends,
    /// Packets per acknowledgement.
    pub(crate) per_ack: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Three flows alike.
pub(crate) fn three(cc: &'static str, sends: Sends) -> Vec<Flow> {
    STARTS
        .map(|from| Flow {
            cc,
            sends,
            per_ack: 1,
            from,
            to: LENGTH,
        })
        .into()
}

/// What the bottleneck saw.
#[derive(Default)]
pub(crate) struct Shared {
    /// Bytes of each flow in each second.
    seconds: Vec<Vec<Bytes>>,
    delays: f64,
    left: u64,
    dropped: u64,
}

impl Sink for Shared {
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Left {
                link,
                packet,
                size,
                sojourn,
                ..
            } if link.0 == 0 => {
                let second = index(round(at.secs_f64() - 0.5));
                let seconds = &mut self.seconds[index(packet.flow.0.into())];
                if second >= seconds.len() {
                    seconds.resize(second + 1, Bytes::ZERO);
                }
                seconds[second] += *size;
                self.delays += sojourn.millis_f64();
                self.left += 1;
            }
            Event::Dropped { packet, .. } if packet.direction == Direction::Data => {
                self.dropped += 1;
            }
            _ => {}
        }
    }
}

impl Shared {
    /// Flows over a bottleneck, 1000-byte packets, the buffer in bytes.
    pub(crate) fn of((mbps, buffer): (u64, u64), flows: &[Flow], seed: u64) -> Self {
        let rate = Rate::from_mbps(mbps);
        let length = Span::from_millis(i64::try_from(buffer).expect("ms"));
        let mut text = format!(
            "name = \"bottleneck\"\nduration = \"{LENGTH} s\"\nseed = {seed}\n\
             packet = {{ mtu = \"1 kB\" }}\n\
             [link.a]\ndelay = \"100 ms\"\nrate = \"{rate}\"\n\
             queue = {{ kind = \"drop_tail\", bytes = \"{}\" }}\n\
             [link.b]\ndelay = \"100 ms\"\n",
            rate.over(length)
        );
        for flow in flows {
            let sends = match flow.sends {
                Sends::All => "traffic = { bulk = {} }",
                Sends::Video => "video = { source = { fps = 25 } }",
            };
            let Flow {
                cc,
                per_ack,
                from,
                to,
                ..
            } = flow;
            writeln!(
                text,
                "[[flow]]\ncc = {{ {cc} }}\n{sends}\nstart = \"{from} s\"\nstop = \"{to} s\"\n\
                 feedback = {{ packets = {per_ack} }}\n\
                 path = {{ links = [\"a\"], back = [\"b\"] }}"
            )
            .expect("a text");
        }
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let mut shared = Self {
            seconds: vec![vec![]; flows.len()],
            ..Self::default()
        };
        built.world.run(scenario.end(), &mut Log::to(&mut shared));
        for seconds in &mut shared.seconds {
            seconds.resize(index(LENGTH), Bytes::ZERO);
        }
        shared
    }

    /// A flow's rate in each second, in Mbit/s.
    pub(crate) fn rates(&self, flow: usize, from: u64, to: u64) -> Vec<f64> {
        let second = Span::from_secs(1);
        let rates = self.seconds[flow][index(from)..index(to)].iter();
        rates
            .map(|bytes| bytes.per(second).expect("a second").mbps_f64())
            .collect()
    }

    /// A flow's mean rate, in Mbit/s.
    pub(crate) fn mean(&self, flow: usize, from: u64, to: u64) -> f64 {
        self.rates(flow, from, to).iter().sum::<f64>() / float(to - from)
    }

    /// From the 5th to the 95th percentile of a flow's rate, in Mbit/s.
    pub(crate) fn swing(&self, flow: usize, from: u64, to: u64) -> f64 {
        let mut rates = self.rates(flow, from, to);
        rates.sort_by(f64::total_cmp);
        let at = |share: f64| rates[index(round(share * float(count(rates.len() - 1))))];
        at(0.95) - at(0.05)
    }

    /// Mean one-way delay of all packets, in ms.
    pub(crate) fn delay(&self) -> f64 {
        100.0 + self.delays / float(self.left)
    }

    /// The lost share of all packets, in per cent.
    pub(crate) fn loss(&self) -> f64 {
        100.0 * float(self.dropped) / float(self.dropped + self.left)
    }

    /// Jain's index of the mean rates.
    pub(crate) fn jain(&self, from: u64, to: u64) -> f64 {
        let means: Vec<f64> = (0..self.seconds.len())
            .map(|flow| self.mean(flow, from, to))
            .collect();
        jain(&means).expect("rates")
    }

    /// The least of the mean rates over the fair one.
    pub(crate) fn least(&self, from: u64, to: u64) -> f64 {
        let means = (0..self.seconds.len()).map(|flow| self.mean(flow, from, to));
        let sum: f64 = means.clone().sum();
        let least = means.fold(f64::INFINITY, f64::min);
        least * float(count(self.seconds.len())) / sum
    }
}
