//! An IP packet as a TUN device gives it.

use std::fmt;

use tightloop::event::{Direction, Ecn, FlowId, PacketId, PathId};
use tightloop::link::Packet;
use tightloop::units::Bytes;

/// The largest packet of an emulated link: Ethernet's, as for nearly every path
/// of the internet.
pub const MTU: usize = 1500;

/// Which way a packet crosses the emulated link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the command to the far side.
    Up,
    /// From the far side to the command.
    Down,
}

impl Way {
    /// Both ways.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// Its place in pairs.
    #[must_use]
    pub const fn place(self) -> usize {
        match self {
            Self::Up => 0,
            Self::Down => 1,
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The flow that stands for all its packets in the log, where they are not
    /// sorted.
    #[must_use]
    pub const fn flow(self) -> FlowId {
        match self {
            Self::Up => FlowId(0),
            Self::Down => FlowId(1),
        }
    }

    /// Which way the packets of a flow go: see [`flows`](super::flows).
    #[must_use]
    pub const fn of(flow: FlowId) -> Self {
        if flow.0.is_multiple_of(2) {
            Self::Up
        } else {
            Self::Down
        }
    }

    /// Where its packets come from.
    #[must_use]
    pub const fn source(self) -> Side {
        match self {
            Self::Up => Side::Near,
            Self::Down => Side::Far,
        }
    }

    /// Where they go.
    #[must_use]
    pub const fn target(self) -> Side {
        match self {
            Self::Up => Side::Far,
            Self::Down => Side::Near,
        }
    }
}

/// A side of an emulated link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Inside, where the command is.
    Near,
    /// Outside.
    Far,
}

/// An IPv4 or IPv6 packet on its way.
///
/// Unless they are sorted, all packets of one way are one flow to the link:
/// jitter that does not reorder keeps them in line, and they share one stream of
/// chance.
#[derive(Clone)]
pub struct Datagram {
    /// Room for any packet; the packet is its first `length` bytes.
    room: Vec<u8>,
    length: usize,
    ecn: Ecn,
    flow: FlowId,
    number: u64,
}

/// The two ways an IP header begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Four,
    Six,
}

pub(super) fn version(bytes: &[u8]) -> Option<Version> {
    match bytes.first()? >> 4 {
        4 if bytes.len() >= 20 => Some(Version::Four),
        6 if bytes.len() >= 40 => Some(Version::Six),
        _ => None,
    }
}

/// The field's two bits. [RFC3168] §5.
const fn ecn_of(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// True for packets that an interface sends to its own network (neighbour
/// discovery, multicast reports): no router carries them, so no link does.
fn stays(bytes: &[u8], version: Version) -> bool {
    match version {
        Version::Four => bytes[16] >= 224,
        Version::Six => bytes[24] == 0xff || (bytes[24] == 0xfe && bytes[25] & 0xc0 == 0x80),
    }
}

impl Datagram {
    /// Room for a packet.
    #[must_use]
    pub fn room() -> Vec<u8> {
        vec![0; MTU + 4]
    }

    /// The packet in the first `length` bytes of `room`; gives the room back
    /// where these are no IP packet, or one that stays on its own network.
    ///
    /// # Errors
    ///
    /// The room.
    pub fn new(room: Vec<u8>, length: usize, way: Way, number: u64) -> Result<Self, Vec<u8>> {
        let bytes = &room[..length];
        let ecn = match version(bytes) {
            Some(version) if stays(bytes, version) => return Err(room),
            Some(Version::Four) => ecn_of(bytes[1]),
            Some(Version::Six) => ecn_of(bytes[1] >> 4),
            None => return Err(room),
        };
        Ok(Self {
            room,
            length,
            ecn,
            flow: way.flow(),
            number,
        })
    }

    /// Says which flow it belongs to.
    pub(super) fn set_flow(&mut self, flow: FlowId) {
        self.flow = flow;
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Its room, for another packet.
    #[must_use]
    pub fn into_room(self) -> Vec<u8> {
        self.room
    }
}

impl fmt::Debug for Datagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (way, number) = (Way::of(self.flow).name(), self.number);
        write!(f, "Datagram({way} {number}, {} bytes)", self.length)
    }
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        Bytes::len_of(self.length)
    }

    fn id(&self) -> PacketId {
        PacketId {
            flow: self.flow,
            path: PathId(0),
            direction: Direction::Data,
            number: self.number,
        }
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Rewrites the header; IPv4's checksum is brought up to date.
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
        let bytes = &mut self.room[..self.length];
        match version(bytes) {
            Some(Version::Four) => {
                let before = u16::from_be_bytes([bytes[0], bytes[1]]);
                bytes[1] |= 3;
                let after = u16::from_be_bytes([bytes[0], bytes[1]]);
                let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
                let sum = updated(sum, before, after).to_be_bytes();
                bytes[10..12].copy_from_slice(&sum);
            }
            Some(Version::Six) => bytes[1] |= 0x30,
            None => {}
        }
    }
}

/// A ones' complement checksum after one of its words has changed. [RFC1624] §3.
fn updated(sum: u16, before: u16, after: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (total & 0xffff) + (total >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|it| u32::from(it[0]) << 8 | u32::from(it[1]));
        let total: u32 = words.sum();
        let folded = (total & 0xffff) + (total >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    fn taken(bytes: &[u8]) -> Result<Datagram, Vec<u8>> {
        let mut room = Datagram::room();
        room[..bytes.len()].copy_from_slice(bytes);
        Datagram::new(room, bytes.len(), Way::Up, 7)
    }

    proptest! {
        #[test]
        fn a_marked_header_keeps_a_right_checksum(mut header in any::<[u8; 20]>()) {
            header[0] = 0x45;
            header[16] = 10;
            header[10] = 0;
            header[11] = 0;
            let right = (!sum(&header)).to_be_bytes();
            header[10..12].copy_from_slice(&right);
            let mut packet = taken(&header).expect("a packet");
            packet.mark_ce();
            prop_assert_eq!(packet.ecn(), Ecn::Ce);
            prop_assert_eq!(packet.bytes()[1], header[1] | 3);
            prop_assert_eq!(sum(packet.bytes()), 0xffff);
        }

        #[test]
        fn any_bytes_are_a_packet_or_given_back(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            match taken(&bytes) {
                Ok(mut packet) => {
                    prop_assert_eq!(packet.size(), Bytes::len_of(bytes.len()));
                    packet.mark_ce();
                    prop_assert_eq!(packet.ecn(), Ecn::Ce);
                }
                Err(room) => prop_assert_eq!(room.len(), MTU + 4),
            }
        }
    }

    #[test]
    fn the_field_is_read_where_each_version_has_it() {
        for (bits, ecn) in [
            (0, Ecn::NotEct),
            (1, Ecn::Ect1),
            (2, Ecn::Ect0),
            (3, Ecn::Ce),
        ] {
            let mut four = [0; 20];
            (four[0], four[1]) = (0x45, 0xb8 | bits);
            let mut six = [0; 40];
            (six[0], six[1]) = (0x6b, 0x80 | (bits << 4) | 0xf);
            for bytes in [&four[..], &six[..]] {
                let mut packet = taken(bytes).expect("a packet");
                assert_eq!(packet.ecn(), ecn);
                let rest = packet.bytes()[1] & if bytes.len() == 20 { 0xfc } else { 0xcf };
                packet.mark_ce();
                let mask = if bytes.len() == 20 { 3 } else { 0x30 };
                assert_eq!(packet.bytes()[1], rest | mask);
            }
        }
    }

    #[test]
    fn what_an_interface_tells_its_own_network_stays_there() {
        let mut report = [0; 40];
        report[0] = 0x60;
        report[24] = 0xff;
        assert!(taken(&report).is_err());
        (report[24], report[25]) = (0xfe, 0x80);
        assert!(taken(&report).is_err());
        (report[24], report[25]) = (0xfd, 0x80);
        assert!(taken(&report).is_ok());
        let mut group = [0; 20];
        (group[0], group[16]) = (0x45, 224);
        assert!(taken(&group).is_err());
    }
}
