//! Which links were asked for.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tightloop::event::LinkId;
use tightloop::link::queue::Discipline;
use tightloop::link::{GilbertElliott, Link, Packet, Settings, Trace};
use tightloop::scenario::unknown_name;
use tightloop::settings::{Params, settings};
use tightloop::units::{Rate, Span};
use tightloop_live::emulate::Way;

use crate::args::EmulateArgs;
use crate::file::File;
use crate::trace;

/// A link of one way.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) name: String,
    pub(crate) settings: Settings,
}

/// All links, and the traces they play.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    /// Up and down, each in the order in which packets meet them.
    pub(crate) ways: [Vec<Planned>; 2],
    traces: BTreeMap<String, Arc<Trace>>,
    seed: u64,
    /// Links of other plans that are numbered before these.
    before: u32,
}

impl Plan {
    pub(crate) fn of(args: &EmulateArgs) -> Result<Self> {
        let mut plan = match &args.scenario {
            Some(path) => Self::of_scenario(path, args)?,
            None => Self::of_words(args)?,
        };
        for link in plan.ways.iter_mut().flatten() {
            link.settings.once |= args.once && link.settings.trace.is_some();
        }
        plan.load()
    }

    /// The links that a path of a scenario's flow crosses.
    pub(crate) fn of_file(file: &File, flow: &str, path: usize, seed: u64) -> Result<Self> {
        Self::of_flow(file, Path::new(&file.scenario.name), (flow, path), seed)?.load()
    }

    /// Numbers the links after so many of other plans.
    pub(crate) fn after(self, before: usize) -> Self {
        let before = before as u32;
        Self { before, ..self }
    }

    /// Reads the traces that links name.
    fn load(mut self) -> Result<Self> {
        for link in self.ways.iter().flatten() {
            if let Some(name) = &link.settings.trace
                && !self.traces.contains_key(name)
            {
                let trace = Arc::new(trace::read(Path::new(name))?);
                self.traces.insert(name.clone(), trace);
            }
        }
        // What cannot be built is to be known before anything is started.
        self.build::<tightloop_live::emulate::Datagram>()?;
        Ok(self)
    }

    /// The links themselves; numbered from the first up to the last down.
    pub(crate) fn build<P: Packet>(&self) -> Result<[Vec<Link<P>>; 2]> {
        let find = |name: &str| self.traces.get(name).cloned();
        let mut built = <[Vec<Link<P>>; 2]>::default();
        for way in Way::BOTH {
            let first = self.first(way).0;
            let links = &self.ways[way.place()];
            for (id, link) in (first..).zip(links) {
                let made = link
                    .settings
                    .build(LinkId(id), &link.name, self.seed, &find);
                built[way.place()].push(made?);
            }
        }
        Ok(built)
    }

    /// A trace that a link plays.
    pub(super) fn trace(&self, name: &str) -> Option<Arc<Trace>> {
        self.traces.get(name).cloned()
    }

    /// The first link of a way.
    pub(crate) fn first(&self, way: Way) -> LinkId {
        let within = match way {
            Way::Up => 0,
            Way::Down => self.ways[0].len() as u32,
        };
        LinkId(self.before + within)
    }

    /// The last link of a way.
    pub(crate) fn last(&self, way: Way) -> LinkId {
        LinkId(self.first(way).0 + (self.ways[way.place()].len() as u32).max(1) - 1)
    }

    /// The most that both ways can carry together, where that is limited.
    pub(crate) fn most(&self) -> Option<Rate> {
        let ways = self.ways.iter().map(|links| {
            let most = links.iter().filter_map(|link| self.fastest(&link.settings));
            most.min()
        });
        ways.flatten().reduce(|a, b| a + b)
    }

    fn fastest(&self, settings: &Settings) -> Option<Rate> {
        let steps = settings.steps.as_ref();
        let steps = steps.and_then(|it| it.iter().map(|(_, rate)| *rate).max());
        let trace = settings
            .trace
            .as_ref()
            .and_then(|name| self.traces.get(name));
        let trace = trace.map(|it| it.statistics().p95);
        settings.rate.or(steps).or(trace).or(settings.poisson)
    }

    /// A way in words.
    pub(crate) fn words(&self, way: Way) -> String {
        let links = self.ways[way.place()].iter();
        links
            .map(|link| words(&link.settings))
            .collect::<Vec<_>>()
            .join(", then ")
    }

    fn of_words(args: &EmulateArgs) -> Result<Self> {
        let mut both = Settings {
            delay: args.delay.unwrap_or_default(),
            ..Settings::default()
        };
        if let Some(text) = &args.queue {
            both.queue = queue(text)?;
        }
        if let Some(text) = &args.loss {
            loss(text, &mut both).with_context(|| format!("--loss {text}"))?;
        }
        if let Some(text) = &args.jitter {
            both.jitter = Some(jitter(text).with_context(|| format!("--jitter {text}"))?);
        }
        let mut ways = Way::BOTH.map(|way| (way, both.clone()));
        for (way, settings) in &mut ways {
            let speed = match way {
                Way::Up => &args.up,
                Way::Down => &args.down,
            };
            if let Some(text) = speed {
                speed_of(text, settings)?;
            }
            for assignment in &args.set {
                set(assignment, *way, settings)?;
            }
        }
        Ok(Self {
            name: "emulate".into(),
            ways: ways.map(|(way, settings)| {
                vec![Planned {
                    name: way.name().into(),
                    settings,
                }]
            }),
            traces: BTreeMap::new(),
            seed: args.seed,
            before: 0,
        })
    }

    fn of_scenario(path: &Path, args: &EmulateArgs) -> Result<Self> {
        let file = File::load(path, &[], Some(args.seed))?;
        let plan = Self::of_flow(&file, path, (&args.flow, 0), args.seed)?;
        let several = file.scenario.flow.iter().any(|flow| flow.path.len() > 1);
        if several {
            eprintln!("emulate: of a flow with several paths the first is taken");
        }
        Ok(plan)
    }

    fn of_flow(file: &File, path: &Path, (wanted, nth): (&str, usize), seed: u64) -> Result<Self> {
        let scenario = &file.scenario;
        let names = scenario.flow_names();
        let place = names.iter().position(|name| name == wanted);
        let place = place.or_else(|| wanted.parse().ok());
        let known = names.iter().map(String::as_str);
        let Some((place, flow)) = place.and_then(|it| Some((it, scenario.flow.get(it)?))) else {
            bail!(unknown_name("flow", wanted, known));
        };
        let Some(way) = flow.path.get(nth) else {
            bail!("flow `{}` of {} has no path", names[place], path.display());
        };
        let row = |names: &[String], direction: Way, extra: Span| -> Result<Vec<Planned>> {
            let mut row = Vec::new();
            for name in names {
                let Some(found) = scenario.link.get(name) else {
                    bail!("{}: there is no link `{name}`", path.display());
                };
                let mut settings = found.clone();
                if let Some(name) = &mut settings.trace {
                    *name = file.place(name).display().to_string();
                }
                // The scenario numbers its flows, a live link its ways.
                let own = settings.flow_delays.iter();
                let own = own.filter(|(flow, _)| *flow as usize == place);
                let own = own.map(|(_, delay)| (direction.flow().0, *delay)).collect();
                settings.flow_delays = own;
                row.push(Planned {
                    name: name.clone(),
                    settings,
                });
            }
            if extra.is_positive()
                && let Some(last) = row.last_mut()
            {
                last.settings.flow_delays.push((direction.flow().0, extra));
            }
            Ok(row)
        };
        let up = row(&way.links, Way::Up, way.delay)?;
        let down = row(&way.back, Way::Down, way.back_delay)?;
        Ok(Self {
            name: scenario.name.clone(),
            ways: [up, down],
            traces: BTreeMap::new(),
            seed,
            before: 0,
        })
    }
}

/// `12 Mbit/s`, or a file.
fn speed_of(text: &str, settings: &mut Settings) -> Result<()> {
    if let Ok(rate) = text.parse::<Rate>() {
        settings.rate = Some(rate);
        return Ok(());
    }
    if !Path::new(text).exists() {
        bail!(
            "{text} is neither a file nor a rate such as '12 Mbit/s'; `tightloop trace generate` \
             makes traces"
        );
    }
    settings.trace = Some(text.to_owned());
    Ok(())
}

/// `name:key=value,key=value`, values as TOML or bare words.
fn spec(text: &str) -> Result<(&str, Params)> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut params = Params::new();
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let Some((key, word)) = part.split_once('=') else {
            bail!("{part} in {text} sets nothing; write {part}=VALUE");
        };
        params.insert(key.trim().to_owned(), value(word));
    }
    Ok((name, params))
}

fn value(word: &str) -> toml::Value {
    let parsed = toml::from_str::<Params>(&format!("value = {word}"));
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| word.into())
}

fn queue(text: &str) -> Result<Discipline> {
    let (name, params) = spec(text)?;
    let kind = match name {
        // As Mahimahi spells them.
        "droptail" => "drop_tail",
        "drophead" => "drop_head",
        other => other,
    };
    Ok(Discipline {
        kind: kind.to_owned(),
        params,
    })
}

fn loss(text: &str, settings: &mut Settings) -> Result<()> {
    if let Some(rest) = text.strip_prefix("gilbert:") {
        let (_, params) = spec(&format!("gilbert:{rest}"))?;
        settings.gilbert_elliott = Some(tightloop::settings::settings::<GilbertElliott>(&params)?);
        return Ok(());
    }
    let number = match text.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().map(|it| it / 100.0),
        None => text.trim().parse::<f64>(),
    };
    settings.loss = number.with_context(|| "write a chance such as 0.01 or 1%")?;
    Ok(())
}

fn jitter(text: &str) -> Result<tightloop::link::Jitter> {
    if let Ok(max) = text.parse::<Span>() {
        return Ok(tightloop::link::Jitter::Uniform {
            max,
            reorder: false,
        });
    }
    let (kind, mut params) = spec(text)?;
    params.insert("kind".into(), kind.into());
    settings(&params).context("write a span such as 5ms, or gaussian:sigma=5ms")
}

/// `up.queue.packets=50`
fn set(assignment: &str, way: Way, settings: &mut Settings) -> Result<()> {
    let usage = || format!("--set {assignment}: write up.KEY=VALUE or down.KEY=VALUE");
    let (keys, word) = assignment.split_once('=').with_context(usage)?;
    let (which, keys) = keys.split_once('.').with_context(usage)?;
    if !Way::BOTH.iter().any(|it| it.name() == which) {
        bail!(usage());
    }
    if which != way.name() {
        return Ok(());
    }
    let mut table = Params::try_from(&*settings)?;
    let mut at = &mut table;
    let mut keys: Vec<&str> = keys.split('.').map(str::trim).collect();
    let last = keys.pop().with_context(usage)?;
    for key in keys {
        let inner = at.entry(key).or_insert_with(|| Params::new().into());
        // A queue without settings is its name alone.
        if let toml::Value::String(kind) = inner {
            let kind = std::mem::take(kind);
            *inner = Params::from_iter([("kind".to_owned(), kind.into())]).into();
        }
        at = inner.as_table_mut().with_context(usage)?;
    }
    at.insert(last.to_owned(), value(word));
    *settings = Settings::deserialize(table).with_context(|| format!("--set {assignment}"))?;
    Ok(())
}

/// A link in words.
fn words(settings: &Settings) -> String {
    let mut words = Vec::new();
    match (
        &settings.rate,
        &settings.trace,
        &settings.poisson,
        &settings.steps,
    ) {
        (Some(rate), ..) => words.push(rate.to_string()),
        (_, Some(trace), ..) => words.push(trace.clone()),
        (_, _, Some(rate), _) => words.push(format!("{rate} at random")),
        (.., Some(steps)) => words.push(format!("{} rates", steps.len())),
        _ => words.push("no limit".into()),
    }
    if settings.delay.is_positive() {
        words.push(settings.delay.to_string());
    }
    if settings.queue != Discipline::default() {
        let params = settings.queue.params.iter();
        let params: Vec<String> = params
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let gap = if params.is_empty() { "" } else { ":" };
        words.push(format!("{}{gap}{}", settings.queue.kind, params.join(",")));
    }
    if settings.loss > 0.0 {
        words.push(format!("loss {}", settings.loss));
    }
    if settings.gilbert_elliott.is_some() {
        words.push("loss in bursts".into());
    }
    if settings.jitter.is_some() {
        words.push("jitter".into());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests;
