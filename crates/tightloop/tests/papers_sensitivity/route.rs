//! One flow behind a proxy: a route that changes, and where the delay goes.

use tightloop::event::{Event, Log, Sink};
use tightloop::proxy;
use tightloop::scenario::Scenario;
use tightloop::units::{Span, Time, count, float};

/// What one flow saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// What the proxy added in ms, from each moment on.
    pub(crate) added: Vec<(Time, f64)>,
    rtts: Vec<(Time, Span)>,
    sent: Vec<(u64, Time)>,
    /// One-way delays of data in ms.
    pub(crate) one_way: Vec<f64>,
}

impl Sink for Seen {
    fn record(&mut self, at: Time, event: &Event) {
        match event {
            Event::Gauge { name, value, .. } if *name == tightloop::sim::proxied::ADDED => {
                self.added
                    .push((at, Span::from_secs_f64(*value).millis_f64()));
            }
            Event::Acked { rtt: Some(rtt), .. } => self.rtts.push((at, *rtt)),
            Event::Sent { packet, .. } => self.sent.push((packet.number, at)),
            Event::Arrived { packet, .. } => {
                let sent = self
                    .sent
                    .iter()
                    .rev()
                    .find(|(number, _)| *number == packet.number);
                let (_, sent) = sent.expect("it was sent");
                self.one_way.push((at - *sent).millis_f64());
            }
            _ => {}
        }
    }
}

impl Seen {
    /// Runs a scenario of one flow.
    pub(crate) fn of(text: &str) -> Self {
        let scenario: Scenario = toml::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        let mut seen = Self::default();
        let mut built = scenario.build(&|_| None).expect("a world");
        built.world.run(scenario.end(), &mut Log::to(&mut seen));
        seen
    }

    /// BBR over 10 Mbit/s with this to send, whose route takes 40 ms, from 30 to 60 s 10 ms, and 40
    /// again until 120 s.
    pub(crate) fn route(rule: proxy::Rule, traffic: &str) -> Self {
        let rule = toml::Value::try_from(rule).expect("a word");
        Self::of(&format!(
            "name = \"route\"\nduration = \"120 s\"\n\
             [link.data]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"drop_tail\", packets = 400 }}\n\
             [link.back]\ndelay = \"40 ms\"\ndelay_steps = [[\"30 s\", \"10 ms\"], [\"60 s\", \"40 ms\"]]\n\
             [[flow]]\ncc = \"bbr\"\ntraffic = {{ {traffic} }}\n\
             path = {{ links = [\"data\"], back = [\"back\"] }}\n\
             proxy = {{ rule = {rule} }}\n"
        ))
    }

    /// A packet each millisecond over 1 ms there and 2 ms back, with 60 ms added
    /// to data or to acknowledgements.
    pub(crate) fn delayed(data: bool, acks: bool) -> Self {
        let delay = if data { ", delay = \"60 ms\"" } else { "" };
        let proxy = if acks {
            "proxy = { rule = \"constant\", lambda = \"60 ms\" }"
        } else {
            ""
        };
        Self::of(&format!(
            "name = \"delayed\"\nduration = \"3 s\"\npacket = {{ mtu = \"500 B\" }}\n\
             [link.data]\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\n[link.back]\ndelay = \"2 ms\"\n\
             [[flow]]\ncc = {{ name = \"fixed\", pacing = \"100 Mbit/s\" }}\n\
             traffic = {{ cbr = {{ rate = \"4 Mbit/s\" }} }}\n\
             path = {{ links = [\"data\"], back = [\"back\"]{delay} }}\n{proxy}\n"
        ))
    }

    /// What the proxy added last before this second.
    pub(crate) fn added_at(&self, second: u64) -> f64 {
        let until = Time::from_secs(second);
        let before = self.added.iter().rev().find(|(at, _)| *at <= until);
        before.expect("a proxy").1
    }

    /// The most that was added from this second to that.
    pub(crate) fn most(&self, from: u64, to: u64) -> f64 {
        let inside = Time::from_secs(from)..Time::from_secs(to);
        let added = self.added.iter().filter(|(at, _)| inside.contains(at));
        added.map(|(_, added)| *added).fold(0.0, f64::max)
    }

    /// Mean one-way delay and round trip in ms.
    pub(crate) fn means(&self) -> (f64, f64) {
        let mean = |all: &[f64]| all.iter().sum::<f64>() / float(count(all.len()));
        let rtts: Vec<f64> = self.rtts.iter().map(|(_, rtt)| rtt.millis_f64()).collect();
        (mean(&self.one_way), mean(&rtts))
    }
}
