//! The video application of a sender: camera, rate control and encoder.

use std::collections::VecDeque;

use crate::event::{Event, FlowId, FrameId, Log, SkippedBy};
use crate::paths::PathView;
use crate::units::{Bytes, Span, Time};
use crate::video::source::Source;
use crate::video::{
    Candidates, Encoded, Encoder, Frame, Framing, Order, RateControl, SenderView, Verdict,
};

/// A video application.
#[derive(Debug)]
pub struct Video {
    pub(super) flow: FlowId,
    pub(super) source: Source,
    pub(super) rate_control: Box<dyn RateControl>,
    encoder: Box<dyn Encoder>,
    interval: Span,
    /// Frames that an encoder which others do not wait for works on, and their
    /// orders.
    begun: VecDeque<(Frame, Order)>,
    /// Encoded frames that are not ready yet, in the order of capture.
    pending: VecDeque<Coded>,
    /// The frame encoded last.
    last: Option<FrameId>,
    /// The frame encoded last that can be decoded alone.
    last_key: Option<FrameId>,
    /// The receiver needs a frame that can be decoded alone, newer than this.
    key_wanted: Option<FrameId>,
    /// The newest frame, where the rate control left it out.
    held: Option<Frame>,
}

/// A frame that the encoder is done with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded {
    pub(super) frame: Frame,
    pub(super) encoded: Encoded,
    pub(super) budget: Bytes,
    /// How many frames back the one lies that it refers to; zero where it can be
    /// decoded alone.
    pub(super) refers: u16,
}

/// What a rate control's view is made of besides the video itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook<'a> {
    pub(super) framing: Framing,
    pub(super) backlog: Bytes,
    pub(super) oldest: Option<Span>,
    pub(super) paths: &'a [PathView],
}

impl Video {
    /// Puts a source, a rate control and an encoder together.
    #[must_use]
    pub fn new(
        source: Source,
        rate_control: Box<dyn RateControl>,
        encoder: Box<dyn Encoder>,
        interval: Span,
    ) -> Self {
        Self {
            flow: FlowId::default(),
            source,
            rate_control,
            encoder,
            interval,
            begun: VecDeque::new(),
            pending: VecDeque::new(),
            last: None,
            last_key: None,
            key_wanted: None,
            held: None,
        }
    }

    /// A copy that goes on from the same state, where the encoder can be copied.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        Some(Self {
            source: self.source.clone(),
            rate_control: self.rate_control.clone(),
            encoder: self.encoder.fork()?,
            interval: self.interval,
            begun: self.begun.clone(),
            pending: self.pending.clone(),
            ..*self
        })
    }

    /// The receiver's decoder waits for a frame that can be decoded alone, newer
    /// than `beyond`. It says so again and again; one such frame answers.
    pub(super) fn on_key_wanted(&mut self, beyond: FrameId) {
        self.key_wanted = self.key_wanted.max(Some(beyond));
    }

    /// When the next frame is captured.
    pub(super) fn next_capture(&self) -> Option<Time> {
        self.source.next_capture()
    }

    /// When the encoder is done with the frame it works on.
    pub(super) fn next_ready(&self) -> Option<Time> {
        self.pending.front().map(|coded| coded.encoded.ready)
    }

    /// Captures, judges and encodes every frame that is due.
    pub(super) fn capture(&mut self, now: Time, outlook: &Outlook<'_>, log: &mut Log<'_>) {
        while self.source.next_capture().is_some_and(|due| due <= now) {
            let Some(frame) = self.source.capture(now) else {
                break;
            };
            let flow = self.flow;
            log.emit(now, || Event::Captured {
                flow,
                frame: frame.id,
            });
            let view = self.view(now, outlook);
            self.held = None;
            match self.rate_control.on_capture(now, &frame, &view) {
                Verdict::Skip => {
                    self.held = Some(frame);
                    log.emit(now, || skipped(flow, &frame, SkippedBy::RateControl));
                }
                Verdict::Encode(order) => self.encode(now, &frame, order, log),
                Verdict::Choose(candidates) => self.choose(now, &frame, &candidates, log),
            }
        }
    }

    /// Everything encoded has left: a frame that was left out may follow.
    pub(super) fn drained(&mut self, now: Time, outlook: &Outlook<'_>, log: &mut Log<'_>) {
        let view = self.view(now, outlook);
        let order = self.rate_control.on_drained(now, self.held.as_ref(), &view);
        if let (Some(order), Some(frame)) = (order, self.held.take_if(|_| order.is_some())) {
            self.encode(now, &frame, order, log);
        }
    }

    /// The next frame that the encoder is done with by now.
    pub(super) fn next_coded(&mut self, now: Time) -> Option<Coded> {
        self.pending
            .pop_front_if(|coded| coded.encoded.ready <= now)
    }

    fn view<'a>(&self, now: Time, outlook: &Outlook<'a>) -> SenderView<'a> {
        SenderView {
            frame_interval: self.interval,
            framing: outlook.framing,
            backlog: outlook.backlog,
            oldest: outlook.oldest,
            max_rate: self.source.max_rate(now),
            least_rate: outlook.framing.wire_rate(self.encoder.least_rate()),
            paths: outlook.paths,
        }
    }

    /// Whether this frame has to be decodable alone, whatever the rate control
    /// thinks: because it is the first, because the decoder waits for one, or
    /// because what it would refer to is too far back to be named.
    fn must_be_key(&self, frame: &Frame) -> bool {
        let far = |last: FrameId| frame.id.0 - last.0 > u32::from(u16::MAX);
        let answered = |beyond| self.last_key.is_some_and(|key| key > beyond);
        self.last.is_none_or(far) || self.key_wanted.is_some_and(|beyond| !answered(beyond))
    }

    fn encode(&mut self, now: Time, frame: &Frame, mut order: Order, log: &mut Log<'_>) {
        order.key |= self.must_be_key(frame);
        match self.encoder.begin(now, frame, &order) {
            Some(encoded) => self.take(now, frame, encoded, &order, log),
            None => self.begun.push_back((*frame, order)),
        }
    }

    /// Takes what an encoder that nobody waits for has become done with.
    pub(super) fn collect(&mut self, now: Time, log: &mut Log<'_>) {
        while !self.begun.is_empty()
            && let Some(encoded) = self.encoder.collect()
            && let Some((frame, order)) = self.begun.pop_front()
        {
            self.take(now, &frame, encoded, &order, log);
        }
    }

    /// Encodes a frame twice from one state and keeps the larger result that fits.
    fn choose(&mut self, now: Time, frame: &Frame, candidates: &Candidates, log: &mut Log<'_>) {
        let key = self.must_be_key(frame);
        let mut best: Option<(Box<dyn Encoder>, Encoded, Order)> = None;
        for order in &candidates.orders {
            let Some(mut encoder) = self.encoder.fork() else {
                continue;
            };
            let order = Order {
                key: order.key | key,
                ..*order
            };
            let encoded = encoder.encode(now, frame, &order);
            let beaten = best
                .as_ref()
                .is_some_and(|(_, other, _)| encoded.size <= other.size);
            if encoded.size > Bytes::ZERO && encoded.size <= candidates.limit && !beaten {
                best = Some((encoder, encoded, order));
            }
        }
        let Some((encoder, encoded, order)) = best else {
            log.emit(now, || skipped(self.flow, frame, SkippedBy::RateControl));
            return;
        };
        self.encoder = encoder;
        self.last = candidates.refers_to.or(self.last);
        self.take(now, frame, encoded, &order, log);
    }

    fn take(
        &mut self,
        now: Time,
        frame: &Frame,
        encoded: Encoded,
        order: &Order,
        log: &mut Log<'_>,
    ) {
        self.rate_control.on_encoded(now, &encoded, order);
        if encoded.size == Bytes::ZERO {
            log.emit(now, || skipped(self.flow, frame, SkippedBy::Encoder));
            return;
        }
        let refers_to = self.last.filter(|_| !encoded.key);
        let back = refers_to.map_or(0, |of| frame.id.0.saturating_sub(of.0));
        self.last = Some(frame.id);
        if encoded.key {
            self.last_key = self.last;
        }
        self.pending.push_back(Coded {
            frame: *frame,
            encoded,
            budget: order.budget,
            refers: u16::try_from(back).unwrap_or(u16::MAX),
        });
    }
}

fn skipped(flow: FlowId, frame: &Frame, by: SkippedBy) -> Event {
    Event::Skipped {
        flow,
        frame: frame.id,
        by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Control;
    use crate::rng::Stream;
    use crate::units::Rate;
    use crate::video::source::{Phase, SourceSettings};
    use crate::video::{self, VideoStart};

    /// Does at once what it is asked for, and tells when it is asked again.
    #[derive(Debug)]
    struct Later {
        encoder: Box<dyn Encoder>,
        done: VecDeque<Encoded>,
    }

    impl Encoder for Later {
        fn encode(&mut self, now: Time, frame: &Frame, order: &Order) -> Encoded {
            self.encoder.encode(now, frame, order)
        }

        fn begin(&mut self, now: Time, frame: &Frame, order: &Order) -> Option<Encoded> {
            let encoded = self.encode(now, frame, order);
            self.done.push_back(encoded);
            None
        }

        fn collect(&mut self) -> Option<Encoded> {
            self.done.pop_front()
        }

        fn fork(&self) -> Option<Box<dyn Encoder>> {
            None
        }
    }

    fn video(later: bool) -> Video {
        let start = VideoStart::plain();
        let settings = SourceSettings {
            phase: Phase::After(Span::ZERO),
            ..SourceSettings::default()
        };
        let source = Source::new(settings, Time::ZERO, Stream::named(1, "source"));
        let encoder = (video::encoder("ideal").expect("known").new)(&start).expect("defaults");
        let encoder: Box<dyn Encoder> = match later {
            false => encoder,
            true => Box::new(Later {
                encoder,
                done: VecDeque::new(),
            }),
        };
        let follow = video::rate_control("follow").expect("known");
        let follow = (follow.new)(&start).expect("defaults");
        Video::new(
            source.expect("defaults"),
            follow,
            encoder,
            start.frame_interval,
        )
    }

    /// Frame, size, key and reference of what a video codes in a second, each
    /// frame collected a while after its capture.
    fn coded(video: &mut Video) -> Vec<(FrameId, Bytes, bool, u16)> {
        let paths = [PathView {
            control: Control {
                target: Some(Rate::from_mbps(2)),
                ..Control::default()
            },
            ..PathView::default()
        }];
        let outlook = Outlook {
            framing: Framing {
                mtu: Bytes::new(1500),
                overhead: Bytes::new(60),
            },
            backlog: Bytes::ZERO,
            oldest: None,
            paths: &paths,
        };
        let mut coded = Vec::new();
        while let Some(now) = video.next_capture().filter(|at| *at < Time::from_secs(1)) {
            video.capture(now, &outlook, &mut Log::off());
            let later = now + Span::from_millis(5);
            video.collect(later, &mut Log::off());
            while let Some(next) = video.next_coded(later) {
                let Encoded {
                    frame, size, key, ..
                } = next.encoded;
                coded.push((frame, size, key, next.refers));
            }
        }
        coded
    }

    #[test]
    fn an_encoder_that_tells_later_codes_the_same_video() {
        let [at_once, later] = [false, true].map(|later| coded(&mut video(later)));
        assert_eq!(at_once, later);
        assert_eq!(at_once.len(), 60);
        assert!(at_once[0].2 && at_once[1..].iter().all(|it| !it.2 && it.3 == 1));
    }

    #[test]
    fn what_was_begun_before_a_capture_is_told_before_it() {
        let mut video = video(true);
        let outlook = Outlook {
            framing: Framing {
                mtu: Bytes::new(1500),
                overhead: Bytes::new(60),
            },
            backlog: Bytes::ZERO,
            oldest: None,
            paths: &[PathView::default()],
        };
        let now = video.next_capture().expect("a frame");
        video.capture(now, &outlook, &mut Log::off());
        assert_eq!((video.begun.len(), video.next_ready()), (1, None));
        video.collect(now, &mut Log::off());
        assert_eq!((video.begun.len(), video.pending.len()), (0, 1));
        assert!(video.fork().is_none());
    }
}
