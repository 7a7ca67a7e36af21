//! The options of operations.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_process::config::redact;

use crate::dispatch::Bounds;

/// `kubesvc.operations.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Operations {
    /// If no agent of the account is connected.
    pub retry: Retry,
    /// Encryption of operations in the database.
    pub encryption: Encryption,
    /// Limits of running operations.
    pub limits: OperationLimits,
    /// Time for which the result of an operation whose caller did not wait is stored.
    pub result_retention_seconds: u64,
}

/// `kubesvc.operations.retry.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Retry {
    /// Number of attempts to find an agent before the operation fails.
    pub max_retries: u32,
    /// Pause between two attempts; an agent that connects is found at once.
    pub backoff_ms: u64,
}

/// `kubesvc.operations.encryption.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Encryption {
    /// 32 bytes in base64, the same for all hubs on one database. Without it and `keyFile`, hubs on SQLite keep one
    /// beside their database; others use one that ends with the process, and cannot pass operations to each other.
    #[serde(serialize_with = "redact::optional")]
    pub key: Option<String>,
    /// A file that holds it.
    pub key_file: Option<String>,
}

/// `kubesvc.operations.limits.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OperationLimits {
    /// Operations of one account that have not ended; more are refused with 429.
    pub per_account: usize,
    /// Operations of this hub that have not ended.
    pub per_hub: usize,
    /// Bytes of all their requests.
    pub bytes: usize,
}

/// `kubesvc.jobs.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Jobs {
    /// The record of operations.
    pub operation_history: OperationHistory,
}

/// `kubesvc.jobs.operation-history.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct OperationHistory {
    /// Its retention.
    pub purge: Purge,
}

/// `kubesvc.jobs.operation-history.purge.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Purge {
    /// Weeks for which an ended operation is kept. The original spells it `operation-history`; both are one key.
    pub weeks: u32,
    /// Schedule of the deletion of older ones: second, minute, hour, day of month, month, day of week, in UTC.
    pub cron: String,
}

/// `kubesvc.ops.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Ops {
    /// The timer of operations.
    pub process_time: ProcessTime,
}

/// `kubesvc.ops.processTime.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessTime {
    /// The metric.
    pub metric: ProcessTimeMetric,
}

/// `kubesvc.ops.processTime.metric.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessTimeMetric {
    /// Its label `result`.
    pub result: ProcessTimeResult,
}

/// `kubesvc.ops.processTime.metric.result.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ProcessTimeResult {
    /// Its largest length.
    pub max_length: usize,
}

// === defaults ===

impl Default for Operations {
    fn default() -> Self {
        Self {
            retry: Retry::default(),
            encryption: Encryption::default(),
            limits: OperationLimits::default(),
            result_retention_seconds: 3600,
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_retries: 5, backoff_ms: 2000 }
    }
}

impl Default for OperationLimits {
    fn default() -> Self {
        Self { per_account: 5000, per_hub: 20_000, bytes: 256 * 1024 * 1024 }
    }
}

impl Default for Purge {
    fn default() -> Self {
        Self { weeks: 1, cron: "0 0 0 * * 0".into() }
    }
}

impl Default for ProcessTimeResult {
    fn default() -> Self {
        Self { max_length: 255 }
    }
}

// === impl Operations ===

impl Operations {
    /// Limits of running operations.
    pub fn bounds(&self) -> Bounds {
        let OperationLimits { per_account, per_hub, bytes } = self.limits;
        Bounds { per_account, per_hub, bytes }
    }

    /// Returns the retention of results.
    pub fn result_retention(&self) -> Duration {
        Duration::from_secs(self.result_retention_seconds)
    }
}

// === impl Retry ===

impl Retry {
    /// Returns the pause between two attempts.
    pub fn backoff(&self) -> Duration {
        Duration::from_millis(self.backoff_ms)
    }
}

// === impl Purge ===

impl Purge {
    /// Returns the retention of ended operations.
    pub fn keep(&self) -> Duration {
        Duration::from_hours(u64::from(self.weeks) * 7 * 24)
    }
}
