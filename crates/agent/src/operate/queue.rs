//! Queues by key: operations with the same key run one after the other, in the order of arrival.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Queues of all keys for which an operation waits or runs.
#[derive(Debug)]
pub(super) struct KeyedQueue<K>(Arc<Mutex<Queues<K>>>);

/// The first of each queue runs; it has been notified.
type Queues<K> = HashMap<K, VecDeque<Arc<Notify>>>;

/// Position in a queue, until it is dropped.
#[derive(Debug)]
pub(super) struct QueuePosition<K: Eq + Hash> {
    key: K,
    me: Arc<Notify>,
    queues: Arc<Mutex<Queues<K>>>,
}

// === impl KeyedQueue ===

impl<K> Default for KeyedQueue<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> KeyedQueue<K> {
    /// Takes the last position. It counts from now, not from the first poll of [`QueuePosition::turn`].
    pub(super) fn enter(&self, key: K) -> QueuePosition<K> {
        let me = Arc::new(Notify::new());
        let mut queues = self.0.lock();
        let queue = queues.entry(key.clone()).or_default();
        if queue.is_empty() {
            me.notify_one();
        }
        queue.push_back(me.clone());
        drop(queues);
        QueuePosition { key, me, queues: self.0.clone() }
    }
}

// === impl QueuePosition ===

impl<K: Eq + Hash> QueuePosition<K> {
    /// Waits until all earlier positions are dropped; to be awaited once.
    pub(super) async fn turn(&self) {
        self.me.notified().await;
    }
}

impl<K: Eq + Hash> Drop for QueuePosition<K> {
    fn drop(&mut self) {
        let mut queues = self.queues.lock();
        let Some(queue) = queues.get_mut(&self.key) else { return };
        let was_first = queue.front().is_some_and(|first| Arc::ptr_eq(first, &self.me));
        queue.retain(|other| !Arc::ptr_eq(other, &self.me));
        match queue.front() {
            None => {
                queues.remove(&self.key);
            }
            // One that leaves before its turn changes nothing for those behind it.
            Some(next) if was_first => next.notify_one(),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn may_go(position: &QueuePosition<&'static str>) -> bool {
        position.turn().now_or_never().is_some()
    }

    #[test]
    fn a_queue_keeps_the_order_of_arrival_even_if_one_leaves_before_its_turn() {
        let queue = KeyedQueue::default();
        let [first, second, third] = [queue.enter("web"), queue.enter("web"), queue.enter("web")];
        let other = queue.enter("db");
        assert!(may_go(&other), "keys do not wait for each other");
        assert!(!may_go(&third) && !may_go(&second) && may_go(&first));
        drop(second);
        assert!(!may_go(&third), "the first still runs");
        drop(first);
        assert!(may_go(&third));
        drop((third, other));
        assert!(queue.0.lock().is_empty(), "nothing is kept of empty queues");
    }
}
