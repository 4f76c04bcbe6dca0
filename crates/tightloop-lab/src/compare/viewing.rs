//! What a viewer saw: pictures decoded after the run, and how good they were.

use std::num::NonZeroU32;

use anyhow::{Context, Result, bail};
use tightloop::event::FrameId;
use tightloop::units::Time;
use tightloop_live::codec::replay::Replay;
use tightloop_live::footage_encoder::Take;
use tightloop_live::picture::Picture;
use tightloop_live::quality::{Measured, Meter, vmaf};

use super::screen::Screen;
use crate::studio::Filmed;

/// A call's screen played again.
struct Viewing<'a> {
    screen: &'a Screen,
    filmed: &'a Filmed,
    takes: Vec<Take>,
    /// The next of them.
    next: usize,
    replay: Replay,
    black: Picture,
    source: Picture,
}

impl<'a> Viewing<'a> {
    fn new(screen: &'a Screen, filmed: &'a Filmed) -> Result<Self> {
        if let Some(failure) = filmed.recording.failure() {
            bail!("the encoder failed at {failure}");
        }
        let size = filmed.footage.size();
        Ok(Self {
            screen,
            filmed,
            takes: filmed.recording.takes(),
            next: 0,
            replay: Replay::new((filmed.codec.decoder)()?),
            black: Picture::black(size),
            source: Picture::black(size),
        })
    }

    /// Goes on until a captured frame: what was decoded by then is decoded.
    fn advance(&mut self, frame: FrameId) {
        if self.screen.shown.contains(&frame) {
            while let Some(take) = self.takes.get(self.next) {
                if take.frame > frame {
                    break;
                }
                if self.screen.completed.contains(&take.frame) {
                    self.replay.arrived(&take.coded);
                } else {
                    self.replay.missing(&take.coded);
                }
                self.next += 1;
            }
        }
    }

    /// What should have been on the screen for a captured frame, and what was.
    fn frame(&mut self, frame: FrameId, captured: Time) -> Result<(&Picture, &Picture)> {
        self.advance(frame);
        let number = self.filmed.footage.number_at(captured.since_epoch());
        self.filmed.footage.picture(number, &mut self.source)?;
        let shown = self.replay.shown().unwrap_or(&self.black);
        Ok((&self.source, shown))
    }
}

/// Decodes and measures a whole call. `tell` hears of each frame.
pub(crate) fn measure(
    screen: &Screen,
    filmed: &Filmed,
    vmaf_every: u32,
    mut tell: impl FnMut(),
) -> Result<Measured> {
    let vmaf = NonZeroU32::new(vmaf_every).map(|every| vmaf::Settings {
        every,
        ..vmaf::Settings::default()
    });
    let mut meter = Meter::new(filmed.footage.size(), vmaf)?;
    let mut viewing = Viewing::new(screen, filmed)?;
    for &(frame, captured) in &screen.captured {
        let (source, shown) = viewing.frame(frame, captured)?;
        meter.push(source, shown)?;
        tell();
    }
    meter.finish().context("cannot measure the pictures")
}

/// The pictures of one frame: what should have been on the screen, and what was.
pub(crate) fn still(screen: &Screen, filmed: &Filmed, place: usize) -> Result<(Picture, Picture)> {
    let mut viewing = Viewing::new(screen, filmed)?;
    for &(frame, _) in screen.captured.iter().take(place) {
        viewing.advance(frame);
    }
    let (frame, captured) = *screen.captured.get(place).context("no such frame")?;
    let (source, shown) = viewing.frame(frame, captured)?;
    Ok((source.clone(), shown.clone()))
}
