//! Frames: when they were captured, complete and on the screen.

use smallvec::SmallVec;

use super::ring::Numbered;
use super::{FrameReport, Samples, Window};
use crate::event::{Fragment, FrameId};
use crate::units::{Bytes, Span, Time, count, float, index};

/// Intervals between shown frames that their mean is taken over, the latest
/// included. [WebRTC-Stats] `freezeCount`
const INTERVALS: usize = 30;
/// Intervals needed before a freeze can be told. libwebrtc: the standard says nothing.
const FEWEST_INTERVALS: usize = 5;
/// What an interval must exceed their mean by, at least. [WebRTC-Stats] `freezeCount`
const FREEZE: Span = Span::from_millis(150);

/// A captured frame.
#[derive(Clone, Debug)]
struct Frame {
    captured: Time,
    /// Its payload, once it is encoded.
    encoded: Option<Bytes>,
    skipped: bool,
    completed: Option<Time>,
    shown: bool,
    /// When it, or else the next one that was, was shown.
    presented: Option<Time>,
    /// Which of its fragments have arrived, a bit for each.
    seen: SmallVec<[u64; 2]>,
}

/// What a fragment that arrived was worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    /// It was missing.
    New,
    /// It had arrived before.
    Repeated,
    /// It was missing, but the screen has moved past its frame.
    Late,
}

/// All frames of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    frames: Numbered<Frame>,
    /// The first frame that may still have to be presented.
    next: u32,
    screen: Screen,
}

/// Intervals between shown frames.
#[derive(Clone, Debug, Default)]
struct Screen {
    last: Option<Time>,
    intervals: Vec<Span>,
    sum: Span,
    total: usize,
    shown: u64,
    freezes: u64,
    frozen: Span,
}

impl Frames {
    /// A frame was captured.
    pub(super) fn captured(&mut self, at: Time, frame: FrameId) {
        let captured = Frame {
            captured: at,
            encoded: None,
            skipped: false,
            completed: None,
            shown: false,
            presented: None,
            seen: SmallVec::new(),
        };
        self.frames.put(frame.0.into(), captured);
    }

    /// It was left out.
    pub(super) fn skipped(&mut self, frame: FrameId) {
        if let Some(frame) = self.frames.get_mut(frame.0.into()) {
            frame.skipped = true;
        }
    }

    /// It was encoded.
    pub(super) fn encoded(&mut self, frame: FrameId, size: Bytes) {
        if let Some(frame) = self.frames.get_mut(frame.0.into()) {
            frame.encoded = Some(size);
            // Left out at first, and then encoded after all.
            frame.skipped = false;
        }
    }

    /// One of its fragments arrived.
    pub(super) fn arrived(&mut self, fragment: Fragment) -> Worth {
        let Some(frame) = self.frames.get_mut(fragment.frame.0.into()) else {
            return Worth::New;
        };
        let (word, bit) = (index((fragment.index / 64).into()), fragment.index % 64);
        if word >= frame.seen.len() {
            frame.seen.resize(word + 1, 0);
        }
        let before = frame.seen[word];
        frame.seen[word] |= 1 << bit;
        if before == frame.seen[word] {
            Worth::Repeated
        } else if frame.presented.is_some() {
            Worth::Late
        } else {
            Worth::New
        }
    }

    /// Its last missing part arrived.
    pub(super) fn completed(&mut self, at: Time, frame: FrameId) {
        if let Some(frame) = self.frames.get_mut(frame.0.into()) {
            frame.completed.get_or_insert(at);
        }
    }

    /// It appeared on the screen.
    pub(super) fn shown(&mut self, at: Time, frame: FrameId, counts: bool) {
        self.screen.shown(at, counts);
        if let Some(frame) = self.frames.get_mut(frame.0.into()) {
            frame.shown = true;
        }
        if frame.0 < self.next {
            return;
        }
        for passed in self.frames.range_mut(self.next.into(), frame.0.into()) {
            passed.presented = Some(at);
        }
        self.next = frame.0.saturating_add(1);
    }

    /// What they were like; nothing for a flow without frames.
    pub(super) fn report(&self, window: &Window) -> Option<FrameReport> {
        self.frames.iter().next()?;
        let (mut latency, mut delay) = (Samples::default(), Samples::default());
        let mut payload = Bytes::ZERO;
        let mut report = FrameReport {
            captured: 0,
            encoded: 0,
            skipped: 0,
            completed: 0,
            shown: 0,
            undelivered: 0,
            pending: 0,
            bitrate: Bytes::ZERO.per(Span::ZERO).unwrap_or_default(),
            latency: None,
            delay: None,
            fps: float(self.screen.shown) * Span::from_secs(1).ratio(window.length()),
            freezes: self.screen.freezes,
            frozen: self.screen.frozen,
        };
        let counted = |frame: &&Frame| window.contains(frame.captured);
        for frame in self.frames.iter().filter(counted) {
            report.captured += 1;
            report.skipped += u64::from(frame.skipped);
            report.shown += u64::from(frame.shown);
            if let Some(size) = frame.encoded {
                report.encoded += 1;
                payload += size;
                report.undelivered += u64::from(!frame.shown && frame.presented.is_some());
                report.pending += u64::from(frame.presented.is_none());
            }
            if let Some(at) = frame.completed {
                report.completed += 1;
                delay.push(at - frame.captured);
            }
            if let Some(at) = frame.presented {
                latency.push(at - frame.captured);
            }
        }
        report.bitrate = payload.per(window.length()).unwrap_or_default();
        report.latency = latency.spread();
        report.delay = delay.spread();
        Some(report)
    }
}

impl Screen {
    fn shown(&mut self, at: Time, counts: bool) {
        self.shown += u64::from(counts);
        let Some(last) = self.last.replace(at) else {
            return;
        };
        let interval = at - last;
        let place = self.total % INTERVALS;
        if self.intervals.len() < INTERVALS {
            self.intervals.push(interval);
        } else {
            self.sum -= self.intervals[place];
            self.intervals[place] = interval;
        }
        self.sum += interval;
        self.total += 1;
        let mean = self.sum * (1.0 / float(count(self.intervals.len())));
        let frozen = interval >= (mean * 3.0).max(mean + FREEZE);
        if frozen && self.total >= FEWEST_INTERVALS && counts {
            self.freezes += 1;
            self.frozen += interval;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Six frames, 20 ms apart: 0 shown, 1 skipped, 2 never complete, 3 shown,
    /// 4 complete but late, 5 shown, 6 pending.
    fn example() -> Frames {
        let mut frames = Frames::default();
        for frame in 0..7 {
            frames.captured(ms(u64::from(frame) * 20), FrameId(frame));
            if frame == 1 {
                frames.skipped(FrameId(frame));
            } else {
                frames.encoded(FrameId(frame), Bytes::new(1_000));
            }
        }
        frames.completed(ms(50), FrameId(0));
        frames.shown(ms(50), FrameId(0), true);
        frames.completed(ms(110), FrameId(3));
        frames.shown(ms(112), FrameId(3), true);
        frames.completed(ms(155), FrameId(5));
        frames.shown(ms(155), FrameId(5), true);
        frames.completed(ms(160), FrameId(4));
        frames
    }

    #[test]
    fn a_frame_never_shown_takes_the_time_of_the_next_one_shown() {
        let report = example().report(&Window::until(ms(200))).expect("frames");
        // 50, 112−20, 112−40, 112−60, 155−80, 155−100 ms.
        let latency = report.latency.expect("latencies");
        assert_eq!(latency.count, 6);
        assert_eq!(
            (latency.min, latency.max),
            (Span::from_millis(50), Span::from_millis(92))
        );
        assert_eq!(latency.mean, Span::from_micros(66_000));
        assert_eq!(latency.p50, Span::from_micros(63_500));
        let delay = report.delay.expect("delays");
        assert_eq!(
            (delay.min, delay.max),
            (Span::from_millis(50), Span::from_millis(80))
        );
        assert_eq!(
            [
                report.captured,
                report.encoded,
                report.skipped,
                report.completed
            ],
            [7, 6, 1, 4]
        );
        assert_eq!(
            [report.shown, report.undelivered, report.pending],
            [3, 2, 1]
        );
        assert_eq!(report.bitrate, Rate::from_kbps(240));
        assert!((report.fps - 15.0).abs() < 1e-9, "{}", report.fps);
    }

    #[test]
    fn frames_belong_to_the_window_they_were_captured_in() {
        let window = Window {
            from: ms(60),
            to: ms(100),
        };
        let report = example().report(&window).expect("frames");
        assert_eq!(
            [report.captured, report.shown, report.undelivered],
            [2, 1, 1]
        );
        let latency = report.latency.expect("latencies");
        assert_eq!(
            (latency.min, latency.max),
            (Span::from_millis(52), Span::from_millis(75))
        );
    }

    #[test]
    fn fragments_are_new_once_and_late_when_the_screen_has_moved_on() {
        let mut frames = example();
        let fragment = |frame, index| Fragment {
            frame: FrameId(frame),
            index,
            count: 200,
        };
        assert_eq!(frames.arrived(fragment(6, 130)), Worth::New);
        assert_eq!(frames.arrived(fragment(6, 2)), Worth::New);
        assert_eq!(frames.arrived(fragment(6, 130)), Worth::Repeated);
        assert_eq!(frames.arrived(fragment(2, 0)), Worth::Late);
        assert_eq!(frames.arrived(fragment(2, 0)), Worth::Repeated);
    }

    fn freezes(intervals: &[u64]) -> (u64, Span) {
        let mut screen = Screen::default();
        let mut now = 0;
        screen.shown(ms(0), true);
        for interval in intervals {
            now += interval;
            screen.shown(ms(now), true);
        }
        (screen.freezes, screen.frozen)
    }

    #[test]
    fn a_freeze_is_three_intervals_and_150_ms_over_the_mean() {
        // Mean with the long one: (4·20 + x)/5 ms; x ≥ mean + 150 from x = 207.5 on.
        assert_eq!(freezes(&[20, 20, 20, 20, 207]), (0, Span::ZERO));
        assert_eq!(freezes(&[20, 20, 20, 20, 208]), (1, Span::from_millis(208)));
        // Too few to judge.
        assert_eq!(freezes(&[20, 20, 20, 900]), (0, Span::ZERO));
        // At five frames a second three intervals decide: 29·200 + x over 30, from x = 645 on.
        let slow = |last| [[200; 29].as_slice(), &[last]].concat();
        assert_eq!(freezes(&slow(644)), (0, Span::ZERO));
        assert_eq!(freezes(&slow(645)), (1, Span::from_millis(645)));
    }

    #[test]
    fn only_the_last_thirty_intervals_count() {
        // Old slow frames are forgotten: mean (29·20 + 180)/30 = 25.3 ms.
        let intervals = [[400; 20].as_slice(), &[20; 29], &[180]].concat();
        assert_eq!(freezes(&intervals), (1, Span::from_millis(180)));
    }

    #[test]
    fn a_flow_without_frames_has_no_report() {
        assert_eq!(Frames::default().report(&Window::until(ms(1))), None);
    }
}
