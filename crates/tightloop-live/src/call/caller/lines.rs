//! A caller's lines: dialled, answered, lost and dialled again.

use noq_proto::ConnectionError;
use tightloop::units::{Span, Time};

use super::Caller;
use crate::call::identity::WRONG_PIN;
use crate::call::opening::{Hello, Welcome, decode, encode, read, written};
use crate::call::quic::{Happened, LineId};
use crate::call::{CallError, OVER, RECEIVER, REFUSED, REPLACED, SENDER};

/// A line that has not been answered for this long is dialled again. Ours: two
/// round trips of the longest path there is, and some losses.
const REDIAL: Span = Span::from_secs(2);
/// A call without a word from the other side for this long is taken up on a new
/// line, in case the other side was started anew. Ours.
const SILENT: Span = Span::from_secs(1);
impl Caller {
    pub(super) fn happened(
        &mut self,
        now: Time,
        at: usize,
        line: LineId,
        happened: Happened,
    ) -> Result<(), CallError> {
        let instant = self.instant(now);
        let way = &mut self.ways[at];
        match happened {
            Happened::Message(_) => {}
            Happened::Up => {
                let session = way.quic.session(line);
                let proof = session.and_then(|it| self.dial.trust.proof(it, SENDER));
                let hello = Hello {
                    path: at as u8,
                    again: self.incarnation.is_some(),
                    proof: written(proof),
                    ..self.dial.hello.clone()
                };
                let words = encode(&hello).map_err(CallError::Refused)?;
                way.quic.say(line, &words);
            }
            Happened::Said(words) => {
                let welcome: Welcome = decode(&words).map_err(CallError::Refused)?;
                let proof = read(welcome.proof.as_ref());
                let session = way.quic.session(line);
                if !session.is_some_and(|it| self.dial.trust.holds(it, RECEIVER, proof.as_deref()))
                {
                    way.quic.hang_up(instant, line, REFUSED, "wrong proof");
                    self.stop = Some(CallError::Token);
                    return Ok(());
                }
                way.dialled = None;
                way.asked = None;
                if let Some(old) = way.line.replace(line) {
                    way.quic.hang_up(instant, old, REPLACED, "taken up again");
                    self.tally.redialled += 1;
                }
                if self
                    .incarnation
                    .as_ref()
                    .is_some_and(|it| *it != welcome.incarnation)
                {
                    self.tally.restarted += 1;
                }
                self.incarnation = Some(welcome.incarnation);
            }
            Happened::Down(reason) => {
                let own = way.line.take_if(|it| *it == line).is_some();
                way.dialled.take_if(|it| it.0 == line);
                self.ended(own, &reason);
            }
        }
        Ok(())
    }

    /// A line has gone down; what does it mean for the call?
    fn ended(&mut self, own: bool, reason: &ConnectionError) {
        match reason {
            ConnectionError::ApplicationClosed(close) => {
                let words = String::from_utf8_lossy(&close.reason).into_owned();
                match close.error_code.into_inner() as u32 {
                    OVER => self.over |= own,
                    REFUSED => self.stop = Some(CallError::Refused(words)),
                    _ => {}
                }
            }
            ConnectionError::TransportError(error) if error.reason.contains(WRONG_PIN) => {
                self.stop = Some(CallError::Stranger(error.reason.clone()));
            }
            _ => {}
        }
    }

    /// Dials where nobody answers.
    pub(super) fn redial(&mut self, now: Time) -> Result<(), CallError> {
        let instant = self.instant(now);
        for way in &mut self.ways {
            // Who has said nothing need not be answered.
            let silent = way.asked.is_some_and(|since| now - since >= SILENT);
            if way.line.is_some() && !silent {
                continue;
            }
            match way.dialled {
                Some((_, since)) if now - since < REDIAL => continue,
                Some((line, _)) => way.quic.hang_up(instant, line, REPLACED, "dialled again"),
                None => {}
            }
            let line = way.quic.dial(instant, self.dial.to, &self.dial.trust)?;
            way.dialled = Some((line, now));
        }
        Ok(())
    }

    pub(super) fn run_lines(&mut self, now: Time) {
        let instant = self.instant(now);
        for at in 0..self.ways.len() {
            self.ways[at].run(instant, &mut self.tally);
            for line in self.ways[at].lines() {
                while let Some(happened) = self.ways[at].quic.poll(instant, line) {
                    if let Err(error) = self.happened(now, at, line, happened) {
                        self.stop.get_or_insert(error);
                    }
                }
            }
            self.ways[at].run(instant, &mut self.tally);
        }
    }

    pub(super) fn next_line(&self) -> Option<Time> {
        let next = self.ways.iter().filter_map(|way| way.quic.next()).min();
        next.map(|instant| self.clock.at(instant))
    }
}
