//! Why credentials cannot be used. Nothing here quotes them.

use std::{io, path::PathBuf, time::Duration};

use spindrift_process::{proxy::ProxyError, tls::TlsError};

/// Something that credentials name and that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// A file cannot be read.
    #[error("read the {what} from {}", path.display())]
    File {
        /// What is in it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Something is not what it should be.
    #[error("the {what} is not {expected}")]
    Malformed {
        /// What.
        what: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// A certificate without a key, or a key without a certificate.
    #[error("there is a {found}, but not the {missing} that belongs to it")]
    Alone {
        /// What is there.
        found: &'static str,
        /// What is not there.
        missing: &'static str,
    },
    /// The certificates and keys do not work.
    #[error("prepare TLS")]
    Tls(#[from] TlsError),
    /// The proxy cannot be used.
    #[error("find the way to the API server")]
    Proxy(#[from] ProxyError),
    /// The credential plugin did not give any.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// Kubernetes itself has given this up.
    #[error("the auth-provider {name:?} is not supported; use a credential plugin (exec) instead")]
    AuthProvider {
        /// Which one.
        name: String,
    },
    /// The name to act under makes no sense.
    #[error("expected system:serviceaccount:<namespace>:<name> as the one to act for, found {found:?}")]
    Impersonate {
        /// What was asked for.
        found: String,
    },
}

/// A credential plugin that did not give credentials.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// The kubeconfig does not say what to run.
    #[error("the credential plugin has no command")]
    NoCommand,
    /// It wants to ask questions.
    #[error(
        "the credential plugin {command} wants to ask somebody (interactiveMode: Always), and nobody is there"
    )]
    Interactive {
        /// What should be run.
        command: String,
    },
    /// It cannot be run at all.
    #[error("the credential plugin {command} cannot be run{hint}")]
    Start {
        /// What should be run.
        command: String,
        /// What the kubeconfig says about installing it.
        hint: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// It ended badly.
    #[error("the credential plugin {command} failed ({status}): {words}")]
    Failed {
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// What it wrote to stderr.
        words: String,
    },
    /// It does not end.
    #[error("the credential plugin {command} did not end within {limit:?}")]
    TimedOut {
        /// What was run.
        command: String,
        /// What was allowed.
        limit: Duration,
    },
    /// It printed something else.
    #[error("the credential plugin {command} printed no usable ExecCredential: {problem}")]
    Malformed {
        /// What was run.
        command: String,
        /// What is wrong, without a word of what it printed.
        problem: &'static str,
    },
}
