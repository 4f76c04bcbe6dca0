//! Matroska and WebM.

use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};

use matroska_demuxer::{DemuxError, Frame, MatroskaFile, Range, TrackType};

use super::stream::{Track, limited};
use super::y4m::FULL;
use super::{Sink, Told};
use crate::picture::Picture;

/// Seconds that may be missing at the end of what a file says is its length:
/// its other tracks may be longer.
const SLACK: f64 = 1.0;

/// Reads all pictures of the first track of video.
pub(super) fn read(file: File, tell: &mut Told<'_>, sink: &mut Sink<'_>) -> Result<(), String> {
    let file = guarded(|| MatroskaFile::open(BufReader::new(file)))?;
    let mut file = file.map_err(|error| damaged(&error))?;
    let video = file
        .tracks()
        .iter()
        .find(|track| track.track_type() == TrackType::Video);
    let video = video.ok_or("has no track of video")?;
    let (number, codec) = (video.track_number().get(), video.codec_id().to_owned());
    let packed = video
        .content_encodings()
        .is_some_and(|encodings| !encodings.is_empty());
    if packed {
        return Err("its video is packed once more or encrypted: remux it (`ffmpeg -i FILE -c copy FILE.mp4`)".into());
    }
    // H.264 says for itself; for VP8 and VP9 the container does.
    let colour = video.video().and_then(|video| video.colour());
    let full = colour.is_some_and(|colour| colour.range() == Some(Range::Full));
    let mut track = match codec.as_str() {
        "V_MPEG4/ISO/AVC" => {
            let record = video
                .codec_private()
                .ok_or("its H.264 has no configuration")?;
            Track::h264(record, tell)?
        }
        "V_VP8" => Track::vpx("VP8")?,
        "V_VP9" => Track::vpx("VP9")?,
        other => {
            return Err(format!(
                "is {other}, for which there is no decoder here: turn it into H.264 with \
                 `ffmpeg -i FILE -c:v libx264 -pix_fmt yuv420p FILE.mp4`"
            ));
        }
    };
    let squeeze = full && !codec.starts_with("V_MPEG4");
    if squeeze {
        tell(None, Some(FULL.into()));
    }
    let mut sink = |mut picture: Picture, secs: f64| {
        if squeeze {
            limited(&mut picture);
        }
        sink(picture, secs)
    };
    let scale = file.info().timestamp_scale().get();
    let length = file
        .info()
        .duration()
        .map(|ticks| ticks * scale as f64 / 1e9);
    if let (Some(length), Some(each)) = (length, video_interval(&file, number)) {
        tell(Some((length / each).round() as u64), None);
    }
    let (mut frame, mut count, mut last) = (Frame::default(), 0, 0.0_f64);
    loop {
        match guarded(|| file.next_frame(&mut frame)) {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => break,
            Ok(Err(error)) => return Err(format!("{}, after {last:.1} s", damaged(&error))),
            Err(absurd) => return Err(format!("{absurd}, after {last:.1} s")),
        }
        let nanos = i64::try_from(u128::from(frame.timestamp) * u128::from(scale));
        let nanos = nanos.unwrap_or(i64::MAX);
        last = last.max(nanos as f64 / 1e9);
        if frame.track != number {
            continue;
        }
        if track
            .sample(&frame.data, nanos, count, &mut sink)?
            .is_break()
        {
            return Ok(());
        }
        count += 1;
    }
    if let Some(length) = length
        && last + SLACK < length
    {
        return Err(format!("is cut off: it has {last:.1} s of {length:.1} s"));
    }
    track.end(&mut sink)
}

/// Seconds between pictures, where the file says so.
fn video_interval<R: std::io::Read + std::io::Seek>(
    file: &MatroskaFile<R>,
    number: u64,
) -> Option<f64> {
    let mut tracks = file.tracks().iter();
    let track = tracks.find(|track| track.track_number().get() == number)?;
    Some(track.default_duration()?.get() as f64 / 1e9)
}

/// Runs the demuxer, whose sums overflow on some damaged files: negating the least
/// of all timestamps is one. What it was reading is not used after that.
fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| "is damaged: a number in it is absurd".to_owned())
}

fn damaged(error: &DemuxError) -> String {
    match error {
        DemuxError::ElementSizeExceedsStream {
            declared,
            available,
        } => {
            let missing = declared.saturating_sub(*available);
            format!("is cut off: {missing} bytes of an element are missing")
        }
        other => format!("is damaged: {other}"),
    }
}
