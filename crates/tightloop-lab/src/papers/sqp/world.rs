//! Links and flows that these experiments share.

use tightloop::cc::sqp::theory::Multipliers;
use tightloop::link;
use tightloop::scenario::{Flow, Named, Scenario, VideoSettings};
use tightloop::settings::Params;
use tightloop::traffic::{Cbr, TrafficSettings};
use tightloop::units::{Rate, Span};

use crate::papers::trial::second;

pub(super) const PAPER: Multipliers = Multipliers::PAPER;
/// In Mbit/s. [SQP] Fig. 1; ours where the paper says nothing.
pub(super) const LINK: f64 = 20.0;
/// Each way. [SQP] Fig. 1.
const DELAY: Span = Span::from_millis(20);
/// Packets of buffer for each Mbit/s. [SQP] §6.
const BUFFER: f64 = 10.0;
/// The error of each frame interval where several flows share a link. [SQP] §6.
const JITTER: Span = Span::from_millis(1);
/// Flows that begin together begin within so much. Ours: no flow's slow start is
/// over before the last begins, and no two runs are the same.
pub(super) const STAGGER: Span = Span::from_millis(500);

/// What the page says of systems that are not here.
pub(super) const LEFT_OUT: &str =
    "Left out, for they are not part of this project: PCC, PCC-Vivace and Sprout.";

/// A rate in Mbit/s.
pub(super) fn mbps(rate: f64) -> Rate {
    Rate::from_mbps(1) * rate
}

/// The flows over a link of so many Mbit/s.
pub(super) fn bottleneck(rate: f64, seconds: f64, flow: Vec<Flow>) -> Scenario {
    let mut scenario = Scenario::single("sqp");
    let packets = (rate * BUFFER) as u64;
    let link = link::Settings::fixed(mbps(rate), packets, DELAY);
    scenario.link.insert("bottleneck".to_owned(), link);
    scenario.duration = Span::from_secs_f64(seconds);
    scenario.flow = flow;
    scenario
}

/// One SQP flow, with these settings changed.
pub(super) fn sqp(settings: &[(&str, toml::Value)]) -> Flow {
    let mut flow = Flow::over("sqp", "bottleneck", "return");
    let owned = |(key, value): &(&str, toml::Value)| ((*key).to_owned(), value.clone());
    flow.cc.params = settings.iter().map(owned).collect();
    let mut video = VideoSettings::default();
    video.source.jitter = JITTER;
    flow.video = Some(video);
    flow
}

/// A target multiplier as a setting.
pub(super) fn target(target: f64) -> [(&'static str, toml::Value); 1] {
    [("target_multiplier", target.into())]
}

/// Cross traffic of a constant rate in Mbit/s.
pub(super) fn constant(rate: f64) -> Flow {
    let cbr = Cbr {
        rate: mbps(rate),
        packet: None,
        on_off: None,
    };
    Flow::over("fixed", "bottleneck", "return").with_traffic(TrafficSettings::Cbr(cbr))
}

/// Who is compared, and the colour of each in every figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) ink: usize,
    cc: &'static str,
    /// Copa's mode: the authors' code with δ = 0.1, as Pantheon runs it.
    mode: Option<&'static str>,
    video: bool,
}

const fn bulk(name: &'static str, ink: usize, cc: &'static str) -> Contender {
    Contender {
        name,
        ink,
        cc,
        mode: None,
        video: false,
    }
}

pub(super) const SQP: Contender = Contender {
    video: true,
    ..bulk("SQP", 0, "sqp")
};
pub(super) const BBR: Contender = bulk("BBR", 1, "bbr");
pub(super) const CUBIC: Contender = bulk("Cubic", 2, "cubic");
pub(super) const COPA: Contender = Contender {
    mode: Some("fixed"),
    ..bulk("Copa-0.1", 3, "copa")
};
pub(super) const COPA_AUTO: Contender = Contender {
    mode: Some("auto"),
    ..bulk("Copa-Auto", 4, "copa")
};
pub(super) const WEBRTC: Contender = Contender {
    video: true,
    ..bulk("WebRTC (GCC)", 5, "gcc")
};

/// Everyone here.
pub(super) const ALL: [Contender; 6] = [SQP, COPA, COPA_AUTO, BBR, CUBIC, WEBRTC];

impl Contender {
    pub(super) fn flow(&self) -> Flow {
        if self.cc == "sqp" {
            return sqp(&[]);
        }
        let mut flow = Flow::over(self.cc, "bottleneck", "return");
        if let Some(mode) = self.mode {
            let mut params = Params::new();
            params.insert("variant".to_owned(), "pantheon".into());
            params.insert("delta".to_owned(), 0.1.into());
            params.insert("mode".to_owned(), mode.into());
            flow.cc = Named {
                params,
                ..Named::plain(self.cc)
            };
        }
        if self.video {
            flow.video = Some(VideoSettings::default());
            return flow;
        }
        flow.with_traffic(TrafficSettings::Bulk {})
    }
}

/// Gives each flow a round trip of its own, in ms.
pub(super) fn round_trips(scenario: &mut Scenario, round_trips: &[f64]) {
    for link in scenario.link.values_mut() {
        link.delay = Span::ZERO;
    }
    for (flow, millis) in scenario.flow.iter_mut().zip(round_trips) {
        let half = Span::from_millis(1) * (millis / 2.0);
        flow.path[0].delay = half;
        flow.path[0].back_delay = half;
    }
}

/// Lets a flow stay from one second to another.
pub(super) fn stay(mut flow: Flow, from: f64, to: Option<f64>) -> Flow {
    flow.start = second(from);
    flow.stop = to.map(second);
    flow
}

/// Even steps from one value to another, ends included.
pub(super) fn steps(from: f64, to: f64, count: u32) -> Vec<f64> {
    let step = (to - from) / f64::from(count);
    (0..=count).map(|at| from + step * f64::from(at)).collect()
}
