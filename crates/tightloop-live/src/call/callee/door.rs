//! A receiver's door: who is let in.

use std::net::SocketAddr;

use tightloop::units::{Span, Time};

use super::{Call, Callee, Opened};
use crate::call::assembly::Assembly;
use crate::call::opening::{Hello, VERSION, Welcome, decode, encode, read, written};
use crate::call::quic::LineId;
use crate::call::{RECEIVER, SENDER};

/// Who has not been heard for this long may be replaced by another caller. Ours.
const SILENT: Span = Span::from_secs(5);
impl Callee {
    /// Somebody says who he is and what he wants.
    pub(super) fn hello(
        &mut self,
        now: Time,
        line: LineId,
        from: SocketAddr,
        words: &[u8],
        call: &mut Option<Call>,
        open: &mut dyn FnMut(&Hello) -> Result<Opened, String>,
    ) -> Result<(), String> {
        let hello: Hello = decode(words)?;
        if hello.version != VERSION {
            return Err(format!(
                "this receiver speaks version {VERSION}, not {}",
                hello.version
            ));
        }
        let session = self.way.quic.session(line).ok_or("the line is down")?;
        let proof = read(hello.proof.as_ref());
        if !self.trust.holds(session, SENDER, proof.as_deref()) {
            return Err("the token is another one here (--token)".into());
        }
        let paths = hello.flow.path.len();
        if usize::from(hello.path) >= paths {
            return Err(format!("path {} of {paths}", hello.path));
        }
        let proof = written(self.trust.proof(session, RECEIVER));
        let welcome = Welcome {
            version: VERSION,
            incarnation: self.incarnation.clone(),
            proof,
        };
        let words = encode(&welcome)?;
        if call.as_ref().is_none_or(|call| call.id != hello.call) {
            if call.as_ref().is_some_and(|call| now - call.heard < SILENT) {
                return Err("another call is being received here".into());
            }
            if let Some(lost) = call {
                lost.over = true;
                return Err("a call that was lost here has just been given up: call again".into());
            }
            *call = Some(Call {
                id: hello.call.clone(),
                lines: vec![None; paths],
                opened: open(&hello)?,
                assembly: Assembly::default(),
                heard: now,
                over: false,
            });
        }
        if let Some(call) = call
            && let Some(place) = call.lines.get_mut(usize::from(hello.path))
        {
            call.heard = now;
            if place.replace((line, from)).is_some() {
                self.tally.redialled += 1;
            }
        }
        self.way.quic.say(line, &words);
        Ok(())
    }
}
