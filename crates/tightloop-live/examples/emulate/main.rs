//! What the emulator reaches on this machine, against a plain loop that reads a
//! packet and writes it, measured in turns in the same run:
//! `cargo run --release -p tightloop-live --example emulate -- bulk|capacity|probe`.
//! Needs root, or user namespaces.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("emulation needs Linux");
}

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(target_os = "linux")]
mod stamps;

#[cfg(target_os = "linux")]
mod linux;
