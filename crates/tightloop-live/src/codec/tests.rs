use std::sync::OnceLock;

use proptest::prelude::*;

use super::replay::{Replay, Shown};
use super::*;
use crate::footage::generated::GENERATORS;

const INTERVAL: Span = Span::from_nanos(33_333_333);

fn size() -> Size {
    Size::new(320, 180).expect("a size")
}

/// The first pictures of a generated film.
fn pictures(name: &str, count: u64) -> Vec<Picture> {
    let generator = GENERATORS.iter().find(|entry| entry.name == name);
    let film = generator.expect("it exists").film(1, size());
    let picture = |shot: u64| film.picture(shot as f64 / 30.0, shot);
    (0..count).map(picture).collect()
}

fn order(number: usize, rate: Rate) -> PictureOrder {
    PictureOrder {
        captured: Time::ZERO + INTERVAL * number as i64,
        rate,
        key: false,
    }
}

fn encoder(kind: &CodecKind, params: Params) -> Box<dyn VideoEncoder> {
    let start = CodecStart {
        params,
        ..CodecStart::plain(size(), INTERVAL)
    };
    (kind.encoder)(&start).expect("good settings")
}

fn coded(kind: &CodecKind, pictures: &[Picture], rate: Rate) -> Vec<Coded> {
    let mut encoder = encoder(kind, Params::new());
    let encode = |(number, picture)| encoder.encode(picture, &order(number, rate));
    let coded: Result<_, _> = pictures.iter().enumerate().map(encode).collect();
    coded.expect("pictures are encoded")
}

/// Peak signal to noise in luma.
fn psnr(one: &Picture, other: &Picture) -> f64 {
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    let sum: f64 = one.y().iter().zip(other.y()).map(square).sum();
    10.0 * (255.0 * 255.0 / (sum / one.size().pixels() as f64)).log10()
}

#[test]
fn the_same_pictures_orders_and_settings_give_the_same_bytes() {
    let film = pictures("game", 24);
    for kind in CODECS {
        for (preset, params) in kind.presets {
            let run = || {
                let mut encoder = encoder(kind, params());
                let mut all = Vec::new();
                for (number, picture) in film.iter().enumerate() {
                    let rate = Rate::from_kbps(if number < 12 { 900 } else { 250 });
                    let order = PictureOrder {
                        key: number == 18,
                        ..order(number, rate)
                    };
                    all.push(encoder.encode(picture, &order).expect("encoded"));
                }
                all
            };
            assert!(run() == run(), "{} {preset}", kind.name);
        }
    }
}

#[test]
fn the_first_picture_and_those_asked_for_are_key_frames_that_stand_alone() {
    let film = pictures("gradients", 20);
    for kind in CODECS {
        let mut encoder = encoder(kind, Params::new());
        for (number, picture) in film.iter().enumerate() {
            let asked = number == 13;
            let order = PictureOrder {
                key: asked,
                ..order(number, Rate::from_kbps(800))
            };
            let coded = encoder.encode(picture, &order).expect("encoded");
            assert_eq!(coded.key, asked || number == 0, "{} {number}", kind.name);
            if coded.key {
                let mut fresh = (kind.decoder)().expect("a decoder");
                let shown = fresh
                    .decode(&coded.bytes)
                    .expect("decoded")
                    .expect("a picture");
                let likeness = psnr(&shown, picture);
                assert!((25.0..50.0).contains(&likeness), "{} {likeness}", kind.name);
            }
        }
    }
}

#[test]
fn the_target_is_met_from_the_next_second_on_whether_it_rises_or_falls() {
    let film = pictures("gradients", 60);
    for kind in CODECS {
        let mut encoder = encoder(kind, Params::new());
        for (phase, kbps) in [300, 900, 300].into_iter().enumerate() {
            let rate = Rate::from_kbps(kbps);
            let mut bytes = 0;
            for (number, picture) in film.iter().enumerate() {
                let order = order(phase * film.len() + number, rate);
                let coded = encoder.encode(picture, &order).expect("encoded");
                bytes += if number < 30 { 0 } else { coded.bytes.len() };
            }
            let met = bytes as f64 / rate.over(Span::from_secs(1)).get_f64();
            assert!((0.75..1.25).contains(&met), "{} {kbps}: {met}", kind.name);
        }
    }
}

#[test]
fn what_is_decoded_is_like_what_was_encoded_and_better_with_more_bits() {
    let film = pictures("gradients", 20);
    for kind in CODECS {
        let mut seen = Vec::new();
        for kbps in [200, 2000] {
            let mut decoder = (kind.decoder)().expect("a decoder");
            let mut last = 0.0;
            for (coded, picture) in coded(kind, &film, Rate::from_kbps(kbps)).iter().zip(&film) {
                if !coded.bytes.is_empty() {
                    let shown = decoder.decode(&coded.bytes).expect("decoded");
                    last = psnr(&shown.expect("a picture"), picture);
                }
            }
            seen.push(last);
        }
        assert!((26.0..46.0).contains(&seen[0]), "{} {seen:?}", kind.name);
        assert!(
            seen[1] > seen[0] + 1.0 && seen[1] < 55.0,
            "{} {seen:?}",
            kind.name
        );
    }
}

#[test]
fn encoders_skip_what_they_cannot_afford_and_decoders_do_not_mind() {
    let film = pictures("game", 60);
    for kind in CODECS {
        let coded = coded(kind, &film, Rate::from_kbps(20));
        let skipped = coded.iter().filter(|coded| coded.bytes.is_empty()).count();
        assert!(
            (3..58).contains(&skipped),
            "{} skipped {skipped}",
            kind.name
        );
        let mut replay = Replay::new((kind.decoder)().expect("a decoder"));
        for coded in &coded {
            let expected = if coded.bytes.is_empty() {
                Shown::Skipped
            } else {
                Shown::New
            };
            assert_eq!(replay.arrived(coded), expected, "{}", kind.name);
        }
    }
}

#[test]
fn after_a_gap_the_screen_is_frozen_until_a_key_frame() {
    let film = pictures("gradients", 24);
    for kind in CODECS {
        let mut encoder = encoder(kind, Params::new());
        let mut replay = Replay::new((kind.decoder)().expect("a decoder"));
        let mut before = None;
        for (number, picture) in film.iter().enumerate() {
            let order = PictureOrder {
                key: number == 15,
                ..order(number, Rate::from_mbps(1))
            };
            let coded = encoder.encode(picture, &order).expect("encoded");
            if number == 8 {
                assert!(!coded.bytes.is_empty(), "{}", kind.name);
                replay.missing(&coded);
                before = replay.shown().cloned();
                continue;
            }
            if coded.bytes.is_empty() {
                assert_eq!(replay.arrived(&coded), Shown::Skipped);
                continue;
            }
            let shown = replay.arrived(&coded);
            let frozen = (8..15).contains(&number);
            let expected = if frozen { Shown::Frozen } else { Shown::New };
            assert_eq!(shown, expected, "{} {number}", kind.name);
            assert_eq!(replay.waits(), frozen);
            if frozen {
                assert!(replay.shown() == before.as_ref(), "{}", kind.name);
            }
        }
        let last = replay.shown().expect("a picture");
        let likeness = psnr(last, &film[23]);
        assert!((24.0..55.0).contains(&likeness), "{} {likeness}", kind.name);
    }
}

#[test]
fn decoders_survive_missing_and_damaged_pictures_and_recover() {
    let film = pictures("game", 16);
    for kind in CODECS {
        let coded = coded(kind, &film, Rate::from_mbps(1));
        for missing in 0..coded.len() {
            let mut decoder = (kind.decoder)().expect("a decoder");
            for (number, coded) in coded.iter().enumerate() {
                if number == missing || coded.bytes.is_empty() {
                    continue;
                }
                // Errors are welcome, pictures too.
                let _ = decoder.decode(&coded.bytes);
                let half = &coded.bytes[..coded.bytes.len() / 2 + 1];
                let _ = decoder.decode(half);
            }
            let again = decoder.decode(&coded[0].bytes);
            assert!(
                matches!(again, Ok(Some(_))),
                "{} {missing}: {again:?}",
                kind.name
            );
        }
    }
}

#[test]
fn wrong_pictures_settings_and_names_are_refused_with_a_reason() {
    let plain = CodecStart::plain(size(), INTERVAL);
    for kind in CODECS {
        let with = |params: Params| {
            let start = CodecStart {
                params,
                ..plain.clone()
            };
            (kind.encoder)(&start).expect_err("refused").to_string()
        };
        assert!(with(toml::toml! { quality = 3 }).contains("unknown field `quality`"));
        assert!(with(toml::toml! { content = "radio" }).contains("radio"));
        let slow = CodecStart {
            frame_interval: Span::from_secs(9),
            ..plain.clone()
        };
        assert!(
            (kind.encoder)(&slow)
                .expect_err("refused")
                .to_string()
                .contains("9 s")
        );
        let mut encoder = encoder(kind, Params::new());
        let other = Picture::black(Size::new(64, 64).expect("a size"));
        let refused = encoder.encode(&other, &order(0, Rate::from_mbps(1)));
        let said = refused.expect_err("refused").to_string();
        assert!(said.contains("64x64") && said.contains("320x180"), "{said}");
        let mut decoder = (kind.decoder)().expect("a decoder");
        assert!(decoder.decode(&[]).is_err());
        // What it says of itself is what it takes.
        let defaults = CodecStart {
            params: (kind.defaults)(),
            ..plain.clone()
        };
        assert!((kind.encoder)(&defaults).is_ok(), "{}", kind.name);
        assert_eq!(codec(kind.name).expect("found").name, kind.name);
    }
    let huge = CodecStart::plain(Size::new(4096, 2160).expect("a size"), INTERVAL);
    let refused = (h264::OPENH264.encoder)(&huge).expect_err("refused");
    assert!(
        refused.to_string().contains("at most 3840x2160"),
        "{refused}"
    );
    let said = codec("h265").expect_err("refused").to_string();
    assert!(said.contains("openh264"), "{said}");
    #[cfg(not(feature = "vpx"))]
    assert!(
        codec("vp8")
            .expect_err("refused")
            .to_string()
            .contains("--features vpx")
    );
}

static FILM: OnceLock<Vec<Picture>> = OnceLock::new();

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Any targets at all, and flips of any bits on the way.
    #[test]
    fn any_target_is_taken_and_any_damage_survived(
        rates in prop::collection::vec(any::<u64>(), 6),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 6),
    ) {
        let film = FILM.get_or_init(|| pictures("game", 6));
        for kind in CODECS {
            let mut encoder = encoder(kind, Params::new());
            let mut decoder = (kind.decoder)().expect("a decoder");
            for (number, picture) in film.iter().enumerate() {
                let order = order(number, Rate::from_bps(rates[number] >> (number * 9)));
                let mut coded = encoder.encode(picture, &order).expect("encoded");
                if coded.bytes.is_empty() {
                    continue;
                }
                let (place, bit) = &flips[number];
                let at = place.index(coded.bytes.len());
                coded.bytes[at] ^= 1 << bit;
                let _ = decoder.decode(&coded.bytes);
            }
        }
    }
}
