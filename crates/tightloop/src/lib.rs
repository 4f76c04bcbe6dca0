//! Congestion control for low-latency interactive video, without I/O:
//! controllers, the session they run in, a link model, a deterministic
//! simulator, and metrics.
//!
//! | to … | look at |
//! | --- | --- |
//! | write a controller | [`cc`], and the file to copy, [`cc::fixed`] |
//! | run a scenario | [`scenario`], which builds a [`sim::World`] |
//! | measure a run | [`analysis`], from the events of [`event`] |
//! | model a link | [`link`]: queue, then service, then flight |
//! | carry a call over a socket | [`session`]: four verbs, no I/O |
//!
//! Two seconds of video under SQP over a 20 Mbit/s link, and what came of it:
//!
//! ```
//! use tightloop::analysis::{Names, Summary, Window};
//! use tightloop::event::Log;
//! use tightloop::scenario::Scenario;
//! use tightloop::units::Span;
//!
//! let mut scenario = Scenario::single("sqp");
//! scenario.duration = Span::from_secs(2);
//! let mut built = scenario.build(&|_| None)?;
//! let names = Names { flows: built.flows.clone(), links: built.links.clone() };
//! let mut summary = Summary::new(names, Window::until(scenario.end()));
//! built.world.run(scenario.end(), &mut Log::to(&mut summary));
//! let report = summary.report();
//! assert_eq!(report.get("link.bottleneck.drops")?.to_string(), "0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Names in brackets, such as [RFC9002], are keys of REFERENCES.md.

// Keys of REFERENCES.md are not items; tests/citations.rs checks them.
#![allow(rustdoc::broken_intra_doc_links)]

pub mod analysis;
pub mod cc;
pub mod event;
pub mod filter;
pub mod link;
pub mod paths;
pub mod proxy;
pub mod rng;
pub mod scenario;
pub mod session;
pub mod settings;
pub mod sim;
pub mod traffic;
pub mod units;
pub mod video;
