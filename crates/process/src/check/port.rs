//! Whether a port can be listened on, or who is there already.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::report;
use crate::serve::{self, BindError};

use super::{Line, Section};

/// A port of the daemon that is checked.
#[derive(Debug, Clone, Copy)]
pub struct Port<'a> {
    /// The name of the line.
    pub check: &'static str,
    /// What it is for, such as `REST`.
    pub name: &'a str,
    /// The setting of the port.
    pub setting: &'a str,
    /// The address to bind; empty and `*` are all.
    pub host: &'a str,
    /// The port to bind.
    pub port: u16,
}

/// What became of an attempt to listen.
#[derive(Debug, PartialEq, Eq)]
pub enum Binding {
    /// Nobody is there.
    Free,
    /// Somebody is there, and can be asked at this address.
    Taken(SocketAddr),
    /// It can never be listened on.
    Impossible,
}

// === impl Port ===

impl Port<'_> {
    /// Tries to listen. All but a taken port is said at once; who takes it is for the caller to find out.
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

    /// Says that the port is taken by a stranger.
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
