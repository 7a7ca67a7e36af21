//! Orca's waits.

use std::time::Duration;

/// Orca's waits; tests shorten them, and nothing else.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Between two looks at a task of Clouddriver's, or at a manifest.
    pub poll: Duration,
    /// Between two looks at a job.
    pub job: Duration,
    /// Between two attempts to submit an operation.
    pub submit: Duration,
    /// Between two quick attempts to read the same thing.
    pub read: Duration,
    /// A task of Clouddriver's that does not end by then ends the stage.
    pub task_timeout: Duration,
    /// A manifest that is not stable by then ends the stage.
    pub stable_timeout: Duration,
    /// So does a job that does not end.
    pub job_timeout: Duration,
}

// === impl Pace ===

impl Pace {
    /// Orca's own.
    pub const REAL: Self = Self {
        poll: Duration::from_secs(5),
        job: Duration::from_secs(10),
        submit: Duration::from_secs(1),
        read: Duration::from_millis(100),
        task_timeout: Duration::from_hours(1),
        stable_timeout: Duration::from_mins(30),
        job_timeout: Duration::from_hours(2),
    };

    /// For tests: waits of milliseconds; a task that hangs ends the stage in minutes, not hours.
    pub const QUICK: Self = Self {
        poll: Duration::from_millis(50),
        job: Duration::from_millis(50),
        submit: Duration::from_millis(50),
        read: Duration::from_millis(20),
        task_timeout: Duration::from_mins(2),
        stable_timeout: Duration::from_mins(2),
        job_timeout: Duration::from_mins(2),
    };
}
