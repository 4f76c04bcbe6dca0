//! Single: the first path that is up, always.

use super::{Choice, PathView, Queued, Scheduler, SchedulerKind};
use crate::cc::{Params, settings};
use crate::units::Time;

/// The entry in [`super::SCHEDULERS`].
pub const SINGLE: SchedulerKind = SchedulerKind {
    name: "single",
    summary: "the first path, always",
    cites: &[],
    defaults: Params::new,
    new: |params: &Params| {
        settings::<NoSettings>(params)?;
        Ok(Box::new(Single))
    },
};

/// A scheduler without settings refuses any.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoSettings {}

/// The scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Single;

impl Scheduler for Single {
    fn pick(&mut self, _now: Time, _packet: &Queued, paths: &[PathView]) -> Choice {
        Choice::Send(paths[0].id)
    }

    fn pick_again(&mut self, now: Time, packet: &Queued, paths: &[PathView]) -> Choice {
        self.pick(now, packet, paths)
    }
}
