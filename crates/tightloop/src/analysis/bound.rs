//! The delay no sender can avoid when a link's capacity drops, in closed form.
//!
//! A link's capacity drops from C to C/r. Until the news has reached the sender,
//! and what was already under way has arrived, a time d = signal + flight later,
//! data comes in r times as fast as it leaves. [SpikeBound]
//!
//! ```
//! use tightloop::analysis::bound::Step;
//! use tightloop::units::{Rate, Span};
//!
//! let step = Step::new(Rate::from_mbps(60), Rate::from_mbps(20), Span::from_millis(50));
//! let step = step.expect("something is left");
//! assert_eq!(step.spike(), Span::from_millis(100));
//! ```

use crate::units::{Bytes, Rate, Span, round};

/// The factor by which a sender that got `throughput` before the drop finds
/// itself too fast after it: r of a full link, less of one that was not full.
/// Nothing where no capacity is left.
#[must_use]
pub fn effective_ratio(throughput: Rate, after: Rate) -> Option<f64> {
    (after > Rate::ZERO).then(|| throughput.ratio(after))
}

/// Equation 1: the queue that grows in `time` while data comes in `r` times as
/// fast as it leaves, as waiting time at the new rate.
#[must_use]
pub fn growth(r: f64, time: Span) -> Span {
    (time * (r - 1.0)).max(Span::ZERO)
}

/// Equation 2: the peak of the queue, (r − 1) d, where `signal` is how long the
/// news takes to the sender and `flight` how long what it sends takes to the
/// link: together a round trip where the receiver tells the sender.
#[must_use]
pub fn bound(r: f64, signal: Span, flight: Span) -> Span {
    growth(r, signal + flight)
}

/// Equation 3: what must be lost where the queue holds `limit` at most, as the
/// new rate's bytes, and as a share of all that arrives during `d`.
#[must_use]
pub fn loss(r: f64, d: Span, limit: Span, after: Rate) -> (Bytes, f64) {
    let excess = (growth(r, d) - limit).max(Span::ZERO);
    let arriving = d * r;
    (after.over(excess), excess.ratio(arriving).max(0.0))
}

/// What [`Step::knobs`] takes to be a little time or a short queue. Ours: 10 ms.
pub const A_LITTLE: Span = Span::from_millis(10);
/// What [`Step::knobs`] takes to be a little less of the link. Ours: a tenth.
const LESS: f64 = 0.9;

/// One drop of a link's capacity, and how news of it travel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The capacity before.
    pub before: Rate,
    /// The capacity after, not zero.
    pub after: Rate,
    /// How long the news takes from the link to the sender.
    pub signal: Span,
    /// How long what is sent takes to the link.
    pub flight: Span,
    /// The share of the capacity that was used before, from 0 to 1.
    pub used: f64,
    /// The most that can wait, as time at the new rate; nothing for no limit.
    pub limit: Option<Span>,
}

/// What a drop does to video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frames {
    /// One frame's bytes.
    pub size: Bytes,
    /// How long it takes to leave the link alone, before the drop.
    pub before: Span,
    /// The same after it.
    pub after: Span,
    /// How much later than usual the last frame arrives of those sent before
    /// the news: the spike itself.
    pub late: Span,
    /// How many frames must be left out for the queue to be gone when the next
    /// one comes.
    pub left_out: u64,
}

/// A thing that makes a spike smaller, or one that its bound takes for granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knob {
    /// What it is.
    pub name: &'static str,
    /// What it changes here.
    pub how: &'static str,
    /// The bound takes it for granted: then the spike is the one without it.
    pub granted: bool,
    /// The spike with it.
    pub spike: Span,
    /// The share of what arrives during d that is lost for it.
    pub lost: f64,
}

impl Step {
    /// A full link without a limit to its queue, and a round trip in the middle
    /// of which it lies. Nothing where no capacity is left: then the spike is as
    /// long as the outage.
    #[must_use]
    pub fn new(before: Rate, after: Rate, round_trip: Span) -> Option<Self> {
        let flight = round_trip / 2;
        (after > Rate::ZERO).then_some(Self {
            before,
            after,
            signal: round_trip - flight,
            flight,
            used: 1.0,
            limit: None,
        })
    }

    /// r_eff: how much too fast the sender is, until it knows.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.used * self.before.ratio(self.after)
    }

    /// d, signal and flight.
    #[must_use]
    pub fn d(&self) -> Span {
        self.signal + self.flight
    }

    /// Equation 2: the longest wait if the queue has no limit.
    #[must_use]
    pub fn spike(&self) -> Span {
        bound(self.ratio(), self.signal, self.flight)
    }

    /// The longest wait in the queue there is.
    #[must_use]
    pub fn wait(&self) -> Span {
        let spike = self.spike();
        self.limit.map_or(spike, |limit| spike.min(limit))
    }

    /// Equation 3: bytes lost for the limit, and their share of what arrives
    /// during d.
    #[must_use]
    pub fn lost(&self) -> (Bytes, f64) {
        match self.limit {
            Some(limit) => loss(self.ratio(), self.d(), limit, self.after),
            None => (Bytes::ZERO, 0.0),
        }
    }

    /// What it does to video with such a frame interval that fills the share.
    #[must_use]
    pub fn frames(&self, interval: Span) -> Frames {
        let size = (self.before * self.used).over(interval);
        let late = self.wait();
        Frames {
            size,
            before: size.at(self.before).unwrap_or_default(),
            after: size.at(self.after).unwrap_or_default(),
            late,
            left_out: whole(late.ratio(interval)),
        }
    }

    /// What would help, in the paper's order of thought: a lower r, then a
    /// shorter d. The queue has no limit but where a row says so.
    #[must_use]
    pub fn knobs(&self) -> Vec<Knob> {
        let with = |name, how, change: &dyn Fn(&mut Self)| {
            let mut step = *self;
            change(&mut step);
            let spike = step.spike();
            Knob {
                name,
                how,
                spike,
                granted: false,
                lost: 0.0,
            }
        };
        let of_ratio = |name, how, r| Knob {
            name,
            how,
            spike: growth(r, self.d()),
            granted: false,
            lost: 0.0,
        };
        let granted = |name, how| Knob {
            granted: true,
            ..with(name, how, &|it| it.signal += A_LITTLE)
        };
        let short = loss(self.ratio(), self.d(), A_LITTLE, self.after);
        vec![
            with("use less", "a tenth less of the link", &|it| {
                it.used *= LESS;
            }),
            of_ratio(
                "fall gradually",
                "in two equal steps, the queue drained between",
                self.used * libm::sqrt(self.before.ratio(self.after)),
            ),
            of_ratio(
                "a queue per flow",
                "for a flow that had a quarter of it beside one that had the rest",
                self.ratio() / 2.0,
            ),
            with(
                "be told at once",
                "by the link, along the way the data came",
                &|it| {
                    it.signal = it.signal.min(it.flight);
                },
            ),
            with("foresee it", "as early as the news takes", &|it| {
                it.signal = Span::ZERO;
            }),
            with("be near", "half as far, as with a CDN", &|it| {
                it.signal = it.signal / 2;
                it.flight = it.flight / 2;
            }),
            with(
                "drop layers on the way",
                "at the link, without asking the sender",
                &|it| {
                    (it.signal, it.flight) = (Span::ZERO, Span::ZERO);
                },
            ),
            Knob {
                name: "a short queue",
                how: "10 ms, the rest is lost",
                spike: self.spike().min(A_LITTLE),
                granted: false,
                lost: short.1,
            },
            granted(
                "acknowledgements first",
                "else the news waits 10 ms on its way back",
            ),
            granted(
                "drops at the head",
                "else the sign is put on behind 10 ms of queue",
            ),
        ]
    }
}

/// Rounded up; to a millionth, whole is whole.
fn whole(intervals: f64) -> u64 {
    round(libm::ceil(intervals - 1e-6).max(0.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::float;

    const fn ms(ms: i64) -> Span {
        Span::from_millis(ms)
    }

    fn step(before: u64, after: u64, rtt: i64) -> Step {
        Step::new(Rate::from_mbps(before), Rate::from_mbps(after), ms(rtt)).expect("some rate")
    }

    #[test]
    fn closed_forms_give_the_numbers_of_the_paper() {
        // The step 20 → 5 Mbit/s at 40 ms of a sender that uses .9 of the link.
        let r = effective_ratio(Rate::from_mbps(18), Rate::from_mbps(5)).expect("some rate");
        assert!((r - 3.6).abs() < 1e-12);
        assert_eq!(bound(r, ms(15), ms(25)), ms(104));
        assert_eq!(bound(2.0, ms(75), Span::ZERO), ms(75));
        assert_eq!(bound(3.0, ms(75), Span::ZERO), ms(150));
        assert_eq!(growth(3.0, ms(10)), ms(20));
        assert_eq!(growth(0.5, ms(10)), Span::ZERO);
        assert_eq!(effective_ratio(Rate::from_mbps(1), Rate::ZERO), None);
        assert_eq!(Step::new(Rate::from_mbps(1), Rate::ZERO, ms(1)), None);
        let sqp = Step {
            used: 0.9,
            ..step(20, 5, 40)
        };
        assert_eq!(sqp.spike(), ms(104));
    }

    #[test]
    fn a_limited_queue_loses_the_rest() {
        let rate = Rate::from_mbps(20);
        // (3 − 1) 100 ms − 50 ms at 20 Mbit/s; 1 − 1/3 − 50/300 of what arrives.
        let (bytes, share) = loss(3.0, ms(100), ms(50), rate);
        assert_eq!(bytes, Bytes::new(375_000));
        assert!((share - 0.5).abs() < 1e-12, "{share}");
        assert_eq!(loss(3.0, ms(100), ms(250), rate), (Bytes::ZERO, 0.0));
        let limited = Step {
            limit: Some(ms(50)),
            ..step(60, 20, 100)
        };
        assert_eq!((limited.wait(), limited.lost().0), (ms(50), bytes));
        assert_eq!(step(60, 20, 100).lost(), (Bytes::ZERO, 0.0));
    }

    #[test]
    fn a_frame_crosses_r_times_as_long_and_the_last_is_late_by_the_spike() {
        // A 33 ms frame at a quarter of the rate takes 132 ms. [Vidaptive] Fig. 3
        let frames = step(8, 2, 60).frames(ms(33));
        assert_eq!((frames.before, frames.after), (ms(33), ms(132)));
        assert_eq!((frames.size, frames.late), (Bytes::new(33_000), ms(180)));
        // 180 ms are five intervals and a half.
        assert_eq!(frames.left_out, 6);
        assert_eq!(step(8, 2, 44).frames(ms(33)).left_out, 4);
        assert_eq!(step(8, 8, 60).frames(ms(33)).left_out, 0);
    }

    #[test]
    fn each_knob_does_what_the_paper_says_of_it() {
        let knobs = step(60, 20, 50).knobs();
        let spike = |name: &str| {
            let knob = knobs.iter().find(|knob| knob.name == name).expect(name);
            knob.spike.millis_f64()
        };
        for (name, expected) in [
            ("use less", 85.0),
            ("fall gradually", 36.602_540),
            ("a queue per flow", 25.0),
            ("be told at once", 100.0),
            ("foresee it", 50.0),
            ("be near", 50.0),
            ("drop layers on the way", 0.0),
            ("a short queue", 10.0),
            ("acknowledgements first", 120.0),
            ("drops at the head", 120.0),
        ] {
            assert!(
                (spike(name) - expected).abs() < 1e-3,
                "{name}: {}",
                spike(name)
            );
        }
        // With the link at the sender's door, news along the data's way is at once.
        let near = Step {
            signal: ms(45),
            flight: ms(5),
            ..step(60, 20, 50)
        };
        assert_eq!(near.knobs()[3].spike, ms(20));
    }

    proptest! {
        #[test]
        fn what_arrives_waits_leaves_or_is_lost(
            mbps in 1u64..200, r in 1.0..20.0, d in 1i64..500, limit in 0i64..500, used in 0.3..1.0,
        ) {
            let before = Rate::from_mbps(mbps);
            let limited = Step {
                used,
                limit: Some(ms(limit)),
                ..Step::new(before, before * (1.0 / r), ms(d)).expect("some rate")
            };
            let (lost, share) = limited.lost();
            prop_assert!((0.0..1.0).contains(&share));
            let arrived = (before * used).over(limited.d());
            let left = limited.after.over(limited.d());
            let waits = limited.after.over(limited.wait());
            let rest = arrived.get_f64() - left.get_f64() - waits.get_f64() - lost.get_f64();
            // A link that is not full serves less than it could.
            if limited.ratio() >= 1.0 {
                prop_assert!(rest.abs() < 1e-6 * arrived.get_f64() + 10.0, "{rest}");
            } else {
                prop_assert!(lost == Bytes::ZERO && waits == Bytes::ZERO);
            }
        }

        #[test]
        fn the_spike_grows_with_each_of_its_causes(
            mbps in 2u64..200, r in 1.0..20.0, d in 1i64..500, used in 0.3..1.0, more in 1.0..3.0,
        ) {
            let before = Rate::from_mbps(mbps);
            let of = |r: f64, d: f64| {
                let it = Step::new(before, before * (1.0 / r), ms(1) * d).expect("some rate");
                Step { used, ..it }.spike()
            };
            let (r, d): (f64, f64) = (r, float(d.unsigned_abs()));
            prop_assert!(of(r * more, d) >= of(r, d) - Span::from_micros(1));
            prop_assert!(of(r, d * more) >= of(r, d));
            // In proportion to d.
            let twice = of(r, 2.0 * d) - of(r, d) * 2;
            prop_assert!(twice.abs() < Span::from_micros(1), "{twice}");
        }
    }
}
