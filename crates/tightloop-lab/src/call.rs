//! `tightloop call`, `send` and `receive`: calls over real sockets.

use std::io;
use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use tightloop_live::call::{Seen, Tally};

use board::Board;

pub(crate) mod args;
mod beside;
mod board;
mod emulated;
mod flow;
pub(crate) mod pair;
pub(crate) mod receive;
mod results;
pub(crate) mod send;
mod wire;

/// The variable with a token, for who wants none in the list of processes.
const TOKEN: &str = "TIGHTLOOP_TOKEN";

fn say(line: &str) {
    eprintln!("call: {line}");
}

/// An output that fails is told at once; the call goes on without it.
fn unwritten(name: &str, error: &io::Error) {
    say(&format!(
        "warning: cannot write {name}: {error}; the call goes on without it"
    ));
}

/// A page of the call's figures, where it was asked for.
fn board(at: Option<SocketAddr>) -> Result<Board> {
    let board = Board::default();
    if let Some(at) = at {
        let at = board
            .serve(at)
            .with_context(|| format!("cannot serve at {at}"))?;
        say(&format!("open http://{at}/"));
    }
    Ok(board)
}

/// The token that was given, or the variable's.
fn token(given: Option<&String>) -> Option<String> {
    given.cloned().or_else(|| std::env::var(TOKEN).ok())
}

/// What one end has counted, in words; nothing is said of what did not happen.
fn counted(tally: &Tally) -> String {
    let counts = [
        (tally.sent, "datagrams sent"),
        (tally.received, "received"),
        (tally.unsent, "messages without a line"),
        (tally.refused_by_kernel, "not taken by the kernel"),
        (tally.odd_sizes, "of another size than counted"),
        (tally.strangers, "of strangers"),
        (tally.refused, "calls refused"),
        (tally.misread, "messages misread"),
        (tally.redialled, "lines dialled again"),
        (tally.restarted, "receivers started anew"),
        (tally.moved, "changes of address"),
    ];
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    words.join(", ")
}

/// What was seen, in words.
fn seen(seen: &Seen) -> String {
    format!(
        "{} frames complete, {} shown, {} decoded, {} not decodable, {} missed by a slow decoder",
        seen.complete, seen.shown, seen.decoded, seen.undecoded, seen.missed
    )
}

/// Fails where something could not be written.
fn written(seen: &Seen) -> Result<()> {
    if let Some((name, error)) = seen.failures.first() {
        bail!("{name} is not complete: {error}");
    }
    Ok(())
}
