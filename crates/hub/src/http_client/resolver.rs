//! Addresses of a host name.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use tokio::net::lookup_host;

/// Resolver of host names.
#[derive(Debug, Clone, Default)]
pub(crate) enum Resolver {
    /// Resolver of the operating system.
    #[default]
    System,
    /// Fixed addresses, in tests.
    #[cfg(test)]
    Table(std::sync::Arc<std::collections::HashMap<String, Vec<IpAddr>>>),
}

// === impl Resolver ===

impl Resolver {
    /// Resolves a host. An address is its own resolution.
    pub(super) async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let host = host.trim_matches(['[', ']']);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        match self {
            Self::System => Ok(lookup_host((host, port)).await?.collect()),
            #[cfg(test)]
            Self::Table(table) => {
                let found = table.get(host).ok_or_else(|| io::Error::other("no such host"))?;
                Ok(found.iter().map(|address| SocketAddr::new(*address, port)).collect())
            }
        }
    }
}
