//! Pictures: what cameras give, encoders take and decoders return.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Width and height in pixels of the luma plane; both even, neither zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    width: usize,
    height: usize,
}

/// The longest side a picture may have. Ours: 16 k, beyond what any codec here takes.
const LONGEST: usize = 16_384;

impl Size {
    /// A size; `None` where a side is odd, zero or beyond 16,384.
    #[must_use]
    pub const fn new(width: usize, height: usize) -> Option<Self> {
        if width == 0 || height == 0 || width > LONGEST || height > LONGEST {
            return None;
        }
        if !width.is_multiple_of(2) || !height.is_multiple_of(2) {
            return None;
        }
        Some(Self { width, height })
    }

    /// Pixels across.
    #[must_use]
    pub const fn width(self) -> usize {
        self.width
    }

    /// Pixels down.
    #[must_use]
    pub const fn height(self) -> usize {
        self.height
    }

    /// Pixels of the luma plane.
    #[must_use]
    pub const fn pixels(self) -> usize {
        self.width * self.height
    }

    /// Bytes of a picture: luma, and two chroma planes of a quarter each.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.pixels() / 2 * 3
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text
            .split_once('x')
            .map(|(width, height)| (width.parse(), height.parse()));
        match sides {
            Some((Ok(width), Ok(height))) => Self::new(width, height),
            _ => None,
        }
        .ok_or_else(|| {
            format!(
                "{text:?} is no size: write two even numbers of at most {LONGEST}, as in 1280x720"
            )
        })
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A picture: 8 bits, 4:2:0, limited range, planes without padding (I420).
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    bytes: Vec<u8>,
}

impl Picture {
    /// A black picture.
    #[must_use]
    pub fn black(size: Size) -> Self {
        let mut bytes = vec![128; size.bytes()];
        bytes[..size.pixels()].fill(16);
        Self { size, bytes }
    }

    /// A picture of planes one after another: Y, U, V. `None` where the bytes
    /// do not fit the size.
    #[must_use]
    pub fn from_bytes(size: Size, bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() == size.bytes()).then_some(Self { size, bytes })
    }

    /// Its size.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.size
    }

    /// All planes: Y, U, V.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All planes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The luma plane, `width` bytes a row.
    #[must_use]
    pub fn y(&self) -> &[u8] {
        &self.bytes[..self.size.pixels()]
    }

    /// The first chroma plane, `width / 2` bytes a row.
    #[must_use]
    pub fn u(&self) -> &[u8] {
        let (luma, chroma) = (self.size.pixels(), self.size.pixels() / 4);
        &self.bytes[luma..luma + chroma]
    }

    /// The second chroma plane, `width / 2` bytes a row.
    #[must_use]
    pub fn v(&self) -> &[u8] {
        &self.bytes[self.size.pixels() / 4 * 5..]
    }

    /// The three planes, to be written.
    pub fn planes_mut(&mut self) -> [&mut [u8]; 3] {
        let (luma, chroma) = self.bytes.split_at_mut(self.size.pixels());
        let (u, v) = chroma.split_at_mut(self.size.pixels() / 4);
        [luma, u, v]
    }
}

impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Picture({})", self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_even_and_planes_are_a_quarter() {
        assert_eq!(Size::new(0, 2), None);
        assert_eq!(Size::new(3, 2), None);
        assert_eq!(Size::new(2, 1), None);
        assert_eq!(Size::new(16_386, 2), None);
        let size = Size::new(6, 4).expect("even");
        assert_eq!((size.pixels(), size.bytes()), (24, 36));
        let mut picture = Picture::black(size);
        assert_eq!(
            (picture.y().len(), picture.u().len(), picture.v().len()),
            (24, 6, 6)
        );
        let [_, _, v] = picture.planes_mut();
        v.fill(7);
        assert_eq!(
            (picture.y()[0], picture.u()[5], picture.v()[0]),
            (16, 128, 7)
        );
        assert_eq!(Picture::from_bytes(size, vec![0; 35]), None);
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let size = Size::new(1280, 720).expect("even");
        assert_eq!(size.to_string().parse(), Ok(size));
        for wrong in [
            "",
            "1280",
            "1280x",
            "1281x720",
            "0x2",
            "1280 x 720",
            "2x99999999",
        ] {
            let refused = wrong.parse::<Size>().expect_err("refused");
            assert!(refused.contains("as in 1280x720"), "{refused}");
        }
    }
}
