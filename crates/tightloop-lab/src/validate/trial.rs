//! One bulk flow over one bottleneck, simulated or live, with the same metrics
//! of both.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{Event, LinkId, Log, Sink};
use tightloop::link::{Link, Settings};
use tightloop::scenario::Scenario;
use tightloop::traffic::TrafficSettings;
use tightloop::units::{Span, Time};
use tightloop_live::clock::to_std;
use tightloop_live::emulate::record::{Batch, Output};
use tightloop_live::emulate::{Datagram, Engine, Lateness, Way};
use tightloop_live::tcp::{self, Bulk, Carried};

use super::{Stage, own};

/// The links of [`Scenario::single`].
pub(super) const BOTTLENECK: &str = "bottleneck";
const RETURN: &str = "return";

/// A bottleneck, the way back, and what is measured when.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) bottleneck: Settings,
    pub(super) back: Settings,
    pub(super) duration: Span,
    pub(super) windows: Vec<Window>,
    /// Packets can carry marks.
    pub(super) ecn: bool,
}

/// Who sends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peer<'a> {
    /// The kernel's TCP.
    Kernel(&'a tcp::Settings),
    /// Our own session under this controller.
    Own(&'a str),
}

/// What a live run was like.
#[derive(Debug)]
pub(super) struct Live {
    /// One for each window.
    pub(super) reports: Vec<Report>,
    /// What the kernel thought, where the flow is its own.
    pub(super) carried: Option<Carried>,
    pub(super) lateness: Lateness,
    /// Packets that the kernel dropped outside of the link.
    pub(super) strays: u64,
}

/// The same metrics over several windows.
#[derive(Clone)]
struct Gauges(Arc<Mutex<Vec<Summary>>>);

impl Gauges {
    fn new(course: &Course) -> Self {
        let names = Names {
            flows: Way::BOTH.map(|way| way.name().to_owned()).to_vec(),
            links: vec![BOTTLENECK.into(), RETURN.into()],
        };
        let windows = course.windows.iter();
        let gauges = windows.map(|window| Summary::new(names.clone(), *window));
        Self(Arc::new(Mutex::new(gauges.collect())))
    }

    fn each(&self, mut with: impl FnMut(&mut Summary)) {
        let mut gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.iter_mut().for_each(&mut with);
    }

    fn reports(&self) -> Vec<Report> {
        let gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.iter().map(Summary::report).collect()
    }
}

impl Sink for Gauges {
    fn record(&mut self, at: Time, event: &Event) {
        self.each(|gauge| gauge.record(at, event));
    }
}

impl Output for Gauges {
    fn name(&self) -> String {
        "metrics".into()
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.each(|gauge| {
            for (at, event) in &batch.events {
                gauge.record(*at, event);
            }
        });
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        Ok(())
    }
}

impl Course {
    /// The scenario that is simulated for a controller of the kernel's.
    pub(super) fn bulk(&self, controller: &str) -> Scenario {
        let mut scenario = self.video(controller);
        let flow = &mut scenario.flow[0];
        flow.video = None;
        flow.traffic = Some(TrafficSettings::Bulk {});
        scenario
    }

    /// The same with video.
    pub(super) fn video(&self, controller: &str) -> Scenario {
        let mut scenario = Scenario::single(controller);
        scenario.duration = self.duration;
        let links = [(BOTTLENECK, &self.bottleneck), (RETURN, &self.back)];
        for (name, settings) in links {
            scenario.link.insert(name.into(), settings.clone());
        }
        scenario.flow[0].ecn = self.ecn;
        scenario
    }

    /// A scenario over these links, in virtual time.
    pub(super) fn simulate(&self, scenario: &Scenario) -> Result<Vec<Report>> {
        let mut gauges = Gauges::new(self);
        let mut world = scenario.build(&|_| None)?.world;
        world.run(scenario.end(), &mut Log::to(&mut gauges));
        Ok(gauges.reports())
    }

    /// The links for a live run, up and down.
    fn links(&self) -> Result<[Vec<Link<Datagram>>; 2]> {
        let seed = Scenario::single("").seed;
        let up = self
            .bottleneck
            .build(LinkId(0), BOTTLENECK, seed, &|_| None)?;
        let down = self.back.build(LinkId(1), RETURN, seed, &|_| None)?;
        Ok([vec![up], vec![down]])
    }

    /// A flow over these links, in real time.
    pub(super) fn live(&self, stage: &mut Stage, peer: Peer<'_>) -> Result<Live> {
        let ends = Arc::clone(&stage.ends);
        ends.tune("ipv4/tcp_ecn", if self.ecn { "1" } else { "0" })?;
        let gauges = Gauges::new(self);
        let outputs: Vec<Box<dyn Output>> = vec![Box::new(gauges.clone())];
        let drops = ends.kernel_drops();
        let engine = Engine::start(&ends, self.links()?, outputs, stage.ability.drive, |_| {})?;
        let end = Time::ZERO + self.duration;
        let run = || -> Result<Option<Carried>> {
            match peer {
                Peer::Kernel(flow) => {
                    let bulk = Bulk::start(&ends, Way::Up, flow, engine.clock())?;
                    thread::sleep(to_std(end - engine.clock().now()));
                    Ok(Some(bulk.stop()?))
                }
                Peer::Own(name) => {
                    let scenario = own::scenario(self, name, &ends);
                    own::call(&ends, &scenario, engine.clock(), end)?;
                    Ok(None)
                }
            }
        };
        let carried = run();
        let work = engine.stop()?;
        if let Some(error) = work.failed {
            return Err(error).context("the emulated link broke");
        }
        let carried = carried?;
        if work.missing > 0 {
            bail!(
                "{} events of the link are missing: this machine is too busy; try again later",
                work.missing
            );
        }
        stage.note_load();
        let [up, _] = &work.ways;
        let refused: u64 = work.ways.iter().map(|it| it.refused).sum();
        let after = ends.kernel_drops();
        let dropped = [0, 1].map(|way| after[way].saturating_sub(drops[way]));
        Ok(Live {
            reports: gauges.reports(),
            carried,
            lateness: up.lateness.clone(),
            strays: refused + dropped.iter().sum::<u64>(),
        })
    }
}
