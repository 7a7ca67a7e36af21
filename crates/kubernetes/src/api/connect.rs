//! From credentials to a client: everything is checked here that can be checked without the network.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use aws_lc_rs::digest;
use http::{HeaderName, HeaderValue, header};
use kube::{
    Config,
    config::{InClusterError, Kubeconfig, KubeconfigError},
};

use super::Api;

/// Who talks to which API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// The service account of the pod that this process runs in.
    ServiceAccount,
    /// A context of a kubeconfig file.
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The context; the file's current one if none is named.
        context: Option<String>,
    },
}

/// How to talk to the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiOptions {
    /// How long an answer may take (a watch: until it begins); 30 s if not set.
    pub request_timeout: Option<Duration>,
    /// Whether to accept every certificate of the API server.
    pub insecure: bool,
    /// Whether to ignore the proxies that the kubeconfig or the environment name.
    pub no_proxy: bool,
    /// The user to act as, by impersonation: `system:serviceaccount:<namespace>:<name>`.
    pub impersonate: Option<String>,
}

/// Credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// This process does not run in a pod with a service account.
    #[error("use the pod's service account")]
    ServiceAccount(#[source] InClusterError),
    /// The file cannot be read, or lacks something.
    #[error("load kubeconfig {}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: KubeconfigError,
    },
    /// The file is not a kubeconfig. The parser's own words are left out: they quote what they read.
    #[error("load kubeconfig {}: line {line} is not YAML of the expected form", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Counted from 1; 0 if it is not known.
        line: u64,
    },
    /// A context names a user that is not there.
    #[error("load kubeconfig {}: there is no user {user:?}, which the context names", path.display())]
    NoSuchUser {
        /// The file.
        path: PathBuf,
        /// The user.
        user: String,
    },
    /// With an empty bundle no API server could ever be trusted.
    #[error("use the credentials of {origin}: the certificate authority's file or data holds no certificate")]
    NoAuthority {
        /// Where they come from.
        origin: String,
    },
    /// The certificates, keys or plugins that the credentials name cannot be used.
    #[error("use the credentials of {origin}")]
    Unusable {
        /// Where they come from.
        origin: String,
        /// What is wrong.
        source: Box<kube::Error>,
    },
    /// Loading the credentials panicked.
    #[error("load the credentials of {origin}")]
    Panicked {
        /// Where they come from.
        origin: String,
        /// What happened.
        source: tokio::task::JoinError,
    },
}

// === impl ConnectError ===

impl ConnectError {
    /// Whether the kubeconfig is not there, or may not be read.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Kubeconfig { source: KubeconfigError::ReadConfig(..), .. })
    }

    /// Whether the context is not in the kubeconfig, or none is chosen.
    pub fn is_missing_context(&self) -> bool {
        use KubeconfigError::{CurrentContextNotSet, LoadContext};
        matches!(self, Self::Kubeconfig { source: CurrentContextNotSet | LoadContext(_), .. })
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

impl Api {
    /// Loads and checks the credentials; nothing is sent before the first question.
    pub async fn connect(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let origin = credentials.origin();
        let (credentials, options) = (credentials.clone(), options.clone());
        // It reads files, and may run a credential plugin and wait for it.
        let loaded = tokio::task::spawn_blocking(move || build(&credentials, &options)).await;
        loaded.map_err(|source| ConnectError::Panicked { origin, source })?
    }
}

fn build(credentials: &Credentials, options: &ApiOptions) -> Result<Api, ConnectError> {
    let mut config = credentials.load_for(options)?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // A watch may be silent for as long as it likes; its own deadline ends it.
    config.read_timeout = None;
    // Who asks knows better what to do than a blind repetition, and is told when to come back.
    config.default_retry = false;
    let user_agent = HeaderValue::from_static(concat!("spindrift/", env!("CARGO_PKG_VERSION")));
    config.headers.push((header::USER_AGENT, user_agent));
    if let Some(user) = options.impersonate.as_deref().and_then(|user| HeaderValue::from_str(user).ok()) {
        config.headers.push((HeaderName::from_static("impersonate-user"), user));
    }
    let host = config.cluster_url.to_string();
    let ca_fingerprint = config.root_cert.as_deref().map(fingerprint);
    let client = kube::Client::try_from(config).map_err(|source| ConnectError::Unusable {
        origin: credentials.origin(),
        source: Box::new(source),
    })?;
    Ok(Api {
        client,
        host: host.trim_end_matches('/').into(),
        ca_fingerprint: ca_fingerprint.map(Into::into),
        request_timeout: options.request_timeout.unwrap_or(DEFAULT_REQUEST_TIMEOUT),
    })
}

/// SHA-256 over the certificates, whatever their order; of a single one it is what `openssl x509` prints.
fn fingerprint(certificates: &[Vec<u8>]) -> String {
    let mut certificates: Vec<_> = certificates.iter().collect();
    certificates.sort();
    certificates.dedup();
    let mut hash = digest::Context::new(&digest::SHA256);
    for certificate in certificates {
        hash.update(certificate);
    }
    let bytes: Vec<String> = hash.finish().as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

// === impl Credentials ===

impl Credentials {
    /// Loads them with what the options change.
    pub(super) fn load_for(&self, options: &ApiOptions) -> Result<Config, ConnectError> {
        let mut config = self.load()?;
        if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
            return Err(ConnectError::NoAuthority { origin: self.origin() });
        }
        config.accept_invalid_certs |= options.insecure;
        if options.no_proxy {
            config.proxy_url = None;
        }
        Ok(config)
    }

    fn load(&self) -> Result<Config, ConnectError> {
        match self {
            Self::ServiceAccount => Config::incluster().map_err(ConnectError::ServiceAccount),
            Self::Kubeconfig { path, context } => load_kubeconfig(path, context.as_deref()),
        }
    }

    /// Where they come from, for people.
    pub fn origin(&self) -> String {
        match self {
            Self::ServiceAccount => "the pod's service account".to_owned(),
            Self::Kubeconfig { path, context: None } => format!("kubeconfig {}", path.display()),
            Self::Kubeconfig { path, context: Some(context) } => {
                format!("context {context} of kubeconfig {}", path.display())
            }
        }
    }
}

fn load_kubeconfig(path: &Path, context: Option<&str>) -> Result<Config, ConnectError> {
    let failed = |source| match source {
        KubeconfigError::Parse(error) => {
            let line = error.location().map_or(0, |location| location.line());
            ConnectError::Unreadable { path: path.to_owned(), line }
        }
        source => ConnectError::Kubeconfig { path: path.to_owned(), source },
    };
    let mut kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    if context.is_some() {
        kubeconfig.current_context = context.map(Into::into);
    }
    if let Some(user) = missing_user(&kubeconfig) {
        return Err(ConnectError::NoSuchUser { path: path.to_owned(), user });
    }
    Config::try_from(kubeconfig).map_err(failed)
}

/// kube would go on without a name, and the API server's answer would explain nothing.
fn missing_user(kubeconfig: &Kubeconfig) -> Option<String> {
    let Kubeconfig { current_context, contexts, auth_infos, .. } = kubeconfig;
    let current = current_context.as_ref()?;
    let context = contexts.iter().find(|named| named.name == *current)?.context.as_ref()?;
    let user = context.user.as_ref().filter(|user| !user.is_empty())?;
    (!auth_infos.iter().any(|named| named.name == *user)).then(|| user.clone())
}

#[cfg(test)]
mod tests;
