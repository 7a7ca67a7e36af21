//! The `logging.*` settings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How and where to log; the keys and defaults are those of the Armory Agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoggingConfig {
    /// The least important level to show; the environment variable `LOG_LEVEL` wins.
    pub level: String,
    /// How lines look.
    pub format: Format,
    /// The file to write to; standard output if absent.
    pub file: Option<PathBuf>,
    /// Whether to write to standard output beside the file.
    pub multi_write: bool,
    /// The size at which the file is rotated.
    pub max_size_mb: u64,
    /// The age at which rotated files are removed.
    pub max_age_days: u64,
    /// The number of rotated files to keep.
    pub max_backups: u64,
    /// Whether rotated files carry the local time in their names.
    pub local_time: bool,
    /// Whether rotated files are compressed.
    pub compress: bool,
    /// Fields to add to each line.
    pub fields: BTreeMap<String, Option<String>>,
    /// A remote collector of logs.
    pub remote: RemoteLogging,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
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
    /// Whether to send logs there.
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
    /// Names the settings that differ from their defaults but have no effect yet.
    pub(super) fn ignored(&self) -> Vec<&'static str> {
        let Self { level: _, format: _, file: _, multi_write, max_size_mb, .. } = self;
        let Self { max_age_days, max_backups, local_time, compress, fields, remote, .. } = self;
        let default = Self::default();
        [
            ("logging.multiWrite", *multi_write != default.multi_write),
            ("logging.maxSizeMb", *max_size_mb != default.max_size_mb),
            ("logging.maxAgeDays", *max_age_days != default.max_age_days),
            ("logging.maxBackups", *max_backups != default.max_backups),
            ("logging.localTime", *local_time != default.local_time),
            ("logging.compress", *compress != default.compress),
            ("logging.fields", !fields.is_empty()),
            ("logging.remote", remote.enabled),
        ]
        .into_iter()
        .filter_map(|(setting, changed)| changed.then_some(setting))
        .collect()
    }
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self {
            level: "INFO".into(),
            format: Format::default(),
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
