//! Credential plugins: commands that print a token or a certificate (`exec` of a kubeconfig).

use std::{process::Stdio, time::Duration};

use jiff::Timestamp;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use spindrift_process::program::program;
use tokio::time::timeout;

use super::error::PluginError;
use crate::client::kubeconfig::{ExecCluster, ExecConfig, InteractiveMode};

/// Credentials that a plugin has printed.
pub(super) struct Issued {
    pub(super) token: Option<SecretString>,
    /// Certificate and key, as PEM.
    pub(super) certificate: Option<(String, SecretString)>,
    /// Time at which the plugin must be run again; none if the credentials do not expire.
    pub(super) expiry: Option<Timestamp>,
}

/// Timeout of a plugin; some of them log in to a remote server.
const PLUGIN_TIMEOUT: Duration = Duration::from_mins(1);

/// Characters of stderr in an error; the cause is mostly at its end.
const LONGEST_STDERR: usize = 512;

#[derive(Deserialize)]
struct ExecCredential {
    kind: Option<String>,
    status: Option<CredentialStatus>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CredentialStatus {
    expiration_timestamp: Option<String>,
    token: Option<Secret>,
    client_certificate_data: Option<String>,
    client_key_data: Option<Secret>,
}

#[derive(Deserialize)]
#[serde(from = "String")]
struct Secret(SecretString);

/// Runs a plugin; dropping the future kills it.
pub(super) async fn run(plugin: &ExecConfig) -> Result<Issued, PluginError> {
    let name = plugin.command.clone().filter(|command| !command.is_empty()).ok_or(PluginError::NoCommand)?;
    if plugin.interactive_mode == Some(InteractiveMode::Always) {
        return Err(PluginError::Interactive { command: name });
    }
    let mut command = program(&name);
    command.args(plugin.args.iter().flatten());
    for variable in plugin.env.iter().flatten() {
        if let Some((key, value)) = variable.name.as_ref().zip(variable.value.as_ref()) {
            command.env(key, value);
        }
    }
    let mut spec = json!({ "interactive": false });
    if let Some(cluster) = &plugin.cluster {
        spec["cluster"] = cluster_info(cluster);
    }
    let version = plugin.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1");
    let info = json!({ "apiVersion": version, "kind": "ExecCredential", "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    command.stdin(Stdio::null()).kill_on_drop(true);

    let exited = timeout(PLUGIN_TIMEOUT, command.output()).await;
    let exited =
        exited.map_err(|_| PluginError::TimedOut { command: name.clone(), limit: PLUGIN_TIMEOUT })?;
    let output = exited.map_err(|source| {
        let hint = plugin.install_hint.as_deref().map(|hint| format!(" ({})", hint.trim()));
        PluginError::Start { command: name.clone(), hint: hint.unwrap_or_default(), source }
    })?;
    if !output.status.success() {
        let stderr = stderr_tail(&output.stderr);
        return Err(PluginError::Failed { command: name, status: output.status.to_string(), stderr });
    }
    read(&output.stdout).map_err(|problem| PluginError::Malformed { command: name, problem })
}

/// Writes the cluster with the field names of the plugin API, which differ from those of a kubeconfig.
fn cluster_info(cluster: &ExecCluster) -> serde_json::Value {
    use base64::{Engine, prelude::BASE64_STANDARD};
    let authority = cluster.certificate_authority_data.as_ref().map(|pem| BASE64_STANDARD.encode(pem));
    let mut info = json!({
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": authority,
        "proxy-url": cluster.proxy_url,
        "config": cluster.config,
    });
    if let Some(fields) = info.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    info
}

/// Parses the output. Errors never quote it, since it may hold a token.
fn read(printed: &[u8]) -> Result<Issued, &'static str> {
    // YAML is accepted too, as kubectl does.
    let ExecCredential { kind, status } = serde_saphyr::from_slice(printed)
        .map_err(|_| "this is neither JSON nor YAML of the expected form")?;
    if kind.is_some_and(|kind| kind != "ExecCredential") {
        return Err("its kind is another");
    }
    let status = status.ok_or("it has no status")?;
    let CredentialStatus { expiration_timestamp, token, client_certificate_data, client_key_data } = status;
    let certificate = match (client_certificate_data, client_key_data) {
        (Some(certificate), Some(Secret(key))) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err("its status has one of clientCertificateData and clientKeyData, but not both"),
    };
    if token.is_none() && certificate.is_none() {
        return Err("its status has neither token nor clientCertificateData");
    }
    let expiry = expiration_timestamp.map(|expiry| expiry.parse()).transpose();
    let expiry = expiry.map_err(|_| "its status.expirationTimestamp is not a time")?;
    let token = token.map(|Secret(token)| token);
    Ok(Issued { token, certificate, expiry })
}

// === impl Secret ===

impl From<String> for Secret {
    fn from(secret: String) -> Self {
        Self(secret.into())
    }
}

/// Returns the end of stderr as one line.
fn stderr_tail(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.is_empty() {
        return "it printed nothing".to_owned();
    }
    let skipped = line.chars().count().saturating_sub(LONGEST_STDERR);
    line.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_credentials_are_accepted() {
        let of =
            |status: &str| read(format!("{{\"kind\":\"ExecCredential\",\"status\":{status}}}").as_bytes());
        let issued = of(r#"{"token":"t","expirationTimestamp":"2026-11-16T05:00:00Z"}"#).ok().unwrap();
        assert_eq!(issued.expiry, Some("2026-11-16T05:00:00Z".parse().unwrap()));
        assert!(
            read(b"kind: ExecCredential\nstatus: {token: t}\n").is_ok_and(|issued| issued.expiry.is_none())
        );
        for (status, reason) in [
            ("null", "no status"),
            ("{}", "neither token"),
            (r#"{"clientCertificateData":"c"}"#, "not both"),
            (r#"{"token":"canary","expirationTimestamp":"soon"}"#, "not a time"),
            (r#"{"token":["canary"]}"#, "expected form"),
        ] {
            let problem = of(status).err().unwrap();
            assert!(problem.contains(reason) && !problem.contains("canary"), "{problem}");
        }
    }

    #[test]
    fn stderr_is_one_line_and_its_end_is_kept() {
        assert_eq!(stderr_tail(b"  please\n log in\n"), "please log in");
        assert_eq!(stderr_tail(b"\n"), "it printed nothing");
        let long = format!("{}the reason", "é ".repeat(2000));
        assert!(stderr_tail(long.as_bytes()).ends_with("the reason"));
        assert_eq!(stderr_tail(long.as_bytes()).chars().count(), LONGEST_STDERR);
    }
}
