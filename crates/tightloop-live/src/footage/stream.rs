//! Coded samples of a container, turned into pictures with their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use mp4_atom::{Atom, Avcc};

use super::parameters::Parameters;
use super::{Sink, Told, y4m::FULL};
use crate::codec::h264::{H264Decoder, Order};
use crate::codec::{CodecError, VideoDecoder};
use crate::picture::Picture;

/// What starts a unit of a byte stream.
const START: [u8; 4] = [0, 0, 0, 1];

/// A track that can be decoded.
pub(super) enum Track {
    /// H.264.
    H264(H264Track),
    /// VP8 or VP9.
    #[cfg(feature = "vpx")]
    Vpx(crate::codec::vpx::VpxDecoder),
}

/// H.264 whose units have their length before them.
pub(super) struct H264Track {
    decoder: H264Decoder,
    /// Bytes of a length.
    length: usize,
    /// Parameter sets, until the first sample.
    head: Vec<u8>,
    /// Times, in nanoseconds, of pictures that have not come out.
    waiting: BinaryHeap<Reverse<i64>>,
    full: bool,
    samples: u64,
}

impl Track {
    /// H.264 with this configuration record.
    pub(super) fn h264(record: &[u8], tell: &mut Told<'_>) -> Result<Self, String> {
        let record = Avcc::decode_body(&mut &*record)
            .map_err(|error| format!("its H.264 configuration cannot be read: {error}"))?;
        Self::configured(&record, tell)
    }

    /// H.264 with this configuration.
    pub(super) fn configured(record: &Avcc, tell: &mut Told<'_>) -> Result<Self, String> {
        let sets = &record.sequence_parameter_sets;
        // Without a set here, the stream has its own.
        let mut full = false;
        if let Some(set) = sets.first() {
            let about = Parameters::parse(set)
                .ok_or("its H.264 parameter set is damaged: convert the file again")?;
            about.check()?;
            full = about.full_range;
        }
        if full {
            tell(None, Some(FULL.into()));
        }
        let mut head = Vec::new();
        for unit in sets.iter().chain(&record.picture_parameter_sets) {
            head.extend(START);
            head.extend(unit);
        }
        let length = usize::from(record.length_size);
        if !(1..=4).contains(&length) {
            return Err(format!(
                "its H.264 units have lengths of {length} bytes, which is none"
            ));
        }
        Ok(Self::H264(H264Track {
            decoder: H264Decoder::new(Order::Shown).map_err(|error| error.to_string())?,
            length,
            head,
            waiting: BinaryHeap::new(),
            full,
            samples: 0,
        }))
    }

    /// VP8 or VP9, where this build has libvpx.
    pub(super) fn vpx(name: &str) -> Result<Self, String> {
        #[cfg(feature = "vpx")]
        {
            use crate::codec::vpx::{Format, VpxDecoder};
            let format = if name == "VP8" {
                Format::Vp8
            } else {
                Format::Vp9
            };
            let decoder = VpxDecoder::new(format).map_err(|error| error.to_string())?;
            Ok(Self::Vpx(decoder))
        }
        #[cfg(not(feature = "vpx"))]
        Err(format!(
            "is {name}, which needs libvpx: install it (Debian: libvpx-dev) and build with \
             `--features vpx`, or turn the file into H.264 with `ffmpeg -i FILE -c:v libx264 FILE.mp4`"
        ))
    }

    /// Decodes a sample; what comes out goes to the sink.
    pub(super) fn sample(
        &mut self,
        bytes: &[u8],
        nanos: i64,
        number: u64,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, String> {
        match self {
            Self::H264(track) => track.sample(bytes, nanos, number, sink),
            #[cfg(feature = "vpx")]
            Self::Vpx(decoder) => match decoder
                .decode(bytes)
                .map_err(|error| failed(number, &error))?
            {
                Some(picture) => sink(picture, nanos as f64 / 1e9),
                None => Ok(ControlFlow::Continue(())),
            },
        }
    }

    /// What is still inside at the end.
    pub(super) fn end(&mut self, sink: &mut Sink<'_>) -> Result<(), String> {
        match self {
            Self::H264(track) => track.end(sink),
            #[cfg(feature = "vpx")]
            Self::Vpx(_) => Ok(()),
        }
    }
}

fn failed(number: u64, error: &CodecError) -> String {
    format!("picture {number} cannot be decoded: {error}")
}

impl H264Track {
    fn sample(
        &mut self,
        bytes: &[u8],
        nanos: i64,
        number: u64,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, String> {
        let mut stream = std::mem::take(&mut self.head);
        self.units(bytes, &mut stream).ok_or_else(|| {
            format!("picture {number} is damaged: a unit is longer than its sample")
        })?;
        if stream.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        self.samples += 1;
        self.waiting.push(Reverse(nanos));
        match self
            .decoder
            .decode(&stream)
            .map_err(|error| failed(number, &error))?
        {
            Some(picture) => self.out(picture, sink),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// A picture came out: it is the earliest that was waited for.
    fn out(
        &mut self,
        mut picture: Picture,
        sink: &mut Sink<'_>,
    ) -> Result<ControlFlow<()>, String> {
        let Some(Reverse(nanos)) = self.waiting.pop() else {
            return Err("has more pictures than samples".into());
        };
        if self.full {
            limited(&mut picture);
        }
        sink(picture, nanos as f64 / 1e9)
    }

    /// Units with lengths, as units with start codes.
    fn units(&self, mut bytes: &[u8], stream: &mut Vec<u8>) -> Option<()> {
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_at_checked(self.length)?;
            let length = length
                .iter()
                .fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
            let (unit, rest) = rest.split_at_checked(length)?;
            if !unit.is_empty() {
                stream.extend(START);
                stream.extend(unit);
            }
            bytes = rest;
        }
        Some(())
    }

    fn end(&mut self, sink: &mut Sink<'_>) -> Result<(), String> {
        let rest = self
            .decoder
            .flush()
            .map_err(|error| format!("its last pictures cannot be decoded: {error}"))?;
        for picture in rest {
            if self.out(picture, sink)?.is_break() {
                return Ok(());
            }
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        let (lost, all) = (self.waiting.len(), self.samples);
        Err(format!(
            "{lost} of {all} pictures did not come out of the decoder: convert the file again"
        ))
    }
}

/// Turns full range into limited.
pub(super) fn limited(picture: &mut Picture) {
    let table = |span: i32, low: i32, middle: i32| {
        let mut table = [0_u8; 256];
        for (value, to) in (0_i32..).zip(table.iter_mut()) {
            let scaled = (value - middle) * span;
            let rounded = (scaled + scaled.signum() * 127) / 255;
            *to = (rounded + low).clamp(0, 255) as u8;
        }
        table
    };
    let (luma, chroma) = (table(219, 16, 0), table(224, 128, 128));
    for (plane, bytes) in picture.planes_mut().into_iter().enumerate() {
        let table = if plane == 0 { &luma } else { &chroma };
        for value in bytes {
            *value = table[usize::from(*value)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Size;

    #[test]
    fn full_range_is_squeezed_around_its_fixed_points() {
        let mut picture = Picture::black(Size::new(4, 2).expect("a size"));
        let [y, u, v] = picture.planes_mut();
        y.copy_from_slice(&[0, 255, 128, 1, 0, 255, 254, 64]);
        u.copy_from_slice(&[0, 255]);
        v.copy_from_slice(&[128, 129]);
        limited(&mut picture);
        assert_eq!(picture.y(), [16, 235, 126, 17, 16, 235, 234, 71]);
        assert_eq!(
            (picture.u(), picture.v()),
            (&[16, 240][..], &[128, 129][..])
        );
    }
}
