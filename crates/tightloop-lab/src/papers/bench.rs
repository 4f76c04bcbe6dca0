//! Runs experiments' trials with several seeds, on all processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressStyle};

use super::trial::{Seen, Trial};

/// Where experiments run.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    /// The experiment at work, for the bar.
    pub(crate) name: String,
    /// Seeds from 1 to this.
    pub(crate) seeds: u64,
    /// Runs at a time.
    pub(crate) jobs: usize,
}

impl Bench {
    /// Runs every trial with every seed: a list of what was seen with each seed,
    /// for each trial.
    pub(crate) fn run(&self, trials: &[Trial]) -> Result<Vec<Vec<Seen>>> {
        self.each(trials.len(), |trial, seed| trials[trial].run(seed))
    }

    /// Makes something of each case with each seed.
    pub(crate) fn each<T: Send>(
        &self,
        cases: usize,
        make: impl Fn(usize, u64) -> Result<T> + Sync,
    ) -> Result<Vec<Vec<T>>> {
        let seeds = usize::try_from(self.seeds)?;
        let style = "{prefix} {bar:30} {pos} of {len} runs, {elapsed}, {eta} left";
        let style = ProgressStyle::with_template(style);
        let bar = ProgressBar::new((cases * seeds) as u64).with_prefix(self.name.clone());
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let next = AtomicUsize::new(0);
        let made: Vec<Mutex<Option<Result<T>>>> =
            (0..cases * seeds).map(|_| Mutex::default()).collect();
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(made.len()) {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(slot) = made.get(place) else {
                            return;
                        };
                        let result = make(place / seeds, (place % seeds) as u64 + 1);
                        if let Ok(mut slot) = slot.lock() {
                            *slot = Some(result);
                        }
                        bar.inc(1);
                    }
                });
            }
        });
        bar.finish_and_clear();
        let mut made = made.into_iter().map(|slot| {
            let made = slot.into_inner().ok().flatten();
            made.unwrap_or_else(|| Err(anyhow!("a run broke off")))
        });
        (0..cases)
            .map(|_| made.by_ref().take(seeds).collect())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_meets_every_seed_whatever_the_number_of_jobs() {
        for jobs in [1, 3, 64] {
            let bench = Bench {
                name: String::new(),
                seeds: 2,
                jobs,
            };
            let made = bench.each(3, |case, seed| Ok((case, seed)));
            let expected = [0, 1, 2].map(|case| vec![(case, 1), (case, 2)]);
            assert_eq!(made.expect("all went well"), expected);
            let failed = bench.each(3, |case, _| {
                anyhow::ensure!(case != 1, "case one");
                Ok(())
            });
            assert_eq!(failed.expect_err("one failed").to_string(), "case one");
        }
    }
}
