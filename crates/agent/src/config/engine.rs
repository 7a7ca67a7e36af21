//! Options of the watch engine: how much is started at once, and how patient watches are.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::AgentConfig;
use crate::watch::{Limits, WatchTimeouts};

/// Practically never; a longer duration would be beyond the end of the clock.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// `tasks.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tasks {
    /// Lists of all accounts that may run at once; 0 is no limit. Watches are free.
    pub total_budget: usize,
    /// Lists of one account that may run at once; 0 is no limit.
    pub budget_per_account: usize,
    /// Accepted, and without effect: what waits is woken when its turn comes, and nothing is polled.
    pub queue_check_frequency_ms: u64,
}

/// `kubernetes.watches.*`, which the original does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Watches {
    /// A watch on which nothing came for this long is taken for frozen and opened anew; API servers send bookmarks
    /// about every minute.
    pub silence_ms: u64,
    /// Interval at which forbidden kinds are checked again.
    pub denied_retry_ms: u64,
}

// === impl AgentConfig ===

impl AgentConfig {
    /// Returns the limits of concurrent lists and starts.
    pub fn limits(&self) -> Limits {
        Limits {
            total: self.tasks.total_budget,
            per_account: self.tasks.budget_per_account,
            group_size: self.kubernetes.cache_group_size,
            group_delay: Duration::from_millis(self.kubernetes.cache_group_delay_ms).min(LONGEST),
        }
    }
}

// === impl Tasks ===

impl Default for Tasks {
    fn default() -> Self {
        Self { total_budget: 1000, budget_per_account: 50, queue_check_frequency_ms: 2000 }
    }
}

// === impl Watches ===

impl Default for Watches {
    fn default() -> Self {
        Self { silence_ms: 150_000, denied_retry_ms: 300_000 }
    }
}

impl Watches {
    /// The same as times.
    pub fn timeouts(&self) -> WatchTimeouts {
        let time = |ms: u64| Duration::from_millis(ms.max(1)).min(LONGEST);
        WatchTimeouts { silence: time(self.silence_ms), denied_retry: time(self.denied_retry_ms) }
    }
}
