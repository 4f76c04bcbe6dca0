//! A path for tests of the law: the session's own ledger and pacer, and a link
//! whose every property a test may change at any moment.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::*;
use crate::cc::{Acked, Lost};
use crate::event::{Ecn, Kind};
use crate::session::ledger::{Content, Ledger};
use crate::session::pacer::Pacer;
use crate::session::wire::{Arrived, Message};

pub(super) const MSS: Bytes = Bytes::new(1500);

/// What the application sends.
#[derive(Clone, Copy, Debug)]
pub(super) enum App {
    Bulk,
    /// Packets at a rate.
    At(Rate),
    Silent,
}

/// Which packets: those to drop, or to delay.
pub(super) type Which = fn(&Sent) -> bool;

pub(super) struct Bench {
    pub(super) cc: Bbr3,
    pub(super) ledger: Ledger,
    pacer: Pacer,
    pub(super) now: Time,
    pub(super) rate: Rate,
    /// Propagation, there and back.
    pub(super) rtt: Span,
    /// Room for waiting, the packet in service included.
    pub(super) buffer: Bytes,
    /// Instead of a queue: a bucket of so many bytes, filled at the rate.
    pub(super) policer: Option<(Bytes, f64, Time)>,
    pub(super) drops: Which,
    /// Some of the packets with these numbers take this much longer.
    pub(super) detour: (std::ops::Range<u64>, Which, Span),
    /// Acknowledgements come at multiples of this alone.
    pub(super) batch: Option<Span>,
    app: App,
    app_next: Time,
    free_at: Time,
    flight: BTreeMap<Time, Vec<u64>>,
    received: BTreeSet<u64>,
    message: u64,
    control: Control,
    pub(super) dropped: u64,
    pub(super) sample: Option<Sample>,
    pub(super) left: Bytes,
}

impl Bench {
    /// An endless flow over a link, with so many BDPs of buffer.
    pub(super) fn new(rate: Rate, rtt: Span, buffer: f64) -> Self {
        let cc = Bbr3::new(&Start::plain()).expect("defaults");
        let bdp = rate.over(rtt).max(MSS * 8);
        Self {
            control: cc.control(),
            cc,
            ledger: Ledger::new(MSS, Span::ZERO),
            pacer: Pacer::new(Span::ZERO),
            now: Time::from_secs(100),
            rate,
            rtt,
            buffer: bdp * buffer,
            policer: None,
            drops: |_| false,
            detour: (0..0, |_| true, Span::ZERO),
            batch: None,
            app: App::Bulk,
            app_next: Time::ZERO,
            free_at: Time::ZERO,
            flight: BTreeMap::new(),
            received: BTreeSet::new(),
            message: 0,
            dropped: 0,
            sample: None,
            left: Bytes::ZERO,
        }
    }

    pub(super) fn set_app(&mut self, app: App) {
        self.app = app;
        self.app_next = self.now;
    }

    /// The link has another rate from now on, for what waits there too.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        let (now, longer) = (self.now, self.rate.ratio(rate));
        self.rate = rate;
        let moved = |at: Time| {
            if at > now {
                now + (at - now) * longer
            } else {
                at
            }
        };
        self.free_at = moved(self.free_at);
        let flight = std::mem::take(&mut self.flight);
        for (back, numbers) in flight {
            let left = moved(back - self.rtt);
            self.flight
                .entry(left + self.rtt)
                .or_default()
                .extend(numbers);
        }
    }

    fn app_due(&self) -> Option<Time> {
        match self.app {
            App::Bulk => Some(self.now),
            App::At(_) => Some(self.app_next),
            App::Silent => None,
        }
    }

    fn has_room(&self) -> bool {
        let window = self.control.window.expect("a window");
        self.ledger.in_flight() + MSS <= window
    }

    fn obey(&mut self) {
        let control = self.cc.control();
        if control != self.control {
            self.control = control;
            self.pacer.on_change(self.now, MSS, control.pacing, None);
        }
    }

    fn send(&mut self, kind: Kind) {
        self.ledger.on_sent(self.now, MSS, kind, Content::default());
        let sent = *self.ledger.latest().expect("it has just been sent");
        self.pacer.on_sent(self.now, MSS, self.control.pacing, None);
        if let App::At(rate) = self.app {
            self.app_next = self.app_next.max(self.now - Span::from_millis(1));
            self.app_next += MSS.at(rate).expect("a rate");
        }
        let state = *self.ledger.state();
        self.cc.on_sent(self.now, &sent, &state);
        if (self.drops)(&sent) || !self.admits() {
            self.dropped += 1;
            return;
        }
        let service = match self.policer {
            Some(_) => Span::ZERO,
            None => MSS.at(self.rate).expect("a rate"),
        };
        self.free_at = self.free_at.max(self.now) + service;
        self.left += MSS;
        let mut back = self.free_at + self.rtt;
        let (numbers, which, longer) = &self.detour;
        if numbers.contains(&sent.number) && which(&sent) {
            back += *longer;
        }
        if let Some(batch) = self.batch {
            let steps = back.as_nanos().div_ceil(batch.as_nanos().unsigned_abs());
            back = Time::from_nanos(steps * batch.as_nanos().unsigned_abs());
        }
        self.flight.entry(back).or_default().push(sent.number);
    }

    fn admits(&mut self) -> bool {
        match &mut self.policer {
            Some((size, tokens, at)) => {
                let fresh = self.rate.over(self.now - *at).get_f64();
                *tokens = (*tokens + fresh).min(size.get_f64());
                *at = self.now;
                let enough = *tokens >= MSS.get_f64();
                if enough {
                    *tokens -= MSS.get_f64();
                }
                enough
            }
            None => self.rate.over(self.free_at - self.now) + MSS <= self.buffer,
        }
    }

    fn deliver(&mut self, numbers: &[u64]) {
        self.received.extend(numbers);
        let at = self.now.on_clock(Span::ZERO, 0);
        let largest = self.received.last().copied().expect("a packet");
        let message = Message {
            number: self.message,
            now: at,
            largest,
            arrived: numbers
                .iter()
                .map(|&number| Arrived {
                    number,
                    at,
                    ecn: Ecn::NotEct,
                })
                .collect(),
            ranges: SmallVec::new(),
            ..Message::default()
        };
        self.message += 1;
        let (mut acked, mut lost): (Vec<Acked>, Vec<Lost>) = (vec![], vec![]);
        let outcome = self
            .ledger
            .on_message(self.now, &message, &mut acked, &mut lost)
            .expect("packets that were sent");
        self.feed(&Feedback {
            acked: &acked,
            lost: &lost,
            delivery: outcome.delivery,
            through: Some(at),
            persistent_congestion: outcome.persistent_congestion,
            report: None,
        });
    }

    fn feed(&mut self, feedback: &Feedback<'_>) {
        let state = *self.ledger.state();
        self.cc.on_feedback(self.now, feedback, &state);
        if let Some(sample) = Sample::of(feedback, &state, &self.cc.losses, self.cc.bubble) {
            self.sample = Some(sample);
        }
        self.obey();
    }

    /// The next thing that happens.
    pub(super) fn step(&mut self) {
        let ack = self.flight.first_key_value().map(|(at, _)| *at);
        let loss = self.ledger.loss_time();
        let probe = self.ledger.probe_time(Span::from_millis(500));
        let open = self.has_room().then(|| self.pacer.next().max(self.now));
        let send = open.and_then(|open| Some(open.max(self.app_due()?)));
        let next = [ack, loss, probe, self.cc.next_timeout(), send];
        let Some(next) = next.into_iter().flatten().min() else {
            self.ledger.on_app_limited();
            self.now += Span::from_millis(10);
            return;
        };
        // CheckIfApplicationLimited: the window is open, and what the application
        // has written until now is gone. [BBR-Draft] §4.1.2.4.
        let unsent = match self.app {
            App::Bulk => true,
            App::At(_) => self.app_next < next,
            App::Silent => false,
        };
        if self.has_room() && !unsent {
            self.ledger.on_app_limited();
        }
        self.now = self.now.max(next);
        if self.cc.next_timeout().is_some_and(|due| due <= self.now) {
            let state = *self.ledger.state();
            self.cc.on_timeout(self.now, &state);
            self.obey();
        } else if ack == Some(next) {
            let (_, numbers) = self.flight.pop_first().expect("just seen");
            self.deliver(&numbers);
        } else if loss == Some(next) {
            let mut lost = vec![];
            let persistent = self.ledger.on_loss_time(self.now, &mut lost);
            self.feed(&Feedback::of_losses(&lost, persistent));
        } else if send == Some(next) {
            self.send(Kind::Bulk);
        } else {
            self.ledger.on_probe_timeout();
            self.send(Kind::Filler);
        }
    }

    /// Goes on until something is so; fails after `most`.
    #[track_caller]
    pub(super) fn until(&mut self, what: &str, most: Span, is_so: impl Fn(&Self) -> bool) {
        let end = self.now + most;
        while !is_so(self) {
            self.step();
            assert!(
                self.now < end,
                "not within {most}: {what}; {:?}, {} rounds, {}, {:?}",
                self.cc.state,
                self.cc.round.count,
                self.cc.model.bw,
                self.cc.full_pipe,
            );
        }
    }

    /// Goes on until a state is entered; fails after five minutes.
    #[track_caller]
    pub(super) fn enter(&mut self, state: State) {
        self.until(&format!("{state:?}"), Span::from_secs(300), |bench| {
            bench.cc.state == state
        });
    }

    /// Goes on for a while.
    pub(super) fn run(&mut self, span: Span) {
        self.watch(span, |_| ());
    }

    /// Goes on for a while, and looks after each step.
    pub(super) fn watch(&mut self, span: Span, mut look: impl FnMut(&Self)) {
        let end = self.now + span;
        while self.now < end {
            self.step();
            look(self);
        }
    }

    /// What the link carried in a while, as a share of what it could.
    pub(super) fn used(&mut self, span: Span) -> f64 {
        let (before, from) = (self.left, self.now);
        self.run(span);
        let carried = (self.left - before).per(self.now - from);
        carried.expect("time").ratio(self.rate)
    }
}
