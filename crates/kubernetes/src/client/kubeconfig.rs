//! Kubeconfig files, as far as connections need them.
//!
//! Several documents of one file are merged as kubectl merges several files: the first to set a name or a value wins.
//! Relative paths start at the directory of the file.

mod error;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{MAIN_SEPARATOR, Path},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

pub use error::{KubeconfigError, LoadDataError};

/// Contexts, clusters and users.
#[derive(Clone, Default, Deserialize)]
pub struct Kubeconfig {
    kind: Option<String>,
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) clusters: Vec<NamedCluster>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) users: Vec<NamedUser>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) contexts: Vec<NamedContext>,
    #[serde(rename = "current-context")]
    pub(crate) current_context: Option<String>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct NamedCluster {
    pub(crate) name: String,
    pub(crate) cluster: Option<Cluster>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct NamedUser {
    pub(crate) name: String,
    pub(crate) user: Option<AuthInfo>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct NamedContext {
    pub(crate) name: String,
    pub(crate) context: Option<Context>,
}

/// Names of a cluster and a user.
#[derive(Clone, Deserialize)]
pub(crate) struct Context {
    pub(crate) cluster: String,
    pub(crate) user: Option<String>,
}

/// Address of an API server, and the way to it.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Cluster {
    pub(crate) server: Option<String>,
    pub(crate) insecure_skip_tls_verify: Option<bool>,
    pub(crate) certificate_authority: Option<String>,
    /// PEM in base64; takes precedence over the file.
    pub(crate) certificate_authority_data: Option<String>,
    pub(crate) proxy_url: Option<String>,
    pub(crate) tls_server_name: Option<String>,
    extensions: Option<Vec<NamedExtension>>,
}

#[derive(Clone, Deserialize)]
struct NamedExtension {
    name: String,
    extension: serde_json::Value,
}

/// Credentials of a user.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct AuthInfo {
    pub(crate) username: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    pub(crate) password: Option<SecretString>,
    #[serde(default, deserialize_with = "secret")]
    pub(crate) token: Option<SecretString>,
    #[serde(rename = "tokenFile")]
    pub(crate) token_file: Option<String>,
    pub(crate) client_certificate: Option<String>,
    /// PEM in base64; takes precedence over the file.
    pub(crate) client_certificate_data: Option<String>,
    pub(crate) client_key: Option<String>,
    /// PEM in base64; takes precedence over the file.
    #[serde(default, deserialize_with = "secret")]
    pub(crate) client_key_data: Option<SecretString>,
    #[serde(rename = "as")]
    pub(crate) impersonate: Option<String>,
    #[serde(rename = "as-uid")]
    pub(crate) impersonate_uid: Option<String>,
    #[serde(rename = "as-groups")]
    pub(crate) impersonate_groups: Option<Vec<String>>,
    #[serde(rename = "as-user-extra")]
    pub(crate) impersonate_user_extra: Option<BTreeMap<String, Vec<String>>>,
    pub(crate) auth_provider: Option<AuthProvider>,
    pub(crate) exec: Option<ExecConfig>,
}

/// Built-in login of a cloud, which Kubernetes has removed in favour of plugins.
#[derive(Clone, Deserialize)]
pub(crate) struct AuthProvider {
    pub(crate) name: String,
}

/// Credential plugin.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExecConfig {
    pub(crate) api_version: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) args: Option<Vec<String>>,
    pub(crate) env: Option<Vec<ExecVariable>>,
    pub(crate) install_hint: Option<String>,
    pub(crate) interactive_mode: Option<InteractiveMode>,
    #[serde(default)]
    pub(crate) provide_cluster_info: bool,
    /// Set while the context is read, if the plugin wants it.
    #[serde(skip)]
    pub(crate) cluster: Option<ExecCluster>,
}

/// Environment variable of a plugin.
#[derive(Clone, Deserialize)]
pub(crate) struct ExecVariable {
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
}

/// Use of the terminal by a plugin.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum InteractiveMode {
    Never,
    IfAvailable,
    Always,
}

/// Cluster as plugins receive it: the certificate authority is loaded from wherever it is.
#[derive(Clone)]
pub(crate) struct ExecCluster {
    pub(crate) server: Option<String>,
    pub(crate) insecure_skip_tls_verify: Option<bool>,
    /// PEM.
    pub(crate) certificate_authority_data: Option<Vec<u8>>,
    pub(crate) proxy_url: Option<String>,
    pub(crate) tls_server_name: Option<String>,
    pub(crate) config: Option<serde_json::Value>,
}

/// Name of the extension of a cluster that is meant for plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads a file.
    pub fn read_from(path: &Path) -> Result<Self, KubeconfigError> {
        let text = read_text(path).map_err(|source| KubeconfigError::ReadConfig(source, path.into()))?;
        let mut documents = documents(&text)?;
        if let Some(directory) = path.parent() {
            for document in &mut documents {
                document.resolve_paths(directory);
            }
        }
        merged(documents)
    }

    /// Reads the text of a file; relative paths in it stay as they are.
    pub(crate) fn from_yaml(text: &str) -> Result<Self, KubeconfigError> {
        merged(documents(text)?)
    }

    /// Names of the contexts, in the order of the file.
    pub fn context_names(&self) -> Vec<String> {
        self.contexts.iter().map(|context| context.name.clone()).collect()
    }

    /// Name of the current context, if the file has one.
    pub fn current_context(&self) -> Option<&str> {
        self.current_context.as_deref()
    }

    /// Adds the entries of another document whose names are new.
    fn merge(mut self, next: Self) -> Result<Self, KubeconfigError> {
        let differ = |ours: &Option<String>, theirs: &Option<String>| {
            ours.is_some() && theirs.is_some() && ours != theirs
        };
        if differ(&self.kind, &next.kind) {
            return Err(KubeconfigError::KindMismatch);
        }
        if differ(&self.api_version, &next.api_version) {
            return Err(KubeconfigError::ApiVersionMismatch);
        }
        self.kind = self.kind.or(next.kind);
        self.api_version = self.api_version.or(next.api_version);
        self.current_context = self.current_context.or(next.current_context);
        add_new(&mut self.clusters, next.clusters, |it| &it.name);
        add_new(&mut self.users, next.users, |it| &it.name);
        add_new(&mut self.contexts, next.contexts, |it| &it.name);
        Ok(self)
    }

    fn resolve_paths(&mut self, directory: &Path) {
        for cluster in self.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
            resolve(directory, &mut cluster.certificate_authority);
        }
        for user in self.users.iter_mut().filter_map(|named| named.user.as_mut()) {
            resolve(directory, &mut user.client_certificate);
            resolve(directory, &mut user.client_key);
            resolve(directory, &mut user.token_file);
            // As in client-go, a command without a separator is looked up in PATH.
            if let Some(exec) = user.exec.as_mut()
                && exec.command.as_ref().is_some_and(|command| command.contains(MAIN_SEPARATOR))
            {
                resolve(directory, &mut exec.command);
            }
        }
    }
}

fn documents(text: &str) -> Result<Vec<Kubeconfig>, KubeconfigError> {
    serde_saphyr::from_multiple(text).map_err(|error| KubeconfigError::Parse(Box::new(error)))
}

/// Merges documents; none is an empty kubeconfig.
fn merged(documents: Vec<Kubeconfig>) -> Result<Kubeconfig, KubeconfigError> {
    documents.into_iter().try_fold(Kubeconfig::default(), Kubeconfig::merge)
}

fn add_new<T>(known: &mut Vec<T>, next: Vec<T>, name: impl Fn(&T) -> &str) {
    let count = known.len();
    for item in next {
        // Names that repeat within one document stay: the first is found.
        if !known[..count].iter().any(|other| name(other) == name(&item)) {
            known.push(item);
        }
    }
}

fn resolve(directory: &Path, path: &mut Option<String>) {
    let Some(relative) = path.as_ref().filter(|path| Path::new(path).is_relative()) else { return };
    if let Some(absolute) = directory.join(relative).to_str() {
        *path = Some(absolute.to_owned());
    }
}

/// Reads a text in UTF-8, or in UTF-16 with a byte order mark, as PowerShell writes it.
fn read_text(path: &Path) -> io::Result<String> {
    let invalid = |message| io::Error::new(io::ErrorKind::InvalidData, message);
    let bytes = fs::read(path)?;
    let units = |read: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes[2..].as_chunks().0.iter().copied().map(read).collect()
    };
    match bytes.as_slice() {
        [0xFF, 0xFE, ..] => {
            String::from_utf16(&units(u16::from_le_bytes)).map_err(|_| invalid("Invalid UTF-16 LE"))
        }
        [0xFE, 0xFF, ..] => {
            String::from_utf16(&units(u16::from_be_bytes)).map_err(|_| invalid("Invalid UTF-16 BE"))
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => {
            String::from_utf8(rest.to_vec()).map_err(|_| invalid("Invalid UTF-8 BOM"))
        }
        _ => String::from_utf8(bytes).map_err(|_| invalid("Invalid UTF-8")),
    }
}

fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(SecretString::from))
}

// === impl ExecCluster ===

impl ExecCluster {
    /// Loads the certificate authority of a cluster.
    pub(crate) fn of(cluster: &Cluster) -> Result<Self, KubeconfigError> {
        let extensions = cluster.extensions.iter().flatten();
        let config =
            extensions.filter(|named| named.name == EXEC_EXTENSION).map(|named| named.extension.clone());
        Ok(Self {
            server: cluster.server.clone(),
            insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
            certificate_authority_data: certificate_authority(cluster)
                .map_err(KubeconfigError::LoadCertificateAuthority)?,
            proxy_url: cluster.proxy_url.clone(),
            tls_server_name: cluster.tls_server_name.clone(),
            config: config.take(1).next(),
        })
    }
}

/// Loads PEM from the data, or else from the file; plugins receive it with a newline at its end.
fn certificate_authority(cluster: &Cluster) -> Result<Option<Vec<u8>>, LoadDataError> {
    let mut pem = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) => BASE64_STANDARD.decode(data).map_err(LoadDataError::DecodeBase64)?,
        (None, Some(file)) => {
            fs::read(file).map_err(|source| LoadDataError::ReadFile(source, file.into()))?
        }
        (None, None) => return Ok(None),
    };
    if pem.last().is_some_and(|last| *last != b'\n') {
        pem.push(b'\n');
    }
    Ok(Some(pem))
}

#[cfg(test)]
mod tests;
