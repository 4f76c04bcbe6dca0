//! What travels: the headers of data packets, and feedback messages.
//!
//! All integers are big-endian. A data header has [`HEADER`] bytes:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | message type: version 1 in the high half, what it carries in the low |
//! | 1 | path |
//! | 2–3, 4–5 | fragment's index, number of fragments (video only, else 0) |
//! | 6–7 | how many frames back the one lies that this one refers to; 0 = can be decoded alone |
//! | 8–15 | packet number |
//! | 16–19 | frame (video only, else 0) |
//! | 20–27 | when the content was captured, ns of the sender's clock |
//! | 28–31 | how far below its number the sender still wants reports |
//!
//! A feedback message starts with 32 bytes (type, path, number of reports,
//! number of ranges, kind of report, two bytes of flags, message number, the
//! receiver's clock, largest packet number received). Then come the reports in the order of
//! arrival, eight bytes each (22 bits of distance from the largest number, 2 bits
//! of ECN, 40 bits of age in ns, which is 18 minutes), then ranges of received
//! numbers from the highest down (lowest and highest number, eight bytes each),
//! then, where flag 0 is set, four bytes with a frame number: the decoder waits
//! for a newer frame that can be decoded alone; then the algorithm's own report if
//! there is one. No range at all means that
//! nothing the sender still asks about is missing below the largest number.
//!
//! Reports are news; ranges repeat everything, so that a lost feedback message
//! costs arrival times but never the fact of arrival.

use smallvec::SmallVec;

use super::Buffer;
use crate::cc::Report;
use crate::event::{Ecn, Fragment, FrameId, Kind, PathId};
use crate::units::{Bytes, Rate, RemoteTime, Span, Time, count, index};

/// Bytes of a feedback message before its lists.
const FEEDBACK_HEADER: usize = 32;

/// Bytes of a data packet's header.
pub const HEADER: Bytes = Bytes::new(32);

const VIDEO: u8 = 0x10;
const RETRANSMIT: u8 = 0x11;
const FILLER: u8 = 0x12;
const BULK: u8 = 0x13;
const FEEDBACK: u8 = 0x14;

/// The decoder waits for a frame that can be decoded alone.
const FLAG_KEY_WANTED: u16 = 1;

const NO_REPORT: u8 = 0;
const ESTIMATE: u8 = 1;
const FORECAST: u8 = 2;

/// The largest packet number. [RFC9000] §12.3.
const LARGEST_NUMBER: u64 = (1 << 62) - 1;

/// Where the parts of a report lie in its 64 bits; by definition.
const BACK_SHIFT: u32 = 42;
/// By definition.
const ECN_SHIFT: u32 = 40;
/// The oldest age a report can tell; older ones are cut to it. By definition.
const OLDEST: u64 = (1 << ECN_SHIFT) - 1;
/// The largest distance a report can tell; by definition. Who lags farther
/// behind has been forgotten by any sender.
const FARTHEST_BACK: u64 = (1 << (u64::BITS - BACK_SHIFT)) - 1;

/// The ECN field by its bits in the IP header. [RFC3168] §5.
const ECN_FIELD: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

const fn ecn_bits(ecn: Ecn) -> u64 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// A forecast has at most this many ticks. Ours: two seconds of 20 ms ticks.
const FORECAST_TICKS: u64 = 100;

/// Why bytes are not a message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It ends before its fields do.
    #[error("the message ends after {0} bytes, in the middle of a field")]
    Short(usize),
    /// Its first byte names no message of this version.
    #[error("unknown message type {0:#04x}; this side speaks version 1 (0x10 to 0x14)")]
    Type(u8),
    /// A field has a value that makes no sense.
    #[error("the field `{0}` has a value that no sender of ours writes")]
    Field(&'static str),
    /// Bytes follow its end.
    #[error("{0} bytes follow the message's end")]
    Long(usize),
    /// It speaks of a path that does not exist.
    #[error("path {0} does not exist here")]
    Path(u8),
    /// It acknowledges a packet that was never sent.
    #[error("packet {0} was acknowledged but never sent")]
    NeverSent(u64),
}

/// A data packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The path it was sent on.
    pub path: PathId,
    /// Its number on that path.
    pub number: u64,
    /// What it carries.
    pub kind: Kind,
    /// How many frames back the one lies that its frame refers to; zero where it
    /// can be decoded alone, or is no video.
    pub refers: u16,
    /// When its content was captured, by the sender's clock.
    pub captured: Time,
    /// The lowest packet number whose fate the sender still wants to hear of:
    /// the receiver may forget what is below. On the wire it is a distance,
    /// which is cut to 32 bits.
    pub settled: u64,
}

/// News of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub number: u64,
    /// When it arrived, by the receiver's clock.
    pub at: RemoteTime,
    /// The ECN field it arrived with.
    pub ecn: Ecn,
}

/// A feedback message.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Message {
    /// The path it speaks of.
    pub path: PathId,
    /// Its own number, from zero.
    pub number: u64,
    /// The receiver's clock when it was written: everything that arrived until
    /// then is reported in this message or an earlier one.
    pub now: RemoteTime,
    /// The largest packet number received.
    pub largest: u64,
    /// News, in the order of arrival; the first few repeat the message before.
    pub arrived: Vec<Arrived>,
    /// Ranges of received numbers, inclusive, from the largest down. None at
    /// all: of what the sender still asks about, nothing is missing.
    pub ranges: SmallVec<[(u64, u64); 8]>,
    /// The decoder waits for a frame that can be decoded alone, newer than this.
    pub key_wanted: Option<FrameId>,
    /// The receiver's half of the algorithm.
    pub report: Option<Report>,
}

/// Either kind of message; feedback is read into the caller's own message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageType {
    /// A data packet.
    Data,
    /// A feedback message.
    Feedback,
}

/// Tells what a datagram is.
///
/// # Errors
///
/// No bytes, or a first byte that names no message of ours.
pub fn message_type(bytes: &[u8]) -> Result<MessageType, WireError> {
    match bytes.first() {
        None => Err(WireError::Short(0)),
        Some(&(VIDEO..=BULK)) => Ok(MessageType::Data),
        Some(&FEEDBACK) => Ok(MessageType::Feedback),
        Some(&other) => Err(WireError::Type(other)),
    }
}

impl Header {
    /// Writes the header.
    pub fn encode(&self, buffer: &mut Buffer) {
        let (kind, fragment) = match self.kind {
            Kind::Video(fragment) => (VIDEO, fragment),
            Kind::Retransmit(fragment) => (RETRANSMIT, fragment),
            Kind::Filler => (FILLER, Fragment::default()),
            Kind::Bulk => (BULK, Fragment::default()),
        };
        let mut bytes = [0; index(HEADER.get())];
        bytes[0] = kind;
        bytes[1] = self.path.0;
        bytes[2..4].copy_from_slice(&fragment.index.to_be_bytes());
        bytes[4..6].copy_from_slice(&fragment.count.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.refers.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_be_bytes());
        bytes[16..20].copy_from_slice(&fragment.frame.0.to_be_bytes());
        bytes[20..28].copy_from_slice(&self.captured.as_nanos().to_be_bytes());
        let back = self.number.saturating_sub(self.settled);
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        bytes[28..32].copy_from_slice(&back.to_be_bytes());
        buffer.extend_from_slice(&bytes);
    }

    /// Reads a header; bytes behind it are payload.
    ///
    /// # Errors
    ///
    /// Bytes that [`Header::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, WireError> {
        let head = bytes
            .first_chunk::<{ index(HEADER.get()) }>()
            .ok_or(WireError::Short(bytes.len()))?;
        let path = PathId(head[1]);
        let refers = u16::from_be_bytes(part(head, 6));
        let number = u64::from_be_bytes(part(head, 8));
        let fragment = Fragment {
            index: u16::from_be_bytes(part(head, 2)),
            count: u16::from_be_bytes(part(head, 4)),
            frame: FrameId(u32::from_be_bytes(part(head, 16))),
        };
        let captured = Time::from_nanos(u64::from_be_bytes(part(head, 20)));
        let back = u64::from(u32::from_be_bytes(part(head, 28)));
        let kind = match head[0] {
            VIDEO => Kind::Video(fragment),
            RETRANSMIT => Kind::Retransmit(fragment),
            FILLER => Kind::Filler,
            BULK => Kind::Bulk,
            other => return Err(WireError::Type(other)),
        };
        match kind.fragment() {
            Some(fragment) if fragment.index >= fragment.count => {
                return Err(WireError::Field("fragment"));
            }
            None if fragment != Fragment::default() => return Err(WireError::Field("fragment")),
            _ => {}
        }
        if refers != 0
            && kind
                .fragment()
                .is_none_or(|it| it.frame.0 < u32::from(refers))
        {
            return Err(WireError::Field("reference"));
        }
        if number > LARGEST_NUMBER {
            return Err(WireError::Field("number"));
        }
        Ok(Self {
            path,
            number,
            kind,
            refers,
            captured,
            settled: number
                .checked_sub(back)
                .ok_or(WireError::Field("settled"))?,
        })
    }
}

impl Message {
    /// Writes the message. Counts beyond 65,535 reports or 255 ranges are cut:
    /// the oldest reports and the lowest ranges go first.
    pub fn encode(&self, buffer: &mut Buffer) {
        let reports = self.arrived.len().min(usize::from(u16::MAX));
        let ranges = self.ranges.len().min(usize::from(u8::MAX));
        let report_kind = match self.report {
            None => NO_REPORT,
            Some(Report::Estimate(_)) => ESTIMATE,
            Some(Report::Forecast { .. }) => FORECAST,
        };
        let mut head = [0; FEEDBACK_HEADER];
        head[0] = FEEDBACK;
        head[1] = self.path.0;
        head[2..4].copy_from_slice(&u16::try_from(reports).unwrap_or(u16::MAX).to_be_bytes());
        head[4] = u8::try_from(ranges).unwrap_or(u8::MAX);
        head[5] = report_kind;
        let flags = if self.key_wanted.is_some() {
            FLAG_KEY_WANTED
        } else {
            0
        };
        head[6..8].copy_from_slice(&flags.to_be_bytes());
        head[8..16].copy_from_slice(&self.number.to_be_bytes());
        head[16..24].copy_from_slice(&self.now.as_nanos().to_be_bytes());
        head[24..32].copy_from_slice(&self.largest.to_be_bytes());
        buffer.extend_from_slice(&head);
        for arrived in &self.arrived[self.arrived.len() - reports..] {
            let back = (self.largest - arrived.number).min(FARTHEST_BACK);
            let age = u64::try_from((self.now - arrived.at).as_nanos()).unwrap_or(0);
            let packed =
                (back << BACK_SHIFT) | (ecn_bits(arrived.ecn) << ECN_SHIFT) | age.min(OLDEST);
            buffer.extend_from_slice(&packed.to_be_bytes());
        }
        for &(low, high) in &self.ranges[..ranges] {
            buffer.extend_from_slice(&low.to_be_bytes());
            buffer.extend_from_slice(&high.to_be_bytes());
        }
        if let Some(frame) = self.key_wanted {
            buffer.extend_from_slice(&frame.0.to_be_bytes());
        }
        let mut put = |value: u64| buffer.extend_from_slice(&value.to_be_bytes());
        match &self.report {
            None => {}
            Some(Report::Estimate(rate)) => put(rate.as_bps()),
            Some(Report::Forecast { tick, bytes }) => {
                put(u64::try_from(tick.as_nanos()).unwrap_or(0));
                let ticks = count(bytes.len()).min(FORECAST_TICKS);
                put(ticks);
                for bytes in &bytes[..index(ticks)] {
                    put(bytes.get());
                }
            }
        }
    }

    /// Reads a message into `self`, whose room is used again.
    ///
    /// # Errors
    ///
    /// Bytes that [`Message::encode`] does not write. `self` is then unspecified.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let head = bytes
            .first_chunk::<FEEDBACK_HEADER>()
            .ok_or(WireError::Short(bytes.len()))?;
        if head[0] != FEEDBACK {
            return Err(WireError::Type(head[0]));
        }
        self.path = PathId(head[1]);
        let reports = u16::from_be_bytes(part(head, 2));
        let (ranges, report_kind) = (head[4], head[5]);
        let flags = u16::from_be_bytes(part(head, 6));
        if flags & !FLAG_KEY_WANTED != 0 {
            return Err(WireError::Field("flags"));
        }
        self.number = u64::from_be_bytes(part(head, 8));
        self.now = RemoteTime::from_nanos(u64::from_be_bytes(part(head, 16)));
        self.largest = u64::from_be_bytes(part(head, 24));
        let mut reader = Reader {
            bytes,
            at: FEEDBACK_HEADER,
        };
        if self.largest > LARGEST_NUMBER {
            return Err(WireError::Field("largest"));
        }
        self.arrived.clear();
        for _ in 0..reports {
            let packed = reader.u64()?;
            let number = self
                .largest
                .checked_sub(packed >> BACK_SHIFT)
                .ok_or(WireError::Field("packet number"))?;
            let at = self
                .now
                .as_nanos()
                .checked_sub(packed & OLDEST)
                .ok_or(WireError::Field("age"))?;
            self.arrived.push(Arrived {
                number,
                at: RemoteTime::from_nanos(at),
                ecn: ECN_FIELD[index((packed >> ECN_SHIFT) & 3)],
            });
        }
        self.ranges.clear();
        let mut below = self.largest.saturating_add(2);
        for _ in 0..ranges {
            let (low, high) = (reader.u64()?, reader.u64()?);
            // Touching ranges would be one range.
            if low > high || high.saturating_add(1) >= below {
                return Err(WireError::Field("range"));
            }
            self.ranges.push((low, high));
            below = low;
        }
        self.key_wanted = match flags {
            0 => None,
            _ => Some(FrameId(u32::from_be_bytes(reader.field()?))),
        };
        self.report = match report_kind {
            NO_REPORT => None,
            ESTIMATE => Some(Report::Estimate(Rate::from_bps(reader.u64()?))),
            FORECAST => {
                let tick = Span::from_nanos(i64::try_from(reader.u64()?).unwrap_or(i64::MAX));
                let ticks = reader.u64()?;
                if ticks > FORECAST_TICKS {
                    return Err(WireError::Field("forecast ticks"));
                }
                let mut bytes = Vec::with_capacity(index(ticks));
                for _ in 0..ticks {
                    bytes.push(Bytes::new(reader.u64()?));
                }
                Some(Report::Forecast { tick, bytes })
            }
            _ => return Err(WireError::Field("report")),
        };
        match bytes.len() - reader.at {
            0 => Ok(()),
            rest => Err(WireError::Long(rest)),
        }
    }
}

/// A field of a fixed header.
#[inline]
fn part<const N: usize, const M: usize>(head: &[u8; M], at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&head[at..at + N]);
    field
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    #[inline]
    fn u64(&mut self) -> Result<u64, WireError> {
        self.field().map(u64::from_be_bytes)
    }

    #[inline]
    fn field<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        match self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
            Some(field) => {
                self.at += N;
                Ok(*field)
            }
            None => Err(WireError::Short(self.bytes.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        let fragment =
            (any::<u32>(), any::<u16>(), 1..=u16::MAX).prop_map(|(frame, index, count)| Fragment {
                frame: FrameId(frame),
                index: index % count,
                count,
            });
        prop_oneof![
            fragment.clone().prop_map(Kind::Video),
            fragment.prop_map(Kind::Retransmit),
            Just(Kind::Filler),
            Just(Kind::Bulk),
        ]
    }

    fn reports() -> impl Strategy<Value = Option<Report>> {
        prop_oneof![
            Just(None),
            (0..LARGEST_NUMBER).prop_map(|bps| Some(Report::Estimate(Rate::from_bps(bps)))),
            (1i64..1_000_000_000, vec(0..LARGEST_NUMBER, 0..9)).prop_map(|(tick, bytes)| {
                Some(Report::Forecast {
                    tick: Span::from_nanos(tick),
                    bytes: bytes.into_iter().map(Bytes::new).collect(),
                })
            }),
        ]
    }

    fn messages() -> impl Strategy<Value = Message> {
        let ecn = prop_oneof![
            Just(Ecn::NotEct),
            Just(Ecn::Ect0),
            Just(Ecn::Ect1),
            Just(Ecn::Ce)
        ];
        let arrived = vec((0u64..10_000, 0u64..5_000_000_000, ecn), 0..40);
        let ranges = vec((1u64..50, 0u64..50), 0..12);
        (
            arrived,
            ranges,
            reports(),
            any::<(u8, Option<u32>)>(),
            any::<u64>(),
        )
            .prop_map(|(arrived, ranges, report, (path, key_wanted), number)| {
                let (largest, now) = (50_000, RemoteTime::from_nanos(1 << 50));
                let mut below = largest + 1;
                let mut all = SmallVec::new();
                for (nth, (gap, length)) in ranges.into_iter().enumerate() {
                    let high = below - if nth == 0 { 0 } else { gap } - 1;
                    all.push((high - length, high));
                    below = high - length;
                }
                Message {
                    path: PathId(path),
                    number,
                    now,
                    largest,
                    arrived: arrived
                        .into_iter()
                        .map(|(back, age, ecn)| Arrived {
                            number: largest - back,
                            at: RemoteTime::from_nanos(now.as_nanos() - age),
                            ecn,
                        })
                        .collect(),
                    ranges: all,
                    key_wanted: key_wanted.map(FrameId),
                    report,
                }
            })
    }

    proptest! {
        #[test]
        fn headers_survive_the_wire(kind in kinds(), path: u8, number in 0..LARGEST_NUMBER, refers: u16, captured: u64, back: u32) {
            let header = Header {
                path: PathId(path),
                number,
                kind,
                refers: kind.fragment().map_or(0, |it| refers.min(u16::try_from(it.frame.0).unwrap_or(u16::MAX))),
                captured: Time::from_nanos(captured),
                settled: number.saturating_sub(u64::from(back)),
            };
            let mut buffer = Buffer::new();
            header.encode(&mut buffer);
            prop_assert_eq!(count(buffer.len()), HEADER.get());
            prop_assert_eq!(Header::decode(&buffer), Ok(header));
            for cut in 0..buffer.len() {
                prop_assert_eq!(Header::decode(&buffer[..cut]), Err(WireError::Short(cut)));
            }
        }

        #[test]
        fn feedback_survives_the_wire(message in messages()) {
            let mut buffer = Buffer::new();
            message.encode(&mut buffer);
            let mut decoded = Message::default();
            prop_assert_eq!(decoded.decode(&buffer), Ok(()));
            prop_assert_eq!(&decoded, &message);
            for cut in 0..buffer.len() {
                prop_assert!(decoded.decode(&buffer[..cut]).is_err());
            }
            buffer.push(0);
            prop_assert_eq!(decoded.decode(&buffer), Err(WireError::Long(1)));
        }

        #[test]
        fn any_bytes_give_a_message_or_an_error(bytes in vec(any::<u8>(), 0..200), kind in 0x10u8..0x15) {
            let mut bytes = bytes;
            let mut message = Message::default();
            for first in [None, Some(kind)] {
                if let (Some(first), Some(byte)) = (first, bytes.first_mut()) {
                    *byte = first;
                }
                let _ = message_type(&bytes);
                let _ = Header::decode(&bytes);
                if message.decode(&bytes).is_ok() {
                    // What was read can be written again: nothing was invented.
                    let mut buffer = Buffer::new();
                    message.encode(&mut buffer);
                    let mut again = Message::default();
                    prop_assert_eq!(again.decode(&buffer), Ok(()));
                    prop_assert_eq!(&again, &message);
                }
            }
        }
    }

    #[test]
    fn a_report_of_one_packet_is_small() {
        let now = RemoteTime::from_nanos(1 << 50);
        let message = Message {
            now,
            largest: 70_000,
            arrived: vec![Arrived {
                number: 70_000,
                at: now,
                ecn: Ecn::Ect0,
            }],
            ranges: smallvec![(0, 70_000)],
            ..Message::default()
        };
        let mut buffer = Buffer::new();
        message.encode(&mut buffer);
        assert_eq!(buffer.len(), 32 + 8 + 16);
    }

    #[test]
    fn wrong_fields_are_named() {
        let header = Header {
            path: PathId(0),
            number: 1,
            kind: Kind::Filler,
            refers: 0,
            captured: Time::ZERO,
            settled: 1,
        };
        let mut buffer = Buffer::new();
        header.encode(&mut buffer);
        let with = |at: usize, value: u8| {
            let mut bytes = buffer.clone();
            bytes[at] = value;
            Header::decode(&bytes)
        };
        assert_eq!(with(0, 0x1f), Err(WireError::Type(0x1f)));
        assert_eq!(with(0, VIDEO), Err(WireError::Field("fragment")));
        assert_eq!(with(3, 1), Err(WireError::Field("fragment")));
        assert_eq!(with(7, 1), Err(WireError::Field("reference")));
        assert_eq!(with(8, 0xff), Err(WireError::Field("number")));
        assert_eq!(with(31, 2), Err(WireError::Field("settled")));
    }
}
