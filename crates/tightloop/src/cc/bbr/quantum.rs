//! Bunches: what a sender hands to the network at once.

use crate::units::{Bytes, Rate, Span};

/// Bunches that the window leaves room for. [BBRv1] §4.2.3.2.
const QUANTA: u64 = 3;
/// Below this rate they are single packets. [BBRv1] §4.2.2.
const SINGLE_BELOW: Rate = Rate::from_kbps(1_200);
/// From this rate on they are what leaves in [`LENGTH`], below two packets. [BBRv1] §4.2.2.
const PAIRS_BELOW: Rate = Rate::from_mbps(24);
/// A bunch's length in time. [BBRv1] §4.2.2.
const LENGTH: Span = Span::from_millis(1);
/// The largest bunch. [BBRv1] §4.2.2.
const MAX: Bytes = Bytes::new(64 << 10);

/// What may lie between the window's book-keeping and the network.
pub(super) fn room(pacing: Rate, mss: Bytes) -> Bytes {
    let quantum = if pacing < SINGLE_BELOW {
        mss
    } else if pacing < PAIRS_BELOW {
        mss * 2
    } else {
        pacing.over(LENGTH).min(MAX)
    };
    quantum * QUANTA
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::pipe::MSS;

    #[test]
    fn three_packets_three_pairs_three_milliseconds_three_times_64_kib() {
        let room = |kbps| room(Rate::from_kbps(kbps), MSS);
        assert_eq!(room(1_199), MSS * 3);
        assert_eq!(room(1_200), MSS * 6);
        assert_eq!(room(23_999), MSS * 6);
        assert_eq!(room(48_000), Bytes::new(18_000));
        assert_eq!(room(10_000_000), Bytes::new(3 * 65_536));
    }
}
