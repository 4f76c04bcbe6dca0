//! The decoder and what it writes, on a thread of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use tightloop::event::FrameId;

use super::assembly::Whole;
use super::output::Output;
use crate::codec::VideoDecoder;
use crate::picture::Picture;

/// News that may wait for the thread. Ours: seconds of video; who is that slow
/// has lost.
const WAITING: usize = 512;
/// Frames back that are remembered. Twice what the playout remembers.
const MEMORY: u32 = 512;

#[derive(Debug)]
enum News {
    Whole(Whole),
    Shown(FrameId),
}

/// What a screen has seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// Frames whose every byte came.
    pub complete: u64,
    /// Frames decoded.
    pub decoded: u64,
    /// Frames shown.
    pub shown: u64,
    /// Frames that the decoder refused, or that came to it too late.
    pub undecoded: u64,
    /// News that was lost as decoding was too slow.
    pub missed: u64,
    /// Outputs that are not complete, and why.
    pub failures: Vec<(String, io::Error)>,
}

/// A screen, and its thread.
#[derive(Debug)]
pub struct Screen {
    news: SyncSender<News>,
    thread: JoinHandle<Seen>,
    missed: u64,
}

impl Screen {
    /// A screen that decodes with `decoder`, if there are pictures at all. `tell`
    /// hears at once of an output that fails; the call goes on without it.
    ///
    /// # Errors
    ///
    /// No thread to be had.
    pub fn new(
        decoder: Option<Box<dyn VideoDecoder>>,
        outputs: Vec<Box<dyn Output>>,
        tell: fn(&str, &io::Error),
    ) -> io::Result<Self> {
        let (news, told) = sync_channel(WAITING);
        let mut projector = Projector {
            decoder,
            outputs: outputs.into_iter().map(|output| (output, true)).collect(),
            frames: BTreeMap::new(),
            decoded: BTreeSet::new(),
            picture: None,
            seen: Seen::default(),
            tell,
        };
        let builder = thread::Builder::new().name("decoder".into());
        let thread = builder.spawn(move || {
            projector.run(&told);
            projector.finish()
        })?;
        Ok(Self {
            news,
            thread,
            missed: 0,
        })
    }

    pub(super) fn whole(&mut self, whole: Whole) {
        self.missed += u64::from(self.news.try_send(News::Whole(whole)).is_err());
    }

    pub(super) fn shown(&mut self, frame: FrameId) {
        self.missed += u64::from(self.news.try_send(News::Shown(frame)).is_err());
    }

    /// Waits until everything is decoded and written.
    #[must_use]
    pub fn finish(self) -> Seen {
        drop(self.news);
        let mut seen = self.thread.join().unwrap_or_else(|_| Seen {
            failures: vec![("the decoder".into(), io::Error::other("it broke down"))],
            ..Seen::default()
        });
        seen.missed = self.missed;
        seen
    }
}

struct Projector {
    decoder: Option<Box<dyn VideoDecoder>>,
    outputs: Vec<(Box<dyn Output>, bool)>,
    frames: BTreeMap<u32, (u16, Vec<u8>)>,
    decoded: BTreeSet<u32>,
    picture: Option<Picture>,
    seen: Seen,
    tell: fn(&str, &io::Error),
}

impl Projector {
    fn run(&mut self, news: &Receiver<News>) {
        for news in news {
            match news {
                News::Whole(Whole {
                    frame,
                    refers,
                    bytes,
                }) => {
                    self.seen.complete += 1;
                    self.frames.insert(frame.0, (refers, bytes));
                }
                News::Shown(frame) => self.show(frame),
            }
        }
    }

    /// Decodes what a frame stands on, and the frame.
    fn show(&mut self, frame: FrameId) {
        self.seen.shown += 1;
        let mut chain = Vec::new();
        let mut at = frame.0;
        while !self.decoded.contains(&at)
            && let Some((refers, _)) = self.frames.get(&at)
        {
            chain.push(at);
            match at.checked_sub((*refers).into()) {
                Some(before) if *refers > 0 => at = before,
                _ => break,
            }
        }
        for number in chain.into_iter().rev() {
            let Some((_, bytes)) = self.frames.remove(&number) else {
                continue;
            };
            self.decoded.insert(number);
            self.each(|output| output.coded(FrameId(number), &bytes));
            let Some(decoder) = &mut self.decoder else {
                continue;
            };
            match decoder.decode(&bytes) {
                Ok(picture) => {
                    self.seen.decoded += 1;
                    self.picture = picture.or(self.picture.take());
                }
                Err(_) => self.seen.undecoded += 1,
            }
        }
        if let Some(picture) = self.picture.take() {
            self.each(|output| output.shown(frame, &picture));
            self.picture = Some(picture);
        }
        let oldest = frame.0.saturating_sub(MEMORY);
        self.frames = self.frames.split_off(&oldest);
        self.decoded = self.decoded.split_off(&oldest);
    }

    fn each(&mut self, mut give: impl FnMut(&mut dyn Output) -> io::Result<()>) {
        for (output, fine) in &mut self.outputs {
            if *fine && let Err(error) = give(&mut **output) {
                *fine = false;
                (self.tell)(&output.name(), &error);
                self.seen.failures.push((output.name(), error));
            }
        }
    }

    fn finish(mut self) -> Seen {
        // What is left in an output that failed is written as far as it goes.
        for (mut output, fine) in std::mem::take(&mut self.outputs) {
            if let Err(error) = output.finish()
                && fine
            {
                (self.tell)(&output.name(), &error);
                self.seen.failures.push((output.name(), error));
            }
        }
        self.seen
    }
}
