//! `tightloop receive`.

use std::sync::Arc;

use anyhow::{Context, Result};
use tightloop::event::{Event, Sink};
use tightloop::units::Time;
use tightloop_live::call::{
    Callee, Hello, Identity, Manners, Signal, Socket, machine_clock, on_interrupt,
};
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
        flow::received(hello, machine_clock(&clock), &args.out)
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
