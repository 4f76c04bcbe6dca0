//! Our figures are those of the programs whose definitions we say they follow:
//! numbers that those gave for the pictures of [`scene`] are committed here, and
//! where `ffmpeg` is installed it is asked again.

mod scene;

#[cfg(feature = "vmaf")]
use std::num::NonZeroU32;
use std::path::Path;
use std::process::Command;

use scene::{FRAMES, IDENTICAL, ODD, PLAIN, WIDE, pairs, write};
#[cfg(feature = "vmaf")]
use tightloop_live::picture::Size;
use tightloop_live::quality::{Measured, Meter, psnr, ssim::Similarity, vmaf};

/// What 5.1 of [FFmpeg] gave by frame, from the command in [`ask`]: mean squared
/// errors of Y, U and V, and SSIM of Y and of all planes.
const REFERENCE: [([f64; 3], [f64; 2]); FRAMES] = [
    ([31.96, 3.04, 2.64], [0.839251, 0.885846]),
    ([32.73, 3.54, 3.13], [0.836821, 0.881530]),
    ([33.72, 4.59, 4.22], [0.831342, 0.874271]),
    ([34.75, 5.83, 5.13], [0.827853, 0.867187]),
    ([133.83, 12.43, 11.96], [0.390193, 0.571789]),
    ([167.34, 24.59, 25.44], [0.376871, 0.557192]),
    ([213.10, 42.27, 45.55], [0.373486, 0.545347]),
    ([0.00, 0.00, 0.00], [1.000000, 1.000000]),
    ([42.02, 13.55, 13.25], [0.793365, 0.820460]),
    ([43.69, 17.03, 16.34], [0.788135, 0.809387]),
    ([46.21, 17.06, 17.76], [0.776555, 0.800227]),
    ([47.66, 19.90, 18.01], [0.771858, 0.798370]),
];

/// Over all frames: PSNR of Y and of all planes, SSIM of Y, linear and in decibels.
const OVERALL: [f64; 4] = [29.747448, 31.098683, 0.717144, 5.484348];

/// What the filter `libvmaf` of a later [FFmpeg], 9.0.2, gave by frame. The first
/// size is scored by libvmaf's plain code here, the last by its vector code.
#[cfg(feature = "vmaf")]
const VMAF: [((usize, usize), vmaf::Model, [f64; FRAMES]); 3] = [
    (
        PLAIN,
        vmaf::Model::V061,
        [
            65.382308, 68.155455, 67.413971, 69.445751, 31.914305, 20.242325, 11.050248,
            100.000000, 68.541415, 70.822506, 70.157561, 68.501588,
        ],
    ),
    (
        PLAIN,
        vmaf::Model::V061Neg,
        [
            64.028319, 67.247525, 66.430930, 68.372936, 30.393420, 18.115065, 10.402469,
            100.000000, 66.927628, 68.709767, 67.805284, 65.659489,
        ],
    ),
    (
        WIDE,
        vmaf::Model::V061,
        [
            67.349684, 70.052063, 68.401106, 70.318526, 32.522953, 20.640232, 11.166636,
            100.000000, 68.368328, 70.728366, 70.024194, 68.713162,
        ],
    ),
];

fn measure(size: (usize, usize), vmaf: Option<vmaf::Settings>) -> Measured {
    let pairs = pairs(size);
    let mut meter = Meter::new(pairs[0].0.size(), vmaf).expect("a meter");
    for (source, shown) in &pairs {
        meter.push(source, shown).expect("of a size");
    }
    meter.finish().expect("measured")
}

fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn every_frame_has_the_figures_that_ffmpeg_gave() {
    let measured = measure(ODD, None);
    let pairs = pairs(ODD);
    for (at, (errors, [ssim_y, ssim_all])) in REFERENCE.into_iter().enumerate() {
        let frame = measured.frames()[at];
        let found = [frame.mse.y, frame.mse.u, frame.mse.v];
        // The filter prints two digits of errors, of which the decibels follow.
        for (found, expected) in found.into_iter().zip(errors) {
            near(&format!("error of {at}"), found, expected, 0.0051);
        }
        if at == IDENTICAL {
            assert_eq!((frame.psnr_y(), frame.psnr_all()), (None, None));
        }
        let (source, shown) = &pairs[at];
        let planes = Similarity::of(source, shown).expect("of a size");
        assert_eq!(planes.y, frame.ssim);
        near(&format!("SSIM of {at}"), planes.y, ssim_y, 0.000_01);
        near(
            &format!("SSIM of all of {at}"),
            planes.all(),
            ssim_all,
            0.000_01,
        );
    }
}

#[test]
fn a_whole_call_has_the_figures_that_ffmpeg_gave() {
    let summary = measure(ODD, None).summary().expect("frames");
    let [psnr_y, psnr_all, ssim_y, ssim_db] = OVERALL;
    near("PSNR", summary.psnr_y.expect("errors"), psnr_y, 0.001);
    near(
        "PSNR of all",
        summary.psnr_all.expect("errors"),
        psnr_all,
        0.001,
    );
    near("SSIM", summary.ssim, ssim_y, 0.000_01);
    near(
        "SSIM in dB",
        summary.ssim_db.expect("differences"),
        ssim_db,
        0.001,
    );
    assert_eq!((summary.frames, summary.identical), (FRAMES, 1));
}

#[test]
fn frozen_pictures_are_measured_against_what_should_have_been_shown() {
    let measured = measure(ODD, None);
    let psnr: Vec<_> = measured
        .frames()
        .iter()
        .map(|frame| frame.psnr_y())
        .collect();
    // Frames 4 to 6 show frame 3, which moved on: ever less like their source.
    assert!(
        psnr[3] > psnr[4] && psnr[4] > psnr[5] && psnr[5] > psnr[6],
        "{psnr:?}"
    );
    assert_eq!(measured.worst(1, 1), [6]);
}

#[cfg(feature = "vmaf")]
fn every(n: u32) -> vmaf::Settings {
    vmaf::Settings {
        every: NonZeroU32::new(n).expect("not zero"),
        ..Default::default()
    }
}

#[cfg(feature = "vmaf")]
#[test]
fn vmaf_is_that_of_the_reference_for_both_models() {
    for (size, model, expected) in VMAF {
        let measured = measure(size, Some(vmaf::Settings { model, ..every(1) }));
        for (at, (frame, expected)) in measured.frames().iter().zip(expected).enumerate() {
            let found = frame.vmaf.expect("every frame has a score");
            let what = format!("{} at {size:?} of {at}", model.name());
            near(&what, found, expected, 0.001);
        }
        let scored = measured.summary().expect("frames").vmaf.expect("scores");
        near(
            "mean",
            scored.mean,
            expected.iter().sum::<f64>() / 12.0,
            0.001,
        );
        assert_eq!(scored.frames, FRAMES);
    }
}

#[cfg(feature = "vmaf")]
#[test]
fn leaving_frames_out_changes_no_score_of_those_that_have_one() {
    let all = measure(ODD, Some(every(1)));
    for n in [2, 3, 5, 100] {
        let some = measure(ODD, Some(every(n)));
        for (at, (some, all)) in some.frames().iter().zip(all.frames()).enumerate() {
            let scored = u32::try_from(at).is_ok_and(|at| at % n == 0);
            let expected = all.vmaf.filter(|_| scored);
            assert_eq!(some.vmaf, expected, "frame {at}, every {n}");
        }
    }
}

#[cfg(feature = "vmaf")]
#[test]
fn meters_beside_one_another_do_not_change_each_others_code() {
    let alone = [ODD, WIDE].map(|size| measure(size, Some(every(5))));
    std::thread::scope(|scope| {
        let beside =
            [ODD, WIDE, ODD, WIDE].map(|size| scope.spawn(move || measure(size, Some(every(5)))));
        for (at, other) in beside.into_iter().enumerate() {
            assert_eq!(other.join().expect("measured"), alone[at % 2]);
        }
    });
}

#[cfg(feature = "vmaf")]
#[test]
fn meters_with_vmaf_may_end_at_any_frame() {
    let pairs = pairs(ODD);
    let meter = || Meter::new(pairs[0].0.size(), Some(every(5))).expect("a meter");
    assert_eq!(meter().finish().expect("nothing").summary(), None);
    let mut left = meter();
    left.push(&pairs[0].0, &pairs[0].1).expect("of a size");
    drop(left);
    let mut one = meter();
    one.push(&pairs[0].0, &pairs[0].1).expect("of a size");
    let scored = one
        .finish()
        .expect("measured")
        .summary()
        .and_then(|call| call.vmaf);
    assert_eq!(scored.expect("a score").frames, 1);
}

#[cfg(feature = "vmaf")]
#[test]
fn the_smallest_pictures_are_scored_and_smaller_ones_refused() {
    for (width, height) in [(64, 64), (64, 96), (130, 64)] {
        let measured = measure((width, height), Some(every(1)));
        let scores: Vec<f64> = measured
            .frames()
            .iter()
            .filter_map(|frame| frame.vmaf)
            .collect();
        assert_eq!(scores.len(), FRAMES);
        assert!(
            scores.iter().all(|score| (0.0..=100.0).contains(score)),
            "{scores:?}"
        );
    }
    let size = Size::new(64, 62).expect("even");
    let error = Meter::new(size, Some(every(1)))
        .expect_err("too small")
        .to_string();
    assert!(
        error.contains("64x62") && error.contains("64 pixels"),
        "{error}"
    );
}

#[test]
fn the_ffmpeg_of_this_machine_agrees() {
    let Ok(output) = Command::new("ffmpeg").arg("-version").output() else {
        eprintln!("skipped: no ffmpeg on this machine; committed figures are compared anyway");
        return;
    };
    assert!(output.status.success(), "ffmpeg does not run");
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), ODD);
    let measured = measure(ODD, None);
    let summary = measured.summary().expect("frames");
    let psnr = ask(folder.path(), "psnr");
    let value = |line: &str, name: &str| -> f64 {
        let (_, after) = line
            .split_once(name)
            .unwrap_or_else(|| panic!("no {name} in {line}"));
        let word = after.split([' ', '\n', '\r']).next().expect("a word");
        word.parse()
            .unwrap_or_else(|_| panic!("{word} after {name} is no number"))
    };
    near(
        "PSNR",
        summary.psnr_y.expect("errors"),
        value(&psnr, "PSNR y:"),
        0.01,
    );
    near(
        "all",
        summary.psnr_all.expect("errors"),
        value(&psnr, "average:"),
        0.01,
    );
    let ssim = ask(folder.path(), "ssim");
    near("SSIM", summary.ssim, value(&ssim, "SSIM Y:"), 0.001);
    let frames = std::fs::read_to_string(folder.path().join("psnr.log")).expect("a log");
    assert_eq!(frames.lines().count(), FRAMES);
    for (frame, line) in measured.frames().iter().zip(frames.lines()) {
        match frame.psnr_y() {
            Some(found) => near("a frame", found, value(line, "psnr_y:"), 0.01),
            None => assert!(line.contains("psnr_y:inf"), "{line}"),
        }
        let all = psnr::decibels(frame.mse.all());
        assert_eq!(all, frame.psnr_all());
    }
}

/// What `ffmpeg` says of the pictures in a folder; the frames' figures go to a log there.
fn ask(folder: &Path, filter: &str) -> String {
    let size = format!("{}x{}", ODD.0, ODD.1);
    let raw = [
        "-f", "rawvideo", "-pix_fmt", "yuv420p", "-r", "30", "-s", &size, "-i",
    ];
    let output = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-hide_banner", "-nostdin"])
        .args(raw)
        .arg("shown.yuv")
        .args(raw)
        .arg("source.yuv")
        .args(["-lavfi", &format!("{filter}=stats_file={filter}.log")])
        .args(["-f", "null", "-"])
        .output()
        .expect("ffmpeg runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
#[ignore = "leaves the pictures in the target folder, for other programs to measure"]
fn the_pictures_can_be_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for size in [ODD, PLAIN, WIDE] {
        let folder = folder.join(format!("{}x{}", size.0, size.1));
        std::fs::create_dir_all(&folder).expect("a folder");
        write(&folder, size);
        println!(
            "source.yuv and shown.yuv, I420, are in {}",
            folder.display()
        );
    }
}
