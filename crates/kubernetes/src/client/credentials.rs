//! From credentials to an API: everything is checked here that can be checked without the network.

mod error;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

pub use error::ConnectError;

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
    /// A context of a kubeconfig that is in no file.
    Contents {
        /// The kubeconfig.
        kubeconfig: KubeconfigText,
        /// The context; its current one if none is named.
        context: Option<String>,
    },
}

/// The text of a kubeconfig; never shown, since it holds secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KubeconfigText(Arc<str>);

/// How to talk to the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiOptions {
    /// How long an answer may take (a watch: until it begins); 30 s if not set.
    pub request_timeout: Option<Duration>,
    /// Whether to accept every certificate of the API server.
    pub insecure: bool,
    /// Whether to ignore the proxies that the kubeconfig or the environment name.
    pub no_proxy: bool,
    /// The service account to act for, as `system:serviceaccount:<namespace>:<name>`. The credentials must be allowed to
    /// impersonate it; whom the kubeconfig says to act for is then ignored.
    pub impersonate: Option<String>,
}

// === impl Credentials ===

impl Credentials {
    /// Where they come from, for people.
    pub fn origin(&self) -> String {
        match self {
            Self::Kubeconfig { context: Some(context), .. }
            | Self::Contents { context: Some(context), .. } => {
                format!("context {context} of {}", self.place())
            }
            _ => self.place(),
        }
    }

    /// The same without the context.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::ServiceAccount => "the pod's service account".to_owned(),
            Self::Kubeconfig { path, .. } => format!("kubeconfig {}", path.display()),
            Self::Contents { .. } => "kubeconfigContents".to_owned(),
        }
    }
}

// === impl KubeconfigText ===

impl KubeconfigText {
    /// The text itself.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for KubeconfigText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for KubeconfigText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests;
