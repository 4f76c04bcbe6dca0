//! Files of each kind, made in memory.

use mp4_atom::{
    Atom, Avc1, Avcc, Codec, Encode, FourCC, Ftyp, Hdlr, Mdat, Mdhd, Mdia, Minf, Moof, Moov, Mvex,
    Stbl, Stco, Stsc, StscEntry, Stsd, Stsz, StszSamples, Stts, SttsEntry, Tfdt, Tfhd, Tkhd, Traf,
    Trak, Trex, Trun, TrunEntry, TrunSamples, Visual,
};

use super::{FPS, coded};

/// Y4M of pictures whose luma is their number.
pub(super) fn y4m(header: &str, width: usize, height: usize, count: u8) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} {header}\n").into_bytes();
    for number in 0..count {
        bytes.extend(b"FRAME\n");
        bytes.extend(vec![16 + number; width * height]);
        bytes.extend(vec![100; width.div_ceil(2) * height.div_ceil(2)]);
        bytes.extend(vec![150; width.div_ceil(2) * height.div_ceil(2)]);
    }
    bytes
}

/// Units of an Annex B stream: parameter sets, and the rest with lengths.
pub(super) fn units(stream: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut sets, mut sample) = (Vec::new(), Vec::new());
    for unit in openh264::nal_units(stream) {
        let unit = &unit[unit
            .iter()
            .position(|byte| *byte == 1)
            .expect("a start code")
            + 1..];
        if matches!(unit[0] & 31, 7 | 8) {
            sets.push(unit.to_vec());
        } else {
            sample.extend((unit.len() as u32).to_be_bytes());
            sample.extend(unit);
        }
    }
    (sets, sample)
}

/// H.264 in pieces: configuration and samples.
pub(super) fn h264(count: u64) -> (Avcc, Vec<Vec<u8>>) {
    let mut sets = Vec::new();
    let mut samples = Vec::new();
    for picture in coded(0, count) {
        let (more, sample) = units(&picture);
        sets.extend(more);
        samples.push(sample);
    }
    let config = Avcc {
        configuration_version: 1,
        avc_profile_indication: sets[0][1],
        profile_compatibility: sets[0][2],
        avc_level_indication: sets[0][3],
        length_size: 4,
        sequence_parameter_sets: vec![sets[0].clone()],
        picture_parameter_sets: vec![sets[1].clone()],
        ext: None,
    };
    (config, samples)
}

pub(super) fn track(codec: Codec, samples: &[Vec<u8>], chunks: Vec<u32>) -> Trak {
    let stbl = Stbl {
        stsd: Stsd {
            codecs: vec![codec],
        },
        stts: Stts {
            entries: vec![SttsEntry {
                sample_count: samples.len() as u32,
                sample_delta: 1000,
            }],
        },
        stsc: Stsc {
            entries: vec![StscEntry {
                first_chunk: 1,
                samples_per_chunk: 4,
                sample_description_index: 1,
            }],
        },
        stsz: Stsz {
            samples: StszSamples::Different {
                sizes: samples.iter().map(|sample| sample.len() as u32).collect(),
            },
        },
        stco: Some(Stco { entries: chunks }),
        ..Stbl::default()
    };
    Trak {
        tkhd: Tkhd {
            track_id: 1,
            ..Tkhd::default()
        },
        mdia: Mdia {
            mdhd: Mdhd {
                timescale: 30_000,
                language: "und".into(),
                ..Mdhd::default()
            },
            hdlr: Hdlr {
                handler: FourCC::new(b"vide"),
                name: "video".into(),
            },
            minf: Minf {
                stbl,
                ..Minf::default()
            },
        },
        ..Trak::default()
    }
}

pub(super) fn avc1(config: Avcc) -> Codec {
    Codec::Avc1(Avc1 {
        visual: Visual::default(),
        avcc: config,
        ..Avc1::default()
    })
}

pub(super) fn ftyp() -> Vec<u8> {
    let mut bytes = Vec::new();
    let ftyp = Ftyp {
        major_brand: FourCC::new(b"isom"),
        minor_version: 0,
        compatible_brands: vec![],
    };
    ftyp.encode(&mut bytes).expect("encoded");
    bytes
}

/// A file in one piece, its index at the end.
pub(super) fn mp4(codec: Codec, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = ftyp();
    let mut at = bytes.len() + 8;
    let mut chunks = Vec::new();
    for chunk in samples.chunks(4) {
        chunks.push(at as u32);
        at += chunk.concat().len();
    }
    Mdat {
        data: samples.concat(),
    }
    .encode(&mut bytes)
    .expect("encoded");
    let moov = Moov {
        trak: vec![track(codec, samples, chunks)],
        ..Moov::default()
    };
    moov.encode(&mut bytes).expect("encoded");
    bytes
}

/// A file in two fragments.
pub(super) fn fragments(codec: Codec, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = ftyp();
    let moov = Moov {
        trak: vec![track(codec, &[], vec![])],
        mvex: Some(Mvex {
            trex: vec![Trex {
                track_id: 1,
                default_sample_description_index: 1,
                default_sample_duration: 1000,
                ..Trex::default()
            }],
            ..Mvex::default()
        }),
        ..Moov::default()
    };
    moov.encode(&mut bytes).expect("encoded");
    let half = samples.len() / 2;
    for (start, part) in [(0, &samples[..half]), (half, &samples[half..])] {
        let moof = |offset: i32| Moof {
            traf: vec![Traf {
                tfhd: Tfhd {
                    track_id: 1,
                    default_base_is_moof: true,
                    ..Tfhd::default()
                },
                tfdt: Some(Tfdt {
                    base_media_decode_time: start as u64 * 1000,
                }),
                trun: vec![Trun {
                    data_offset: Some(offset),
                    samples: TrunSamples::Explicit(
                        part.iter()
                            .map(|sample| TrunEntry {
                                size: Some(sample.len() as u32),
                                ..TrunEntry::default()
                            })
                            .collect(),
                    ),
                }],
                ..Traf::default()
            }],
            ..Moof::default()
        };
        let mut head = Vec::new();
        moof(0).encode(&mut head).expect("encoded");
        moof(head.len() as i32 + 8)
            .encode(&mut bytes)
            .expect("encoded");
        Mdat {
            data: part.concat(),
        }
        .encode(&mut bytes)
        .expect("encoded");
    }
    bytes
}

/// An element of Matroska, its size in eight bytes.
pub(super) fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    let size = (1_u64 << 56 | body.len() as u64).to_be_bytes();
    [id, &size[..], body].concat()
}

/// A file whose clock counts milliseconds.
pub(super) fn mkv(codec: &str, private: &[u8], samples: &[Vec<u8>]) -> Vec<u8> {
    let versions = [
        element(&[0x42, 0x86], &[1]),
        element(&[0x42, 0xf7], &[1]),
        element(&[0x42, 0xf2], &[4]),
        element(&[0x42, 0xf3], &[8]),
        element(&[0x42, 0x82], b"matroska"),
        element(&[0x42, 0x87], &[4]),
        element(&[0x42, 0x85], &[2]),
    ];
    let head = element(&[0x1a, 0x45, 0xdf, 0xa3], &versions.concat());
    let length = (samples.len() as f64 * 1000.0 / FPS as f64).to_be_bytes();
    let info = [
        element(&[0x2a, 0xd7, 0xb1], &1_000_000_u32.to_be_bytes()),
        element(&[0x44, 0x89], &length),
        element(&[0x4d, 0x80], b"test"),
        element(&[0x57, 0x41], b"test"),
    ]
    .concat();
    let video = [element(&[0xb0], &[64]), element(&[0xba], &[48])].concat();
    let mut entry = [
        element(&[0xd7], &[1]),
        element(&[0x73, 0xc5], &[1]),
        element(&[0x83], &[1]),
        element(&[0x86], codec.as_bytes()),
        element(&[0xe0], &video),
    ]
    .concat();
    if !private.is_empty() {
        entry.extend(element(&[0x63, 0xa2], private));
    }
    let tracks = element(&[0xae], &entry);
    let mut cluster = element(&[0xe7], &[0]);
    for (number, sample) in samples.iter().enumerate() {
        let millis = (number as f64 * 1000.0 / FPS as f64).round() as u16;
        let [high, low] = millis.to_be_bytes();
        let block = [&[0x81, high, low, 0x80][..], sample].concat();
        cluster.extend(element(&[0xa3], &block));
    }
    let segment = [
        element(&[0x15, 0x49, 0xa9, 0x66], &info),
        element(&[0x16, 0x54, 0xae, 0x6b], &tracks),
        element(&[0x1f, 0x43, 0xb6, 0x75], &cluster),
    ]
    .concat();
    [head, element(&[0x18, 0x53, 0x80, 0x67], &segment)].concat()
}

pub(super) fn record(config: &Avcc) -> Vec<u8> {
    let mut bytes = Vec::new();
    config.encode_body(&mut bytes).expect("encoded");
    bytes
}
