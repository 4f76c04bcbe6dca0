//! `tightloop call`: both ends here, an emulated link between them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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
use tightloop_live::emulate::Ends;
use tightloop_live::quality::Summary as Quality;

use super::args::CallArgs;
use super::beside::{Beside, Planned};
use super::emulated::{self, Emulated};
use super::{counted, flow, results, say, seen, written};
use crate::compare::screen::Screen;
use crate::compare::viewing;
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
    let mtu = args.flow.mtu.unwrap_or(MTU);
    if mtu > MTU {
        bail!("--mtu {mtu}: an emulated link carries packets of {MTU} at the most");
    }
    let packet = (mtu, overhead(IpAddr::V4(Ipv4Addr::UNSPECIFIED)));
    let links = links(args)?;
    let mut scenario = flow::scenario(&args.flow, &links, args.duration, packet)?;
    let plans = emulated::plans(&mut scenario, args.flow.seed)?;
    let names = plans.iter().flat_map(|plan| plan.ways.iter().flatten());
    let names = names.map(|it| it.name.clone()).collect();

    // Before there are threads: an ordinary user's namespaces are for a process of
    // one thread.
    let ends = plans.iter().map(|_| Ok(Arc::new(Ends::open()?)));
    let ends: Vec<Arc<Ends>> = ends.collect::<Result<_>>()?;
    let first = ends.first().context("no path")?;
    let signals = [Arc::new(Signal::new()?), Arc::new(Signal::new()?)];
    on_interrupt(signals.to_vec())?;
    let [here, there] = &signals;

    let studio = Studio::default();
    let stage = studio.stage();
    studio.prepare(&scenario, flow::FLOW, &mut |_| ())?;
    let mut session = flow::sender(&scenario, &stage, here)?;
    let hello = flow::hello(&scenario, &stage, args.flow.fps)?;
    let (folder, about) = results::begin(&args.out, &scenario, names, args.force)?;

    let board = super::board(args.board)?;
    let marks = Marks::default();
    let paths = ends.iter().zip(&plans);
    let paths = paths.map(|(ends, plan)| Emulated::start(ends, plan));
    let paths: Vec<Emulated> = paths.collect::<Result<_>>()?;
    let clock = paths.first().context("no path")?.clock();

    let identity = Identity::generate()?;
    let far = Socket::bind(SocketAddr::new(first.far_address().into(), 0))?;
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
    let near = paths.iter().map(Emulated::socket);
    let near = near.collect::<Result<_>>()?;
    let (signal, save, far_board) = (Arc::clone(there), args.save.clone(), board.early());
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
    let caller = Caller::dial(near, dial, clock, here);
    let base = clock.now();
    board.begin(base.since_epoch());
    let mut events: Vec<(Time, Event)> = Vec::new();
    let beside = others.start(first, clock);
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
    events.extend(emulated::since(offset, far_events));
    let mut doubts = Vec::new();
    for path in paths {
        let (happened, doubted) = path.stop(clock.instant(base), &marks)?;
        events.extend(happened);
        doubts.extend(doubted);
    }
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

/// The links that were asked for, each with its delay.
fn links(args: &CallArgs) -> Result<Vec<(&str, Span)>> {
    let (links, delays) = (&args.link, &args.delay);
    if delays.len() != 1 && delays.len() != links.len() {
        bail!(
            "{} times --delay for {} links: give one, or one for each link",
            delays.len(),
            links.len()
        );
    }
    let delays = delays.iter().cycle();
    let links = links.iter().map(String::as_str);
    Ok(links.zip(delays.copied()).collect())
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
