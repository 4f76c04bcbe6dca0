//! What was on the screen: the frames of one flow, and which of them were shown.

use std::collections::BTreeSet;

use tightloop::analysis::Window;
use tightloop::event::{Event, FlowId, FrameId, Sink};
use tightloop::units::Time;

/// Listens to a run for one flow's frames.
#[derive(Debug)]
pub(crate) struct Screen {
    flow: FlowId,
    window: Window,
    /// Every frame captured in the window, in order.
    pub(crate) captured: Vec<(FrameId, Time)>,
    pub(crate) completed: BTreeSet<FrameId>,
    pub(crate) shown: BTreeSet<FrameId>,
}

impl Screen {
    pub(crate) fn of(flow: FlowId, window: Window) -> Self {
        Self {
            flow,
            window,
            captured: Vec::new(),
            completed: BTreeSet::new(),
            shown: BTreeSet::new(),
        }
    }
}

impl Sink for Screen {
    fn record(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Captured { flow, frame } if flow == self.flow && self.window.contains(at) => {
                self.captured.push((frame, at));
            }
            Event::Completed { flow, frame } if flow == self.flow => {
                self.completed.insert(frame);
            }
            Event::Shown { flow, frame } if flow == self.flow => {
                self.shown.insert(frame);
            }
            _ => {}
        }
    }
}
