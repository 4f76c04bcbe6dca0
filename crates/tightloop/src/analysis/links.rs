//! Links: what they could carry, what they carried, who waited.

use super::ring::Numbered;
use super::spike::Watch;
use super::unavoidable::Opportunities;
use super::{ByCause, LinkReport, Samples, Window};
use crate::event::{Cause, Direction, LinkId, PacketId, PathId};
use crate::units::{Bytes, Rate, Span, Time};

/// The bins in which delivery opportunities are held against what sources can
/// use. [RFC8867]: its bins.
const BIN: Span = Span::from_millis(200);

/// One link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    window: Window,
    /// The most that the sources behind this link can use.
    pub(super) demand: Option<Rate>,
    /// The rate since when, once known.
    rate: Option<(Rate, Time)>,
    /// Bits it could have carried in the window, and those that sources can use.
    capacity: f64,
    usable: f64,
    /// Opportunities in the window, and those of the current bin.
    offered: Option<Bytes>,
    offered_usable: Bytes,
    bin: (usize, Bytes),
    left: Bytes,
    drops: ByCause,
    marks: u64,
    /// Time that packets waited within the window, summed.
    waited: Span,
    waiting_max: Bytes,
    watch: Watch,
    opportunities: Opportunities,
}

/// One flow's packets at one link, of one path and direction.
#[derive(Clone, Debug)]
pub(super) struct Crossing {
    pub(super) link: LinkId,
    pub(super) path: PathId,
    pub(super) direction: Direction,
    pub(super) waited: Samples,
    pub(super) sojourn: Samples,
    /// What left in the window.
    pub(super) left: Bytes,
    /// When those that are at the link now joined its queue.
    joined: Numbered<Time>,
}

/// Bytes as bits.
fn bits(bytes: Bytes) -> f64 {
    let in_a_second = bytes.per(Span::from_secs(1));
    in_a_second.map_or(0.0, Rate::bps_f64)
}

impl Crossing {
    pub(super) fn new(link: LinkId, packet: &PacketId) -> Self {
        Self {
            link,
            path: packet.path,
            direction: packet.direction,
            waited: Samples::default(),
            sojourn: Samples::default(),
            left: Bytes::ZERO,
            joined: Numbered::default(),
        }
    }

    pub(super) fn is(&self, link: LinkId, packet: &PacketId) -> bool {
        self.link == link && self.path == packet.path && self.direction == packet.direction
    }

    /// When the packets that are still at the link joined.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Time> {
        self.joined.iter().copied()
    }
}

impl Link {
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            demand: None,
            rate: None,
            capacity: 0.0,
            usable: 0.0,
            offered: None,
            offered_usable: Bytes::ZERO,
            bin: (0, Bytes::ZERO),
            left: Bytes::ZERO,
            drops: ByCause::default(),
            marks: 0,
            waited: Span::ZERO,
            waiting_max: Bytes::ZERO,
            watch: Watch::default(),
            opportunities: Opportunities::default(),
        }
    }

    /// The least of a rate and what sources can use.
    fn usable(&self, rate: Rate) -> Rate {
        self.demand.map_or(rate, |demand| demand.min(rate))
    }

    /// The nominal rate from now on.
    pub(super) fn capacity(&mut self, at: Time, rate: Rate) {
        if let Some((before, since)) = self.rate {
            let secs = self.window.overlap(since, at).secs_f64();
            self.capacity += before.bps_f64() * secs;
            self.usable += self.usable(before).bps_f64() * secs;
            self.watch.changed(at, before, rate);
        }
        self.opportunities.change(at, rate);
        self.rate = Some((rate, at));
    }

    /// A delivery opportunity.
    #[inline]
    pub(super) fn opportunity(&mut self, at: Time, size: Bytes) {
        self.opportunities.push(at);
        let offered = self.offered.get_or_insert(Bytes::ZERO);
        let Some(bin) = self.window.step(at, BIN) else {
            return;
        };
        *offered += size;
        if bin != self.bin.0 {
            self.offered_usable += self.bin_usable();
            self.bin = (bin, Bytes::ZERO);
        }
        self.bin.1 += size;
    }

    fn bin_usable(&self) -> Bytes {
        let demand = self.demand.map(|demand| demand.over(BIN));
        demand.map_or(self.bin.1, |demand| demand.min(self.bin.1))
    }

    /// A packet joined the queue.
    #[inline]
    pub(super) fn queued(
        &mut self,
        at: Time,
        crossing: &mut Crossing,
        packet: &PacketId,
        waiting: Bytes,
    ) {
        crossing.joined.put(packet.number, at);
        if self.window.contains(at) {
            self.waiting_max = self.waiting_max.max(waiting);
        }
    }

    /// A packet left.
    #[inline]
    pub(super) fn left(
        &mut self,
        at: Time,
        crossing: &mut Crossing,
        (packet, size): (&PacketId, Bytes),
        (waited, sojourn): (Span, Span),
    ) {
        crossing.joined.take(packet.number);
        let joined = at - sojourn;
        self.waited += self.window.overlap(joined, joined + waited);
        self.watch.left(at, size, waited);
        if self.window.contains(at) {
            self.left += size;
            crossing.left += size;
            crossing.waited.push(waited);
            crossing.sojourn.push(sojourn);
        }
    }

    /// A packet was dropped, on arrival or after it had waited.
    pub(super) fn dropped(
        &mut self,
        at: Time,
        crossing: Option<&mut Crossing>,
        packet: &PacketId,
        cause: Cause,
    ) {
        if self.window.contains(at) {
            self.drops.add(cause);
        }
        let Some(crossing) = crossing else {
            return;
        };
        // What joined at this very moment is a copy: this one was refused.
        if let Some(joined) = crossing.joined.get_mut(packet.number)
            && *joined < at
        {
            self.waited += self.window.overlap(*joined, at);
            crossing.joined.take(packet.number);
        }
    }

    /// A packet was marked.
    pub(super) fn marked(&mut self, at: Time) {
        self.marks += u64::from(self.window.contains(at));
    }

    /// What it was like, with the packets of all flows that crossed it. `d` is
    /// the fastest round trip over it.
    pub(super) fn report<'a>(
        &self,
        name: String,
        crossings: impl Iterator<Item = &'a Crossing>,
        d: Option<Span>,
    ) -> LinkReport {
        let mut link = self.clone();
        let (mut waited, mut sojourn) = (Samples::default(), Samples::default());
        let mut inside = Vec::new();
        for crossing in crossings {
            waited.append(&crossing.waited, Span::ZERO);
            sojourn.append(&crossing.sojourn, Span::ZERO);
            inside.extend(crossing.waiting());
        }
        // Of the packets still here all wait but the oldest, which is in service.
        inside.sort_unstable();
        for joined in inside.into_iter().skip(1) {
            link.waited += link.window.overlap(joined, link.window.to);
        }
        if let Some((rate, _)) = self.rate {
            link.capacity(self.window.to, rate);
        }
        link.offered_usable += link.bin_usable();
        let length = link.window.length();
        let (capacity, usable) = match link.offered {
            Some(offered) => (Some(bits(offered)), bits(link.offered_usable)),
            None => (link.rate.map(|_| link.capacity), link.usable),
        };
        let waited = waited.spread();
        let over = |peak: Span| {
            let longest = waited.as_ref()?.max;
            peak.is_positive().then(|| longest.ratio(peak))
        };
        let share = |of: f64| (of > 0.0).then(|| bits(link.left) / of);
        let utilisation = capacity.and_then(share);
        let used = utilisation.unwrap_or(0.0);
        let unavoidable = d.and_then(|d| self.opportunities.peak(d, used, self.window.to));
        let mean = |bits: f64| Rate::from_bps_f64(bits / length.secs_f64());
        LinkReport {
            name,
            capacity: capacity.map(mean),
            carried: link.left.per(length).unwrap_or_default(),
            utilisation,
            utilisation_of_demand: capacity.and_then(|_| share(usable)),
            drops: link.drops,
            marks: link.marks,
            waiting: link.waited.ratio(length),
            waiting_max: link.waiting_max,
            waited,
            unavoidable,
            over_unavoidable: unavoidable.and_then(over),
            sojourn: sojourn.spread(),
            spikes: match link.offered {
                Some(_) => Vec::new(),
                None => self.watch.report(&self.window, d),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::FlowId;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn packet(number: u64) -> PacketId {
        PacketId {
            flow: FlowId(0),
            number,
            ..PacketId::default()
        }
    }

    fn report(link: &Link, crossing: &Crossing) -> LinkReport {
        link.report("link".into(), std::iter::once(crossing), None)
    }

    #[test]
    fn utilisation_is_what_left_over_the_integral_of_capacity() {
        let mut link = Link::new(Window {
            from: ms(1_000),
            to: ms(3_000),
        });
        link.demand = Some(Rate::from_mbps(1));
        link.capacity(Time::ZERO, Rate::from_mbps(4));
        link.capacity(ms(2_000), Rate::from_kbps(800));
        let mut crossing = Crossing::new(LinkId(0), &packet(0));
        for (number, at) in [(0, 999), (1, 1_000), (2, 2_999), (3, 3_000)] {
            let spans = (Span::ZERO, Span::from_millis(5));
            link.left(
                ms(at),
                &mut crossing,
                (&packet(number), Bytes::new(60_000)),
                spans,
            );
        }
        let report = report(&link, &crossing);
        // 1 s of 4 Mbit/s and 1 s of 0.8: 600 kB, of which 225 kB are wanted; 120 kB left.
        assert_eq!(report.capacity, Some(Rate::from_kbps(2_400)));
        assert_eq!(report.carried, Rate::from_kbps(480));
        assert_eq!(report.utilisation, Some(0.2));
        assert_eq!(report.utilisation_of_demand, Some(120.0 / 225.0));
        assert_eq!(report.sojourn.map(|sojourn| sojourn.count), Some(2));
    }

    #[test]
    fn a_trace_offers_opportunities() {
        let mut link = Link::new(Window::until(ms(1_000)));
        link.demand = Some(Rate::from_kbps(60));
        link.opportunity(ms(10), Bytes::new(1_504));
        link.opportunity(ms(190), Bytes::new(1_504));
        link.opportunity(ms(950), Bytes::new(1_000));
        let mut crossing = Crossing::new(LinkId(0), &packet(0));
        let spans = (Span::ZERO, Span::ZERO);
        link.left(
            ms(190),
            &mut crossing,
            (&packet(0), Bytes::new(1_002)),
            spans,
        );
        let report = report(&link, &crossing);
        assert_eq!(report.utilisation, Some(0.25));
        // 60 kbit/s are 1500 bytes in 200 ms: 1500 of the first bin, 1000 of the last.
        assert_eq!(report.utilisation_of_demand, Some(1_002.0 / 2_500.0));
    }

    #[test]
    fn a_link_of_unknown_capacity_has_no_utilisation() {
        let link = Link::new(Window::until(ms(1_000)));
        let report = report(&link, &Crossing::new(LinkId(0), &packet(0)));
        assert_eq!((report.capacity, report.utilisation), (None, None));
        assert_eq!(report.utilisation_of_demand, None);
    }

    #[test]
    fn waiting_packets_are_averaged_over_time() {
        let mut link = Link::new(Window {
            from: ms(100),
            to: ms(200),
        });
        let mut crossing = Crossing::new(LinkId(0), &packet(0));
        let mut queued = |link: &mut Link, at, number| {
            link.queued(ms(at), &mut crossing, &packet(number), Bytes::new(number));
        };
        // 0 waits 90..110, 10 ms of it inside, and is served until 120.
        queued(&mut link, 90, 0);
        // 1 waits 150..170 and is then dropped at the head.
        queued(&mut link, 150, 1);
        // 2 is in service and 3 waits from 180 on when the log ends.
        queued(&mut link, 160, 2);
        queued(&mut link, 180, 3);
        let spans = (Span::from_millis(20), Span::from_millis(30));
        link.left(
            ms(120),
            &mut crossing,
            (&packet(0), Bytes::new(1_500)),
            spans,
        );
        link.dropped(ms(170), Some(&mut crossing), &packet(1), Cause::Aqm);
        // 4 is refused on arrival, and so is a copy of 3 at its own moment.
        link.dropped(ms(175), Some(&mut crossing), &packet(4), Cause::Full);
        link.dropped(ms(180), Some(&mut crossing), &packet(3), Cause::Full);
        let report = report(&link, &crossing);
        // 10 + 20 + 20 of 100 ms.
        assert!((report.waiting - 0.5).abs() < 1e-12, "{}", report.waiting);
        assert_eq!(report.waiting_max, Bytes::new(3));
        assert_eq!(
            (report.drops.full, report.drops.aqm, report.drops.total()),
            (2, 1, 3)
        );
    }
}
