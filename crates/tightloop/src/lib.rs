//! Congestion control for low-latency interactive video: controllers, session,
//! link model and deterministic simulator, without I/O.

pub mod analysis;
pub mod cc;
pub mod event;
pub mod filter;
pub mod link;
pub mod paths;
pub mod rng;
pub mod scenario;
pub mod session;
pub mod settings;
pub mod sim;
pub mod traffic;
pub mod units;
pub mod video;
