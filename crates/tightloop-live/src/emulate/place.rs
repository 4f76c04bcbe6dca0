//! Which addresses an emulated link has, nested or not.
//!
//! A link in nobody's namespace takes a sixteen-bit prefix of 100.64.0.0/10
//! (addresses that no host on the internet has), one inside another link's
//! namespace takes a quarter of that link's prefix. So every link reaches all
//! that are inside it by one route, and nothing needs translating. IPv6
//! addresses are the same bits behind a prefix of our own.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Where prefixes begin: 100.64.0.0/10, set aside for networks behind a
/// translator; Mahimahi takes its own from there, too.
const SHARED: u32 = 0x6440_0000;
/// The first bits of every IPv6 address: a unique local prefix that spells
/// `tightl` in ASCII.
const LOCAL: [u16; 6] = [0xfd74, 0x6967, 0x6874, 0x6c00, 0, 0];
/// The length of a prefix that is in no other.
const OUTERMOST: u8 = 16;
/// How many links may stand side by side in one namespace that is no link's.
const OUTERMOST_SLOTS: u8 = 64;
/// Bits that each nesting takes.
const STEP: u8 = 2;
/// A link needs a network with two hosts.
const SMALLEST: u8 = 30;

/// A link's share of the address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    network: u32,
    length: u8,
}

impl Place {
    /// The link's prefix in slot `slot` of a namespace: of the prefix of the
    /// link around it, given as the address and prefix length that the near
    /// side has, or of the shared space. `None` where there is no such slot.
    #[must_use]
    pub fn new(around: Option<(Ipv4Addr, u8)>, slot: u8) -> Option<Self> {
        let Some((address, outer)) = around else {
            let network = SHARED | (u32::from(slot) << (32 - OUTERMOST));
            return (slot < OUTERMOST_SLOTS).then_some(Self {
                network,
                length: OUTERMOST,
            });
        };
        // The first quarter is the outer link's own.
        let length = outer.checked_add(STEP).filter(|it| *it <= SMALLEST)?;
        if slot + 1 >= 1 << STEP {
            return None;
        }
        let mask = u32::MAX << (32 - outer);
        let network = u32::from(address) & mask | (u32::from(slot + 1) << (32 - length));
        Some(Self { network, length })
    }

    /// The address outside: of the far side.
    #[must_use]
    pub fn far(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 1)
    }

    /// The address inside: of the command.
    #[must_use]
    pub fn near(self) -> Ipv4Addr {
        Ipv4Addr::from(self.network + 2)
    }

    /// The prefix's length.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// The IPv6 address that belongs to one of ours, and its prefix's length.
    #[must_use]
    pub fn v6(self, address: Ipv4Addr) -> (Ipv6Addr, u8) {
        let [a, b, c, d] = address.octets().map(u16::from);
        let [p, q, r, s, t, u] = LOCAL;
        let address = Ipv6Addr::new(p, q, r, s, t, u, (a << 8) | b, (c << 8) | d);
        (address, 96 + self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_side_by_side_share_no_address() {
        let places: Vec<Place> = (0..=OUTERMOST_SLOTS)
            .filter_map(|slot| Place::new(None, slot))
            .collect();
        assert_eq!(places.len(), 64);
        assert_eq!(places[0].far().to_string(), "100.64.0.1");
        assert_eq!(places[63].near().to_string(), "100.127.0.2");
        assert_eq!(
            places[1].v6(places[1].far()).0.to_string(),
            "fd74:6967:6874:6c00::6441:1"
        );
    }

    #[test]
    fn links_nest_seven_deep_inside_their_outer_prefix() {
        let mut place = Place::new(None, 3).expect("a slot");
        let outermost = place;
        for depth in 1.. {
            let around = Some((place.near(), place.length()));
            let Some(inner) = Place::new(around, 2) else {
                assert_eq!(depth, 8);
                break;
            };
            let mask = u32::MAX << (32 - place.length());
            assert_eq!(u32::from(inner.far()) & mask, place.network);
            assert_ne!(inner.far(), place.far());
            place = inner;
        }
        let inside = |slot| Place::new(Some((outermost.near(), 16)), slot).map(Place::far);
        let fars = [0, 1, 2].map(|slot| inside(slot).map(|it| it.to_string()));
        let expected = ["100.67.64.1", "100.67.128.1", "100.67.192.1"];
        assert_eq!(fars, expected.map(|it| Some(it.to_owned())));
        assert_eq!(inside(3), None);
    }
}
