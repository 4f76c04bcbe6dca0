//! The worlds of these claims, and what is seen in them.

use tightloop::event::{Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Span, Time, count, float};

/// What left the bottleneck and how long it had been there, and ProbeRTT.
#[derive(Default)]
pub(crate) struct Run {
    /// When a packet left, its size and its time in the queue and in service.
    left: Vec<(Time, Bytes, Span)>,
    pub(crate) drops: u64,
    /// Each visit's beginning and end.
    pub(crate) visits: Vec<(Time, Time)>,
    visiting: bool,
}

impl Sink for Run {
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Left {
                link,
                size,
                sojourn,
                ..
            } if link.0 == 0 => self.left.push((at, *size, *sojourn)),
            Event::Dropped { .. } => self.drops += 1,
            Event::Gauge {
                name: "state",
                value,
                ..
            } => {
                let inside = *value > 2.5;
                if inside && !self.visiting {
                    self.visits.push((at, at));
                }
                if inside && let Some(visit) = self.visits.last_mut() {
                    visit.1 = at;
                }
                self.visiting = inside;
            }
            _ => {}
        }
    }
}

impl Run {
    /// A bulk flow over 20, 5, 20 Mbit/s for 30 s each, 20 ms each way, 200
    /// packets: the link of the recorded run. It acknowledges every other packet.
    /// Acknowledgements stand still for `stall`, 77.5 s into the run.
    pub(crate) fn of(cc: &str, seed: u64, start: Span, stall: Span) -> Self {
        // A step needs a length: a nanosecond is none to speak of.
        let resumes = Span::from_millis(77_500) + stall.max(Span::from_nanos(1));
        // Links are numbered by name: the bottleneck is the first.
        let text = format!(
            "name = \"alone\"\nduration = \"90 s\"\nseed = {seed}\n\
             [link.a]\ndelay = \"20 ms\"\n\
             steps = [[\"0 s\", \"20 Mbit/s\"], [\"30 s\", \"5 Mbit/s\"], [\"60 s\", \"20 Mbit/s\"]]\n\
             queue = {{ kind = \"drop_tail\", packets = 200 }}\n\
             [link.b]\ndelay = \"20 ms\"\n\
             steps = [[\"0 s\", \"100 Mbit/s\"], [\"77.5 s\", \"0 bit/s\"], [\"{resumes}\", \"100 Mbit/s\"]]\n\
             queue = {{ kind = \"infinite\" }}\n\
             [[flow]]\ncc = {{ {cc} }}\ntraffic = {{ bulk = {{}} }}\nstart = \"{start}\"\n\
             feedback = {{ packets = 2 }}\n\
             path = {{ links = [\"a\"], back = [\"b\"] }}\n"
        );
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let mut run = Self::default();
        built.world.run(scenario.end(), &mut Log::to(&mut run));
        run
    }

    fn between(&self, from: f64, to: f64) -> impl Iterator<Item = &(Time, Bytes, Span)> {
        let inside = from..to;
        self.left
            .iter()
            .filter(move |(at, ..)| inside.contains(&at.secs_f64()))
    }

    /// Mean rate in Mbit/s.
    pub(crate) fn mbps(&self, from: f64, to: f64) -> f64 {
        let bytes: Bytes = self.between(from, to).map(|(_, size, _)| *size).sum();
        let length = Span::from_secs_f64(to - from);
        bytes.per(length).expect("time").mbps_f64()
    }

    /// Mean time in the queue and in service, in ms.
    pub(crate) fn queued(&self, from: f64, to: f64) -> f64 {
        let times: Vec<f64> = self
            .between(from, to)
            .map(|(.., queued)| queued.millis_f64())
            .collect();
        times.iter().sum::<f64>() / float(count(times.len()))
    }

    /// The longest time in the queue, in ms.
    pub(crate) fn longest(&self, from: f64, to: f64) -> f64 {
        self.between(from, to)
            .map(|(.., queued)| queued.millis_f64())
            .fold(0.0, f64::max)
    }

    /// Seconds from the drop of the rate until half a second with a mean queue
    /// below 25 ms begins, to a tenth.
    pub(crate) fn drained(&self) -> f64 {
        let tenths = (0..300).map(|tenth| f64::from(tenth) / 10.0);
        let drained = |after: &f64| self.queued(30.0 + after, 30.5 + after) < 25.0;
        tenths.skip(1).find(|after| drained(after)).unwrap_or(30.0)
    }
}
