//! `NO_PROXY`: those that are reached directly.

use std::net::IpAddr;

/// One entry of `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exception {
    /// `*`
    Everything,
    /// `10.0.0.0/8`
    Network { address: IpAddr, bits: u32 },
    /// `10.1.2.3`, `[::1]:6443`
    Address { address: IpAddr, port: Option<u16> },
    /// `example.com` with all below it, or `.example.com` (also `*.example.com`) only what is below it.
    Name { name: String, itself: bool, port: Option<u16> },
}

/// Whether a host is this machine by its very name.
pub(super) fn is_here(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

// === impl Exception ===

impl Exception {
    /// Parses a list with commas; an invalid entry covers nothing.
    pub(super) fn parse_list(list: &str) -> Vec<Self> {
        list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).filter_map(Self::parse).collect()
    }

    fn parse(entry: &str) -> Option<Self> {
        if entry == "*" {
            return Some(Self::Everything);
        }
        if let Some((address, bits)) = entry.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits = bits.parse().ok().filter(|bits| *bits <= width(address))?;
            return Some(Self::Network { address, bits });
        }
        if let Ok(address) = entry.trim_matches(['[', ']']).parse() {
            return Some(Self::Address { address, port: None });
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (entry, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Some(Self::Address { address, port });
        }
        let name = host.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(host);
        let (name, itself) = name.strip_prefix('.').map_or((name, true), |below| (below, false));
        (!name.is_empty()).then(|| Self::Name { name: name.to_ascii_lowercase(), itself, port })
    }

    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        let fits = |wanted: Option<u16>| wanted.is_none_or(|wanted| wanted == port);
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let place: Option<IpAddr> = host.parse().ok();
        match self {
            Self::Everything => true,
            Self::Network { address, bits } => place.is_some_and(|place| shares(*address, place, *bits)),
            Self::Address { address, port } => place == Some(*address) && fits(*port),
            Self::Name { name, itself, port } => {
                let above = host.strip_suffix(name.as_str());
                fits(*port) && above.is_some_and(|rest| rest.ends_with('.') || (*itself && rest.is_empty()))
            }
        }
    }
}

fn width(address: IpAddr) -> u32 {
    if address.is_ipv4() { u32::BITS } else { u128::BITS }
}

/// Whether two addresses have their first bits in common.
fn shares(a: IpAddr, b: IpAddr, bits: u32) -> bool {
    let differing = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()),
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    differing.checked_shr(width(a) - bits).unwrap_or(0) == 0
}
