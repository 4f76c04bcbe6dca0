//! Ctrl-C ends a call in good order.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;

use super::Signal;
use crate::emulate::sys::process::{CHILD, Signals};
use crate::emulate::sys::thread as this_thread;

/// So many requests end the process at once. Ours: twice may be a mistake.
const INSISTENT: u32 = 3;
/// The status of a process that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// From now on a request to end the process ends the calls instead, and with
/// them what they write. While none has begun there is nothing to be ended in good
/// order, and the process ends at once. To be called before there are other threads.
///
/// # Errors
///
/// The kernel's reason.
pub fn on_interrupt(calls: Vec<Arc<Signal>>) -> io::Result<()> {
    let signals = Signals::take()?;
    let builder = thread::Builder::new().name("signals".into());
    builder.spawn(move || {
        let mut asked = 0;
        while this_thread::sleep([signals.as_raw_fd()], None).is_ok() {
            while let Some(signal) = signals.next() {
                if signal.number == CHILD {
                    continue;
                }
                asked += 1;
                if asked >= INSISTENT || !calls.iter().any(|call| call.begun()) {
                    std::process::exit(INTERRUPTED);
                }
                for call in &calls {
                    call.stop();
                }
            }
        }
    })?;
    Ok(())
}
