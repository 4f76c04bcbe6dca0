//! A link's log as Mahimahi writes it, for its graphing tools. [Mahimahi]
//!
//! After lines that begin with `#`, each line is a time in milliseconds and
//! what happened: `# 1504` an opportunity, `+ SIZE` an arrival, `- SIZE DELAY`
//! a departure, `d PACKETS BYTES` a drop. Sizes have the TUN header of four
//! bytes in them, delays are whole milliseconds spent in queue and service.
//! Links by rate have no opportunities; for them none are written, but a line
//! for the rate's whole packets of each millisecond would be an invention.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tightloop::event::{Event, LinkId};
use tightloop::link::trace::DEVICE_HEADER;
use tightloop::units::{Bytes, Time};

use super::record::{Batch, Output};

/// One way's log.
#[derive(Debug)]
pub struct Log<W: Write> {
    name: String,
    file: BufWriter<W>,
    first: LinkId,
    last: LinkId,
}

/// What the head of a log says.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    /// The command that ran behind the link.
    pub command: &'a str,
    /// The link.
    pub link: &'a str,
    /// The queue.
    pub queue: &'a str,
}

impl Log<File> {
    /// Makes the file.
    ///
    /// # Errors
    ///
    /// The file's.
    pub fn create(path: &Path, head: &Head<'_>, first: LinkId, last: LinkId) -> io::Result<Self> {
        let path = PathBuf::from(path);
        let file = File::create(&path)?;
        Self::new(path.display().to_string(), file, head, first, last)
    }
}

impl<W: Write> Log<W> {
    /// Begins a log: packets arrive at the link `first` and leave the link
    /// `last`, which may be one.
    ///
    /// # Errors
    ///
    /// The writer's.
    pub fn new(
        name: String,
        file: W,
        head: &Head<'_>,
        first: LinkId,
        last: LinkId,
    ) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        writeln!(file, "# mahimahi mm-link ({}) > {name}", head.link)?;
        writeln!(file, "# command line: {}", head.command)?;
        writeln!(file, "# queue: {}", head.queue)?;
        writeln!(
            file,
            "# init timestamp: {}",
            now.unwrap_or_default().as_millis()
        )?;
        writeln!(file, "# base timestamp: 0")?;
        Ok(Self {
            name,
            file,
            first,
            last,
        })
    }

    fn line(&mut self, at: Time, event: &Event) -> io::Result<()> {
        let millis = at.since_epoch().as_nanos() / 1_000_000;
        let whole = |size: Bytes| (size + DEVICE_HEADER).get();
        let file = &mut self.file;
        match *event {
            Event::Opportunity { link, size } if link == self.last => {
                writeln!(file, "{millis} # {}", whole(size))
            }
            Event::Queued { link, size, .. } if link == self.first => {
                writeln!(file, "{millis} + {}", whole(size))
            }
            Event::Left {
                link,
                size,
                sojourn,
                ..
            } if link == self.last => {
                let delay = sojourn.as_nanos() / 1_000_000;
                writeln!(file, "{millis} - {} {delay}", whole(size))
            }
            Event::Dropped { link, size, .. } if link == self.first || link == self.last => {
                writeln!(file, "{millis} d 1 {}", whole(size))
            }
            _ => Ok(()),
        }
    }
}

impl<W: Write + Send> Output for Log<W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        for (at, event) in &batch.events {
            self.line(*at, event)?;
        }
        Ok(())
    }

    fn finish(&mut self, _end: Time) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use tightloop::event::{Cause, PacketId};
    use tightloop::units::Span;

    use super::*;

    #[test]
    fn each_event_is_a_line_as_mahimahi_writes_it() {
        let head = Head {
            command: "sh",
            link: "up",
            queue: "infinite",
        };
        let mut text = Vec::new();
        let (link, packet, size) = (LinkId(1), PacketId::default(), Bytes::new(1500));
        let mut log = Log::new("it".into(), &mut text, &head, link, link).expect("memory");
        let mut batch = Batch::default();
        batch.events = vec![
            (
                Time::from_nanos(1_999_999),
                Event::Queued {
                    link,
                    packet,
                    size,
                    waiting: size,
                },
            ),
            (Time::from_millis(5), Event::Opportunity { link, size }),
            (
                Time::from_millis(5),
                Event::Left {
                    link,
                    packet,
                    size,
                    waited: Span::from_millis(3),
                    sojourn: Span::from_nanos(3_000_001),
                },
            ),
            (
                Time::from_millis(6),
                Event::Dropped {
                    link,
                    packet,
                    size: Bytes::new(60),
                    cause: Cause::Full,
                },
            ),
            (
                Time::from_millis(7),
                Event::Opportunity {
                    link: LinkId(2),
                    size,
                },
            ),
        ];
        log.write(&batch).expect("memory");
        log.finish(Time::from_secs(1)).expect("memory");
        drop(log);
        let text = String::from_utf8(text).expect("text");
        let (head, rest): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
        assert_eq!(head.len(), 5, "{text}");
        assert_eq!(rest, ["1 + 1504", "5 # 1504", "5 - 1504 3", "6 d 1 64"]);
    }
}
