//! Our own session over real sockets, between the two sides of an emulated link.

use std::sync::Arc;
use std::thread;

use anyhow::{Result, anyhow};
use tightloop::event::{Event, FlowId, Sink};
use tightloop::scenario::{Flow, Scenario, Supplies};
use tightloop::session::receiver;
use tightloop::units::{Span, Time};
use tightloop_live::call::{
    Callee, Caller, Dial, Hello, Identity, Manners, Opened, SLACK, Signal, Socket, Trust, VERSION,
    overhead,
};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::{Ends, Side};

use super::trial::Course;

/// The receiver is there before it is called. Ours.
const PATIENCE: Span = Span::from_secs(10);

/// Nobody: what crosses the link is measured at the link.
struct Deaf;

impl Sink for Deaf {
    fn record(&mut self, _at: Time, _event: &Event) {}
}

/// What is sent, and simulated: video, of which a model encoder tells the sizes,
/// or for Copa, which is about nothing else, a bulk transfer; in packets as large
/// as they are on the wire.
pub(super) fn scenario(course: &Course, controller: &str, ends: &Ends) -> Scenario {
    let mut scenario = match controller {
        "copa" => course.bulk(controller),
        _ => course.video(controller),
    };
    scenario.packet.overhead = overhead(ends.far_address().into());
    scenario
}

/// Sends a scenario's first flow up the link until `end` by `clock`.
pub(super) fn call(ends: &Ends, scenario: &Scenario, clock: Clock, end: Time) -> Result<()> {
    let identity = Identity::generate()?;
    let socket = Socket::bind((ends.far_address(), 0).into())?;
    let mut callee = Callee::new(socket, &identity, None, Clock::start())?;
    let dial = Dial {
        to: callee.local(),
        trust: Trust {
            pin: Some(callee.fingerprint()),
            token: None,
        },
        hello: Hello {
            version: VERSION,
            call: "validate".into(),
            path: 0,
            again: false,
            proof: None,
            film: None,
            packet: scenario.packet,
            flow: scenario.flow[0].clone(),
        },
        patience: PATIENCE,
        keep: false,
        marks: None,
    };
    let over = Arc::new(Signal::new()?);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut open = |hello: &Hello| opened(scenario, hello);
            callee.run(&mut open, Manners::default(), &over, &mut Deaf)
        });
        let sent = ends.on(Side::Near, || send(ends, scenario, dial, clock, end));
        over.stop();
        let received = receiver.join();
        let received = received.map_err(|_| anyhow!("the receiver broke down"))?;
        sent??;
        received?;
        Ok(())
    })
}

fn send(ends: &Ends, scenario: &Scenario, dial: Dial, clock: Clock, end: Time) -> Result<()> {
    let signal = Arc::new(Signal::new()?);
    let socket = Socket::bind((ends.near_address(), 0).into())?;
    let caller = Caller::dial(vec![socket], dial, clock, &signal)?;
    let supplies = Supplies {
        traces: &|_| None,
        encoders: &|_, _, _| None,
    };
    let mut session = scenario.sender(FlowId(0), SLACK, &supplies)?;
    // The session's time begins when it does.
    let until = Some(Time::ZERO + (end - clock.now()));
    let own = Clock::start();
    caller.run(&mut session, None, own, until, &signal, &mut Deaf)?;
    Ok(())
}

/// The receiving half of the flow that is called with.
fn opened(scenario: &Scenario, hello: &Hello) -> Result<Opened, String> {
    let mut scenario = scenario.clone();
    scenario.packet = hello.packet;
    scenario.flow = vec![Flow {
        path: scenario.flow[0].path.clone(),
        ..hello.flow.clone()
    }];
    let session = scenario.receiver(FlowId(0), receiver::Clock::default());
    Ok(Opened {
        session: session.map_err(|error| error.to_string())?,
        screen: None,
    })
}
