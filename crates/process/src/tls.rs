//! TLS for servers and clients from PEM files, with rustls and aws-lc-rs.
//!
//! Settings come as [`PemFile`]s, which carry the key they were written under, so each error names for the operator
//! which setting and which file to look at.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

mod client;
mod encrypted_key;
mod error;
mod pem;
mod rotating;
mod server;
mod skip_verify;

#[cfg(test)]
mod tests;

pub use self::client::{ClientTls, ClientTlsFiles, ClientTlsParts, Trust};
pub(crate) use self::client::{anyone, trusting};
pub use self::error::TlsError;
pub use self::pem::PemFile;
pub(crate) use self::pem::native_roots;
pub use self::rotating::RotatingClientTls;
pub use self::server::{ClientAuth, ServerTls, ServerTlsFiles};

/// Makes aws-lc-rs the provider of all TLS in this process; call it first in `main`.
///
/// Our own configurations name the provider anyway, but the Kubernetes client and the database drivers take
/// the default. Calling it again changes nothing.
pub fn install_provider() {
    if aws_lc_rs::default_provider().install_default().is_err() {
        tracing::debug!("TLS provider was installed before");
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
