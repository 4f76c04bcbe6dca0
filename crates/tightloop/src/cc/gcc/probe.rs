//! Probing: when to try a higher rate, which packets do, what they find.

mod cluster;
mod estimate;
mod plan;

pub(crate) use self::cluster::Clusters;
pub(crate) use self::estimate::Estimates;
#[cfg(test)]
pub(crate) use self::estimate::Probe;
pub(crate) use self::plan::Plan;
