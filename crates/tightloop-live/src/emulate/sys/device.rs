//! TUN devices, and the addresses and routes of interfaces.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::{fs, mem};

use super::checked;

/// Packets that a device holds for us while we are elsewhere. Ours: 10 ms of
/// small packets, so that a stop of the scheduler loses nothing.
const QUEUE: libc::c_int = 4096;

/// Prepares what ioctl takes: an interface's name, and one value.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: ifreq is a C struct of integers and unions of them, for which all
    // zeros is a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    let letters = request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1);
    for (letter, byte) in letters.zip(name.bytes()) {
        *letter = byte as libc::c_char;
    }
    request
}

fn address(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: sockaddr_in is a C struct of integers, for which all zeros is a value.
    let mut it: libc::sockaddr_in = unsafe { mem::zeroed() };
    it.sin_family = libc::AF_INET as libc::sa_family_t;
    it.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
    // SAFETY: both are 16 bytes without padding, and the kernel reads a
    // sockaddr whose family is AF_INET as a sockaddr_in.
    unsafe { mem::transmute::<libc::sockaddr_in, libc::sockaddr>(it) }
}

/// A socket to talk about interfaces with.
fn socket(family: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers; the descriptor is new and nobody else's.
    unsafe {
        let socket = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        Ok(OwnedFd::from_raw_fd(checked(socket)?))
    }
}

fn ioctl<T>(socket: &impl AsRawFd, what: libc::c_ulong, value: &mut T) -> io::Result<()> {
    // SAFETY: every caller in this module pairs `what` with the struct that the
    // kernel reads or writes for it, and the reference outlives the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), what as _, value as *mut T) })?;
    Ok(())
}

/// A TUN device: what the kernel sends there is read here, what is written here
/// arrives in the kernel. It is gone when this is dropped.
#[derive(Debug)]
pub(in super::super) struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Makes a device in the calling thread's network namespace.
    pub(in super::super) fn open(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let file = options
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")?;
        let mut request = request(name);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        ioctl(&file, libc::TUNSETIFF as libc::c_ulong, &mut request)?;
        Ok(Self {
            file,
            name: name.to_owned(),
        })
    }

    pub(in super::super) fn name(&self) -> &str {
        &self.name
    }

    /// The next packet's length; `None` while there is none.
    #[inline]
    pub(in super::super) fn read(&self, room: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match (&self.file).read(room) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    #[inline]
    pub(in super::super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }

    /// Gives it its addresses and brings it up, from a thread in its namespace.
    pub(in super::super) fn configure(
        &self,
        (four, length): (Ipv4Addr, u8),
        (six, six_length): (Ipv6Addr, u8),
        mtu: usize,
    ) -> io::Result<()> {
        let socket = socket(libc::AF_INET)?;
        let fresh = || request(&self.name);
        let set = |what, change: &dyn Fn(&mut libc::ifreq)| {
            let mut request = fresh();
            change(&mut request);
            ioctl(&socket, what, &mut request)
        };
        set(libc::SIOCSIFMTU as _, &|it| it.ifr_ifru.ifru_mtu = mtu as _)?;
        // One integer is like another in the union. Only root may, for whatever
        // reason; others get by with 500.
        let _ = set(libc::SIOCSIFTXQLEN as _, &|it| {
            it.ifr_ifru.ifru_ifindex = QUEUE
        });
        set(libc::SIOCSIFADDR as _, &|it| {
            it.ifr_ifru.ifru_addr = address(four)
        })?;
        let mask = Ipv4Addr::from(u32::MAX << (32 - length));
        set(libc::SIOCSIFNETMASK as _, &|it| {
            it.ifr_ifru.ifru_netmask = address(mask)
        })?;
        // No router asks or answers here. Where the kernel has no IPv6 these
        // files are missing, and so is the rest.
        let conf = format!("/proc/sys/net/ipv6/conf/{}", self.name);
        for (key, value) in [("addr_gen_mode", "1"), ("accept_ra", "0")] {
            let _ = fs::write(format!("{conf}/{key}"), value);
        }
        up(&self.name)?;
        match add_six(&self.name, six, six_length) {
            Err(error) if fs::exists("/proc/sys/net/ipv6").unwrap_or(false) => Err(error),
            _ => Ok(()),
        }
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Brings an interface up.
pub(in super::super) fn up(name: &str) -> io::Result<()> {
    let socket = socket(libc::AF_INET)?;
    let mut request = request(name);
    ioctl(&socket, libc::SIOCGIFFLAGS as _, &mut request)?;
    // SAFETY: the kernel has just written this field of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    ioctl(&socket, libc::SIOCSIFFLAGS as _, &mut request)
}

/// What the kernel reads for an IPv6 address.
#[repr(C)]
struct AddressSix {
    address: [u8; 16],
    prefix: u32,
    index: libc::c_int,
}

fn add_six(name: &str, address: Ipv6Addr, length: u8) -> io::Result<()> {
    let socket = socket(libc::AF_INET6)?;
    let mut request = AddressSix {
        address: address.octets(),
        prefix: length.into(),
        index: index(name)?,
    };
    ioctl(&socket, libc::SIOCSIFADDR as _, &mut request)
}

fn index(name: &str) -> io::Result<libc::c_int> {
    let socket = socket(libc::AF_INET)?;
    let mut request = request(name);
    ioctl(&socket, libc::SIOCGIFINDEX as _, &mut request)?;
    // SAFETY: the kernel has just written this field of the union.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

/// The address and prefix length of an interface of the calling thread's
/// namespace, if there is such an interface.
pub(in super::super) fn address_of(name: &str) -> Option<(Ipv4Addr, u8)> {
    let socket = socket(libc::AF_INET).ok()?;
    let read = |what| {
        let mut request = request(name);
        ioctl(&socket, what, &mut request).ok()?;
        // SAFETY: the kernel has just written an AF_INET address to this field
        // of the union; both structs are 16 bytes.
        let it = unsafe {
            mem::transmute::<libc::sockaddr, libc::sockaddr_in>(request.ifr_ifru.ifru_addr)
        };
        Some(Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes()))
    };
    let address = read(libc::SIOCGIFADDR as _)?;
    let mask = read(libc::SIOCGIFNETMASK as _)?;
    Some((address, u32::from(mask).count_ones() as u8))
}

/// What the kernel reads for an IPv6 route.
#[repr(C)]
#[derive(Default)]
struct RouteSix {
    target: [u8; 16],
    source: [u8; 16],
    gateway: [u8; 16],
    kind: u32,
    target_length: u16,
    source_length: u16,
    metric: u32,
    information: libc::c_ulong,
    flags: u32,
    index: libc::c_int,
}

/// Routes everything through a neighbour on an interface.
pub(in super::super) fn route_default(name: &str, four: Ipv4Addr, six: Ipv6Addr) -> io::Result<()> {
    // SAFETY: rtentry is a C struct of integers, pointers and structs of them,
    // for which all zeros is a value.
    let mut route: libc::rtentry = unsafe { mem::zeroed() };
    route.rt_dst = address(Ipv4Addr::UNSPECIFIED);
    route.rt_genmask = address(Ipv4Addr::UNSPECIFIED);
    route.rt_gateway = address(four);
    route.rt_flags = libc::RTF_UP | libc::RTF_GATEWAY;
    ioctl(&socket(libc::AF_INET)?, libc::SIOCADDRT as _, &mut route)?;

    let mut route = RouteSix {
        gateway: six.octets(),
        metric: 1024,
        flags: u32::from(libc::RTF_UP | libc::RTF_GATEWAY),
        index: index(name)?,
        ..RouteSix::default()
    };
    let added =
        socket(libc::AF_INET6).and_then(|socket| ioctl(&socket, libc::SIOCADDRT as _, &mut route));
    match added {
        Err(error) if fs::exists("/proc/sys/net/ipv6").unwrap_or(false) => Err(error),
        _ => Ok(()),
    }
}
