//! A live run as a folder of results, like a simulated one.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use tightloop::analysis::{Names, Summary, Window};
use tightloop::event::Sink;
use tightloop::scenario::{Flow, Measure, PacketSettings, Scenario};
use tightloop::units::{Span, Time};
use tightloop_live::emulate::Way;
use tightloop_live::emulate::record::{Batch, Output};
use xxhash_rust::xxh3::xxh3_128;

use super::links::Plan;
use crate::run::summary;
use crate::store::parts::{Parts, Written};
use crate::store::{About, Folder};

/// The folder, while the run lasts.
pub(super) struct Results {
    folder: Folder,
    about: About,
    scenario: Scenario,
    written: Receiver<(Result<Written>, Time)>,
}

/// What writes events there.
struct Writing {
    name: String,
    parts: Option<Parts>,
    done: std::sync::mpsc::Sender<(Result<Written>, Time)>,
}

impl Results {
    /// Makes the folder, and what writes there.
    pub(super) fn begin(
        path: &Path,
        plan: &Plan,
        seed: u64,
        command: &str,
        force: bool,
    ) -> Result<(Self, Box<dyn Output>)> {
        let links = plan.ways.iter().flatten();
        let names = Names {
            flows: Way::BOTH.map(|way| way.name().to_owned()).to_vec(),
            links: links.map(|link| link.name.clone()).collect(),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let moment = format!("{command} {}", now.unwrap_or_default().as_nanos());
        let about = About {
            tightloop: env!("CARGO_PKG_VERSION").into(),
            // No two live runs are the same.
            id: format!("{:032x}", xxh3_128(moment.as_bytes())),
            scenario: plan.name.clone(),
            seed,
            command: command.to_owned(),
            complete: false,
            logged: true,
            events: 0,
            packets: 0,
            digest: None,
            names,
        };
        let folder = Folder::create(path, &about, force)?;
        let (done, written) = channel();
        let writing = Writing {
            name: path.display().to_string(),
            parts: Some(Parts::begin(path)),
            done,
        };
        let results = Self {
            folder,
            about,
            scenario: scenario(plan, seed),
            written,
        };
        Ok((results, Box::new(writing)))
    }

    /// Completes the folder after the run.
    pub(super) fn finish(mut self, packets: u64) -> Result<()> {
        let place = self.folder.path.display().to_string();
        let Ok((written, end)) = self.written.recv() else {
            bail!("the events in {place} are not complete");
        };
        let written = written?;
        self.about.events = written.events;
        self.about.digest = Some(written.digest);
        self.about.packets = packets;
        self.about.complete = true;
        self.scenario.duration = (end - Time::ZERO).max(Span::from_nanos(1));
        let text = "# The links of a live run; its flows stand for all that went up and down.\n\n"
            .to_owned()
            + &toml::to_string(&self.scenario)?;
        self.folder.write_scenario(&text)?;
        let mut summary = Summary::new(self.about.names.clone(), Window::until(end));
        self.folder
            .replay(&self.about, &mut summary)
            .with_context(|| format!("cannot read back the events in {place}"))?;
        let json = summary::json(&self.about, &summary.report(), &[]);
        self.folder.write_summary(&json)?;
        self.folder.write_about(&self.about)
    }
}

/// The links as a scenario.
fn scenario(plan: &Plan, seed: u64) -> Scenario {
    let links = plan.ways.iter().flatten();
    let [up, down] = &plan.ways;
    let names = |links: &[super::links::Planned]| links.iter().map(|it| it.name.clone()).collect();
    let flow = |way: Way| {
        let (there, back) = match way {
            Way::Up => (up, down),
            Way::Down => (down, up),
        };
        let mut flow = Flow::over("fixed", "", "");
        flow.name = Some(way.name().into());
        for path in &mut flow.path {
            path.links = names(there);
            path.back = names(back);
        }
        flow
    };
    Scenario {
        name: plan.name.clone(),
        about: String::new(),
        seed,
        duration: Span::from_secs(1),
        measure: Measure::default(),
        packet: PacketSettings::default(),
        link: links
            .map(|link| (link.name.clone(), link.settings.clone()))
            .collect(),
        flow: Way::BOTH.map(flow).to_vec(),
        expect: Default::default(),
    }
}

impl Output for Writing {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let Some(parts) = &mut self.parts else {
            return Ok(());
        };
        for (at, event) in &batch.events {
            parts.record(*at, event);
        }
        if parts.failed() {
            return self.finish(Time::ZERO);
        }
        Ok(())
    }

    fn finish(&mut self, end: Time) -> io::Result<()> {
        let Some(parts) = self.parts.take() else {
            return Ok(());
        };
        let written = parts.finish();
        let failed = written.as_ref().err().map(|error| format!("{error:#}"));
        // Whoever waits for it may have given up.
        let _ = self.done.send((written, end));
        failed.map_or(Ok(()), |why| Err(io::Error::other(why)))
    }
}
