//! Handshakes in progress: a bounded number, of which one address gets a part.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

use super::budget::limited_address;

/// Handshakes at a time: about 40 KB each, so 160 MB at most. The rest waits in the backlog of the listener.
pub(super) const MAX_HANDSHAKES: usize = 4096;

/// Handshakes of one address at a time: silent peers of one address leave half of them to others. It is enough for a
/// thousand requests at once from one Orca, or for a fleet behind one proxy.
const PER_ADDRESS: usize = MAX_HANDSHAKES / 2;

/// Age from which a handshake gives way to another one of its address; usual ones are done by then.
const GIVES_WAY: Duration = Duration::from_secs(1);

/// Addresses between two removals of those without a handshake.
const MAX_ADDRESSES: usize = 2 * MAX_HANDSHAKES;

/// Tasks of handshakes, each ending with a connection or without.
pub(super) struct Handshakes<T> {
    gives_way: Duration,
    tasks: JoinSet<Option<T>>,
    /// Oldest first; ended ones are removed when the address begins another.
    by_address: HashMap<IpAddr, VecDeque<(Instant, AbortHandle)>>,
}

// === impl Handshakes ===

impl<T: Send + 'static> Handshakes<T> {
    pub(super) fn new() -> Self {
        Self { gives_way: GIVES_WAY, tasks: JoinSet::new(), by_address: HashMap::new() }
    }

    /// Whether another handshake may begin.
    pub(super) fn has_room(&self) -> bool {
        self.tasks.len() < MAX_HANDSHAKES
    }

    /// Begins a handshake; false if its address has too many that began just now.
    pub(super) fn begin(
        &mut self,
        address: IpAddr,
        handshake: impl Future<Output = Option<T>> + Send + 'static,
    ) -> bool {
        if self.by_address.len() >= MAX_ADDRESSES {
            self.by_address.retain(|_, running| running.iter().any(|(_, task)| !task.is_finished()));
        }
        let running = self.by_address.entry(limited_address(address)).or_default();
        running.retain(|(_, task)| !task.is_finished());
        if running.len() >= PER_ADDRESS {
            match running.front() {
                Some((began, oldest)) if began.elapsed() >= self.gives_way => oldest.abort(),
                _ => return false,
            }
            running.pop_front();
        }
        running.push_back((Instant::now(), self.tasks.spawn(handshake)));
        true
    }

    /// Waits for the next handshake that ends; none if there are none.
    pub(super) async fn next(&mut self) -> Option<Result<Option<T>, JoinError>> {
        self.tasks.join_next().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn silent_peers_of_one_address_leave_room_for_others() {
        let mut handshakes = Handshakes::<()> { gives_way: Duration::MAX, ..Handshakes::new() };
        let [silent, other] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        let begun = (0..MAX_HANDSHAKES).filter(|_| handshakes.begin(silent, std::future::pending())).count();
        assert_eq!(begun, PER_ADDRESS);
        assert!(handshakes.has_room() && handshakes.begin(other, async { Some(()) }));
        assert!(matches!(handshakes.next().await, Some(Ok(Some(())))));
    }

    #[tokio::test]
    async fn an_old_handshake_gives_way_to_a_new_one_of_its_address() {
        let mut handshakes = Handshakes::<()> { gives_way: Duration::MAX, ..Handshakes::new() };
        let silent = IpAddr::from([10, 0, 0, 1]);
        for _ in 0..PER_ADDRESS {
            assert!(handshakes.begin(silent, std::future::pending()));
        }
        assert!(!handshakes.begin(silent, async { Some(()) }), "all are young");
        handshakes.gives_way = Duration::ZERO;
        assert!(handshakes.begin(silent, async { Some(()) }));
        let (mut aborted, mut done) = (0, 0);
        for _ in 0..2 {
            match handshakes.next().await.unwrap() {
                Ok(Some(())) => done += 1,
                Ok(None) => panic!("ended without a result"),
                Err(error) => aborted += usize::from(error.is_cancelled()),
            }
        }
        assert_eq!((aborted, done), (1, 1));
    }
}
