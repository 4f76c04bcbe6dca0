//! What of TCP sockets the standard library does not have.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use super::{Error, Info, info, refusal};

/// A controller's name has fewer letters than this. [Linux] `TCP_CA_NAME_MAX`
const NAME_ROOM: usize = 16;

/// Puts a socket's flow under a controller.
///
/// # Errors
///
/// The kernel has no such controller, or not for this user.
pub fn set_congestion(socket: &impl AsRawFd, name: &str) -> Result<(), Error> {
    if name.len() >= NAME_ROOM {
        return Err(refusal(name, io::ErrorKind::NotFound));
    }
    let (level, what) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
    let size = name.len() as libc::socklen_t;
    // SAFETY: the name is `size` bytes that live through the call.
    let set =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, what, name.as_ptr().cast(), size) };
    if set == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.kind() {
        kind @ (io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Err(refusal(name, kind))
        }
        _ => Err(error.into()),
    }
}

/// The controller that a socket's flow is under.
///
/// # Errors
///
/// The kernel's reason.
pub fn congestion(socket: &impl AsRawFd) -> io::Result<String> {
    let mut name = [0; NAME_ROOM];
    let length = read(socket, libc::TCP_CONGESTION, &mut name)?;
    let name = &name[..length];
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// What the kernel thinks of a socket's flow now.
///
/// # Errors
///
/// The kernel's reason; a kernel older than 4.9, which says too little.
pub fn info_of(socket: &impl AsRawFd) -> io::Result<Info> {
    let mut room = [0; info::ROOM];
    let length = read(socket, libc::TCP_INFO, &mut room)?;
    Info::parse(&room[..length]).ok_or_else(|| {
        io::Error::other("the kernel says too little about TCP flows; Linux 4.9 or later does")
    })
}

/// Reads an option; gives how many bytes it has.
fn read(socket: &impl AsRawFd, what: libc::c_int, room: &mut [u8]) -> io::Result<usize> {
    let mut size = room.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes, which the slice has.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            what,
            room.as_mut_ptr().cast(),
            &raw mut size,
        )
    };
    if got < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((size as usize).min(room.len()))
}

/// Makes closing a socket give up what is not sent yet.
pub(super) fn close_at_once(socket: &impl AsRawFd) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the option takes this struct, which lives through the call.
    let set = unsafe {
        let value = (&raw const linger).cast();
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            value,
            size,
        )
    };
    if set < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
