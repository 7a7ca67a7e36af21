//! Names of objects and durations, as kubectl writes them.

use std::time::Duration;

use anyhow::bail;
use clap::ValueEnum;
use jiff::SignedDuration;
use serde_json::Value;
use spindrift_model::DryRun;

/// Value of `--dry-run`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRunMode {
    /// Make the change.
    #[default]
    None,
    /// Print the object that would be sent, without sending it.
    Client,
    /// Submit server-side request without persisting the resource.
    Server,
}

// === impl DryRunMode ===

impl From<DryRunMode> for DryRun {
    fn from(dry_run: DryRunMode) -> Self {
        match dry_run {
            DryRunMode::None => Self::None,
            DryRunMode::Client => Self::Client,
            DryRunMode::Server => Self::Server,
        }
    }
}

/// Suffix of a result in a dry run.
pub(crate) fn after(dry_run: DryRunMode) -> &'static str {
    match dry_run {
        DryRunMode::None => "",
        DryRunMode::Client => " (dry run)",
        DryRunMode::Server => " (server dry run)",
    }
}

/// Kind as kubectl writes it before a slash: `pod`, `deployment.apps`.
pub(crate) fn prefix(api_version: &str, kind: &str) -> String {
    let kind = kind.to_lowercase();
    match api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind,
    }
}

/// Object as kubectl writes it: `deployment.apps/web`.
pub(crate) fn title(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", prefix(text("/apiVersion"), text("/kind")), text("/metadata/name"))
}

/// Parses a duration as kubectl does: `90s`, `5m`, `1h30m`; a plain number is in seconds.
pub(crate) fn duration(text: &str) -> anyhow::Result<Duration> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    match text.parse::<SignedDuration>().ok().and_then(|duration| Duration::try_from(duration).ok()) {
        Some(duration) => Ok(duration),
        None => bail!("{text:?} is not a duration such as 90s, 5m or 1h30m"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_named_as_kubectl_names_them() {
        for (api_version, kind, expected) in [
            ("v1", "Pod", "pod/web"),
            ("apps/v1", "Deployment", "deployment.apps/web"),
            ("rbac.authorization.k8s.io/v1", "Role", "role.rbac.authorization.k8s.io/web"),
        ] {
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "web" } });
            assert_eq!(title(&object), expected);
        }
    }

    #[test]
    fn times_are_read_as_kubectl_reads_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("0", 0)] {
            assert_eq!(duration(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        for text in ["", "-5s", "soon", "5 apples"] {
            assert!(duration(text).unwrap_err().to_string().contains("is not a duration such as"), "{text}");
        }
    }
}
