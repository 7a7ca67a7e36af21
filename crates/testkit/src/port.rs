//! Free loopback ports.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use parking_lot::Mutex;

/// Below Linux' range for outgoing connections (32768 and up): while a server of ours is down, no outgoing
/// connection can take its port by chance.
const RANGE: std::ops::Range<u16> = 15_000..32_000;

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// Finds a loopback port that nothing listens on, and that this process is never given again.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(RANGE);
        if TcpListener::bind(loopback(port)).is_ok() && GIVEN.lock().insert(port) {
            return port;
        }
    }
}

/// The address that goes with a port of ours.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
