//! Bytes that are not video: bulk transfers, limited applications and cross
//! traffic.
//!
//! A bulk source always has more. A *limited* one makes bytes at a rate, which
//! a congestion controller then sends as it may; where they pile up the
//! application waits and the time is lost. *Constant bit rate* sends a packet at
//! exact intervals whatever the network does, all the time or on and off.
//!
//! A [`Traffic`] owns no clock. Each event makes at most one packet, at a
//! logical instant; calling late changes nothing but lateness. Sizes and rates
//! are bytes of IP packets; times in settings are the run's clock.

use crate::cc::SettingError;
use crate::rng::Stream;
use crate::units::{Bytes, Rate, Span, Time};

pub use settings::{Cbr, Limited, OnOff, RatePhase, TrafficSettings};

mod settings;

/// A source of bytes that are not video.
#[derive(Clone, Debug)]
pub struct Traffic {
    backlogged: bool,
    packet: Bytes,
    buffer: Option<Bytes>,
    clock: Clock,
    schedule: Schedule,
}

impl Traffic {
    /// A source that is switched on at `start` and makes packets of at most
    /// `mtu` bytes.
    ///
    /// # Errors
    ///
    /// A packet, phase or on/off length that makes no sense.
    pub fn new(
        settings: &TrafficSettings,
        mtu: Bytes,
        start: Time,
        rng: Stream,
    ) -> Result<Self, SettingError> {
        settings.check(mtu)?;
        let mut traffic = Self {
            backlogged: false,
            packet: mtu,
            buffer: None,
            clock: Clock::new(start),
            schedule: Schedule::Constant,
        };
        match settings {
            TrafficSettings::Bulk {} => traffic.backlogged = true,
            TrafficSettings::Limited(limited) => {
                traffic.buffer = Some(limited.buffer);
                traffic.clock.rate = limited.rate_at(start);
                traffic.schedule = Schedule::Phases(limited.clone());
            }
            TrafficSettings::Cbr(cbr) => {
                traffic.packet = cbr.packet.unwrap_or(mtu);
                traffic.clock.rate = cbr.rate;
                if let Some(lengths) = cbr.on_off {
                    traffic.schedule = Schedule::on_off(lengths, cbr.rate, start, rng);
                }
            }
        }
        Ok(traffic)
    }

    /// True for a source that always has more to send; it has no events.
    #[must_use]
    pub const fn backlogged(&self) -> bool {
        self.backlogged
    }

    /// When to call [`Traffic::on_event`].
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let packet = self.clock.next(self.packet);
        match (self.schedule.next_switch(self.clock.since), packet) {
            (Some(switch), Some(packet)) => Some(switch.min(packet)),
            (switch, packet) => switch.or(packet),
        }
    }

    /// Takes the next event that is due by `now`, and gives the size of the
    /// packet it makes, or zero. To be called until [`Traffic::next_event`] is
    /// later than `now`.
    ///
    /// `waiting` is how many of this source's bytes have not been sent yet.
    pub fn on_event(&mut self, now: Time, waiting: Bytes) -> Bytes {
        let Some(at) = self.next_event().filter(|at| *at <= now) else {
            return Bytes::ZERO;
        };
        if self.schedule.next_switch(self.clock.since) == Some(at) {
            self.schedule.switch(at, self.packet, &mut self.clock);
            return Bytes::ZERO;
        }
        self.clock.made += 1;
        let full = self.buffer.is_some_and(|b| waiting + self.packet > b);
        if full { Bytes::ZERO } else { self.packet }
    }
}

/// Packets at exact intervals since the rate last changed.
#[derive(Clone, Copy, Debug)]
struct Clock {
    since: Time,
    rate: Rate,
    /// Bytes still to be made for the first packet since.
    owed: Bytes,
    /// Packets made since.
    made: u64,
}

impl Clock {
    const fn new(since: Time) -> Self {
        Self {
            since,
            rate: Rate::ZERO,
            owed: Bytes::ZERO,
            made: 0,
        }
    }

    /// When the next packet is made; `None` while the rate is zero.
    fn next(&self, packet: Bytes) -> Option<Time> {
        // From the count, so that a rounded interval does not drift.
        let bytes = self.owed + packet * self.made;
        Some(self.since + bytes.at(self.rate)?)
    }

    /// Goes on at another rate; what was made of the next packet is kept.
    fn change(&mut self, at: Time, rate: Rate, packet: Bytes) {
        let made = self.rate.over(at - self.since);
        let owed = (self.owed + packet * self.made).saturating_sub(made);
        *self = Self {
            since: at,
            rate,
            owed,
            made: 0,
        };
    }
}

/// How the rate changes.
#[derive(Clone, Debug)]
enum Schedule {
    Constant,
    Phases(Limited),
    OnOff {
        lengths: OnOff,
        rate: Rate,
        until: Time,
        rng: Stream,
    },
}

impl Schedule {
    fn on_off(lengths: OnOff, rate: Rate, start: Time, mut rng: Stream) -> Self {
        Self::OnOff {
            until: start + lengths.draw(lengths.on, &mut rng),
            lengths,
            rate,
            rng,
        }
    }

    /// The first change after the last one.
    fn next_switch(&self, last: Time) -> Option<Time> {
        match self {
            Self::Constant => None,
            Self::Phases(limited) => {
                let ends = limited
                    .phases
                    .iter()
                    .flat_map(|phase| [phase.from, phase.to]);
                ends.filter(|end| *end > last).min()
            }
            Self::OnOff { until, .. } => Some(*until),
        }
    }

    fn switch(&mut self, at: Time, packet: Bytes, clock: &mut Clock) {
        match self {
            Self::Constant => {}
            Self::Phases(limited) => clock.change(at, limited.rate_at(at), packet),
            Self::OnOff {
                lengths,
                rate,
                until,
                rng,
            } => {
                let goes_on = clock.rate == Rate::ZERO;
                let mean = if goes_on { lengths.on } else { lengths.off };
                // Each time it goes on it starts with a packet at once.
                *clock = Clock::new(at);
                clock.rate = if goes_on { *rate } else { Rate::ZERO };
                *until = at + lengths.draw(mean, rng);
            }
        }
    }
}

impl OnOff {
    fn draw(&self, mean: Span, rng: &mut Stream) -> Span {
        // Never zero: time has to move on.
        let drawn = if self.random {
            mean * rng.exponential()
        } else {
            mean
        };
        drawn.max(Span::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::count;

    const MTU: Bytes = Bytes::new(1500);

    fn traffic(text: &str, seed: u64) -> Traffic {
        let settings = toml::from_str(text).expect("good settings");
        let rng = Stream::named(seed, "traffic");
        Traffic::new(&settings, MTU, Time::from_secs(1), rng).expect("good settings")
    }

    /// Every packet until then, with its logical time.
    fn packets(traffic: &mut Traffic, until: Time) -> Vec<(Time, Bytes)> {
        let mut made = Vec::new();
        while let Some(at) = traffic.next_event().filter(|at| *at <= until) {
            let size = traffic.on_event(until, Bytes::ZERO);
            if size > Bytes::ZERO {
                made.push((at, size));
            }
        }
        made
    }

    fn between(made: &[(Time, Bytes)], from: u64, to: u64) -> Bytes {
        let inside = |at: Time| Time::from_secs(from) <= at && at < Time::from_secs(to);
        made.iter()
            .filter(|(at, _)| inside(*at))
            .map(|(_, size)| *size)
            .sum()
    }

    #[test]
    fn bulk_is_backlogged_and_has_no_events() {
        let mut bulk = traffic("bulk = {}", 1);
        assert!(bulk.backlogged());
        assert_eq!(bulk.next_event(), None);
        assert_eq!(bulk.on_event(Time::from_secs(9), Bytes::ZERO), Bytes::ZERO);
    }

    #[test]
    fn constant_bit_rate_keeps_exact_intervals() {
        // 7 Mbit/s in packets of 1000 B: 875 a second, an interval that does not divide.
        let mut cbr = traffic("cbr = { rate = \"7 Mbit/s\", packet = \"1 kB\" }", 1);
        assert!(!cbr.backlogged());
        let made = packets(&mut cbr, Time::from_secs(1_001));
        assert_eq!(made.len(), 875_001);
        for second in [0, 1, 500, 1_000] {
            let (at, size) = made[875 * second];
            assert_eq!(at, Time::from_secs(1 + count(second)));
            assert_eq!(size, Bytes::new(1_000));
        }
    }

    #[test]
    fn on_and_off_take_turns() {
        let text = "cbr = { rate = \"12 Mbit/s\", on_off = { on = \"2 s\", off = \"1 s\" } }";
        let made = packets(&mut traffic(text, 1), Time::from_secs(8));
        // From its start at 1 s: on until 3, off until 4, on until 6, off until 7.
        let second = Rate::from_mbps(12).over(Span::from_secs(1));
        assert_eq!(between(&made, 0, 1), Bytes::ZERO);
        assert_eq!(between(&made, 1, 3), second * 2);
        assert_eq!(between(&made, 3, 4), Bytes::ZERO);
        assert_eq!(between(&made, 4, 6), second * 2);
        assert_eq!(between(&made, 6, 7), Bytes::ZERO);
    }

    #[test]
    fn random_on_and_off_have_their_means() {
        let text = "cbr = { rate = \"12 Mbit/s\", \
                    on_off = { on = \"200 ms\", off = \"600 ms\", random = true } }";
        let made = packets(&mut traffic(text, 5), Time::from_secs(2_001));
        let sent: Bytes = made.iter().map(|(_, size)| *size).sum();
        let share = sent.ratio(Rate::from_mbps(12).over(Span::from_secs(2_000)));
        assert!((0.235..0.265).contains(&share), "{share}");
        let long_gaps = made
            .windows(2)
            .filter(|pair| pair[1].0 - pair[0].0 > Span::from_millis(600));
        // 2500 turns; e⁻¹ of the gaps are longer than their mean.
        let count = long_gaps.count();
        assert!((840..1_000).contains(&count), "{count}");
    }

    #[test]
    fn a_limited_source_follows_its_phases_to_the_packet() {
        let text = "[limited]\nrate = \"20 Mbit/s\"\nphases = [\n\
                    { from = \"10 s\", to = \"20 s\", rate = \"1.9 Mbit/s\" },\n\
                    { from = \"15 s\", to = \"16 s\", rate = \"0 bit/s\" },\n]";
        let made = packets(&mut traffic(text, 1), Time::from_secs(31));
        for (from, to, bps) in [
            (1, 10, 20_000_000),
            (10, 15, 1_900_000),
            (15, 16, 0),
            (16, 20, 1_900_000),
            (20, 30, 20_000_000),
        ] {
            let due = Rate::from_bps(bps).over(Time::from_secs(to) - Time::from_secs(from));
            let got = between(&made, from, to);
            assert!(
                got <= due + MTU && due <= got + MTU,
                "{from} s: {got} of {due}"
            );
        }
    }

    #[test]
    fn a_limited_source_waits_while_its_buffer_is_full_and_does_not_catch_up() {
        let mut limited = traffic("[limited]\nrate = \"12 Mbit/s\"\nbuffer = \"6 kB\"", 1);
        let mut drive = |until: u64, waiting: u64| {
            let mut made = Bytes::ZERO;
            while limited
                .next_event()
                .is_some_and(|at| at < Time::from_secs(until))
            {
                made += limited.on_event(Time::from_secs(until), Bytes::new(waiting));
            }
            made
        };
        let second = Rate::from_mbps(12).over(Span::from_secs(1));
        assert_eq!(drive(2, 4_500), second, "room for exactly one packet");
        assert_eq!(drive(3, 4_501), Bytes::ZERO, "no room");
        assert_eq!(drive(4, 0), second);
    }

    proptest! {
        #[test]
        fn late_calls_change_nothing_but_lateness(
            seed: u64,
            kbps in 10u64..50_000,
            on_ms in 1u64..500,
            off_ms in 1u64..500,
            random: bool,
            steps in prop::collection::vec(1i64..300, 1..40),
        ) {
            let text = format!(
                "[cbr]\nrate = \"{kbps} kbit/s\"\n\
                 on_off = {{ on = \"{on_ms} ms\", off = \"{off_ms} ms\", random = {random} }}"
            );
            let mut late = traffic(&text, seed);
            let (mut now, mut made) = (Time::from_secs(1), Vec::new());
            for step in steps {
                now += Span::from_millis(step);
                made.extend(packets(&mut late, now));
            }
            let mut punctual = traffic(&text, seed);
            let mut again = Vec::new();
            while let Some(at) = punctual.next_event().filter(|at| *at <= now) {
                prop_assert_eq!(punctual.on_event(at - Span::from_nanos(1), Bytes::ZERO), Bytes::ZERO);
                prop_assert_eq!(punctual.next_event(), Some(at), "an early call does nothing");
                let size = punctual.on_event(at, Bytes::ZERO);
                if size > Bytes::ZERO {
                    again.push((at, size));
                }
            }
            prop_assert_eq!(made, again);
        }
    }
}
