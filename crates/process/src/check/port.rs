//! Check of a port: it can be bound, or something already listens on it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::report;
use crate::serve::{self, BindError};

use super::{Line, Section};

/// A port of the daemon that is checked.
#[derive(Debug, Clone, Copy)]
pub struct Port<'a> {
    /// The name of the line.
    pub check: &'static str,
    /// Its purpose, such as `REST`.
    pub name: &'a str,
    /// The setting of the port.
    pub setting: &'a str,
    /// The address to bind; empty and `*` are all.
    pub host: &'a str,
    /// The port to bind.
    pub port: u16,
}

/// Result of an attempt to listen.
#[derive(Debug, PartialEq, Eq)]
pub enum Binding {
    /// The port is free.
    Free,
    /// The port is taken; its holder can be reached at this address.
    Taken(SocketAddr),
    /// It can never be listened on.
    Impossible,
}

// === impl Port ===

impl Port<'_> {
    /// Tries to listen. Reports every result except a taken port, whose holder the caller finds out.
    pub async fn bind(&self, section: &mut Section) -> Binding {
        let Self { check, name, setting, host, port } = *self;
        match serve::bind(name, setting, host, port).await {
            Ok(_) => {
                section.ok(check, format!("port {port} is free"));
                Binding::Free
            }
            Err(BindError::Taken { .. }) => Binding::Taken(self.local()),
            Err(error) => {
                let remedy =
                    format!("correct {setting}, or the address beside it; ports below 1024 need privileges");
                section.wrong(check, report(&error), remedy);
                Binding::Impossible
            }
        }
    }

    /// Reports that another program holds the port.
    pub fn taken(&self, who: &str) -> Line {
        let Self { check, name, setting, port, .. } = self;
        Line::wrong(
            check,
            format!("port {port} ({name}) is taken by {who}"),
            format!("stop it, or change {setting}"),
        )
    }

    fn local(&self) -> SocketAddr {
        let address = self.host.parse::<IpAddr>().ok().filter(|address| !address.is_unspecified());
        SocketAddr::new(address.unwrap_or(Ipv4Addr::LOCALHOST.into()), self.port)
    }
}
