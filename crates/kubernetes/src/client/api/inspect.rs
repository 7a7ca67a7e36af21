//! A look at credentials before they are used: for those who want to know why they do not work.

use std::{fmt, fs};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Uri;

use crate::client::{
    credentials::{ApiOptions, ConnectError, Credentials},
    kubeconfig::{AuthInfo, Kubeconfig},
    transport::login::Reading,
};

/// What credentials say of their API server, and how they prove who they are.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The API server's address.
    pub server: Uri,
    /// Who is trusted to sign its certificate (DER); the system's authorities if none are named.
    pub authorities: Option<Vec<Vec<u8>>>,
    /// Whether every certificate is accepted.
    pub insecure: bool,
    /// The name that its certificate must have, instead of the one in the address.
    pub server_name: Option<String>,
    /// The proxy on the way, without the password that may belong to it.
    pub proxy: Option<String>,
    /// How they prove who they are.
    pub way: Way,
}

/// How credentials prove who they are. Nothing secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A certificate (PEM, without its key).
    Certificate(Vec<u8>),
    /// A bearer token, in the kubeconfig or in a file.
    Token,
    /// A program that is run to get a token or a certificate.
    Plugin {
        /// What is run.
        command: String,
    },
    /// A name and a password.
    Password,
    /// Not at all.
    Nobody,
}

// === impl Credentials ===

impl Credentials {
    /// Loads the credentials and tells what is in them, without running or sending anything.
    pub fn inspect(&self, options: &ApiOptions) -> Result<Inspection, ConnectError> {
        let reading = Reading::of(self, options)?;
        Ok(Inspection {
            way: Way::of(&reading.user),
            server: reading.server,
            authorities: reading.authorities,
            insecure: reading.insecure,
            server_name: reading.server_name,
            proxy: reading.proxy.map(|proxy| proxy.to_string()),
        })
    }

    /// The contexts that could be named instead.
    pub fn contexts(&self) -> Vec<String> {
        let Self::Kubeconfig { path, .. } = self else { return Vec::new() };
        Kubeconfig::read_from(path).map(|file| file.context_names()).unwrap_or_default()
    }
}

// === impl Way ===

impl Way {
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
        if user.username.is_some() { Self::Password } else { Self::Nobody }
    }
}

/// A file that is not there is found out when the credentials are used.
fn certificate(user: &AuthInfo) -> Option<Vec<u8>> {
    match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) => BASE64_STANDARD.decode(data).ok(),
        (None, Some(file)) => fs::read(file).ok(),
        (None, None) => None,
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(_) => f.write_str("a client certificate"),
            Self::Token => f.write_str("a token"),
            Self::Plugin { command } => write!(f, "the plugin {command}"),
            Self::Password => f.write_str("a password"),
            Self::Nobody => f.write_str("nothing"),
        }
    }
}
