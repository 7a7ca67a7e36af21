//! Generator of changes in populations, at a given rate.

use std::{convert::Infallible, sync::Arc, time::Duration};

use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::Population;

/// Rate and mix of changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Sum over all populations.
    pub changes_per_second: f64,
    /// Fraction of changes that delete or create a pod; the others modify one.
    pub churn: f64,
}

/// Changes the pods of all populations of a process, from one task.
pub struct Producer {
    populations: Vec<Arc<Population>>,
    load: Load,
    rng: fastrand::Rng,
    /// Changes that are due and not made yet: a fraction, or the backlog of a busy machine.
    owed: f64,
}

/// Short, so that changes are spread evenly.
const TICK: Duration = Duration::from_millis(10);

/// Backlog beyond this is dropped: a suspended machine need not catch up.
const LONGEST_DEBT: Duration = Duration::from_secs(1);

// === impl Producer ===

impl Producer {
    pub fn new(populations: Vec<Arc<Population>>, load: Load, seed: u64) -> Self {
        Self { populations, load, rng: fastrand::Rng::with_seed(seed), owed: 0.0 }
    }

    /// Produces changes until `stop` is cancelled.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), Infallible> {
        if self.load.changes_per_second <= 0.0 || self.populations.is_empty() {
            stop.cancelled().await;
            return Ok(());
        }
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                _ = ticks.tick() => {}
            }
            let now = Instant::now();
            self.pass(now.duration_since(last).min(LONGEST_DEBT));
            last = now;
        }
    }

    /// Makes the changes that are due after some time.
    pub(super) fn pass(&mut self, time: Duration) {
        self.owed += time.as_secs_f64() * self.load.changes_per_second;
        while self.owed >= 1.0 {
            self.owed -= self.change();
        }
    }

    /// Makes one change, or two if it replaces a pod; returns the number.
    fn change(&mut self) -> f64 {
        let lot = self.rng.usize(..self.populations.len().max(1));
        let Some(population) = self.populations.get(lot) else { return 1.0 };
        let size = population.maker.size;
        if size == 0 {
            return 1.0;
        }
        let index = self.rng.u32(..size);
        // A replacement counts as two changes, so its probability is half of the wanted fraction.
        let replaced = self.load.churn / (2.0 - self.load.churn.min(1.0));
        if self.rng.f64() < replaced {
            population.replace(index);
            return 2.0;
        }
        population.touch(index);
        1.0
    }
}
