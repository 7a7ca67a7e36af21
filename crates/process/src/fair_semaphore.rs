//! Semaphore with named queues. The queues take turns, so that a thousand waiters in one of them delay a waiter in another
//! by one.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Semaphore with named queues of waiters; clones share it.
#[derive(Debug, Clone)]
pub struct FairSemaphore(Arc<Mutex<SemaphoreState>>);

/// Permit, returned when it is dropped.
#[derive(Debug)]
pub struct FairPermit(FairSemaphore);

#[derive(Debug)]
struct SemaphoreState {
    /// Permits that are free.
    free: usize,
    /// Waiters by the name of their queue; no queue is empty.
    queues: HashMap<String, VecDeque<oneshot::Sender<FairPermit>>>,
    /// Names of the queues; the first is next.
    turns: VecDeque<String>,
}

// === impl FairSemaphore ===

impl FairSemaphore {
    /// Semaphore with so many permits.
    pub fn new(permits: usize) -> Self {
        let state = SemaphoreState { free: permits, queues: HashMap::new(), turns: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Returns a permit if one is free.
    pub fn try_acquire(&self) -> Option<FairPermit> {
        self.0.lock().take().then(|| FairPermit(self.clone()))
    }

    /// Waits for a permit, from the first poll on in the queue of this name. A waiter that is dropped delays no other.
    pub async fn acquire(&self, queue: &str) -> FairPermit {
        loop {
            let permit_rx = {
                let mut state = self.0.lock();
                if state.take() {
                    return FairPermit(self.clone());
                }
                state.enqueue(queue)
            };
            if let Ok(permit) = permit_rx.await {
                return permit;
            }
        }
    }
}

// === impl SemaphoreState ===

impl SemaphoreState {
    fn take(&mut self) -> bool {
        let free = self.free > 0;
        self.free -= usize::from(free);
        free
    }

    fn enqueue(&mut self, queue: &str) -> oneshot::Receiver<FairPermit> {
        let (permit_tx, permit_rx) = oneshot::channel();
        let waiting = self.queues.entry(queue.to_owned()).or_default();
        if waiting.is_empty() {
            self.turns.push_back(queue.to_owned());
        }
        waiting.push_back(permit_tx);
        permit_rx
    }

    /// Next waiter for a permit that is returned: the first of the next queue.
    fn next(&mut self) -> Option<oneshot::Sender<FairPermit>> {
        while let Some(queue) = self.turns.pop_front() {
            let Some(waiting) = self.queues.get_mut(&queue) else { continue };
            let next = std::iter::from_fn(|| waiting.pop_front()).find(|permit_tx| !permit_tx.is_closed());
            if waiting.is_empty() {
                self.queues.remove(&queue);
            } else {
                self.turns.push_back(queue);
            }
            if next.is_some() {
                return next;
            }
        }
        self.free += 1;
        None
    }
}

// === impl FairPermit ===

impl Drop for FairPermit {
    fn drop(&mut self) {
        let Self(semaphore) = self;
        let next = semaphore.0.lock().next();
        if let Some(permit_tx) = next {
            // A waiter that is dropped at this moment drops the permit, which then comes through here again.
            permit_tx.send(Self(semaphore.clone())).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::{FutureExt, future::BoxFuture};

    use super::*;

    type Waiting = BoxFuture<'static, FairPermit>;

    fn stand(semaphore: &FairSemaphore, queue: &'static str) -> Waiting {
        let semaphore = semaphore.clone();
        let mut waiting = async move { semaphore.acquire(queue).await }.boxed();
        assert!(go(&mut waiting).is_none(), "all permits are taken");
        waiting
    }

    fn go(waiting: &mut Waiting) -> Option<FairPermit> {
        Pin::new(waiting).now_or_never()
    }

    #[test]
    fn queues_take_turns_and_each_keeps_its_order() {
        let semaphore = FairSemaphore::new(1);
        let permit = semaphore.try_acquire().unwrap();
        let [mut first, mut second, mut third] = ["many"; 3].map(|queue| stand(&semaphore, queue));
        let mut alone = stand(&semaphore, "one");
        drop(permit);
        assert!(semaphore.try_acquire().is_none(), "no one else gets it");
        let permit = go(&mut first).expect("the first who came");
        assert!(go(&mut second).is_none() && go(&mut alone).is_none());
        drop(permit);
        let permit = go(&mut alone).expect("its queue is next, though others came before");
        drop(permit);
        assert!(go(&mut third).is_none());
        drop(go(&mut second).expect("in order"));
        drop(go(&mut third).expect("in order"));
        assert!(semaphore.try_acquire().is_some());
        assert!(semaphore.0.lock().queues.is_empty(), "empty queues are removed");
    }

    #[test]
    fn a_permit_is_not_lost_with_a_waiter_that_is_dropped_before_or_after_getting_it() {
        let semaphore = FairSemaphore::new(1);
        let permit = semaphore.try_acquire().unwrap();
        let [first, second, mut third] = ["one", "two", "three"].map(|queue| stand(&semaphore, queue));
        drop(first);
        drop(permit);
        drop(second);
        drop(go(&mut third).expect("both before it were dropped"));
        assert_eq!(semaphore.0.lock().free, 1);
    }
}
