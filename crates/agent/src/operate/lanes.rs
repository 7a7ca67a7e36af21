//! Who waits for whom: whatever shares a lane goes one after the other, in the order in which it came.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// All lanes in which somebody waits or goes.
#[derive(Debug)]
pub(super) struct Lanes<K>(Arc<Mutex<Queues<K>>>);

/// The first of each is the one that goes; it was told so.
type Queues<K> = HashMap<K, VecDeque<Arc<Notify>>>;

/// A place in a lane, until it is dropped.
#[derive(Debug)]
pub(super) struct Place<K: Eq + Hash> {
    key: K,
    me: Arc<Notify>,
    queues: Arc<Mutex<Queues<K>>>,
}

// === impl Lanes ===

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> Lanes<K> {
    /// Takes the last place. It counts from now, not from when its turn is waited for.
    pub(super) fn enter(&self, key: K) -> Place<K> {
        let me = Arc::new(Notify::new());
        let mut queues = self.0.lock();
        let queue = queues.entry(key.clone()).or_default();
        if queue.is_empty() {
            me.notify_one();
        }
        queue.push_back(me.clone());
        drop(queues);
        Place { key, me, queues: self.0.clone() }
    }
}

// === impl Place ===

impl<K: Eq + Hash> Place<K> {
    /// Waits until all who came before have left; once.
    pub(super) async fn turn(&self) {
        self.me.notified().await;
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
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

    fn may_go(place: &Place<&'static str>) -> bool {
        place.turn().now_or_never().is_some()
    }

    #[test]
    fn a_lane_keeps_the_order_of_arrival_even_if_somebody_leaves_before_its_turn() {
        let lanes = Lanes::default();
        let [first, second, third] = [lanes.enter("web"), lanes.enter("web"), lanes.enter("web")];
        let other = lanes.enter("db");
        assert!(may_go(&other), "lanes do not wait for each other");
        assert!(!may_go(&third) && !may_go(&second) && may_go(&first));
        drop(second);
        assert!(!may_go(&third), "the first still goes");
        drop(first);
        assert!(may_go(&third));
        drop((third, other));
        assert!(lanes.0.lock().is_empty(), "nothing is kept of lanes without anybody");
    }
}
