//! `tightloop receive`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use tightloop::event::{Event, Sink};
use tightloop::session::receiver;
use tightloop::units::{Span, Time};
use tightloop_live::call::{Callee, Hello, Identity, Manners, Signal, Socket, on_interrupt};
use tightloop_live::clock::Clock;

use super::args::ReceiveArgs;
use super::send::Deaf;
use super::{counted, flow, results, say, seen, token, written};

/// Receives.
pub(crate) fn main(args: &ReceiveArgs) -> Result<()> {
    let signal = Arc::new(Signal::new()?);
    on_interrupt(vec![Arc::clone(&signal)])?;
    let identity = match &args.identity {
        Some(path) => Identity::at(path)?,
        None => Identity::generate()?,
    };
    let socket = Socket::bind(args.listen);
    let socket = socket.with_context(|| format!("cannot listen on {}", args.listen))?;
    let token = token(args.token.as_ref());
    let clock = Clock::start();
    let mut callee = Callee::new(socket, &identity, token.clone(), clock)?;
    say(&format!("listening on {}", callee.local()));
    say(&format!(
        "tightloop send ADDRESS:{} --pin {}",
        callee.local().port(),
        callee.fingerprint()
    ));
    if token.is_none() {
        say("without --token, whoever reaches this port may call");
    }
    let mut said: Option<Hello> = None;
    let mut open = |hello: &Hello| {
        said = Some(hello.clone());
        flow::received(hello, uptime(), &args.out)
    };
    let manners = Manners {
        patience: args.patience,
        wait: None,
    };
    let mut events: Vec<(Time, Event)> = Vec::new();
    let mut deaf = Deaf;
    let keeping: &mut dyn Sink = match args.events {
        Some(_) => &mut events,
        None => &mut deaf,
    };
    let sink = &mut (keeping, super::board(args.board)?);
    let (tally, shown) = callee.run(&mut open, manners, &signal, sink)?;
    if let (Some(path), Some(hello)) = (&args.events, &said) {
        let mut scenario = flow::of_hello(hello);
        scenario.duration = clock.now().since_epoch();
        let (folder, about) = results::begin(path, &scenario, Vec::new(), args.force)?;
        results::finish(folder, about, &scenario, &events, &mut Deaf)?;
    }
    say(&counted(&tally));
    let Some(shown) = shown else {
        return Ok(());
    };
    say(&seen(&shown));
    written(&shown)
}

/// A clock that a receiver started anew on this machine reads on: the machine's
/// time since it was started, as far as it tells.
fn uptime() -> receiver::Clock {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let secs = text
        .split(' ')
        .next()
        .and_then(|secs| secs.parse::<f64>().ok());
    let up = Duration::try_from_secs_f64(secs.unwrap_or(0.0)).unwrap_or_default();
    receiver::Clock {
        offset: Span::from_nanos(i64::try_from(up.as_nanos()).unwrap_or(0)),
        drift_ppb: 0,
    }
}
