//! What of the kernel's interface the standard library does not have. All
//! unsafe code of the emulator is in here.

pub(super) mod device;
pub(crate) mod process;
pub(crate) mod thread;

use std::io;

/// A call's result, with the kernel's reason where it failed.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
