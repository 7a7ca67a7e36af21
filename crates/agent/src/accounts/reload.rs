//! Reload of the configuration while the agent runs; a change that needs a restart is reported.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use spindrift_process::{
    config::{ConfigError, ConfigFiles, Follower, Loaded},
    daemon,
    logging::Logging,
    report,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    accounts::configured::{AccountChanges, ConfiguredAccounts},
    config::AgentConfig,
};

/// Settings that change without a restart.
const LIVE: [&str; 7] = [
    "kubernetes.accounts",
    "kubernetes.assumableServiceAccounts",
    "kubernetes.noProxy",
    "kubernetes.redact",
    "kubernetes.watches",
    "logging.level",
    "timeoutSeconds",
];

/// State of the configuration, as `/health` shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// Files in use.
    pub files: Vec<PathBuf>,
    /// Time at which they were read.
    pub read_at: Option<Timestamp>,
    /// Reason for which the current files cannot be used; those that were read before stay in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Keys that have changed and wait for a restart.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restart_needed: Vec<String>,
    /// Values that cannot be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Keys that have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Source of the configuration.
pub struct Source {
    /// Configuration at start.
    pub loaded: Loaded<AgentConfig>,
    /// Follower of its files; none if it never changes.
    pub follower: Option<Follower<AgentConfig>>,
    /// Logging of this process, if the agent has set it up.
    pub logging: Option<Logging>,
}

/// Keeps accounts and log level as the files have them.
pub(crate) struct Reload {
    pub(crate) source: Source,
    pub(crate) configured: ConfiguredAccounts,
    pub(crate) shown_tx: watch::Sender<Configuration>,
}

// === impl Source ===

impl Source {
    /// Returns a configuration that never changes.
    pub fn fixed(config: AgentConfig) -> Self {
        let loaded = Loaded {
            settings: config,
            files: vec![],
            warnings: vec![],
            problems: vec![],
            secret_files: vec![],
        };
        Self { loaded, follower: None, logging: None }
    }

    /// Returns a configuration that is reloaded when its files change.
    pub fn files(files: ConfigFiles, loaded: Loaded<AgentConfig>, logging: Logging) -> Self {
        let follower = Follower::new(files, &loaded);
        Self { loaded, follower: Some(follower), logging: Some(logging) }
    }
}

// === impl Reload ===

impl Reload {
    /// Starts the accounts, then applies each change, one after the other.
    pub(crate) async fn run(self, token: CancellationToken) -> anyhow::Result<()> {
        let Self { source: Source { loaded, mut follower, logging }, mut configured, shown_tx } = self;
        if loaded.settings.kubernetes.accounts.is_empty() {
            warn!("no accounts are configured (kubernetes.accounts); the agent has nothing to do");
        }
        let changes = configured.apply(&loaded.settings, &loaded.problems).await;
        shown_tx.send_replace(shown(&loaded, &changes, vec![]));
        let started_with = loaded.settings;
        // TLS of the connection names files of the start; accounts name those of the last configuration.
        let files_of_start = loaded.secret_files;
        let mut files_in_use = Vec::new();
        while let Some(follower) = &mut follower {
            let Some(next) = token.run_until_cancelled(follower.next()).await else { return Ok(()) };
            match next {
                Ok(loaded) => {
                    daemon::log_settings(&loaded);
                    let changes = configured.apply(&loaded.settings, &loaded.problems).await;
                    if let Some(logging) = &logging
                        && let Err(error) = logging.follow(&loaded.settings.logging)
                    {
                        warn!(error = %report(&error), "the log level is unchanged");
                    }
                    let restart_needed = restart_needed(&started_with, &loaded.settings);
                    log(&changes, &restart_needed);
                    shown_tx.send_replace(shown(&loaded, &changes, restart_needed));
                    drop(std::mem::replace(&mut files_in_use, loaded.secret_files));
                }
                Err(error) => keep(&shown_tx, &error),
            }
        }
        token.cancelled().await;
        drop(files_of_start);
        Ok(())
    }
}

fn log(changes: &AccountChanges, restart_needed: &[String]) {
    let AccountChanges { added, changed, removed, problems } = changes;
    for problem in problems {
        error!("{problem}");
    }
    for key in restart_needed {
        warn!("{key} has changed: restart needed");
    }
    info!(?added, ?changed, ?removed, "configuration taken over");
}

/// Reports an error of the files; the configuration that was read before stays in use.
fn keep(shown_tx: &watch::Sender<Configuration>, error: &ConfigError) {
    let error = report(error);
    error!(error, "the configuration cannot be used; the last good one is kept");
    shown_tx.send_modify(|shown| shown.error = Some(error));
}

fn shown(
    loaded: &Loaded<AgentConfig>,
    changes: &AccountChanges,
    restart_needed: Vec<String>,
) -> Configuration {
    let Loaded { settings: _, files, warnings, problems, secret_files: _ } = loaded;
    let problems = problems.iter().map(ToString::to_string).chain(changes.problems.clone());
    Configuration {
        files: files.clone(),
        read_at: Some(Timestamp::now()),
        error: None,
        restart_needed,
        problems: problems.collect(),
        warnings: warnings.clone(),
    }
}

/// Returns the keys that differ and need a restart.
fn restart_needed(running: &AgentConfig, wanted: &AgentConfig) -> Vec<String> {
    let mut keys = Vec::new();
    // Settings are plain data with string keys, so that serialising them cannot fail.
    let as_value = |config: &AgentConfig| serde_json::to_value(config).unwrap_or_default();
    differences("", &as_value(running), &as_value(wanted), &mut keys);
    // Secrets are never serialised, so they look alike.
    let (was, is) = (&running.clouddriver, &wanted.clouddriver);
    if was.auth.token != is.auth.token {
        keys.push("clouddriver.auth.token".into());
    }
    if was.tls.client_key_file_password != is.tls.client_key_file_password {
        keys.push("clouddriver.tls.clientKeyFilePassword".into());
    }
    if running.server.ssl.key_file_password != wanted.server.ssl.key_file_password {
        keys.push("server.ssl.keyFilePassword".into());
    }
    keys.sort();
    keys.dedup();
    keys
}

fn differences(path: &str, was: &Value, is: &Value, keys: &mut Vec<String>) {
    if was == is || LIVE.contains(&path) {
        return;
    }
    let (Value::Object(was), Value::Object(is)) = (was, is) else {
        keys.push(path.to_owned());
        return;
    };
    // Both are of one type, so they have the same keys, except for those that users choose.
    for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
        let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let value = |side: &serde_json::Map<String, Value>| side.get(key).cloned().unwrap_or_default();
        differences(&below, &value(was), &value(is), keys);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(settings: Value) -> AgentConfig {
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn settings_that_need_a_restart_are_named_by_key_and_secrets_are_compared_too() {
        let running = config(json!({}));
        let wanted = config(json!({
            "kubernetes": { "accounts": [{ "name": "a" }], "noProxy": true, "retries": { "maxRetries": 9 } },
            "clouddriver": { "grpc": "b:1", "auth": { "token": "x" }, "tls": { "clientKeyFilePassword": "y" } },
            "logging": { "level": "debug", "fields": { "team": "edge" } },
            "server": { "port": 1 },
        }));
        let expected = [
            "clouddriver.auth.token",
            "clouddriver.grpc",
            "clouddriver.tls.clientKeyFilePassword",
            "kubernetes.retries.maxRetries",
            "logging.fields.team",
            "server.port",
        ];
        assert_eq!(restart_needed(&running, &wanted), expected);
        assert_eq!(restart_needed(&wanted, &wanted), [""; 0]);
        let other = config(json!({ "clouddriver": { "auth": { "token": "z" } } }));
        let one = config(json!({ "clouddriver": { "auth": { "token": "x" } } }));
        assert_eq!(restart_needed(&one, &other), ["clouddriver.auth.token"]);
    }
}
