//! Errors of credentials.

use crate::client::{in_cluster::InClusterError, kubeconfig::KubeconfigError, transport::login::LoginError};

/// Credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// This process does not run in a pod with a service account.
    #[error("use the pod's service account")]
    ServiceAccount(#[source] InClusterError),
    /// The kubeconfig cannot be read, or lacks something.
    #[error("load {kubeconfig}")]
    Kubeconfig {
        /// The file, or the setting with its contents.
        kubeconfig: String,
        /// The cause.
        source: KubeconfigError,
    },
    /// The text is not a kubeconfig. The message of the parser is left out, since it quotes the text.
    #[error("load {kubeconfig}: line {line} is not YAML of the expected form")]
    Unreadable {
        /// The file, or the setting with its contents.
        kubeconfig: String,
        /// Counted from 1; 0 if unknown.
        line: u64,
    },
    /// The context names a user that the kubeconfig lacks.
    #[error("load {kubeconfig}: there is no user {user:?}, which the context names")]
    NoSuchUser {
        /// The file, or the setting with its contents.
        kubeconfig: String,
        /// The user.
        user: String,
    },
    /// The bundle of authorities is empty, so no API server could be trusted.
    #[error("use the credentials of {origin}: the certificate authority's file or data holds no certificate")]
    NoAuthority {
        /// Source of the credentials.
        origin: String,
    },
    /// The certificates, keys, plugins or proxies that the credentials name cannot be used.
    #[error("use the credentials of {origin}")]
    Unusable {
        /// Source of the credentials.
        origin: String,
        /// The cause.
        source: Box<LoginError>,
    },
    /// Loading the credentials panicked.
    #[error("load the credentials of {origin}")]
    Panicked {
        /// Source of the credentials.
        origin: String,
        /// The panic.
        source: tokio::task::JoinError,
    },
}

// === impl ConnectError ===

impl ConnectError {
    /// Whether the kubeconfig file does not exist or cannot be read.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Kubeconfig { source: KubeconfigError::ReadConfig(..), .. })
    }

    /// Whether the kubeconfig lacks the context, or no context is selected.
    pub fn is_missing_context(&self) -> bool {
        use KubeconfigError::{CurrentContextNotSet, LoadContext};
        matches!(self, Self::Kubeconfig { source: CurrentContextNotSet | LoadContext(_), .. })
    }

    /// Whether the credential plugin failed.
    pub(crate) fn is_plugin(&self) -> bool {
        matches!(self, Self::Unusable { source, .. } if matches!(**source, LoginError::Plugin(_)))
    }
}
