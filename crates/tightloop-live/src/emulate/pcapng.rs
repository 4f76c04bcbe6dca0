//! Packets as a pcapng file, which Wireshark and tcpdump read: two interfaces,
//! one for each side of the link, with nanoseconds. [Pcapng]

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tightloop::units::Time;

use super::packet::{MTU, Way};
use super::record::{Batch, Output};

/// Packets begin with four bytes that say which version of IP follows. Not the
/// plainer LINKTYPE_RAW: tcpdump mistakes two interfaces of that for different
/// ones.
const LINKTYPE_NULL: u16 = 0;
const FAMILY_FOUR: u32 = 2;
const FAMILY_SIX: u32 = 24;
const FAMILY_SIZE: usize = 4;
/// Block types and option codes, by definition of the format.
const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
const APPLICATION: u16 = 4;

/// A capture on its way to disk.
#[derive(Debug)]
pub struct Capture<W: Write> {
    name: String,
    file: BufWriter<W>,
    begin: Duration,
}

impl Capture<File> {
    /// Makes the file. Times count from now on.
    ///
    /// # Errors
    ///
    /// The file's.
    pub fn create(path: &Path) -> io::Result<Self> {
        let begin = SystemTime::now().duration_since(UNIX_EPOCH);
        let file = File::create(path)?;
        Self::new(path.display().to_string(), file, begin.unwrap_or_default())
    }
}

impl<W: Write> Capture<W> {
    /// Begins a capture whose time zero is `begin` after 1970.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn new(name: String, file: W, begin: Duration) -> io::Result<Self> {
        let mut it = Self {
            name,
            file: BufWriter::new(file),
            begin,
        };
        let mut body = Vec::new();
        body.extend(BYTE_ORDER.to_le_bytes());
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
        option(&mut body, APPLICATION, b"tightloop");
        end(&mut body);
        it.block(SECTION, &body)?;
        for side in ["near", "far"] {
            let mut body = Vec::new();
            body.extend(LINKTYPE_NULL.to_le_bytes());
            body.extend([0, 0]);
            body.extend(((MTU + FAMILY_SIZE) as u32).to_le_bytes());
            option(&mut body, NAME, side.as_bytes());
            option(&mut body, RESOLUTION, &[9]);
            end(&mut body);
            it.block(INTERFACE, &body)?;
        }
        Ok(it)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.file.write_all(&kind.to_le_bytes())?;
        self.file.write_all(&length)?;
        self.file.write_all(body)?;
        self.file.write_all(&length)
    }

    /// A packet at one side of the link, `near` or else far, having crossed it
    /// or about to.
    fn packet(&mut self, at: Time, near: bool, crossed: bool, bytes: &[u8]) -> io::Result<()> {
        let nanos = self.begin.as_nanos() as u64 + at.as_nanos();
        let length = ((bytes.len() + FAMILY_SIZE) as u32).to_le_bytes();
        let six = bytes.first().is_some_and(|byte| byte >> 4 == 6);
        let family = if six { FAMILY_SIX } else { FAMILY_FOUR };
        let mut body = Vec::with_capacity(bytes.len() + 44);
        body.extend(u32::from(!near).to_le_bytes());
        body.extend(((nanos >> 32) as u32).to_le_bytes());
        body.extend((nanos as u32).to_le_bytes());
        body.extend(length);
        body.extend(length);
        body.extend(family.to_le_bytes());
        body.extend_from_slice(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        let direction = if crossed { OUTBOUND } else { INBOUND };
        option(&mut body, FLAGS, &direction.to_le_bytes());
        end(&mut body);
        self.block(ENHANCED_PACKET, &body)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn end(body: &mut Vec<u8>) {
    body.extend([0; 4]);
}

impl<W: Write + Send> Output for Capture<W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        for seen in &batch.packets {
            let near = (seen.way == Way::Up) != seen.crossed;
            self.packet(seen.at, near, seen.crossed, batch.bytes(seen))?;
        }
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks of a file: type and body.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("a word"));
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let length = word(&bytes[4..]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&bytes[length - 4..]) as usize, length);
            blocks.push((word(bytes), bytes[8..length - 4].to_vec()));
            bytes = &bytes[length..];
        }
        blocks
    }

    #[test]
    fn a_capture_is_whole_blocks_with_both_sides_and_all_bytes() {
        let mut bytes = Vec::new();
        let begin = Duration::from_secs(1_700_000_000);
        let mut capture = Capture::new("it".into(), &mut bytes, begin).expect("memory");
        let at = Time::from_nanos(5);
        capture
            .packet(at, true, false, &[0x45; 41])
            .expect("memory");
        capture
            .packet(at, false, true, &[0x60; 40])
            .expect("memory");
        capture.finish(at).expect("memory");
        drop(capture);
        let blocks = blocks(&bytes);
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(
            kinds,
            [
                SECTION,
                INTERFACE,
                INTERFACE,
                ENHANCED_PACKET,
                ENHANCED_PACKET
            ]
        );
        let word = |block: usize, place: usize| {
            let bytes = &blocks[block].1[place * 4..place * 4 + 4];
            u32::from_le_bytes(bytes.try_into().expect("a word"))
        };
        let nanos = 1_700_000_000_000_000_005_u64;
        let expected = [0, (nanos >> 32) as u32, nanos as u32, 45, 45, FAMILY_FOUR];
        assert_eq!([0, 1, 2, 3, 4, 5].map(|place| word(3, place)), expected);
        assert_eq!(&blocks[3].1[24..65], &[0x45; 41]);
        assert_eq!(&blocks[3].1[65..68], &[0; 3]);
        assert_eq!([word(4, 0), word(4, 5)], [1, FAMILY_SIX]);
        // The last option but the end: outbound.
        assert_eq!(word(4, 17), OUTBOUND);
    }
}
