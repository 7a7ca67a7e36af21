//! Who goes first where not all can: places are few, and whoever has to wait stands in a queue. The queues take turns, so
//! that a thousand in one of them are one to the others.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Some places, and those who wait for them; clones share it.
#[derive(Debug, Clone)]
pub struct Turnstile(Arc<Mutex<State>>);

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Pass(Turnstile);

#[derive(Debug)]
struct State {
    /// Places that nobody waits for.
    free: usize,
    /// By name, those in which somebody stands.
    queues: HashMap<String, VecDeque<oneshot::Sender<Pass>>>,
    /// The same names; the first is next.
    turns: VecDeque<String>,
}

// === impl Turnstile ===

impl Turnstile {
    /// With so many places.
    pub fn new(places: usize) -> Self {
        let state = State { free: places, queues: HashMap::new(), turns: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// A place, if there is one that nobody waits for.
    pub fn try_pass(&self) -> Option<Pass> {
        self.0.lock().take().then(|| Pass(self.clone()))
    }

    /// Waits for a place, from its first poll on in the queue of this name. Whoever stops waiting holds nobody up.
    pub async fn pass(&self, queue: &str) -> Pass {
        loop {
            let pass_rx = {
                let mut state = self.0.lock();
                if state.take() {
                    return Pass(self.clone());
                }
                state.stand(queue)
            };
            if let Ok(pass) = pass_rx.await {
                return pass;
            }
        }
    }
}

// === impl State ===

impl State {
    fn take(&mut self) -> bool {
        let free = self.free > 0;
        self.free -= usize::from(free);
        free
    }

    fn stand(&mut self, queue: &str) -> oneshot::Receiver<Pass> {
        let (pass_tx, pass_rx) = oneshot::channel();
        let waiting = self.queues.entry(queue.to_owned()).or_default();
        if waiting.is_empty() {
            self.turns.push_back(queue.to_owned());
        }
        waiting.push_back(pass_tx);
        pass_rx
    }

    /// Who gets a place that has become free: the first of the queue whose turn it is.
    fn next(&mut self) -> Option<oneshot::Sender<Pass>> {
        while let Some(queue) = self.turns.pop_front() {
            let Some(waiting) = self.queues.get_mut(&queue) else { continue };
            let next = std::iter::from_fn(|| waiting.pop_front()).find(|pass_tx| !pass_tx.is_closed());
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

// === impl Pass ===

impl Drop for Pass {
    fn drop(&mut self) {
        let Self(turnstile) = self;
        let next = turnstile.0.lock().next();
        if let Some(pass_tx) = next {
            // One that leaves at this very moment drops what it was given, which then comes by here again.
            pass_tx.send(Self(turnstile.clone())).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::{FutureExt, future::BoxFuture};

    use super::*;

    type Waiting = BoxFuture<'static, Pass>;

    fn stand(turnstile: &Turnstile, queue: &'static str) -> Waiting {
        let turnstile = turnstile.clone();
        let mut waiting = async move { turnstile.pass(queue).await }.boxed();
        assert!(go(&mut waiting).is_none(), "all places are taken");
        waiting
    }

    fn go(waiting: &mut Waiting) -> Option<Pass> {
        Pin::new(waiting).now_or_never()
    }

    #[test]
    fn queues_take_turns_and_each_keeps_its_order() {
        let turnstile = Turnstile::new(1);
        let pass = turnstile.try_pass().unwrap();
        let [mut first, mut second, mut third] = ["many"; 3].map(|queue| stand(&turnstile, queue));
        let mut alone = stand(&turnstile, "one");
        drop(pass);
        assert!(turnstile.try_pass().is_none(), "nobody slips in");
        let pass = go(&mut first).expect("the first who came");
        assert!(go(&mut second).is_none() && go(&mut alone).is_none());
        drop(pass);
        let pass = go(&mut alone).expect("its queue is next, though others came before");
        drop(pass);
        assert!(go(&mut third).is_none());
        drop(go(&mut second).expect("in order"));
        drop(go(&mut third).expect("in order"));
        assert!(turnstile.try_pass().is_some());
        assert!(turnstile.0.lock().queues.is_empty(), "nothing is kept of those who went");
    }

    #[test]
    fn a_place_is_not_lost_with_one_who_leaves_before_or_after_getting_it() {
        let turnstile = Turnstile::new(1);
        let pass = turnstile.try_pass().unwrap();
        let [first, second, mut third] = ["one", "two", "three"].map(|queue| stand(&turnstile, queue));
        drop(first);
        drop(pass);
        drop(second);
        drop(go(&mut third).expect("both before it have left"));
        assert_eq!(turnstile.0.lock().free, 1);
    }
}
