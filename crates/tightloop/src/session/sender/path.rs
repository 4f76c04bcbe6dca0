//! One path of a sender: its controller, ledger, pacer and queue.

use std::collections::VecDeque;

use crate::cc::{Control, Controller};
use crate::event::{FrameId, Kind, PathId};
use crate::paths::{PathView, Queued};
use crate::session::ledger::Ledger;
use crate::session::pacer::Pacer;
use crate::units::{Bytes, Span, Time};

#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) id: PathId,
    pub(super) controller: Box<dyn Controller>,
    /// What the controller asked for last.
    pub(super) asked: Control,
    /// What holds: the controller's will as the rate control shaped it.
    pub(super) control: Control,
    pub(super) ledger: Ledger,
    pub(super) pacer: Pacer,
    pub(super) queue: VecDeque<Queued>,
    pub(super) backlog: Bytes,
    /// Packets that may leave whatever the window and the pacer say.
    pub(super) probes: u32,
    pub(super) gauged: Time,
    /// It has not answered for so long that others carry its packets.
    pub(super) down: bool,
    /// The frame whose first packet was last seen in front.
    headed: Option<FrameId>,
}

impl Path {
    pub(super) fn new(
        id: PathId,
        controller: Box<dyn Controller>,
        ledger: Ledger,
        pacer: Pacer,
    ) -> Self {
        let control = controller.control();
        Self {
            id,
            controller,
            asked: control,
            control,
            ledger,
            pacer,
            queue: VecDeque::new(),
            backlog: Bytes::ZERO,
            probes: 0,
            gauged: Time::ZERO,
            down: false,
            headed: None,
        }
    }

    /// What schedulers see of it.
    pub(super) fn view(&self) -> PathView {
        PathView {
            id: self.id,
            control: self.control,
            state: *self.ledger.state(),
            next_send: self.pacer.next(),
            unanswered: None,
        }
    }

    pub(super) fn set_backlog(&mut self, backlog: Bytes) {
        self.backlog = backlog;
        self.ledger.set_backlog(backlog);
    }

    /// The frame whose first packet has come to the front since the last call.
    pub(super) fn new_head(&mut self) -> Option<FrameId> {
        match self.queue.front()?.kind {
            Kind::Video(fragment) if fragment.first() && self.headed != Some(fragment.frame) => {
                self.headed = Some(fragment.frame);
                self.headed
            }
            _ => None,
        }
    }

    /// Pacer and window let a packet go now, if there is one.
    pub(super) fn is_open(&self, now: Time, mtu: Bytes) -> bool {
        let size = self.queue.front().map_or(mtu, |front| front.size);
        self.probes > 0 || (now >= self.pacer.next() && self.has_room(size))
    }

    /// Drops fragments from the front that waited to be sent again until their
    /// frame was past saving: new frames must not wait behind them.
    pub(super) fn expire(&mut self, now: Time, latency_budget: Span) {
        while let Some(front) = self.queue.front()
            && matches!(front.kind, Kind::Retransmit(_))
            && now - front.captured > latency_budget
        {
            self.set_backlog(self.backlog - front.size);
            self.queue.pop_front();
        }
    }

    pub(super) fn has_room(&self, size: Bytes) -> bool {
        self.control
            .window
            .is_none_or(|window| self.ledger.in_flight() + size <= window)
    }
}
