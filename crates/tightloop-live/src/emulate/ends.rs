//! The two ends of an emulated link: a device here and one in a namespace of
//! its own, where the command will live.

use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;

use super::Error;
use super::packet::{MTU, Side, Way};
use super::place::Place;
use super::sys::device::{self, Tun};
use super::sys::{process, thread as this_thread};

/// The device inside. A link made there knows by its name that it is nested.
const NEAR: &str = "uplink";
/// The devices outside, before their numbers.
const FAR: &str = "tightloop";

/// Both ends of a link, up and with addresses. All of it is gone when this is
/// dropped and no program is left inside.
#[derive(Debug)]
pub struct Ends {
    place: Place,
    near: Tun,
    far: Tun,
    inside: File,
    statistics: [File; 2],
    secluded: bool,
}

impl Ends {
    /// Makes the ends. To be called before the process has other threads: an
    /// ordinary user's namespaces are made for a process of one thread alone.
    ///
    /// # Errors
    ///
    /// No TUN device, no permission and no user namespaces, no address left.
    pub fn open() -> Result<Self, Error> {
        if !fs::exists("/dev/net/tun").unwrap_or(false) {
            return Err(Error::NoTun);
        }
        let (far, secluded) = match Self::outside() {
            Err(Error::Device(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                seclude()?;
                (Self::outside()?, true)
            }
            made => (made?, false),
        };
        let (place, far) = far;
        let at_far = place.far();
        far.configure((at_far, place.length()), place.v6(at_far), MTU)
            .map_err(Error::Device)?;
        let far_statistics = statistics()?;
        // A thread's namespace is the thread's alone.
        let inside = thread::spawn(move || Self::inside(place)).join();
        let (near, inside, near_statistics) = inside.map_err(|_| Error::Broken)??;
        Ok(Self {
            place,
            near,
            far,
            inside,
            statistics: [near_statistics, far_statistics],
            secluded,
        })
    }

    /// The device outside, in the first slot that is free.
    fn outside() -> Result<(Place, Tun), Error> {
        let around = device::address_of(NEAR);
        for slot in 0.. {
            let Some(place) = Place::new(around, slot) else {
                break;
            };
            match Tun::open(&format!("{FAR}{slot}")) {
                Ok(tun) => return Ok((place, tun)),
                // A name belongs to one process: whose it is has the slot.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(Error::Device(error)),
            }
        }
        Err(Error::NoPlace)
    }

    fn inside(place: Place) -> Result<(Tun, File, File), Error> {
        this_thread::leave_network().map_err(Error::Namespace)?;
        device::up("lo").map_err(Error::Device)?;
        let tun = Tun::open(NEAR).map_err(Error::Device)?;
        let (near, far) = (place.near(), place.far());
        tun.configure((near, place.length()), place.v6(near), MTU)
            .and_then(|()| device::route_default(NEAR, far, place.v6(far).0))
            .map_err(Error::Device)?;
        // Links made inside reach the outside through this namespace.
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            let _ = fs::write(format!("/proc/sys/net/{key}"), "1");
        }
        let namespace = File::open("/proc/thread-self/ns/net").map_err(Error::Namespace)?;
        Ok((tun, namespace, statistics()?))
    }

    /// The far side's address, as seen from inside.
    #[must_use]
    pub fn far_address(&self) -> Ipv4Addr {
        self.place.far()
    }

    /// The inside's address.
    #[must_use]
    pub fn near_address(&self) -> Ipv4Addr {
        self.place.near()
    }

    /// The far side's address of the other kind.
    #[must_use]
    pub fn far_address_six(&self) -> IpAddr {
        self.place.v6(self.place.far()).0.into()
    }

    /// True where the far side, too, is a namespace of its own, as for ordinary
    /// users: then only what `--far` starts lives there.
    #[must_use]
    pub const fn secluded(&self) -> bool {
        self.secluded
    }

    /// The device outside's name.
    #[must_use]
    pub fn device(&self) -> &str {
        self.far.name()
    }

    /// Moves the calling thread inside, for good. Programs that it starts live
    /// there.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn enter(&self) -> io::Result<()> {
        this_thread::enter(&self.inside)
    }

    /// A side's address.
    #[must_use]
    pub fn address(&self, side: Side) -> Ipv4Addr {
        match side {
            Side::Near => self.near_address(),
            Side::Far => self.far_address(),
        }
    }

    /// Does something on one side: inside, on a thread that is moved there;
    /// outside, on the calling thread. A socket made there stays there.
    ///
    /// # Errors
    ///
    /// The thread could not be moved.
    pub fn on<T: Send>(&self, side: Side, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        if side == Side::Far {
            return Ok(work());
        }
        let inside = || self.enter().map(|()| work());
        thread::scope(|scope| {
            let done = scope.spawn(inside).join();
            done.unwrap_or_else(|_| Err(io::Error::other("what was to be done inside broke down")))
        })
    }

    /// Changes a setting of the inside's network: the key `ipv4/tcp_ecn` is
    /// `net.ipv4.tcp_ecn`.
    ///
    /// # Errors
    ///
    /// The kernel has no such setting, or not that value.
    pub fn tune(&self, key: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/net/{key}");
        self.on(Side::Near, || fs::write(&path, value))?
            .map_err(|error| io::Error::new(error.kind(), format!("cannot set {path}: {error}")))
    }

    /// Packets that the kernel has dropped because nobody took them off the
    /// devices in time, on their way up and down.
    #[must_use]
    pub fn kernel_drops(&self) -> [u64; 2] {
        let names = [NEAR, self.far.name()];
        Way::BOTH.map(|way| dropped(&self.statistics[way.place()], names[way.place()]))
    }

    /// The device that a packet comes from.
    pub(super) const fn source(&self, way: Way) -> &Tun {
        match way {
            Way::Up => &self.near,
            Way::Down => &self.far,
        }
    }

    /// The device that a packet goes to.
    pub(super) const fn target(&self, way: Way) -> &Tun {
        match way {
            Way::Up => &self.far,
            Way::Down => &self.near,
        }
    }

    /// What to wait on for packets that go up and down.
    #[must_use]
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        Way::BOTH.map(|way| self.source(way).as_fd())
    }

    /// Takes the next packet off a device as it is: what a plain loop does.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn take(&self, way: Way, room: &mut [u8]) -> io::Result<Option<usize>> {
        self.source(way).read(room)
    }

    /// Hands a packet to the other side as it is.
    ///
    /// # Errors
    ///
    /// The kernel's reason.
    pub fn give(&self, way: Way, packet: &[u8]) -> io::Result<()> {
        self.target(way).write(packet)
    }
}

/// Makes the process its own root as far as its own networks go.
fn seclude() -> Result<(), Error> {
    let (user, group) = process::ids();
    this_thread::leave_user().map_err(Error::NoPermission)?;
    // Groups cannot be mapped before this.
    let _ = fs::write("/proc/self/setgroups", "deny");
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")))
        .map_err(Error::NoPermission)?;
    device::up("lo").map_err(Error::Device)?;
    // Without, links do not nest; the rest works.
    let _ = process::pass_rights_on();
    Ok(())
}

/// The calling thread's namespace's counters, to be read by any thread.
fn statistics() -> Result<File, Error> {
    File::open("/proc/thread-self/net/dev").map_err(Error::Namespace)
}

/// The column of `/proc/net/dev` with packets dropped on their way out.
const OUT_DROPPED: usize = 11;

fn dropped(statistics: &File, name: &str) -> u64 {
    use std::os::unix::fs::FileExt;
    let mut bytes = [0; 8192];
    let length = statistics.read_at(&mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..length]);
    let row = text.lines().find_map(|line| {
        let (interface, numbers) = line.trim().split_once(':')?;
        (interface == name).then(|| numbers.split_whitespace().nth(OUT_DROPPED))?
    });
    row.and_then(|number| number.parse().ok()).unwrap_or(0)
}
