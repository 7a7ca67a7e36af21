//! Why credentials cannot be used.

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
        /// The file, or what stands in for it.
        kubeconfig: String,
        /// What is wrong.
        source: KubeconfigError,
    },
    /// This is not a kubeconfig. The parser's own words are left out: they quote what they read.
    #[error("load {kubeconfig}: line {line} is not YAML of the expected form")]
    Unreadable {
        /// The file, or what stands in for it.
        kubeconfig: String,
        /// Counted from 1; 0 if it is not known.
        line: u64,
    },
    /// A context names a user that is not there.
    #[error("load {kubeconfig}: there is no user {user:?}, which the context names")]
    NoSuchUser {
        /// The file, or what stands in for it.
        kubeconfig: String,
        /// The user.
        user: String,
    },
    /// With an empty bundle no API server could ever be trusted.
    #[error("use the credentials of {origin}: the certificate authority's file or data holds no certificate")]
    NoAuthority {
        /// Where they come from.
        origin: String,
    },
    /// The certificates, keys, plugins or proxies that the credentials name cannot be used.
    #[error("use the credentials of {origin}")]
    Unusable {
        /// Where they come from.
        origin: String,
        /// What is wrong.
        source: Box<LoginError>,
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

    /// Whether the credential plugin is what failed.
    pub(crate) fn is_plugin(&self) -> bool {
        matches!(self, Self::Unusable { source, .. } if matches!(**source, LoginError::Plugin(_)))
    }
}
