//! Errors of credentials. None of them quotes a secret.

use std::{io, path::PathBuf, time::Duration};

use spindrift_process::{proxy::ProxyError, tls::TlsError};

/// Part of the credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// A file cannot be read.
    #[error("read the {what} from {}", path.display())]
    File {
        /// Content of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A value does not have the expected form.
    #[error("the {what} is not {expected}")]
    Malformed {
        /// The value.
        what: &'static str,
        /// The expected form.
        expected: &'static str,
    },
    /// A certificate without a key, or a key without a certificate.
    #[error("there is a {found}, but not the {missing} that belongs to it")]
    Alone {
        /// The part that is there.
        found: &'static str,
        /// The part that is missing.
        missing: &'static str,
    },
    /// The certificates and keys cannot be used.
    #[error("prepare TLS")]
    Tls(#[from] TlsError),
    /// The proxy cannot be used.
    #[error("use the proxy to the API server")]
    Proxy(#[from] ProxyError),
    /// The credential plugin failed.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// Kubernetes has removed this method.
    #[error("the auth-provider {name:?} is not supported; use a credential plugin (exec) instead")]
    AuthProvider {
        /// Name of the provider.
        name: String,
    },
    /// The name to impersonate is not a service account.
    #[error("expected system:serviceaccount:<namespace>:<name> as the user to impersonate, found {found:?}")]
    Impersonate {
        /// The configured name.
        found: String,
    },
}

/// Failure of a credential plugin.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The kubeconfig names no command.
    #[error("the credential plugin has no command")]
    NoCommand,
    /// The plugin needs a terminal.
    #[error(
        "the credential plugin {command} is interactive (interactiveMode: Always), which is not supported"
    )]
    Interactive {
        /// The command.
        command: String,
    },
    /// The command cannot be run.
    #[error("the credential plugin {command} cannot be run{hint}")]
    Start {
        /// The command.
        command: String,
        /// `installHint` of the kubeconfig.
        hint: String,
        /// The cause.
        source: io::Error,
    },
    /// The command failed.
    #[error("the credential plugin {command} failed ({status}): {stderr}")]
    Failed {
        /// The command.
        command: String,
        /// Exit status.
        status: String,
        /// End of its stderr.
        stderr: String,
    },
    /// The command did not exit in time.
    #[error("the credential plugin {command} did not exit within {limit:?}")]
    TimedOut {
        /// The command.
        command: String,
        /// The timeout.
        limit: Duration,
    },
    /// The output is not an `ExecCredential`.
    #[error("the credential plugin {command} printed no usable ExecCredential: {problem}")]
    Malformed {
        /// The command.
        command: String,
        /// The problem, without a quote of the output.
        problem: &'static str,
    },
}
