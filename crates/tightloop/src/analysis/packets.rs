//! A flow's packets: sent, arrived, lost, and how long that took.

use super::fairness::Share;
use super::frames::{Frames, Worth};
use super::links::Crossing;
use super::ring::Journeys;
use super::slots::Slots;
use super::{
    ByCause, ByKind, CrossingReport, FlowReport, LinkReport, PathReport, Samples, Spread, Window,
};
use crate::event::{Cause, Direction, Kind, LinkId, PacketId};
use crate::units::{Bytes, Rate, Span, Time, float, index};

/// A packet that has left the sender.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    kind: Kind,
    /// Its number among the packets that slots count.
    slotted: Option<u64>,
}

/// One path of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    journeys: Journeys<Departure>,
    /// The least of all delays and round trips of the run.
    base: Option<Span>,
    pub(super) fastest: Option<Span>,
    owd: Samples,
    rtt: Samples,
    sent: (u64, Bytes),
    arrived: (u64, Bytes),
    lost: u64,
    /// The first feedback packet that has not been seen yet.
    feedback: u64,
}

/// One flow.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    window: Window,
    pub(super) paths: Vec<Path>,
    pub(super) crossings: Vec<Crossing>,
    pub(super) share: Share,
    pub(super) frames: Frames,
    slots: Slots,
    sent: ByKind<Bytes>,
    arrived: ByKind<Bytes>,
    new: Bytes,
    late: Bytes,
    feedback: Bytes,
    duplicates: u64,
    drops: ByCause,
    marks: u64,
    given_up: u64,
    spurious: u64,
    timeouts: u64,
    arrivals: Option<(Time, Time)>,
}

/// A share of a total; nothing where the total is.
fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| float(part) / float(total))
}

/// A rate as a part of another; nothing where that is zero.
fn part(rate: Rate, of: Rate) -> Option<f64> {
    (of > Rate::ZERO).then(|| rate.ratio(of))
}

impl Flow {
    pub(super) fn new(window: Window, slot: Span) -> Self {
        Self {
            window,
            paths: Vec::new(),
            crossings: Vec::new(),
            share: Share::default(),
            frames: Frames::default(),
            slots: Slots::new(window, slot),
            sent: ByKind::default(),
            arrived: ByKind::default(),
            new: Bytes::ZERO,
            late: Bytes::ZERO,
            feedback: Bytes::ZERO,
            duplicates: 0,
            drops: ByCause::default(),
            marks: 0,
            given_up: 0,
            spurious: 0,
            timeouts: 0,
            arrivals: None,
        }
    }

    #[inline]
    fn path(&mut self, packet: &PacketId) -> &mut Path {
        let number = index(packet.path.0.into());
        if number >= self.paths.len() {
            self.paths.resize_with(number + 1, Path::default);
        }
        &mut self.paths[number]
    }

    /// This kind of packet at a link, kept from the first one on.
    #[inline]
    pub(super) fn crossing(&mut self, link: LinkId, packet: &PacketId) -> &mut Crossing {
        let known = self.crossings.iter().position(|it| it.is(link, packet));
        let place = known.unwrap_or_else(|| {
            self.crossings.push(Crossing::new(link, packet));
            self.crossings.len() - 1
        });
        &mut self.crossings[place]
    }

    /// A data packet left the sender.
    #[inline]
    pub(super) fn sent(&mut self, at: Time, packet: &PacketId, size: Bytes, kind: Kind) {
        self.share.sent(at);
        let slotted = self.slots.sent(at, size);
        let counts = self.window.contains(at);
        if counts {
            *self.sent.of_mut(&kind) += size;
        }
        let path = self.path(packet);
        path.journeys
            .start(packet.number, Departure { at, kind, slotted });
        if counts {
            path.sent.0 += 1;
            path.sent.1 += size;
        }
    }

    /// A data packet arrived at the receiver.
    #[inline]
    pub(super) fn arrived(&mut self, at: Time, packet: &PacketId, size: Bytes, duplicate: bool) {
        let window = self.window;
        let counts = window.contains(at);
        if duplicate {
            self.duplicates += u64::from(counts);
            return;
        }
        let path = self.path(packet);
        if counts {
            path.arrived.0 += 1;
            path.arrived.1 += size;
        }
        let Some((departure, missing)) = path.journeys.end(packet.number) else {
            return;
        };
        let owd = at - departure.at;
        path.base = Some(path.base.map_or(owd, |base| base.min(owd)));
        if missing && window.contains(departure.at) {
            path.lost -= 1;
        }
        if counts {
            path.owd.push(owd);
            self.counted(at, size, departure.kind);
        }
        if let Some(number) = departure.slotted {
            self.slots.arrived(number, at);
        }
        // Which fragments are there matters before the window too.
        if let Some(fragment) = departure.kind.fragment() {
            let worth = self.frames.arrived(fragment);
            if counts {
                match worth {
                    Worth::New => self.new += size,
                    Worth::Late => self.late += size,
                    Worth::Repeated => {}
                }
            }
        } else if counts && departure.kind == Kind::Bulk {
            self.new += size;
        }
    }

    #[inline]
    fn counted(&mut self, at: Time, size: Bytes, kind: Kind) {
        *self.arrived.of_mut(&kind) += size;
        self.arrivals = Some((self.arrivals.map_or(at, |(first, _)| first), at));
        if let Some(bin) = self.window.step(at, super::fairness::BIN) {
            self.share.arrived(bin, size);
        }
    }

    /// A feedback packet was seen at a link.
    #[inline]
    pub(super) fn feedback(&mut self, at: Time, packet: &PacketId, size: Bytes) {
        let counts = self.window.contains(at);
        let path = self.path(packet);
        if packet.number >= path.feedback {
            path.feedback = packet.number.saturating_add(1);
            if counts {
                self.feedback += size;
            }
        }
    }

    /// A link dropped a data packet.
    pub(super) fn dropped(&mut self, at: Time, packet: &PacketId, cause: Cause) {
        if self.window.contains(at) {
            self.drops.add(cause);
        }
        if let Some(number) = self.miss(packet) {
            self.slots.gone(number);
        }
    }

    /// A queue marked a data packet.
    pub(super) fn marked(&mut self, at: Time) {
        self.marks += u64::from(self.window.contains(at));
    }

    /// The sender gave a packet up.
    pub(super) fn given_up(&mut self, at: Time, packet: &PacketId) {
        self.given_up += u64::from(self.window.contains(at));
        self.miss(packet);
    }

    fn miss(&mut self, packet: &PacketId) -> Option<u64> {
        let window = self.window;
        let path = self.path(packet);
        let departure = path.journeys.miss(packet.number)?;
        path.lost += u64::from(window.contains(departure.at));
        departure.slotted
    }

    /// The sender learnt that a packet had arrived.
    #[inline]
    pub(super) fn acked(&mut self, at: Time, packet: &PacketId, rtt: Option<Span>, spurious: bool) {
        let counts = self.window.contains(at);
        self.spurious += u64::from(spurious && counts);
        let path = self.path(packet);
        if let Some(rtt) = rtt {
            path.fastest = Some(path.fastest.map_or(rtt, |fastest| fastest.min(rtt)));
            if counts {
                path.rtt.push(rtt);
            }
        }
    }

    /// The sender may probe.
    pub(super) fn timeout(&mut self, at: Time) {
        self.timeouts += u64::from(self.window.contains(at));
    }

    /// The flow's fastest round trip among its paths over a link.
    pub(super) fn fastest_over(&self, link: LinkId) -> Option<Span> {
        let mine = |it: &&Crossing| it.link == link && it.direction == Direction::Data;
        let crossings = self.crossings.iter().filter(mine);
        crossings
            .filter_map(|it| self.paths.get(index(it.path.0.into()))?.fastest)
            .min()
    }

    /// Adds its delays to those of others.
    pub(super) fn add_owd(&self, to: &mut Samples) {
        for path in &self.paths {
            to.append(&path.owd, Span::ZERO);
        }
    }

    /// Packets sent and lost.
    pub(super) fn losses(&self) -> (u64, u64) {
        let sum = |part: fn(&Path) -> u64| self.paths.iter().map(part).sum();
        (sum(|path| path.sent.0), sum(|path| path.lost))
    }

    /// Bytes that arrived, and between which moments.
    pub(super) fn arrivals(&self) -> (Bytes, Option<(Time, Time)>) {
        let bytes = self.paths.iter().map(|path| path.arrived.1).sum();
        (bytes, self.arrivals)
    }

    /// What it was like, beside what links were like.
    pub(super) fn report(&self, name: String, links: &[LinkReport]) -> FlowReport {
        let rate = |bytes: Bytes| bytes.per(self.window.length()).unwrap_or_default();
        let (mut owd, mut rtt, mut above) =
            (Samples::default(), Samples::default(), Samples::default());
        for path in &self.paths {
            owd.append(&path.owd, Span::ZERO);
            rtt.append(&path.rtt, Span::ZERO);
            above.append(&path.owd, path.base.unwrap_or_default());
        }
        let (sent, lost) = self.losses();
        let (arrived, arrivals) = self.arrivals();
        let total = self.sent.total();
        FlowReport {
            name,
            throughput: rate(arrived),
            throughput_by: self.arrived.map(rate),
            binned: Spread::of(self.share.rates(&self.window)),
            pantheon: arrivals.and_then(|(first, last)| arrived.per(last - first)),
            goodput: rate(self.new),
            late: rate(self.late),
            sending: rate(total),
            sending_by: self.sent.map(rate),
            converged: None,
            feedback: rate(self.feedback),
            filler: (total > Bytes::ZERO).then(|| self.sent.filler.ratio(total)),
            sent,
            arrived: self.paths.iter().map(|path| path.arrived.0).sum(),
            duplicates: self.duplicates,
            lost,
            loss: share(lost, sent),
            drops: self.drops,
            marks: self.marks,
            given_up: self.given_up,
            spurious: self.spurious,
            timeouts: self.timeouts,
            base: self.paths.iter().filter_map(|path| path.base).min(),
            owd: owd.spread(),
            owd_above_base: above.spread(),
            rtt: rtt.spread(),
            frames: self.frames.report(&self.window),
            slots: self.slots.report(),
            paths: self
                .paths
                .iter()
                .map(|path| path.report(&self.window))
                .collect(),
            crossings: self.crossing_reports(links),
        }
    }

    /// Its data packets at each link, all paths together.
    fn crossing_reports(&self, links: &[LinkReport]) -> Vec<CrossingReport> {
        let onward = |it: &&Crossing| it.direction == Direction::Data;
        let mut crossed: Vec<LinkId> = self
            .crossings
            .iter()
            .filter(onward)
            .map(|it| it.link)
            .collect();
        crossed.sort_unstable();
        crossed.dedup();
        let report = crossed.into_iter().map(|link| {
            let (mut waited, mut sojourn) = (Samples::default(), Samples::default());
            let mut left = Bytes::ZERO;
            for it in self
                .crossings
                .iter()
                .filter(onward)
                .filter(|it| it.link == link)
            {
                waited.append(&it.waited, Span::ZERO);
                sojourn.append(&it.sojourn, Span::ZERO);
                left += it.left;
            }
            let place = index(link.0.into());
            let carried = left.per(self.window.length()).unwrap_or_default();
            let whole = links.get(place);
            CrossingReport {
                link: place,
                carried,
                share: whole.and_then(|whole| part(carried, whole.carried)),
                of_free: whole.and_then(|whole| {
                    let others = whole.carried.saturating_sub(carried);
                    part(carried, whole.capacity?.saturating_sub(others))
                }),
                waited: waited.spread(),
                sojourn: sojourn.spread(),
            }
        });
        report.collect()
    }
}

impl Path {
    fn report(&self, window: &Window) -> PathReport {
        let rate = |bytes: Bytes| bytes.per(window.length()).unwrap_or_default();
        PathReport {
            throughput: rate(self.arrived.1),
            sending: rate(self.sent.1),
            loss: share(self.lost, self.sent.0),
            base: self.base,
            owd: self.owd.clone().spread(),
            rtt: self.rtt.clone().spread(),
        }
    }
}

/// All flows' losses as a share.
pub(super) fn loss_of(flows: &[Flow]) -> Option<f64> {
    let (mut sent, mut lost) = (0, 0);
    for flow in flows {
        let of_flow = flow.losses();
        sent += of_flow.0;
        lost += of_flow.1;
    }
    share(lost, sent)
}
