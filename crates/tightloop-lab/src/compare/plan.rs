//! What is compared: the scenario of each contender's call.

use std::path::Path;

use anyhow::{Context, Result, bail};
use tightloop::link;
use tightloop::link::generate::Lte;
use tightloop::link::queue::Discipline;
use tightloop::scenario::{Flow, Named, PathSettings, Scenario, VideoSettings};
use tightloop::settings::Params;
use tightloop::units::{Rate, Span, Time};
use tightloop::video::ENCODERS;
use tightloop::video::source::{Cap, Phase};
use tightloop_live::picture::Size;

use super::contender::Contender;
use crate::args::CompareArgs;
use crate::file::File;
use crate::studio::{absolute, filming};

/// The mean rate of the link where nobody names one. Ours: a cell that carries
/// 720p when it is good and not when it is bad.
const LTE_MEAN: Rate = Rate::from_mbps(4);
/// Its seed. Ours: one whose rate falls to a quarter and comes back twice.
const LTE_SEED: u64 = 14;
/// How long it is. Ours: a call of default length.
const LTE_LENGTH: Span = Span::from_secs(20);
/// The trace's name in the folder of results.
const TRACE: &str = "lte-like.trace";

/// The most that 1080p pictures can use. [Vidaptive] §5.
const MOST_1080P: Rate = Rate::from_mbps(12);

/// A run goes on this much longer than what is measured of it, so that the last
/// frames have the time that all others have. Ours.
const TAIL: Span = Span::from_secs(1);

/// What all contenders have in common.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The scenario, its call without a controller.
    base: Scenario,
    /// The call's place among the flows.
    pub(crate) call: usize,
    /// The encoder of the call.
    encoder: Named,
    /// The most that the encoder is asked for.
    max: Rate,
    /// The link in words.
    pub(crate) link: String,
    pub(crate) video: String,
}

impl Plan {
    /// Makes the plan; a trace that is made for it goes into the folder of results.
    pub(crate) fn of(args: &CompareArgs, video: &str, link: Option<&str>) -> Result<Self> {
        let (mut base, call, link) = network(args, link)?;
        base.seed = args.seed;
        base.measure.to = Some(base.measure.to.unwrap_or(base.end()));
        base.duration += TAIL;
        let size = args.size.or_else(|| Size::new(1280, 720));
        let pixels = size.map_or(1.0, |size| size.pixels() as f64 / (1920.0 * 1080.0));
        Ok(Self {
            base,
            call,
            encoder: encoder(args, video),
            video: video.to_owned(),
            max: args.max.unwrap_or(MOST_1080P * pixels),
            link,
        })
    }

    /// How long each call lasts.
    pub(crate) fn duration(&self) -> Span {
        self.base.duration - TAIL
    }

    /// One contender's call.
    pub(crate) fn scenario(&self, contender: &Contender) -> Scenario {
        let mut scenario = self.base.clone();
        scenario.name = format!("compare {}", contender.name);
        let end = scenario.end();
        let call = &mut scenario.flow[self.call];
        call.cc = contender.cc.clone();
        let video = call.video.get_or_insert_with(VideoSettings::default);
        video.rate_control = contender.rate_control.clone();
        video.encoder = self.encoder.clone();
        let whole = Cap {
            from: Time::ZERO,
            to: end,
            max_rate: self.max,
        };
        video.source.caps.push(whole);
        scenario
    }
}

/// The encoder, and what it films.
fn encoder(args: &CompareArgs, video: &str) -> Named {
    let mut encoder = Named::plain(&args.encoder);
    if ENCODERS.iter().any(|model| model.name == args.encoder) {
        return encoder;
    }
    let source = if video.starts_with("gen:") {
        video.to_owned()
    } else {
        absolute(Path::new(video)).display().to_string()
    };
    let mut table = Params::new();
    if let Some(size) = args.size {
        table.insert("size".into(), size.to_string().into());
    }
    table.insert("longest".into(), args.duration.to_string().into());
    let footage = filming(&source, table);
    encoder.params.insert("footage".into(), footage);
    encoder
}

/// The network, the call's place in it, and what the link is in words.
fn network(args: &CompareArgs, link: Option<&str>) -> Result<(Scenario, usize, String)> {
    let mut settings = link::Settings {
        delay: args.delay,
        ..link::Settings::default()
    };
    let Some(text) = link else {
        let lte = Lte {
            mean: LTE_MEAN,
            duration: LTE_LENGTH,
            ..Lte::default()
        };
        let path = args.out.join(TRACE);
        let trace = lte.trace(LTE_SEED)?;
        std::fs::create_dir_all(&args.out)
            .and_then(|()| std::fs::write(&path, trace.write()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        settings.trace = Some(absolute(&path).display().to_string());
        return Ok((one_link(args, settings), 0, "an LTE-like link".into()));
    };
    if let Ok(rate) = text.parse::<Rate>() {
        settings.rate = Some(rate);
        settings.queue = Discipline::default();
        return Ok((one_link(args, settings), 0, format!("a link of {rate}")));
    }
    let path = Path::new(text);
    if path.extension().is_some_and(|it| it == "toml") {
        return of_file(path, args);
    }
    if !path.exists() {
        bail!(
            "{text} is neither a file nor a rate such as '4 Mbit/s'; `tightloop trace generate` \
             makes traces"
        );
    }
    settings.trace = Some(absolute(path).display().to_string());
    let name = path.file_name().unwrap_or(path.as_os_str());
    let words = name.to_string_lossy().into_owned();
    Ok((one_link(args, settings), 0, words))
}

/// A call over one link, and a way back.
fn one_link(args: &CompareArgs, link: link::Settings) -> Scenario {
    let mut scenario = Scenario::single("fixed");
    scenario.duration = args.duration;
    scenario.link.clear();
    scenario.link.insert("network".to_owned(), link);
    let back = link::Settings::wire(args.delay);
    scenario.link.insert("return".to_owned(), back);
    let mut call = Flow::over("fixed", "network", "return");
    call.name = Some("call".to_owned());
    call.path = vec![PathSettings {
        links: vec!["network".to_owned()],
        back: vec!["return".to_owned()],
        ..PathSettings::default()
    }];
    let mut video = VideoSettings::default();
    video.source.fps = args.fps;
    video.source.phase = Phase::After(Span::ZERO);
    call.video = Some(video);
    scenario.flow = vec![call];
    scenario
}

/// A scenario whose first video flow is the call.
fn of_file(path: &Path, args: &CompareArgs) -> Result<(Scenario, usize, String)> {
    let file = File::load(path, &[], Some(args.seed))?;
    let mut scenario = file.scenario.clone();
    for link in scenario.link.values_mut() {
        if let Some(trace) = &mut link.trace {
            *trace = absolute(&file.place(trace)).display().to_string();
        }
    }
    scenario.expect.clear();
    let call = scenario.flow.iter().position(|flow| flow.traffic.is_none());
    let call = call.with_context(|| format!("{} has no video flow to try", path.display()))?;
    let words = scenario.name.clone();
    Ok((scenario, call, words))
}
