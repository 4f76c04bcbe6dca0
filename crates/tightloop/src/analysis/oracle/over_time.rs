//! What needs time cut into pieces: shares, slots, links and spikes.

use super::super::fairness::BIN;
use super::super::slots::GROUPS;
use super::*;

/// The middle of each piece of the window in which nothing changes, and its length.
fn pieces(window: &Window, mut edges: Vec<Time>) -> Vec<(Time, f64)> {
    edges.extend([window.from, window.to]);
    edges.retain(|at| window.from <= *at && *at <= window.to);
    edges.sort_unstable();
    let pieces = edges.windows(2).filter(|pair| pair[0] < pair[1]);
    pieces
        .map(|pair| (pair[0], (pair[1] - pair[0]).secs_f64()))
        .collect()
}

impl Oracle<'_> {
    /// Bytes of a flow that arrived between two moments.
    fn bytes(&self, flow: FlowId, from: Time, to: Time) -> f64 {
        let arrived = self
            .arrived
            .iter()
            .filter(|(packet, _)| packet.flow == flow);
        let inside = arrived.filter(|(_, at)| from <= **at && **at < to);
        inside
            .map(|(packet, _)| self.sent[packet].1.get_f64())
            .sum()
    }

    /// When a flow sent something.
    fn sending(&self, flow: FlowId) -> Vec<(Time, Bytes, PacketId)> {
        let mut sent = Vec::new();
        for (at, event) in self.log {
            if let Event::Sent { packet, size, .. } = event
                && packet.flow == flow
            {
                sent.push((*at, *size, *packet));
            }
        }
        sent
    }

    /// Each whole bin of the window and whether the flow was active for all of it.
    fn bins(&self, flow: FlowId) -> Vec<(Time, bool)> {
        let sent = self.sending(flow);
        let (Some(first), Some(last)) = (sent.first(), sent.last()) else {
            return Vec::new();
        };
        let starts = (0..).map(|bin| self.window.from + BIN * bin);
        let whole = starts.take_while(|start| *start + BIN <= self.window.to);
        whole
            .map(|start| (start, first.0 <= start && start + BIN <= last.0))
            .collect()
    }

    pub(super) fn check_shares(&self, report: &Report, flow: FlowId) -> Result<(), TestCaseError> {
        let report = &report.flows[index(flow.0.into())];
        let bins = self.bins(flow).into_iter().filter(|(_, active)| *active);
        let rates = bins.map(|(start, _)| self.bytes(flow, start, start + BIN));
        let rates: Vec<f64> = rates.map(|bytes| bytes * 8.0 / BIN.secs_f64()).collect();
        prop_assert_eq!(&report.binned, &Spread::of(rates));
        let inside = self
            .arrived
            .iter()
            .filter(|(id, at)| id.flow == flow && self.window.contains(**at));
        let times: Vec<Time> = inside.map(|(_, at)| *at).collect();
        let pantheon = times
            .iter()
            .min()
            .zip(times.iter().max())
            .and_then(|(first, last)| {
                let bytes = self.bytes(flow, self.window.from, self.window.to);
                (first < last).then(|| bytes * 8.0 / (*last - *first).secs_f64())
            });
        near(report.pantheon.map(Rate::bps_f64), pantheon, "pantheon")
    }

    pub(super) fn check_fairness(&self, report: &Report) -> Result<(), TestCaseError> {
        let (first, second) = (self.bins(FlowId(0)), self.bins(FlowId(1)));
        let both = first.iter().zip(&second).filter(|(a, b)| a.1 && b.1);
        let shares = both.map(|((start, _), _)| {
            [FlowId(0), FlowId(1)].map(|flow| self.bytes(flow, *start, *start + BIN))
        });
        let indices = shares.filter(|[a, b]| a + b > 0.0);
        let indices: Vec<f64> = indices
            .map(|[a, b]| (a + b) * (a + b) / (2.0 * (a * a + b * b)))
            .collect();
        prop_assert_eq!(&report.all.jain, &Spread::of(indices));
        Ok(())
    }

    /// Groups of slots and the frames sent through them, by the definition's words.
    pub(super) fn check_slots(&self, report: &Report, flow: FlowId) -> Result<(), TestCaseError> {
        let slot = Span::from_secs(1) / 60;
        let start = |number: i64| self.window.from + slot * number;
        let sent: Vec<_> = self
            .sending(flow)
            .into_iter()
            .filter(|(at, ..)| self.window.contains(*at))
            .collect();
        let of = |at: Time| (at - self.window.from).as_nanos() / slot.as_nanos();
        let whole = self.window.length().as_nanos() / slot.as_nanos();
        let (mut first, mut end) = (0, 0);
        if let (Some(a), Some(b)) = (sent.first(), sent.last()) {
            (first, end) = (of(a.0), whole.min(of(b.0) + 1));
        }
        for (place, n) in GROUPS.into_iter().enumerate() {
            let n = i64::try_from(n).expect("small");
            let (mut rates, mut delays, mut empty) = (Vec::new(), Vec::new(), Vec::new());
            for group in (0..whole / n).map(|group| group * n) {
                if group < first || group + n > end {
                    continue;
                }
                let inside = |at: Time| start(group) <= at && at < start(group + n);
                let mine = sent
                    .iter()
                    .enumerate()
                    .filter(|(_, packet)| inside(packet.0));
                let mine: Vec<_> = mine.collect();
                let total: f64 = mine.iter().map(|(_, packet)| packet.1.get_f64()).sum();
                rates.push(libm::floor(total * 8.0 / (slot * n).secs_f64() + 1e-6));
                for frame in 0..n {
                    let due = start(group + frame);
                    if mine.is_empty() {
                        empty.push(due);
                        continue;
                    }
                    delays.extend(empty.drain(..).map(|empty| due - empty));
                    let k = float(u64::try_from(frame + 1).expect("positive"));
                    let share = total * k / float(u64::try_from(n).expect("positive"));
                    let mut sum = 0.0;
                    let covering = mine.iter().find(|(_, packet)| {
                        sum += packet.1.get_f64();
                        sum >= share - 1e-6
                    });
                    let (covering, _) = covering.expect("all bytes cover all frames");
                    let rescue = sent[*covering..].iter().find_map(|(at, _, packet)| {
                        self.arrived.get(packet).map(|arrived| (*at, *arrived))
                    });
                    delays.extend(rescue.map(|(left, at)| at - left.min(due)));
                }
            }
            let found = &report.flows[index(flow.0.into())].slots[place];
            let delays = delays.into_iter().map(nanos).collect();
            prop_assert_eq!(&found.frame_delay, &Spread::of(delays), "delays, n = {}", n);
            prop_assert_eq!(&found.bitrate, &Spread::of(rates), "rates, n = {}", n);
        }
        Ok(())
    }

    pub(super) fn check_link(&self, report: &Report, link: LinkId) -> Result<(), TestCaseError> {
        let found = &report.links[index(link.0.into())];
        let left = self.sum(|event| match event {
            Event::Left { link: of, size, .. } if *of == link => Some(size.get_f64()),
            _ => None,
        });
        near(
            Some(found.carried.bps_f64()),
            Some(left * 8.0 / self.secs()),
            "carried",
        )?;
        let (mut offered, mut usable) = (0.0, 0.0);
        if link == LinkId(0) {
            let edges = CAPACITY
                .iter()
                .map(|(ms, _)| Time::from_millis(*ms))
                .collect();
            for (at, secs) in pieces(&self.window, edges) {
                let now = CAPACITY
                    .iter()
                    .rev()
                    .find(|(ms, _)| Time::from_millis(*ms) <= at);
                let rate = now.expect("known from the start").1.bps_f64();
                offered += rate * secs / 8.0;
                usable += rate.min(DEMAND.bps_f64()) * secs / 8.0;
            }
        } else {
            offered = self.sum(|event| match event {
                Event::Opportunity { size, .. } => Some(size.get_f64()),
                _ => None,
            });
            usable = offered;
        }
        let capacity = found.capacity.expect("both links have one").bps_f64();
        let slack = 5.0 * 8.0 / self.secs();
        prop_assert!(
            (capacity - offered * 8.0 / self.secs()).abs() < slack,
            "{}",
            capacity
        );
        for (found, of) in [
            (found.utilisation, offered),
            (found.utilisation_of_demand, usable),
        ] {
            let expected = (of > 0.0).then(|| left / of);
            prop_assert_eq!(found.is_some(), expected.is_some());
            let error = found.unwrap_or(0.0) - expected.unwrap_or(0.0);
            prop_assert!(error.abs() < 1e-3, "{:?} {:?}", found, expected);
        }
        let waited: Option<Spread<Span>> = Spread::of(self.values(|_, event| match event {
            Event::Left {
                link: of, waited, ..
            } if *of == link => Some(*waited),
            _ => None,
        }));
        prop_assert_eq!(&found.waited, &waited);
        self.check_waiting(found, link)
    }

    /// Counts who waits in each piece of time in which that does not change.
    fn check_waiting(&self, found: &LinkReport, link: LinkId) -> Result<(), TestCaseError> {
        let mut waits = Vec::new();
        for (joined, event) in self.log {
            let Event::Queued {
                link: of, packet, ..
            } = event
            else {
                continue;
            };
            if *of != link {
                continue;
            }
            let served = self.log.iter().find_map(|(at, event)| match event {
                Event::Left {
                    packet: left,
                    waited,
                    sojourn,
                    ..
                } if left == packet => Some(*at - *sojourn + *waited),
                Event::Dropped { packet: left, .. } if left == packet && at > joined => Some(*at),
                _ => None,
            });
            waits.push((*joined, served));
        }
        // Of those that never leave the oldest is in service.
        let oldest = waits.iter().position(|(_, served)| served.is_none());
        if let Some(oldest) = oldest {
            waits.remove(oldest);
        }
        let ends = waits
            .iter()
            .map(|(joined, served)| (*joined, served.unwrap_or(self.window.to)));
        let ends: Vec<_> = ends.collect();
        let edges = ends
            .iter()
            .flat_map(|(joined, served)| [*joined, *served])
            .collect();
        let mut sum = 0.0;
        for (at, secs) in pieces(&self.window, edges) {
            let waiting = ends
                .iter()
                .filter(|(joined, served)| *joined <= at && at < *served);
            sum += float(count(waiting.count())) * secs;
        }
        let error = found.waiting - sum / self.secs();
        prop_assert!(
            error.abs() < 1e-6,
            "{} instead of {}",
            found.waiting,
            sum / self.secs()
        );
        Ok(())
    }

    pub(super) fn check_spikes(&self, report: &Report) -> Result<(), TestCaseError> {
        let on_first = |packet: &PacketId| packet.path == PathId(0);
        let mut spikes = report.links[0].spikes.iter();
        let rtts = self.log.iter().filter_map(|(_, event)| match event {
            Event::Acked { packet, rtt, .. } if on_first(packet) => *rtt,
            _ => None,
        });
        let d = rtts.min();
        for pair in CAPACITY.windows(2).filter(|pair| pair[1].1 < pair[0].1) {
            let [(_, before), (ms, after)] = [pair[0], pair[1]];
            let at = Time::from_millis(ms);
            if !self.window.contains(at) {
                continue;
            }
            let spike = spikes.next().expect("a spike for each drop");
            let next = CAPACITY.iter().find(|(next, _)| *next > ms);
            let until = next.map_or(Time::from_secs(7), |(next, _)| Time::from_millis(*next));
            let (mut bytes, mut peak, mut since) = (0.0, Span::ZERO, None);
            for (left, event) in self.log {
                let Event::Left {
                    link: LinkId(0),
                    size,
                    waited,
                    ..
                } = event
                else {
                    continue;
                };
                since.get_or_insert(*left);
                if at - Span::from_secs(1) <= *left && *left < at {
                    bytes += size.get_f64();
                }
                if at <= *left && *left < until {
                    peak = peak.max(*waited);
                }
            }
            let secs = since.map_or(0.0, |since| (at - since).secs_f64().min(1.0));
            let throughput = if secs > 0.0 { bytes * 8.0 / secs } else { 0.0 };
            let r = throughput.min(before.bps_f64()) / after.bps_f64();
            prop_assert!(
                (spike.ratio - r).abs() < 1e-3,
                "{} instead of {}",
                spike.ratio,
                r
            );
            prop_assert_eq!(spike.measured, peak);
            let bound = d.map(|d| (d.secs_f64() * (r - 1.0)).max(0.0));
            prop_assert_eq!(spike.bound.is_some(), bound.is_some());
            let error = spike.bound.unwrap_or_default().secs_f64() - bound.unwrap_or(0.0);
            prop_assert!(error.abs() < 1e-3);
        }
        prop_assert!(spikes.next().is_none());
        Ok(())
    }
}
