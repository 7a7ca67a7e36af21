//! Why TLS could not be set up.

use std::io;
use std::path::PathBuf;

use rustls::pki_types::{InvalidDnsNameError, pem};

/// TLS settings that cannot be used; each variant names the setting and the file.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file could not be read.
    #[error("{setting}: read {}", file.display())]
    Read {
        /// The setting that names the file.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is not PEM.
    #[error("{setting}: {} is not PEM", file.display())]
    Pem {
        /// The setting that names the file.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Problem.
        source: pem::Error,
    },
    /// A file does not contain the expected kind of item.
    #[error("{setting}: {} holds no {wanted}", file.display())]
    Empty {
        /// The setting that names the file.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Expected item.
        wanted: &'static str,
    },
    /// The private key is protected by a password, and cannot be opened.
    #[error("{setting}: {} is encrypted, and {reason}", file.display())]
    EncryptedKey {
        /// The setting that names the file.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Why it cannot be opened.
        reason: &'static str,
    },
    /// The content of a file was refused, for example because key and certificate do not belong together.
    #[error("{setting}: {} cannot be used", file.display())]
    Refused {
        /// The setting that names the file.
        setting: String,
        /// The file.
        file: PathBuf,
        /// Error of rustls.
        source: rustls::Error,
    },
    /// One of certificate and key is set without the other.
    #[error("{setting} is set but the {missing} that belongs to it is not")]
    Alone {
        /// The setting that is there.
        setting: String,
        /// Missing setting.
        missing: &'static str,
    },
    /// The system has no trusted certificates.
    #[error("no trusted certificates on this system ({problems}); name a file of them in the TLS settings")]
    NoRoots {
        /// Failed step.
        problems: String,
    },
    /// The verifier of client certificates could not be made.
    #[error("trust for client certificates")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
    /// The name to expect of the server is not a host name.
    #[error("`{name}` is not a host name")]
    ServerName {
        /// The name.
        name: String,
        /// Why not.
        source: InvalidDnsNameError,
    },
    /// The TLS library refused the settings as a whole.
    #[error("TLS settings")]
    Settings(#[from] rustls::Error),
}
