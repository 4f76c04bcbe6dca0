//! The links that a call crosses, emulated: for each path ends of its own.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tightloop::event::Event;
use tightloop::scenario::Scenario;
use tightloop::units::{Span, Time};
use tightloop_live::call::{Marks, Socket};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::record::Output;
use tightloop_live::emulate::{Drive, Ends, Engine, Side};

use super::flow::FLOW;
use super::wire::Wire;
use crate::emulate::links::Plan;
use crate::emulate::screen as meter;
use crate::file::File;

/// The links of each path of a scenario's call, which then has no others.
pub(super) fn plans(scenario: &mut Scenario, seed: u64) -> Result<Vec<Plan>> {
    let text = toml::to_string(scenario)?;
    let file = File::parse(&scenario.name, text, std::path::Path::new(""), &[], None)?;
    let flow = FLOW.0.to_string();
    scenario.link.clear();
    let (mut plans, mut links) = (Vec::new(), 0);
    for path in 0..scenario.flow[0].path.len() {
        let plan = Plan::of_file(&file, &flow, path, seed)?.after(links);
        for link in plan.ways.iter().flatten() {
            let settings = link.settings.clone();
            if scenario.link.insert(link.name.clone(), settings).is_some() {
                bail!(
                    "two paths share the link `{}`: live, each way of a path needs links of its own",
                    link.name
                );
            }
            links += 1;
        }
        plans.push(plan);
    }
    Ok(plans)
}

/// Events, each at its time.
type Events = Vec<(Time, Event)>;

/// A path whose links run.
#[derive(Debug)]
pub(super) struct Emulated {
    ends: Arc<Ends>,
    engine: Engine,
    wire: Wire,
    drops: [u64; 2],
}

impl Emulated {
    /// Starts the links between their ends.
    pub(super) fn start(ends: &Arc<Ends>, plan: &Plan) -> Result<Self> {
        let wire = Wire::default();
        let outputs: Vec<Box<dyn Output>> = vec![Box::new(wire.clone())];
        let drops = ends.kernel_drops();
        let engine = Engine::start(ends, plan.build()?, outputs, Drive::default(), |_| {})?;
        Ok(Self {
            ends: Arc::clone(ends),
            engine,
            wire,
            drops,
        })
    }

    /// Its clock.
    pub(super) const fn clock(&self) -> Clock {
        self.engine.clock()
    }

    /// A socket of the sender, behind the links.
    pub(super) fn socket(&self) -> Result<Socket> {
        let address = SocketAddr::new(IpAddr::V4(self.ends.near_address()), 0);
        let socket = self.ends.on(Side::Near, || Socket::bind(address));
        socket.flatten().context("no socket behind the link")
    }

    /// Ends them. What happened to the call's packets since it began, and what
    /// this machine could not do.
    pub(super) fn stop(
        self,
        began: Option<Instant>,
        marks: &Marks,
    ) -> Result<(Events, Vec<String>)> {
        let clock = self.clock();
        let work = self.engine.stop()?;
        let kernel = self.ends.kernel_drops();
        let drops = [0, 1].map(|way| kernel[way].saturating_sub(self.drops[way]));
        let (_, doubts) = meter::work(&work, drops);
        let offset = began.map_or(Span::ZERO, |began| clock.at(began).since_epoch());
        let events = since(offset, self.wire.events(marks));
        Ok((events.collect(), doubts))
    }
}

/// Events of a clock on which a call has begun at `offset`, on the call's.
pub(super) fn since(offset: Span, events: Events) -> impl Iterator<Item = (Time, Event)> {
    events.into_iter().filter_map(move |(at, event)| {
        let since = at.since_epoch() - offset;
        // What a link could do before the call is where it stands at its start.
        let stands = matches!(event, Event::Capacity { .. });
        let since = if stands { since.max(Span::ZERO) } else { since };
        (since >= Span::ZERO).then(|| (Time::ZERO + since, event))
    })
}
