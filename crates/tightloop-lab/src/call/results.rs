//! A live call's folder of results, like a simulated one's.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use tightloop::analysis::{Names, Report, Summary, Window};
use tightloop::event::{Event, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::Time;
use xxhash_rust::xxh3::xxh3_128;

use crate::run::{quoted, summary};
use crate::store::parts::Parts;
use crate::store::{About, Folder};

/// What a call left.
pub(super) struct Kept {
    pub(super) about: About,
    pub(super) report: Report,
    pub(super) folder: Folder,
}

/// Makes the folder, before the call.
pub(super) fn begin(
    path: &Path,
    scenario: &Scenario,
    links: Vec<String>,
    force: bool,
) -> Result<(Folder, About)> {
    let words: Vec<String> = std::env::args().skip(1).map(|it| quoted(&it)).collect();
    let command = format!("tightloop {}", words.join(" "));
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let moment = format!("{command} {}", now.unwrap_or_default().as_nanos());
    let about = About {
        tightloop: env!("CARGO_PKG_VERSION").into(),
        // No two live calls are the same.
        id: format!("{:032x}", xxh3_128(moment.as_bytes())),
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        command,
        complete: false,
        logged: true,
        events: 0,
        packets: 0,
        digest: None,
        names: Names {
            flows: scenario.flow_names(),
            links,
        },
    };
    let folder = Folder::create(path, &about, force)?;
    Ok((folder, about))
}

/// Fills it, after the call. The events must be in the order of time.
pub(super) fn finish(
    folder: Folder,
    mut about: About,
    scenario: &Scenario,
    events: &[(Time, Event)],
    also: &mut dyn Sink,
) -> Result<Kept> {
    let window = Window {
        from: scenario.measure.from,
        to: scenario.measure.to.unwrap_or(scenario.end()),
    };
    let mut summary = Summary::new(about.names.clone(), window);
    let mut parts = Parts::begin(&folder.path);
    for (at, event) in events {
        summary.record(*at, event);
        parts.record(*at, event);
        also.record(*at, event);
        about.packets += u64::from(matches!(
            event,
            Event::Arrived {
                duplicate: false,
                ..
            }
        ));
    }
    let written = parts.finish()?;
    about.events = written.events;
    about.digest = Some(written.digest);
    about.complete = true;
    let note = "# A live call. `tightloop run` on this file simulates it.\n\n";
    folder.write_scenario(&(note.to_owned() + &toml::to_string(scenario)?))?;
    let report = summary.report();
    folder.write_summary(&summary::json(&about, &report, &[]))?;
    folder.write_about(&about)?;
    Ok(Kept {
        about,
        report,
        folder,
    })
}
