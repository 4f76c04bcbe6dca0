//! `tightloop send`.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tightloop::event::{Event, Sink};
use tightloop::units::{Bytes, Span, Time};
use tightloop_live::call::{
    CallError, Caller, Dial, Signal, Socket, Trust, on_interrupt, overhead, path_mtu,
};
use tightloop_live::clock::Clock;

use super::args::SendArgs;
use super::{counted, flow, results, say, token};
use crate::studio::Studio;

/// Ethernet's packets.
const MOST: u64 = 1500;
/// How long a call can last at the most; it is stopped before. Ours.
const LONG: Span = Span::from_secs(7 * 86_400);
/// A link without which no scenario is whole; nothing is sent over it.
const ANY: &str = "1 Gbit/s";

/// Sends.
pub(crate) fn main(args: &SendArgs) -> Result<()> {
    let signal = Arc::new(Signal::new()?);
    on_interrupt(vec![Arc::clone(&signal)])?;
    let trust = Trust {
        pin: args.pin,
        token: token(args.token.as_ref()),
    };
    if trust.pin.is_none() && trust.token.is_none() {
        return Err(CallError::Trustless.into());
    }
    let board = super::board(args.board)?;
    let to = args.to.to_socket_addrs();
    let to = to
        .with_context(|| format!("{}: write HOST:PORT", args.to))?
        .next();
    let to = to.with_context(|| format!("{} has no address", args.to))?;
    let known = path_mtu(to).with_context(|| format!("no way to {to}"))?;
    let mtu = args.flow.mtu.unwrap_or(Bytes::new(known.min(MOST)));
    let duration = args.duration.unwrap_or(LONG);
    let packet = (mtu, overhead(to.ip()));
    let any = [(ANY, Span::from_millis(1))];
    let mut scenario = flow::scenario(&args.flow, &any, duration, packet)?;
    flow::paint_on_demand(&mut scenario);
    let sockets = sockets(args, to)?;
    let path = scenario.flow[0].path[0].clone();
    scenario.flow[0].path = vec![path; sockets.len()];
    flow::schedule(&args.flow, &mut scenario.flow[0]);

    if !args.flow.video.starts_with("gen:") {
        say(&format!("preparing {}", args.flow.video));
    }
    let studio = Studio::default();
    let stage = studio.stage();
    let mut session = flow::sender(&scenario, &stage, &signal)?;
    let hello = flow::hello(&scenario, &stage, args.flow.fps)?;
    let kept = match &args.events {
        Some(folder) => Some(results::begin(folder, &scenario, Vec::new(), args.force)?),
        None => None,
    };
    let dial = Dial {
        to,
        trust,
        hello,
        patience: args.patience,
        keep: false,
        marks: None,
    };
    say(&format!("calling {to}"));
    let caller = Caller::dial(sockets, dial, Clock::start(), &signal)?;
    say(&format!("{to} answers; packets of {mtu}"));
    let clock = Clock::start();
    let filmed = stage.filmed(flow::FLOW);
    let recording = filmed.as_ref().map(|filmed| &filmed.recording);
    let mut events: Vec<(Time, Event)> = Vec::new();
    let mut deaf = Deaf;
    let keeping: &mut dyn Sink = match kept {
        Some(_) => &mut events,
        None => &mut deaf,
    };
    let sink = &mut (keeping, board);
    let until = args.duration.map(|duration| Time::ZERO + duration);
    let tally = caller.run(&mut session, recording, clock, until, &signal, sink);
    if let Some((folder, about)) = kept {
        scenario.duration = clock.now().since_epoch();
        scenario.measure.to = None;
        results::finish(folder, about, &scenario, &events, &mut Deaf)?;
    }
    say(&counted(&tally?));
    if let Some(failure) = recording.and_then(|recording| recording.failure()) {
        bail!("the encoder failed at {failure}");
    }
    Ok(())
}

/// A socket for each path.
fn sockets(args: &SendArgs, to: SocketAddr) -> Result<Vec<Socket>> {
    let any = if to.is_ipv4() { "0.0.0.0" } else { "::" };
    let mut locals = args.path.clone();
    if locals.is_empty() {
        locals.push(any.parse()?);
    }
    let bind = |local| {
        let socket = Socket::bind(SocketAddr::new(local, 0));
        socket.with_context(|| format!("cannot send from {local}"))
    };
    locals.into_iter().map(bind).collect()
}

/// Listens to nothing.
pub(super) struct Deaf;

impl Sink for Deaf {
    fn record(&mut self, _at: Time, _event: &Event) {}
}
