//! The sending half: application → scheduler → pacer → ledger → wire, and back.

use std::collections::VecDeque;

use super::ledger::{Content, Ledger};
use super::pacer::Pacer;
use super::wire::{Header, Message, MessageType, WireError, message_type};
use super::{Endpoint, Received, Transmit, packetize};
use crate::cc::{Acked, Control, Controller, Feedback, Lost, MIN_RTT, PathState, Sent};
use crate::event::{Direction, Ecn, Event, FlowId, Kind, Log, PacketId, PathId};
use crate::paths::{Choice, PathView, Queued, Scheduler};
use crate::traffic::Traffic;
use crate::units::{Bytes, Span, Time, earlier};
use crate::video::Framing;
use path::Path;
pub use video::Video;
use video::{Coded, Outlook};

mod failover;
mod path;
mod video;

/// A probe is due at least this often while packets are in flight. Ours: a call
/// that comes back from an outage should notice within half a second.
pub const LONGEST_PROBE_WAIT: Span = Span::from_millis(500);

/// Lost fragments of frames older than this are not sent again, unless told
/// otherwise. [DelayBBR] keeps a send buffer of 500 ms.
pub const LATENCY_BUDGET: Span = Span::from_millis(500);

/// A path of several that has carried nothing for this long is probed, unless
/// told otherwise. Ours: news of a path that a scheduler avoids is then as fresh
/// as a few frames, for 5 kbit/s.
pub const PROBE_INTERVAL: Span = Span::from_millis(100);

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
    /// Not those of frames older than this.
    pub latency_budget: Span,
    /// The ECN field of data packets.
    pub ecn: Ecn,
    /// A path of several that has carried nothing for this long is probed.
    pub probe_interval: Span,
    /// Lateness of wake-ups that the pacer may catch up with.
    pub slack: Span,
    /// When the application begins.
    pub start: Time,
    /// When it ends; what is queued then still leaves.
    pub stop: Option<Time>,
}

/// Where the bytes come from.
#[derive(Debug)]
pub enum Application {
    /// Video frames.
    Video(Box<Video>),
    /// Bytes without frames.
    Traffic(Traffic),
}

impl Application {
    fn fork(&self) -> Option<Self> {
        Some(match self {
            Self::Video(video) => Self::Video(Box::new(video.fork()?)),
            Self::Traffic(traffic) => Self::Traffic(traffic.clone()),
        })
    }

    /// Whether filler may leave at this moment, where a floor asks for any.
    fn fills(&self, at: Time) -> bool {
        match self {
            Self::Video(video) => video.rate_control.fills(at),
            Self::Traffic(_) => true,
        }
    }
}

/// The sending half of a flow.
#[derive(Debug)]
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
        let mut application = application;
        if let Application::Video(video) = &mut application {
            video.flow = settings.flow;
        }
        let path = |(id, controller)| {
            let ledger = Ledger::new(settings.framing.mtu, settings.feedback_delay);
            let pacer = Pacer::new(settings.slack);
            let mut path = Path::new(PathId(id), controller, ledger, pacer);
            if let Application::Video(video) = &application {
                path.control = video.rate_control.shape(path.asked, path.ledger.state());
            }
            path
        };
        let paths = (0..).zip(controllers).map(path).collect();
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

    /// What schedulers and rate controls may look at: the paths that are up.
    fn refresh_views(&mut self, now: Time) {
        self.views.clear();
        if let [path] = &*self.paths {
            self.views.push(path.view());
            return;
        }
        let up = self.paths.iter().filter(|path| !path.down);
        self.views.extend(up.map(|path| PathView {
            unanswered: path.ledger.unanswered(now),
            ..path.view()
        }));
    }

    /// A path's controller was called: its word may have changed.
    fn obey(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        let path = &mut self.paths[at];
        let asked = path.controller.control();
        if matches!(self.application, Application::Traffic(_)) && asked == path.asked {
            return;
        }
        path.asked = asked;
        self.shape(now, at, log);
    }

    /// The controller's will, as the rate control shapes it, holds from now on.
    fn shape(&mut self, now: Time, at: usize, log: &mut Log<'_>) {
        let mtu = self.mtu();
        let path = &mut self.paths[at];
        let control = match &self.application {
            Application::Video(video) => video.rate_control.shape(path.asked, path.ledger.state()),
            Application::Traffic(_) => path.asked,
        };
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
        if let Application::Video(video) = &mut self.application {
            video.rate_control.on_feedback(now, path.id, feedback);
        }
        let due = now >= path.gauged + GAUGE_INTERVAL;
        if due {
            path.gauged = now;
        }
        if due && log.on() {
            let (flow, id) = (self.settings.flow, path.id);
            let mut gauge = |name, value| {
                log.emit(now, || Event::Gauge {
                    flow,
                    path: id,
                    name,
                    value,
                });
            };
            path.controller.inspect(&mut gauge);
            if let Application::Video(video) = &self.application {
                video.rate_control.inspect(&mut gauge);
            }
        }
        self.obey(now, at, log);
    }

    /// Queues lost fragments again, those of the oldest frame in front.
    fn send_again(&mut self, now: Time, at: usize) {
        if !self.settings.retransmit || self.lost.is_empty() {
            return;
        }
        self.refresh_views(now);
        for nth in (0..self.lost.len()).rev() {
            let packet = self.lost[nth].packet;
            let content = self.paths[at].ledger.lost_contents()[nth];
            if !content.moved
                && let Some(queued) = self.again(now, at, &packet, content)
            {
                self.schedule_again(now, queued);
            }
        }
    }

    /// A packet to be sent again, where it is part of a frame not yet past saving.
    fn again(&self, now: Time, at: usize, packet: &Sent, content: Content) -> Option<Queued> {
        let fragment = packet.kind.fragment()?;
        if now - content.captured > self.settings.latency_budget {
            return None;
        }
        Some(Queued {
            kind: Kind::Retransmit(fragment),
            payload: packet.size.saturating_sub(self.settings.framing.overhead),
            size: packet.size,
            captured: content.captured,
            since: now,
            refers: content.refers,
            lost_on: Some(self.paths[at].id),
        })
    }

    /// Gives a new packet a path, or lets it wait behind those that do.
    /// `self.views` must be fresh; it is kept so.
    fn schedule(&mut self, now: Time, queued: Queued) {
        let choice = self.scheduler.pick(now, &queued, &self.views);
        if !self.follow(choice, queued, false) {
            self.waiting.push_back(queued);
        }
    }

    /// Gives a packet a path that goes in front of all others.
    fn schedule_again(&mut self, now: Time, queued: Queued) {
        let choice = self.scheduler.pick_again(now, &queued, &self.views);
        if !self.follow(choice, queued, true) {
            self.waiting.push_front(queued);
        }
    }

    /// Does what the scheduler said; false where the packet has to wait.
    fn follow(&mut self, choice: Choice, queued: Queued, urgent: bool) -> bool {
        match choice {
            Choice::Send(id) => self.assign(id, queued, urgent),
            Choice::Copy(set) => {
                for nth in 0..self.paths.len() {
                    let id = self.paths[nth].id;
                    if set.contains(id) {
                        self.assign(id, queued, urgent);
                    }
                }
            }
            Choice::Wait => return false,
        }
        true
    }

    fn assign(&mut self, id: PathId, queued: Queued, urgent: bool) {
        // A scheduler that names a path that is not up means the first that is.
        let seen = self.views.iter().position(|view| view.id == id);
        let view = &mut self.views[seen.unwrap_or(0)];
        let path = &mut self.paths[usize::from(view.id.0)];
        if urgent {
            path.queue.push_front(queued);
        } else {
            path.queue.push_back(queued);
        }
        path.set_backlog(path.backlog + queued.size);
        view.state.backlog = path.backlog;
    }

    /// Asks again for packets that were told to wait, until one has to.
    fn ask_again(&mut self, now: Time) {
        if self.waiting.is_empty() {
            return;
        }
        self.refresh_views(now);
        while let Some(queued) = self.waiting.pop_front() {
            let choice = self.scheduler.pick(now, &queued, &self.views);
            if !self.follow(choice, queued, false) {
                self.waiting.push_front(queued);
                return;
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
            Application::Video(video) => {
                video.collect(now, log);
                let due = video.next_capture().is_some_and(|due| due <= now);
                if self.running && due {
                    self.capture(now, log);
                } else if video.next_ready().is_some_and(|ready| ready <= now) {
                    self.refresh_views(now);
                }
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
                since: now,
                refers: 0,
                lost_on: None,
            };
            self.refresh_views(now);
            self.schedule(now, queued);
        }
    }

    /// Bytes not yet sent, over all paths.
    fn backlog(&self) -> Bytes {
        let waiting: Bytes = self.waiting.iter().map(|queued| queued.size).sum();
        waiting + self.paths.iter().map(|path| path.backlog).sum()
    }

    /// How long the oldest packet not yet sent has waited to be sent.
    fn oldest(&self, now: Time) -> Option<Span> {
        let fronts = self.paths.iter().filter_map(|path| path.queue.front());
        let ages = fronts.chain(self.waiting.front());
        ages.map(|queued| now - queued.since).max()
    }

    /// Frames that are due are captured, judged and encoded.
    fn capture(&mut self, now: Time, log: &mut Log<'_>) {
        self.with_video(now, log, Video::capture);
        for at in 0..self.paths.len() {
            self.shape(now, at, log);
        }
    }

    /// Lets the video look at the session and act.
    fn with_video(
        &mut self,
        now: Time,
        log: &mut Log<'_>,
        act: impl FnOnce(&mut Video, Time, &Outlook<'_>, &mut Log<'_>),
    ) {
        self.refresh_views(now);
        let (backlog, oldest) = (self.backlog(), self.oldest(now));
        if let Application::Video(video) = &mut self.application {
            let outlook = Outlook {
                framing: self.settings.framing,
                backlog,
                oldest,
                paths: &self.views,
            };
            act(video, now, &outlook, log);
        }
    }

    /// Packetises frames that the encoder is done with. `self.views` must be fresh.
    fn release(&mut self, now: Time, log: &mut Log<'_>) {
        loop {
            let Application::Video(video) = &mut self.application else {
                return;
            };
            let Some(coded) = video.next_coded(now) else {
                return;
            };
            let Coded {
                frame,
                encoded,
                budget,
                refers,
            } = coded;
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
                packetize::packets(frame.id, encoded.size, refers, frame.captured, now, framing)
            {
                self.schedule(now, queued);
            }
            self.tell_heads(now);
        }
    }

    /// Tells the rate control which frames have come to the front of a queue.
    fn tell_heads(&mut self, now: Time) {
        if let Application::Video(video) = &mut self.application {
            for path in &mut self.paths {
                if let Some(frame) = path.new_head() {
                    video.rate_control.on_head(now, frame);
                }
            }
        }
    }

    /// A packet of the video left.
    fn on_video_sent(&mut self, now: Time, kind: Kind, log: &mut Log<'_>) {
        let Application::Video(video) = &mut self.application else {
            return;
        };
        if let Kind::Video(fragment) = kind
            && fragment.last()
        {
            video.rate_control.on_sent(now, fragment.frame);
        }
        self.tell_heads(now);
        if kind.fragment().is_some() && self.backlog() == Bytes::ZERO {
            self.with_video(now, log, Video::drained);
            self.release(now, log);
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
        path.expire(now, self.settings.latency_budget);
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
            since: now,
            refers: 0,
            lost_on: None,
        };
        if let Application::Traffic(traffic) = &self.application
            && self.running
            && traffic.backlogged()
        {
            return Some(full_packet(Kind::Bulk));
        }
        if self.paths.len() > 1 && self.running && self.probe_due(at) <= now {
            return Some(Queued {
                payload: Bytes::ZERO,
                size: framing.overhead,
                ..full_packet(Kind::Filler)
            });
        }
        let path = &mut self.paths[at];
        let floor_due = path.control.floor.is_some() && now >= path.pacer.floor_next();
        if probing || (floor_due && self.application.fills(now)) {
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
        out: &mut Transmit,
        log: &mut Log<'_>,
    ) {
        let path = &mut self.paths[at];
        path.probes = path.probes.saturating_sub(1);
        let content = Content {
            captured: queued.captured,
            refers: queued.refers,
            moved: false,
        };
        let number = path.ledger.on_sent(now, queued.size, queued.kind, content);
        path.pacer
            .on_sent(now, queued.size, path.control.pacing, path.control.floor);
        out.bytes.clear();
        Header {
            path: path.id,
            number,
            kind: queued.kind,
            refers: queued.refers,
            captured: queued.captured,
            settled: path.ledger.settled(),
        }
        .encode(&mut out.bytes);
        out.id = PacketId {
            flow: self.settings.flow,
            path: path.id,
            direction: Direction::Data,
            number,
        };
        out.size = queued.size;
        out.payload = queued.payload;
        out.ecn = self.settings.ecn;
        log.emit(now, || Event::Sent {
            packet: out.id,
            size: queued.size,
            kind: queued.kind,
            in_flight: path.ledger.in_flight(),
        });
        if let Some(sent) = path.ledger.latest() {
            path.controller.on_sent(now, sent, path.ledger.state());
        }
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
        self.watch_silence(now, at, log);
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
        if let (Application::Video(video), Some(beyond)) =
            (&mut self.application, self.message.key_wanted)
        {
            video.on_key_wanted(beyond);
        }
        if !self.acked.is_empty() {
            self.take_back(now, at, log);
        }
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

    fn transmit(&mut self, now: Time, out: &mut Transmit, log: &mut Log<'_>) -> bool {
        for step in 0..self.paths.len() {
            let at = (self.turn + step) % self.paths.len();
            if let Some(queued) = self.next_packet(now, at) {
                self.turn = at + 1;
                self.send(now, at, queued, out, log);
                self.on_video_sent(now, queued.kind, log);
                self.ask_again(now);
                out.more = self.paths.iter().any(|path| path.is_open(now, self.mtu()));
                return true;
            }
        }
        false
    }

    fn next_wake(&self) -> Option<Time> {
        let (due, ready, backlogged) = match &self.application {
            Application::Traffic(traffic) => (traffic.next_event(), None, traffic.backlogged()),
            Application::Video(video) => (video.next_capture(), video.next_ready(), false),
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
                    let at = path.pacer.next().max(path.pacer.floor_next());
                    Some((mtu, at)).filter(|_| self.application.fills(at))
                }
                None => None,
            };
            if let Some((size, at)) = wanted
                && path.has_room(size)
            {
                next = earlier(next, Some(at));
            }
        }
        if self.paths.len() > 1 {
            next = earlier(next, self.next_watch());
        }
        next
    }

    fn min_rtt(&self, path: PathId) -> Option<Span> {
        let path = self.paths.get(usize::from(path.0))?;
        let mut own = None;
        path.controller.inspect(&mut |name, value| {
            if name == MIN_RTT {
                own = Some(Span::from_secs_f64(value));
            }
        });
        own.or(path.ledger.state().min_rtt)
    }

    fn fork(&self) -> Option<Box<dyn Endpoint>> {
        Some(Box::new(Self {
            settings: self.settings,
            paths: self.paths.clone(),
            scheduler: self.scheduler.clone(),
            application: self.application.fork()?,
            running: self.running,
            begun: self.begun,
            waiting: self.waiting.clone(),
            turn: self.turn,
            views: self.views.clone(),
            message: self.message.clone(),
            acked: self.acked.clone(),
            lost: self.lost.clone(),
        }))
    }
}
