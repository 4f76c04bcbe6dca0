//! An emulated link's events, with the session's names for its packets.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tightloop::event::{Event, PacketId};
use tightloop::units::Time;
use tightloop_live::call::{Mark, Marks};
use tightloop_live::emulate::Way;
use tightloop_live::emulate::record::{Batch, Output};

/// What a link told.
#[derive(Debug, Default)]
pub(super) struct Told {
    events: Vec<(Time, Event)>,
    /// The mark of each packet that came, by way and number.
    marks: [Vec<Option<Mark>>; 2],
}

/// Keeps it; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire(Arc<Mutex<Told>>);

impl Output for Wire {
    fn name(&self) -> String {
        "the link's events".into()
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in batch.packets.iter().filter(|seen| !seen.crossed) {
            told.marks[seen.way.place()].push(Marks::of(batch.bytes(seen)));
        }
        // The session has its own word for what left and arrived.
        let of_link = |event: &Event| !matches!(event, Event::Sent { .. } | Event::Arrived { .. });
        let events = batch.events.iter().filter(|(_, event)| of_link(event));
        told.events.extend(events.copied());
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        Ok(())
    }
}

impl Wire {
    /// Everything that happened to the session's packets. QUIC's own are left out.
    pub(super) fn events(&self, marks: &Marks) -> Vec<(Time, Event)> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = std::mem::take(&mut *told);
        let name = |packet: PacketId| {
            let way = usize::from(packet.flow == Way::Down.flow());
            let number = usize::try_from(packet.number).ok()?;
            let mark = told.marks[way].get(number).copied()??;
            marks.packet(&mark)
        };
        let renamed = told.events.iter().filter_map(|(at, event)| {
            let mut event = *event;
            match &mut event {
                Event::Queued { packet, .. }
                | Event::Dropped { packet, .. }
                | Event::Marked { packet, .. }
                | Event::Left { packet, .. } => *packet = name(*packet)?,
                _ => {}
            }
            Some((*at, event))
        });
        renamed.collect()
    }
}
