//! Figures of [SQP].
//!
//! Where the paper leaves a setting open it is a link of 20 Mbit/s, 40 ms there
//! and back, and ten packets of buffer for each Mbit/s.

use super::experiment::Experiment;

mod fig15;
mod fig16a;
mod fig16b;
mod fig17;
mod fig5a;
mod fig5b;
mod fig5cd;
mod fig6;
mod fig7;
mod world;

/// All of them, in the paper's order.
pub(super) const EXPERIMENTS: &[Experiment] = &[
    fig5a::FIG5A,
    fig5b::FIG5B,
    fig5cd::FIG5C,
    fig5cd::FIG5D,
    fig6::FIG6A,
    fig6::FIG6B,
    fig7::FIG7,
    fig15::FIG15A,
    fig15::FIG15B,
    fig16a::FIG16A,
    fig16b::FIG16B,
    fig17::FIG17A,
    fig17::FIG17B,
];
