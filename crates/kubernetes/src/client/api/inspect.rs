//! Inspection of credentials without using them, for preflight checks.

use std::{fmt, fs};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Uri;

use crate::client::{
    credentials::{ApiOptions, ConnectError, Credentials},
    kubeconfig::{AuthInfo, Kubeconfig},
    transport::login::LoadedCredentials,
};

/// API server that credentials name, and their method of authentication.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// Address of the API server.
    pub server: Uri,
    /// Trusted authorities (DER); those of the system if none are named.
    pub authorities: Option<Vec<Vec<u8>>>,
    /// Set if every certificate is accepted.
    pub insecure: bool,
    /// Name that its certificate must have, instead of the host of the address.
    pub server_name: Option<String>,
    /// Proxy before it, without a password.
    pub proxy: Option<String>,
    /// Method of authentication.
    pub auth_method: AuthMethod,
}

/// Method of authentication. It holds nothing secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthMethod {
    /// A client certificate (PEM, without its key).
    Certificate(Vec<u8>),
    /// A bearer token, in the kubeconfig or in a file.
    Token,
    /// A credential plugin.
    Plugin {
        /// Command of the plugin.
        command: String,
    },
    /// A user name and a password.
    Password,
    /// None.
    Anonymous,
}

// === impl Credentials ===

impl Credentials {
    /// Loads the credentials, without running a plugin or sending a request.
    pub fn inspect(&self, options: &ApiOptions) -> Result<Inspection, ConnectError> {
        let loaded = LoadedCredentials::of(self, options)?;
        Ok(Inspection {
            auth_method: AuthMethod::of(&loaded.user),
            server: loaded.server,
            authorities: loaded.authorities,
            insecure: loaded.insecure,
            server_name: loaded.server_name,
            proxy: loaded.proxy.map(|proxy| proxy.to_string()),
        })
    }

    /// Returns the names of the contexts in the kubeconfig file; none if it cannot be read.
    pub fn contexts(&self) -> Vec<String> {
        let Self::Kubeconfig { path, .. } = self else { return Vec::new() };
        Kubeconfig::read_from(path).map(|file| file.context_names()).unwrap_or_default()
    }
}

// === impl AuthMethod ===

impl AuthMethod {
    fn of(user: &AuthInfo) -> Self {
        if let Some(exec) = &user.exec {
            return Self::Plugin { command: exec.command.clone().unwrap_or_default() };
        }
        if user.token.is_some() || user.token_file.is_some() {
            return Self::Token;
        }
        if let Some(certificate) = certificate(user) {
            return Self::Certificate(certificate);
        }
        if user.username.is_some() { Self::Password } else { Self::Anonymous }
    }
}

/// Returns the client certificate; a missing file is reported when the credentials are used.
fn certificate(user: &AuthInfo) -> Option<Vec<u8>> {
    match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) => BASE64_STANDARD.decode(data).ok(),
        (None, Some(file)) => fs::read(file).ok(),
        (None, None) => None,
    }
}

impl fmt::Display for AuthMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(_) => f.write_str("a client certificate"),
            Self::Token => f.write_str("a token"),
            Self::Plugin { command } => write!(f, "the plugin {command}"),
            Self::Password => f.write_str("a password"),
            Self::Anonymous => f.write_str("nothing"),
        }
    }
}
