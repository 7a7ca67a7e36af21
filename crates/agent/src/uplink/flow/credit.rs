//! A bound in bytes that many may share, and whose limit may change while it is in use.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use spindrift_protocol::flow;
use tokio::sync::Notify;

/// So many bytes may be held at once; one that is larger passes alone.
#[derive(Debug)]
pub struct Credit {
    state: Mutex<State>,
    freed: Notify,
    meter: Meter,
}

/// What is held now, for all to see.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    /// How many items.
    pub items: Gauge,
    /// How many bytes they have.
    pub bytes: Gauge,
}

/// Part of a credit; given back when dropped.
#[derive(Debug)]
pub struct Hold {
    credit: Arc<Credit>,
    bytes: usize,
}

#[derive(Debug)]
struct State {
    used: usize,
    limit: usize,
}

// === impl Credit ===

impl Credit {
    /// A credit of which nothing is held.
    pub fn new(limit: usize, meter: Meter) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { used: 0, limit }), freed: Notify::new(), meter })
    }

    /// Waits until there is room for so many bytes, or until an exception is made.
    pub async fn take(self: &Arc<Self>, bytes: usize, exception: impl Fn() -> bool) -> Hold {
        loop {
            // Made before the look at the state, so that what is freed in between is not missed.
            let freed = self.freed.notified();
            if let Some(hold) = self.try_take(bytes, exception()) {
                return hold;
            }
            freed.await;
        }
    }

    fn try_take(self: &Arc<Self>, bytes: usize, exception: bool) -> Option<Hold> {
        let mut state = self.state.lock();
        let fits = exception || flow::fits(state.used, bytes, state.limit);
        if !fits {
            return None;
        }
        state.used += bytes;
        self.meter.items.inc();
        self.meter.bytes.inc_by(signed(bytes));
        Some(Hold { credit: self.clone(), bytes })
    }

    /// From here on so much may be held. What is held beyond a smaller limit stays held.
    pub fn set_limit(&self, limit: usize) {
        self.state.lock().limit = limit;
        self.freed.notify_waiters();
    }
}

// === impl Hold ===

impl Drop for Hold {
    fn drop(&mut self) {
        let Self { credit, bytes } = self;
        credit.state.lock().used -= *bytes;
        credit.meter.items.dec();
        credit.meter.bytes.dec_by(signed(*bytes));
        credit.freed.notify_waiters();
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn never() -> bool {
        false
    }

    #[tokio::test]
    async fn a_limit_that_shrinks_binds_whoever_comes_next_and_one_that_grows_wakes_who_waits() {
        let credit = Credit::new(1000, Meter::default());
        let first = credit.take(600, never).await;
        credit.set_limit(500);
        let mut second = Box::pin(credit.take(300, never));
        assert!(second.as_mut().now_or_never().is_none(), "600 are held, of 500");
        credit.set_limit(900);
        let second = second.as_mut().now_or_never().expect("there is room now");
        assert_eq!((credit.meter.items.get(), credit.meter.bytes.get()), (2, 900));
        drop((first, second));
        assert_eq!((credit.meter.items.get(), credit.meter.bytes.get()), (0, 0));
    }

    #[tokio::test]
    async fn an_exception_may_overdraw() {
        let credit = Credit::new(1000, Meter::default());
        let _all = credit.take(1000, never).await;
        assert!(credit.take(1, never).now_or_never().is_none());
        assert!(credit.take(1, || true).now_or_never().is_some());
    }
}
