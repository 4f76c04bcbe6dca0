//! QUIC without its sockets: datagrams in, datagrams out.
//!
//! Connections are called lines here. A line is opened by one question and its
//! answer, on QUIC's first stream; after that it carries messages of the session
//! as DATAGRAM frames ([RFC9221]), one in each packet.
//!
//! QUIC's timers do nothing for a message, so they are looked at only every
//! 250 ms: acknowledgements then are rare, and what a packet costs is what the
//! session counts.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use noq_proto::crypto::Session;
use noq_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, FourTuple, Incoming, RandomConnectionIdGenerator, ServerConfig, Side,
    StreamEvent, VarInt,
};

use super::identity::{Identity, NAME, Trust, random};
use super::yielding::Numbers;
use super::{CallError, envelope};
use line::{Line, question};
use transport::transport;

mod line;
mod transport;

/// Strangers that may be at the door at a time, each of which has shown that it
/// gets what is sent to its address. Ours.
const STRANGERS: usize = 16;
/// Whoever has said nothing for this long is shown out. Ours.
const SPEECHLESS: Duration = Duration::from_secs(10);

/// A line's name on this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LineId(usize);

/// What has happened on a line.
#[derive(Debug)]
pub(super) enum Happened {
    /// It is encrypted, and the other side's certificate is good.
    Up,
    /// The other side's question, or its answer.
    Said(Vec<u8>),
    /// A message of the session.
    Message(Bytes),
    /// It is no more.
    Down(ConnectionError),
}

/// Where datagrams go: bytes and address.
pub(super) type Out<'a> = dyn FnMut(&[u8], SocketAddr) + 'a;

/// One socket's lines.
pub(super) struct Quic {
    endpoint: Endpoint,
    serves: Option<Arc<noq_proto::crypto::rustls::QuicServerConfig>>,
    lines: BTreeMap<usize, Line>,
    /// QUIC's packets may be this large, in UDP bytes.
    mtu: u16,
    room: Vec<u8>,
    /// Datagrams that belonged to nothing.
    pub(super) strangers: u64,
    /// Connections that were begun by others.
    pub(super) begun: u64,
}

impl std::fmt::Debug for Quic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Quic({} lines)", self.lines.len())
    }
}

impl Quic {
    /// Lines of packets of `payload` UDP bytes; where there is an identity, others
    /// may begin them.
    pub(super) fn new(payload: u64, identity: Option<&Identity>) -> Result<Self, CallError> {
        let reset: [u8; 32] = random()?;
        let reset = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &reset);
        let mut config = EndpointConfig::new(Arc::new(reset));
        config.cid_generator(Arc::new(|| {
            Box::new(RandomConnectionIdGenerator::new(envelope::NAME))
        }));
        config
            .max_udp_payload_size(super::socket::LARGEST as u16)
            .map_err(|error| CallError::Crypto(error.to_string()))?;
        let serves = identity.map(Identity::server).transpose()?.map(Arc::new);
        let mtu = u16::try_from(payload).unwrap_or(u16::MAX);
        let mut quic = Self {
            endpoint: Endpoint::new(Arc::new(config), None, false),
            serves,
            lines: BTreeMap::new(),
            mtu: mtu.saturating_add(envelope::RESERVE),
            room: Vec::with_capacity(super::socket::LARGEST),
            strangers: 0,
            begun: 0,
        };
        if quic.serves.is_some() {
            let (config, _) = quic.server();
            quic.endpoint.set_server_config(config);
        }
        Ok(quic)
    }

    fn server(&self) -> (Option<Arc<ServerConfig>>, Arc<Numbers>) {
        let (transport, numbers) = transport(self.mtu);
        let config = self.serves.as_ref().map(|serves| {
            let mut config = ServerConfig::with_crypto(serves.clone());
            config.transport_config(transport).max_incoming(STRANGERS);
            Arc::new(config)
        });
        (config, numbers)
    }

    fn keep(
        &mut self,
        now: Instant,
        id: ConnectionHandle,
        connection: Connection,
        numbers: Arc<Numbers>,
    ) -> LineId {
        let line = Line {
            connection,
            numbers,
            born: now,
            up: None,
            ticked: now,
            heard: Vec::new(),
            said: false,
            over: false,
        };
        self.lines.insert(id.0, line);
        LineId(id.0)
    }

    /// Begins a line.
    pub(super) fn dial(
        &mut self,
        now: Instant,
        to: SocketAddr,
        trust: &Trust,
    ) -> Result<LineId, CallError> {
        let (transport, numbers) = transport(self.mtu);
        let mut config = ClientConfig::new(Arc::new(trust.client()?));
        config.transport_config(transport);
        let dialled = self.endpoint.connect(now, config, to, NAME);
        let (id, connection) = dialled.map_err(|error| CallError::Address {
            address: to,
            why: error.to_string(),
        })?;
        Ok(self.keep(now, id, connection, numbers))
    }

    /// Takes in a datagram. What answers it goes out at once. Tells the line that
    /// it belongs to.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        out: &mut Out<'_>,
    ) -> Option<LineId> {
        self.room.clear();
        let path = FourTuple::from_remote(from);
        let event = self
            .endpoint
            .handle(now, path, None, BytesMut::from(bytes), &mut self.room);
        match event {
            Some(DatagramEvent::ConnectionEvent(id, event)) => {
                let line = self.lines.get_mut(&id.0)?;
                line.connection.handle_event(event);
                Some(LineId(id.0))
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.answer_door(now, incoming, out),
            Some(DatagramEvent::Response(response)) => {
                self.strangers += 1;
                // Whoever writes another's address on a datagram must not make us
                // send the other more than he has sent himself.
                if response.size <= bytes.len() {
                    out(&self.room[..response.size], response.destination);
                }
                None
            }
            None => {
                self.strangers += 1;
                None
            }
        }
    }

    /// Somebody new: first of all he has to show that what is sent to his address
    /// gets to him.
    fn answer_door(
        &mut self,
        now: Instant,
        incoming: Incoming,
        out: &mut Out<'_>,
    ) -> Option<LineId> {
        self.room.clear();
        if !incoming.remote_address_validated() {
            if let Ok(retry) = self.endpoint.retry(incoming, &mut self.room) {
                out(&self.room[..retry.size], retry.destination);
            }
            return None;
        }
        if self.lines.len() >= STRANGERS {
            let refusal = self.endpoint.refuse(incoming, &mut self.room);
            out(&self.room[..refusal.size], refusal.destination);
            self.strangers += 1;
            return None;
        }
        let (config, numbers) = self.server();
        match self.endpoint.accept(incoming, now, &mut self.room, config) {
            Ok((id, connection)) => {
                self.begun += 1;
                Some(self.keep(now, id, connection, numbers))
            }
            Err(refused) => {
                self.strangers += 1;
                if let Some(response) = refused.response {
                    out(&self.room[..response.size], response.destination);
                }
                None
            }
        }
    }

    /// What has happened on a line, one thing after the other.
    pub(super) fn poll(&mut self, now: Instant, id: LineId) -> Option<Happened> {
        let line = self.lines.get_mut(&id.0)?;
        if let Some(message) = line.connection.datagrams().recv() {
            return Some(Happened::Message(message));
        }
        while let Some(event) = line.connection.poll() {
            match event {
                Event::Connected => {
                    line.up = Some(now);
                    return Some(Happened::Up);
                }
                Event::ConnectionLost { reason } => {
                    line.over = true;
                    return Some(Happened::Down(reason));
                }
                Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) => {
                    line.listen();
                }
                _ => {}
            }
        }
        if line.said && !line.heard.is_empty() {
            return Some(Happened::Said(std::mem::take(&mut line.heard)));
        }
        None
    }

    /// Says a question, on a line that was dialled, or an answer.
    pub(super) fn say(&mut self, id: LineId, words: &[u8]) {
        let Some(line) = self.lines.get_mut(&id.0) else {
            return;
        };
        let stream = match line.connection.side() {
            Side::Client => line.connection.streams().open(Dir::Bi),
            Side::Server => Some(question()),
        };
        if let Some(stream) = stream {
            let mut stream = line.connection.send_stream(stream);
            // The window is larger than anything said; a line that is down loses it.
            let _ = stream.write(words);
            let _ = stream.finish();
        }
    }

    /// Ends a line, with a reason for the other side.
    pub(super) fn hang_up(&mut self, now: Instant, id: LineId, code: u32, reason: &str) {
        if let Some(line) = self.lines.get_mut(&id.0) {
            line.over = true;
            let reason = Bytes::copy_from_slice(reason.as_bytes());
            line.connection.close(now, VarInt::from_u32(code), reason);
        }
    }

    /// The line's TLS session, for proofs.
    pub(super) fn session(&self, id: LineId) -> Option<&dyn Session> {
        Some(self.lines.get(&id.0)?.connection.crypto_session())
    }

    /// Where the other side of a line is now.
    pub(super) fn remote(&self, id: LineId) -> Option<SocketAddr> {
        let line = self.lines.get(&id.0)?;
        let path = line.connection.paths().first().copied()?;
        Some(line.connection.network_path(path).ok()?.remote())
    }

    /// Sends a message as one packet, of which `out` hears. False where the line is
    /// not up or the message does not fit.
    pub(super) fn send(
        &mut self,
        now: Instant,
        id: LineId,
        message: &[&[u8]],
        out: &mut Out<'_>,
    ) -> bool {
        self.flush_line(now, id, out);
        let Some(line) = self.lines.get_mut(&id.0) else {
            return false;
        };
        let sealed = envelope::seal(message, line.numbers.distance());
        if line.connection.datagrams().send(sealed, false).is_err() {
            return false;
        }
        self.flush_line(now, id, out) > 0
    }

    fn flush_line(&mut self, now: Instant, id: LineId, out: &mut Out<'_>) -> usize {
        let Some(line) = self.lines.get_mut(&id.0) else {
            return 0;
        };
        let mut sent = 0;
        loop {
            self.room.clear();
            let before = line.numbers.distance();
            let one = NonZeroUsize::MIN;
            let Some(transmit) = line.connection.poll_transmit(now, one, &mut self.room) else {
                break;
            };
            if line.up.is_some() && line.numbers.distance() == before {
                line.numbers.skip();
            }
            out(&self.room[..transmit.size], transmit.destination);
            sent += 1;
        }
        while let Some(event) = line.connection.poll_endpoint_events() {
            let drained = event.is_drained();
            let back = self.endpoint.handle_event(ConnectionHandle(id.0), event);
            if let Some(back) = back {
                line.connection.handle_event(back);
            }
            if drained {
                line.over = true;
            }
        }
        sent
    }

    /// Sends whatever waits, does what time asks for, and forgets what is over.
    pub(super) fn run(&mut self, now: Instant, out: &mut Out<'_>) {
        let ids: Vec<usize> = self.lines.keys().copied().collect();
        for id in ids {
            let speechless = self.lines.get(&id).is_some_and(|line| {
                let server = line.connection.side().is_server();
                server && !line.said && !line.over && now - line.born > SPEECHLESS
            });
            if speechless {
                self.strangers += 1;
                self.hang_up(now, LineId(id), super::REFUSED, "nothing was said");
            }
            if let Some(line) = self.lines.get_mut(&id)
                && line.due().is_some_and(|due| due <= now)
            {
                line.ticked = now;
                line.connection.handle_timeout(now);
            }
            self.flush_line(now, LineId(id), out);
        }
        self.lines
            .retain(|_, line| !(line.over && line.connection.is_drained()));
    }

    /// When [`Quic::run`] should be called next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.lines.values().filter_map(Line::due).min()
    }

    /// Whether any line is left, if only to say good-bye.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}
