//! What a link does by itself as time goes on, at logical instants.

use super::trace::{DEVICE_HEADER, FULL_PACKET, OPPORTUNITY};
use super::{Judge, Link, Packet, Service, left};
use crate::event::{Event, Log};
use crate::units::{Bytes, Time, earlier};

impl<P: Packet> Link<P> {
    /// Brings the link up to `now`, which is nearly always no work at all.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time, log: &mut Log<'_>) {
        if self.wake.is_some_and(|wake| wake <= now) || (log.on() && !self.announced) {
            self.catch_up(now, log);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Time, log: &mut Log<'_>) {
        if log.on() && !self.announced {
            self.announced = true;
            self.tell_capacity(log);
        }
        match self.service {
            Service::Unlimited => {}
            Service::Steps(_) => self.serve_steps(now, log),
            Service::Opportunities(_) => self.serve_opportunities(now, log),
        }
        self.set_wake();
    }

    /// To be called after anything that changes what comes next.
    #[inline]
    pub(super) fn set_wake(&mut self) {
        self.wake = earlier(self.due, self.service.next_change());
    }

    fn serve_steps(&mut self, now: Time, log: &mut Log<'_>) {
        while let Some(due) = self.due
            && due <= now
        {
            self.change_rate(due, log);
            if let Some(parcel) = self.serving.take() {
                log.emit(due, || left(self.id, &parcel, self.began, due));
                self.flight.push(due, parcel.packet);
            }
            self.begin(due, log);
        }
        self.change_rate(now, log);
    }

    /// Takes the next packet from the queue into service.
    #[inline]
    pub(super) fn begin(&mut self, now: Time, log: &mut Log<'_>) {
        let Service::Steps(steps) = &mut self.service else {
            return;
        };
        let judge = &mut Judge { id: self.id, log };
        self.serving = self.queue.pop(now, Some(steps.rate()), judge);
        self.began = now;
        self.due = match &self.serving {
            Some(parcel) => steps.finish(now, parcel.size),
            None => None,
        };
    }

    #[inline]
    fn change_rate(&mut self, now: Time, log: &mut Log<'_>) {
        if let Service::Steps(steps) = &self.service
            && steps.next_change().is_some_and(|at| at <= now)
        {
            self.step(now, log);
        }
    }

    /// Puts every step up to `now` into force.
    fn step(&mut self, now: Time, log: &mut Log<'_>) {
        while let Service::Steps(steps) = &mut self.service
            && steps.next_change().is_some_and(|at| at <= now)
        {
            let before = steps.rate();
            steps.advance();
            if steps.rate() != before {
                self.tell_capacity(log);
            }
        }
    }

    fn tell_capacity(&self, log: &mut Log<'_>) {
        if let Service::Steps(steps) = &self.service {
            log.emit(steps.since(), || Event::Capacity {
                link: self.id,
                rate: steps.rate(),
            });
        }
    }

    fn serve_opportunities(&mut self, now: Time, log: &mut Log<'_>) {
        while let Service::Opportunities(opportunities) = &mut self.service
            && let Some(at) = opportunities.next()
            && at <= now
        {
            opportunities.advance();
            log.emit(at, || Event::Opportunity {
                link: self.id,
                size: FULL_PACKET,
            });
            if self.due.is_some() {
                let next = opportunities.next();
                self.carry(at, log);
                let somebody = self.serving.is_some() || self.queue.packets() > 0;
                self.due = next.filter(|_| somebody);
            }
        }
    }

    /// Uses one opportunity for whoever waits.
    fn carry(&mut self, now: Time, log: &mut Log<'_>) {
        let Service::Opportunities(opportunities) = &mut self.service else {
            return;
        };
        let mut room = OPPORTUNITY;
        while room > Bytes::ZERO {
            if self.serving.is_none() {
                let judge = &mut Judge { id: self.id, log };
                let rate = Some(opportunities.rate(now));
                self.serving = self.queue.pop(now, rate, judge);
                let Some(parcel) = &self.serving else {
                    return;
                };
                self.began = now;
                self.rest = parcel.size + DEVICE_HEADER;
            }
            let carried = room.min(self.rest);
            room -= carried;
            self.rest -= carried;
            if self.rest == Bytes::ZERO
                && let Some(parcel) = self.serving.take()
            {
                log.emit(now, || left(self.id, &parcel, self.began, now));
                self.flight.push(now, parcel.packet);
            }
        }
    }
}
