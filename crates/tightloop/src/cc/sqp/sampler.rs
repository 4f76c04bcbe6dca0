//! The bandwidth sampler: what one frame says about the link.

use serde::{Deserialize, Serialize};

use super::interval::Interval;
use crate::units::{Rate, Span};

/// How a frame's bytes and the span of its arrivals are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FencePost {
    /// The span begins when the first packet would have been through without any
    /// queue: its bytes count as far as it had to wait, the others in full.
    Corrected,
    /// All bytes count, though the link had n − 1 packets to carry in the span:
    /// too high by n/(n − 1) for n packets on an idle link.
    Literal,
}

/// What a frame says of which one packet arrived, whose arrival has no spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LonePacket {
    /// The link carried it in its time at the pacing rate and the time it queued.
    Queued,
    /// The link carries the pacing rate.
    Paced,
}

/// A lone packet this many times smaller than its frame might have been proves
/// nothing about rates. Ours: so an idle application does not lift the estimate.
const SMALL: f64 = 2.0;

/// What a frame said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    /// The rate of the link, as far as this frame can tell. [SQP] S.
    pub(super) rate: Rate,
    /// The rate it was paced at: no frame can tell more. [SQP] m·B.
    pub(super) paced: Rate,
    /// What the link is known to carry.
    pub(super) proven: Rate,
    /// The packets it had.
    pub(super) packets: u32,
}

/// Eq. 1 and 2 with their constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampler {
    /// m.
    pub(super) pacing: f64,
    /// I.
    pub(super) frame_interval: Span,
    pub(super) fence_post: FencePost,
    pub(super) lone_packet: LonePacket,
    /// No sample exceeds this many times the rate the frame was paced at.
    pub(super) ceiling: f64,
}

impl Sampler {
    /// The sample of a frame, Δmin being `least` (a delay between two clocks);
    /// `None` where packets arrived but nobody knows when.
    pub(super) fn sample(&self, frame: &Interval, least: Option<Span>) -> Option<Sample> {
        let paced = frame.bandwidth * self.pacing;
        let kept = 1.0 - f64::from(frame.lost) / f64::from(frame.packets.max(1));
        let largest = frame.bandwidth.over(self.frame_interval);
        let gamma = largest.ratio(frame.size).max(1.0);
        let rate = match (frame.arrived, least) {
            (None, _) if frame.lost < frame.packets => return None,
            (Some((start, end)), Some(least)) => {
                let wait = start.offset_from(frame.sent) - least;
                match frame.between {
                    0 => self.lone(frame, wait, gamma).map(|rate| rate * kept),
                    _ => self.slope(frame, wait, end - start, gamma, kept),
                }
            }
            _ => None,
        };
        // Clocks too coarse for a slope: nothing was slower than the pacing.
        let rate = rate.unwrap_or(paced * kept).min(paced * self.ceiling);
        let unproven = frame.packets == 1 && gamma >= SMALL;
        Some(Sample {
            rate,
            paced,
            proven: if unproven {
                Rate::ZERO
            } else {
                rate.min(paced)
            },
            packets: frame.packets,
        })
    }

    /// γF/(R_end − S_start − Δmin + (R_end − R_start)·(γ − 1)), times the share
    /// of packets not lost; γ = F_max/F. [SQP] Eq. 2, and Eq. 1 for γ = 1. The
    /// first packet waited, `spread` later came the last.
    fn slope(
        &self,
        frame: &Interval,
        wait: Span,
        spread: Span,
        gamma: f64,
        kept: f64,
    ) -> Option<Rate> {
        let (bytes, rest) = match self.fence_post {
            FencePost::Literal => (frame.size * (gamma * kept), spread),
            FencePost::Corrected => {
                let packet = frame.packet();
                let others = packet * u64::from(frame.between);
                let first = match others.per(spread) {
                    Some(rate) => rate.over(wait).min(packet),
                    None => packet,
                };
                // Losses need no factor here: only bytes that arrived are counted.
                let bytes = (frame.heard() * gamma).saturating_sub(packet) + first;
                // The spread misses the first packet too.
                let stretch = f64::from(frame.by_end) / f64::from(frame.between);
                (bytes, spread * stretch)
            }
        };
        bytes
            .per(wait + spread + rest * (gamma - 1.0))
            .filter(|rate| *rate > Rate::ZERO)
    }

    /// One packet has no spread: as if all of the largest frame had come at its
    /// pace, after the time that this packet waited.
    fn lone(&self, frame: &Interval, wait: Span, gamma: f64) -> Option<Rate> {
        if self.lone_packet == LonePacket::Paced {
            return None;
        }
        let all = frame.heard() * gamma;
        let own = all.at(frame.bandwidth * self.pacing)?;
        all.per(wait.max(Span::ZERO) + own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, RemoteTime, Time};

    /// On a link of 20 Mbit/s a packet of 1500 bytes takes 0.6 ms.
    const SAMPLER: Sampler = Sampler {
        pacing: 2.0,
        frame_interval: Span::from_millis(15),
        fence_post: FencePost::Corrected,
        lone_packet: LonePacket::Queued,
        ceiling: 1.2,
    };
    const LITERAL: Sampler = Sampler {
        fence_post: FencePost::Literal,
        lone_packet: LonePacket::Paced,
        ..SAMPLER
    };
    const LEAST: Span = Span::from_micros(20_600);

    fn at(micros: i64) -> RemoteTime {
        RemoteTime::from_nanos(0) + Span::from_micros(micros)
    }

    /// Twenty packets at B = 16 Mbit/s, I = 15 ms: F = F_max = 30 kB. They leave
    /// at 32 and arrive at 20 Mbit/s: the first after 20.6 ms, the last 11.4 later.
    fn full() -> Interval {
        Interval {
            sent: Time::ZERO,
            bandwidth: Rate::from_mbps(16),
            size: Bytes::new(30_000),
            packets: 20,
            lost: 0,
            arrived: Some((at(20_600), at(32_000))),
            by_end: 20,
            between: 19,
        }
    }

    fn rate(sampler: &Sampler, frame: &Interval) -> f64 {
        let sample = sampler.sample(frame, Some(LEAST)).expect("a sample");
        sample.rate.mbps_f64()
    }

    #[track_caller]
    fn near(value: f64, want: f64) {
        assert!((value - want).abs() < 1e-3, "{value} is not {want}");
    }

    #[test]
    fn equation_1_counts_a_packet_too_many_unless_corrected() {
        // 30 kB over 32.0 − 20.6 = 11.4 ms is 21.05 Mbit/s; 28.5 kB is 20.
        near(rate(&LITERAL, &full()), 21.0526);
        near(rate(&SAMPLER, &full()), 20.0);
        // Δmin of a packet of half the size had 0.3 ms less of its own on the link.
        let small = LEAST - Span::from_micros(300);
        let sample = SAMPLER.sample(&full(), Some(small)).expect("a sample");
        near(sample.rate.mbps_f64(), 20.0);
    }

    #[test]
    fn a_first_packet_that_waits_for_an_opportunity_counts_as_far_as_it_waited() {
        // Opportunities every 0.6 ms: it waits for up to one, and Δmin waited for none.
        for wait in [0, 150, 300, 600] {
            let frame = Interval {
                arrived: Some((at(20_600 + wait), at(32_000 + wait))),
                ..full()
            };
            near(rate(&SAMPLER, &frame), 20.0);
        }
        // Behind 5 ms of others' packets it counts in full: 30 kB over 16.4 ms.
        let queued = Interval {
            arrived: Some((at(25_600), at(37_000))),
            ..full()
        };
        near(rate(&SAMPLER, &queued), 14.6341);
    }

    #[test]
    fn equation_2_completes_a_frame_that_the_application_kept_small() {
        // A quarter of the frame: 5 packets, the last 2.4 ms after the first; γ = 4.
        let frame = Interval {
            size: Bytes::new(7_500),
            packets: 5,
            arrived: Some((at(20_600), at(23_000))),
            by_end: 5,
            between: 4,
            ..full()
        };
        // Corrected: 30 − 1.5 kB over 2.4 + 2.4·(5/4)·3 = 11.4 ms.
        near(rate(&SAMPLER, &frame), 20.0);
        // Literal: 30 kB over 2.4 + 2.4·3 = 9.6 ms.
        near(rate(&LITERAL, &frame), 25.0);
        // A queue of 5 ms in front of it is charged to the whole frame, not to a
        // quarter: 30 kB over 16.4 ms.
        let late = Interval {
            arrived: Some((at(25_600), at(28_000))),
            ..frame
        };
        near(rate(&SAMPLER, &late), 14.6341);
    }

    #[test]
    fn a_lost_tail_still_shows_the_rate_of_the_link() {
        // The last 5 of 20 are lost: the 15th arrived 14·0.6 ms after the first.
        let frame = Interval {
            lost: 5,
            arrived: Some((at(20_600), at(29_000))),
            by_end: 15,
            between: 14,
            ..full()
        };
        near(rate(&SAMPLER, &frame), 20.0);
        // Literal: 30 kB over 8.4 ms, times 3/4.
        near(rate(&LITERAL, &frame), 21.4286);
    }

    #[test]
    fn packets_of_unknown_arrival_at_the_end_are_left_out() {
        let frame = Interval {
            arrived: Some((at(20_600), at(29_000))),
            by_end: 15,
            between: 14,
            ..full()
        };
        near(rate(&SAMPLER, &frame), 20.0);
        let none = Interval {
            arrived: None,
            by_end: 0,
            between: 0,
            ..full()
        };
        assert_eq!(SAMPLER.sample(&none, Some(LEAST)), None);
    }

    #[test]
    fn arrivals_too_close_to_tell_mean_the_pacing_rate_and_no_more() {
        // All at once, without any queueing.
        let at_once = Interval {
            arrived: Some((at(20_600), at(20_600))),
            ..full()
        };
        near(rate(&SAMPLER, &at_once), 32.0);
        // 28.5 kB over 1 ms would be 228 Mbit/s: at most 1.2 times the pace.
        let noisy = Interval {
            arrived: Some((at(20_600), at(21_600))),
            ..full()
        };
        near(rate(&SAMPLER, &noisy), 38.4);
        let unseen = SAMPLER.sample(&full(), None).expect("a sample");
        near(unseen.rate.mbps_f64(), 32.0);
    }

    #[test]
    fn a_lone_packet_is_slowed_by_what_it_queued() {
        let lone = |queued: i64| Interval {
            bandwidth: Rate::from_kbps(600),
            size: Bytes::new(1_125),
            packets: 1,
            arrived: Some((at(20_600 + queued), at(20_600 + queued))),
            by_end: 1,
            between: 0,
            ..full()
        };
        // Paced at 1.2 Mbit/s it takes 7.5 ms; with as much of a queue, half the rate.
        near(rate(&SAMPLER, &lone(0)), 1.2);
        near(rate(&SAMPLER, &lone(7_500)), 0.6);
        near(rate(&LITERAL, &lone(7_500)), 1.2);
    }

    #[test]
    fn a_tiny_frame_of_a_fast_flow_neither_proves_nor_panics() {
        // 150 bytes where 30 kB might have been; 1 ms of queue on 7.5 ms at the pace.
        let tiny = |queued: i64| Interval {
            size: Bytes::new(150),
            packets: 1,
            arrived: Some((at(20_600 + queued), at(20_600 + queued))),
            by_end: 1,
            between: 0,
            ..full()
        };
        for (queued, want) in [(-500, 32.0), (0, 32.0), (1_000, 28.235)] {
            let sample = SAMPLER
                .sample(&tiny(queued), Some(LEAST))
                .expect("a sample");
            near(sample.rate.mbps_f64(), want);
            assert_eq!(sample.proven, Rate::ZERO);
        }
        // Its like of full size is believed.
        let sample = SAMPLER.sample(&full(), Some(LEAST)).expect("a sample");
        assert_eq!(sample.proven, sample.rate);
    }

    #[test]
    fn a_frame_of_which_nothing_arrived_says_zero() {
        let gone = Interval {
            lost: 20,
            arrived: None,
            by_end: 0,
            between: 0,
            ..full()
        };
        near(rate(&SAMPLER, &gone), 0.0);
        // One of 20 arrived, without queueing: a twentieth of the pace.
        let nearly = Interval {
            lost: 19,
            arrived: Some((at(20_600), at(20_600))),
            by_end: 1,
            ..gone
        };
        near(rate(&SAMPLER, &nearly), 1.6);
        near(rate(&LITERAL, &nearly), 1.6);
    }
}
