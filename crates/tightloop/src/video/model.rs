//! Encoders that make sizes, not pictures.
//!
//! [`ideal`] obeys to the byte; [`lag`] reacts slowly and unevenly, as the VP8
//! encoder of [Vidaptive] does; [`measured`] is prompt and uneven, as OpenH264
//! was found to be; [`rfc8593`] is the statistical model on which RTP congestion
//! control is evaluated. All put out the rate they are asked for in the long run;
//! they differ in how long that is.

use super::Order;
use crate::units::{Bytes, Rate, Span};

pub mod ideal;
pub mod lag;
pub mod measured;
pub mod rfc8593;

/// The least of its steady size to which a frame shrinks in order to pay for a
/// large one before it. [Syncodecs] StatisticsCodec.
const LEAST_SHARE: f64 = 0.2;

/// The size of a frame at `rate`: the budget, and what one frame interval makes
/// of the difference to the rate that was asked for.
fn steady_size(order: &Order, rate: Rate, interval: Span) -> f64 {
    let more = rate.saturating_sub(order.rate).over(interval).get_f64();
    let less = order.rate.saturating_sub(rate).over(interval).get_f64();
    (order.budget.get_f64() + more - less).max(0.0)
}

/// A large frame and the smaller ones that pay for it, so that together they
/// keep the rate. [RFC8593] §5.2.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// Bytes above the steady size not paid for yet.
    debt: f64,
    /// Frames among which they are shared out.
    frames: u32,
}

impl Burst {
    /// A frame of `size` bytes, to be paid for until the burst has had `frames`.
    fn start(&mut self, steady: f64, size: f64, frames: u32) -> f64 {
        let size = size.max(steady);
        self.debt += size - steady;
        self.frames = frames.saturating_sub(1);
        size
    }

    /// The next frame, smaller than the steady size while there is debt.
    fn follow(&mut self, steady: f64) -> f64 {
        let share = self.debt / f64::from(self.frames.max(1));
        let paid = share.min(steady * (1.0 - LEAST_SHARE));
        self.debt -= paid;
        self.frames = self.frames.saturating_sub(1);
        steady - paid
    }
}

/// A whole number of bytes; a frame has at least one.
fn whole(size: f64) -> Bytes {
    Bytes::from_f64(size).max(Bytes::new(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::FrameId;
    use crate::rng::Stream;
    use crate::units::{Time, count, float, round};
    use crate::video::{ENCODERS, Encoded, Encoder, EncoderKind, Frame, VideoStart};

    pub(super) const INTERVAL: Span = Span::from_nanos(16_666_667);

    pub(super) fn order(rate: Rate) -> Order {
        Order {
            rate,
            budget: rate.over(INTERVAL),
            key: false,
        }
    }

    /// An encoder and its frame clock.
    pub(super) struct Bench {
        encoder: Box<dyn Encoder>,
        now: Time,
        next: FrameId,
    }

    impl Bench {
        pub(super) fn new(kind: EncoderKind, params: toml::Table, seed: u64) -> Self {
            let start = VideoStart {
                params,
                frame_interval: INTERVAL,
                rng: Stream::named(seed, "encoder"),
            };
            Self {
                encoder: (kind.new)(&start).expect("good settings"),
                now: Time::ZERO,
                next: FrameId(0),
            }
        }

        pub(super) fn encode(&mut self, order: Order, scene_cut: bool) -> Encoded {
            let frame = Frame {
                id: self.next,
                captured: self.now,
                scene_cut,
            };
            let encoded = self.encoder.encode(self.now, &frame, &order);
            assert_eq!(encoded.frame, frame.id);
            assert!(encoded.ready >= self.now);
            self.now += INTERVAL;
            self.next.0 += 1;
            encoded
        }

        /// When the next frame comes.
        pub(super) fn now(&self) -> Time {
            self.now
        }

        /// The sizes of this many ordinary frames.
        pub(super) fn sizes(&mut self, rate: Rate, frames: usize) -> Vec<f64> {
            let encode = |_| self.encode(order(rate), false).size.get_f64();
            (0..frames).map(encode).collect()
        }

        /// Mean size of this many ordinary frames, against their budget.
        pub(super) fn mean(&mut self, rate: Rate, frames: usize) -> f64 {
            let sum: f64 = self.sizes(rate, frames).iter().sum();
            sum / float(count(frames)) / order(rate).budget.get_f64()
        }
    }

    fn rounded(sizes: &[f64]) -> Vec<u64> {
        sizes.iter().map(|size| round(*size)).collect()
    }

    #[test]
    fn a_frame_is_off_its_budget_by_what_the_rate_is_off() {
        let order = order(Rate::from_mbps(3));
        let steady = |kbps| steady_size(&order, Rate::from_kbps(kbps), INTERVAL);
        let sizes = [1_500, 3_000, 4_500].map(steady);
        assert_eq!(rounded(&sizes), [3_125, 6_250, 9_375]);
    }

    #[test]
    fn a_burst_keeps_the_rate() {
        let mut burst = Burst::default();
        let mut sizes = vec![burst.start(100.0, 450.0, 8)];
        sizes.extend((1..10).map(|_| burst.follow(100.0)));
        assert_eq!(rounded(&sizes), [450, 50, 50, 50, 50, 50, 50, 50, 100, 100]);
    }

    #[test]
    fn a_burst_too_large_for_its_frames_is_paid_for_later() {
        let mut burst = Burst::default();
        let mut sizes = vec![burst.start(100.0, 900.0, 4)];
        sizes.extend((1..13).map(|_| burst.follow(100.0)));
        assert_eq!(rounded(&sizes[..11]), [&[900][..], &[20; 10]].concat());
        assert_eq!(rounded(&sizes[11..]), [100, 100]);
    }

    #[test]
    fn a_burst_within_a_burst_forgets_no_debt() {
        let mut burst = Burst::default();
        let mut sizes = vec![burst.start(100.0, 300.0, 8), burst.start(100.0, 300.0, 8)];
        sizes.extend((0..18).map(|_| burst.follow(100.0)));
        assert_eq!(round(sizes.iter().sum()), 2_000);
    }

    proptest! {
        /// Whatever is asked for, and however unevenly frames come.
        #[test]
        fn frames_have_a_size_and_do_not_overtake_and_a_fork_goes_the_same_way(
            seed: u64,
            orders in prop::collection::vec((0u64..1 << 40, 0u64..1 << 30, 1i64..500, any::<[bool; 2]>()), 1..80),
        ) {
            for kind in ENCODERS {
                let start = VideoStart { rng: Stream::named(seed, "encoder"), ..VideoStart::plain() };
                let mut encoder = (kind.new)(&start).expect("default settings");
                let (mut now, mut ready) = (Time::ZERO, Time::ZERO);
                for &(bps, budget, pause, [key, scene_cut]) in &orders {
                    now += Span::from_millis(pause);
                    let order = Order { rate: Rate::from_bps(bps), budget: Bytes::new(budget), key };
                    let frame = Frame { id: FrameId(0), captured: now, scene_cut };
                    let mut fork = encoder.fork().expect("models can be forked");
                    let encoded = encoder.encode(now, &frame, &order);
                    prop_assert_eq!(fork.encode(now, &frame, &order), encoded);
                    // Only what may be skipped has no bytes.
                    prop_assert!(encoded.size > Bytes::ZERO || !encoded.key);
                    prop_assert!(encoded.size < Bytes::new(1 << 60));
                    prop_assert!(encoded.ready >= ready.max(now) && (encoded.key || !key));
                    ready = encoded.ready;
                }
            }
        }
    }
}
