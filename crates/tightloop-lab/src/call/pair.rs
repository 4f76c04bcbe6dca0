//! `tightloop call`: both ends here, an emulated link between them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use tightloop::analysis::Window;
use tightloop::event::Event;
use tightloop::session::receiver;
use tightloop::units::{Bytes, Span, Time};
use tightloop_live::call::{
    Callee, Caller, Dial, Hello, Identity, Manners, Marks, Signal, Socket, Trust, on_interrupt,
    overhead,
};
use tightloop_live::clock::Clock;
use tightloop_live::emulate::{Drive, Ends, Engine};
use tightloop_live::quality::Summary as Quality;

use super::args::CallArgs;
use super::beside::{Beside, Planned};
use super::wire::Wire;
use super::{counted, flow, results, say, seen, written};
use crate::compare::screen::Screen;
use crate::compare::viewing;
use crate::emulate::links::Plan;
use crate::emulate::screen as meter;
use crate::file::File;
use crate::out;
use crate::run::summary;
use crate::studio::Studio;

/// The largest packet that an emulated link carries.
const MTU: Bytes = Bytes::new(1500);
/// The receiver waits this long for the sender, who is started at once.
const TOGETHER: Span = Span::from_secs(10);

/// Makes the call.
pub(crate) fn main(args: &CallArgs) -> Result<()> {
    let others = Planned::of(&args.with)?;
    // First, as an ordinary user's namespaces are for a process of one thread.
    let ends = Arc::new(Ends::open()?);
    let signals = [Arc::new(Signal::new()?), Arc::new(Signal::new()?)];
    on_interrupt(signals.to_vec())?;
    let [here, there] = &signals;

    let peer = IpAddr::V4(ends.far_address());
    let mtu = args.flow.mtu.unwrap_or(MTU);
    if mtu > MTU {
        bail!("--mtu {mtu}: an emulated link carries packets of {MTU} at the most");
    }
    let packet = (mtu, overhead(peer));
    let mut scenario = flow::scenario(&args.flow, &args.link, args.duration, args.delay, packet)?;
    let text = toml::to_string(&scenario)?;
    let file = File::parse(&scenario.name, text, std::path::Path::new(""), &[], None)?;
    let plan = Plan::of_file(&file, "0", args.flow.seed)?;
    let links = plan.ways.iter().flatten();
    scenario.link = links
        .clone()
        .map(|it| (it.name.clone(), it.settings.clone()))
        .collect();
    let names = links.map(|it| it.name.clone()).collect();

    let studio = Studio::default();
    let stage = studio.stage();
    studio.prepare(&scenario, flow::FLOW, &mut |_| ())?;
    let mut session = flow::sender(&scenario, &stage, here)?;
    let hello = flow::hello(&scenario, &stage, args.flow.fps)?;
    let (folder, about) = results::begin(&args.out, &scenario, names, args.force)?;

    let board = super::board(args.board)?;
    let (wire, marks) = (Wire::default(), Marks::default());
    let drops = ends.kernel_drops();
    let outputs: Vec<Box<dyn tightloop_live::emulate::record::Output>> =
        vec![Box::new(wire.clone())];
    let engine = Engine::start(&ends, plan.build()?, outputs, Drive::default(), |_| {})?;
    let clock = engine.clock();

    let identity = Identity::generate()?;
    let far = Socket::bind(SocketAddr::new(peer, 0))?;
    let mut callee = Callee::new(far, &identity, None, clock)?;
    callee.note(marks.clone());
    let dial = Dial {
        to: callee.local(),
        trust: Trust {
            pin: Some(identity.fingerprint()),
            token: None,
        },
        hello,
        patience: TOGETHER,
        keep: true,
        marks: Some(marks.clone()),
    };
    let near = inside(&ends)?;
    let (signal, save, far_board) = (Arc::clone(there), args.save.clone(), board.clone());
    let receiving = thread::spawn(move || {
        let mut sink = (Vec::new(), far_board);
        let save = save.as_deref().unwrap_or("null");
        let mut open = |hello: &Hello| flow::received(hello, receiver::Clock::default(), save);
        let manners = Manners {
            wait: Some(TOGETHER),
            ..Manners::default()
        };
        let done = callee.run(&mut open, manners, &signal, &mut sink);
        done.map(|done| (done, sink.0))
    });
    let mut lasted: Option<Time> = None;
    let caller = Caller::dial(vec![near], dial, clock, here);
    let base = clock.now();
    let mut events: Vec<(Time, Event)> = Vec::new();
    let beside = others.start(&ends, clock);
    let filmed = stage.filmed(flow::FLOW);
    let sent = caller.and_then(|caller| {
        let recording = filmed.as_ref().map(|filmed| &filmed.recording);
        let start = clock.instant(base).map_or_else(Clock::start, Clock::since);
        let until = Some(scenario.end());
        let sink = &mut (&mut events, board);
        let tally = caller.run(&mut session, recording, start, until, here, sink);
        lasted = Some(start.now());
        tally
    });
    if sent.is_err() {
        there.stop();
    }
    let beside = beside.map(Beside::stop);
    let received = receiving
        .join()
        .map_err(|_| anyhow!("the receiver broke down"))?;
    let work = engine.stop()?;
    let kernel = ends.kernel_drops();
    let (sent, ((got, shown), far_events)) = (sent?, received?);

    // A call that was interrupted is measured as far as it went.
    if let Some(lasted) = lasted.filter(|lasted| *lasted < scenario.end()) {
        scenario.duration = lasted.since_epoch();
        scenario.measure.to = scenario.measure.to.map(|to| to.min(lasted));
    }
    let offset = base.since_epoch();
    let clocks = Event::Clock {
        flow: flow::FLOW,
        offset,
        drift_ppb: 0,
    };
    events.push((Time::ZERO, clocks));
    let links = wire.events(&marks).into_iter();
    let later = far_events
        .into_iter()
        .chain(links)
        .filter_map(|(at, event)| {
            // What a link could do before the call is where it stands at its start.
            let start = matches!(event, Event::Capacity { .. });
            let since = (at.since_epoch() - offset).max(if start {
                Span::ZERO
            } else {
                Span::from_nanos(-1)
            });
            (since >= Span::ZERO).then(|| (Time::ZERO + since, event))
        });
    events.extend(later);
    let end = scenario.end();
    events.retain(|(at, _)| *at <= end);
    // Of one moment's events, those of the end that acts come first.
    events.sort_by_key(|(at, _)| *at);

    let window = Window {
        from: scenario.measure.from,
        to: scenario.measure.to.unwrap_or(end),
    };
    let mut screen = Screen::of(flow::FLOW, window);
    let kept = results::finish(folder, about, &scenario, &events, &mut screen)?;
    let quality = match &filmed {
        Some(filmed) => viewing::measure(&screen, filmed, 0, || ())?.summary(),
        None => None,
    };
    let drops = [0, 1].map(|way| kernel[way].saturating_sub(drops[way]));
    let (_, doubts) = meter::work(&work, drops);
    for doubt in &doubts {
        say(&format!("warning: more than this machine can do: {doubt}"));
    }
    beside?.iter().for_each(|line| say(line));
    say(&format!("sender: {}", counted(&sent)));
    say(&format!("receiver: {}", counted(&got)));
    if let Some(shown) = &shown {
        say(&format!("receiver: {}", seen(shown)));
    }
    print(args, &scenario, &kept, quality.as_ref())?;
    shown.as_ref().map_or(Ok(()), written)
}

/// A socket of the sender's namespace.
fn inside(ends: &Arc<Ends>) -> Result<Socket> {
    let ends = Arc::clone(ends);
    let address = SocketAddr::new(IpAddr::V4(ends.near_address()), 0);
    let bound = thread::spawn(move || -> io::Result<Socket> {
        ends.enter()?;
        Socket::bind(address)
    });
    let bound = bound.join().map_err(|_| anyhow!("the sender broke down"))?;
    bound.context("no socket behind the link")
}

fn print(
    args: &CallArgs,
    scenario: &tightloop::scenario::Scenario,
    kept: &results::Kept,
    quality: Option<&Quality>,
) -> Result<()> {
    if args.json {
        let mut json = summary::json(&kept.about, &kept.report, &[]);
        json["results"] = kept.folder.path.display().to_string().into();
        json["quality"] = quality.map_or(json!(null), |it| {
            json!({ "ssim": it.ssim, "ssim_db": it.ssim_db, "psnr_y_db": it.psnr_y, "frames": it.frames })
        });
        return out::json(&json);
    }
    let mut text = summary::text(scenario, &kept.about, &kept.report, &[], &kept.folder.path);
    if let Some(quality) = quality {
        text += &format!(
            "\nwhat was seen: mean SSIM {:.4} of {} frames\n",
            quality.ssim, quality.frames
        );
    }
    out::print(&text)
}
