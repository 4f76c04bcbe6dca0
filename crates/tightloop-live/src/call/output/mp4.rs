//! H.264 in MP4: a fragment for each picture, so that the file plays as far as it
//! goes, whatever ends the call. [ISO14496-12] §8.8, [ISO14496-15] §5.3.

use std::fmt;
use std::io::{self, Write};

use mp4_atom::{
    Avc1, Avcc, Codec, Dinf, Dref, DrefEntry, Encode, FourCC, Ftyp, Hdlr, Mdat, Mdhd, Mdia, Mfhd,
    Minf, Moof, Moov, Mvex, Mvhd, Stbl, Stco, Stsd, Tfdt, Tfhd, Tkhd, Traf, Trak, Trex, Trun,
    TrunEntry, TrunSamples, Url, Visual, Vmhd,
};
use tightloop::event::FrameId;

use super::{Output, STANDING};
use crate::picture::Size;

/// The file's only track.
const TRACK: u32 = 1;
/// The ticks of a frame: rates such as 29.97 are of thousandths.
const TICKS: u32 = 1000;
/// Units of a picture that nothing before it is needed for, and of the parameter
/// sets of sequences and of pictures. [H264] Table 7-1
const IDR: u8 = 5;
const SEQUENCE: u8 = 7;
const PICTURE: u8 = 8;
/// A sample that depends on none, and one that depends on others and is no key.
/// [ISO14496-12] §8.8.3.1
const KEY: u32 = 0x0200_0000;
const NOT_KEY: u32 = 0x0101_0000;

/// Writes H.264 as MP4, from the first key picture on.
pub struct Mp4<W: Write + Send> {
    name: String,
    to: W,
    size: Size,
    timescale: u32,
    /// The sets that the head tells of, once it is written.
    sets: Option<[Vec<u8>; 2]>,
    /// The picture that waits for the next one to know how long it lasts.
    waiting: Option<Sample>,
    written: u32,
    time: u64,
}

struct Sample {
    frame: u32,
    bytes: Vec<u8>,
    key: bool,
}

impl<W: Write + Send> Mp4<W> {
    /// Writes to `to`.
    #[must_use]
    pub fn new(name: &str, to: W, size: Size, fps: f64) -> Self {
        Self {
            name: name.to_owned(),
            to,
            size,
            timescale: (fps * f64::from(TICKS)).round() as u32,
            sets: None,
            waiting: None,
            written: 0,
            time: 0,
        }
    }

    fn atom(&mut self, atom: &impl Encode) -> io::Result<()> {
        let mut bytes = Vec::new();
        atom.encode(&mut bytes).map_err(io::Error::other)?;
        self.to.write_all(&bytes)
    }

    /// What comes before the first picture.
    fn head(&mut self, [sequence, picture]: &[Vec<u8>; 2]) -> io::Result<()> {
        let [profile, compatible, level] = match sequence.get(1..4) {
            Some([profile, compatible, level]) => [*profile, *compatible, *level],
            _ => return Err(io::Error::other("a set that is cut off")),
        };
        let config = Avcc {
            configuration_version: 1,
            avc_profile_indication: profile,
            profile_compatibility: compatible,
            avc_level_indication: level,
            length_size: 4,
            sequence_parameter_sets: vec![sequence.clone()],
            picture_parameter_sets: vec![picture.clone()],
            ext: None,
        };
        let (width, height) = (self.size.width() as u16, self.size.height() as u16);
        let entry = Avc1 {
            visual: Visual {
                data_reference_index: 1,
                width,
                height,
                ..Visual::default()
            },
            avcc: config,
            ..Avc1::default()
        };
        let stbl = Stbl {
            stsd: Stsd {
                codecs: vec![Codec::Avc1(entry)],
            },
            stco: Some(Stco::default()),
            ..Stbl::default()
        };
        let minf = Minf {
            vmhd: Some(Vmhd::default()),
            dinf: Dinf {
                dref: Dref {
                    entries: vec![DrefEntry::Url(Url::default())],
                },
            },
            stbl,
            ..Minf::default()
        };
        let trak = Trak {
            tkhd: Tkhd {
                track_id: TRACK,
                enabled: true,
                in_movie: true,
                width: width.into(),
                height: height.into(),
                ..Tkhd::default()
            },
            mdia: Mdia {
                mdhd: Mdhd {
                    timescale: self.timescale,
                    language: "und".into(),
                    ..Mdhd::default()
                },
                hdlr: Hdlr {
                    handler: FourCC::new(b"vide"),
                    name: "video".into(),
                },
                minf,
            },
            ..Trak::default()
        };
        let moov = Moov {
            mvhd: Mvhd {
                timescale: self.timescale,
                rate: 1.into(),
                next_track_id: TRACK + 1,
                ..Mvhd::default()
            },
            trak: vec![trak],
            mvex: Some(Mvex {
                trex: vec![Trex {
                    track_id: TRACK,
                    default_sample_description_index: 1,
                    default_sample_duration: TICKS,
                    ..Trex::default()
                }],
                ..Mvex::default()
            }),
            ..Moov::default()
        };
        self.atom(&Ftyp {
            major_brand: FourCC::new(b"iso5"),
            minor_version: 0,
            compatible_brands: vec![FourCC::new(b"iso5"), FourCC::new(b"avc1")],
        })?;
        self.atom(&moov)
    }

    /// Writes the picture that waits, which lasts so many frames.
    fn fragment(&mut self, frames: u32) -> io::Result<()> {
        let Some(sample) = self.waiting.take() else {
            return Ok(());
        };
        self.written += 1;
        let duration = frames.clamp(1, STANDING) * TICKS;
        let entry = TrunEntry {
            duration: Some(duration),
            size: Some(u32::try_from(sample.bytes.len()).map_err(io::Error::other)?),
            flags: Some(if sample.key { KEY } else { NOT_KEY }),
            cts: None,
        };
        let mut moof = Moof {
            mfhd: Mfhd {
                sequence_number: self.written,
            },
            traf: vec![Traf {
                tfhd: Tfhd {
                    track_id: TRACK,
                    default_base_is_moof: true,
                    ..Tfhd::default()
                },
                tfdt: Some(Tfdt {
                    base_media_decode_time: self.time,
                }),
                trun: vec![Trun {
                    data_offset: Some(0),
                    samples: TrunSamples::Explicit(vec![entry]),
                }],
                ..Traf::default()
            }],
        };
        // Where its bytes begin is known once the box's own length is.
        let mut measured = Vec::new();
        moof.encode(&mut measured).map_err(io::Error::other)?;
        let offset = i32::try_from(measured.len() + 8).map_err(io::Error::other)?;
        moof.traf[0].trun[0].data_offset = Some(offset);
        self.time += u64::from(duration);
        self.atom(&moof)?;
        self.atom(&Mdat { data: sample.bytes })
    }
}

impl<W: Write + Send> fmt::Debug for Mp4<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mp4({}, {})", self.name, self.size)
    }
}

impl<W: Write + Send> Output for Mp4<W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn coded(&mut self, frame: FrameId, bytes: &[u8]) -> io::Result<()> {
        let (mut sets, mut sample, mut key) = ([Vec::new(), Vec::new()], Vec::new(), false);
        for unit in openh264::nal_units(bytes) {
            let start = unit.iter().position(|byte| *byte == 1);
            let unit = start.and_then(|at| unit.get(at + 1..)).unwrap_or_default();
            let Some(kind) = unit.first().map(|byte| byte & 31) else {
                continue;
            };
            match kind {
                SEQUENCE => sets[0] = unit.to_vec(),
                PICTURE => sets[1] = unit.to_vec(),
                _ => {}
            }
            key |= kind == IDR;
            let told = self.sets.iter().flatten().any(|told| told == unit);
            if !told {
                sample.extend_from_slice(&(unit.len() as u32).to_be_bytes());
                sample.extend_from_slice(unit);
            }
        }
        if self.sets.is_none() {
            if !key || sets.iter().any(Vec::is_empty) {
                return Ok(());
            }
            self.head(&sets)?;
            self.sets = Some(sets);
        }
        if sample.is_empty() {
            return Ok(());
        }
        if let Some(before) = &self.waiting {
            let frames = frame.0.saturating_sub(before.frame);
            self.fragment(frames)?;
        }
        self.waiting = Some(Sample {
            frame: frame.0,
            bytes: sample,
            key,
        });
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.fragment(1)?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{CodecStart, PictureOrder, codec};
    use crate::footage::{Footage, FootageSettings};
    use crate::picture::Picture;
    use tightloop::units::{Rate, Span, Time};

    #[test]
    fn what_was_decoded_plays_from_the_first_key_on_at_its_own_time() {
        let size = Size::new(64, 48).expect("a size");
        let interval = Span::from_secs(1) / 30;
        let kind = codec("openh264").expect("built in");
        let mut encoder = (kind.encoder)(&CodecStart::plain(size, interval)).expect("an encoder");
        let film = FootageSettings {
            size: Some(size),
            on_demand: true,
            ..FootageSettings::default()
        };
        let film = Footage::open("gen:game", &film).expect("footage");
        let mut picture = Picture::black(size);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("seen.mp4");
        let file = std::fs::File::create(&path).expect("a file");
        let mut output = Mp4::new("seen", file, size, 30.0);
        // A call that is joined at its third frame has its key there.
        for frame in 0..30_u32 {
            if [11, 12].contains(&frame) {
                continue;
            }
            film.picture(frame.into(), &mut picture).expect("a picture");
            let order = PictureOrder {
                captured: Time::ZERO + interval * i64::from(frame),
                rate: Rate::from_kbps(800),
                key: frame == 3 || frame == 20,
            };
            let coded = encoder.encode(&picture, &order).expect("coded");
            if frame > 0 {
                output.coded(FrameId(frame), &coded.bytes).expect("written");
            }
        }
        output.finish().expect("written");
        // From the third frame to the last, as fast as they were; where two are
        // missing their neighbours are there.
        let settings = FootageSettings {
            fps: Some(30.0),
            ..FootageSettings::default()
        };
        let even = Footage::open(path.to_str().expect("text"), &settings).expect("plays");
        assert_eq!((even.count(), even.size()), (27, size));
        let pictures = [7, 8, 9, 10].map(|number| {
            let mut picture = Picture::black(size);
            even.picture(number, &mut picture).expect("a picture");
            picture
        });
        let [before, one, two, after] = &pictures;
        assert!(before == one && two == after && one != two);
    }

    #[test]
    fn without_a_key_picture_there_is_no_file() {
        let mut bytes = Vec::new();
        let size = Size::new(64, 48).expect("a size");
        let mut output = Mp4::new("memory", &mut bytes, size, 30.0);
        for garbage in [&[][..], &[1], &[0, 0, 1], &[0, 0, 1, 0x41, 9, 9]] {
            output.coded(FrameId(7), garbage).expect("nothing");
        }
        output.finish().expect("nothing");
        drop(output);
        assert!(bytes.is_empty());
    }
}
