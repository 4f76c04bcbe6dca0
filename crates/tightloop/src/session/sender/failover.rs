//! Several paths: one that falls silent, its packets, and its return.
//!
//! A path is *silent* when two probe timeouts, not backed off, have passed
//! without an acknowledgement though packets are in flight
//! ([`Ledger::silent_at`]). If another is up it then goes *down*: schedulers and
//! rate controls no longer see it, packets queued for it get another path, and
//! parts of frames in flight on it are sent again. It is probed all the while;
//! the first acknowledgement takes it back. The last path that is up never goes
//! down.
//!
//! [`Ledger::silent_at`]: crate::session::ledger::Ledger::silent_at

use super::Sender;
use crate::event::{Event, Log};
use crate::units::{Bytes, Time, earlier};

impl Sender {
    /// When a path is probed if nothing leaves on it until then.
    pub(super) fn probe_due(&self, at: usize) -> Time {
        let path = &self.paths[at];
        let never_used = path.ledger.state().sent == Bytes::ZERO;
        let due = match never_used {
            true => self.settings.start,
            false => path.ledger.last_sent() + self.settings.probe_interval,
        };
        due.max(path.pacer.next())
    }

    /// When the paths, of which there are several, next want to be looked at.
    pub(super) fn next_watch(&self) -> Option<Time> {
        let mut next = None;
        for (at, path) in self.paths.iter().enumerate() {
            if self.may_go_down(at) {
                next = earlier(next, path.ledger.silent_at());
            }
            if self.running && path.queue.is_empty() && path.has_room(self.mtu()) {
                next = earlier(next, Some(self.probe_due(at)));
            }
        }
        next
    }

    fn may_go_down(&self, at: usize) -> bool {
        let up = self.paths.iter().filter(|path| !path.down).count();
        !self.paths[at].down && up > 1
    }

    /// A path that has been silent for too long goes down.
    pub(super) fn watch_silence(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        if self.paths.len() < 2 || !self.may_go_down(at) {
            return;
        }
        let path = &mut self.paths[at];
        if path.ledger.silent_at().is_none_or(|due| now < due) {
            return;
        }
        path.down = true;
        let id = path.id;
        log.emit(now, || Event::PathDown {
            flow: self.settings.flow,
            path: id,
        });
        self.move_packets(now, at);
    }

    /// A path has answered.
    pub(super) fn take_back(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        let path = &mut self.paths[at];
        if !std::mem::replace(&mut path.down, false) {
            return;
        }
        let id = path.id;
        log.emit(now, || Event::PathUp {
            flow: self.settings.flow,
            path: id,
        });
    }

    /// Gives what is queued and what is in flight on a path to others, in front
    /// of what they have, the oldest first.
    fn move_packets(&mut self, now: Time, at: usize) {
        self.refresh_views(now);
        let path = &mut self.paths[at];
        path.set_backlog(Bytes::ZERO);
        let mut queue = std::mem::take(&mut path.queue);
        while let Some(queued) = queue.pop_back() {
            self.schedule_again(now, queued);
        }
        self.paths[at].queue = queue;
        if !self.settings.retransmit {
            return;
        }
        let in_flight: Vec<_> = self.paths[at].ledger.move_in_flight().collect();
        for (packet, content) in in_flight.iter().rev() {
            if let Some(queued) = self.again(now, at, packet, *content) {
                self.schedule_again(now, queued);
            }
        }
    }
}
