//! The `logging.*` settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::rotation::Rotation;

/// Logging; the keys and defaults are those of the Armory Agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoggingConfig {
    /// The least important level to show: `error`, `warn`, `info`, `debug` or `trace`, or directives such as
    /// `info,kube=debug`. The environment variable `LOG_LEVEL` wins. An agent needs no restart for a change.
    pub level: String,
    /// Format of lines: `text` or `json`.
    pub format: LogFormat,
    /// The file to write to; standard output if absent.
    pub file: Option<PathBuf>,
    /// Write to standard output besides the file.
    pub multi_write: bool,
    /// The size at which the file is set aside and a new one begun; 0 is 100.
    pub max_size_mb: u64,
    /// The age at which files that were set aside are removed; 0 is never.
    pub max_age_days: u64,
    /// Number of rotated files that are kept; 0 is all.
    pub max_backups: u64,
    /// Use the local time in their names, instead of UTC.
    pub local_time: bool,
    /// Compress them (gzip).
    pub compress: bool,
    /// Fields to add to each line. `agentCluster` and `agentNamespace` without a value are found out.
    pub fields: BTreeMap<String, Option<String>>,
    /// Refused: the service that logs were sent to has ended.
    pub remote: RemoteLogging,
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines: one object per line.
    Json,
}

/// A remote collector of logs, which only the original has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RemoteLogging {
    /// Refused with a word in the log, as is all of `logging.remote`: the service that logs were sent to has ended.
    pub enabled: bool,
    /// Where to send them.
    pub endpoint: String,
    /// On whose behalf.
    pub customer_id: String,
    /// The version to report.
    pub version: String,
}

// === impl LoggingConfig ===

impl LoggingConfig {
    pub(super) fn rotation(&self) -> Rotation {
        Rotation {
            // The Armory agent has no unlimited file either: zero is its default.
            max_bytes: if self.max_size_mb == 0 { 100 } else { self.max_size_mb }.saturating_mul(1024 * 1024),
            max_backups: usize::try_from(self.max_backups).unwrap_or(usize::MAX),
            max_age_days: self.max_age_days,
            local_time: self.local_time,
            compress: self.compress,
        }
    }
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self {
            level: "INFO".into(),
            format: LogFormat::default(),
            file: None,
            multi_write: false,
            max_size_mb: 1,
            max_age_days: 10,
            max_backups: 10,
            local_time: true,
            compress: false,
            fields: BTreeMap::new(),
            remote: RemoteLogging::default(),
        }
    }
}
