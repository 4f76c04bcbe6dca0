//! The same scenario with other propagation delays.

use super::{Built, Flow, Scenario, ScenarioError};
use crate::event::Log;
use crate::units::{Bytes, Rate, Span, Time};

impl Scenario {
    /// A flow's round trip over its first path without queues: the delays of the
    /// links there and back, and its own.
    #[must_use]
    pub fn natural_rtt(&self, flow: &Flow) -> Span {
        let own = flow.path.first();
        self.links_rtt(flow) + own.map_or(Span::ZERO, |path| path.delay + path.back_delay)
    }

    /// What of it the links take.
    fn links_rtt(&self, flow: &Flow) -> Span {
        let path = flow.path.first().into_iter();
        let names = path.flat_map(|path| path.links.iter().chain(&path.back));
        let delays = names.filter_map(|name| Some(self.link.get(name)?.delay));
        delays.fold(Span::ZERO, |sum, delay| sum + delay)
    }

    /// The same scenario, a *delay instance* of it: each flow has the round trip
    /// that is given for it, without queues. What its links do not take is its
    /// own delay, half of it there and half back.
    ///
    /// # Errors
    ///
    /// Fewer or more round trips than flows, one shorter than a flow's links
    /// take, and flows with several paths.
    pub fn instance(&self, rtts: &[Span]) -> Result<Self, ScenarioError> {
        if rtts.len() != self.flow.len() {
            let message = format!(
                "{} round trips for {} flows: each needs one",
                rtts.len(),
                self.flow.len()
            );
            return Err(ScenarioError::new("flow", message));
        }
        let mut instance = self.clone();
        for (id, (flow, rtt)) in instance.flow.iter_mut().zip(rtts).enumerate() {
            let fail = |message| Err(ScenarioError::new(format!("flow.{id}.path"), message));
            let own = *rtt - self.links_rtt(flow);
            if own < Span::ZERO {
                return fail(format!(
                    "a round trip of {rtt} is asked for, but the links alone take {}; give them \
                     less delay",
                    *rtt - own
                ));
            }
            let [path] = &mut *flow.path else {
                return fail(format!(
                    "the flow has {} paths; only with one can its round trip be set",
                    flow.path.len()
                ));
            };
            path.back_delay = own / 2;
            path.delay = own - own / 2;
        }
        Ok(instance)
    }
}

impl Built {
    /// Runs the world until `to`, with nobody listening, and tells at which rate
    /// each flow's data arrived from `from` on.
    #[must_use]
    pub fn rates(mut self, from: Time, to: Time) -> Vec<Rate> {
        let delivered = |built: &Self| -> Vec<Bytes> {
            let senders = built.senders.iter();
            senders.map(|host| built.world.delivered(*host)).collect()
        };
        self.world.run(from, &mut Log::off());
        let before = delivered(&self);
        self.world.run(to, &mut Log::off());
        let during = delivered(&self).into_iter().zip(before);
        during
            .map(|(after, before)| (after - before).per(to - from).unwrap_or_default())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Event;
    use crate::scenario::PathSettings;
    use crate::traffic::TrafficSettings;

    fn two() -> Scenario {
        let mut scenario = Scenario::single("cubic");
        scenario
            .flow
            .push(Flow::over("reno", "bottleneck", "return"));
        scenario
    }

    proptest! {
        #[test]
        fn each_flow_gets_the_round_trip_asked_for(nanos in proptest::collection::vec(40_000_000i64..200_000_000, 2)) {
            let rtts: Vec<Span> = nanos.into_iter().map(Span::from_nanos).collect();
            let instance = two().instance(&rtts).expect("40 ms of links fit");
            let natural: Vec<Span> = instance.flow.iter().map(|flow| instance.natural_rtt(flow)).collect();
            prop_assert_eq!(&natural, &rtts);
            // An instance of an instance is one of the scenario.
            prop_assert_eq!(instance.instance(&rtts), Ok(instance));
        }
    }

    #[test]
    fn rates_are_those_that_a_listener_finds() {
        let mut scenario = two();
        for flow in &mut scenario.flow {
            flow.traffic = Some(TrafficSettings::Bulk {});
        }
        let build = || scenario.build(&|_| None).expect("a world");
        let (from, to) = (Time::from_secs(3), Time::from_secs(8));
        let rates = build().rates(from, to);
        let mut arrived: Vec<(Time, Event)> = Vec::new();
        build().world.run(to, &mut Log::to(&mut arrived));
        for (flow, rate) in (0..).zip(&rates) {
            let sizes = arrived.iter().filter_map(|(at, event)| match event {
                Event::Arrived { packet, size, .. } if packet.flow.0 == flow && *at > from => {
                    Some(*size)
                }
                _ => None,
            });
            assert_eq!(sizes.sum::<Bytes>().per(to - from), Some(*rate));
        }
        let all = rates.iter().copied().sum::<Rate>().mbps_f64();
        assert!((19.0..20.1).contains(&all), "{rates:?}");
    }

    #[test]
    fn what_cannot_be_is_said() {
        let ms = |all: &[i64]| {
            all.iter()
                .copied()
                .map(Span::from_millis)
                .collect::<Vec<_>>()
        };
        let error = two().instance(&ms(&[50, 39])).expect_err("too short");
        assert_eq!(error.at, "flow.1.path");
        assert!(
            error.message.contains("the links alone take 40 ms"),
            "{error}"
        );
        let error = two().instance(&ms(&[50])).expect_err("too few");
        assert!(
            error.message.contains("1 round trips for 2 flows"),
            "{error}"
        );
        let mut several = two();
        several.flow[0].path.push(PathSettings::default());
        let error = several.instance(&ms(&[50, 50])).expect_err("two paths");
        assert!(error.message.contains("2 paths"), "{error}");
    }
}
