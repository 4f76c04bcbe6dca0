//! Dividing packets among paths by share.

use super::PathView;
use crate::event::PathId;

/// What each path is worth, by its id: a share of one each.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// By path id; the paths not seen have zero.
    share: Vec<f64>,
    /// How many packets each has had too few, in packets.
    owed: Vec<f64>,
}

impl Shares {
    /// A path's share.
    pub(super) fn of(&self, path: PathId) -> f64 {
        self.share
            .get(usize::from(path.0))
            .copied()
            .unwrap_or_default()
    }

    /// Sets a path's share.
    pub(super) fn set(&mut self, path: PathId, share: f64) {
        let at = usize::from(path.0);
        if self.share.len() <= at {
            self.share.resize(at + 1, 0.0);
            self.owed.resize(at + 1, 0.0);
        }
        self.share[at] = share;
    }

    /// Shares in proportion to what the paths carry; equal where none says.
    pub(super) fn by_rate(&mut self, paths: &[PathView]) {
        let rate = |path: &PathView| path.rate().map_or(0.0, |rate| rate.bps_f64());
        let sum: f64 = paths.iter().map(rate).sum();
        let equal = 1.0 / paths.iter().fold(0.0, |sum, _| sum + 1.0);
        for path in paths {
            let share = if sum > 0.0 { rate(path) / sum } else { equal };
            self.set(path.id, share);
        }
    }

    /// The shares of these paths add up to one again, others have none.
    /// Tells whether that can be: false where none of them has any.
    pub(super) fn normalise(&mut self, paths: &[PathView]) -> bool {
        let sum: f64 = paths.iter().map(|path| self.of(path.id)).sum();
        if sum <= 0.0 {
            return false;
        }
        for at in 0..self.share.len() {
            let up = paths.iter().any(|path| usize::from(path.id.0) == at);
            self.share[at] = if up { self.share[at] / sum } else { 0.0 };
        }
        true
    }

    /// The path whose turn it is: the one most behind its share.
    pub(super) fn next(&mut self, paths: &[PathView]) -> PathId {
        let mut best: Option<(f64, PathId)> = None;
        for path in paths {
            let share = self.of(path.id);
            self.set(path.id, share);
            let owed = &mut self.owed[usize::from(path.id.0)];
            *owed += share;
            if best.is_none_or(|(most, _)| *owed > most) {
                best = Some((*owed, path.id));
            }
        }
        let chosen = best.map_or(paths[0].id, |(_, id)| id);
        if let Some(owed) = self.owed.get_mut(usize::from(chosen.0)) {
            *owed -= 1.0;
        }
        chosen
    }
}
