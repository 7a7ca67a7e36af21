//! Requeue timers: one time per key, the earliest that was requested.

use std::{cmp::Reverse, collections::BinaryHeap, collections::HashMap, hash::Hash};

use tokio::time::Instant;

/// Times at which keys are due.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    due: HashMap<K, Instant>,
    /// Also contains times that an earlier one has replaced; `pop` skips them.
    order: BinaryHeap<Reverse<(Instant, K)>>,
}

// === impl Timers ===

impl<K: Clone + Eq + Hash + Ord> Timers<K> {
    pub(crate) fn new() -> Self {
        Self { due: HashMap::new(), order: BinaryHeap::new() }
    }

    /// Sets a time; a key that is due earlier keeps its time.
    pub(crate) fn set(&mut self, key: K, at: Instant) {
        if self.due.get(&key).is_none_or(|earlier| at < *earlier) {
            self.due.insert(key.clone(), at);
            self.order.push(Reverse((at, key)));
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes and returns a key that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<K> {
        while let Some(Reverse((at, _))) = self.order.peek() {
            if *at > now {
                return None;
            }
            let Reverse((at, key)) = self.order.pop()?;
            if self.due.get(&key) == Some(&at) {
                self.due.remove(&key);
                return Some(key);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_key_is_due_once_and_at_the_earliest_time() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut timers = Timers::new();
        timers.set("a", after(5));
        timers.set("b", after(3));
        timers.set("a", after(2));
        timers.set("a", after(9));
        assert_eq!(timers.pop(after(1)), None);
        assert_eq!(timers.pop(after(10)), Some("a"));
        assert_eq!(timers.pop(after(10)), Some("b"));
        assert_eq!(timers.pop(after(10)), None);
        assert_eq!(timers.next(), None);
    }
}
