//! A scenario: plain data from which a [`World`] is built.
//!
//! A run is a pure function of a scenario (with the traces it names) and the
//! version of this crate. There is no file format here: scenarios are serde
//! data, and the lab reads them from TOML.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cc::{self, Controller, Start};
use crate::event::{Ecn, FlowId, LinkId, Log};
use crate::link;
use crate::link::trace::Trace;
use crate::paths::{PathSet, SCHEDULERS};
use crate::proxy;
use crate::rng::Stream;
use crate::session::receiver::{self, Clock, Receiver};
use crate::session::sender::{self, Application, Sender, Video};
use crate::session::{Endpoint, feedback, wire};
use crate::settings::{Params, SettingError};
use crate::sim::late::Late;
use crate::sim::{HostId, World};
use crate::traffic::{Traffic, TrafficSettings};
use crate::units::{Bytes, Rate, Span, Time, index};
use crate::video::playout::{Playout, PlayoutSettings};
use crate::video::source::{Source, SourceSettings};
use crate::video::{self, ENCODERS, Framing, RATE_CONTROLS, VideoStart};

mod instance;
mod proxies;

/// Receivers' clocks are off by up to this much. Ours: an hour, as between
/// machines that never met.
const CLOCK_OFFSET: Span = Span::from_secs(3_600);

/// Receivers' clocks drift by up to this many parts per million. Ours: a cheap
/// quartz.
const CLOCK_DRIFT_PPM: f64 = 50.0;

/// A scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What to call it.
    pub name: String,
    /// What it shows, in a sentence or two.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Where all chance comes from.
    #[serde(default = "one")]
    pub seed: u64,
    /// How long it runs.
    pub duration: Span,
    /// The part of the run that metrics are taken over.
    #[serde(default)]
    pub measure: Measure,
    /// Packet sizes.
    #[serde(default)]
    pub packet: PacketSettings,
    /// The links, by name.
    pub link: BTreeMap<String, link::Settings>,
    /// The flows.
    pub flow: Vec<Flow>,
    /// Bands that metrics must lie in: `"flow.0.throughput" = ["17.6 Mbit/s", "18.4 Mbit/s"]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expect: BTreeMap<String, [String; 2]>,
}

const fn one() -> u64 {
    1
}

/// The part of a run that metrics are taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Its start; by default the run's.
    pub from: Time,
    /// Its end; by default the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
}

/// Packet sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PacketSettings {
    /// The largest packet, in IP bytes. Ethernet's 1500.
    pub mtu: Bytes,
    /// What IP and UDP, and encryption if there is any, add to each packet.
    /// 20 bytes of IPv4 and 8 of UDP.
    pub overhead: Bytes,
}

impl Default for PacketSettings {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1500),
            overhead: Bytes::new(28),
        }
    }
}

impl PacketSettings {
    /// Sizes with the session's own header counted in.
    #[must_use]
    pub fn framing(&self) -> Framing {
        Framing {
            mtu: self.mtu,
            overhead: self.overhead + wire::HEADER,
        }
    }
}

/// A part chosen by name, with its settings: `"copa"` or `{ name = "copa", delta = 0.1 }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The settings.
    pub params: Params,
}

impl Named {
    /// With default settings.
    #[must_use]
    pub fn plain(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            params: Params::new(),
        }
    }
}

impl Serialize for Named {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.params.is_empty() {
            return serializer.serialize_str(&self.name);
        }
        let mut table = self.params.clone();
        table.insert("name".to_owned(), self.name.clone().into());
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamedVisitor;
        impl<'de> Visitor<'de> for NamedVisitor {
            type Value = Named;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a table with a `name` and settings")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Named, E> {
                Ok(Named::plain(name))
            }
            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Named, M::Error> {
                let mut params = Params::deserialize(de::value::MapAccessDeserializer::new(map))?;
                match params.remove("name") {
                    Some(toml::Value::String(name)) => Ok(Named { name, params }),
                    Some(_) => Err(de::Error::custom("`name` must be a text")),
                    None => Err(de::Error::missing_field("name")),
                }
            }
        }
        deserializer.deserialize_any(NamedVisitor)
    }
}

/// A flow: one sender, one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What to call it; by default its place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The controller of each of its paths.
    pub cc: Named,
    /// What it sends, if video. The default where `traffic` is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoSettings>,
    /// What it sends, if not video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficSettings>,
    /// Its path, or a list of several.
    #[serde(deserialize_with = "one_or_many")]
    pub path: Vec<PathSettings>,
    /// What picks a path for each packet.
    #[serde(default = "single")]
    pub scheduler: Named,
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// When it ends; by default with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// When its receiver speaks.
    #[serde(default)]
    pub feedback: feedback::Settings,
    /// Send lost fragments of frames again.
    #[serde(default = "yes")]
    pub retransmit: bool,
    /// Not those of frames captured longer ago than this.
    #[serde(default = "latency_budget")]
    pub latency_budget: Span,
    /// A path of several that has carried nothing for this long is probed.
    #[serde(default = "probe_interval")]
    pub probe_interval: Span,
    /// Mark its packets ECN-capable.
    #[serde(default)]
    pub ecn: bool,
    /// How late the sender wakes up, at most: uniform from zero to this.
    #[serde(default)]
    pub wake_jitter: Span,
    /// A λ-proxy that delays its acknowledgements. By default there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<proxy::Settings>,
    /// The receiver's clock; by default off at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockSettings>,
}

fn single() -> Named {
    Named::plain("single")
}

const fn latency_budget() -> Span {
    sender::LATENCY_BUDGET
}

const fn probe_interval() -> Span {
    sender::PROBE_INTERVAL
}

const fn yes() -> bool {
    true
}

/// A receiver's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockSettings {
    /// Its offset from the run's clock.
    pub offset: Span,
    /// Its drift in parts per million.
    pub drift_ppm: f64,
}

/// Settings of a video flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VideoSettings {
    /// The camera.
    pub source: SourceSettings,
    /// What the encoder does with what the network bears.
    pub rate_control: Named,
    /// What makes bytes of frames.
    pub encoder: Named,
    /// What the receiver does with complete frames.
    pub playout: PlayoutSettings,
}

impl Default for VideoSettings {
    fn default() -> Self {
        Self {
            source: SourceSettings::default(),
            rate_control: Named::plain("follow"),
            encoder: Named::plain("ideal"),
            playout: PlayoutSettings::default(),
        }
    }
}

/// A path: links there and back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSettings {
    /// The links that data cross, in order.
    pub links: Vec<String>,
    /// The links that feedback crosses, in order.
    pub back: Vec<String>,
    /// Delay of this flow's data in addition to the last link's own.
    #[serde(default)]
    pub delay: Span,
    /// Delay of this flow's feedback in addition to the last link's own.
    #[serde(default)]
    pub back_delay: Span,
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathSettings>, D::Error> {
    struct Paths;
    impl<'de> Visitor<'de> for Paths {
        type Value = Vec<PathSettings>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a path, { links = [\"…\"], back = [\"…\"] }, or a list of paths")
        }
        fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
            PathSettings::deserialize(de::value::MapAccessDeserializer::new(map))
                .map(|path| vec![path])
        }
        fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<Self::Value, S::Error> {
            Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(Paths)
}

/// What is wrong with a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct ScenarioError {
    /// The key, dotted: `flow.0.cc`.
    pub at: String,
    /// What is wrong, and what would do.
    pub message: String,
}

impl ScenarioError {
    fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            message: message.into(),
        }
    }

    fn at(at: impl Into<String>) -> impl FnOnce(SettingError) -> Self {
        move |error| Self::new(at, error.0)
    }
}

/// A name that is not in a list: says so, with the nearest that is.
#[must_use]
pub fn unknown_name<'a>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let nearest = known
        .clone()
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.len() / 2 + 1);
    match nearest {
        Some((_, nearest)) => format!("unknown {kind} `{name}`; did you mean `{nearest}`?"),
        None => {
            let all: Vec<&str> = known.collect();
            format!("unknown {kind} `{name}`; known: {}", all.join(", "))
        }
    }
}

/// Builds an encoder of real pictures for a flow; `None` where the name is not
/// known.
pub type NewEncoder<'a> =
    dyn Fn(FlowId, &str, &VideoStart) -> Option<Result<Box<dyn video::Encoder>, SettingError>> + 'a;

/// What a scenario names and does not hold.
#[expect(missing_debug_implementations, reason = "two functions")]
pub struct Supplies<'a> {
    /// Finds the traces that links name.
    pub traces: &'a dyn Fn(&str) -> Option<Arc<Trace>>,
    /// Builds the encoders that are none of [`ENCODERS`].
    pub encoders: &'a NewEncoder<'a>,
}

/// A scenario turned into a world.
#[derive(Debug)]
pub struct Built {
    /// The world, at time zero.
    pub world: World,
    /// The links' names, by id.
    pub links: Vec<String>,
    /// The flows' names, by id.
    pub flows: Vec<String>,
    /// The senders, by flow.
    pub senders: Vec<HostId>,
}

impl Scenario {
    /// One video flow under a controller with default settings over 20 Mbit/s,
    /// 40 ms of round trip and 200 packets of drop-tail: the link of [SQP] §6.
    #[must_use]
    pub fn single(cc: &str) -> Self {
        let bottleneck = link::Settings::fixed(Rate::from_mbps(20), 200, Span::from_millis(20));
        let back = link::Settings::wire(Span::from_millis(20));
        Self {
            name: cc.to_owned(),
            about: String::new(),
            seed: 1,
            duration: Span::from_secs(30),
            measure: Measure::default(),
            packet: PacketSettings::default(),
            link: BTreeMap::from([
                ("bottleneck".to_owned(), bottleneck),
                ("return".to_owned(), back),
            ]),
            flow: vec![Flow::over(cc, "bottleneck", "return")],
            expect: BTreeMap::new(),
        }
    }

    /// When it ends.
    #[must_use]
    pub fn end(&self) -> Time {
        Time::ZERO + self.duration
    }

    /// The flows' names: their own, or their places.
    #[must_use]
    pub fn flow_names(&self) -> Vec<String> {
        let place = |(at, flow): (usize, &Flow)| flow.name.clone().unwrap_or(at.to_string());
        self.flow.iter().enumerate().map(place).collect()
    }

    /// Builds the world; `traces` finds the traces that links name.
    ///
    /// # Errors
    ///
    /// Names that are not known and settings that make no sense, with the key.
    pub fn build(
        &self,
        traces: &dyn Fn(&str) -> Option<Arc<Trace>>,
    ) -> Result<Built, ScenarioError> {
        self.build_with(&Supplies {
            traces,
            encoders: &|_, _, _| None,
        })
    }

    /// Builds the world with traces and encoders from elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Scenario::build`].
    pub fn build_with(&self, supplies: &Supplies<'_>) -> Result<Built, ScenarioError> {
        self.check()?;
        let mut world = World::new();
        let links: Vec<String> = self.link.keys().cloned().collect();
        for (id, (name, settings)) in (0..).zip(&self.link) {
            let link = settings
                .build(LinkId(id), name, self.seed, supplies.traces)
                .map_err(ScenarioError::at(format!("link.{name}")))?;
            world.add_link(link);
        }
        let flows = self.flow_names();
        let mut senders = Vec::new();
        for (id, flow) in (0..).zip(&self.flow) {
            let builder = self.builder(FlowId(id), supplies, &flows)?;
            let clock = builder.clock();
            let sender = world.add_host(builder.sender()?);
            let receiver = world.add_host(builder.receiver(clock)?);
            world.note_clock(FlowId(id), clock);
            for path in &flow.path {
                builder.check_time(path)?;
                for (from, to, names, extra) in [
                    (sender, receiver, &path.links, path.delay),
                    (receiver, sender, &path.back, path.back_delay),
                ] {
                    let ids = builder.link_ids(&links, names)?;
                    if let Some(last) = ids.last().and_then(|id| world.link_mut(*id))
                        && extra != Span::ZERO
                    {
                        last.set_flow_delay(Time::ZERO, FlowId(id), extra, &mut Log::off());
                    }
                    world.add_route(from, to, &ids);
                }
            }
            builder.proxies(&links, sender, &mut world)?;
            senders.push(sender);
        }
        Ok(Built {
            world,
            links,
            flows,
            senders,
        })
    }

    /// The sending half of one flow, for whoever has a network of another kind.
    /// Its pacer catches up with wake-ups that are late by up to `slack`.
    ///
    /// # Errors
    ///
    /// As [`Scenario::build`]; a flow that there is not.
    pub fn sender(
        &self,
        flow: FlowId,
        slack: Span,
        supplies: &Supplies<'_>,
    ) -> Result<Sender, ScenarioError> {
        self.check()?;
        self.builder(flow, supplies, &self.flow_names())?
            .session(slack)
    }

    /// The receiving half of one flow, with its own clock.
    ///
    /// # Errors
    ///
    /// As [`Scenario::sender`].
    pub fn receiver(&self, flow: FlowId, clock: Clock) -> Result<Box<dyn Endpoint>, ScenarioError> {
        self.check()?;
        let supplies = Supplies {
            traces: &|_| None,
            encoders: &|_, _, _| None,
        };
        self.builder(flow, &supplies, &self.flow_names())?
            .receiver(clock)
    }

    fn builder<'a>(
        &'a self,
        id: FlowId,
        supplies: &'a Supplies<'a>,
        names: &'a [String],
    ) -> Result<FlowBuilder<'a>, ScenarioError> {
        let key = format!("flow.{}", id.0);
        let at = index(u64::from(id.0));
        let (Some(flow), Some(name)) = (self.flow.get(at), names.get(at)) else {
            return Err(ScenarioError::new(key, "there is no such flow"));
        };
        Ok(FlowBuilder {
            scenario: self,
            supplies,
            flow,
            id,
            key,
            name,
        })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let fail = |at: &str, message: String| Err(ScenarioError::new(at, message));
        if !self.duration.is_positive() {
            return fail(
                "duration",
                format!("{} is not a time to run", self.duration),
            );
        }
        if self.flow.is_empty() {
            return fail("flow", "there is no flow; add a [[flow]]".to_owned());
        }
        let (from, to) = (self.measure.from, self.measure.to.unwrap_or(self.end()));
        if from >= to || to > self.end() {
            let message = format!(
                "from {from} to {to} is no part of a run of {}",
                self.duration
            );
            return fail("measure", message);
        }
        let framing = self.packet.framing();
        if framing.payload() < Bytes::new(1) {
            let message = format!(
                "a packet of {} has no room beside {} of headers",
                framing.mtu, framing.overhead
            );
            return fail("packet", message);
        }
        let names = self.flow_names();
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                let message = format!("two flows are called `{name}`");
                return fail(&format!("flow.{at}.name"), message);
            }
        }
        Ok(())
    }
}

impl Flow {
    /// A video flow under a controller with default settings over one link.
    #[must_use]
    pub fn over(cc: &str, link: &str, back: &str) -> Self {
        Self {
            name: None,
            cc: Named::plain(cc),
            video: None,
            traffic: None,
            path: vec![PathSettings {
                links: vec![link.to_owned()],
                back: vec![back.to_owned()],
                ..PathSettings::default()
            }],
            scheduler: single(),
            start: Time::ZERO,
            stop: None,
            feedback: feedback::Settings::default(),
            retransmit: true,
            latency_budget: sender::LATENCY_BUDGET,
            probe_interval: sender::PROBE_INTERVAL,
            ecn: false,
            wake_jitter: Span::ZERO,
            proxy: None,
            clock: None,
        }
    }

    /// The same flow with traffic that is not video.
    #[must_use]
    pub fn with_traffic(mut self, traffic: TrafficSettings) -> Self {
        self.traffic = Some(traffic);
        self
    }
}

/// Parts per million, in parts per billion: how many ns a second is off.
fn ppb(ppm: f64) -> i64 {
    (Span::from_secs_f64(ppm) / Span::from_millis(1).as_nanos()).as_nanos()
}

struct FlowBuilder<'a> {
    scenario: &'a Scenario,
    supplies: &'a Supplies<'a>,
    flow: &'a Flow,
    id: FlowId,
    key: String,
    name: &'a str,
}

impl FlowBuilder<'_> {
    fn stream(&self, part: &str) -> Stream {
        Stream::named(self.scenario.seed, &format!("flow.{}.{part}", self.name))
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.key)
    }

    fn fail<T>(&self, key: &str, message: String) -> Result<T, ScenarioError> {
        Err(ScenarioError::new(self.key(key), message))
    }

    fn clock(&self) -> Clock {
        if let Some(clock) = self.flow.clock {
            return Clock {
                offset: clock.offset,
                drift_ppb: ppb(clock.drift_ppm),
            };
        }
        let mut rng = self.stream("clock");
        Clock {
            offset: rng.span_between(-CLOCK_OFFSET, CLOCK_OFFSET),
            drift_ppb: ppb(rng.between(-CLOCK_DRIFT_PPM, CLOCK_DRIFT_PPM)),
        }
    }

    fn start(&self, path: usize, video: Option<&Source>) -> Start {
        Start {
            params: self.flow.cc.params.clone(),
            mss: self.scenario.packet.mtu,
            frame_interval: video.map(Source::frame_interval),
            max_rate: None,
            rng: self.stream(&format!("cc.{path}")),
        }
    }

    fn sender(&self) -> Result<Box<dyn Endpoint>, ScenarioError> {
        let jitter = self.flow.wake_jitter;
        let sender: Box<dyn Endpoint> = Box::new(self.session(jitter)?);
        Ok(if jitter.is_positive() {
            Box::new(Late::new(sender, jitter, self.stream("wake")))
        } else {
            sender
        })
    }

    fn session(&self, slack: Span) -> Result<Sender, ScenarioError> {
        let (flow, framing) = (self.flow, self.scenario.packet.framing());
        let paths = flow.path.len();
        if paths == 0 || paths > PathSet::CAPACITY {
            let message = format!("{paths} paths; a flow has 1 to {}", PathSet::CAPACITY);
            return self.fail("path", message);
        }
        if flow.stop.is_some_and(|stop| stop <= flow.start) {
            return self.fail("stop", format!("the flow starts at {}, later", flow.start));
        }
        if !flow.probe_interval.is_positive() {
            let message = format!("{} probes without end; use 100 ms", flow.probe_interval);
            return self.fail("probe_interval", message);
        }
        let source = self.source()?;
        let Some(algorithm) = cc::algorithm(&flow.cc.name) else {
            let known = cc::ALGORITHMS.iter().map(|algorithm| algorithm.name);
            return self.fail("cc", unknown_name("controller", &flow.cc.name, known));
        };
        let controllers: Result<Vec<_>, _> = (0..paths)
            .map(|path| (algorithm.new)(&self.start(path, source.as_ref())))
            .collect();
        let controllers = controllers.map_err(ScenarioError::at(self.key("cc")))?;
        let bulk = matches!(flow.traffic, Some(TrafficSettings::Bulk {}));
        let limited = |controller: &dyn Controller| {
            let control = controller.control();
            control.window.is_some() || control.pacing.is_some()
        };
        if bulk && !controllers.iter().all(|controller| limited(&**controller)) {
            let message = "nothing limits bulk traffic under this controller; give it a `window` \
                           or a `pacing` rate";
            return self.fail("cc", message.to_owned());
        }
        let name = &flow.scheduler.name;
        let Some(kind) = SCHEDULERS.iter().find(|kind| kind.name == name) else {
            let known = SCHEDULERS.iter().map(|kind| kind.name);
            return self.fail("scheduler", unknown_name("scheduler", name, known));
        };
        let scheduler =
            (kind.new)(&flow.scheduler.params).map_err(ScenarioError::at(self.key("scheduler")))?;
        let settings = sender::Settings {
            flow: self.id,
            framing,
            feedback_delay: flow.feedback.longest_wait(),
            retransmit: flow.retransmit,
            latency_budget: flow.latency_budget,
            probe_interval: flow.probe_interval,
            ecn: if flow.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            slack,
            start: flow.start,
            stop: flow.stop,
        };
        let application = self.application(source)?;
        Ok(Sender::new(settings, controllers, scheduler, application))
    }

    /// The camera, where the flow is video.
    fn source(&self) -> Result<Option<Source>, ScenarioError> {
        if self.flow.traffic.is_some() {
            if self.flow.video.is_some() {
                let message = "a flow is either `video` or `traffic`, not both".to_owned();
                return self.fail("video", message);
            }
            return Ok(None);
        }
        let settings = self.flow.video.clone().unwrap_or_default().source;
        Source::new(settings, self.flow.start, self.stream("source"))
            .map(Some)
            .map_err(ScenarioError::at(self.key("video.source")))
    }

    fn application(&self, source: Option<Source>) -> Result<Application, ScenarioError> {
        let flow = self.flow;
        let Some(source) = source else {
            let settings = flow.traffic.clone().unwrap_or(TrafficSettings::Bulk {});
            let mtu = self.scenario.packet.mtu;
            return Traffic::new(&settings, mtu, flow.start, self.stream("traffic"))
                .map(Application::Traffic)
                .map_err(ScenarioError::at(self.key("traffic")));
        };
        let settings = flow.video.clone().unwrap_or_default();
        let interval = source.frame_interval();
        let start = |named: &Named, part| VideoStart {
            params: named.params.clone(),
            frame_interval: interval,
            rng: self.stream(part),
        };
        let name = &settings.rate_control.name;
        let Some(kind) = RATE_CONTROLS.iter().find(|kind| kind.name == name) else {
            let known = RATE_CONTROLS.iter().map(|kind| kind.name);
            return self.fail(
                "video.rate_control",
                unknown_name("rate control", name, known),
            );
        };
        let rate_control = (kind.new)(&start(&settings.rate_control, "rate_control"))
            .map_err(ScenarioError::at(self.key("video.rate_control")))?;
        let name = &settings.encoder.name;
        let start = start(&settings.encoder, "encoder");
        let encoder = match video::encoder(name) {
            Some(kind) => Some((kind.new)(&start)),
            None => (self.supplies.encoders)(self.id, name, &start),
        };
        let Some(encoder) = encoder else {
            let known = ENCODERS.iter().map(|kind| kind.name);
            return self.fail("video.encoder", unknown_name("encoder", name, known));
        };
        let encoder = encoder.map_err(ScenarioError::at(self.key("video.encoder")))?;
        Ok(Application::Video(Box::new(Video::new(
            source,
            rate_control,
            encoder,
            interval,
        ))))
    }

    fn receiver(&self, clock: Clock) -> Result<Box<dyn Endpoint>, ScenarioError> {
        let flow = self.flow;
        let algorithm = cc::algorithm(&flow.cc.name);
        let reporter = algorithm.and_then(|algorithm| algorithm.reporter);
        let reporters: Result<Vec<_>, _> = (0..flow.path.len())
            .map(|path| reporter.map(|new| new(&self.start(path, None))).transpose())
            .collect();
        let reporters = reporters.map_err(ScenarioError::at(self.key("cc")))?;
        let settings = receiver::Settings {
            flow: self.id,
            feedback: flow.feedback,
            feedback_path: None,
            overhead: self.scenario.packet.overhead,
            clock,
        };
        let playout = match &flow.traffic {
            Some(_) => None,
            None => {
                let settings = flow.video.clone().unwrap_or_default().playout;
                let playout = Playout::new(&settings);
                Some(playout.map_err(ScenarioError::at(self.key("video.playout")))?)
            }
        };
        Ok(Box::new(Receiver::new(settings, reporters, playout)))
    }

    /// Where nothing takes time, a flow would go round for ever at one instant.
    fn check_time(&self, path: &PathSettings) -> Result<(), ScenarioError> {
        let mut links = path.links.iter().chain(&path.back);
        let known = |name: &String| self.scenario.link.get(name);
        let takes_time = path.delay.is_positive()
            || path.back_delay.is_positive()
            || links.any(|name| known(name).is_none_or(link::Settings::takes_time));
        if takes_time {
            return Ok(());
        }
        let message = "there and back take no time at all; give one of the links a `delay` or a \
                       `rate`";
        self.fail("path", message.to_owned())
    }

    fn link_ids(&self, links: &[String], names: &[String]) -> Result<Vec<LinkId>, ScenarioError> {
        if names.is_empty() {
            let message = "`links` and `back` each need a link".to_owned();
            return self.fail("path", message);
        }
        let find = |name: &String| {
            let at = links.iter().position(|link| link == name);
            at.map(|at| LinkId(u32::try_from(at).unwrap_or(u32::MAX)))
                .ok_or_else(|| {
                    let known = links.iter().map(String::as_str);
                    ScenarioError::new(self.key("path"), unknown_name("link", name, known))
                })
        };
        names.iter().map(find).collect()
    }
}
