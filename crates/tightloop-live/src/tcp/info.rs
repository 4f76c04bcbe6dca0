//! What the kernel thinks of a TCP flow: `struct tcp_info`. [Linux]

use tightloop::units::{Bytes, Rate, Span};

/// Room for all that any kernel has to say.
pub(super) const ROOM: usize = 512;
/// Up to the delivery rate, which Linux has told since 4.9.
const LEAST: usize = 168;

/// A flow's state, as the sender's kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// The smoothed round-trip time: an average with weight 1/8 for the newest.
    pub rtt: Span,
    /// The least round-trip time of the last `net.ipv4.tcp_min_rtt_wlen`
    /// seconds, 300 by default; none before the first.
    pub min_rtt: Option<Span>,
    /// The congestion window.
    pub window: Bytes,
    /// The largest segment's payload.
    pub segment: Bytes,
    /// Payload delivered in a round trip, as the kernel last measured it.
    pub delivery: Rate,
    /// What the kernel paces at; none where it does not pace.
    pub pacing: Option<Rate>,
    /// Payload acknowledged so far.
    pub acked: Bytes,
    /// Segments sent again so far.
    pub retransmits: u64,
    /// Segments delivered with a congestion mark so far; zero on kernels before
    /// 4.18, which do not tell.
    pub marked: u64,
}

impl Info {
    /// Reads the kernel's bytes. `None` where there are too few.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < LEAST {
            return None;
        }
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)))
        };
        let long = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let micros = |value: u64| Span::from_micros(value as i64);
        let rate = |bytes: u64| {
            Bytes::new(bytes)
                .per(Span::from_secs(1))
                .unwrap_or_default()
        };
        // Where nothing is known the kernel gives all ones.
        let known = |value: &u64| *value != u64::from(u32::MAX);
        let segment = Bytes::new(word(16)?);
        Some(Self {
            rtt: micros(word(68)?),
            min_rtt: word(148).filter(known).filter(|it| *it > 0).map(micros),
            window: segment * word(80)?,
            segment,
            delivery: rate(long(160)?),
            pacing: long(104).filter(|it| *it < u64::MAX && known(it)).map(rate),
            acked: Bytes::new(long(120)?),
            retransmits: word(100)?,
            marked: word(196).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_read_where_the_kernel_has_them() {
        let mut bytes = [0; 232];
        let mut word = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        word(16, 1448);
        word(68, 41_250);
        word(80, 10);
        word(100, 3);
        word(148, 40_010);
        word(196, 7);
        let mut long = |at: usize, value: u64| {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        };
        long(104, u64::MAX);
        long(120, 1_000_000);
        long(160, 2_500_000);
        let info = Info::parse(&bytes).expect("enough");
        let expected = Info {
            rtt: Span::from_micros(41_250),
            min_rtt: Some(Span::from_micros(40_010)),
            window: Bytes::new(14_480),
            segment: Bytes::new(1448),
            delivery: Rate::from_mbps(20),
            pacing: None,
            acked: Bytes::new(1_000_000),
            retransmits: 3,
            marked: 7,
        };
        assert_eq!(info, expected);
        bytes[148..152].fill(0xff);
        let info = Info::parse(&bytes).expect("enough");
        assert_eq!(info.min_rtt, None);
        // An older kernel that says less, and one that says too little.
        assert_eq!(Info::parse(&bytes[..192]).map(|it| it.marked), Some(0));
        assert_eq!(Info::parse(&bytes[..160]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let info = Info::parse(&bytes);
            prop_assert_eq!(info.is_some(), bytes.len() >= LEAST);
        }
    }
}
