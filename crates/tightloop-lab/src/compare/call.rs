//! One contender's call: run, decoded, measured.

use std::path::PathBuf;

use anyhow::{Context, Result};
use indicatif::MultiProgress;
use serde_json::{Value as Json, json};
use tightloop::analysis::{FlowReport, LinkReport, Report, Window};
use tightloop::event::FlowId;
use tightloop::scenario::Scenario;
use tightloop::units::Rate;
use tightloop_live::footage::Progress;
use tightloop_live::quality::{Measured, Summary as Quality};
use tightloop_live::stills;

use super::contender::Contender;
use super::plan::Plan;
use super::screen::Screen;
use super::verdict::Record;
use super::viewing;
use crate::args::CompareArgs;
use crate::file::File;
use crate::report::flows::flow_summary;
use crate::report::page::{Still, Summary};
use crate::run::{self, Job, quoted};
use crate::studio::{Filmed, Studio};

/// A call to be made.
#[derive(Debug)]
pub(super) struct Call {
    name: String,
    flow: FlowId,
    scenario: Scenario,
    folder: PathBuf,
    vmaf_every: u32,
    /// Events are kept, for plots.
    log: bool,
}

/// A call that was made.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    flow: FlowReport,
    /// The link that limits the call.
    link: Option<LinkReport>,
    /// What was seen, where the call had pictures.
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    screen: Screen,
    filmed: Filmed,
    measured: Measured,
    quality: Option<Quality>,
}

impl Call {
    pub(super) fn of(
        plan: &Plan,
        contender: &Contender,
        args: &CompareArgs,
        folder: PathBuf,
        log: bool,
    ) -> Result<Self> {
        let flow = FlowId(u32::try_from(plan.call).context("too many flows")?);
        Ok(Self {
            flow,
            scenario: plan.scenario(contender),
            folder: folder.join(contender.folder()),
            log,
            vmaf_every: if cfg!(feature = "vmaf") {
                args.vmaf_every
            } else {
                0
            },
            name: contender.name.clone(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn file(&self) -> Result<File> {
        let text = toml::to_string(&self.scenario)?;
        File::parse(&self.name, text, std::path::Path::new(""), &[], None)
    }

    /// Opens the footage that the call films.
    pub(super) fn film(&self, studio: &Studio, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        studio.prepare(&self.scenario, self.flow, progress)?;
        Ok(())
    }

    /// Makes the call.
    pub(super) fn make(&self, studio: &Studio, bars: &MultiProgress) -> Result<Outcome> {
        let job = Job {
            file: self.file()?,
            command: format!(
                "tightloop run {}",
                quoted(&self.folder.join("scenario.toml").display().to_string())
            ),
            force: true,
            log: self.log,
        };
        let bar = bars.add(run::progress(&self.name));
        let stage = studio.stage();
        let window = Window {
            from: self.scenario.measure.from,
            to: self.scenario.measure.to.unwrap_or(self.scenario.end()),
        };
        let mut screen = Screen::of(self.flow, window);
        let done = job.run(Some(&self.folder), &stage, &bar, &mut screen)?;
        let at = self.flow.0 as usize;
        let seen = stage.filmed(self.flow).map(|filmed| {
            let bar = bars.add(run::progress(&format!("{}, viewing", self.name)));
            bar.set_length(screen.captured.len() as u64);
            let measured = viewing::measure(&screen, &filmed, self.vmaf_every, || bar.inc(1))?;
            bar.finish_and_clear();
            anyhow::Ok(Seen {
                quality: measured.summary(),
                measured,
                screen,
                filmed,
            })
        });
        let Report { flows, links, .. } = done.report;
        let names = self.scenario.flow[at]
            .path
            .iter()
            .flat_map(|path| &path.links);
        let names: Vec<&String> = names.collect();
        let on_the_way = |link: &LinkReport| names.contains(&&link.name);
        let limiting = links.into_iter().filter(on_the_way);
        Ok(Outcome {
            name: self.name.clone(),
            folder: self.folder.clone(),
            flow: flows
                .into_iter()
                .nth(at)
                .context("the call left no trace")?,
            link: limiting
                .filter(|link| link.capacity.is_some())
                .min_by_key(|link| link.capacity),
            seen: seen.transpose()?,
        })
    }
}

impl Outcome {
    fn quality(&self) -> Option<&Quality> {
        self.seen.as_ref()?.quality.as_ref()
    }

    pub(super) fn measured(&self) -> Option<&Measured> {
        Some(&self.seen.as_ref()?.measured)
    }

    /// The place of the first frame captured so many seconds into the call.
    pub(super) fn place_at(&self, seconds: f64) -> usize {
        let captured = self
            .seen
            .as_ref()
            .map_or(&[][..], |seen| &seen.screen.captured);
        captured.partition_point(|(_, at)| at.secs_f64() < seconds)
    }

    /// What the choice looks at.
    pub(super) fn record(&self) -> Record {
        let summary = self.summary();
        Record {
            name: self.name.clone(),
            p95: summary.latency_p95,
            vmaf: summary.vmaf,
            ssim_db: summary.ssim_db,
            bitrate: summary.bitrate.unwrap_or_default(),
        }
    }

    /// The call's row: what every report has of a flow, and what only a
    /// comparison knows.
    pub(super) fn summary(&self) -> Summary {
        let link = self.link.as_ref();
        let capacity = link.and_then(|link| link.capacity);
        let quality = self.quality();
        Summary {
            ssim_db: quality.and_then(|quality| quality.ssim_db),
            psnr: quality.and_then(|quality| quality.psnr_y),
            vmaf: quality.and_then(|quality| Some(quality.vmaf?.mean)),
            spike: link.and_then(|link| link.over_unavoidable),
            ..flow_summary(&self.flow, capacity.map(Rate::mbps_f64))
        }
    }

    /// What the viewer saw at one moment, beside what should have been seen.
    pub(super) fn still(&self, place: usize, width: usize) -> Result<Option<Still>> {
        let Some(seen) = &self.seen else {
            return Ok(None);
        };
        let Some(frame) = seen.measured.frames().get(place) else {
            return Ok(None);
        };
        let (source, shown) = viewing::still(&seen.screen, &seen.filmed, place)?;
        let (id, at) = seen.screen.captured[place];
        let new = seen.screen.shown.contains(&id);
        Ok(Some(Still {
            name: self.name.clone(),
            caption: format!(
                "frame {} at {:.2} s: SSIM {:.3}{}",
                id.0,
                at.secs_f64(),
                frame.ssim,
                if new {
                    ""
                } else {
                    ", an earlier picture still on the screen"
                }
            ),
            png: stills::side_by_side(&source, &shown, width)?,
        }))
    }

    /// Every number, for machines.
    pub(super) fn json(&self) -> Json {
        let quality = self.quality().map(|it| {
            json!({
                "frames": it.frames,
                "psnr_y_db": it.psnr_y,
                "psnr_all_db": it.psnr_all,
                "ssim": it.ssim,
                "ssim_db": it.ssim_db,
                "vmaf": it.vmaf.map(|vmaf| json!({
                    "mean": vmaf.mean,
                    "p5": vmaf.spread.p5,
                    "frames": vmaf.frames,
                    "model": vmaf.settings.model.name(),
                })),
            })
        });
        json!({
            "name": self.name,
            "folder": self.folder,
            "summary": self.summary(),
            "quality": quality,
        })
    }
}
