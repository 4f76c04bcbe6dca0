use std::fs;
use std::sync::OnceLock;

use mp4_atom::{
    Any, Atom, Avc1, Avcc, Codec, Encode, FourCC, Ftyp, Hdlr, Hvc1, Mdat, Mdhd, Mdia, Minf, Moof,
    Moov, Mvex, Stbl, Stco, Stsc, StscEntry, Stsd, Stsz, StszSamples, Stts, SttsEntry, Tfdt, Tfhd,
    Tkhd, Traf, Trak, Trex, Trun, TrunEntry, TrunSamples, Visual,
};
use proptest::prelude::*;
use tightloop::units::{Rate, Time};

use super::generated::GENERATORS;
use super::*;
use crate::codec::{CODECS, CodecStart, PictureOrder};

const FPS: u64 = 30;

/// A file of this test alone, gone with it.
fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), bytes).expect("written");
    file
}

fn open(bytes: &[u8], settings: &FootageSettings) -> Result<Footage, FootageError> {
    let file = file(bytes);
    Footage::open(file.path().to_str().expect("a name"), settings)
}

/// Why these bytes are refused; the file is named, the rest is returned.
fn refusal(bytes: &[u8]) -> String {
    let file = file(bytes);
    let name = file.path().to_str().expect("a name");
    let refused = Footage::open(name, &FootageSettings::default());
    let said = refused.expect_err("refused").to_string();
    let rest = said.strip_prefix(name).expect("the file is named");
    rest.to_owned()
}

fn small() -> Size {
    Size::new(64, 48).expect("a size")
}

fn film(count: u64) -> Vec<Picture> {
    let film = GENERATORS[0].film(1, small());
    (0..count)
        .map(|shot| film.picture(shot as f64 / FPS as f64, shot))
        .collect()
}

/// The pictures, coded: samples, in order.
fn coded(codec: usize, count: u64) -> Vec<Vec<u8>> {
    let interval = Span::from_secs(1) / 30;
    let start = CodecStart::plain(small(), interval);
    let mut encoder = (CODECS[codec].encoder)(&start).expect("an encoder");
    let encode = |(number, picture): (usize, &Picture)| {
        let order = PictureOrder {
            captured: Time::ZERO + interval * number as i64,
            rate: Rate::from_mbps(1),
            key: false,
        };
        encoder.encode(picture, &order).expect("encoded").bytes
    };
    film(count).iter().enumerate().map(encode).collect()
}

fn likeness(one: &Picture, other: &Picture) -> f64 {
    let pairs = one.y().iter().zip(other.y());
    let off: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    off as f64 / one.size().pixels() as f64
}

/// All pictures of it are the film's.
fn shows_the_film(footage: &Footage, count: u64) {
    assert_eq!((footage.count(), footage.size()), (count, small()));
    assert!(
        (footage.fps() - FPS as f64).abs() < 1e-9,
        "{}",
        footage.fps()
    );
    let mut picture = Picture::black(small());
    for (number, original) in (0..).zip(film(count)) {
        footage.picture(number, &mut picture).expect("a picture");
        let off = likeness(&picture, &original);
        assert!(off < 4.0, "{number}: {off}");
    }
}

/// Y4M of pictures whose luma is their number.
fn y4m(header: &str, width: usize, height: usize, count: u8) -> Vec<u8> {
    let mut bytes = format!("YUV4MPEG2 W{width} H{height} {header}\n").into_bytes();
    for number in 0..count {
        bytes.extend(b"FRAME\n");
        bytes.extend(vec![16 + number; width * height]);
        bytes.extend(vec![100; width.div_ceil(2) * height.div_ceil(2)]);
        bytes.extend(vec![150; width.div_ceil(2) * height.div_ceil(2)]);
    }
    bytes
}

fn lumas(footage: &Footage, count: u64) -> Vec<u8> {
    let mut picture = Picture::black(small());
    let luma = |number| {
        footage.picture(number, &mut picture).expect("a picture");
        picture.y()[0] - 16
    };
    (0..count).map(luma).collect()
}

/// Units of an Annex B stream: parameter sets, and the rest with lengths.
fn units(stream: &[u8]) -> (Vec<Vec<u8>>, Vec<u8>) {
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
fn h264(count: u64) -> (Avcc, Vec<Vec<u8>>) {
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

fn track(codec: Codec, samples: &[Vec<u8>], chunks: Vec<u32>) -> Trak {
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

fn avc1(config: Avcc) -> Codec {
    Codec::Avc1(Avc1 {
        visual: Visual::default(),
        avcc: config,
        ..Avc1::default()
    })
}

fn ftyp() -> Vec<u8> {
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
fn mp4(codec: Codec, samples: &[Vec<u8>]) -> Vec<u8> {
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
fn fragments(codec: Codec, samples: &[Vec<u8>]) -> Vec<u8> {
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
fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
    let size = (1_u64 << 56 | body.len() as u64).to_be_bytes();
    [id, &size[..], body].concat()
}

/// A file whose clock counts milliseconds.
fn mkv(codec: &str, private: &[u8], samples: &[Vec<u8>]) -> Vec<u8> {
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

fn record(config: &Avcc) -> Vec<u8> {
    let mut bytes = Vec::new();
    config.encode_body(&mut bytes).expect("encoded");
    bytes
}

#[test]
fn y4m_is_read_cropped_to_even_and_turned_to_limited_range() {
    let footage = open(
        &y4m("F30:1 C420jpeg", 64, 48, 5),
        &FootageSettings::default(),
    );
    let footage = footage.expect("footage");
    assert_eq!(
        (footage.count(), footage.size(), footage.fps()),
        (5, small(), 30.0)
    );
    assert_eq!(lumas(&footage, 5), [0, 1, 2, 3, 4]);
    assert!(footage.notes().is_empty());

    let odd = open(&y4m("F25:1", 65, 49, 2), &FootageSettings::default()).expect("footage");
    assert_eq!((odd.size(), odd.fps()), (small(), 25.0));
    assert!(
        odd.notes()[0].contains("from 65x49 to 64x48"),
        "{:?}",
        odd.notes()
    );

    let full = open(
        &y4m("F30:1 XCOLORRANGE=FULL", 64, 48, 2),
        &FootageSettings::default(),
    );
    let full = full.expect("footage");
    // 16 of 255 in 219 steps above 16.
    assert_eq!(lumas(&full, 1), [14]);
    assert!(full.notes()[0].contains("full range"), "{:?}", full.notes());
}

#[test]
fn mp4_in_one_piece_and_in_fragments_shows_the_film() {
    let (config, samples) = h264(14);
    let whole = mp4(avc1(config.clone()), &samples);
    let mut told = Vec::new();
    let file = file(&whole);
    let footage = Footage::open_with(
        file.path().to_str().expect("a name"),
        &FootageSettings::default(),
        &mut |progress| told.push(progress),
    );
    shows_the_film(&footage.expect("footage"), 14);
    let last = Progress {
        decoded: 14,
        of: Some(14),
    };
    assert_eq!((told.len(), told.last()), (14, Some(&last)));
    let pieces = fragments(avc1(config), &samples);
    shows_the_film(
        &open(&pieces, &FootageSettings::default()).expect("footage"),
        14,
    );
}

#[test]
fn matroska_shows_the_film() {
    let (config, samples) = h264(14);
    let bytes = mkv("V_MPEG4/ISO/AVC", &record(&config), &samples);
    shows_the_film(
        &open(&bytes, &FootageSettings::default()).expect("footage"),
        14,
    );
}

#[cfg(feature = "vpx")]
#[test]
fn webm_shows_the_film() {
    for (codec, name) in [(1, "V_VP8"), (2, "V_VP9")] {
        let bytes = mkv(name, &[], &coded(codec, 14));
        shows_the_film(
            &open(&bytes, &FootageSettings::default()).expect("footage"),
            14,
        );
    }
}

#[cfg(not(feature = "vpx"))]
#[test]
fn webm_without_libvpx_says_what_to_do() {
    for (id, name) in [("V_VP8", "VP8"), ("V_VP9", "VP9")] {
        let said = refusal(&mkv(id, &[], &[vec![0; 9]]));
        assert!(
            said.starts_with(&format!(": is {name}, which needs libvpx")),
            "{said}"
        );
        assert!(
            said.contains("--features vpx") && said.contains("libx264"),
            "{said}"
        );
    }
}

#[test]
fn files_that_are_cut_off_say_so() {
    let (config, samples) = h264(14);
    let whole = mp4(avc1(config.clone()), &samples);
    let moov = whole.len() - 200;
    for (bytes, what) in [
        (
            &whole[..moov],
            ": is cut off: 200 bytes of its box moov are missing",
        ),
        (&whole[..60], "of its box mdat are missing"),
        (&whole[..20], ": is cut off or damaged at byte 16"),
        (&whole[..16], "has no index"),
    ] {
        let said = refusal(bytes);
        assert!(said.contains(what), "{said}");
    }
    let pieces = fragments(avc1(config.clone()), &samples);
    let said = refusal(&pieces[..pieces.len() - 50]);
    assert!(
        said.contains("is cut off: picture 13 of 14 lies beyond its end"),
        "{said}"
    );
    let said = refusal(&y4m("F30:1", 64, 48, 3)[..10_000]);
    assert!(said.contains("cut off or damaged in picture 2"), "{said}");
    let bytes = mkv("V_MPEG4/ISO/AVC", &record(&config), &samples);
    let said = refusal(&bytes[..bytes.len() - 30]);
    assert!(said.contains("cut off"), "{said}");
}

#[test]
fn codecs_without_a_decoder_are_named() {
    let hevc = mp4(Codec::Hvc1(Hvc1::default()), &[vec![1; 10]]);
    let said = refusal(&hevc);
    assert!(
        said.contains("is H.265, for which there is no decoder"),
        "{said}"
    );
    let said = refusal(&mkv("V_AV1", &[], &[vec![1; 10]]));
    assert!(
        said.contains("is V_AV1, for which there is no decoder"),
        "{said}"
    );
    let said = refusal(&y4m("F30:1 C444", 64, 48, 1));
    assert!(said.contains("C444") && said.contains("yuv420p"), "{said}");
    let said = refusal(&y4m("F30:1 It", 64, 48, 1));
    assert!(said.contains("interlaced"), "{said}");
}

#[test]
fn what_is_not_video_is_told_apart() {
    for (bytes, what) in [
        (&b""[..], "it is empty"),
        (b"hello, world, this is text", "none"),
        (b"RIFF\0\0\0\0AVI LIST", "AVI"),
        (b"\x89PNG\r\n\x1a\n", "still picture"),
        (b"\0\0\0\x01\x67\x42\0\x1e", "bare stream"),
    ] {
        let said = refusal(bytes);
        assert!(
            said.contains("is not Y4M, MP4") && said.contains(what),
            "{said}"
        );
    }
    let gone = Footage::open("/no/such/clip.mp4", &FootageSettings::default());
    let said = gone.expect_err("refused").to_string();
    assert!(
        said.starts_with("/no/such/clip.mp4: cannot be opened"),
        "{said}"
    );
    let folder = Footage::open("/", &FootageSettings::default());
    assert!(
        folder
            .expect_err("refused")
            .to_string()
            .contains("is a folder")
    );
    let sound = Moov {
        trak: vec![Trak::default()],
        ..Moov::default()
    };
    let mut bytes = ftyp();
    Any::Moov(sound).encode(&mut bytes).expect("encoded");
    assert!(refusal(&bytes).contains("no track of video"));
    let none = Footage::open("gen:opera", &FootageSettings::default());
    let said = none.expect_err("refused").to_string();
    assert!(said.contains("gradients, cuts, text, game"), "{said}");
}

#[test]
fn another_rate_takes_the_picture_nearest_in_time() {
    let at = |fps: f64, count: u64| {
        let settings = FootageSettings {
            fps: Some(fps),
            repeat: Repeat::FromTheStart,
            ..FootageSettings::default()
        };
        let footage = open(&y4m("F30:1", 64, 48, 12), &settings).expect("footage");
        assert!((footage.fps() - fps).abs() < 1e-9);
        (footage.count(), lumas(&footage, count))
    };
    assert_eq!(at(15.0, 7), (6, vec![0, 2, 4, 6, 8, 10, 0]));
    assert_eq!(at(30.0, 12), (12, (0..12).collect()));
    let (count, shown) = at(60.0, 24);
    assert!((23..=24).contains(&count));
    let twice = shown.iter().filter(|luma| **luma == 5).count();
    assert_eq!(twice, 2, "{shown:?}");
    let (count, shown) = at(25.0, 10);
    assert_eq!((count, shown), (10, vec![0, 1, 2, 4, 5, 6, 7, 8, 10, 11]));
}

#[test]
fn footage_runs_to_and_fro_or_from_the_start_for_ever() {
    let shown = |repeat, from: u64| {
        let settings = FootageSettings {
            repeat,
            ..FootageSettings::default()
        };
        let footage = open(&y4m("F30:1", 64, 48, 4), &settings).expect("footage");
        let at = |n| footage.index(n);
        (from..from + 9).map(at).collect::<Vec<_>>()
    };
    assert_eq!(shown(Repeat::ToAndFro, 0), [0, 1, 2, 3, 2, 1, 0, 1, 2]);
    assert_eq!(
        shown(Repeat::ToAndFro, 6_000_000),
        [0, 1, 2, 3, 2, 1, 0, 1, 2]
    );
    assert_eq!(shown(Repeat::FromTheStart, 0), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    let one = open(&y4m("F30:1", 64, 48, 1), &FootageSettings::default()).expect("footage");
    assert_eq!(lumas(&one, 3), [0, 0, 0]);
}

#[test]
fn settings_bound_scale_and_seed_what_is_shown() {
    let with = |source: &str, settings: FootageSettings| Footage::open(source, &settings);
    let settings = FootageSettings {
        size: Some(small()),
        fps: Some(10.0),
        longest: Span::from_millis(700),
        seed: 3,
        ..FootageSettings::default()
    };
    let short = with("gen:text", settings.clone()).expect("footage");
    assert_eq!(
        (short.count(), short.size(), short.fps()),
        (7, small(), 10.0)
    );
    let half = FootageSettings {
        size: Size::new(32, 24),
        longest: Span::from_millis(100),
        ..FootageSettings::default()
    };
    let scaled = open(&y4m("F30:1", 64, 48, 30), &half).expect("footage");
    assert_eq!(scaled.count(), 3);
    assert!(scaled.notes()[0].contains("scaled from 64x48 to 32x24"));
    for wrong in [
        FootageSettings {
            fps: Some(0.0),
            ..settings.clone()
        },
        FootageSettings {
            longest: Span::ZERO,
            ..settings.clone()
        },
        FootageSettings {
            folder: Some("/no/such/folder".into()),
            ..settings
        },
    ] {
        assert!(with("gen:text", wrong).is_err());
    }
    let read = |table: toml::Table| FootageSettings::deserialize(table);
    let settings = read(toml::toml! {
        size = "640x360"
        repeat = "to-and-fro"
    });
    let read_back = settings.expect("settings");
    assert_eq!(read_back.size, Size::new(640, 360));
    let said = read(toml::toml! { size = "641x360" }).expect_err("refused");
    assert!(said.to_string().contains("as in 1280x720"), "{said}");
}

#[test]
fn many_threads_read_one_footage() {
    let footage = open(&y4m("F30:1", 64, 48, 40), &FootageSettings::default()).expect("footage");
    std::thread::scope(|scope| {
        for offset in 0..4_u64 {
            let footage = &footage;
            scope.spawn(move || {
                let mut picture = Picture::black(small());
                for step in 0..400 {
                    let number = offset * 13 + step * 7;
                    footage.picture(number, &mut picture).expect("a picture");
                    let expected = 16 + footage.index(number) as u8;
                    assert!(picture.y().iter().all(|luma| *luma == expected));
                }
            });
        }
    });
}

#[test]
fn the_moment_of_capture_names_the_picture() {
    let footage = open(&y4m("F30:1", 64, 48, 4), &FootageSettings::default()).expect("footage");
    for number in 0..10_000 {
        let captured = Span::from_secs_f64(number as f64 / 30.0);
        assert_eq!(footage.number_at(captured), number);
        assert_eq!(footage.number_at(captured + Span::from_millis(33)), number);
    }
}

static CODED: OnceLock<(Avcc, Vec<Vec<u8>>)> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Flips anywhere, cuts anywhere: pictures or a reason, never a panic.
    #[test]
    fn damaged_files_are_read_or_refused(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        end: prop::sample::Index,
        cut: bool,
        whole: bool,
    ) {
        let (config, samples) = CODED.get_or_init(|| h264(3));
        for mut bytes in [
            if whole { mp4(avc1(config.clone()), samples) } else { fragments(avc1(config.clone()), samples) },
            mkv("V_MPEG4/ISO/AVC", &record(config), samples),
            y4m("F30:1 C420jpeg", 16, 16, 2),
        ] {
            for (place, value) in &flips {
                let at = place.index(bytes.len());
                bytes[at] = *value;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            let _ = open(&bytes, &FootageSettings::default());
        }
    }
}

/// Real clips, from the folder that a variable names.
#[test]
#[ignore = "needs TIGHTLOOP_CLIPS, a folder of clips"]
fn real_clips_open() {
    let Some(folder) = std::env::var_os("TIGHTLOOP_CLIPS") else {
        println!("skipped: TIGHTLOOP_CLIPS names no folder of clips");
        return;
    };
    let mut opened = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.to_str().expect("a name");
        match Footage::open(name, &FootageSettings::default()) {
            Ok(footage) => {
                opened += 1;
                println!(
                    "{name}: {} {:.3} {}",
                    footage.size(),
                    footage.fps(),
                    footage.count()
                );
                assert!(footage.count() > 10);
            }
            Err(error) => {
                println!("{error}");
                assert!(cfg!(not(feature = "vpx")) && error.what.contains("libvpx"));
            }
        }
    }
    assert!(opened > 0, "no clip was opened");
}
