//! The session's two halves, from what was typed or said.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tightloop::event::FlowId;
use tightloop::paths::deadline::DEADLINE;
use tightloop::paths::single::SINGLE;
use tightloop::scenario::{ClockSettings, Flow, Named, Scenario, Supplies};
use tightloop::session::receiver::Clock;
use tightloop::session::sender::Sender;
use tightloop::units::{Bytes, Span};
use tightloop_live::call::{Apart, Film, Hello, Opened, SLACK, Screen, Signal, VERSION, output};
use tightloop_live::codec::codec;
use xxhash_rust::xxh3::xxh3_64;

use super::args::FlowArgs;
use crate::compare::contender;
use crate::compare::plan::Plan;
use crate::studio::{Stage, film_on_demand};

/// The one flow of a live call.
pub(super) const FLOW: FlowId = FlowId(0);

/// The most of a source that is opened; a longer call runs to and fro. Ours: a
/// minute of 720p takes 2.4 GB of the temporary folder.
const FILM: Span = Span::from_secs(60);

/// The scenario of one call over these links, each with its delay, as a
/// comparison would have it, but for the size of headers.
pub(super) fn scenario(
    args: &FlowArgs,
    links: &[(&str, Span)],
    duration: Span,
    (mtu, overhead): (Bytes, Bytes),
) -> Result<Scenario> {
    let contenders = contender::list(&args.cc)?;
    let [contender] = contenders.as_slice() else {
        bail!("--cc {}: a call has one controller", args.cc);
    };
    let film = duration.min(FILM);
    let mut parts = Vec::new();
    for (link, delay) in links {
        let comparison = args.comparison(link, film, *delay);
        let plan = Plan::of(&comparison, &args.video, Some(link))?;
        let mut scenario = plan.scenario(contender);
        let flow = scenario.flow.swap_remove(plan.call);
        parts.push((scenario, flow));
    }
    let mut parts = parts.into_iter();
    let (mut scenario, mut flow) = parts.next().context("no link")?;
    for (nth, (other, more)) in (2..).zip(parts) {
        join(&mut scenario, &mut flow, &other, &more, nth)?;
    }
    scenario.name = format!("call {}", contender.name);
    if film < duration {
        scenario.duration = duration;
        scenario.measure.to = None;
        let end = scenario.end();
        let video = flow.video.iter_mut();
        video
            .flat_map(|video| &mut video.source.caps)
            .for_each(|cap| cap.to = end);
    }
    flow.ecn |= args.ecn;
    schedule(args, &mut flow);
    // Both ends read one clock, or clocks of which nothing is known.
    flow.clock = Some(ClockSettings {
        offset: Span::ZERO,
        drift_ppm: 0.0,
    });
    scenario.flow = vec![flow];
    scenario.packet.mtu = mtu;
    scenario.packet.overhead = overhead;
    Ok(scenario)
}

/// Adds another scenario's paths and their links, under names that tell whose
/// they are.
fn join(
    scenario: &mut Scenario,
    flow: &mut Flow,
    other: &Scenario,
    more: &Flow,
    nth: usize,
) -> Result<()> {
    let named = |name: &String| format!("{name}-{nth}");
    for path in &more.path {
        let mut path = path.clone();
        for name in path.links.iter_mut().chain(&mut path.back) {
            let own = named(name);
            let settings = other.link.get(name);
            let settings = settings.with_context(|| format!("there is no link `{name}`"))?;
            scenario.link.insert(own.clone(), settings.clone());
            *name = own;
        }
        flow.path.push(path);
    }
    Ok(())
}

/// The scheduler that was asked for, or one that makes use of all paths.
pub(super) fn schedule(args: &FlowArgs, flow: &mut Flow) {
    let useful =
        (flow.path.len() > 1 && flow.scheduler.name == SINGLE.name).then_some(DEADLINE.name);
    if let Some(name) = args.scheduler.as_deref().or(useful) {
        flow.scheduler = Named::plain(name);
    }
}

/// Pictures that are made here are painted when they are asked for: who calls
/// without an end in sight waits for none and keeps none.
pub(super) fn paint_on_demand(scenario: &mut Scenario) {
    let videos = scenario.flow.iter_mut().filter_map(|it| it.video.as_mut());
    for video in videos {
        film_on_demand(&mut video.encoder);
    }
}

/// The sending half; a real encoder is on a thread of its own.
pub(super) fn sender(
    scenario: &Scenario,
    stage: &Stage<'_>,
    signal: &Arc<Signal>,
) -> Result<Sender> {
    let supplies = Supplies {
        traces: &|_| None,
        encoders: &|flow, name, start| {
            let encoder = stage.encoder(flow, name, start, Path::new(""))?;
            Some(encoder.and_then(|encoder| {
                let apart = Apart::new(encoder, Arc::clone(signal));
                let apart = apart.map_err(|error| {
                    tightloop::settings::SettingError(format!("no thread for the encoder: {error}"))
                })?;
                Ok(Box::new(apart) as Box<dyn tightloop::video::Encoder>)
            }))
        },
    };
    Ok(scenario.sender(FLOW, SLACK, &supplies)?)
}

/// What the sender says first.
pub(super) fn hello(scenario: &Scenario, stage: &Stage<'_>, fps: f64) -> Result<Hello> {
    let flow = scenario.flow.first().context("no flow")?;
    let film = stage.filmed(FLOW).map(|filmed| Film {
        codec: filmed.codec.name.to_owned(),
        size: filmed.footage.size(),
        fps,
    });
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let moment = format!(
        "{} {}",
        now.unwrap_or_default().as_nanos(),
        std::process::id()
    );
    let mut flow = flow.clone();
    // What is filmed is nobody's business but the sender's.
    if let Some(video) = &mut flow.video {
        video.encoder = Named::plain(&video.encoder.name);
    }
    Ok(Hello {
        version: VERSION,
        call: format!("{:016x}", xxh3_64(moment.as_bytes())),
        path: 0,
        again: false,
        proof: None,
        film,
        packet: scenario.packet,
        flow,
    })
}

/// The receiving half, from what the sender has said.
pub(super) fn received(hello: &Hello, clock: Clock, out: &str) -> Result<Opened, String> {
    let scenario = of_hello(hello);
    let session = scenario.receiver(FLOW, clock);
    let session = session.map_err(|error| error.to_string())?;
    let screen = match &hello.film {
        None => None,
        Some(film) => {
            let kind = codec(&film.codec).map_err(|error| error.to_string())?;
            let decoder = (kind.decoder)().map_err(|error| error.to_string())?;
            let output = output::open(out, film, !hello.again)?;
            let screen = Screen::new(Some(decoder), vec![output], super::unwritten);
            Some(screen.map_err(|error| error.to_string())?)
        }
    };
    Ok(Opened { session, screen })
}

/// A scenario with the sender's flow alone.
pub(super) fn of_hello(hello: &Hello) -> Scenario {
    let mut scenario = Scenario::single("fixed");
    scenario.name = "call".into();
    scenario.packet = hello.packet;
    scenario.flow = vec![Flow {
        name: Some("call".into()),
        ..hello.flow.clone()
    }];
    scenario
}
