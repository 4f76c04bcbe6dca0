//! The sending half: application → scheduler → pacer → ledger → wire, and back.

use std::collections::VecDeque;

use super::ledger::{Content, Ledger};
use super::pacer::Pacer;
use super::wire::{Header, Message, MessageType, WireError, message_type};
use super::{Buffer, Endpoint, Received, Transmit, packetize};
use crate::cc::{Acked, Control, Controller, Feedback, Lost, PathState};
use crate::event::{Direction, Ecn, Event, FlowId, Kind, Log, PacketId, PathId, SkippedBy};
use crate::paths::{Choice, PathView, Queued, Scheduler};
use crate::traffic::Traffic;
use crate::units::{Bytes, Span, Time};
use crate::video::source::Source;
use crate::video::{Encoded, Encoder, Frame, Framing, RateControl, SenderView, Verdict};

/// A probe is due at least this often while packets are in flight. Ours: a call
/// that comes back from an outage should notice within half a second.
pub const LONGEST_PROBE_WAIT: Span = Span::from_millis(500);

/// Lost fragments older than this are not sent again. [DelayBBR] keeps a send
/// buffer of 500 ms.
pub const SEND_MEMORY: Span = Span::from_millis(500);

/// Gauges are written to the log at most this often. Ours: finer than a frame.
const GAUGE_INTERVAL: Span = Span::from_millis(10);

/// What all flows need to know.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The flow.
    pub flow: FlowId,
    /// Packet sizes.
    pub framing: Framing,
    /// The longest the receiver holds feedback back.
    pub feedback_delay: Span,
    /// Send lost fragments of frames again.
    pub retransmit: bool,
    /// The ECN field of data packets.
    pub ecn: Ecn,
    /// Lateness of wake-ups that the pacer may catch up with.
    pub slack: Span,
    /// When the application begins.
    pub start: Time,
    /// When it ends; what is queued then still leaves.
    pub stop: Option<Time>,
}

/// Where the bytes come from.
#[derive(Clone, Debug)]
pub enum Application {
    /// Video frames.
    Video(Box<Video>),
    /// Bytes without frames.
    Traffic(Traffic),
}

/// A video application.
#[derive(Clone, Debug)]
pub struct Video {
    source: Source,
    rate_control: Box<dyn RateControl>,
    encoder: Box<dyn Encoder>,
    interval: Span,
    /// Encoded frames that are not ready yet, in the order of capture.
    pending: VecDeque<(Frame, Encoded, Bytes)>,
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
            source,
            rate_control,
            encoder,
            interval,
            pending: VecDeque::new(),
        }
    }
}

#[derive(Clone, Debug)]
struct Path {
    id: PathId,
    controller: Box<dyn Controller>,
    /// What the controller asked for last.
    asked: Control,
    /// What holds: the controller's will as the rate control shaped it.
    control: Control,
    ledger: Ledger,
    pacer: Pacer,
    queue: VecDeque<Queued>,
    backlog: Bytes,
    /// Packets that may leave whatever the window and the pacer say.
    probes: u32,
    gauged: Time,
}

impl Path {
    fn set_backlog(&mut self, backlog: Bytes) {
        self.backlog = backlog;
        self.ledger.set_backlog(backlog);
    }

    /// Pacer and window let a packet go now, if there is one.
    fn is_open(&self, now: Time, mtu: Bytes) -> bool {
        let size = self.queue.front().map_or(mtu, |front| front.size);
        self.probes > 0 || (now >= self.pacer.next() && self.has_room(size))
    }

    /// Drops fragments from the front that waited to be sent again until their
    /// frame was past saving: new frames must not wait behind them.
    fn expire(&mut self, now: Time) {
        while let Some(front) = self.queue.front()
            && matches!(front.kind, Kind::Retransmit(_))
            && now - front.captured > SEND_MEMORY
        {
            self.set_backlog(self.backlog - front.size);
            self.queue.pop_front();
        }
    }

    fn has_room(&self, size: Bytes) -> bool {
        self.control
            .window
            .is_none_or(|window| self.ledger.in_flight() + size <= window)
    }
}

/// The sending half of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    settings: Settings,
    paths: Vec<Path>,
    scheduler: Box<dyn Scheduler>,
    application: Application,
    /// Whether the application has begun and not ended.
    running: bool,
    begun: bool,
    /// Packets the scheduler told to wait.
    waiting: VecDeque<Queued>,
    /// The path asked first for the next packet, so that none starves.
    turn: usize,
    // Room that is used again for every message.
    views: Vec<PathView>,
    message: Message,
    acked: Vec<Acked>,
    lost: Vec<Lost>,
}

impl Sender {
    /// A sender with one controller per path.
    #[must_use]
    pub fn new(
        settings: Settings,
        controllers: Vec<Box<dyn Controller>>,
        scheduler: Box<dyn Scheduler>,
        application: Application,
    ) -> Self {
        let paths = (0..)
            .zip(controllers)
            .map(|(id, controller)| {
                let control = controller.control();
                Path {
                    id: PathId(id),
                    controller,
                    asked: control,
                    control,
                    ledger: Ledger::new(settings.framing.mtu, settings.feedback_delay),
                    pacer: Pacer::new(settings.slack),
                    queue: VecDeque::new(),
                    backlog: Bytes::ZERO,
                    probes: 0,
                    gauged: Time::ZERO,
                }
            })
            .collect();
        Self {
            settings,
            paths,
            scheduler,
            application,
            running: settings.start == Time::ZERO,
            begun: settings.start == Time::ZERO,
            waiting: VecDeque::new(),
            turn: 0,
            views: Vec::new(),
            message: Message::default(),
            acked: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// What the session knows of a path, for tests and dashboards.
    #[must_use]
    pub fn path_state(&self, path: PathId) -> Option<PathState> {
        Some(*self.paths.get(usize::from(path.0))?.ledger.state())
    }

    /// What a path's controller allows now.
    #[must_use]
    pub fn control(&self, path: PathId) -> Option<Control> {
        Some(self.paths.get(usize::from(path.0))?.control)
    }

    /// A path's controller's inner quantities.
    pub fn inspect(&self, path: PathId, gauge: &mut dyn FnMut(&'static str, f64)) {
        if let Some(path) = self.paths.get(usize::from(path.0)) {
            path.controller.inspect(gauge);
        }
    }

    fn mtu(&self) -> Bytes {
        self.settings.framing.mtu
    }

    fn refresh_views(&mut self) {
        self.views.clear();
        self.views.extend(self.paths.iter().map(|path| PathView {
            id: path.id,
            control: path.control,
            state: *path.ledger.state(),
            next_send: path.pacer.next(),
        }));
    }

    /// A path's controller was called: its word may have changed.
    fn obey(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        let mtu = self.mtu();
        let path = &mut self.paths[at];
        let asked = path.controller.control();
        let control = match &self.application {
            Application::Video(video) => video.rate_control.shape(asked, path.ledger.state()),
            Application::Traffic(_) if asked == path.asked => return,
            Application::Traffic(_) => asked,
        };
        path.asked = asked;
        if control != path.control {
            path.control = control;
            path.pacer
                .on_change(now, mtu, control.pacing, control.floor);
            log.emit(now, || Event::Control {
                flow: self.settings.flow,
                path: path.id,
                control,
            });
        }
    }

    /// Tells a path's controller the news in `acked` and `lost`.
    fn tell(&mut self, now: Time, at: usize, feedback: &Feedback<'_>, log: &mut Log<'_>) {
        let path = &mut self.paths[at];
        let id = |number| PacketId {
            flow: self.settings.flow,
            path: path.id,
            direction: Direction::Data,
            number,
        };
        if log.on() {
            for acked in feedback.acked {
                log.emit(now, || Event::Acked {
                    packet: id(acked.packet.number),
                    size: acked.packet.size,
                    rtt: acked.rtt,
                    spurious: acked.spurious,
                });
            }
            for lost in feedback.lost {
                log.emit(now, || Event::Lost {
                    packet: id(lost.packet.number),
                    size: lost.packet.size,
                    by: lost.by,
                });
            }
        }
        path.controller
            .on_feedback(now, feedback, path.ledger.state());
        self.scheduler.on_feedback(now, path.id, feedback);
        let due = now >= path.gauged + GAUGE_INTERVAL;
        if due {
            path.gauged = now;
        }
        if due && log.on() {
            let (flow, id) = (self.settings.flow, path.id);
            path.controller.inspect(&mut |name, value| {
                log.emit(now, || Event::Gauge {
                    flow,
                    path: id,
                    name,
                    value,
                });
            });
        }
        self.obey(now, at, log);
    }

    /// Queues lost fragments again, those of the oldest frame in front.
    fn send_again(&mut self, now: Time, at: usize) {
        if !self.settings.retransmit || self.lost.is_empty() {
            return;
        }
        self.refresh_views();
        for nth in (0..self.lost.len()).rev() {
            let packet = self.lost[nth].packet;
            let content = self.paths[at].ledger.lost_contents()[nth];
            let Some(fragment) = packet.kind.fragment() else {
                continue;
            };
            if now - content.captured > SEND_MEMORY {
                continue;
            }
            let queued = Queued {
                kind: Kind::Retransmit(fragment),
                payload: packet.size.saturating_sub(self.settings.framing.overhead),
                size: packet.size,
                captured: content.captured,
                key: content.key,
                lost_on: Some(self.paths[at].id),
            };
            self.schedule(now, queued, true);
        }
    }

    /// Asks the scheduler for a path. `self.views` must be fresh; it is kept so.
    fn schedule(&mut self, now: Time, queued: Queued, urgent: bool) {
        match self.scheduler.pick(now, &queued, &self.views) {
            Choice::Send(id) => self.assign(id, queued, urgent),
            Choice::Copy(set) => {
                for nth in 0..self.paths.len() {
                    let id = self.paths[nth].id;
                    if set.contains(id) {
                        self.assign(id, queued, urgent);
                    }
                }
            }
            Choice::Wait if urgent => self.waiting.push_front(queued),
            Choice::Wait => self.waiting.push_back(queued),
        }
    }

    fn assign(&mut self, id: PathId, queued: Queued, urgent: bool) {
        // A scheduler that names a path that is not there means the first.
        let at = Some(usize::from(id.0)).filter(|at| *at < self.paths.len());
        let at = at.unwrap_or(0);
        let path = &mut self.paths[at];
        if urgent {
            path.queue.push_front(queued);
        } else {
            path.queue.push_back(queued);
        }
        path.set_backlog(path.backlog + queued.size);
        self.views[at].state.backlog = path.backlog;
    }

    /// Asks again for packets that were told to wait.
    fn ask_again(&mut self, now: Time) {
        if self.waiting.is_empty() {
            return;
        }
        self.refresh_views();
        for _ in 0..self.waiting.len() {
            if let Some(queued) = self.waiting.pop_front() {
                self.schedule(now, queued, false);
            }
        }
    }

    /// Frames and bytes that are due.
    fn run_application(&mut self, now: Time, log: &mut Log<'_>) {
        self.running =
            now >= self.settings.start && self.settings.stop.is_none_or(|stop| now < stop);
        self.begun |= self.running;
        match &mut self.application {
            Application::Traffic(_) => self.run_traffic(now),
            Application::Video(_) => {
                self.capture(now, log);
                self.release(now, log);
            }
        }
    }

    fn run_traffic(&mut self, now: Time) {
        loop {
            let waiting = self.backlog();
            let Application::Traffic(traffic) = &mut self.application else {
                return;
            };
            if !self.running || traffic.next_event().is_none_or(|due| due > now) {
                return;
            }
            let size = traffic.on_event(now, waiting);
            if size == Bytes::ZERO {
                continue;
            }
            let queued = Queued {
                kind: Kind::Bulk,
                payload: size.saturating_sub(self.settings.framing.overhead),
                size,
                captured: now,
                key: false,
                lost_on: None,
            };
            self.refresh_views();
            self.schedule(now, queued, false);
        }
    }

    /// Bytes not yet sent, over all paths.
    fn backlog(&self) -> Bytes {
        let waiting: Bytes = self.waiting.iter().map(|queued| queued.size).sum();
        waiting + self.paths.iter().map(|path| path.backlog).sum()
    }

    fn capture(&mut self, now: Time, log: &mut Log<'_>) {
        let flow = self.settings.flow;
        if !self.running {
            return;
        }
        self.refresh_views();
        let backlog = self.backlog();
        let oldest = self
            .paths
            .iter()
            .filter_map(|path| path.queue.front())
            .chain(self.waiting.front())
            .map(|queued| now - queued.captured)
            .max();
        let Application::Video(video) = &mut self.application else {
            return;
        };
        while video.source.next_capture().is_some_and(|due| due <= now) {
            let Some(frame) = video.source.capture(now) else {
                break;
            };
            log.emit(now, || Event::Captured {
                flow,
                frame: frame.id,
            });
            let view = SenderView {
                frame_interval: video.interval,
                framing: self.settings.framing,
                backlog,
                oldest,
                max_rate: video.source.max_rate(now),
                paths: &self.views,
            };
            let skipped = |by| Event::Skipped {
                flow,
                frame: frame.id,
                by,
            };
            match video.rate_control.on_capture(now, &frame, &view) {
                Verdict::Skip => log.emit(now, || skipped(SkippedBy::RateControl)),
                Verdict::Encode(order) => {
                    let encoded = video.encoder.encode(now, &frame, &order);
                    video.rate_control.on_encoded(now, &encoded, &order);
                    if encoded.size == Bytes::ZERO {
                        log.emit(now, || skipped(SkippedBy::Encoder));
                    } else {
                        video.pending.push_back((frame, encoded, order.budget));
                    }
                }
            }
        }
    }

    /// Packetises frames that the encoder is done with.
    fn release(&mut self, now: Time, log: &mut Log<'_>) {
        loop {
            let Application::Video(video) = &mut self.application else {
                return;
            };
            if video
                .pending
                .front()
                .is_none_or(|(_, encoded, _)| encoded.ready > now)
            {
                return;
            }
            let Some((frame, encoded, budget)) = video.pending.pop_front() else {
                return;
            };
            log.emit(now, || Event::Encoded {
                flow: self.settings.flow,
                frame: frame.id,
                size: encoded.size,
                budget,
                key: encoded.key,
            });
            let framing = self.settings.framing;
            let packets = encoded.size.pieces(framing.payload());
            self.scheduler
                .on_frame(now, framing.wire_of(encoded.size), packets, &self.views);
            for queued in
                packetize::packets(frame.id, encoded.size, encoded.key, frame.captured, framing)
            {
                self.schedule(now, queued, false);
            }
        }
    }

    /// What this path may send now.
    fn next_packet(&mut self, now: Time, at: usize) -> Option<Queued> {
        let mtu = self.mtu();
        let framing = self.settings.framing;
        let path = &mut self.paths[at];
        let probing = path.probes > 0;
        if !probing && now < path.pacer.next() {
            return None;
        }
        path.expire(now);
        if let Some(front) = path.queue.front() {
            if !probing && !path.has_room(front.size) {
                return None;
            }
            path.set_backlog(path.backlog - front.size);
            return path.queue.pop_front();
        }
        if !probing && !path.has_room(mtu) {
            return None;
        }
        let full_packet = |kind| Queued {
            kind,
            payload: framing.payload(),
            size: mtu,
            captured: now,
            key: false,
            lost_on: None,
        };
        if let Application::Traffic(traffic) = &self.application
            && self.running
            && traffic.backlogged()
        {
            return Some(full_packet(Kind::Bulk));
        }
        let floor_due = path.control.floor.is_some() && now >= path.pacer.floor_next();
        if floor_due || probing {
            return Some(full_packet(Kind::Filler));
        }
        if path.control.floor.is_none() {
            path.ledger.on_app_limited();
        }
        None
    }

    fn send(
        &mut self,
        now: Time,
        at: usize,
        queued: Queued,
        buffer: &mut Buffer,
        log: &mut Log<'_>,
    ) -> Transmit {
        let path = &mut self.paths[at];
        path.probes = path.probes.saturating_sub(1);
        let content = Content {
            captured: queued.captured,
            key: queued.key,
        };
        let sent = path.ledger.on_sent(now, queued.size, queued.kind, content);
        path.pacer
            .on_sent(now, queued.size, path.control.pacing, path.control.floor);
        buffer.clear();
        Header {
            path: path.id,
            number: sent.number,
            kind: queued.kind,
            key: queued.key,
            captured: queued.captured,
            settled: path.ledger.settled(),
        }
        .encode(buffer);
        let transmit = Transmit {
            id: PacketId {
                flow: self.settings.flow,
                path: path.id,
                direction: Direction::Data,
                number: sent.number,
            },
            size: queued.size,
            payload: queued.payload,
            ecn: self.settings.ecn,
            more: true,
        };
        log.emit(now, || Event::Sent {
            packet: transmit.id,
            size: sent.size,
            kind: sent.kind,
            in_flight: sent.in_flight,
        });
        path.controller.on_sent(now, &sent, path.ledger.state());
        transmit
    }

    fn run_timers(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        let path = &mut self.paths[at];
        if path.ledger.loss_time().is_some_and(|due| due <= now) {
            self.lost.clear();
            let persistent = path.ledger.on_loss_time(now, &mut self.lost);
            let lost = std::mem::take(&mut self.lost);
            self.tell(now, at, &Feedback::of_losses(&lost, persistent), log);
            self.lost = lost;
            self.send_again(now, at);
        }
        let path = &mut self.paths[at];
        if path
            .ledger
            .probe_time(LONGEST_PROBE_WAIT)
            .is_some_and(|due| due <= now)
        {
            path.ledger.on_probe_timeout();
            path.probes = 1;
            log.emit(now, || Event::Timeout {
                flow: self.settings.flow,
                path: path.id,
            });
        }
        if path.controller.next_timeout().is_some_and(|due| due <= now) {
            path.controller.on_timeout(now, path.ledger.state());
            self.obey(now, at, log);
        }
    }
}

impl Endpoint for Sender {
    fn receive(
        &mut self,
        now: Time,
        _path: PathId,
        received: Received<'_>,
        log: &mut Log<'_>,
    ) -> Result<(), WireError> {
        if message_type(received.bytes)? != MessageType::Feedback {
            return Err(WireError::Field("direction"));
        }
        self.message.decode(received.bytes)?;
        // The message names the path it speaks of; it may have come by another.
        let at = usize::from(self.message.path.0);
        let path = self
            .paths
            .get_mut(at)
            .ok_or(WireError::Path(self.message.path.0))?;
        self.acked.clear();
        self.lost.clear();
        let outcome = path.ledger.on_message(
            received.arrived,
            &self.message,
            &mut self.acked,
            &mut self.lost,
        )?;
        let acked = std::mem::take(&mut self.acked);
        let lost = std::mem::take(&mut self.lost);
        let report = self.message.report.take();
        let feedback = Feedback {
            acked: &acked,
            lost: &lost,
            delivery: outcome.delivery,
            through: Some(self.message.now),
            persistent_congestion: outcome.persistent_congestion,
            report: report.as_ref(),
        };
        self.tell(now, at, &feedback, log);
        self.acked = acked;
        self.lost = lost;
        self.send_again(now, at);
        self.ask_again(now);
        Ok(())
    }

    fn wake(&mut self, now: Time, log: &mut Log<'_>) {
        for at in 0..self.paths.len() {
            self.run_timers(now, at, log);
        }
        self.run_application(now, log);
        self.ask_again(now);
    }

    fn transmit(&mut self, now: Time, buffer: &mut Buffer, log: &mut Log<'_>) -> Option<Transmit> {
        for step in 0..self.paths.len() {
            let at = (self.turn + step) % self.paths.len();
            if let Some(queued) = self.next_packet(now, at) {
                self.turn = at + 1;
                let mut transmit = self.send(now, at, queued, buffer, log);
                self.ask_again(now);
                transmit.more = self.paths.iter().any(|path| path.is_open(now, self.mtu()));
                return Some(transmit);
            }
        }
        None
    }

    fn next_wake(&self) -> Option<Time> {
        let (due, ready, backlogged) = match &self.application {
            Application::Traffic(traffic) => (traffic.next_event(), None, traffic.backlogged()),
            Application::Video(video) => {
                let ready = video.pending.front().map(|(_, encoded, _)| encoded.ready);
                (video.source.next_capture(), ready, false)
            }
        };
        let mtu = self.mtu();
        let turn = match self.running {
            true => earlier(due, self.settings.stop),
            false => Some(self.settings.start).filter(|_| !self.begun),
        };
        let mut next = earlier(turn, ready);
        for path in &self.paths {
            let timer = path
                .ledger
                .loss_time()
                .or_else(|| path.ledger.probe_time(LONGEST_PROBE_WAIT));
            next = earlier(next, earlier(timer, path.controller.next_timeout()));
            let wanted = match path.queue.front() {
                Some(front) => Some((front.size, path.pacer.next())),
                None if backlogged && self.running => Some((mtu, path.pacer.next())),
                None if path.control.floor.is_some() => {
                    Some((mtu, path.pacer.next().max(path.pacer.floor_next())))
                }
                None => None,
            };
            if let Some((size, at)) = wanted
                && path.has_room(size)
            {
                next = earlier(next, Some(at));
            }
        }
        next
    }

    fn fork(&self) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(self.clone()))
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
