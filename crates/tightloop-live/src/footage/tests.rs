use std::fs;
use std::sync::OnceLock;

use mp4_atom::{Any, Avcc, Codec, Encode, Hvc1, Moov, Trak};
use proptest::prelude::*;
use tightloop::units::{Rate, Time};

use made::{avc1, fragments, ftyp, h264, mkv, mp4, record, y4m};

use super::generated::GENERATORS;
use super::*;
use crate::codec::{CODECS, CodecStart, PictureOrder};

mod made;

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

fn lumas(footage: &Footage, count: u64) -> Vec<u8> {
    let mut picture = Picture::black(small());
    let luma = |number| {
        footage.picture(number, &mut picture).expect("a picture");
        picture.y()[0] - 16
    };
    (0..count).map(luma).collect()
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
