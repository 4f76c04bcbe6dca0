//! `tightloop follow`: the life of one frame or packet.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde_json::json;
use tightloop::analysis::life::{self, Step};
use tightloop::analysis::{Names, nearest};
use tightloop::event::{Direction, Event, FlowId, FrameId, PacketId, PathId, Sink};
use tightloop::units::Time;

use crate::args::{FollowArgs, Whom};
use crate::out;
use crate::store::{About, Folder};
use crate::table::Table;

pub(crate) fn main(args: &FollowArgs) -> Result<()> {
    let (folder, about) = Folder::open(&args.run)?;
    let flow = flow(&args.flow, &about.names)?;
    let steps = match args.whom {
        Whom {
            frame: Some(frame), ..
        } => {
            let frame = FrameId(frame);
            let mut search = Search::new(flow, PathId(0), Some(frame), None);
            let events = events(&folder, &about, &mut search)?;
            let steps = life::frame(&events, flow, frame, &about.names);
            search.found(&steps, &about.names)?;
            steps
        }
        Whom {
            packet: Some(number),
            ..
        } => {
            let packet = PacketId {
                flow,
                path: PathId(args.path),
                direction: Direction::Data,
                number,
            };
            let mut search = Search::new(flow, packet.path, None, Some(packet));
            let events = events(&folder, &about, &mut search)?;
            let steps = life::packet(&events, packet, &about.names);
            search.found(&steps, &about.names)?;
            steps
        }
        Whom { .. } => bail!("give --frame or --packet"),
    };
    print(&steps, args.json)
}

/// A flow by its name or number.
fn flow(text: &str, names: &Names) -> Result<FlowId> {
    let by_name = names.flows.iter().position(|name| name == text);
    let by_number = || text.parse().ok().filter(|flow| *flow < names.flows.len());
    if let Some(flow) = by_name.or_else(by_number) {
        return Ok(FlowId(u32::try_from(flow)?));
    }
    let meant = nearest(text, names.flows.iter().map(String::as_str));
    bail!(
        "there is no flow `{text}`; the run has {}",
        match &*meant {
            [] => "none".to_owned(),
            meant => meant.join(", "),
        }
    )
}

/// Looks for the packets of a life, and notes what there is.
struct Search {
    flow: FlowId,
    path: PathId,
    frame: Option<FrameId>,
    wanted: Option<PacketId>,
    packets: BTreeSet<PacketId>,
    frames: Option<(u32, u32)>,
    numbers: Option<(u64, u64)>,
}

impl Search {
    fn new(flow: FlowId, path: PathId, frame: Option<FrameId>, wanted: Option<PacketId>) -> Self {
        Self {
            flow,
            path,
            frame,
            wanted,
            packets: BTreeSet::from_iter(wanted),
            frames: None,
            numbers: None,
        }
    }

    /// Fails where there was nothing, and says what there is.
    fn found(&self, steps: &[Step], names: &Names) -> Result<()> {
        if !steps.is_empty() {
            return Ok(());
        }
        let flow = names.flow(self.flow);
        match (self.frame, self.wanted) {
            (Some(frame), _) => match self.frames {
                Some((first, last)) => bail!(
                    "flow {flow} has no frame {}; it has frames {first} to {last}",
                    frame.0
                ),
                None => bail!("flow {flow} has no frames: it is no video; try --packet"),
            },
            (None, wanted) => {
                let number = wanted.map_or(0, |wanted| wanted.number);
                let path = self.path.0;
                match self.numbers {
                    Some((first, last)) => bail!(
                        "flow {flow} sent no packet {number} on path {path}; it sent {first} to {last}"
                    ),
                    None => bail!("flow {flow} sent nothing on path {path}"),
                }
            }
        }
    }
}

impl Sink for Search {
    fn record(&mut self, _: Time, event: &Event) {
        match *event {
            Event::Captured { flow, frame } if flow == self.flow => {
                extend(&mut self.frames, frame.0);
            }
            Event::Sent { packet, kind, .. } if packet.flow == self.flow => {
                if packet.path == self.path {
                    extend(&mut self.numbers, packet.number);
                }
                let fragment = kind.fragment();
                if self.wanted == Some(packet) {
                    self.frame = fragment.map(|fragment| fragment.frame);
                }
                if let Some(fragment) = fragment
                    && Some(fragment.frame) == self.frame
                {
                    self.packets.insert(packet);
                }
            }
            _ => {}
        }
    }
}

fn extend<T: Ord + Copy>(range: &mut Option<(T, T)>, value: T) {
    *range = Some(match *range {
        Some((first, last)) => (first.min(value), last.max(value)),
        None => (value, value),
    });
}

/// Events of some packets, and of frames of their flow from one on.
struct Gather<'a> {
    search: &'a Search,
    events: Vec<(Time, Event)>,
}

impl Sink for Gather<'_> {
    fn record(&mut self, at: Time, event: &Event) {
        let search = self.search;
        let keep = match event {
            Event::Captured { flow, frame }
            | Event::Skipped { flow, frame, .. }
            | Event::Encoded { flow, frame, .. }
            | Event::Completed { flow, frame } => {
                *flow == search.flow && Some(*frame) == search.frame
            }
            // A later frame may be shown in place of this one.
            Event::Shown { flow, frame } => {
                *flow == search.flow && search.frame.is_some_and(|wanted| *frame >= wanted)
            }
            // A part of the frame may be sent again.
            Event::Sent { packet, kind, .. } => {
                let frame = kind.fragment().map(|fragment| fragment.frame);
                let of_frame = packet.flow == search.flow && frame == search.frame;
                search.packets.contains(packet) || (of_frame && frame.is_some())
            }
            Event::Queued { packet, .. }
            | Event::Dropped { packet, .. }
            | Event::Marked { packet, .. }
            | Event::Left { packet, .. }
            | Event::Arrived { packet, .. }
            | Event::Acked { packet, .. }
            | Event::Lost { packet, .. } => search.packets.contains(packet),
            _ => false,
        };
        if keep {
            self.events.push((at, *event));
        }
    }
}

/// The events that a life can be told from: a run's log may not fit in memory.
fn events(folder: &Folder, about: &About, search: &mut Search) -> Result<Vec<(Time, Event)>> {
    folder.replay(about, search)?;
    let mut gather = Gather {
        search,
        events: Vec::new(),
    };
    folder.replay(about, &mut gather)?;
    Ok(gather.events)
}

fn print(steps: &[Step], json: bool) -> Result<()> {
    if json {
        let steps: Vec<_> = steps
            .iter()
            .map(|step| {
                json!({
                    "time_s": step.at.secs_f64(),
                    "since_s": step.since.map(|since| since.secs_f64()),
                    "what": step.text,
                })
            })
            .collect();
        return out::json(&json!(steps));
    }
    let mut table = Table::default();
    let ms = |seconds: f64| Some(seconds * 1e3);
    table.numbers(
        "",
        "at, ms",
        3,
        steps.iter().map(|step| ms(step.at.secs_f64())),
    );
    let since = |step: &Step| step.since.and_then(|since| ms(since.secs_f64()));
    table.numbers("", "+ ms", 3, steps.iter().map(since));
    table.texts("", "what", steps.iter().map(|step| step.text.clone()));
    out::print(&table.text())
}
