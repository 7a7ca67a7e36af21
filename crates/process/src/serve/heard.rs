//! Deduplicates log lines about the same peer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A misconfigured agent tries again every few seconds, a health check too; once is enough for a while.
const QUIET: Duration = Duration::from_mins(10);

/// Peers to remember: an address and a sentence are about 200 bytes, so 200 KB.
const CAPACITY: usize = 1024;

/// Recent log lines.
#[derive(Debug, Default)]
pub(super) struct Heard {
    said: Mutex<HashMap<(IpAddr, String), Instant>>,
}

// === impl Heard ===

impl Heard {
    /// Whether the line was not logged recently.
    pub(super) fn is_news(&self, peer: IpAddr, sentence: &str) -> bool {
        let mut said = self.said.lock();
        let now = Instant::now();
        if said.len() >= CAPACITY {
            said.retain(|_, at| now.duration_since(*at) < QUIET);
        }
        if said.len() >= CAPACITY {
            said.clear();
        }
        let before = said.get(&(peer, sentence.to_owned()));
        if before.is_some_and(|at| now.duration_since(*at) < QUIET) {
            return false;
        }
        said.insert((peer, sentence.to_owned()), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn repetition_is_no_news() {
        let heard = Heard::default();
        let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(heard.is_news(peer, "a"));
        assert!(!heard.is_news(peer, "a"));
        assert!(heard.is_news(peer, "b"));
        assert!(heard.is_news(Ipv4Addr::BROADCAST.into(), "a"));
    }

    #[test]
    fn memory_is_bounded() {
        let heard = Heard::default();
        for peer in 0..5_000_u32 {
            heard.is_news(Ipv4Addr::from(peer).into(), "a");
        }
        assert!(heard.said.lock().len() <= CAPACITY);
    }
}
