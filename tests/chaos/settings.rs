//! Duration and seed of a run.

use std::{env, fmt, str::FromStr, time::Duration};

use crate::tally::Tally;

/// When there has been enough chaos.
pub(crate) struct Settings {
    pub(crate) seed: u64,
    seconds: u64,
    /// Of all faults, each.
    injections: u32,
    quiet_points: usize,
}

/// A run at least as long as this is a long one.
const LONG: u64 = 600;

// === impl Settings ===

impl Settings {
    /// Of `SPINDRIFT_CHAOS_SEED` and `SPINDRIFT_CHAOS_SECONDS`; a random seed and the short form without them.
    pub(crate) fn from_env() -> Self {
        let seed = read("SPINDRIFT_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
        let seconds = read("SPINDRIFT_CHAOS_SECONDS").unwrap_or(0);
        let (injections, quiet_points) = if seconds >= LONG { (10, 50) } else { (1, 4) };
        Self { seed, seconds, injections, quiet_points }
    }

    pub(crate) fn is_enough(&self, elapsed: Duration, tally: &Tally) -> bool {
        elapsed >= Duration::from_secs(self.seconds)
            && tally.quiet_points() >= self.quiet_points
            && tally.fewest() >= self.injections
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, injections, quiet_points, .. } = self;
        write!(f, "{seconds} s or more, {quiet_points} quiet points, every fault {injections} times or more")
    }
}

fn read<T: FromStr<Err: fmt::Debug>>(variable: &str) -> Option<T> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|error| panic!("{variable}: {text:?} is no number: {error:?}")))
}
