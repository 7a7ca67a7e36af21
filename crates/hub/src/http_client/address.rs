//! Classes of addresses, by their special purpose (IANA's registries).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Purpose of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressClass {
    Public,
    /// Loopback and unspecified addresses: this host.
    Localhost,
    LinkLocal,
    /// Addresses of private networks, also of providers (100.64.0.0/10).
    Private,
    /// Multicast, broadcast, documentation, and ranges without a use.
    Reserved,
}

// === impl AddressClass ===

impl AddressClass {
    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            // 0.0.0.0 reaches this host, the rest of 0.0.0.0/8 is "this network".
            [0 | 127, ..] => Self::Localhost,
            [169, 254, ..] => Self::LinkLocal,
            [10, ..] | [172, 16..32, ..] | [192, 168, ..] | [100, 64..128, ..] | [198, 18..20, ..] => {
                Self::Private
            }
            [192, 0, 0 | 2, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [192, 88, 99, _]
            | [224..=255, ..] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let embedded = |high: u16, low: u16| {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            Self::of_v4(Ipv4Addr::new(a, b, c, d))
        };
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::Localhost,
            // IPv4 addresses in IPv6: mapped, compatible, translated, NAT64, and 6to4.
            [0, 0, 0, 0, 0, 0xffff | 0, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => embedded(high, low),
            [0xfe80..0xfec0, ..] => Self::LinkLocal,
            // Unique local, site local, and NAT64 of a local network.
            [0xfc00..0xfe00 | 0xfec0..0xff00, ..] | [0x64, 0xff9b, 1, ..] => Self::Private,
            // Protocol assignments (with Teredo) and documentation.
            [0x2001, 0..0x200 | 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => Self::Reserved,
            // Only 2000::/3 is given out.
            [0x2000..0x4000, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }
}

/// Whether an address is one of this host's interfaces: only those can be bound. Nothing is sent.
pub(super) fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classified_in_every_notation() {
        use AddressClass::{LinkLocal, Localhost, Private, Public, Reserved};
        let table: &[(AddressClass, &[&str])] = &[
            (
                Public,
                &["1.1.1.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"],
            ),
            (
                Localhost,
                &[
                    "127.0.0.1",
                    "127.9.9.9",
                    "0.0.0.0",
                    "0.1.2.3",
                    "::1",
                    "::",
                    "::ffff:127.0.0.1",
                    "::127.0.0.1",
                    "::ffff:0:127.0.0.1",
                    "64:ff9b::7f00:1",
                    "2002:7f00:1::",
                    "::ffff:0.0.0.0",
                ],
            ),
            (
                LinkLocal,
                &["169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"],
            ),
            (
                Private,
                &[
                    "10.0.0.1",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.1.1",
                    "100.64.0.1",
                    "198.18.0.1",
                    "fc00::1",
                    "fd12:3456:789a:1::1",
                    "fec0::1",
                    "64:ff9b:1::1",
                    "::ffff:10.0.0.1",
                    "2002:c0a8:101::1",
                ],
            ),
            (
                Reserved,
                &[
                    "224.0.0.1",
                    "255.255.255.255",
                    "240.0.0.1",
                    "192.0.2.1",
                    "ff02::1",
                    "2001::1",
                    "2001:db8::1",
                    "100::1",
                    "4000::1",
                    "5f00::1",
                ],
            ),
        ];
        for (class, addresses) in table {
            for address in *addresses {
                assert_eq!(AddressClass::of(address.parse().unwrap()), *class, "{address}");
            }
        }
    }

    #[test]
    fn addresses_of_this_host_are_recognised() {
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("192.0.2.1".parse().unwrap()));
    }
}
