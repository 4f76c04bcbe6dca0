//! The worlds of these claims, and what is seen in them.

use std::collections::BTreeMap;

use tightloop::event::{Event, FlowId, Kind, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, Span, Time};

/// A world as text: one GCC video flow over one link, and more.
#[derive(Clone)]
pub(crate) struct Trial {
    /// The link's own lines.
    pub(crate) link: String,
    /// The way back.
    pub(crate) back: String,
    /// Lines of the flow, before its tables.
    pub(crate) flow: String,
    /// Settings of the controller.
    pub(crate) cc: String,
    /// Lines of the flow's video.
    pub(crate) video: String,
    /// Other flows, and anything else.
    pub(crate) more: String,
    pub(crate) secs: u64,
    pub(crate) seed: u64,
}

/// A video flow of so many seconds at 30 frames per second, over an unlimited
/// queue, with the same delay there and back.
pub(crate) fn video(link: &str, delay_ms: u64, secs: u64) -> Trial {
    Trial {
        link: format!("{link}\ndelay = \"{delay_ms} ms\"\n"),
        back: format!("delay = \"{delay_ms} ms\"\n"),
        flow: String::new(),
        cc: String::new(),
        video: "encoder = \"ideal\"\nsource = { fps = 30.0 }\n".to_owned(),
        more: String::new(),
        secs,
        seed: 1,
    }
}

impl Trial {
    pub(crate) fn cc(mut self, lines: &str) -> Self {
        self.cc.push_str(lines);
        self.cc.push('\n');
        self
    }

    /// More lines for the link and the way back.
    pub(crate) fn both(mut self, lines: &str) -> Self {
        self.link.push_str(lines);
        self.back.push_str(lines);
        self
    }

    pub(crate) fn back(mut self, lines: &str) -> Self {
        self.back.push_str(lines);
        self
    }

    pub(crate) fn flow(mut self, lines: &str) -> Self {
        self.flow.push_str(lines);
        self.flow.push('\n');
        self
    }

    pub(crate) fn video(mut self, lines: &str) -> Self {
        self.video = lines.to_owned();
        self
    }

    pub(crate) fn more(mut self, lines: &str) -> Self {
        self.more.push_str(lines);
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    fn text(&self) -> String {
        let Self {
            link,
            back,
            flow,
            cc,
            video,
            more,
            secs,
            seed,
        } = self;
        format!(
            "name = \"trial\"\nduration = \"{secs} s\"\nseed = {seed}\n\
             [link.bottleneck]\n{link}\n[link.return]\n{back}\n\
             [[flow]]\npath = {{ links = [\"bottleneck\"], back = [\"return\"] }}\n{flow}\n\
             [flow.cc]\nname = \"gcc\"\n{cc}\n[flow.video]\n{video}\n{more}\n"
        )
    }

    pub(crate) fn run(&self) -> Seen {
        let text = self.text();
        let scenario: Scenario =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut built = scenario.build(&|_| None).expect("a good scenario");
        let mut seen = Seen::default();
        built.world.run(scenario.end(), &mut Log::to(&mut seen));
        seen
    }
}

/// What happened to the first flow.
#[derive(Default)]
pub(crate) struct Seen {
    /// Gauges by name, with their times in seconds.
    gauges: BTreeMap<&'static str, Vec<(f64, f64)>>,
    /// Targets in kbit/s.
    targets: Vec<(f64, f64)>,
    /// One-way delays in ms, by when the packet arrived.
    delays: Vec<(f64, f64)>,
    /// Bytes that arrived.
    arrived: Vec<(f64, f64)>,
    /// Waits of video's packets for their departure, in ms.
    waits: Vec<(f64, f64)>,
    /// The rates of probes, in kbit/s; 0 between them.
    floors: Vec<(f64, f64)>,
    sent: BTreeMap<u64, Time>,
    encoded: BTreeMap<u32, Time>,
}

impl Sink for Seen {
    fn record(&mut self, at: Time, event: &Event) {
        let secs = at.secs_f64();
        match event {
            Event::Gauge {
                flow: FlowId(0),
                name,
                value,
                ..
            } => self.gauges.entry(name).or_default().push((secs, *value)),
            Event::Control {
                flow: FlowId(0),
                control,
                ..
            } => {
                if let Some(target) = control.target {
                    self.targets.push((secs, kbps(target)));
                }
                self.floors.push((secs, control.floor.map_or(0.0, kbps)));
            }
            Event::Encoded {
                flow: FlowId(0),
                frame,
                ..
            } => {
                self.encoded.insert(frame.0, at);
            }
            Event::Sent { packet, kind, .. } if packet.flow == FlowId(0) => {
                self.sent.insert(packet.number, at);
                if let Kind::Video(fragment) = kind
                    && let Some(encoded) = self.encoded.get(&fragment.frame.0)
                {
                    self.waits.push((secs, (at - *encoded).millis_f64()));
                }
            }
            Event::Arrived { packet, size, .. } if packet.flow == FlowId(0) => {
                if let Some(sent) = self.sent.remove(&packet.number) {
                    self.delays.push((secs, (at - sent).millis_f64()));
                }
                self.arrived.push((secs, size.get_f64()));
            }
            _ => {}
        }
    }
}

fn kbps(rate: Rate) -> f64 {
    rate.ratio(Rate::from_kbps(1))
}

fn within(series: &[(f64, f64)], from: f64, to: f64) -> impl Iterator<Item = f64> {
    let inside = series.iter().filter(move |(at, _)| (from..to).contains(at));
    inside.map(|(_, value)| *value)
}

impl Seen {
    /// The value that holds at some second.
    fn at(series: &[(f64, f64)], secs: f64) -> f64 {
        let before = series.iter().rev().find(|(at, _)| *at <= secs);
        before.map_or(f64::NAN, |(_, value)| *value)
    }

    /// The target in kbit/s at some second.
    pub(crate) fn target(&self, secs: f64) -> f64 {
        Self::at(&self.targets, secs)
    }

    /// A gauge at some second.
    pub(crate) fn gauge(&self, name: &str, secs: f64) -> f64 {
        self.gauges
            .get(name)
            .map_or(f64::NAN, |series| Self::at(series, secs))
    }

    /// The least and the largest target.
    pub(crate) fn targets(&self, from: f64, to: f64) -> (f64, f64) {
        within(&self.targets, from, to).fold((f64::INFINITY, 0.0), |(least, most), target| {
            (f64::min(least, target), f64::max(most, target))
        })
    }

    /// What arrived, in kbit/s.
    pub(crate) fn rate(&self, from: f64, to: f64) -> f64 {
        let bytes: f64 = within(&self.arrived, from, to).sum();
        let span = Span::from_secs_f64(to - from);
        Bytes::from_f64(bytes).per(span).map_or(0.0, kbps)
    }

    /// The longest one-way delay, in ms.
    pub(crate) fn longest_delay(&self, from: f64, to: f64) -> f64 {
        within(&self.delays, from, to).fold(0.0, f64::max)
    }

    /// The longest that a packet of video waited for its departure, in ms.
    pub(crate) fn longest_wait(&self, from: f64, to: f64) -> f64 {
        within(&self.waits, from, to).fold(0.0, f64::max)
    }

    /// The least and the largest value of a gauge.
    pub(crate) fn gauges(&self, name: &str, from: f64, to: f64) -> (f64, f64) {
        let series = self.gauges.get(name).map_or(&[][..], Vec::as_slice);
        within(series, from, to).fold((f64::INFINITY, 0.0), |(least, most), value| {
            (f64::min(least, value), f64::max(most, value))
        })
    }

    /// The rates of the probes, in kbit/s.
    pub(crate) fn probes(&self, from: f64, to: f64) -> Vec<f64> {
        let mut probes: Vec<f64> = within(&self.floors, from, to).collect();
        probes.dedup();
        probes.retain(|floor| *floor > 0.0);
        probes
    }
}
