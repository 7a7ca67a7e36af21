//! Service account of the pod that this process runs in.

use std::{
    env, fs, io,
    net::{IpAddr, SocketAddr},
    num::ParseIntError,
};

use http::{Uri, uri::InvalidUri};

/// Address of the API server and the mounted files of the service account.
pub(crate) struct InCluster {
    pub(crate) server: Uri,
    /// PEM.
    pub(crate) certificate_authority: Vec<u8>,
}

/// A process that does not run in a pod, or in one without a service account.
#[derive(Debug, thiserror::Error)]
pub enum InClusterError {
    /// `KUBERNETES_SERVICE_HOST` or `KUBERNETES_SERVICE_PORT` is not set.
    #[error("failed to read an incluster environment variable: {0}")]
    ReadEnvironmentVariable(#[source] env::VarError),
    /// The certificate authority is not mounted.
    #[error("failed to read a certificate bundle: {0}")]
    ReadCertificateBundle(#[source] io::Error),
    /// The port is not a number.
    #[error("failed to parse cluster port: {0}")]
    ParseClusterPort(#[source] ParseIntError),
    /// The host is not one.
    #[error("failed to parse cluster url: {0}")]
    ParseClusterUrl(#[source] InvalidUri),
}

/// File of the token, which kubelet rotates.
pub(crate) const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// File of the certificate authority, which kubelet rotates, too.
pub(crate) const CA_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

const HTTPS_PORT: u16 = 443;

// === impl InCluster ===

impl InCluster {
    /// Reads the environment and the certificate authority; as in client-go, host and port must both be set.
    pub(crate) fn read() -> Result<Self, InClusterError> {
        let variable = |name| env::var(name).map_err(InClusterError::ReadEnvironmentVariable);
        let host = variable("KUBERNETES_SERVICE_HOST")?;
        let port = variable("KUBERNETES_SERVICE_PORT")?.parse().map_err(InClusterError::ParseClusterPort)?;
        Ok(Self {
            server: server(&host, port).parse().map_err(InClusterError::ParseClusterUrl)?,
            certificate_authority: fs::read(CA_FILE).map_err(InClusterError::ReadCertificateBundle)?,
        })
    }
}

fn server(host: &str, port: u16) -> String {
    match (host.parse(), port) {
        (Ok(IpAddr::V6(ip)), HTTPS_PORT) => format!("https://[{ip}]"),
        (_, HTTPS_PORT) => format!("https://{host}"),
        (Ok(ip), port) => format!("https://{}", SocketAddr::new(ip, port)),
        (Err(_), port) => format!("https://{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_become_addresses() {
        for (host, port, expected) in [
            ("fake.io", 8080, "https://fake.io:8080"),
            ("kubernetes.default.svc", 443, "https://kubernetes.default.svc"),
            ("10.11.12.13", 6443, "https://10.11.12.13:6443"),
            ("10.11.12.13", 443, "https://10.11.12.13"),
            ("::1", 443, "https://[::1]"),
            ("fd00::1", 6443, "https://[fd00::1]:6443"),
        ] {
            assert_eq!(server(host, port), expected);
            assert!(expected.parse::<Uri>().is_ok());
        }
    }
}
