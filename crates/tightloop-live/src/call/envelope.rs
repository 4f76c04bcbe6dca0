//! How a message of the session becomes a UDP packet, to the byte.
//!
//! ```text
//! IP 20 or 40 │ UDP 8 │ QUIC short header: flags 1, connection 4, number 1–2 │
//!   DATAGRAM frame: type 1, length 1–2, message │ padding, its length 1 │ tag 16
//! ```
//!
//! Two of QUIC's fields have a length that varies: the packet number is short
//! while acknowledgements are fresh, the frame's length while it is below 64.
//! The padding is what they leave, so that a packet has the size that the
//! session has counted.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use tightloop::units;

/// A connection's name in each packet. Ours: four bytes, enough to tell the few
/// connections of a socket apart.
pub(super) const NAME: usize = 4;
/// UDP's header, [RFC768].
const UDP: usize = 8;
/// The tag of AES-128-GCM and of ChaCha20-Poly1305. [RFC9001] §5.3
const TAG: usize = 16;
/// The longest packet number that is counted on: no acknowledgement for 32,768
/// packets. [RFC9000] A.2
const NUMBER: usize = 2;
/// The longest length that a frame of a packet's size has. [RFC9000] §16
const LENGTH: usize = 2;
/// From this value on a length takes two bytes. [RFC9000] §16
const LONG: usize = 64;
/// From this distance on a packet number takes two bytes. [RFC9000] A.2
const FAR: u64 = 128;

/// QUIC may make packets this much larger than ours: it reserves room for the
/// longest of its fields, which ours never have.
pub(super) const RESERVE: u16 = 16;

/// What a message costs beside its own bytes, from IP on.
#[must_use]
pub fn overhead(peer: IpAddr) -> units::Bytes {
    units::Bytes::len_of(ip_and_udp(peer) + 1 + NAME + NUMBER + 1 + LENGTH + 1 + TAG)
}

/// What IP and UDP cost.
pub(super) fn ip_and_udp(peer: IpAddr) -> usize {
    match peer.to_canonical() {
        IpAddr::V4(_) => 20 + UDP,
        IpAddr::V6(_) => 40 + UDP,
    }
}

/// The UDP payload of a packet of so many IP bytes.
pub(super) fn udp_payload(mtu: units::Bytes, peer: IpAddr) -> u64 {
    mtu.get().saturating_sub(ip_and_udp(peer) as u64)
}

/// Seals a message: with as much padding as QUIC's fields leave in a packet that
/// is `distance` after the newest one acknowledged.
pub(super) fn seal(message: &[&[u8]], distance: u64) -> Bytes {
    let length = message.iter().map(|part| part.len()).sum::<usize>() + 1;
    let number = if distance < FAR { 1 } else { NUMBER };
    let of_length = |length: usize| if length < LONG { 1 } else { LENGTH };
    let wanted = NUMBER + LENGTH;
    let fits = |pad: &usize| pad + number + of_length(length + pad) >= wanted;
    let pad = (0..=2).find(fits).unwrap_or(2);
    let mut sealed = BytesMut::with_capacity(length + pad);
    for part in message {
        sealed.extend_from_slice(part);
    }
    sealed.put_bytes(0, pad);
    sealed.put_u8(pad as u8);
    sealed.freeze()
}

/// The message in what came; `None` for what [`seal`] does not make.
pub(super) fn open(mut sealed: Bytes) -> Option<Bytes> {
    let pad = usize::from(*sealed.last()?);
    let length = sealed.len().checked_sub(1 + pad).filter(|_| pad <= 2)?;
    sealed.truncate(length);
    Some(sealed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_sealed_is_opened(message in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200, distance in 0u64..400) {
            let (one, other) = message.split_at(cut.min(message.len()));
            let sealed = seal(&[one, other], distance);
            // As QUIC would write it.
            let number = if distance * 2 < 256 { 1 } else { 2 };
            let length = if sealed.len() < 64 { 1 } else { 2 };
            let packet = 20 + 8 + 1 + 4 + number + 1 + length + sealed.len() + 16;
            let counted = usize::try_from(overhead([1, 2, 3, 4].into()).get()).expect("small") + message.len();
            // Where the padding itself makes the length longer it cannot be exact.
            let edge = (61..=63).contains(&(message.len() + 1));
            prop_assert!(packet == counted || edge && packet == counted + 1, "{packet} {counted}");
            let opened = open(sealed);
            prop_assert_eq!(opened.as_deref(), Some(message.as_slice()));
        }

        #[test]
        fn garbage_is_not_opened_to_more_than_it_was(garbage in prop::collection::vec(any::<u8>(), 0..9)) {
            let length = garbage.len();
            if let Some(opened) = open(garbage.into()) {
                prop_assert!(opened.len() < length);
            }
        }
    }
}
