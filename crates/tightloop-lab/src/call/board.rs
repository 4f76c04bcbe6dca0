//! A call's figures while it lasts: a page, and text for Prometheus.
//!
//! Three addresses and no more: `/` is the page, `/figures` feeds it (server-sent
//! events), `/metrics` is for machines. It only reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tightloop::event::{Event, FrameId, Sink};
use tightloop::units::{Span, Time};

/// The page hears news this often.
const NEWS: Duration = Duration::from_millis(250);
/// A request is this long at the most, and takes this long to come.
const LONGEST: u64 = 8_192;
const PATIENCE: Duration = Duration::from_secs(5);
/// Visitors at a time. Ours: a page or two, and a scraper.
const VISITORS: usize = 16;
/// Frames whose latency may still be told.
const FRAMES: usize = 512;

const PAGE: &str = include_str!("board.html");

/// The figures; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Board(Arc<Mutex<Figures>>);

#[derive(Debug, Default)]
struct Figures {
    /// By the name that Prometheus has for them, and what they are.
    values: BTreeMap<String, f64>,
    captured: BTreeMap<FrameId, Time>,
    /// When the call began, by the clock of an end that was there before.
    began: Span,
}

/// The figures, for an end whose clock began before the call.
#[derive(Debug)]
pub(super) struct Early(Board);

impl Sink for Early {
    fn record(&mut self, at: Time, event: &Event) {
        let began = self.0.figures().began;
        self.0.record(at - began, event);
    }
}

impl Figures {
    fn set(&mut self, name: &str, value: f64) {
        if let Some(known) = self.values.get_mut(name) {
            *known = value;
        } else {
            self.values.insert(name.to_owned(), value);
        }
    }

    fn add(&mut self, name: &str, more: f64) {
        let before = self.values.get(name).copied().unwrap_or(0.0);
        self.set(name, before + more);
    }
}

impl Sink for Board {
    fn record(&mut self, at: Time, event: &Event) {
        let mut it = self.figures();
        match *event {
            Event::Sent { size, .. } => {
                it.add("sent_bytes_total", size.get_f64());
                it.add("sent_packets_total", 1.0);
            }
            Event::Arrived { size, .. } => {
                it.add("arrived_bytes_total", size.get_f64());
                it.add("arrived_packets_total", 1.0);
            }
            Event::Lost { .. } => it.add("lost_packets_total", 1.0),
            Event::Acked { rtt: Some(rtt), .. } => it.set("round_trip_seconds", rtt.secs_f64()),
            Event::Control { control, .. } => {
                for (name, rate) in [
                    ("target_bits_per_second", control.target),
                    ("pacing_bits_per_second", control.pacing),
                ] {
                    if let Some(rate) = rate {
                        it.set(name, rate.bps_f64());
                    }
                }
                if let Some(window) = control.window {
                    it.set("window_bytes", window.get_f64());
                }
            }
            Event::Gauge { name, value, .. } => {
                it.set(&format!("gauge{{name=\"{name}\"}}"), value);
            }
            Event::Captured { frame, .. } => {
                it.add("captured_frames_total", 1.0);
                it.captured.insert(frame, at);
                if it.captured.len() > FRAMES {
                    it.captured.pop_first();
                }
            }
            Event::Skipped { .. } => it.add("skipped_frames_total", 1.0),
            Event::Encoded { size, .. } => {
                it.add("encoded_frames_total", 1.0);
                it.add("encoded_bytes_total", size.get_f64());
            }
            Event::Shown { frame, .. } => {
                it.add("shown_frames_total", 1.0);
                if let Some(captured) = it.captured.get(&frame).copied() {
                    it.set("frame_latency_seconds", (at - captured).secs_f64());
                }
            }
            _ => {}
        }
    }
}

impl Board {
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same figures for an end whose clock began before the call.
    pub(super) fn early(&self) -> Early {
        Early(self.clone())
    }

    /// When the call begins, by that clock.
    pub(super) fn begin(&self, began: Span) {
        self.figures().began = began;
    }

    /// Serves the figures at an address as long as the program runs.
    pub(super) fn serve(&self, at: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(at)?;
        let at = listener.local_addr()?;
        let board = self.clone();
        let visitors = Arc::new(AtomicUsize::new(0));
        thread::Builder::new().name("board".into()).spawn(move || {
            for visit in listener.incoming().flatten() {
                let (board, visitors) = (board.clone(), Arc::clone(&visitors));
                if visitors.fetch_add(1, Ordering::Relaxed) >= VISITORS {
                    visitors.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                thread::spawn(move || {
                    // Who goes away is none of our concern.
                    let _ = board.answer(&visit);
                    visitors.fetch_sub(1, Ordering::Relaxed);
                });
            }
        })?;
        Ok(at)
    }

    fn answer(&self, mut visit: &TcpStream) -> io::Result<()> {
        visit.set_read_timeout(Some(PATIENCE))?;
        visit.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(visit.take(LONGEST)).read_line(&mut line)?;
        let mut words = line.split(' ');
        let (method, path) = (words.next(), words.next());
        let (status, kind, body) = match (method, path) {
            (Some("GET"), Some("/")) => ("200 OK", "text/html; charset=utf-8", PAGE.to_owned()),
            (Some("GET"), Some("/metrics")) => {
                ("200 OK", "text/plain; version=0.0.4", self.metrics())
            }
            (Some("GET"), Some("/figures")) => return self.feed(visit),
            _ => (
                "404 Not Found",
                "text/plain",
                "there is /, /figures and /metrics\n".to_owned(),
            ),
        };
        write!(
            visit,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }

    fn feed(&self, mut visit: &TcpStream) -> io::Result<()> {
        write!(
            visit,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
             Connection: close\r\n\r\n"
        )?;
        loop {
            let values = {
                let it = self.figures();
                serde_json::to_string(&it.values)?
            };
            write!(visit, "data: {values}\n\n")?;
            thread::sleep(NEWS);
        }
    }

    /// As Prometheus reads it.
    fn metrics(&self) -> String {
        let it = self.figures();
        let mut text = String::new();
        let mut last = "";
        for (name, value) in &it.values {
            let plain = name.split('{').next().unwrap_or(name);
            if plain != last {
                let kind = if plain.ends_with("_total") {
                    "counter"
                } else {
                    "gauge"
                };
                let _ = writeln!(text, "# TYPE tightloop_{plain} {kind}");
                last = plain;
            }
            let _ = writeln!(text, "tightloop_{name} {value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use tightloop::event::{FlowId, Log};
    use tightloop::units::Bytes;

    use super::*;

    fn fetch(at: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(at).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\n\r\n").expect("sent");
        let mut text = String::new();
        if path == "/figures" {
            let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
            return lines.find(|line| line.starts_with("data: ")).expect("news");
        }
        stream.read_to_string(&mut text).expect("text");
        text
    }

    #[test]
    fn the_figures_of_a_call_can_be_read_and_scraped() {
        let mut board = Board::default();
        let mut far = board.early();
        let (flow, frame) = (FlowId(0), FrameId(3));
        let mut log = Log::to(&mut board);
        log.emit(Time::from_millis(10), || Event::Captured { flow, frame });
        log.emit(Time::from_millis(12), || Event::Encoded {
            flow,
            frame,
            size: Bytes::new(900),
            budget: Bytes::new(1_000),
            key: true,
        });
        // The other end's clock is a second ahead.
        far.0.begin(Span::from_secs(1));
        far.record(Time::from_millis(1060), &Event::Shown { flow, frame });
        log.emit(Time::from_millis(60), || Event::Gauge {
            flow,
            path: tightloop::event::PathId(0),
            name: "alpha",
            value: 0.5,
        });
        let at = board
            .serve("127.0.0.1:0".parse().expect("an address"))
            .expect("a port");
        let text = fetch(at, "/metrics");
        for line in [
            "# TYPE tightloop_captured_frames_total counter",
            "tightloop_captured_frames_total 1",
            "tightloop_frame_latency_seconds 0.05",
            "tightloop_gauge{name=\"alpha\"} 0.5",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(fetch(at, "/").contains("<title>tightloop</title>"));
        assert!(fetch(at, "/figures").contains("\"encoded_bytes_total\":900.0"));
        assert!(fetch(at, "/secrets").starts_with("HTTP/1.1 404"));
    }
}
