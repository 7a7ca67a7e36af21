//! From a name to a connection: DNS, then the dial.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::{DEADLINE, Section};

/// A name may have an address of each family; more are replicas, of which the first will do.
const ADDRESSES: usize = 3;

/// Packets that a firewall drops are not answered at all.
const DIAL: Duration = Duration::from_secs(3);

/// Expected listener, and the setting to change if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Setting or file that names it.
    pub setting: String,
}

// === impl Place ===

impl Place {
    /// Reads `host:port`, in which an address of IPv6 stands in brackets; a scheme in front is ignored.
    pub fn parse(address: &str, default_port: Option<u16>, setting: &str) -> Option<Self> {
        let bare = address.split_once("://").map_or(address, |(_, rest)| rest);
        let bare = bare.split('/').next().unwrap_or_default();
        let (host, port) = match bare.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (bare, default_port?),
        };
        let host = host.trim_matches(['[', ']']);
        (!host.is_empty()).then(|| Self { host: host.to_owned(), port, setting: setting.to_owned() })
    }

    /// Resolves the name and dials; reports the results as the lines `dns` and `dial`.
    pub async fn reach(&self, section: &mut Section) -> Option<SocketAddr> {
        let Some(addresses) = self.resolve(section).await else {
            section.skip(&["dial"], "the name is not known");
            return None;
        };
        self.dial(&addresses, section).await
    }

    async fn resolve(&self, section: &mut Section) -> Option<Vec<SocketAddr>> {
        let Self { host, port, setting } = self;
        if let Ok(address) = host.parse::<IpAddr>() {
            section.ok("dns", format!("{host} is an address"));
            return Some(vec![SocketAddr::new(address, *port)]);
        }
        let remedy = format!(
            "correct the host in {setting}, or the DNS of this machine (in a pod: name the Service with its namespace)"
        );
        match timeout(DEADLINE, lookup_host((host.as_str(), *port))).await {
            Ok(Ok(found)) => {
                let found: Vec<_> = found.take(ADDRESSES).collect();
                let shown: Vec<_> = found.iter().map(|address| address.ip().to_string()).collect();
                section.ok("dns", format!("{host} is {}", shown.join(", ")));
                Some(found)
            }
            Ok(Err(error)) => {
                section.wrong("dns", format!("{host} is not known: {error}"), remedy);
                None
            }
            Err(_) => {
                section.wrong("dns", format!("nobody said within {DEADLINE:?} what {host} is"), remedy);
                None
            }
        }
    }

    async fn dial(&self, addresses: &[SocketAddr], section: &mut Section) -> Option<SocketAddr> {
        let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
        let mut at = String::new();
        for address in addresses {
            match timeout(DIAL, TcpStream::connect(address)).await {
                Ok(Ok(_)) => {
                    section.ok("dial", format!("{address} takes connections"));
                    return Some(*address);
                }
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
            at = address.to_string();
        }
        let setting = &self.setting;
        let (found, remedy) = match failure.kind() {
            io::ErrorKind::ConnectionRefused => (
                format!("{at} refuses connections: nothing listens on that port"),
                format!("start what should listen there, or correct the port in {setting}"),
            ),
            io::ErrorKind::TimedOut => (
                format!("{at} does not answer within {DIAL:?}: packets get lost on the way"),
                format!("let firewalls and network policies pass TCP to this port, or correct {setting}"),
            ),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => (
                format!("there is no way to {at} from here"),
                format!("check the routes of this machine, or correct {setting}"),
            ),
            _ => (format!("{at} cannot be dialled: {failure}"), format!("correct {setting}")),
        };
        section.wrong("dial", found, remedy);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, host, port) in [
            ("hub:9091", "hub", 9091),
            ("https://hub.example.com:1/prefix", "hub.example.com", 1),
            ("[::1]:9091", "::1", 9091),
            ("[::1]", "::1", 443),
            ("hub", "hub", 443),
        ] {
            let place = Place::parse(text, Some(443), "s").unwrap();
            assert_eq!((place.host.as_str(), place.port), (host, port), "{text}");
        }
        for text in ["", ":1", "hub:port", "hub:99999"] {
            assert_eq!(Place::parse(text, Some(443), "s"), None, "{text}");
        }
        assert_eq!(Place::parse("hub", None, "s"), None);
    }
}
