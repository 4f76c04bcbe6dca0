//! What an H.264 sequence parameter set says, as far as it decides whether the
//! stream can be used. [H264] §7.3.2.1.1, Annex E.1.1.

/// What is read of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) profile: u8,
    /// 1 is 4:2:0.
    pub(super) chroma: u32,
    pub(super) bits: u32,
    /// Frames, never fields.
    pub(super) progressive: bool,
    pub(super) full_range: bool,
}

/// Profiles whose sets tell chroma and depth. [H264] §7.3.2.1.1.
const HIGH: [u8; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];

impl Parameters {
    /// Reads a set, its unit's header included; `None` where it ends early.
    pub(super) fn parse(unit: &[u8]) -> Option<Self> {
        let bytes = unescaped(unit.get(1..)?);
        let mut bits = Bits {
            bytes: &bytes,
            at: 0,
        };
        let profile = u8::try_from(bits.take(8)?).ok()?;
        bits.take(16)?;
        bits.number()?;
        let (mut chroma, mut depth) = (1, 8);
        if HIGH.contains(&profile) {
            chroma = bits.number()?;
            if chroma == 3 {
                bits.take(1)?;
            }
            depth = 8 + bits.number()?;
            depth = depth.max(8 + bits.number()?);
            bits.take(1)?;
            if bits.take(1)? == 1 {
                bits.scaling(if chroma == 3 { 12 } else { 8 })?;
            }
        }
        bits.number()?;
        match bits.number()? {
            0 => {
                bits.number()?;
            }
            1 => {
                bits.take(1)?;
                bits.number()?;
                bits.number()?;
                for _ in 0..bits.number()?.min(255) {
                    bits.number()?;
                }
            }
            _ => {}
        }
        bits.number()?;
        bits.take(1)?;
        bits.number()?;
        bits.number()?;
        let progressive = bits.take(1)? == 1;
        if !progressive {
            bits.take(1)?;
        }
        bits.take(1)?;
        if bits.take(1)? == 1 {
            for _ in 0..4 {
                bits.number()?;
            }
        }
        let full_range = bits.take(1)? == 1 && bits.full_range()?;
        Some(Self {
            profile,
            chroma,
            bits: depth,
            progressive,
            full_range,
        })
    }

    /// Fails for what the decoder does not decode.
    pub(super) fn check(&self) -> Result<(), String> {
        let what = if self.chroma != 1 {
            "chroma other than 4:2:0".to_owned()
        } else if self.bits != 8 {
            format!("{} bits a sample", self.bits)
        } else if !self.progressive {
            "interlaced pictures".to_owned()
        } else {
            return Ok(());
        };
        Err(format!(
            "is H.264 with {what}, which OpenH264 does not decode: convert it with \
             `ffmpeg -i FILE -vf yadif=deint=1 -c:v libx264 -pix_fmt yuv420p FILE.mp4`"
        ))
    }
}

/// Without the bytes that keep start codes out.
fn unescaped(unit: &[u8]) -> Vec<u8> {
    let (mut bytes, mut zeros) = (Vec::with_capacity(unit.len()), 0);
    for &byte in unit {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        bytes.push(byte);
    }
    bytes
}

struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> Option<u32> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = (value << 1) | u32::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }

    /// An Exp-Golomb number. [H264] §9.1.
    fn number(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while self.take(1)? == 0 {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        Some((1_u32 << zeros) - 1 + self.take(zeros)?)
    }

    fn scaling(&mut self, lists: usize) -> Option<()> {
        for list in 0..lists {
            if self.take(1)? == 0 {
                continue;
            }
            let (mut last, mut next) = (8_i64, 8_i64);
            for _ in 0..if list < 6 { 16 } else { 64 } {
                if next != 0 {
                    let code = i64::from(self.number()?);
                    let delta = if code % 2 == 1 {
                        (code + 1) / 2
                    } else {
                        -(code / 2)
                    };
                    next = (last + delta + 256).rem_euclid(256);
                }
                last = if next == 0 { last } else { next };
            }
        }
        Some(())
    }

    /// From the start of the usability information.
    fn full_range(&mut self) -> Option<bool> {
        if self.take(1)? == 1 && self.take(8)? == 255 {
            self.take(32)?;
        }
        if self.take(1)? == 1 {
            self.take(1)?;
        }
        if self.take(1)? == 0 {
            return Some(false);
        }
        self.take(3)?;
        Some(self.take(1)? == 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sets of 64x48 pictures, written out bit by bit.
    fn set(bits: &str) -> Vec<u8> {
        let bits: Vec<u8> = bits
            .bytes()
            .filter(|bit| *bit != b' ')
            .map(|bit| bit - b'0')
            .collect();
        let byte = |bits: &[u8]| (0..8).fold(0, |sum, at| (sum << 1) | bits.get(at).unwrap_or(&0));
        std::iter::once(0x67)
            .chain(bits.chunks(8).map(byte))
            .collect()
    }

    /// Profile 66; sizes and the rest; then usability information.
    const BASELINE: &str = "01000010 00000000 00011110 1 1 011 010 0 00100 011 1 1 0";

    #[test]
    fn sets_tell_range_depth_and_fields() {
        let plain = Parameters::parse(&set(&format!("{BASELINE} 0 1"))).expect("a set");
        assert_eq!((plain.chroma, plain.bits), (1, 8));
        assert!(plain.progressive && !plain.full_range && plain.check().is_ok());
        let full = Parameters::parse(&set(&format!("{BASELINE} 1 0 0 1 101 1 1"))).expect("a set");
        assert!(full.full_range);
        let deep = "01101110 00000000 00011110 1 010 011 011 0 0 1 1 1 010 0 00100 011 1 1 0 0 1";
        let deep = Parameters::parse(&set(deep)).expect("a set");
        assert!(
            deep.check().expect_err("refused").contains("10 bits"),
            "{deep:?}"
        );
        let fields = "01001101 00000000 00011110 1 1 1 1 010 0 00100 011 0 0 1 0 0 1";
        let fields = Parameters::parse(&set(fields)).expect("a set");
        assert!(
            fields.check().expect_err("refused").contains("interlaced"),
            "{fields:?}"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Parameters::parse(&bytes);
        }
    }
}
