//! Free loopback ports.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::LazyLock;

use parking_lot::Mutex;

/// Below Linux' range for outgoing connections (32768 and up): while a server of ours is down, no outgoing
/// connection can take its port by chance.
const RANGE: Range<u16> = 15_000..31_000;

/// Ports that one process may use: a suite of 300 tests takes about four for each. Eight processes fit side by side.
const SLICE: u16 = 2_000;

/// The ports of this process: while one of its servers is down, no other test process takes its port.
static PORTS: LazyLock<Slice> = LazyLock::new(Slice::reserve);

static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

struct Slice {
    ports: Range<u16>,
    /// Locked until this process ends.
    _lock: Option<File>,
}

/// Finds a loopback port that nothing listens on, and that this process is never given again.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(PORTS.ports.clone());
        // A port that was given is not probed: the probe would hold it while its server binds it.
        if GIVEN.lock().insert(port) && TcpListener::bind(loopback(port)).is_ok() {
            return port;
        }
    }
}

/// The address that goes with a port of ours.
pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

// === impl Slice ===

impl Slice {
    /// Locks a part of the range that no other process has; all of the range if each part is taken.
    fn reserve() -> Self {
        for start in RANGE.step_by(usize::from(SLICE)) {
            let path = std::env::temp_dir().join(format!("spindrift-test-ports-{start}.lock"));
            let lock = File::options().create(true).append(true).open(path);
            if let Ok(lock) = lock
                && lock.try_lock().is_ok()
            {
                return Self { ports: start..start + SLICE, _lock: Some(lock) };
            }
        }
        Self { ports: RANGE, _lock: None }
    }
}
