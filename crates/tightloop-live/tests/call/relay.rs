//! A network of one hop in user space, with knobs.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What it does to packets.
#[derive(Debug, Default)]
pub(crate) struct Knobs {
    /// Of a thousand packets so many are lost, from the sender to the receiver.
    pub(crate) up: AtomicU32,
    /// The way back.
    pub(crate) down: AtomicU32,
    /// Packets to the receiver come from a new address from now on.
    pub(crate) rebind: AtomicBool,
    stop: AtomicBool,
}

/// A running relay.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) at: SocketAddr,
    pub(crate) knobs: Arc<Knobs>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    pub(crate) fn to(receiver: SocketAddr) -> Self {
        let front = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        front
            .set_read_timeout(Some(Duration::from_millis(5)))
            .expect("a socket");
        let at = front.local_addr().expect("an address");
        let knobs = Arc::new(Knobs::default());
        let own = Arc::clone(&knobs);
        let thread = std::thread::spawn(move || run(&front, receiver, &own));
        Self {
            at,
            knobs,
            threads: vec![thread],
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.knobs.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn back() -> UdpSocket {
    let back = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    back.set_nonblocking(true).expect("a socket");
    back
}

fn run(front: &UdpSocket, receiver: SocketAddr, knobs: &Knobs) {
    let mut socket = back();
    let mut sender = None;
    let mut room = [0; 2_000];
    let mut chance = 1_u64;
    let mut lost = move |knob: &AtomicU32| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((chance >> 33) % 1_000) < u64::from(knob.load(Ordering::Relaxed))
    };
    while !knobs.stop.load(Ordering::Relaxed) {
        if knobs.rebind.swap(false, Ordering::Relaxed) {
            socket = back();
        }
        front.set_nonblocking(false).expect("a socket");
        let timeout = Duration::from_micros(500);
        front.set_read_timeout(Some(timeout)).expect("a socket");
        if let Ok((length, from)) = front.recv_from(&mut room) {
            sender = Some(from);
            if !lost(&knobs.up) {
                let _ = socket.send_to(&room[..length], receiver);
            }
        }
        while let Ok((length, _)) = socket.recv_from(&mut room) {
            if let Some(sender) = sender.filter(|_| !lost(&knobs.down)) {
                let _ = front.send_to(&room[..length], sender);
            }
        }
    }
}
