//! Credentials and options of a client.

mod error;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

pub use error::ConnectError;

/// Source of the credentials, which also names the API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    /// The service account of the pod that this process runs in.
    ServiceAccount,
    /// A context of a kubeconfig file.
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The context; the current one of the file if none.
        context: Option<String>,
    },
    /// A context of a kubeconfig that is in no file.
    Contents {
        /// The kubeconfig.
        kubeconfig: KubeconfigText,
        /// The context; its current one if none.
        context: Option<String>,
    },
}

/// Text of a kubeconfig. `Debug` hides it, since it holds secrets.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct KubeconfigText(Arc<str>);

/// Options of a client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiOptions {
    /// Timeout of a response (of a watch: until it begins); 30 s if not set.
    pub request_timeout: Option<Duration>,
    /// Accepts every certificate of the API server.
    pub insecure: bool,
    /// Ignores the proxies that the kubeconfig or the environment name.
    pub no_proxy: bool,
    /// Service account to impersonate, as `system:serviceaccount:<namespace>:<name>`. The credentials must be allowed to
    /// impersonate it; the `as` fields of the kubeconfig are then ignored.
    pub impersonate: Option<String>,
}

// === impl Credentials ===

impl Credentials {
    /// Names the source, for messages.
    pub fn origin(&self) -> String {
        match self {
            Self::Kubeconfig { context: Some(context), .. }
            | Self::Contents { context: Some(context), .. } => {
                format!("context {context} of {}", self.source_name())
            }
            _ => self.source_name(),
        }
    }

    /// Names the source without the context.
    pub(crate) fn source_name(&self) -> String {
        match self {
            Self::ServiceAccount => "the pod's service account".to_owned(),
            Self::Kubeconfig { path, .. } => format!("kubeconfig {}", path.display()),
            Self::Contents { .. } => "kubeconfigContents".to_owned(),
        }
    }
}

// === impl KubeconfigText ===

impl KubeconfigText {
    /// Returns the text.
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
