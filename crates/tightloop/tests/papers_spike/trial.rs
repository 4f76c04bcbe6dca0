//! The testbed of the paper, and what is seen when its capacity drops.

use tightloop::event::{Direction, Event, Log, Sink};
use tightloop::scenario::Scenario;
use tightloop::units::{Bytes, Rate, Span, Time};

/// The capacity before. [SpikeBound] §IV.
pub(crate) const BEFORE: Rate = Rate::from_mbps(60);
/// How long before the drop throughput is averaged.
const AVERAGED: Span = Span::from_secs(1);
/// A spike is looked for this long.
const WATCHED: Span = Span::from_secs(5);
/// How often the testbed's Flent reads the smoothed round trip.
const READ_EVERY: Span = Span::from_millis(200);

/// A flow of the grid: its name, its controller and what it sends, as TOML.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    pub(crate) name: &'static str,
    pub(crate) flow: &'static str,
}

const fn bulk(name: &'static str, flow: &'static str) -> Who {
    Who { name, flow }
}

pub(crate) const BBR: Who = bulk("bbr", "cc = \"bbr\"\ntraffic = { bulk = {} }");
pub(crate) const CUBIC: Who = bulk("cubic", "cc = \"cubic\"\ntraffic = { bulk = {} }");
pub(crate) const DCTCP: Who = bulk("dctcp", "cc = \"dctcp\"\ntraffic = { bulk = {} }");
/// As Linux counts: α in steps of 1/1024.
pub(crate) const DCTCP_LINUX: Who = bulk(
    "dctcp*",
    "cc = { name = \"dctcp\", steps = 1024 }\ntraffic = { bulk = {} }",
);
pub(crate) const COPA: Who = bulk("copa", "cc = \"copa\"\ntraffic = { bulk = {} }");
pub(crate) const RENO: Who = bulk("reno", "cc = \"reno\"\ntraffic = { bulk = {} }");
pub(crate) const HYBLA: Who = bulk("hybla", "cc = \"hybla\"\ntraffic = { bulk = {} }");
pub(crate) const ILLINOIS: Who = bulk("illinois", "cc = \"illinois\"\ntraffic = { bulk = {} }");
pub(crate) const WESTWOOD: Who = bulk("westwood", "cc = \"westwood\"\ntraffic = { bulk = {} }");
pub(crate) const SQP: Who = bulk(
    "sqp",
    "cc = \"sqp\"\nvideo = { source = { fps = 60 }, encoder = \"ideal\", \
     rate_control = { name = \"follow\", max = \"500 Mbit/s\" } }",
);
/// Its cap on the bitrate is out of reach.
pub(crate) const VIDAPTIVE: Who = bulk(
    "vidaptive",
    "cc = \"copa\"\nvideo = { source = { fps = 30 }, encoder = \"ideal\", \
     rate_control = { name = \"vidaptive\", max = \"500 Mbit/s\" } }",
);

/// One drop of the capacity.
#[derive(Clone, Copy)]
pub(crate) struct Point {
    /// From [`BEFORE`] to a part of it.
    pub(crate) r: f64,
    /// The round trip, all of it on the way back.
    pub(crate) d: Span,
    pub(crate) at: Time,
}

impl Point {
    pub(crate) fn after(&self) -> Rate {
        BEFORE * (1.0 / self.r)
    }

    /// How long one packet takes at the new rate.
    pub(crate) fn packet(&self) -> Span {
        Bytes::new(1_500).at(self.after()).expect("a rate")
    }
}

/// What was seen.
pub(crate) struct Seen {
    point: Point,
    /// Bytes that left in the second before.
    left: Bytes,
    /// Bytes that came to the link from the drop until d later.
    came: Bytes,
    /// The longest that a packet waited, own service excluded.
    pub(crate) wait: Span,
    /// Packets dropped while the spike was looked for.
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    smoothed: Option<Span>,
    /// The largest smoothed round trip, and the largest that a reader sees.
    pub(crate) peak: Span,
    pub(crate) read: Span,
    next_read: Time,
}

impl Seen {
    /// A flow over the testbed: HTB and CoDel with ECN, which marks; Linux's queue
    /// of 1000 packets; no delay but on the way back.
    pub(crate) fn of(who: &Who, point: Point, queue: &str, seed: u64) -> Self {
        let end = point.at + WATCHED;
        let Point { r: _, d, at } = point;
        let text = format!(
            "name = \"spike\"\nduration = \"{}\"\nseed = {seed}\n\
             [link.a]\nsteps = [[\"0 s\", \"{BEFORE}\"], [\"{at}\", \"{}\"]]\nqueue = {queue}\n\
             [link.b]\ndelay = \"{d}\"\n\
             [[flow]]\necn = true\npath = {{ links = [\"a\"], back = [\"b\"] }}\n{}\n",
            end.since_epoch(),
            point.after(),
            who.flow,
        );
        let scenario: Scenario = toml::from_str(&text).expect("a scenario");
        let mut built = scenario.build(&|_| None).expect("a world");
        let mut seen = Self {
            point,
            left: Bytes::ZERO,
            came: Bytes::ZERO,
            wait: Span::ZERO,
            drops: 0,
            marks: 0,
            smoothed: None,
            peak: Span::ZERO,
            read: Span::ZERO,
            next_read: point.at,
        };
        built.world.run(scenario.end(), &mut Log::to(&mut seen));
        seen
    }

    /// r of a link that was full, and d: the bound of the paper.
    pub(crate) fn bound(&self) -> Span {
        self.point.d * (self.point.r - 1.0)
    }

    /// r_eff from the throughput of the second before.
    pub(crate) fn used_ratio(&self) -> f64 {
        let throughput = self.left.per(AVERAGED).unwrap_or_default();
        throughput.ratio(self.point.after())
    }

    /// r_eff from what came while nobody could know.
    pub(crate) fn sent_ratio(&self) -> f64 {
        self.came
            .per(self.point.d)
            .unwrap_or_default()
            .ratio(self.point.after())
    }

    /// What nobody can avoid who sent that.
    pub(crate) fn sent_bound(&self) -> Span {
        (self.point.d * (self.sent_ratio() - 1.0)).max(Span::ZERO)
    }

    pub(crate) fn packet(&self) -> Span {
        self.point.packet()
    }

    fn since(&self, at: Time) -> bool {
        at >= self.point.at
    }
}

/// As the testbed was: Linux's CoDel with ECN, and its 1000 packets.
pub(crate) const CODEL: &str = "{ kind = \"codel\", ecn = true, packets = 1000 }";

impl Sink for Seen {
    fn record(&mut self, at: Time, event: &Event) {
        while self.next_read <= at {
            self.read = self.read.max(self.smoothed.unwrap_or_default());
            self.next_read += READ_EVERY;
        }
        match *event {
            Event::Queued { link, size, .. }
                if link.0 == 0 && self.since(at) && at <= self.point.at + self.point.d =>
            {
                self.came += size;
            }
            Event::Left {
                link, size, waited, ..
            } if link.0 == 0 => {
                if self.since(at) {
                    self.wait = self.wait.max(waited);
                } else if at + AVERAGED >= self.point.at {
                    self.left += size;
                }
            }
            Event::Dropped { packet, .. }
                if packet.direction == Direction::Data && self.since(at) =>
            {
                self.drops += 1;
            }
            Event::Marked { .. } if self.since(at) => self.marks += 1,
            Event::Acked { rtt: Some(rtt), .. } => {
                // As the kernel's: an eighth of each sample.
                let smoothed = self.smoothed.map_or(rtt, |it| it + (rtt - it) / 8);
                self.smoothed = Some(smoothed);
                if self.since(at) {
                    self.peak = self.peak.max(smoothed);
                }
            }
            _ => {}
        }
    }
}
