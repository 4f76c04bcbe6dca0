//! Where the command's output goes, so that the meter may have the terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, PipeWriter, stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::meter::Place;
use super::meter::strip::tell;
use crate::args::EmulateArgs;

/// The last words of what has ended are here within this time. Ours: they are
/// in the pipe by then.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Where a command prints.
#[derive(Debug)]
pub(super) enum Aside {
    /// Where we do.
    Here,
    Nowhere,
    File(File),
    /// Its standard error comes to us.
    Above(PipeWriter),
}

impl Aside {
    /// What was asked for, and what there is to read of it.
    pub(super) fn of(args: &EmulateArgs) -> Result<(Self, Option<PipeReader>)> {
        if args.quiet {
            return Ok((Self::Nowhere, None));
        }
        if let Some(path) = &args.output {
            let file = File::create(path);
            let file = file.with_context(|| format!("cannot write {}", path.display()))?;
            return Ok((Self::File(file), None));
        }
        if apart() && !args.no_meter && !args.command.is_empty() {
            let (reader, writer) = io::pipe()?;
            return Ok((Self::Above(writer), Some(reader)));
        }
        Ok((Self::Here, None))
    }

    /// Where that leaves the meter.
    pub(super) const fn place(&self, shell: bool) -> Place {
        match self {
            Self::Here if shell => Place::Title,
            Self::Here => Place::Line,
            _ => Place::Full,
        }
    }

    /// Lets a command print there.
    pub(super) fn lead(&self, command: &mut Command) -> io::Result<()> {
        match self {
            Self::Here => {}
            Self::Nowhere => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
            Self::File(file) => {
                command.stdout(file.try_clone()?).stderr(file.try_clone()?);
            }
            Self::Above(writer) => {
                command.stderr(writer.try_clone()?);
            }
        }
        Ok(())
    }
}

/// Whether the standard error has the terminal for itself: the standard output
/// goes to a file or a device. At a pipe's other end something may print here.
fn apart() -> bool {
    let file = stdout().as_fd().try_clone_to_owned().map(File::from);
    let kind = file.and_then(|file| Ok(file.metadata()?.file_type()));
    let quiet = kind.is_ok_and(|kind| kind.is_file() || kind.is_char_device());
    quiet && stderr().is_terminal() && !stdout().is_terminal()
}

/// Tells what comes out of a pipe, line by line.
#[derive(Debug)]
pub(super) struct Said(Receiver<()>);

impl Said {
    pub(super) fn start(reader: PipeReader) -> Self {
        let (end, ended) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|it| it > 0) {
                tell(String::from_utf8_lossy(&line).trim_end());
                line.clear();
            }
            drop::<std::sync::mpsc::Sender<()>>(end);
        });
        Self(ended)
    }

    /// Waits for the last line, but not for a program that does not end.
    pub(super) fn finish(self) {
        let _ = self.0.recv_timeout(LAST_WORDS);
    }
}
