//! Listening, with errors that name the setting.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::net::TcpListener;

/// A port that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process listens there.
    #[error("port {port} ({name}) is taken by another process; stop it or change {setting}")]
    Taken {
        /// Purpose of the port.
        name: String,
        /// The port.
        port: u16,
        /// The setting of the port.
        setting: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Anything else, such as an address that this machine does not have.
    #[error("listen on {host}:{port} ({name}, {setting})")]
    Listen {
        /// Purpose of the port.
        name: String,
        /// The address or name to listen on.
        host: String,
        /// The port.
        port: u16,
        /// The setting of the port.
        setting: String,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Listens on a port; an empty host and `*` stand for all addresses, port 0 for a free one.
pub async fn bind(name: &str, setting: &str, host: &str, port: u16) -> Result<TcpListener, BindError> {
    let listener = match host {
        "" | "*" => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                // No IPv6 on this machine.
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
            }
            both => both,
        },
        host => TcpListener::bind((host, port)).await,
    };
    listener.map_err(|source| {
        let (name, setting) = (name.to_owned(), setting.to_owned());
        if source.kind() == io::ErrorKind::AddrInUse {
            BindError::Taken { name, port, setting, source }
        } else {
            BindError::Listen { name, host: host.to_owned(), port, setting, source }
        }
    })
}
