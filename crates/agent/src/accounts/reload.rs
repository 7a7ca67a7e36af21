//! The configuration while the agent runs: what can change does, and what cannot says that a restart is needed.

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
    accounts::configured::{Changes, Roster},
    config::AgentConfig,
};

/// What is taken over without a restart; a change of anything else is only told.
const LIVE: [&str; 7] = [
    "kubernetes.accounts",
    "kubernetes.assumableServiceAccounts",
    "kubernetes.noProxy",
    "kubernetes.redact",
    "kubernetes.watches",
    "logging.level",
    "timeoutSeconds",
];

/// The state of the configuration, as `/health` shows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    /// The files that hold now.
    pub files: Vec<PathBuf>,
    /// When they were read.
    pub read_at: Option<Timestamp>,
    /// Why the files as they are now cannot be used; those that were read before still hold.
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

/// The files that the configuration came from, and what follows them.
pub struct Source {
    /// What was read at start.
    pub loaded: Loaded<AgentConfig>,
    /// Where it was read from; none if it never changes.
    pub follower: Option<Follower<AgentConfig>>,
    /// The logging of this process, if it is ours.
    pub logging: Option<Logging>,
}

/// Keeps accounts and log level those of the files.
pub(crate) struct Reload {
    pub(crate) source: Source,
    pub(crate) roster: Roster,
    pub(crate) shown_tx: watch::Sender<Configuration>,
}

// === impl Source ===

impl Source {
    /// A configuration that never changes.
    pub fn fixed(config: AgentConfig) -> Self {
        let loaded = Loaded { settings: config, files: vec![], warnings: vec![], problems: vec![] };
        Self { loaded, follower: None, logging: None }
    }

    /// A configuration that is read again when its files change.
    pub fn files(files: ConfigFiles, loaded: Loaded<AgentConfig>, logging: Logging) -> Self {
        let follower = Follower::new(files, &loaded);
        Self { loaded, follower: Some(follower), logging: Some(logging) }
    }
}

// === impl Reload ===

impl Reload {
    /// Starts the accounts, then takes over each change, one after the other.
    pub(crate) async fn run(self, token: CancellationToken) -> anyhow::Result<()> {
        let Self { source: Source { loaded, mut follower, logging }, mut roster, shown_tx } = self;
        if loaded.settings.kubernetes.accounts.is_empty() {
            warn!("no accounts are configured (kubernetes.accounts); the agent has nothing to do");
        }
        let changes = roster.apply(&loaded.settings, &loaded.problems).await;
        shown_tx.send_replace(shown(&loaded, &changes, vec![]));
        let started_with = loaded.settings;
        while let Some(follower) = &mut follower {
            let Some(next) = token.run_until_cancelled(follower.next()).await else { return Ok(()) };
            match next {
                Ok(loaded) => {
                    daemon::tell(&loaded);
                    let changes = roster.apply(&loaded.settings, &loaded.problems).await;
                    if let Some(logging) = &logging
                        && let Err(error) = logging.follow(&loaded.settings.logging)
                    {
                        warn!(error = %report(&error), "the level of the log stays as it is");
                    }
                    let restart_needed = restart_needed(&started_with, &loaded.settings);
                    tell(&changes, &restart_needed);
                    shown_tx.send_replace(shown(&loaded, &changes, restart_needed));
                }
                Err(wrong) => keep(&shown_tx, &wrong),
            }
        }
        token.cancelled().await;
        Ok(())
    }
}

fn tell(changes: &Changes, restart_needed: &[String]) {
    let Changes { added, changed, removed, problems } = changes;
    for problem in problems {
        error!("{problem}");
    }
    for key in restart_needed {
        warn!("{key} has changed: restart needed");
    }
    info!(?added, ?changed, ?removed, "configuration taken over");
}

/// What was read before still holds.
fn keep(shown_tx: &watch::Sender<Configuration>, wrong: &ConfigError) {
    let wrong = report(wrong);
    error!(error = wrong, "the configuration cannot be used; the last good one is kept");
    shown_tx.send_modify(|shown| shown.error = Some(wrong));
}

fn shown(loaded: &Loaded<AgentConfig>, changes: &Changes, restart_needed: Vec<String>) -> Configuration {
    let Loaded { settings: _, files, warnings, problems } = loaded;
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

/// Names the keys that differ and need a restart.
fn restart_needed(running: &AgentConfig, wanted: &AgentConfig) -> Vec<String> {
    let mut keys = Vec::new();
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
    // Both come from one type, so they have the same keys, but for those that users choose.
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
    fn what_needs_a_restart_is_named_by_its_key_and_secrets_are_compared_too() {
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
