//! MP4: where samples are and when they are shown.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use mp4_atom::{Atom, Codec, DecodeAtom, FourCC, Header, Moof, Moov, ReadFrom, StszSamples, Trak};

use super::stream::Track;
use super::{Sink, Told};

/// The largest index that is read. Ours: what the hours of a film need, several times.
const LARGEST_INDEX: u64 = 256 << 20;

/// The largest sample. Ours: beyond any picture that decoders here take.
const LARGEST_SAMPLE: u64 = 64 << 20;

/// The most samples. Ours: more than ten hours of 60 pictures a second.
const MOST_SAMPLES: usize = 1 << 22;

/// A sample of the track.
#[derive(Clone, Copy, Debug)]
struct Sample {
    offset: u64,
    size: u64,
    /// When it is shown, in ticks.
    shown: i64,
}

/// Reads all pictures of the first track of video.
pub(super) fn read(mut file: File, tell: &mut Told<'_>, sink: &mut Sink<'_>) -> Result<(), String> {
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let (moov, fragments) = boxes(&mut file, length)?;
    let trak = video(&moov)?;
    let mut track = decoder(trak, tell)?;
    let mut samples = table(trak)?;
    fragmented(&mut samples, trak, &moov, &fragments)?;
    if samples.is_empty() {
        return Err("its track of video has no samples".into());
    }
    tell(Some(samples.len() as u64), None);
    let scale = i64::from(trak.mdia.mdhd.timescale).max(1);
    let start = samples.iter().map(|sample| sample.shown).min().unwrap_or(0);
    let mut bytes = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        let end = sample.offset.checked_add(sample.size);
        if end.is_none_or(|end| end > length) {
            return Err(format!(
                "is cut off: picture {number} of {} lies beyond its end",
                samples.len()
            ));
        }
        if sample.size > LARGEST_SAMPLE {
            return Err(format!(
                "is damaged: picture {number} has {} bytes",
                sample.size
            ));
        }
        bytes.resize(usize::try_from(sample.size).unwrap_or(0), 0);
        file.read_exact_at(&mut bytes, sample.offset)
            .map_err(|error| format!("cannot be read: {error}"))?;
        let ticks = i128::from(sample.shown.saturating_sub(start));
        let nanos = i64::try_from(ticks * 1_000_000_000 / i128::from(scale)).unwrap_or(i64::MAX);
        if track.sample(&bytes, nanos, number as u64, sink)?.is_break() {
            return Ok(());
        }
    }
    track.end(sink)
}

/// The index, and the indices of fragments with their offsets.
fn boxes(file: &mut File, length: u64) -> Result<(Moov, Vec<(Moof, u64)>), String> {
    let (mut at, mut moov, mut fragments) = (0, None, Vec::new());
    while at < length {
        file.seek(SeekFrom::Start(at))
            .map_err(|error| error.to_string())?;
        let header = match Header::read_from(file) {
            Ok(header) => header,
            // Bytes behind the last box do no harm where there is an index.
            Err(_) if moov.is_some() => break,
            Err(error) => return Err(format!("is cut off or damaged at byte {at}: {error}")),
        };
        let body = file.stream_position().map_err(|error| error.to_string())?;
        let size = header.size.map_or(length - body, |size| size as u64);
        let kind = header.kind;
        let index = kind == Moov::KIND || kind == Moof::KIND;
        if size > length - body {
            if index || moov.is_none() {
                let missing = size - (length - body);
                return Err(format!(
                    "is cut off: {missing} bytes of its box {} are missing",
                    name(kind)
                ));
            }
            break;
        }
        if index {
            if size > LARGEST_INDEX {
                return Err(format!(
                    "is damaged: its box {} has {size} bytes",
                    name(kind)
                ));
            }
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
            file.read_exact_at(&mut bytes, body)
                .map_err(|error| error.to_string())?;
            let damaged = |error| format!("its box {} cannot be read: {error}", name(kind));
            let sized = Header {
                kind,
                size: Some(bytes.len()),
            };
            if kind == Moov::KIND {
                moov = Some(Moov::decode_atom(&sized, &mut &bytes[..]).map_err(damaged)?);
            } else {
                fragments.push((
                    Moof::decode_atom(&sized, &mut &bytes[..]).map_err(damaged)?,
                    at,
                ));
            }
        }
        at = body + size;
    }
    let moov = moov.ok_or("has no index (box moov): it is cut off, or was never finished")?;
    Ok((moov, fragments))
}

fn name(kind: FourCC) -> String {
    kind.to_string()
}

fn video(moov: &Moov) -> Result<&Trak, String> {
    let is_video = |trak: &&Trak| trak.mdia.hdlr.handler == FourCC::new(b"vide");
    moov.trak.iter().find(is_video).ok_or_else(|| {
        let kinds: Vec<_> = moov
            .trak
            .iter()
            .map(|trak| name(trak.mdia.hdlr.handler))
            .collect();
        format!("has no track of video (its tracks: {})", kinds.join(", "))
    })
}

fn decoder(trak: &Trak, tell: &mut Told<'_>) -> Result<Track, String> {
    let other = |name: &str| {
        Err(format!(
            "is {name}, for which there is no decoder here: turn it into H.264 with \
             `ffmpeg -i FILE -c:v libx264 -pix_fmt yuv420p FILE.mp4`"
        ))
    };
    match trak.mdia.minf.stbl.stsd.codecs.first() {
        Some(Codec::Avc1(entry)) => Track::configured(&entry.avcc, tell),
        Some(Codec::Avc3(entry)) => Track::configured(&entry.avcc, tell),
        Some(Codec::Vp08(_)) => Track::vpx("VP8"),
        Some(Codec::Vp09(_)) => Track::vpx("VP9"),
        Some(Codec::Hev1(_) | Codec::Hvc1(_)) => other("H.265"),
        Some(Codec::Av01(_)) => other("AV1"),
        Some(Codec::Unknown(kind, ..)) => other(&name(*kind)),
        Some(_) => other("neither H.264 nor VP8 nor VP9"),
        None => Err("its track of video names no codec".into()),
    }
}

/// The samples of a track that is in one piece.
fn table(trak: &Trak) -> Result<Vec<Sample>, String> {
    let table = &trak.mdia.minf.stbl;
    let sizes: Box<dyn Iterator<Item = u32>> = match &table.stsz.samples {
        StszSamples::Identical { count, size } => Box::new((0..*count).map(|_| *size)),
        StszSamples::Different { sizes } => Box::new(sizes.iter().copied()),
    };
    let chunks: Vec<u64> = match (&table.stco, &table.co64) {
        (Some(small), _) => small
            .entries
            .iter()
            .map(|offset| u64::from(*offset))
            .collect(),
        (None, Some(large)) => large.entries.clone(),
        (None, None) => Vec::new(),
    };
    let runs = &table.stsc.entries;
    let per_chunk = |chunk: usize| {
        // Chunks are counted from one.
        let run = runs.partition_point(|run| run.first_chunk as usize <= chunk + 1);
        run.checked_sub(1)
            .map_or(0, |run| runs[run].samples_per_chunk)
    };
    let mut deltas = table
        .stts
        .entries
        .iter()
        .flat_map(|run| (0..run.sample_count).map(|_| run.sample_delta));
    let offsets = table.ctts.iter().flat_map(|table| &table.entries);
    let mut shifts = offsets.flat_map(|run| (0..run.sample_count).map(|_| run.sample_offset));

    let mut samples = Vec::new();
    let (mut chunk, mut left, mut offset, mut decoded) = (0, 0, 0_u64, 0_i64);
    for size in sizes {
        while left == 0 {
            let start = chunks
                .get(chunk)
                .ok_or("its index is damaged: samples without a place")?;
            (offset, left) = (*start, per_chunk(chunk));
            chunk += 1;
        }
        left -= 1;
        few(&samples)?;
        samples.push(Sample {
            offset,
            size: u64::from(size),
            shown: decoded.saturating_add(shifts.next().unwrap_or(0)),
        });
        offset = offset.saturating_add(u64::from(size));
        decoded = decoded.saturating_add(i64::from(deltas.next().unwrap_or(0)));
    }
    Ok(samples)
}

/// An index may claim any number of samples in a few bytes.
fn few(samples: &[Sample]) -> Result<(), String> {
    if samples.len() < MOST_SAMPLES {
        return Ok(());
    }
    Err(format!(
        "its index is damaged or too large: more than {MOST_SAMPLES} samples"
    ))
}

/// Adds the samples of fragments.
fn fragmented(
    samples: &mut Vec<Sample>,
    trak: &Trak,
    moov: &Moov,
    fragments: &[(Moof, u64)],
) -> Result<(), String> {
    let id = trak.tkhd.track_id;
    let usual = moov.mvex.iter().flat_map(|extends| &extends.trex);
    let usual = usual.clone().find(|usual| usual.track_id == id);
    let mut decoded = 0_i64;
    for (moof, start) in fragments {
        for traf in moof.traf.iter().filter(|traf| traf.tfhd.track_id == id) {
            let head = &traf.tfhd;
            let base = head.base_data_offset.unwrap_or(*start);
            let duration = head
                .default_sample_duration
                .or(usual.map(|usual| usual.default_sample_duration));
            let size = head
                .default_sample_size
                .or(usual.map(|usual| usual.default_sample_size));
            if let Some(time) = &traf.tfdt {
                decoded = i64::try_from(time.base_media_decode_time).unwrap_or(i64::MAX);
            }
            let mut offset = base;
            for run in &traf.trun {
                if let Some(ahead) = run.data_offset {
                    offset = base
                        .checked_add_signed(i64::from(ahead))
                        .ok_or("its fragments are damaged: a place before the start")?;
                }
                for entry in run.samples.iter() {
                    let size = entry
                        .size
                        .or(size)
                        .ok_or("its fragments have samples without a size")?;
                    let shift = entry.cts.unwrap_or(0);
                    few(samples)?;
                    samples.push(Sample {
                        offset,
                        size: u64::from(size),
                        shown: decoded.saturating_add(shift),
                    });
                    offset = offset.saturating_add(u64::from(size));
                    decoded =
                        decoded.saturating_add(i64::from(entry.duration.or(duration).unwrap_or(0)));
                }
            }
        }
    }
    Ok(())
}
